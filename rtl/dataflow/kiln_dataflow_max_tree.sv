// Finds the greatest of signed or unsigned numbers in a tree with a register after each level: the
// greatest of the terms of cycle t is at `greatest` in t + ceil(log2(TERMS)). An odd term of a
// level is only delayed.
module kiln_dataflow_max_tree #(
    parameter int unsigned TERMS = 4,
    parameter int unsigned BITS = 8,  // bits of a term
    parameter bit IS_SIGNED = 1'b1,
    localparam int unsigned LEVELS = $clog2(TERMS)  // derived, do not set
) (
    input  logic                  clock,
    input  logic [TERMS*BITS-1:0] terms,
    output logic [      BITS-1:0] greatest
);
  for (genvar level = 0; level <= LEVELS; level++) begin : g_level
    localparam int unsigned COUNT = (TERMS + (1 << level) - 1) >> level;
    logic [COUNT*BITS-1:0] values;
    if (level == 0) begin : g_terms
      assign values = terms;
    end else begin : g_comparisons
      localparam int unsigned OPERANDS = (TERMS + (1 << (level - 1)) - 1) >> (level - 1);
      for (genvar i = 0; i < COUNT; i++) begin : g_pair
        logic signed [BITS:0] left, right;  // as signed numbers
        logic [BITS-1:0] one, other;
        assign one = g_level[level-1].values[2*i*BITS+:BITS];
        if (2 * i + 1 < OPERANDS) begin : g_two
          assign other = g_level[level-1].values[(2*i+1)*BITS+:BITS];
        end else begin : g_odd
          assign other = one;
        end
        assign left  = {IS_SIGNED && one[BITS-1], one};
        assign right = {IS_SIGNED && other[BITS-1], other};
        always_ff @(posedge clock) values[i*BITS+:BITS] <= left < right ? other : one;
      end
    end
  end
  assign greatest = g_level[LEVELS].values;
  if (LEVELS == 0) begin : g_wire
    wire unused_clock = clock;
  end
endmodule
