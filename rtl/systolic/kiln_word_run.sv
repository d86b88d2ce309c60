// A run of words that lie side by side in memory as in a depthwise bank, asked for as many at once as a beat brings: no request goes across
// an aligned group of WORDS_PER_CYCLE words of the memory, so that where words are aligned each has one beat.
//   words      of this cycle's request
//   place      words of the run before it
//   last       it is the run's last request
//   advance    the next cycle sees the next request, behind the last one the first of the next run
// The inputs may follow from `place`.
module kiln_word_run #(
    parameter int unsigned WORDS_PER_CYCLE = 4,  // a power of two
    parameter int unsigned WORD_BYTES = 8,  // likewise, where there is more than one
    localparam int unsigned WORDS_BITS = $clog2(WORDS_PER_CYCLE + 1)  // derived, do not set
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic [          23:0] length,  // words of the run
    input  logic [          39:0] address,  // of the request
    input  logic                  padding,  // which has no address
    input  logic                  limited,  // the request ends `limit` bytes further at the latest, a word or more
    input  logic [          39:0] limit,
    input  logic                  advance,
    output logic [          23:0] place,
    output logic [WORDS_BITS-1:0] words,
    output logic                  last
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
    logic [WORDS_BITS-1:0] aligned;  // words to the end of the group
    logic [39:0] limit_words;
    assign aligned = padding ? MOST : MOST - WORDS_BITS'(address[SHIFT+:WORDS_BITS-1]);
    assign limit_words = limit >> SHIFT;
    always_comb begin
      words = aligned;
      if (limited && limit_words < 40'(words)) words = limit_words[WORDS_BITS-1:0];
      if (rest < 24'(words)) words = rest[WORDS_BITS-1:0];
    end
    wire unused_address = &{1'b0, address};
  end
  assign last = rest == 24'(words);

  always_ff @(posedge clock) begin
    if (reset || (advance && last)) place <= '0;
    else if (advance) place <= place + 24'(words);
  end
endmodule
