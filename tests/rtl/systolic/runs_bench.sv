// The run counters of input fetch: runs of packed words for arrays of 8 and of 3 rows, which
// receive the same command, and runs of depthwise words at one and at four words per beat.
module runs_bench (
    input  logic        clock,
    input  logic        reset,
    input  logic [31:0] run_entries,
    input  logic        joined,
    input  logic [23:0] kernel_y,
    input  logic [23:0] kernel_x,
    input  logic [23:0] dilation_y,
    input  logic [23:0] dilation_x,
    input  logic [31:0] tap_row_bytes,
    input  logic [31:0] tap_column_bytes,
    input  logic        eight_last_word,
    input  logic        eight_advance,
    output logic [ 3:0] eight_lane,
    output logic [ 3:0] eight_entries,
    output logic        eight_last,
    output logic [31:0] eight_row,
    output logic [31:0] eight_column,
    output logic [31:0] eight_row_offset,
    output logic [31:0] eight_column_offset,
    input  logic        three_last_word,
    input  logic        three_advance,
    output logic [ 1:0] three_lane,
    output logic [ 1:0] three_entries,
    output logic        three_last,
    output logic [31:0] three_row,
    output logic [31:0] three_column,
    output logic [31:0] three_row_offset,
    output logic [31:0] three_column_offset,
    input  logic [23:0] single_length,
    input  logic [31:0] single_address,
    input  logic        single_padding,
    input  logic        single_limited,
    input  logic [31:0] single_limit,
    input  logic        single_advance,
    output logic [23:0] single_place,
    output logic        single_words,
    output logic        single_last,
    input  logic [23:0] four_length,
    input  logic [31:0] four_address,
    input  logic        four_padding,
    input  logic        four_limited,
    input  logic [31:0] four_limit,
    input  logic        four_advance,
    output logic [23:0] four_place,
    output logic [ 2:0] four_words,
    output logic        four_last
);
  kiln_packed_runs #(
      .ARRAY_ROWS(8),
      .CODE_BYTES(1)
  ) eight (
      .last_word(eight_last_word),
      .advance(eight_advance),
      .lane(eight_lane),
      .entries(eight_entries),
      .last(eight_last),
      .row(eight_row),
      .column(eight_column),
      .row_offset(eight_row_offset),
      .column_offset(eight_column_offset),
      .*
  );
  kiln_packed_runs #(
      .ARRAY_ROWS(3),
      .CODE_BYTES(2)
  ) three (
      .last_word(three_last_word),
      .advance(three_advance),
      .lane(three_lane),
      .entries(three_entries),
      .last(three_last),
      .row(three_row),
      .column(three_column),
      .row_offset(three_row_offset),
      .column_offset(three_column_offset),
      .*
  );
  kiln_word_run #(
      .WORDS_PER_CYCLE(1),
      .WORD_BYTES(5)
  ) single (
      .length(single_length),
      .address(single_address),
      .padding(single_padding),
      .limited(single_limited),
      .limit(single_limit),
      .advance(single_advance),
      .place(single_place),
      .words(single_words),
      .last(single_last),
      .*
  );
  kiln_word_run #(
      .WORDS_PER_CYCLE(4),
      .WORD_BYTES(8)
  ) four (
      .length(four_length),
      .address(four_address),
      .padding(four_padding),
      .limited(four_limited),
      .limit(four_limit),
      .advance(four_advance),
      .place(four_place),
      .words(four_words),
      .last(four_last),
      .*
  );
endmodule
