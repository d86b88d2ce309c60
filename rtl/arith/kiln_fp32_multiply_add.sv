// Returns a * b + c, rounded once (std::fma).
//
//   time       combinational
//   rounding   to nearest, ties to even; subnormal numbers are kept; every NaN is
//              kiln_format_pkg::FP32_NAN
module kiln_fp32_multiply_add (
    input  logic [31:0] a,
    input  logic [31:0] b,
    input  logic [31:0] c,
    output logic [31:0] result
);

  assign result = kiln_fp32_pkg::multiply_add(a, b, c);

`ifndef SYNTHESIS
  always_comb begin
    one_nan : assert (!kiln_fp32_pkg::is_nan(result) || result == kiln_fp32_pkg::NAN);
  end
`endif

endmodule
