// Converts a value to an integer code for memory: round(value * inverse_scale) + zero_point,
// clamped to [low, high].
//
//   rounding   the product is rounded to fp32 and then to an integer, both to nearest, ties to
//              even. NaN is treated as 0 before the zero point is added.
//   time       combinational
//   C++ twin   QuantiseToCode, in simulate/arithmetic.h of the family that has this module
module kiln_fp32_to_code (
    input  logic        [31:0] value,          // fp32
    input  logic        [31:0] inverse_scale,  // fp32
    input  logic signed [31:0] zero_point,
    input  logic signed [31:0] low,
    input  logic signed [31:0] high,
    output logic signed [31:0] code
);

  assign code = kiln_fp32_pkg::to_code(value, inverse_scale, zero_point, low, high);

`ifndef SYNTHESIS
  always_comb begin
    within_bounds : assert (low > high || (code >= low && code <= high));
  end
`endif

endmodule
