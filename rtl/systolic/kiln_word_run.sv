// Splits a run of words that are consecutive in memory and in a depthwise bank into requests of
// several words. No request crosses an aligned group of WORDS_PER_CYCLE words in memory, so that a
// request of aligned words has one beat.
//   words      The number of words of this cycle's request.
//   place      The number of words of the run before the request.
//   last       The request is the last of its run.
//   advance    The next cycle has the next request or, after the last one, the first of the next
//              run.
//
// The inputs may depend on `place`.
module kiln_word_run #(
    parameter int unsigned WORDS_PER_CYCLE = 4,  // a power of two
    parameter int unsigned WORD_BYTES = 8,  // also a power of two, if WORDS_PER_CYCLE is above 1
    localparam int unsigned WORDS_BITS = $clog2(WORDS_PER_CYCLE + 1),  // derived, do not set
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic [            23:0] length,  // words of the run
    input  logic [ADDRESS_BITS-1:0] address,  // of the request
    input  logic                    padding,  // the request has no address
    // The request ends at most `limit` bytes after its address; `limit` is at least one word.
    input  logic                    limited,
    input  logic [ADDRESS_BITS-1:0] limit,
    input  logic                    advance,
    output logic [            23:0] place,
    output logic [  WORDS_BITS-1:0] words,
    output logic                    last
);
  logic [23:0] rest;
  assign rest = length - place;

  if (WORDS_PER_CYCLE == 1) begin : g_one
    assign words = 1'b1;
    wire unused_address = &{1'b0, address, padding, limited, limit};
  end else begin : g_several
    localparam int unsigned SHIFT = $clog2(WORD_BYTES);
    localparam logic [WORDS_BITS-1:0] MOST = WORDS_BITS'(WORDS_PER_CYCLE);
    if (WORD_BYTES != 1 << SHIFT || (WORDS_PER_CYCLE & (WORDS_PER_CYCLE - 1)) != 0) begin : g_odd
      $error("kiln_word_run: sizes must be powers of two");
    end
    logic [WORDS_BITS-1:0] aligned;  // words up to the end of the aligned group
    logic [ADDRESS_BITS-1:0] limit_words;
    assign aligned = padding ? MOST : MOST - WORDS_BITS'(address[SHIFT+:WORDS_BITS-1]);
    assign limit_words = limit >> SHIFT;
    always_comb begin
      words = aligned;
      if (limited && limit_words < ADDRESS_BITS'(words)) words = limit_words[WORDS_BITS-1:0];
      if (rest < 24'(words)) words = rest[WORDS_BITS-1:0];
    end
    wire unused_address = &{1'b0, address};
  end
  assign last = rest == 24'(words);

  always_ff @(posedge clock) begin
    if (reset || (advance && last)) place <= '0;
    else if (advance) place <= place + 24'(words);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      request_not_empty : assert (!advance || words != '0);
      request_within_run : assert (!advance || 24'(words) <= rest);
      place_within_run : assert (!advance || place < length);
    end
  end
`endif
endmodule
