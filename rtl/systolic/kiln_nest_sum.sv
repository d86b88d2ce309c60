// The sum over the loops of a nest of index * step, without a multiplier: an address or a coordinate that is walked along.
//   sum        of this cycle's indices; 0 with all of them 0. Modulo 2^BITS.
//   advance    one bit of LEVELS, or none: the next cycle sees the loop's next index (loop 0 is the innermost), with all loops inside
//              it at 0
//   restart    the next cycle sees all indices 0; goes before `advance`
//   steps      loop k's in bits k * BITS on; read with `advance` only. A loop with step 0 brings those inside it back to their first.
module kiln_nest_sum #(
    parameter int LEVELS = 3,
    parameter int BITS   = 40
) (
    input  logic                   clock,
    input  logic                   reset,
    input  logic                   restart,
    input  logic [     LEVELS-1:0] advance,
    input  logic [LEVELS*BITS-1:0] steps,
    output logic [       BITS-1:0] sum
);
  // Loop k's register holds the sum with the loops inside it at 0.
  logic [LEVELS*BITS-1:0] sums;
  logic [BITS-1:0] from, by, next;
  always_comb begin
    from = '0;
    by   = '0;
    for (int k = 0; k < LEVELS; k++) begin
      from |= sums[k*BITS+:BITS] & {BITS{advance[k]}};
      by |= steps[k*BITS+:BITS] & {BITS{advance[k]}};
    end
  end
  assign next = from + by;
  assign sum  = sums[BITS-1:0];

  for (genvar k = 0; k < LEVELS; k++) begin : g_level
    always_ff @(posedge clock) begin
      if (reset || restart) sums[k*BITS+:BITS] <= '0;
      else if (|advance[LEVELS-1:k]) sums[k*BITS+:BITS] <= next;
    end
  end
endmodule
