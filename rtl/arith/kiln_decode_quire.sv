// kiln_decode for quires: returns the leading bits of the sum. The lowest bit is sticky, so that
// rounding to at least two bits fewer gives the rounding of the exact sum.
//
//   C++ twin   kiln::Quire::Value (numerics/quire.h)
module kiln_decode_quire #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_format_pkg::POSIT8_1_QUIRE,
    localparam int BITS = kiln_format_pkg::bits(FORMAT),
    localparam int SIGNIFICAND_BITS = kiln_format_pkg::significand_bits(FORMAT),
    localparam int EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(FORMAT)
) (
    input  logic        [            BITS-1:0] code,
    output logic                               nan,
    output logic                               infinite,
    output logic                               negative,
    output logic signed [   EXPONENT_BITS-1:0] exponent,
    output logic        [SIGNIFICAND_BITS-1:0] significand
);

  localparam int SUM_BITS = BITS - kiln_format_pkg::QUIRE_FLAGS;
  // the exponent of the sum's top bit
  localparam int TOP = SUM_BITS - 1 + kiln_format_pkg::bias(FORMAT);

  logic is_nan, plus_infinity, minus_infinity;
  logic [SUM_BITS-1:0] sum, magnitude, normalised;
  logic [$clog2(SUM_BITS)-1:0] places;

  assign {is_nan, plus_infinity, minus_infinity, sum} = code;
  assign nan = is_nan || (plus_infinity && minus_infinity);
  assign infinite = (plus_infinity || minus_infinity) && !nan;
  assign negative = infinite ? minus_infinity : sum[SUM_BITS-1];
  assign magnitude = sum[SUM_BITS-1] ? -sum : sum;
  kiln_normalise #(.WIDTH(SUM_BITS)) normalise (
      .in(magnitude),
      .out(normalised),
      .places(places)
  );
  assign exponent = EXPONENT_BITS'(TOP - 32'(places));
  assign significand = {
    normalised[SUM_BITS-1-:SIGNIFICAND_BITS-1], normalised[SUM_BITS-SIGNIFICAND_BITS:0] != '0
  };

`ifndef SYNTHESIS
  always_comb begin
    exponent_in_range : assert (magnitude == '0 || 32'(exponent) == TOP - 32'(places));
  end
`endif

endmodule
