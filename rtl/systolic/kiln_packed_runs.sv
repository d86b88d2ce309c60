// Lists the runs of a packed word, for tap packing. The word has entries gR to gR + R - 1 of the
// list (ky, kx, c) in row-major order. A run is a stretch of them that is consecutive in memory: up
// to run_entries entries, of one ky (`joined`) or of one (ky, kx). The last group is shorter.
//   entries, ...   Of this cycle's run. The members of the command are constant while the
//                  instruction is current.
//   advance        The next cycle has the next run: the next one of the word, otherwise the first
//                  one of the group's next word, or with `last && last_word` the first one of the
//                  next group's first word. The first group follows the last one.
module kiln_packed_runs #(
    parameter int unsigned ARRAY_ROWS = 8,  // R
    parameter int unsigned CODE_BYTES = 1,
    localparam int unsigned LANE_BITS = $clog2(ARRAY_ROWS + 1),  // derived, do not set
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic [            31:0] run_entries,
    input  logic                    joined,
    input  logic [            23:0] kernel_y,
    input  logic [            23:0] kernel_x,
    input  logic [            23:0] dilation_y,
    input  logic [            23:0] dilation_x,
    input  logic [ADDRESS_BITS-1:0] tap_row_bytes,
    input  logic [ADDRESS_BITS-1:0] tap_column_bytes,
    input  logic                    last_word,  // last word of the group
    input  logic                    advance,
    output logic [   LANE_BITS-1:0] lane,  // lane of the word for the run's first entry
    output logic [   LANE_BITS-1:0] entries,
    output logic                    last,  // last run of the word
    // The distance of the run's first tap from the pixel's first tap, in positions of the image and
    // in bytes; column_offset includes the channels before the run's first entry.
    output logic [            31:0] row,
    output logic [            31:0] column,
    output logic [ADDRESS_BITS-1:0] row_offset,
    output logic [ADDRESS_BITS-1:0] column_offset
);
  localparam logic [31:0] ROWS = 32'(ARRAY_ROWS);
  localparam logic [LANE_BITS-1:0] ROW_LANES = LANE_BITS'(ARRAY_ROWS);

  // The current position in the list, and the position at which this group began.
  logic [31:0] done, done_before;  // entries of the list's run that have been read
  // Whether none has been read, and if some have, the number of those that remain: registers, so
  // that no subtraction precedes the choice of this cycle's run.
  logic begins, begins_before;
  logic [31:0] remaining, remaining_before;
  logic [23:0] tap_y, tap_y_before, tap_x, tap_x_before;
  logic [31:0] row_before, column_before;
  logic [ADDRESS_BITS-1:0] row_offset_before, tap_column_offset, tap_column_offset_before;

  // The length of this run: up to the end of the list's run, or of the word.
  logic [31:0] rest;  // remaining entries of the list's run
  logic [LANE_BITS-1:0] room;
  logic ends_run, ends_row, ends_list;
  assign rest = begins ? run_entries : remaining;
  assign room = ROW_LANES - lane;
  assign ends_run = rest <= ROWS && LANE_BITS'(rest) <= room;
  assign entries = ends_run ? LANE_BITS'(rest) : room;
  assign ends_row = ends_run && (joined || tap_x == kernel_x - 24'd1);
  assign ends_list = ends_row && tap_y == kernel_y - 24'd1;
  assign last = entries == room || ends_list;
  assign column_offset = tap_column_offset + ADDRESS_BITS'(done) * ADDRESS_BITS'(CODE_BYTES);

  // The position after this run; the beginning follows the end of the list.
  logic [31:0] next_done, next_remaining, next_row, next_column;
  logic [23:0] next_tap_y, next_tap_x;
  logic [ADDRESS_BITS-1:0] next_row_offset, next_tap_column_offset;
  always_comb begin
    next_done = ends_run ? '0 : done + 32'(entries);
    next_remaining = rest - 32'(entries);  // unused after the run's end
    next_tap_x = tap_x;
    next_column = column;
    next_tap_column_offset = tap_column_offset;
    next_tap_y = tap_y;
    next_row = row;
    next_row_offset = row_offset;
    if (ends_row) begin
      next_tap_x = '0;
      next_column = '0;
      next_tap_column_offset = '0;
      next_tap_y = tap_y + 24'd1;
      next_row = row + {8'd0, dilation_y};
      next_row_offset = row_offset + tap_row_bytes;
    end else if (ends_run) begin
      next_tap_x = tap_x + 24'd1;
      next_column = column + {8'd0, dilation_x};
      next_tap_column_offset = tap_column_offset + tap_column_bytes;
    end
    if (ends_list) begin
      next_tap_y = '0;
      next_row = '0;
      next_row_offset = '0;
    end
  end

  logic back;  // return to the group's first entry
  assign back = last && !last_word;
  always_ff @(posedge clock) begin
    if (reset) begin
      lane              <= '0;
      done              <= '0;
      begins            <= 1'b1;
      tap_y             <= '0;
      tap_x             <= '0;
      row               <= '0;
      column            <= '0;
      row_offset        <= '0;
      tap_column_offset <= '0;
    end else if (advance) begin
      lane              <= last ? '0 : lane + entries;
      done              <= back ? done_before : next_done;
      begins            <= back ? begins_before : ends_run;
      remaining         <= back ? remaining_before : next_remaining;
      tap_y             <= back ? tap_y_before : next_tap_y;
      tap_x             <= back ? tap_x_before : next_tap_x;
      row               <= back ? row_before : next_row;
      column            <= back ? column_before : next_column;
      row_offset        <= back ? row_offset_before : next_row_offset;
      tap_column_offset <= back ? tap_column_offset_before : next_tap_column_offset;
    end
    if (reset) begin
      done_before              <= '0;
      begins_before            <= 1'b1;
      tap_y_before             <= '0;
      tap_x_before             <= '0;
      row_before               <= '0;
      column_before            <= '0;
      row_offset_before        <= '0;
      tap_column_offset_before <= '0;
    end else if (advance && last && last_word) begin
      done_before              <= next_done;
      begins_before            <= ends_run;
      remaining_before         <= next_remaining;
      tap_y_before             <= next_tap_y;
      tap_x_before             <= next_tap_x;
      row_before               <= next_row;
      column_before            <= next_column;
      row_offset_before        <= next_row_offset;
      tap_column_offset_before <= next_tap_column_offset;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      begins_at_first_entry : assert (begins == (done == '0));
      remaining_follows : assert (begins || !advance || remaining == run_entries - done);
    end
  end
`endif
endmodule
