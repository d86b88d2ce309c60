// Joins the channels of INPUTS tensors: for each pixel, the words of input 0, then those of input
// 1, and so on. Pops a word of the input whose turn it is, if there is one and there is room, and
// pushes it in the same cycle.
module kiln_dataflow_concat #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned INPUTS = 2,
    // Words of a pixel of each input, at least 1, in 32 bits each; input 0 lowest.
    parameter logic [INPUTS*32-1:0] PIXEL_WORDS = {INPUTS{32'd1}}
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic [      INPUTS-1:0] in_valid,
    input  logic [INPUTS*WIDTH-1:0] in_data,
    output logic [      INPUTS-1:0] in_pop,
    input  logic                    out_room,
    output logic                    out_reserve,
    output logic                    out_push,
    output logic [       WIDTH-1:0] out_data
);
  localparam int unsigned WORD_BITS = 32;
  logic [INPUTS-1:0] turn, next_turn;  // one-hot
  logic [WORD_BITS-1:0] words_left, next_words;  // after this one, of the input whose turn it is
  if (INPUTS == 1) begin : g_one
    assign next_turn = turn;
  end else begin : g_rotate
    assign next_turn = {turn[INPUTS-2:0], turn[INPUTS-1]};
  end
  always_comb begin
    next_words = '0;
    out_data   = '0;
    for (int i = 0; i < INPUTS; i++) begin
      if (next_turn[i]) next_words = next_words | (PIXEL_WORDS[i*32+:32] - 1'b1);
      if (turn[i]) out_data = out_data | in_data[i*WIDTH+:WIDTH];
    end
  end
  assign in_pop = out_room ? in_valid & turn : '0;
  assign out_push = in_pop != '0;
  assign out_reserve = out_push;
  always_ff @(posedge clock) begin
    if (reset) begin
      turn       <= INPUTS'(1);
      words_left <= PIXEL_WORDS[31:0] - 1'b1;
    end else if (out_push) begin
      if (words_left == '0) turn <= next_turn;
      words_left <= words_left == '0 ? next_words : words_left - 1'b1;
    end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_turn : assert ($onehot(turn));
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
