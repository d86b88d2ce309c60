// Joins the tokens of a bank whose codes and block scales arrive over two ports: the bank's token
// is sent when both have arrived, in the order of the fills.
//   filled, scaled   The codes of a fill have arrived, and whether the fill has scales.
//   scales_filled    The scales of the next fill that has scales have arrived.
//   both_filled      One token per fill, in the cycle in which the later of the two arrives. (If
//                    two fills are completed at once, the second token is sent one cycle later.)
//
// At most two fills are in flight, one for each bank.
module kiln_fill_join (
    input  logic clock,
    input  logic reset,
    input  logic filled,
    input  logic scaled,
    input  logic scales_filled,
    output logic both_filled
);
  logic [1:0] waiting;  // fills whose codes have arrived
  logic [1:0] waiting_scaled;  // bit i: the fill has scales; the oldest in bit 0
  logic [1:0] scales;  // fills whose scales have arrived and whose token has not been sent

  logic there, needs_scales;
  assign there = waiting != '0 || filled;
  assign needs_scales = waiting != '0 ? waiting_scaled[0] : scaled;
  assign both_filled = there && (!needs_scales || scales != '0 || scales_filled);

  always_ff @(posedge clock) begin
    if (reset) begin
      waiting        <= '0;
      waiting_scaled <= '0;
      scales         <= '0;
    end else begin
      waiting <= waiting + 2'(filled) - 2'(both_filled);
      scales  <= scales + 2'(scales_filled) - 2'(both_filled && needs_scales);
      if (both_filled) waiting_scaled <= {1'b0, waiting == 2'd1 ? scaled : waiting_scaled[1]};
      else if (filled) waiting_scaled[waiting[0]] <= scaled;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      // At most two fills are in flight, one for each bank.
      two_fills_wait : assert (waiting <= 2'd2);
      two_scales_wait : assert (scales <= 2'd2);
      token_of_a_fill : assert (!both_filled || waiting != '0 || filled);
    end
  end
`endif
endmodule
