// A queue for deep and wide storage: behaves like kiln_fifo cycle by cycle, and stores its words in
// a memory (kiln_ram_1w).
//   time       a word accepted in cycle t (in_valid && in_ready) reaches the output in t + 1 at the
//              earliest; accepts and delivers one word per cycle
//   in_ready   high while the queue has room; a function of registers only
//   count      number of stored words, at most DEPTH
// The memory returns a word one cycle after its address, so the read of the next word is issued
// when the current word leaves. A word that arrives at an empty queue, or while the last word
// leaves, bypasses the memory through a register.
module kiln_deep_fifo #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned DEPTH = 512,  // words, any number from 2
    parameter int unsigned STYLE = 0,  // the kind of memory, as kiln_ram_1w names it
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
  localparam int unsigned PLACE_BITS = $clog2(DEPTH);
  localparam logic [PLACE_BITS-1:0] LAST = PLACE_BITS'(DEPTH - 1);

  if (DEPTH < 2) begin : g_depth
    $error("DEPTH must be 2 at least");
  end

  // read_place is the address of the word at the output.
  logic [PLACE_BITS-1:0] write_place, read_place, next_place;
  logic push, pop, none_before, passes, passed;
  logic [WIDTH-1:0] passed_data, read_data;

  assign in_ready = count != COUNT_BITS'(DEPTH);
  assign out_valid = count != '0;
  assign push = in_valid && in_ready;
  assign pop = out_valid && out_ready;
  assign next_place = read_place == LAST ? '0 : read_place + 1'b1;
  assign none_before = count == '0 || (count == COUNT_BITS'(1) && pop);
  assign passes = push && none_before;
  assign out_data = passed ? passed_data : read_data;

  kiln_ram_1w #(
      .WIDTH(WIDTH),
      .WORDS(DEPTH),
      .STYLE(STYLE)
  ) storage (
      .clock,
      .write_enable(push),
      .write_address(write_place),
      .write_data(in_data),
      .read_enable(pop),
      .read_address(next_place),
      .read_data
  );

  always_ff @(posedge clock) begin
    if (passes) passed_data <= in_data;
    if (passes) passed <= 1'b1;
    else if (pop) passed <= 1'b0;
    if (reset) begin
      count       <= '0;
      write_place <= '0;
      read_place  <= '0;
    end else begin
      count <= count + COUNT_BITS'(push) - COUNT_BITS'(pop);
      if (push) write_place <= write_place == LAST ? '0 : write_place + 1'b1;
      if (pop) read_place <= next_place;
    end
  end
`ifdef FORMAL
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
      reads_behind_writes : assert (!(pop && !none_before && next_place == write_place));
    end
  end
`endif
endmodule
