// Adds signed numbers in a tree of adders with a register after every LEVELS_PER_REGISTER levels
// and after the last: the exact sum of the terms of cycle t is at `sum` in
// t + ceil(ceil(log2(TERMS)) / LEVELS_PER_REGISTER). A last term without a partner is added to 0.
module kiln_sum_tree #(
    parameter  int unsigned TERMS               = 4,
    parameter  int unsigned BITS                = 8,              // of a term
    parameter  int unsigned LEVELS_PER_REGISTER = 1,
    localparam int unsigned LEVELS              = $clog2(TERMS),  // derived, do not set
    localparam int unsigned SUM_BITS            = BITS + LEVELS   // derived, do not set
) (
    input  logic                  clock,
    input  logic [TERMS*BITS-1:0] terms,
    output logic [  SUM_BITS-1:0] sum
);
  if (TERMS < 1 || LEVELS_PER_REGISTER < 1) begin : g_parameters
    $error("TERMS and LEVELS_PER_REGISTER must be 1 at least");
  end

  for (genvar level = 0; level <= LEVELS; level++) begin : g_level
    // One bit more per level.
    localparam int unsigned COUNT = (TERMS + (1 << level) - 1) >> level;
    localparam int unsigned WIDTH = BITS + level;
    logic [COUNT*WIDTH-1:0] values;
    if (level == 0) begin : g_terms
      assign values = terms;
    end else begin : g_sums
      localparam int unsigned OPERANDS = (TERMS + (1 << (level - 1)) - 1) >> (level - 1);
      logic [COUNT*WIDTH-1:0] sums;
      for (genvar i = 0; i < COUNT; i++) begin : g_sum
        logic signed [WIDTH-2:0] left, right;
        assign left = g_level[level-1].values[2*i*(WIDTH-1)+:WIDTH-1];
        if (2 * i + 1 < OPERANDS) begin : g_pair
          assign right = g_level[level-1].values[(2*i+1)*(WIDTH-1)+:WIDTH-1];
        end else begin : g_odd
          assign right = '0;
        end
        assign sums[i*WIDTH+:WIDTH] = WIDTH'(left) + WIDTH'(right);
      end
      if (level % LEVELS_PER_REGISTER == 0 || level == LEVELS) begin : g_register
        always_ff @(posedge clock) values <= sums;
      end else begin : g_wire
        assign values = sums;
      end
    end
  end
  assign sum = g_level[LEVELS].values;
  if (LEVELS == 0) begin : g_wire
    wire unused_clock = clock;
  end
endmodule
