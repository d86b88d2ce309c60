// Multiplies two numbers in the form of kiln_decode exactly. Zero times infinity is NaN.
//
//   time       combinational
//   C++ twin   kiln::Multiply (numerics/exact.h)
module kiln_number_multiply #(
    parameter  int A_SIGNIFICAND_BITS = 24,
    parameter  int A_EXPONENT_BITS = 9,
    parameter  int B_SIGNIFICAND_BITS = 24,
    parameter  int B_EXPONENT_BITS = 9,
    localparam int SIGNIFICAND_BITS = A_SIGNIFICAND_BITS + B_SIGNIFICAND_BITS,
    localparam int EXPONENT_BITS =
        kiln_format_pkg::product_exponent_bits(A_EXPONENT_BITS, B_EXPONENT_BITS)
) (
    input  logic                        a_nan,
    input  logic                        a_infinite,
    input  logic                        a_negative,
    input  logic signed [A_EXPONENT_BITS-1:0] a_exponent,
    input  logic [A_SIGNIFICAND_BITS-1:0] a_significand,
    input  logic                        b_nan,
    input  logic                        b_infinite,
    input  logic                        b_negative,
    input  logic signed [B_EXPONENT_BITS-1:0] b_exponent,
    input  logic [B_SIGNIFICAND_BITS-1:0] b_significand,
    output logic                        nan,
    output logic                        infinite,
    output logic                        negative,
    output logic signed [EXPONENT_BITS-1:0] exponent,
    output logic [SIGNIFICAND_BITS-1:0] significand
);

  logic a_zero, b_zero, carried;
  logic [SIGNIFICAND_BITS-1:0] product;

  assign a_zero = !a_infinite && a_significand == '0;
  assign b_zero = !b_infinite && b_significand == '0;
  assign nan = a_nan || b_nan || (a_infinite && b_zero) || (b_infinite && a_zero);
  assign infinite = (a_infinite || b_infinite) && !nan;
  assign negative = a_negative != b_negative;

  // The product of two significands between 1 and 2 is between 1 and 4.
  assign product = SIGNIFICAND_BITS'(a_significand) * SIGNIFICAND_BITS'(b_significand);
  assign carried = product[SIGNIFICAND_BITS-1];
  assign significand = carried ? product : product << 1;
  assign exponent = EXPONENT_BITS'(a_exponent) + EXPONENT_BITS'(b_exponent) +
      EXPONENT_BITS'(signed'({1'b0, carried}));

`ifndef SYNTHESIS
  logic finite;
  logic signed [31:0] whole_exponent;  // before it is cut to EXPONENT_BITS
  always_comb begin
    finite = !nan && !infinite;
    whole_exponent = 32'(a_exponent) + 32'(b_exponent) + signed'({31'd0, carried});
    zero_only_from_zero : assert (!finite || (product == '0) == (a_zero || b_zero));
    leading_one : assert (!finite || product == '0 || significand[SIGNIFICAND_BITS-1]);
    exponent_in_range : assert (!finite || product == '0 || 32'(exponent) == whole_exponent);
  end
`endif

endmodule
