// Returns a / b, correctly rounded.
//
//   time       combinational
//   rounding   to nearest, ties to even; subnormal numbers are kept; every NaN is
//              kiln_format_pkg::FP32_NAN
module kiln_fp32_divide (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);

  assign result = kiln_fp32_pkg::divide(a, b);

`ifndef SYNTHESIS
  always_comb begin
    one_nan : assert (!kiln_fp32_pkg::is_nan(result) || result == kiln_fp32_pkg::NAN);
  end
`endif

endmodule
