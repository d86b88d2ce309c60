// Adds two's complement numbers, for kiln_vta_dot: the exact sum of `terms` is in a register one
// cycle later. Written as a chain, which synthesis turns into a tree.
module kiln_vta_sum #(
    parameter int unsigned TERMS = 16,
    parameter int unsigned BITS = 16,  // bits of a term
    localparam int unsigned SUM_BITS = BITS + $clog2(TERMS)
) (
    input  logic                  clock,
    input  logic [TERMS*BITS-1:0] terms,
    output logic [  SUM_BITS-1:0] sum
);
  logic signed [BITS-1:0] term;
  logic signed [SUM_BITS-1:0] total;
  always_comb begin
    term  = '0;
    total = '0;
    for (int i = 0; i < TERMS; i++) begin
      term  = terms[i*BITS+:BITS];
      total = total + SUM_BITS'(term);
    end
  end
  always_ff @(posedge clock) sum <= total;
endmodule
