// a > b ? a : b, which settles NaN (b) and zeros of two signs (b). Bits pass through unchanged.
//
//   time       combinational
module kiln_fp32_maximum (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);

  assign result = kiln_fp32_pkg::maximum(a, b);

endmodule
