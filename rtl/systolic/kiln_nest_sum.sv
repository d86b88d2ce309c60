// The sum over the loops of a nest of index * step, computed without a multiplier. Units walk
// addresses and coordinates with it.
//   sum         The sum for this cycle's indices, modulo 2^BITS; 0 if all indices are 0.
//   advance     At most one of LEVELS bits: in the next cycle that loop has its next index (loop 0
//               is the innermost), and all loops inside it have index 0.
//   restart     In the next cycle all indices are 0; has priority over `advance`.
//   steps       Step of loop k in bits k * BITS on; read only with `advance`. Advancing a loop with
//               step 0 returns the loops inside it to index 0.
//   rewind      Instead of `advance`: in the next cycle all loops but the outermost one have index
//               0.
module kiln_nest_sum #(
    parameter int LEVELS = 3,
    parameter int BITS   = 40
) (
    input  logic                   clock,
    input  logic                   reset,
    input  logic                   restart,
    input  logic                   rewind,
    input  logic [     LEVELS-1:0] advance,
    input  logic [LEVELS*BITS-1:0] steps,
    output logic [       BITS-1:0] sum
);
  // The register of loop k holds the sum with index 0 in the loops inside it. Every loop has an
  // adder of its own, because `advance` is often the last signal to arrive.
  logic [LEVELS*BITS-1:0] sums;
  logic [LEVELS*BITS-1:0] advanced;
  logic [BITS-1:0] next;
  for (genvar k = 0; k < LEVELS; k++) begin : g_advanced
    assign advanced[k*BITS+:BITS] = sums[k*BITS+:BITS] + steps[k*BITS+:BITS];
  end
  always_comb begin
    next = sums[(LEVELS-1)*BITS+:BITS] & {BITS{rewind}};
    for (int k = 0; k < LEVELS; k++) next |= advanced[k*BITS+:BITS] & {BITS{advance[k]}};
  end
  assign sum = sums[BITS-1:0];

  for (genvar k = 0; k < LEVELS; k++) begin : g_level
    always_ff @(posedge clock) begin
      if (reset || restart) sums[k*BITS+:BITS] <= '0;
      else if (|advance[LEVELS-1:k] || (k < LEVELS - 1 && rewind)) sums[k*BITS+:BITS] <= next;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_loop_advances : assert (restart || $onehot0({rewind, advance}));
    end
  end
`endif
endmodule
