// Multiplies two scales of a format that has powers of two only (kiln_format_pkg::is_power_of_two).
// The product is rounded as in fp32, where powers of two lie between 2^-149 and 2^127.
//   a_one, b_one   the factor is 1, and its code is ignored
//   time           combinational
//   C++ twin       the product of two floats
module kiln_power_product #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::E8M0,
    localparam int BITS = kiln_format_pkg::bits(FORMAT)
) (
    input  logic [BITS-1:0] a,
    input  logic [BITS-1:0] b,
    input  logic a_one,
    input  logic b_one,
    output kiln_format_pkg::power_t product
);
  localparam int EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(FORMAT);
  localparam int SUM_BITS = (EXPONENT_BITS > 10 ? EXPONENT_BITS : 10) + 1;
  logic a_nan, b_nan, a_infinite, b_infinite;
  logic signed [EXPONENT_BITS-1:0] a_exponent, b_exponent;
  logic [3:0] unused_bits;
  kiln_decode #(
      .FORMAT(FORMAT)
  ) decode_a (
      .code(a),
      .nan(a_nan),
      .infinite(a_infinite),
      .negative(unused_bits[0]),
      .exponent(a_exponent),
      .significand(unused_bits[1])
  );
  kiln_decode #(
      .FORMAT(FORMAT)
  ) decode_b (
      .code(b),
      .nan(b_nan),
      .infinite(b_infinite),
      .negative(unused_bits[2]),
      .exponent(b_exponent),
      .significand(unused_bits[3])
  );
  logic signed [SUM_BITS-1:0] sum;
  logic infinite;
  assign sum = (a_one ? '0 : SUM_BITS'(a_exponent)) + (b_one ? '0 : SUM_BITS'(b_exponent));
  assign infinite = (a_infinite && !a_one) || (b_infinite && !b_one);
  always_comb begin
    product.nan      = (a_nan && !a_one) || (b_nan && !b_one);
    product.infinite = !product.nan && (infinite || sum > SUM_BITS'(127));
    // 2^-150 is half of the least number, and goes to the even one.
    product.zero     = !product.nan && !infinite && sum < -SUM_BITS'(149);
    product.exponent = sum[kiln_format_pkg::POWER_EXPONENT_BITS-1:0];
  end
  wire unused_sum = &{1'b0, sum, unused_bits};
endmodule
