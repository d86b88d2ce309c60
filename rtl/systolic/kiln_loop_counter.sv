// Counts the rounds of a loop, and knows the first and the last round from registers: the count is
// not in the paths of these outputs. The upper half of the count takes its carry one cycle later,
// so that `advance` may come late.
//   rounds    At least 1; constant while the loop is in a round, and considered in its first.
//   advance   The next cycle has the next round; not in the last one.
//   restart   The next cycle has the first round of the loop's next run; it overrules `advance`.
module kiln_loop_counter #(
    parameter int unsigned BITS = 24
) (
    input  logic            clock,
    input  logic            reset,
    input  logic [BITS-1:0] rounds,
    input  logic            advance,
    input  logic            restart,
    output logic [BITS-1:0] count,  // rounds before this one
    output logic            first,
    output logic            last
);
  localparam int unsigned LOW = (BITS + 1) / 2, HIGH = BITS - LOW;
  logic [LOW-1:0] low;
  logic [HIGH-1:0] high;
  logic carry;  // into `high`
  logic ends;  // in a later round than the first: it is the last one
  assign count = {high + HIGH'(carry), low};
  assign last  = first ? rounds == BITS'(1) : ends;
  always_ff @(posedge clock) begin
    if (reset || restart) begin
      low   <= '0;
      high  <= '0;
      carry <= 1'b0;
      first <= 1'b1;
    end else begin
      high  <= high + HIGH'(carry);
      carry <= advance && low == '1;
      if (advance) begin
        low   <= low + 1'b1;
        first <= 1'b0;
        ends  <= count + BITS'(2) == rounds;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      no_round_after_the_last : assert (!advance || restart || !last);
      first_is_round_0 : assert (first == (count == '0));
    end
  end
`endif
endmodule
