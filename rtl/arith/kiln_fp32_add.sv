// a + b. The difference a - b is a + {!b[31], b[30:0]}.
//
//   time       combinational
//   rounding   to nearest, ties to even; subnormal numbers are kept; every NaN is kiln_format_pkg::FP32_NAN
module kiln_fp32_add (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);

  logic a_nan, a_infinite, a_negative;
  logic signed [8:0] a_exponent;
  logic [23:0] a_significand;
  kiln_decode #(.FORMAT(kiln_format_pkg::FP32)) decode_a (
      .code(a),
      .nan(a_nan),
      .infinite(a_infinite),
      .negative(a_negative),
      .exponent(a_exponent),
      .significand(a_significand)
  );
  kiln_add_to_code #(
      .FORMAT(kiln_format_pkg::FP32),
      .SIGNIFICAND_BITS(24),
      .EXPONENT_BITS(9)
  ) add (
      .nan(a_nan),
      .infinite(a_infinite),
      .negative(a_negative),
      .exponent(a_exponent),
      .significand(a_significand),
      .code_in(b),
      .code_out(result)
  );

endmodule
