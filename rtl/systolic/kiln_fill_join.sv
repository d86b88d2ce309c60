// The token of a bank whose codes and block scales come over two ports: it goes out when both are there, and in the order of fills.
//   filled, scaled   the codes of a fill are there, and whether it has scales
//   scales_filled    the scales of the next fill that has some are there
//   both_filled      one token a fill, in the cycle of the later of the two (of two fills that end at once the second's a cycle
//                    later)
// At most two fills are under way, as many as there are banks.
module kiln_fill_join (
    input  logic clock,
    input  logic reset,
    input  logic filled,
    input  logic scaled,
    input  logic scales_filled,
    output logic both_filled
);
  logic [1:0] waiting;  // fills whose codes are there
  logic [1:0] waiting_scaled;  // whether they have scales, the oldest in bit 0
  logic [1:0] scales;  // fills whose scales are there and whose token is not out

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
endmodule
