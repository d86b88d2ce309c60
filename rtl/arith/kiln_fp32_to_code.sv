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

  assign code = kiln_fp32_pkg::to_code(value, inverse_scale, zero_point, low, high);

endmodule
