// The queue between operand fetch and lanes of the vector unit, and the rule by which words leave
// it: a word enters the lanes when its operands are available, the previous word has had as many
// cycles as its slot, and the lanes advance (docs/systolic.md, "Slots").
//   slot_begin   A word (slot_word) enters the queue; slot_reads says whether it reads operands.
//                `room` says that a word fits: the word WORDS - 1 before it has entered the lanes,
//                in an earlier cycle. The queue has ENTRIES >= WORDS entries, because the operands
//                of a word are still needed when it has left the queue.
//   slot_end     The word's slot has ended; slot_cycles is its length.
//   complete     The operands of the word at complete_place are on their way into the operand
//                buffer (usable two cycles later).
//   issue        A word enters the lanes in this cycle. A word that reads nothing enters in the
//                cycle of its slot_begin if the queue is empty.
//   word_end     The last cycle of the time of the word issued last, after which the next word may
//                enter; block_end says that it was the last word of its block.
//
// If words leave in scale blocks (BLOCKS), the output of a scale block begins `depth` cycles after
// its last word has entered, once the previous scale block has been written. The end of an
// instruction's block waits for that time less `depth`, so that no output is pending when the next
// block begins. A word's time is counted in cycles in which the lanes advance, because the word
// after a gap waits for words that are in the lanes.
//   slot_beats           At slot_end: the beats of the output in the slot.
//   slot_mark            The word's part in the gathering of its scale block.
module kiln_vector_issue #(
    parameter int unsigned WORDS = 32,  // words in the queue, and one that was issued
    parameter int unsigned ENTRIES = WORDS,
    parameter bit BLOCKS = 1'b0,
    localparam int unsigned PLACE_BITS = kiln_vector_pkg::PLACE_BITS
) (
    input  logic clock,
    input  logic reset,
    input  logic advance,
    output logic room,
    output logic [PLACE_BITS-1:0] slot_place,  // queue entry of the next word
    input  logic slot_begin,
    input  kiln_vector_pkg::word_t slot_word,
    input  kiln_vector_pkg::mark_t slot_mark,  // used if BLOCKS
    input  logic slot_reads,
    input  logic slot_end,
    input  logic [31:0] slot_cycles,
    input  logic [15:0] slot_beats,
    input  logic complete,
    input  logic [PLACE_BITS-1:0] complete_place,
    // the word at nothing_place reads nothing after all, and counts as complete
    input  logic nothing,
    input  logic [PLACE_BITS-1:0] nothing_place,
    output logic issue,
    output kiln_vector_pkg::word_t issue_word,
    output kiln_vector_pkg::mark_t issue_mark,  // 0 unless BLOCKS
    output logic [PLACE_BITS-1:0] issue_place,
    output logic word_end,
    output logic block_end  // word_end of the last word of a block
);
  localparam int unsigned INDEX_BITS = ENTRIES > 1 ? $clog2(ENTRIES) : 1;
  localparam int unsigned COUNT_BITS = $clog2(WORDS + 1);
  localparam logic [INDEX_BITS-1:0] LAST = INDEX_BITS'(ENTRIES - 1);

  if (ENTRIES > 2 ** PLACE_BITS || ENTRIES < WORDS) begin : g_check
    $error("kiln_vector_issue: at most 256 entries, and at least WORDS");
  end

  logic [ENTRIES-1:0] ready;  // words whose operands are available
  logic [INDEX_BITS-1:0] head, tail;
  logic [COUNT_BITS-1:0] count;
  logic present;  // the queue holds a word
  wire unused_places = &{1'b0, complete_place, nothing_place};  // upper bits
  assign present     = count != '0;
  // One entry stays free, because the word that was issued last may still be read there.
  assign room        = count != COUNT_BITS'(WORDS - 1);
  assign slot_place  = PLACE_BITS'(tail);
  assign issue_place = PLACE_BITS'(head);

  // The words are in a memory, which is read at the entry that is the head in the next cycle. A
  // word that has entered an empty queue in the last cycle is not in the memory yet.
  logic fresh;
  logic [INDEX_BITS-1:0] next_head;
  // A stored word, and above it its mark.
  localparam int unsigned STORED =
      kiln_vector_pkg::WORD_T_BITS + (BLOCKS ? kiln_vector_pkg::MARK_BITS : 0);
  logic [STORED-1:0] listed, newest, stored, oldest, chosen;
  assign next_head  = !issue ? head : head == LAST ? '0 : head + 1'b1;
  assign oldest     = fresh && count == COUNT_BITS'(1) ? newest : stored;
  assign chosen     = present ? oldest : listed;
  assign issue_word = chosen[kiln_vector_pkg::WORD_T_BITS-1:0];
  if (BLOCKS) begin : g_marks
    assign listed     = {slot_mark, slot_word};
    assign issue_mark = chosen[STORED-1-:kiln_vector_pkg::MARK_BITS];
  end else begin : g_no_marks
    assign listed     = slot_word;
    assign issue_mark = '0;
    wire unused_mark = &{1'b0, slot_mark};
  end
  kiln_ram_1w #(
      .WIDTH(STORED),
      .WORDS(ENTRIES),
      .STYLE(1)
  ) storage (
      .clock,
      .write_enable(slot_begin),
      .write_address(tail),
      .write_data(listed),
      .read_enable(present),
      .read_address(next_head),
      .read_data(stored)
  );

  always_ff @(posedge clock) begin
    fresh <= slot_begin;
    if (slot_begin) newest <= listed;
    if (slot_begin) ready[tail] <= !slot_reads;
    if (complete) ready[INDEX_BITS'(complete_place)] <= 1'b1;
    if (nothing) ready[INDEX_BITS'(nothing_place)] <= 1'b1;
    if (reset) begin
      head  <= '0;
      tail  <= '0;
      count <= '0;
    end else begin
      if (slot_begin) tail <= tail == LAST ? '0 : tail + 1'b1;
      head  <= next_head;
      count <= count + COUNT_BITS'(slot_begin) - COUNT_BITS'(issue);
    end
  end

  // ---- Time of words. `free`: the previous word has had its time. Whether a word enters is known
  // late in the cycle, so the comparisons are made for both cases.
  logic free, length_known, last_of_block, last_of_block_now, lengths_valid, unused_ready;
  logic length_over, owed_over;
  logic [31:0] since, since_next, since_now, length, lengths_data;
  assign issue             = free && advance && (present ? ready[head] : slot_begin && !slot_reads);
  assign since_next        = advance ? since + 1'b1 : since;  // if no word enters
  assign since_now         = issue ? 32'd1 : since_next;
  assign last_of_block_now = issue ? issue_word.last_of_block : last_of_block;
  assign length_known      = lengths_valid || slot_end;
  assign length            = lengths_valid ? lengths_data : slot_cycles;
  assign length_over       = issue ? length <= 32'd1 : since_next >= length;
  assign word_end          = (issue || !free) && length_known && length_over &&
      (!last_of_block_now || owed_over);
  assign block_end         = word_end && last_of_block_now;

  always_ff @(posedge clock) begin
    if (reset) free <= 1'b1;
    else if (issue || !free) free <= word_end;
    if (issue || !free) since <= since_now;
    if (issue) last_of_block <= issue_word.last_of_block;
  end

  // ---- The time that the output of scale blocks still needs, as if `depth` were 0.
  if (!BLOCKS) begin : g_no_blocks
    assign owed_over = 1'b1;
    wire unused_blocks = &{1'b0, slot_beats};
  end else begin : g_blocks
    logic gathered, last_gathered, gathered_now, last_gathered_now, beats_valid, unused_beats_ready;
    logic [15:0] beats, beats_data;  // of the current word
    // cycles still owed when the current word's time begins; beats of the block's earlier words
    logic [31:0] owed, block_beats;
    // The cycles that the output needs from the entry of the current word on, once its length is
    // known; with_block: if it is the last of a scale block.
    logic [31:0] owed_behind, with_block;
    logic [$clog2(WORDS+3)-1:0] unused_beats_count;
    assign gathered_now      = issue ? issue_mark.gathered : gathered;
    assign last_gathered_now = issue ? issue_mark.last : last_gathered;
    assign beats             = beats_valid ? beats_data : slot_beats;
    assign with_block        = owed + block_beats + 32'(beats);
    assign owed_behind       = gathered_now && last_gathered_now ? with_block : owed;
    always_comb begin
      owed_over = since_next >= owed;
      if (gathered && last_gathered) owed_over = since_next >= with_block;
      if (issue) begin
        owed_over = owed <= 32'd1;
        if (issue_mark.gathered && issue_mark.last) owed_over = with_block <= 32'd1;
      end
    end
    kiln_deep_fifo #(
        .WIDTH(16),
        .DEPTH(WORDS + 2),
        .STYLE(1)
    ) slots (
        .clock,
        .reset,
        .in_valid(slot_end && !(word_end && !lengths_valid)),
        .in_ready(unused_beats_ready),
        .in_data(slot_beats),
        .out_valid(beats_valid),
        .out_ready(word_end),
        .out_data(beats_data),
        .count(unused_beats_count)
    );
    always_ff @(posedge clock) begin
      if (issue) begin
        gathered      <= issue_mark.gathered;
        last_gathered <= issue_mark.last;
      end
      if (reset) begin
        owed        <= '0;
        block_beats <= '0;
      end else if (word_end) begin
        owed <= owed_behind > since_now ? owed_behind - since_now : '0;
        if (gathered_now) block_beats <= last_gathered_now ? '0 : block_beats + 32'(beats);
      end else if (free && !issue && advance && owed != '0) begin
        owed <= owed - 1'b1;
      end
    end
  end

  // Lengths of slots that have ended, for words whose time has not: at most one more than the words
  // in the queue.
  logic [$clog2(WORDS+3)-1:0] unused_count;
  kiln_deep_fifo #(
      .WIDTH(32),
      .DEPTH(WORDS + 2),
      .STYLE(1)
  ) lengths (
      .clock,
      .reset,
      .in_valid(slot_end && !(word_end && !lengths_valid)),
      .in_ready(unused_ready),
      .in_data(slot_cycles),
      .out_valid(lengths_valid),
      .out_ready(word_end),
      .out_data(lengths_data),
      .count(unused_count)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      queue_in_range : assert (32'(count) < WORDS);
      head_in_range : assert (32'(head) < ENTRIES);
      tail_in_range : assert (32'(tail) < ENTRIES);
      word_finds_room : assert (!slot_begin || room);
      issues_a_word : assert (!issue || present || slot_begin);
      length_finds_room : assert (!(slot_end && !(word_end && !lengths_valid)) || unused_ready);
      complete_in_queue : assert (!complete || 32'(complete_place) < ENTRIES);
    end
  end
`endif
endmodule
