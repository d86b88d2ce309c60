// Adds an exact product (a number in the form of kiln_decode) to a quire. The product must be a
// multiple of the weight of the quire's lowest bit, which holds for products of the formats that
// the quire is made for.
//
//   time       combinational
//   C++ twin   kiln::Quire::Add (numerics/quire.h)
module kiln_quire_add_product #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_format_pkg::POSIT8_1_QUIRE,
    parameter  int SIGNIFICAND_BITS = 10,
    parameter  int EXPONENT_BITS = 8,
    localparam int BITS = kiln_format_pkg::bits(FORMAT)
) (
    input  logic                               nan,
    input  logic                               infinite,
    input  logic                               negative,
    input  logic signed [   EXPONENT_BITS-1:0] exponent,
    input  logic        [SIGNIFICAND_BITS-1:0] significand,
    input  logic        [            BITS-1:0] code_in,
    output logic        [            BITS-1:0] code_out
);

  localparam int SUM_BITS = BITS - kiln_format_pkg::QUIRE_FLAGS;
  localparam int WIDTH = SUM_BITS + SIGNIFICAND_BITS - 1;
  localparam int PLACE_BITS = $clog2(WIDTH);
  localparam int RANGE_BITS = kiln_format_pkg::max(EXPONENT_BITS, 11) + 1;

  logic signed [RANGE_BITS-1:0] above_lowest;
  logic [PLACE_BITS-1:0] places;
  logic [WIDTH-1:0] shifted;
  logic [SUM_BITS-1:0] sum_in, magnitude, sum;
  logic is_nan, plus_infinity, minus_infinity, finite;

  assign {is_nan, plus_infinity, minus_infinity, sum_in} = code_in;
  assign finite = !nan && !infinite;

  // Shifts the leading bit to its bit position; the bits below the quire's lowest bit are zeros.
  assign above_lowest = RANGE_BITS'(exponent) - RANGE_BITS'(kiln_format_pkg::bias(FORMAT));
  assign places = PLACE_BITS'(above_lowest);
  assign shifted = WIDTH'(significand) << places;
  assign magnitude = finite ? shifted[WIDTH-1-:SUM_BITS] : '0;
  assign sum = negative ? sum_in - magnitude : sum_in + magnitude;
  assign code_out = {
    is_nan || nan, plus_infinity || (infinite && !negative),
        minus_infinity || (infinite && negative), sum
  };

  wire unused_bits = &{1'b0, above_lowest, shifted};

`ifndef SYNTHESIS
  logic adds;
  always_comb begin
    adds = finite && significand != '0;
    shift_in_range : assert (!adds || (above_lowest >= 0 &&
        above_lowest < RANGE_BITS'(SUM_BITS - 1)));
  end
  if (SIGNIFICAND_BITS > 1) begin : g_exact
    always_comb only_zeros_cut : assert (!adds || shifted[SIGNIFICAND_BITS-2:0] == '0);
  end
`endif

endmodule
