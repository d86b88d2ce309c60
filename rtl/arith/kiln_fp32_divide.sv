// a / b, correctly rounded.
//
//   time       combinational
//   rounding   to nearest, ties to even; subnormal numbers are kept; every NaN is kiln_format_pkg::FP32_NAN
module kiln_fp32_divide (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);

  localparam int QUOTIENT_BITS = 27;  // 25 that count whether the first one is set or not, half bit, and one to spare
  localparam int EXPONENT_BITS = 11;

  logic a_nan, a_infinite, a_negative;
  logic signed [8:0] a_exponent;
  logic [23:0] a_significand;
  logic b_nan, b_infinite, b_negative;
  logic signed [8:0] b_exponent;
  logic [23:0] b_significand;
  kiln_decode #(.FORMAT(kiln_format_pkg::FP32)) decode_a (
      .code(a),
      .nan(a_nan),
      .infinite(a_infinite),
      .negative(a_negative),
      .exponent(a_exponent),
      .significand(a_significand)
  );
  kiln_decode #(.FORMAT(kiln_format_pkg::FP32)) decode_b (
      .code(b),
      .nan(b_nan),
      .infinite(b_infinite),
      .negative(b_negative),
      .exponent(b_exponent),
      .significand(b_significand)
  );

  // Restoring division of significands from 1 to 2: the quotient lies between 1/2 and 2, its top bit counts 1. What is
  // left of the dividend is always below twice the divisor.
  logic [QUOTIENT_BITS-1:0] quotient;
  logic [24:0] rest;
  always_comb begin
    rest = {1'b0, a_significand};
    for (int i = QUOTIENT_BITS - 1; i >= 0; i--) begin
      quotient[i] = rest >= {1'b0, b_significand};
      rest = (quotient[i] ? rest - {1'b0, b_significand} : rest) << 1;
    end
  end

  logic a_zero, b_zero, above_one;
  logic nan, infinite;
  logic signed [EXPONENT_BITS-1:0] exponent;
  logic [QUOTIENT_BITS:0] significand;  // the lowest bit is sticky
  assign a_zero = !a_infinite && a_significand == '0;
  assign b_zero = !b_infinite && b_significand == '0;
  assign nan = a_nan || b_nan || (a_infinite && b_infinite) || (a_zero && b_zero);
  assign infinite = (a_infinite || b_zero) && !nan;
  assign above_one = quotient[QUOTIENT_BITS-1];
  assign exponent =
      EXPONENT_BITS'(a_exponent) - EXPONENT_BITS'(b_exponent) - EXPONENT_BITS'(signed'({1'b0, !above_one}));
  assign significand = b_infinite ? '0 : {above_one ? quotient : quotient << 1, rest != '0};
  kiln_encode #(
      .FORMAT(kiln_format_pkg::FP32),
      .SIGNIFICAND_BITS(QUOTIENT_BITS + 1),
      .EXPONENT_BITS(EXPONENT_BITS)
  ) encode (
      .nan(nan),
      .infinite(infinite),
      .negative(a_negative != b_negative),
      .exponent(exponent),
      .significand(significand),
      .random('0),
      .code(result)
  );

endmodule
