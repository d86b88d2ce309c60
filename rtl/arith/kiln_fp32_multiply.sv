// a * b.
//
//   time       combinational
//   rounding   to nearest, ties to even; subnormal numbers are kept; every NaN is kiln_format_pkg::FP32_NAN
module kiln_fp32_multiply (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);

  localparam int PRODUCT_EXPONENT_BITS = kiln_format_pkg::product_exponent_bits(9, 9);

  logic a_nan, a_infinite, a_negative;
  logic signed [8:0] a_exponent;
  logic [23:0] a_significand;
  logic b_nan, b_infinite, b_negative;
  logic signed [8:0] b_exponent;
  logic [23:0] b_significand;
  logic product_nan, product_infinite, product_negative;
  logic signed [PRODUCT_EXPONENT_BITS-1:0] product_exponent;
  logic [47:0] product_significand;
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
  kiln_number_multiply #(
      .A_SIGNIFICAND_BITS(24),
      .A_EXPONENT_BITS(9),
      .B_SIGNIFICAND_BITS(24),
      .B_EXPONENT_BITS(9)
  ) multiply (
      .a_nan(a_nan),
      .a_infinite(a_infinite),
      .a_negative(a_negative),
      .a_exponent(a_exponent),
      .a_significand(a_significand),
      .b_nan(b_nan),
      .b_infinite(b_infinite),
      .b_negative(b_negative),
      .b_exponent(b_exponent),
      .b_significand(b_significand),
      .nan(product_nan),
      .infinite(product_infinite),
      .negative(product_negative),
      .exponent(product_exponent),
      .significand(product_significand)
  );
  kiln_encode #(
      .FORMAT(kiln_format_pkg::FP32),
      .SIGNIFICAND_BITS(48),
      .EXPONENT_BITS(PRODUCT_EXPONENT_BITS)
  ) encode (
      .nan(product_nan),
      .infinite(product_infinite),
      .negative(product_negative),
      .exponent(product_exponent),
      .significand(product_significand),
      .random('0),
      .code(result)
  );

endmodule
