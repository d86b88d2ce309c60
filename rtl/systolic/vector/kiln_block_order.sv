// Whether a block of the vector unit would leave before the words that are still on their way: a
// program with a shorter way than the one before starts later by the difference.
//   depth      Cycles of the current program's way; constant while its command is current.
//   block_end  A block's last word has had its time: it leaves after `depth` cycles with `advance`.
//   waits      In a cycle whose command is the one of the cycle before: a block that starts now
//              would be too early.
module kiln_block_order (
    input  logic        clock,
    input  logic        reset,
    input  logic        advance,
    input  logic        block_end,
    input  logic [15:0] depth,
    output logic        waits
);
  logic [15:0] leaving;  // cycles with `advance` until all words have left
  logic later, later_soon;  // than `depth`, now and after a cycle with `advance`
  assign later      = leaving > depth;
  assign later_soon = 17'(leaving) > 17'(depth) + 17'd1;
  always_ff @(posedge clock) begin
    if (reset) begin
      leaving <= '0;
      waits   <= 1'b0;
    end else if (block_end && !later) begin
      leaving <= depth;
      waits   <= 1'b0;
    end else begin
      if (advance && leaving != '0) leaving <= leaving - 1'b1;
      waits <= advance ? later_soon : later;
    end
  end
endmodule
