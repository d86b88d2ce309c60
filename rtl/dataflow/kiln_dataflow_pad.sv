// Surrounds a map with PAD_VALUE. Walks over the padded map of PT + H + PB rows and PL + W + PR
// columns of PAD_FRONT + CG + PAD_BACK words each. Inside (rows and columns of the map, and the CG
// words of the input), it pops a word and pushes it in the same cycle; outside it pushes PAD_VALUE
// in all lanes. Each step needs room. Steps before an image's first inner word also wait for that
// word, so that no word leaves before an image begins.
module kiln_dataflow_pad #(
    parameter int unsigned LANES = 1,
    parameter int unsigned CODE_BITS = 8,
    parameter int PAD_VALUE = 0,
    parameter int unsigned H = 8,
    parameter int unsigned W = 8,
    parameter int unsigned CG = 1,  // words of a pixel of the input
    parameter int unsigned PT = 1,
    parameter int unsigned PB = 1,
    parameter int unsigned PL = 1,
    parameter int unsigned PR = 1,
    parameter int unsigned PAD_FRONT = 0,
    parameter int unsigned PAD_BACK = 0,
    localparam int unsigned WORD_WIDTH = LANES * CODE_BITS  // derived, do not set
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic                  in_valid,
    input  logic [WORD_WIDTH-1:0] in_data,
    output logic                  in_pop,
    input  logic                  out_room,
    output logic                  out_reserve,
    output logic                  out_push,
    output logic [WORD_WIDTH-1:0] out_data
);
  localparam int unsigned ROWS = PT + H + PB;
  localparam int unsigned COLUMNS = PL + W + PR;
  localparam int unsigned WORDS = PAD_FRONT + CG + PAD_BACK;
  localparam int unsigned Y_BITS = $clog2(ROWS + 1);
  localparam int unsigned X_BITS = $clog2(COLUMNS + 1);
  localparam int unsigned WORD_BITS = $clog2(WORDS + 1);
  logic [Y_BITS-1:0] y;
  logic [X_BITS-1:0] x;
  logic [WORD_BITS-1:0] word;
  logic is_inside, begun, last_y, last_x, last_word;  // begun: the first inner word has left
  assign is_inside = (PT == 0 || y >= Y_BITS'(PT)) && y < Y_BITS'(PT + H) &&
      (PL == 0 || x >= X_BITS'(PL)) && x < X_BITS'(PL + W) &&
      (PAD_FRONT == 0 || word >= WORD_BITS'(PAD_FRONT)) && word < WORD_BITS'(PAD_FRONT + CG);
  assign last_y = y == Y_BITS'(ROWS - 1);
  assign last_x = x == X_BITS'(COLUMNS - 1);
  assign last_word = word == WORD_BITS'(WORDS - 1);
  assign out_push = out_room && (in_valid || (begun && !is_inside));
  assign out_reserve = out_push;
  assign in_pop = out_push && is_inside;
  assign out_data = is_inside ? in_data : {LANES{CODE_BITS'(PAD_VALUE)}};
  always_ff @(posedge clock) begin
    if (reset) begin
      y     <= '0;
      x     <= '0;
      word  <= '0;
      begun <= 1'b0;
    end else if (out_push) begin
      word <= last_word ? '0 : word + 1'b1;
      if (last_word) x <= last_x ? '0 : x + 1'b1;
      if (last_word && last_x) y <= last_y ? '0 : y + 1'b1;
      begun <= !(last_word && last_x && last_y) && (begun || is_inside);
    end
  end
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      position_in_range : assert (32'(y) < ROWS && 32'(x) < COLUMNS && 32'(word) < WORDS);
      popped_only_when_valid : assert (!in_pop || in_valid);
      waits_for_an_image : assert (!out_push || begun || in_valid);
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
