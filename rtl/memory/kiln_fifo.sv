// A queue with first-word fall-through: the output shows the oldest word while out_valid is high.
//   time       a word accepted in cycle t (in_valid && in_ready) reaches the output in t + 1 at the
//              earliest; accepts and delivers one word per cycle (DEPTH 1: one word every other
//              cycle, because in_ready does not depend on out_ready)
//   in_ready   high while the queue has room; a function of registers only
//   count      number of stored words, at most DEPTH
// Words are read asynchronously, so they are stored in registers or LUT memory. Use kiln_deep_fifo
// for deep and wide queues.
module kiln_fifo #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned DEPTH = 4,  // words, any number from 1
    localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1)  // derived, do not set
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [     WIDTH-1:0] in_data,
    output logic                  out_valid,
    input  logic                  out_ready,
    output logic [     WIDTH-1:0] out_data,
    output logic [COUNT_BITS-1:0] count
);
  localparam int unsigned PLACE_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1;
  localparam logic [PLACE_BITS-1:0] LAST = PLACE_BITS'(DEPTH - 1);

  logic [WIDTH-1:0] words[DEPTH];
  logic [PLACE_BITS-1:0] write_place, read_place;
  logic push, pop;

  assign in_ready = count != COUNT_BITS'(DEPTH);
  assign out_valid = count != '0;
  assign out_data = words[read_place];
  assign push = in_valid && in_ready;
  assign pop = out_valid && out_ready;

  always_ff @(posedge clock) begin
    if (push) words[write_place] <= in_data;
    if (reset) begin
      count       <= '0;
      write_place <= '0;
      read_place  <= '0;
    end else begin
      count <= count + COUNT_BITS'(push) - COUNT_BITS'(pop);
      if (push) write_place <= write_place == LAST ? '0 : write_place + 1'b1;
      if (pop) read_place <= read_place == LAST ? '0 : read_place + 1'b1;
    end
  end
`ifdef FORMAL
  // The words from the oldest on, for proofs of modules with a queue (`probes` of
  // tools/check_formal). Words from `count` on are of no meaning.
  logic [DEPTH*WIDTH-1:0] contents;
  always_comb begin
    for (int i = 0; i < DEPTH; i++) begin
      contents[i*WIDTH+:WIDTH] = words[PLACE_BITS'((32'(read_place) + i) % DEPTH)];
    end
  end

  // Proves the order: follows one arbitrary accepted word to the output. `ahead` words leave
  // before it.
  (* anyseq *) logic choose;
  logic followed;
  logic [PLACE_BITS-1:0] followed_place;
  logic [WIDTH-1:0] followed_word;
  logic [31:0] ahead;
  assign ahead = followed_place >= read_place ? 32'(followed_place) - 32'(read_place) :
      DEPTH + 32'(followed_place) - 32'(read_place);
  always_ff @(posedge clock) begin
    if (reset) begin
      followed <= 1'b0;
    end else if (!followed && push && choose) begin
      followed       <= 1'b1;
      followed_place <= write_place;
      followed_word  <= in_data;
    end else if (followed && pop && ahead == 0) begin
      followed <= 1'b0;
    end
    if (!reset && followed) begin
      followed_in_queue : assert (32'(followed_place) < DEPTH && ahead < 32'(count));
      followed_stored : assert (words[followed_place] == followed_word);
      comes_out_in_order : assert (ahead != 0 || (out_valid && out_data == followed_word));
    end
  end
`endif

`ifndef SYNTHESIS
  logic [31:0] distance;  // from the read position to the write position, modulo DEPTH
  assign distance = write_place >= read_place ? 32'(write_place) - 32'(read_place) :
      DEPTH + 32'(write_place) - 32'(read_place);
  always_ff @(posedge clock) begin
    if (!reset) begin
      count_within_depth : assert (32'(count) <= DEPTH);
      write_place_in_range : assert (32'(write_place) < DEPTH);
      read_place_in_range : assert (32'(read_place) < DEPTH);
      count_matches_places : assert (distance == (32'(count) == DEPTH ? 0 : 32'(count)));
    end
  end
`endif
endmodule
