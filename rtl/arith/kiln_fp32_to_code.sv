// A value on its way to memory as an integer code: round(value * inverse_scale) + zero_point, held to [low, high].
//
//   rounding   the product once to fp32, and that to an integer; both to nearest, ties to even; NaN counts as 0
//   time       combinational
//   C++ twin   kiln::systolic::QuantiseToCode (targets/systolic/arithmetic.h)
module kiln_fp32_to_code (
    input  logic        [31:0] value,          // fp32
    input  logic        [31:0] inverse_scale,  // fp32
    input  logic signed [31:0] zero_point,
    input  logic signed [31:0] low,
    input  logic signed [31:0] high,
    output logic signed [31:0] code
);

  // Integers of 34 bits saturate where a zero point of 32 bits cannot bring a number back among the codes.
  localparam int BITS = 34;

  logic [31:0] scaled;
  kiln_fp32_multiply multiply (
      .a(value),
      .b(inverse_scale),
      .result(scaled)
  );

  logic [BITS-1:0] integer_value;
  kiln_encode_from_fp32 #(
      .FORMAT(kiln_format_pkg::integer_format(BITS, 4'(kiln_format_pkg::ROUND_NEAREST_EVEN)))
  ) round (
      .value(scaled),
      .random('0),
      .code(integer_value)
  );

  logic signed [BITS:0] sum;
  assign sum = (BITS + 1)'(signed'(integer_value)) + (BITS + 1)'(zero_point);
  always_comb begin
    code = sum > (BITS + 1)'(high) ? high : sum[31:0];
    if (sum < (BITS + 1)'(low) || low > high) code = low;
  end

endmodule
