// Returns a < b ? a : b, so b for a NaN in either and for zeros of different signs. Bits pass
// through unchanged.
//
//   time       combinational
module kiln_fp32_minimum (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);

  assign result = kiln_fp32_pkg::minimum(a, b);

`ifndef SYNTHESIS
  always_comb begin
    one_of_both : assert (result == a || result == b);
  end
`endif

endmodule
