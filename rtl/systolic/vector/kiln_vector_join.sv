// a op b of a reduction: a + b, or a > b ? a : b. Combinational.
module kiln_vector_join (
    input  logic        enable,   // 0: the result is nobody's business
    input  logic        maximum,  // else the sum
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);
  always_comb begin
    result = '0;
    if (enable) result = maximum ? kiln_fp32_pkg::maximum(a, b) : kiln_fp32_pkg::add(a, b);
  end
endmodule
