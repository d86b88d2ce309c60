// Controls the array: issues the passes of a matrix instruction in order (docs/systolic.md, "Order
// of work of a matrix instruction"), one pixel per cycle, without a cycle between passes whose
// inputs are available.
//   pass              A pass of n pixels takes cycles s .. s + n - 1, where s is the first cycle in
//                     which the previous pass has ended and the following are available: the weight
//                     tile in the shadow registers (shadow_full); an input bank, for the first pass
//                     of a fill; an accumulation bank, for the first pass of a block. pass_start is
//                     asserted in s.
//   pixel             For a pixel issued in cycle s, the input word is read in s (data in s + 1,
//                     together with array_active and its control), the address goes to the
//                     accumulation buffer in s + L - 1, and the psums arrive there in s + L =
//                     s + PRODUCT_LATENCY + SUM_LATENCY * R + C.
//   input_released    Asserted in the last cycle of the last pass that reads a fill.
//   block_done        Asserted in cycle e - 2 + L + ACCUMULATION_LATENCY, where e - 1 is the last
//                     cycle of the block's last pass: all accumulators of the block can be read
//                     from the next cycle on.
//
// Tokens: input_filled and accumulation_released count from the cycle after the pulse on.
// Accumulation bank k mod ACCUMULATION_BUFFER_BANKS is free for block k when k + 1 -
// ACCUMULATION_BUFFER_BANKS banks have been released; every release counts, including those of the
// depthwise unit's blocks. The command stays at its port until command_ready, in the last cycle of
// its last pass.
module kiln_array_sequencer #(
    parameter int unsigned ARRAY_ROWS = 4,
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter int unsigned PRODUCT_LATENCY = 0,  // see kiln_processing_element
    parameter int unsigned SUM_LATENCY = 1,
    parameter int unsigned ACCUMULATION_LATENCY = 1,  // see kiln_accumulation_buffer
    parameter int unsigned INPUT_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_BANKS = 2,
    // derived, do not set
    localparam int unsigned INPUT_BITS = INPUT_BUFFER_WORDS > 1 ? $clog2(INPUT_BUFFER_WORDS) : 1,
    localparam int unsigned WORD_BITS =
        ACCUMULATION_BUFFER_WORDS > 1 ? $clog2(ACCUMULATION_BUFFER_WORDS) : 1
) (
    input  logic                              clock,
    input  logic                              reset,
    input  logic                              command_valid,
    output logic                              command_ready,
    input  kiln_systolic_pkg::array_command_t command,
    // The banks of the input buffer.
    input  logic                              input_filled,
    output logic                              input_released,
    // The weight loader.
    input  logic                              shadow_full,
    output logic                              pass_start,
    // The accumulation banks: from and to the vector unit.
    input  logic                              accumulation_released,
    output logic                              block_done,
    // The input buffer.
    output logic                              read_enable,
    output logic                              read_bank,
    output logic [            INPUT_BITS-1:0] read_address,
    // The array, beside the data from the input buffer.
    output logic                              array_active,
    output logic                              array_swap,
    output logic [            ARRAY_ROWS-1:0] array_multiply,
    output logic [                       1:0] array_precision,
    // The accumulation buffer.
    output logic                              accumulate_valid,
    output logic                              accumulate_bank,
    output logic [             WORD_BITS-1:0] accumulate_address,
    output logic                              accumulate_overwrite,
    // For the performance counters.
    output logic                              busy,
    output logic                              stalled_input,         // input bank empty
    output logic                              stalled_weights,       // shadow registers empty
    output logic                              stalled_accumulation   // accumulation bank full
);
  localparam int COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam int INDEX_BITS = kiln_systolic_pkg::INDEX_BITS;
  localparam logic [COUNT_BITS-1:0] ONE = COUNT_BITS'(1);

  logic [COUNT_BITS-1:0] height, width, columns;
  logic [INDEX_BITS-1:0] visit_index;
  logic last_visit, fetch_inputs, last_of_inputs, visit_end;
  kiln_visit_walker visit (
      .clock,
      .reset,
      .command_tiling    (command.tiling),
      .advance           (visit_end),
      .last              (last_visit),
      .index             (visit_index),
      .step              (),
      .height,
      .width,
      .columns,
      .last_row          (),
      .last_column       (),
      .last_block        (),
      .fetch_inputs,
      .last_of_inputs,
      .fetch_weights     (),
      .last_of_weights   (),
      .fetch_parameters  (),
      .last_of_parameters()
  );

  // The loops inside a visit, outermost first: fills, groups of a fill, column tiles, row tiles of
  // a group (taps), pixels.
  logic [COUNT_BITS-1:0] fill, group, column, tap, tap_x, y, x;
  logic last_fill, last_group, last_column, last_tap, last_tap_x, last_y, last_x, first_tap,
      first_group;
  assign last_fill = fill == command.reduction.fills - ONE;
  assign last_group = group == (last_fill ? command.reduction.last_fill_groups :
      command.reduction.groups_per_bank) - ONE;
  assign last_column = column == columns - ONE;
  assign last_tap = tap == command.reduction.rows_per_group - ONE;
  assign last_tap_x = tap_x == command.reduction.kernel_x - ONE;
  assign last_y = y == height - ONE;
  assign last_x = x == width - ONE;
  assign first_tap = tap == '0;
  assign first_group = group == '0;

  // The position of the current pass in the block.
  logic first_of_fill, first_of_block, needs_fill, overwrite, last_of_fill, last_of_block;
  // The first row tile of the block's column tile.
  assign overwrite = first_tap && first_group && fill == '0;
  assign first_of_fill = first_tap && first_group && column == '0;
  assign first_of_block = first_of_fill && fill == '0;
  assign needs_fill = first_of_fill && fetch_inputs;
  assign last_of_fill = last_tap && last_column && last_group;
  assign last_of_block = last_of_fill && last_fill;

  // Tokens.
  logic [1:0] filled;  // input banks that are filled and whose first pass has not started
  logic [INDEX_BITS-1:0] released, lead;
  assign lead =
      released - (command.first_block + visit_index) + INDEX_BITS'(ACCUMULATION_BUFFER_BANKS - 1);
  logic filled_ready, accumulation_ready;
  assign filled_ready = !needs_fill || filled != '0;
  assign accumulation_ready = !first_of_block || !lead[INDEX_BITS-1];

  logic running;  // the pass began in an earlier cycle
  logic waiting, pass_end;
  assign waiting = command_valid && !running;
  assign pass_start = waiting && filled_ready && shadow_full && accumulation_ready;
  assign busy = running || pass_start;
  assign stalled_input = waiting && !filled_ready;
  assign stalled_weights = waiting && filled_ready && !shadow_full;
  assign stalled_accumulation = waiting && filled_ready && shadow_full && !accumulation_ready;
  assign pass_end = busy && last_x && last_y;
  assign visit_end = pass_end && last_of_block;
  assign command_ready = visit_end && last_visit;
  assign input_released = pass_end && last_of_fill && last_of_inputs;

  // Addresses in the input bank: of the group; of the tap (for the tile's first pixel); of the row
  // of pixels; of the pixel.
  logic [INPUT_BITS-1:0] group_place, tap_place, row_place, place;
  // Addresses in the accumulation bank: of the column tile; of the row of pixels; of the pixel.
  logic [WORD_BITS-1:0] column_word, row_word, word;
  // The same for the next pass.
  logic [INPUT_BITS-1:0] next_group_place, next_tap_place;
  logic [WORD_BITS-1:0] next_column_word;
  always_comb begin
    next_group_place = group_place;
    next_column_word = column_word;
    if (!last_tap) begin
      next_tap_place = tap_place + (last_tap_x ? INPUT_BITS'(command.region.tap_row_step) :
          INPUT_BITS'(command.region.tap_column_step));
    end else begin
      if (!last_column) begin
        next_column_word = column_word + WORD_BITS'(command.tiling.tile_pixels);
      end else begin
        next_column_word = '0;
        next_group_place = last_group ? '0 : group_place + INPUT_BITS'(command.region.group_pitch);
      end
      next_tap_place = next_group_place;
    end
  end

  logic bank;
  assign read_enable = busy;
  assign read_bank = bank ^ (pass_start && needs_fill);  // fills alternate
  assign read_address = place;

  always_ff @(posedge clock) begin
    if (busy) begin
      running <= !pass_end;
      if (!last_x) begin
        x     <= x + ONE;
        place <= place + INPUT_BITS'(command.region.output_column_step);
        word  <= word + 1'b1;
      end else if (!last_y) begin
        x         <= '0;
        y         <= y + ONE;
        row_place <= row_place + INPUT_BITS'(command.region.output_row_step);
        place     <= row_place + INPUT_BITS'(command.region.output_row_step);
        row_word  <= row_word + WORD_BITS'(command.tiling.tile_width);
        word      <= row_word + WORD_BITS'(command.tiling.tile_width);
      end else begin
        x             <= '0;
        y             <= '0;
        tap_x         <= last_tap || last_tap_x ? '0 : tap_x + ONE;
        tap           <= last_tap ? '0 : tap + ONE;
        group_place   <= next_group_place;
        tap_place     <= next_tap_place;
        row_place     <= next_tap_place;
        place         <= next_tap_place;
        column_word   <= next_column_word;
        row_word      <= next_column_word;
        word          <= next_column_word;
        if (last_tap) begin
          column <= last_column ? '0 : column + ONE;
          if (last_column) begin
            group <= last_group ? '0 : group + ONE;
            if (last_group) fill <= last_fill ? '0 : fill + ONE;
          end
        end
      end
    end
    bank     <= read_bank;
    filled   <= filled + 2'(input_filled) - 2'(pass_start && needs_fill);
    released <= released + INDEX_BITS'(accumulation_released);
    if (reset) begin
      running       <= 1'b0;
      bank          <= 1'b1;
      filled        <= '0;
      released      <= '0;
      fill          <= '0;
      group         <= '0;
      column        <= '0;
      tap           <= '0;
      tap_x         <= '0;
      y             <= '0;
      x             <= '0;
      group_place   <= '0;
      tap_place     <= '0;
      row_place     <= '0;
      place         <= '0;
      column_word   <= '0;
      row_word      <= '0;
      word          <= '0;
    end
  end

  // The control beside the data from the input buffer.
  logic [ARRAY_ROWS-1:0] rows;  // valid rows
  assign rows =
      last_fill && last_group ? ~({ARRAY_ROWS{1'b1}} << command.reduction.last_group_rows) : '1;
  always_ff @(posedge clock) begin
    array_active <= busy && !reset;
    if (busy) begin
      array_swap     <= pass_start;
      array_multiply <= rows;
      array_precision <= command.header.precision;
    end
  end

  // The control beside the psums, one cycle before them.
  localparam int unsigned LATENCY =
      PRODUCT_LATENCY + SUM_LATENCY * ARRAY_ROWS + ARRAY_COLUMNS - 1;
  logic bank_of_block;
  if (ACCUMULATION_BUFFER_BANKS == 1) begin : g_one_bank
    assign bank_of_block = 1'b0;
  end else begin : g_two_banks
    assign bank_of_block = command.first_block[0] ^ visit_index[0];
  end
  kiln_pulse_delay #(
      .CYCLES(LATENCY)
  ) delay_valid (
      .clock,
      .reset,
      .in (busy),
      .out(accumulate_valid)
  );
  kiln_pulse_delay #(
      .CYCLES(LATENCY + ACCUMULATION_LATENCY)
  ) delay_done (
      .clock,
      .reset,
      .in (visit_end),
      .out(block_done)
  );
  kiln_delay #(
      .WIDTH (WORD_BITS + 2),
      .CYCLES(LATENCY)
  ) delay_word (
      .clock,
      .in ({bank_of_block, overwrite, word}),
      .out({accumulate_bank, accumulate_overwrite, accumulate_address})
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      banks_in_range : assert (filled <= 2'd2);
      pass_has_command : assert (!running || command_valid);
      pass_has_weights : assert (!pass_start || shadow_full);
      pixel_in_tile : assert (!busy || (x < width && y < height));
      one_activity : assert ($onehot0({busy, stalled_input, stalled_weights,
          stalled_accumulation}));
    end
  end
`endif
endmodule
