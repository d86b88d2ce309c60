// A stage: one convolution of a block. Words of its input come in by in_*, words of its results
// leave by forward_* to the next stage and by emit_* to the machine's output.
//
// Rounds: the columns look up the output channels of their lists in the tables of a round. A round
// ends in the cycle in which every column has issued its last look-up, and the next one begins in
// the cycle after, if its tables are built and, for the first round of a pixel, the sums of the
// pixel BUFFERS before are read. A pixel's sums are complete DRAIN cycles after its last round
// ends, and are read from two cycles later on, one of each column at a time. Columns that share a
// requantiser follow each other through it, so that the sums of the next output channels are read
// SHARE cycles later.
//   start     begins a run; settings must stay until `idle`
//   idle      all results have left
module kiln_binary_stage #(
    parameter  int unsigned CHANNELS         = 6,
    parameter  int unsigned COLUMNS          = 2,
    parameter  int unsigned COLUMNS_PER_REQUANTISER = 1,  // a power of two
    parameter  int unsigned GROUP            = 3,
    parameter  int unsigned STEPS            = 3,
    parameter  int unsigned ACTIVATION_BITS  = 8,
    parameter  int unsigned ACCUMULATOR_BITS = 28,
    parameter  int unsigned COLUMN_DEPTH     = 4,
    parameter  int unsigned ROW_WORDS        = 16,
    parameter  int unsigned WEIGHT_WORDS     = 8,
    parameter  int unsigned BEAT_BITS        = 64,
    // Derived, do not set
    localparam int unsigned WORD_BITS        = CHANNELS * ACTIVATION_BITS,
    localparam int unsigned OUT_BITS         = COLUMNS * ACTIVATION_BITS,
    localparam int unsigned CODE_BITS        = CHANNELS * STEPS * GROUP
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 start,
    output logic                 idle,
    // Messages
    input  logic                 message_valid,
    input  logic [          3:0] message_target,
    input  logic [          7:0] message_column,
    input  logic [         15:0] message_address,
    input  logic [         63:0] message_data,
    input  logic [CODE_BITS-1:0] message_codes,
    // Input words
    input  logic                 in_valid,
    output logic                 in_ready,
    input  logic [WORD_BITS-1:0] in_data,
    // What is added: beats of the records
    output logic                 skips,
    output logic [         11:0] skip_first,
    output logic [         11:0] skip_last,
    input  logic                 skip_valid,
    output logic                 skip_ready,
    input  logic [BEAT_BITS-1:0] skip_data,
    // Results for the next stage; last: of a pixel
    output logic                 forward_valid,
    input  logic                 forward_ready,
    output logic [ OUT_BITS-1:0] forward_data,
    output logic                 forward_last,
    // Results that leave the machine
    output logic                 emit_valid,
    input  logic                 emit_ready,
    output logic [ OUT_BITS-1:0] emit_data
);
  localparam int unsigned PLACE_BITS = kiln_binary_pkg::PLACE_BITS;
  localparam int unsigned ROUND_BITS = kiln_binary_pkg::ROUND_BITS;
  localparam int unsigned DIGITS = ACTIVATION_BITS / kiln_binary_pkg::DIGIT_BITS;
  localparam int unsigned STEP_BITS = STEPS > 1 ? $clog2(STEPS) : 1;
  localparam int unsigned ADDRESS_BITS = $clog2(ROW_WORDS);
  localparam int unsigned WORD_SUM_BITS = 5 + $clog2(CHANNELS);
  localparam int unsigned WINDOW_SUM_BITS = WORD_SUM_BITS + 12;
  localparam int unsigned TABLES = CHANNELS * STEPS;
  localparam int unsigned ENTRIES = 1 << (GROUP - 1);
  localparam int unsigned ENTRY_BITS = $clog2(15 * GROUP + 1) + 1;
  localparam int unsigned INDEX_BITS = $clog2(COLUMN_DEPTH);
  localparam int unsigned TREE_CYCLES = ($clog2(TABLES) + 1) / 2;
  localparam int unsigned ADD = 2 + TREE_CYCLES;  // cycles after the first one after the issue
  localparam int unsigned DRAIN = 5 + TREE_CYCLES;
  localparam int unsigned QUEUE = 16;
  // Columns of a requantiser.
  localparam int unsigned SHARE =
      COLUMNS < COLUMNS_PER_REQUANTISER ? COLUMNS : COLUMNS_PER_REQUANTISER;
  localparam int unsigned PHASE_BITS = SHARE > 1 ? $clog2(SHARE) : 1;
  // From the read of the columns' sums to the last of their results.
  localparam int unsigned RESULT_CYCLES = 8 + SHARE;

  // -----------------------------------------------------------------------------------------------
  // Settings

  logic [63:0] settings[kiln_binary_pkg::SETTINGS];
  always_ff @(posedge clock) begin
    if (message_valid && message_target == kiln_binary_pkg::TARGET_SETTINGS)
      settings[message_address[3:0]] <= message_data;
  end
  logic [13:0] width, height, out_width, out_height, rounds_unused;
  logic [7:0] chunks, outer_count;
  logic [17:0] row_pitch;
  logic [3:0] kernel_height, kernel_width, stride, pad_top, pad_left, blocks, first_block;
  logic [3:0] stride_blocks, inner_count;
  logic [4:0] row_slots;
  logic [2:0] first_phase, stride_phases;
  logic chunk_groups, signed_codes, subtract_base, by_sum, forwards_sum, emits, has_skip, forwards;
  logic added_signed;
  logic [1:0] top_digit;  // of the input's codes
  logic [6:0] list_length, step_count;
  logic [5:0] shift;
  logic signed [16:0] low, high, result_factor, added_factor, skip_low, skip_high;
  logic signed [39:0] skip_addend;
  logic [4:0] skip_shift, skip_word;
  assign {row_pitch, chunks, height, width} = settings[0][53:0];
  assign {inner_count, outer_count, chunk_groups, stride_phases, stride_blocks, first_phase,
          first_block, row_slots, blocks, pad_left, pad_top, stride, kernel_width,
          kernel_height} = settings[1][55:0];
  assign {step_count, rounds_unused, list_length, out_height, out_width} = settings[2][55:0];
  assign {top_digit, shift, added_signed, forwards, has_skip, emits, forwards_sum, by_sum,
          subtract_base, signed_codes} = settings[3][15:0];
  assign {high, low} = settings[4][33:0];
  assign {skip_shift, added_factor, result_factor} = settings[5][38:0];
  assign {skip_high, skip_low} = settings[6][33:0];
  assign {skip_first, skip_word, skip_addend} = settings[7][56:0];
  assign skip_last = settings[8][11:0];
  assign skips = has_skip;

  // -----------------------------------------------------------------------------------------------
  // Rows and tables

  logic advance, walk_finished, writer_finished, empty;
  logic [14:0] written_y;
  logic [13:0] written_x, limit_x;
  logic signed [PLACE_BITS-1:0] limit_y;
  logic [GROUP-1:0] word_enable, sums_enable;
  logic [ADDRESS_BITS-1:0] word_address, sums_address;
  logic [WORD_BITS-1:0] word_data;
  logic [DIGITS*WORD_SUM_BITS-1:0] sums_data;
  kiln_binary_writer #(
      .CHANNELS(CHANNELS),
      .GROUP(GROUP),
      .ACTIVATION_BITS(ACTIVATION_BITS),
      .ROW_WORDS(ROW_WORDS)
  ) writer (
      .clock,
      .reset,
      .start,
      .finished(writer_finished),
      .width,
      .height,
      .chunks,
      .row_pitch,
      .blocks,
      .row_slots,
      .signed_codes,
      .top_digit,
      .in_valid,
      .in_ready,
      .in_data,
      .unlimited(walk_finished && empty),
      .limit_y,
      .limit_x,
      .word_enable,
      .word_address,
      .word_data,
      .sums_enable,
      .sums_address,
      .sums_data,
      .written_y,
      .written_x
  );

  logic group_valid, group_none, group_sums, group_sums_first;
  logic [STEP_BITS-1:0] group_place;
  logic [3:0] group_block, group_row;
  logic [2:0] group_phase, group_turn;
  logic signed [PLACE_BITS-1:0] group_y, group_x, group_top, group_left;
  logic [7:0] group_chunk;
  logic signed [19:0] group_offset;
  logic [ROUND_BITS-1:0] group_round;
  kiln_binary_walk #(
      .GROUP(GROUP),
      .STEPS(STEPS)
  ) walk (
      .clock,
      .reset,
      .start,
      .advance,
      .finished(walk_finished),
      .width,
      .height,
      .chunks,
      .kernel_height,
      .kernel_width,
      .stride,
      .pad_top,
      .pad_left,
      .blocks,
      .first_block,
      .first_phase,
      .stride_blocks,
      .stride_phases,
      .chunk_groups,
      .outer_count,
      .inner_count,
      .out_width,
      .out_height,
      .list_length,
      .step_count,
      .write_step(message_valid && message_target == kiln_binary_pkg::TARGET_STEPS),
      .write_address(message_address[5:0]),
      .write_data(message_data[31:0]),
      .written_y,
      .written_x,
      .group_valid,
      .group_none,
      .group_place,
      .group_block,
      .group_phase,
      .group_turn,
      .group_y,
      .group_x,
      .group_row,
      .group_chunk,
      .group_offset,
      .group_top,
      .group_left,
      .group_sums,
      .group_sums_first,
      .round(group_round)
  );

  logic next_full, take;
  logic [ROUND_BITS-1:0] next_round;
  logic [DIGITS*WINDOW_SUM_BITS-1:0] sums;
  logic [TABLES*ENTRIES*ENTRY_BITS-1:0] tables;
  kiln_binary_tables #(
      .CHANNELS(CHANNELS),
      .GROUP(GROUP),
      .STEPS(STEPS),
      .ACTIVATION_BITS(ACTIVATION_BITS),
      .ROW_WORDS(ROW_WORDS)
  ) tables_of_rounds (
      .clock,
      .reset,
      .start,
      .advance,
      .width,
      .height,
      .chunks,
      .row_pitch,
      .blocks,
      .kernel_height,
      .pad_top,
      .chunk_groups,
      .signed_codes,
      .top_digit,
      .group_valid,
      .group_none,
      .group_place,
      .group_block,
      .group_phase,
      .group_turn,
      .group_y,
      .group_x,
      .group_row,
      .group_chunk,
      .group_offset,
      .group_top,
      .group_left,
      .group_sums,
      .group_sums_first,
      .group_round,
      .word_enable,
      .word_address,
      .word_data,
      .sums_enable,
      .sums_address,
      .sums_data,
      .limit_y,
      .limit_x,
      .empty,
      .next_full,
      .next_round,
      .take,
      .sums,
      .tables
  );

  // -----------------------------------------------------------------------------------------------
  // Rounds

  localparam int unsigned BUFFERS = kiln_binary_pkg::BUFFERS;
  localparam int unsigned BUFFER_BITS = kiln_binary_pkg::BUFFER_BITS;
  logic active, round_done, ends_pixel, first_of_pixel;
  logic [BUFFER_BITS-1:0] buffer, next_buffer;  // of the sums of a pixel
  logic [BUFFERS-1:0] busy, drained;
  logic [ROUND_BITS-1:0] round;
  logic [COLUMNS-1:0] done;
  logic signed [ACCUMULATOR_BITS-1:0] base, rest;
  assign first_of_pixel = next_round[kiln_binary_pkg::ROUND_FIRST];
  assign next_buffer = first_of_pixel ? buffer + 1'b1 : buffer;
  assign round_done = active && (&done);
  assign take = next_full && (!active || round_done) && !(first_of_pixel && busy[next_buffer]);
  assign ends_pixel = round_done && round[kiln_binary_pkg::ROUND_LAST];

  // The sum of the window's activations, and of the digits below the round's.
  logic signed [ACCUMULATOR_BITS-1:0] window_sum, window_rest;
  always_comb begin
    window_sum = '0;
    window_rest = '0;
    for (int d = 0; d < DIGITS; d++) begin
      if (2'(d) <= top_digit)
        window_sum = window_sum + (ACCUMULATOR_BITS'(signed'(
            sums[d*WINDOW_SUM_BITS+:WINDOW_SUM_BITS])) <<< (4 * d));
      if (2'(d) < next_round[kiln_binary_pkg::ROUND_DIGIT+:2])
        window_rest = window_rest + (ACCUMULATOR_BITS'(signed'(
            sums[d*WINDOW_SUM_BITS+:WINDOW_SUM_BITS])) <<< (4 * d));
    end
  end

  always_ff @(posedge clock) begin
    if (take) begin
      round <= next_round;
      base <= subtract_base && next_round[kiln_binary_pkg::ROUND_BASE] ? window_sum : '0;
      rest <= window_rest;
    end
    if (reset) active <= 1'b0;
    else if (take) active <= 1'b1;
    else if (round_done) active <= 1'b0;
    if (start) buffer <= '1;
    else if (take) buffer <= next_buffer;
    if (reset || start) begin
      busy <= '0;
    end else begin
      for (int b = 0; b < BUFFERS; b++) begin
        if (take && first_of_pixel && next_buffer == BUFFER_BITS'(b)) busy[b] <= 1'b1;
        else if (drained[b]) busy[b] <= 1'b0;
      end
    end
  end

  // The round of each look-up that is under way: SHIFT, ADD and WRITE of the columns.
  localparam int unsigned LATE_BITS = BUFFER_BITS + ROUND_BITS + 2 * ACCUMULATOR_BITS;
  logic [LATE_BITS-1:0] shift_late, add_late, write_late;
  kiln_delay #(
      .WIDTH (LATE_BITS),
      .CYCLES(ADD)
  ) delay_round (
      .clock,
      .in ({buffer, rest, base, round}),
      .out(shift_late)
  );
  always_ff @(posedge clock) begin
    add_late   <= shift_late;
    write_late <= add_late;
  end
  logic [ROUND_BITS-1:0] shift_round, add_round, write_round;
  logic signed [ACCUMULATOR_BITS-1:0] add_base, write_rest;
  logic [BUFFER_BITS-1:0] shift_buffer, write_buffer;
  assign shift_round = shift_late[ROUND_BITS-1:0];
  assign shift_buffer = shift_late[LATE_BITS-1-:BUFFER_BITS];
  assign add_round = add_late[ROUND_BITS-1:0];
  assign add_base = add_late[ROUND_BITS+:ACCUMULATOR_BITS];
  assign write_round = write_late[ROUND_BITS-1:0];
  assign write_rest = write_late[ROUND_BITS+ACCUMULATOR_BITS+:ACCUMULATOR_BITS];
  assign write_buffer = write_late[LATE_BITS-1-:BUFFER_BITS];
  wire unused_late = &{1'b0, shift_late, add_late, write_late, shift_round, rounds_unused};

  // -----------------------------------------------------------------------------------------------
  // Columns

  logic read;
  logic [BUFFER_BITS-1:0] read_buffer;
  logic [INDEX_BITS-1:0] read_index;
  logic [COLUMNS*ACCUMULATOR_BITS-1:0] sums_read;
  logic [COLUMNS-1:0] alive_read;
  logic [COLUMNS*kiln_binary_pkg::PARAMETER_BITS-1:0] parameters_read;
  for (genvar c = 0; c < COLUMNS; c++) begin : g_column
    logic to_this;
    assign to_this = message_valid && message_column == 8'(c);
    kiln_binary_column #(
        .TABLES(TABLES),
        .GROUP(GROUP),
        .ACCUMULATOR_BITS(ACCUMULATOR_BITS),
        .COLUMN_DEPTH(COLUMN_DEPTH),
        .WEIGHT_WORDS(WEIGHT_WORDS)
    ) column (
        .clock,
        .reset,
        .new_round(take),
        .new_pixel(first_of_pixel),
        .next_buffer,
        .active,
        .buffer,
        .tested(round[kiln_binary_pkg::ROUND_TEST]),
        .weights_address(round[kiln_binary_pkg::ROUND_WEIGHTS+:16]),
        .list_length(list_length[INDEX_BITS:0]),
        .done(done[c]),
        .tables,
        .shift(shift_round[kiln_binary_pkg::ROUND_SHIFT+:5]),
        .shift_buffer,
        .add_fresh(add_round[kiln_binary_pkg::ROUND_FRESH]),
        .add_base,
        .add_tests_address(add_round[kiln_binary_pkg::ROUND_TESTS+:8]),
        .write_tested(write_round[kiln_binary_pkg::ROUND_TEST]),
        .write_buffer,
        .write_by_sum(by_sum),
        .write_rest,
        .read,
        .read_buffer,
        .read_index,
        .read_sum(sums_read[c*ACCUMULATOR_BITS+:ACCUMULATOR_BITS]),
        .read_alive(alive_read[c]),
        .read_parameters(parameters_read[
            c*kiln_binary_pkg::PARAMETER_BITS+:kiln_binary_pkg::PARAMETER_BITS]),
        .message_weights(to_this && message_target == kiln_binary_pkg::TARGET_WEIGHTS),
        .message_parameters(to_this && message_target == kiln_binary_pkg::TARGET_PARAMETERS),
        .message_thresholds(to_this && message_target == kiln_binary_pkg::TARGET_THRESHOLDS),
        .message_limits(to_this && message_target == kiln_binary_pkg::TARGET_LIMITS),
        .message_address,
        .message_codes,
        .message_data
    );
  end

  // -----------------------------------------------------------------------------------------------
  // Requantisation: sums that are read in cycle t stay until the next read. Requantiser r takes the
  // k-th one of its SHARE columns in t + 1 + k. Results wait for the last of their word.

  logic [PHASE_BITS-1:0] phase;     // of the cycle: 0 unless sums were read in the last SHARE - 1
  logic [PHASE_BITS-1:0] phase_of;  // of the sums that the requantisers take
  logic [OUT_BITS-1:0] added, added_late, results, totals;
  always_ff @(posedge clock) begin
    if (reset) phase <= '0;
    else if (read || phase != '0) phase <= 32'(phase) == SHARE - 1 ? '0 : phase + 1'b1;
    phase_of <= phase;
    if (read) added_late <= added;
  end
  for (genvar r = 0; r < COLUMNS / SHARE; r++) begin : g_requantiser
    logic [31:0] taken, adding;  // columns
    logic [ACTIVATION_BITS-1:0] added_here, result, total;
    assign taken = 32'(r * SHARE) + (SHARE > 1 ? 32'(phase_of) : '0);
    assign adding = 32'(r * SHARE) + (SHARE > 1 ? 32'(phase) : '0);
    assign added_here = SHARE == 1 || phase == '0 ?
        added[r*SHARE*ACTIVATION_BITS+:ACTIVATION_BITS] :
        added_late[adding*ACTIVATION_BITS+:ACTIVATION_BITS];
    kiln_binary_requantise #(
        .ACCUMULATOR_BITS(ACCUMULATOR_BITS),
        .ACTIVATION_BITS(ACTIVATION_BITS)
    ) requantise (
        .clock,
        .sum(sums_read[taken*ACCUMULATOR_BITS+:ACCUMULATOR_BITS]),
        .alive(alive_read[taken]),
        .parameters(parameters_read[
            taken*kiln_binary_pkg::PARAMETER_BITS+:kiln_binary_pkg::PARAMETER_BITS]),
        .added(added_here),
        .shift,
        .low,
        .high,
        .added_signed,
        .result_factor,
        .added_factor,
        .skip_addend,
        .skip_shift,
        .skip_low,
        .skip_high,
        .result,
        .total
    );
    if (SHARE == 1) begin : g_alone
      assign results[r*ACTIVATION_BITS+:ACTIVATION_BITS] = result;
      assign totals[r*ACTIVATION_BITS+:ACTIVATION_BITS] = total;
    end else begin : g_shared
      // Results of the columns before, the first one in the low bits.
      logic [(SHARE-1)*ACTIVATION_BITS-1:0] results_before, totals_before;
      logic [SHARE*ACTIVATION_BITS-1:0] results_here, totals_here;
      assign results_here = {result, results_before};
      assign totals_here = {total, totals_before};
      always_ff @(posedge clock) begin
        results_before <= results_here[SHARE*ACTIVATION_BITS-1:ACTIVATION_BITS];
        totals_before  <= totals_here[SHARE*ACTIVATION_BITS-1:ACTIVATION_BITS];
      end
      assign results[r*SHARE*ACTIVATION_BITS+:SHARE*ACTIVATION_BITS] = results_here;
      assign totals[r*SHARE*ACTIVATION_BITS+:SHARE*ACTIVATION_BITS] = totals_here;
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Results: sums are read once all that is under way has a place in the queues.

  localparam int unsigned BEAT_WORDS = BEAT_BITS / OUT_BITS;
  localparam int unsigned SUB_BITS = BEAT_WORDS > 1 ? $clog2(BEAT_WORDS) : 1;
  logic [BUFFER_BITS:0] finished;  // pixels whose sums can be read
  logic ends_late, reading, last_read;
  logic [BUFFER_BITS-1:0] turn;  // the buffer that is read
  logic row_of_pixels_end;
  logic [13:0] drained_x, drained_y;
  logic [4:0] forward_places, emit_places;  // that are free
  logic [SUB_BITS-1:0] sub_word;
  logic all_drained;
  kiln_pulse_delay #(
      .CYCLES(DRAIN)
  ) delay_end (
      .clock,
      .reset,
      .in (ends_pixel),
      .out(ends_late)
  );
  assign last_read = 7'(read_index) == list_length - 1'b1;
  assign read = reading && phase == '0 && (!forwards || forward_places != '0) &&
      (!emits || emit_places != '0) &&
      (!has_skip || skip_valid);
  assign read_buffer = turn;
  assign skip_ready = read && has_skip && (last_read || 32'(sub_word) == BEAT_WORDS - 1);
  assign added = skip_data[32'(sub_word)*OUT_BITS+:OUT_BITS];
  always_comb begin
    drained = '0;
    if (read && last_read) drained[turn] = 1'b1;
  end
  assign row_of_pixels_end = drained_x == out_width - 1'b1;

  logic [RESULT_CYCLES-1:0] read_line, last_line;
  always_ff @(posedge clock) begin
    last_line <= {last_line[RESULT_CYCLES-2:0], last_read};
    if (reset) begin
      reading <= 1'b0;
      finished <= '0;
      read_line <= '0;
      all_drained <= 1'b1;
      forward_places <= 5'(QUEUE);
      emit_places <= 5'(QUEUE);
    end else begin
      read_line <= {read_line[RESULT_CYCLES-2:0], read};
      if (reading ? read && last_read : 1'b1) reading <= finished != '0;
      finished <= finished + (BUFFER_BITS + 1)'(ends_late) -
          (BUFFER_BITS + 1)'((reading ? read && last_read : 1'b1) && finished != '0);
      if (start) all_drained <= 1'b0;
      else if (read && last_read && row_of_pixels_end && drained_y == out_height - 1'b1)
        all_drained <= 1'b1;
      forward_places <= forward_places - 5'(read && forwards) +
          5'(forward_valid && forward_ready);
      emit_places <= emit_places - 5'(read && emits) + 5'(emit_valid && emit_ready);
    end
    if (start) begin
      turn <= '0;
      read_index <= '0;
      drained_x <= '0;
      drained_y <= '0;
      sub_word <= SUB_BITS'(skip_word);
    end else if (read) begin
      read_index <= last_read ? '0 : read_index + 1'b1;
      if (last_read) begin
        turn <= turn + 1'b1;
        drained_x <= row_of_pixels_end ? '0 : drained_x + 1'b1;
        if (row_of_pixels_end) drained_y <= drained_y + 1'b1;
        sub_word <= SUB_BITS'(skip_word);
      end else begin
        sub_word <= 32'(sub_word) == BEAT_WORDS - 1 ? '0 : sub_word + 1'b1;
      end
    end
  end

  logic result_valid, result_last;
  assign result_valid = read_line[RESULT_CYCLES-1];
  assign result_last = last_line[RESULT_CYCLES-1];
  logic forward_room, emit_room;
  logic [4:0] forward_count, emit_count;
  kiln_fifo #(
      .WIDTH(OUT_BITS + 1),
      .DEPTH(QUEUE)
  ) forward_queue (
      .clock,
      .reset,
      .in_valid(result_valid && forwards),
      .in_ready(forward_room),
      .in_data({result_last, forwards_sum ? totals : results}),
      .out_valid(forward_valid),
      .out_ready(forward_ready),
      .out_data({forward_last, forward_data}),
      .count(forward_count)
  );
  kiln_fifo #(
      .WIDTH(OUT_BITS),
      .DEPTH(QUEUE)
  ) emit_queue (
      .clock,
      .reset,
      .in_valid(result_valid && emits),
      .in_ready(emit_room),
      .in_data(has_skip ? totals : results),
      .out_valid(emit_valid),
      .out_ready(emit_ready),
      .out_data(emit_data),
      .count(emit_count)
  );
  assign idle = all_drained && writer_finished && forward_places == 5'(QUEUE) &&
      emit_places == 5'(QUEUE);
  wire unused_counts = &{1'b0, forward_count, emit_count, skip_word};

`ifndef SYNTHESIS
  logic [4:0] in_flight;  // results between the read of their sums and the queues
  always_comb begin
    in_flight = '0;
    for (int i = 0; i < RESULT_CYCLES; i++) in_flight = in_flight + 5'(read_line[i]);
  end
  always_ff @(posedge clock) begin
    if (!reset) begin
      // Every entry of a queue is free, in use, or promised to a result in flight.
      forward_credits : assert (32'(forward_places) + 32'(forward_count) +
          (forwards ? 32'(in_flight) : 0) == QUEUE);
      emit_credits : assert (32'(emit_places) + 32'(emit_count) +
          (emits ? 32'(in_flight) : 0) == QUEUE);
      queues_have_room : assert (!result_valid || (forward_room && emit_room));
      sums_are_there : assert (!ends_late || 32'(finished) != BUFFERS);
      buffers_are_free : assert (!(take && first_of_pixel && busy[next_buffer]));
    end
  end
`endif
endmodule
