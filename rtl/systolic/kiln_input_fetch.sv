// Input fetch: reads the input words of matrix and depthwise instructions, fill by fill, in the
// order of docs/systolic.md ("Order of work of a matrix instruction"). It inserts padding outside
// the image, packs taps, and writes whole words to the banks of the array's or the depthwise unit's
// input buffer.
//   command     Stays at its port until command_ready, which comes with its last request.
//   request     One for each word, or with tap packing one for each run of a word; a null request
//               (0 bytes) if it is wholly outside the image. One request per cycle if the port
//               takes them. The first request of an instruction comes two cycles after the one in
//               which the command is available (with a wait_distance: but not before enough
//               instructions are `finished`). The first request of a fill also waits for a free
//               bank. Nothing else delays requests. If a fill has no position inside the image, its
//               last null request is replaced by a read of one byte at `base`, which is discarded,
//               so that no fill takes less than the memory's latency.
//   write       In the cycle of the word (with tap packing: of its last run), to the address that
//               kiln_systolic_pkg defines. Lanes beyond the group's codes hold pad_code. A request
//               for the depthwise unit may be for several words (kiln_word_run).
//   filled      Asserted with the last write of a fill.
//   released    Counts from the cycle after the pulse on. Both buffers begin with two free banks;
//               fill k uses bank k modulo 2 of its buffer.
//   scales      (BLOCK_SIZE > 0) For an instruction with block scales, each request for a word
//               comes with a request for the scale of its scale block, on a port of its own, in the
//               same cycle; the scale of padding is 1 (scale_write_one). Scales are written to the
//               word's address in a buffer of their own, and a fill is complete when its codes and
//               scales have arrived. A scale is within one beat.
module kiln_input_fetch #(
    parameter int unsigned ARRAY_ROWS = 8,
    parameter int unsigned ARRAY_COLUMNS = 8,
    parameter int unsigned INPUT_BITS = 8,  // bits of a code
    parameter int unsigned INPUT_BUFFER_WORDS = 1024,  // words of a bank
    parameter int unsigned DEPTHWISE_BUFFER_WORDS = 1024,
    // the most words of a request; a power of two
    parameter int unsigned DEPTHWISE_WORDS_PER_CYCLE = 1,
    // Channels that share a scale, a multiple of ARRAY_ROWS; 0: no scales.
    parameter int unsigned BLOCK_SIZE = 0,
    parameter int unsigned SCALE_BITS = 8,  // bits of a scale's code
    // In memory; derived, do not set.
    localparam int unsigned CODE_BYTES = INPUT_BITS > 16 ? 4 : INPUT_BITS > 8 ? 2 : 1,
    localparam int unsigned DEPTHWISE_LANES = DEPTHWISE_WORDS_PER_CYCLE * ARRAY_COLUMNS,
    localparam int unsigned DEPTHWISE_COUNT_BITS =
        DEPTHWISE_WORDS_PER_CYCLE > 1 ? $clog2(DEPTHWISE_WORDS_PER_CYCLE) : 1,
    localparam int unsigned LANES = ARRAY_ROWS > DEPTHWISE_LANES ? ARRAY_ROWS : DEPTHWISE_LANES,
    localparam int unsigned LANE_BITS = $clog2(LANES + 1),
    localparam int unsigned MAX_BYTES = LANES * CODE_BYTES,
    localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1),
    localparam int unsigned WORDS =
        INPUT_BUFFER_WORDS > DEPTHWISE_BUFFER_WORDS ? INPUT_BUFFER_WORDS : DEPTHWISE_BUFFER_WORDS,
    localparam int unsigned PLACE_BITS = WORDS > 1 ? $clog2(WORDS) : 1,
    localparam int unsigned ARRAY_PLACE_BITS =
        INPUT_BUFFER_WORDS > 1 ? $clog2(INPUT_BUFFER_WORDS) : 1,
    localparam int unsigned DEPTHWISE_PLACE_BITS =
        DEPTHWISE_BUFFER_WORDS > 1 ? $clog2(DEPTHWISE_BUFFER_WORDS) : 1,
    localparam int unsigned TAG_BITS =
        (BLOCK_SIZE > 0 ? 4 : 3) + PLACE_BITS + 2 * LANE_BITS + INPUT_BITS,
    localparam int unsigned SCALE_BYTES = SCALE_BITS > 16 ? 4 : SCALE_BITS > 8 ? 2 : 1,
    localparam int unsigned SCALE_BYTES_BITS = $clog2(SCALE_BYTES + 1),
    localparam int unsigned SCALE_TAG_BITS = 3 + ARRAY_PLACE_BITS,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS
) (
    input  logic                                     clock,
    input  logic                                     reset,
    input  logic                                     command_valid,
    output logic                                     command_ready,
    input  kiln_systolic_pkg::input_fetch_command_t  command,
    // Instructions whose writes are in memory.
    input  logic [kiln_systolic_pkg::INDEX_BITS-1:0] finished,
    // A kiln_axi_read_port with MAX_BYTES and TAG_BITS; its words are always taken.
    output logic                                     request_valid,
    input  logic                                     request_ready,
    output logic [                 ADDRESS_BITS-1:0] request_address,
    output logic [                   BYTES_BITS-1:0] request_bytes,
    output logic [                     TAG_BITS-1:0] request_tag,
    input  logic                                     word_valid,
    input  logic [                  MAX_BYTES*8-1:0] word_data,
    input  logic [                     TAG_BITS-1:0] word_tag,
    // The array's input buffer.
    output logic                                     array_write_enable,
    output logic                                     array_write_bank,
    output logic [             ARRAY_PLACE_BITS-1:0] array_write_address,
    output logic [        ARRAY_ROWS*INPUT_BITS-1:0] array_write_data,
    output logic                                     array_filled,
    input  logic                                     array_released,
    // The depthwise unit's input buffer.
    output logic                                     depthwise_write_enable,
    output logic                                     depthwise_write_bank,
    // address of the first word
    output logic [         DEPTHWISE_PLACE_BITS-1:0] depthwise_write_address,
    // number of words, less one
    output logic [         DEPTHWISE_COUNT_BITS-1:0] depthwise_write_words,
    output logic [   DEPTHWISE_LANES*INPUT_BITS-1:0] depthwise_write_data,
    output logic                                     depthwise_filled,
    input  logic                                     depthwise_released,
    // Block scales: the command's section, a kiln_axi_read_port with SCALE_BYTES and
    // SCALE_TAG_BITS, and the buffer of the scales.
    input  kiln_systolic_pkg::input_scales_t         command_scales,
    output logic                                     scale_request_valid,
    input  logic                                     scale_request_ready,
    output logic [                 ADDRESS_BITS-1:0] scale_request_address,
    output logic [             SCALE_BYTES_BITS-1:0] scale_request_bytes,
    output logic [               SCALE_TAG_BITS-1:0] scale_request_tag,
    input  logic                                     scale_word_valid,
    input  logic [                SCALE_BYTES*8-1:0] scale_word_data,
    input  logic [               SCALE_TAG_BITS-1:0] scale_word_tag,
    output logic                                     scale_write_enable,
    output logic                                     scale_write_bank,
    output logic [             ARRAY_PLACE_BITS-1:0] scale_write_address,
    output logic                                     scale_write_one,
    output logic [                   SCALE_BITS-1:0] scale_write_data,
    // For the performance counters.
    output logic                                     busy,
    output logic [                    BYTES_BITS-1:0] bytes_read,
    // An earlier instruction is not finished.
    output logic                                     stalled_previous,
    output logic                                     stalled_bank  // input bank is full
);
  localparam int COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam logic [COUNT_BITS-1:0] ONE = COUNT_BITS'(1);
  localparam logic [LANE_BITS-1:0] ROW_LANES = LANE_BITS'(ARRAY_ROWS);
  localparam logic [LANE_BITS-1:0] COLUMN_LANES = LANE_BITS'(ARRAY_COLUMNS);
  // Without block scales the top bit, which is 0, is omitted.
  localparam int unsigned FULL_TAG_BITS = 4 + PLACE_BITS + 2 * LANE_BITS + INPUT_BITS;
  localparam logic [ADDRESS_BITS-1:0] NONE = '0;
  localparam logic [ADDRESS_BITS-1:0] GROUP_BYTES = ADDRESS_BITS'(ARRAY_ROWS * CODE_BYTES);
  localparam logic [ADDRESS_BITS-1:0] COLUMN_TILE_BYTES = ADDRESS_BITS'(ARRAY_COLUMNS * CODE_BYTES);

  logic depthwise, packed_taps, joined_rows, scaled;
  assign depthwise = command.header.opcode == kiln_systolic_pkg::OPCODE_DEPTHWISE;
  assign packed_taps = command.tiling.packing == kiln_systolic_pkg::PACKING_TAPS;
  // A row of the region is one run of words; otherwise each position is one.
  assign joined_rows = depthwise && command.image.joined;
  assign scaled = BLOCK_SIZE > 0 && command.header.input_blocks;

  // ---- A request is worked out in three cycles: the walk's position and its sums, the part inside
  // the image, and the request at the port. The walk is ahead of the port by up to two requests,
  // but not in the next instruction.
  logic walk;  // the walk moves to the next request
  logic walked;  // the walk has passed the instruction's last request
  logic sums_valid, sums_ready, part_valid, part_ready, fire;
  assign fire       = request_valid && request_ready;
  assign part_ready = !part_valid || fire;
  assign sums_ready = !sums_valid || part_ready;
  assign walk       = command_valid && !walked && sums_ready;
  always_ff @(posedge clock) begin
    if (reset) begin
      walked     <= 1'b0;
      sums_valid <= 1'b0;
      part_valid <= 1'b0;
    end else begin
      walked <= (walked || (visit_end && last_visit)) && !command_ready;
      if (sums_ready) sums_valid <= walk;
      if (part_ready) part_valid <= sums_valid;
    end
  end

  // ---- The visits that fetch inputs: one for all blocks if the inputs are resident, and one for
  // the column tiles of a depthwise fill.
  kiln_systolic_pkg::tiling_t command_visits;
  always_comb begin
    command_visits = command.tiling;
    if (depthwise) command_visits.blocks = command.reduction.fills;
    else if (command.tiling.inputs_resident) command_visits.blocks = ONE;
  end
  logic last_visit, visit_end, last_row_of_tiles, last_column_of_tiles, last_block;
  logic [4:0] step;
  kiln_visit_walker visit (
      .clock,
      .reset,
      .command_tiling(command_visits),
      .advance(visit_end),
      .last(last_visit),
      .index(),
      .step,
      .height(),
      .width(),
      .columns(),
      .last_row(last_row_of_tiles),
      .last_column(last_column_of_tiles),
      .last_block,
      .fetch_inputs(),
      .last_of_inputs(),
      .fetch_weights(),
      .last_of_weights(),
      .fetch_parameters(),
      .last_of_parameters()
  );

  // ---- The groups of a visit, divided into fills.
  logic last_group, last_of_bank, last_group_of_fill, group_end, fill_end;
  assign last_group_of_fill = last_group || last_of_bank;
  assign fill_end = group_end && last_group_of_fill;
  assign visit_end = group_end && last_group;
  kiln_loop_counter group (
      .clock,
      .reset,
      .rounds (command.reduction.groups),
      .advance(group_end),
      .restart(visit_end),
      .count  (),
      .first  (),
      .last   (last_group)
  );
  kiln_loop_counter group_of_fill (
      .clock,
      .reset,
      .rounds (command.reduction.groups_per_bank),
      .advance(group_end),
      .restart(fill_end),
      .count  (),
      .first  (),
      .last   (last_of_bank)
  );

  // ---- The positions of a group, row by row, and with tap packing the runs of a position's word.
  localparam int unsigned WORDS_BITS = $clog2(DEPTHWISE_WORDS_PER_CYCLE + 1);
  logic [WORDS_BITS-1:0] words;  // words of a depthwise request
  logic [COUNT_BITS-1:0] words_before;  // words of the run before the request
  logic last_place, last_place_of_row, last_row, last_run, last_words, place_end, row_end;
  assign place_end = walk && (packed_taps ? last_run : !depthwise || last_words);
  assign row_end = place_end && last_place_of_row;
  assign last_place = last_place_of_row && last_row;
  assign group_end = place_end && last_place;

  logic [31:0] iy, ix;
  logic [2:0] walk_y, walk_x;
  logic [ADDRESS_BITS-1:0] row_offset, column_offset;
  kiln_region_axis axis_y (
      .clock,
      .reset,
      .places(last_row_of_tiles ? command.region.last_places_y : command.region.places_y),
      .compact(command.region.compact_y),
      .pixels(packed_taps),
      .kernel(command.reduction.kernel_y),
      .pad(command.image.pad_top),
      .stride(command.image.stride_y),
      .dilation(command.image.dilation_y),
      .tile_step(command.image.tile_rows),
      .place_bytes(command.image.row_stride),
      .stride_bytes(command.image.output_row_stride),
      .dilation_bytes(command.image.tap_row_stride),
      .tile_bytes(command.image.tile_row_stride),
      .advance(row_end && !last_row),
      .rewind(group_end && (!last_group || step[0] || step[1])),
      .next_tile(visit_end && step[2]),
      .restart(visit_end && (step[3] || step[4] || last_visit)),
      .coordinate(iy),
      .offset(row_offset),
      .last(last_row),
      .walk(walk_y)
  );
  kiln_region_axis axis_x (
      .clock,
      .reset,
      .places(joined_rows ? ONE : last_column_of_tiles ? command.region.last_places_x :
          command.region.places_x),
      .compact(command.region.compact_x),
      .pixels(packed_taps),
      .kernel(command.reduction.kernel_x),
      .pad(command.image.pad_left),
      .stride(command.image.stride_x),
      .dilation(command.image.dilation_x),
      .tile_step(command.image.tile_columns),
      .place_bytes(command.image.column_stride),
      .stride_bytes(command.image.output_column_stride),
      .dilation_bytes(command.image.tap_column_stride),
      .tile_bytes(command.image.tile_column_stride),
      .advance(place_end && !last_place_of_row),
      .rewind(row_end && (!last_row || !last_group || step[0])),
      .next_tile(visit_end && step[1]),
      .restart(visit_end && (step[2] || step[3] || step[4] || last_visit)),
      .coordinate(ix),
      .offset(column_offset),
      .last(last_place_of_row),
      .walk(walk_x)
  );

  logic [LANE_BITS-1:0] run_lane, run_entries;
  logic [31:0] run_row, run_column;
  logic [ADDRESS_BITS-1:0] run_row_offset, run_column_offset;
  localparam int unsigned RUN_BITS = $clog2(ARRAY_ROWS + 1);
  logic [RUN_BITS-1:0] lane_in_rows, entries_in_rows;
  kiln_packed_runs #(
      .ARRAY_ROWS(ARRAY_ROWS),
      .CODE_BYTES(CODE_BYTES)
  ) runs (
      .clock,
      .reset,
      .run_entries(command.image.run_entries),
      .joined(command.image.joined),
      .kernel_y(command.reduction.kernel_y),
      .kernel_x(command.reduction.kernel_x),
      .dilation_y(command.image.dilation_y),
      .dilation_x(command.image.dilation_x),
      .tap_row_bytes(command.image.tap_row_stride),
      .tap_column_bytes(command.image.tap_column_stride),
      .last_word(last_place),
      .advance(walk && packed_taps),
      .lane(lane_in_rows),
      .entries(entries_in_rows),
      .last(last_run),
      .row(run_row),
      .column(run_column),
      .row_offset(run_row_offset),
      .column_offset(run_column_offset)
  );
  assign run_lane = LANE_BITS'(lane_in_rows);
  assign run_entries = LANE_BITS'(entries_in_rows);

  // ---- Offsets of channels and batch in memory, and the address in the bank.
  logic [ADDRESS_BITS-1:0] channel_offset, fill_bytes;
  assign fill_bytes = ADDRESS_BITS'(command.reduction.groups_per_bank) * COLUMN_TILE_BYTES;
  // The next group; the next block inside the tiles; the next tile, or block outside the tiles; the
  // next batch. The next tile returns the inner ones to the first.
  logic [3:0] walk_channels;
  assign walk_channels = {visit_end && step[4], visit_end && (|step[3:1]), visit_end && step[0],
      group_end && !last_group};
  kiln_nest_sum #(
      .LEVELS(4),
      .BITS  (ADDRESS_BITS)
  ) channel_offsets (
      .clock,
      .reset,
      .restart(visit_end && last_visit),
      .rewind(1'b0),
      .advance(walk_channels),
      .steps({
        command.image.batch_stride,
        depthwise && step[3] ? fill_bytes : NONE,
        depthwise ? fill_bytes : NONE,
        packed_taps ? NONE : GROUP_BYTES
      }),
      .sum(channel_offset)
  );

  logic [PLACE_BITS-1:0] bank_place;
  logic [PLACE_BITS-1:0] place_words, request_words;
  assign place_words =
      depthwise ? command.reduction.groups_per_bank[PLACE_BITS-1:0] : PLACE_BITS'(1);
  assign request_words = PLACE_BITS'(words);
  kiln_nest_sum #(
      .LEVELS(4),
      .BITS  (PLACE_BITS)
  ) bank_places (
      .clock,
      .reset,
      .restart(fill_end),
      .rewind(1'b0),
      .advance({
        group_end && !last_group_of_fill, row_end && !last_row, place_end && !last_place_of_row,
            walk && depthwise && !last_words
      }),
      .steps({command.region.group_pitch[PLACE_BITS-1:0], command.region.row_pitch[PLACE_BITS-1:0],
          place_words, request_words}),
      .sum(bank_place)
  );

  // ---- The request at the walk's position.
  // The beginning of the request. `begins` counts from the first byte of the image's row, and
  // `place_address` is the address of that byte.
  logic row_inside, column_inside;
  logic [31:0] y, x;
  logic signed [ADDRESS_BITS-1:0] begins;
  logic [ADDRESS_BITS-1:0] row_bytes, place_address;
  assign y = packed_taps ? iy + run_row : iy;
  assign x = packed_taps ? ix + run_column : ix;
  assign row_inside = y < {8'd0, command.image.height};
  assign column_inside = x < {8'd0, command.image.width};
  assign row_bytes = command.image.row_bytes;
  assign begins = command.image.column_origin + column_offset +
      (packed_taps ? run_column_offset :
       depthwise ? ADDRESS_BITS'(words_before) * COLUMN_TILE_BYTES : NONE);
  assign place_address = command.image.base + channel_offset + command.image.row_origin +
      row_offset + (packed_taps ? run_row_offset : NONE);

  // The words of a depthwise request: of the column tiles of a position, or of a row of the region.
  // The parts of such a row to the left and to the right of the image have requests of their own.
  // Where a request may have several words, they are found without the sums that packed runs are
  // part of: the walk depends on them, and would be late.
  logic signed [ADDRESS_BITS-1:0] words_begin;
  logic [ADDRESS_BITS-1:0] words_address;
  logic row_of_words_inside, column_of_words_inside;
  if (DEPTHWISE_WORDS_PER_CYCLE == 1) begin : g_one_word
    assign words_begin = begins;
    assign words_address = place_address + begins;
    assign row_of_words_inside = row_inside;
    assign column_of_words_inside = column_inside;
  end else begin : g_words
    assign words_begin = command.image.column_origin + column_offset +
        ADDRESS_BITS'(words_before) * COLUMN_TILE_BYTES;
    assign words_address = command.image.base + channel_offset + command.image.row_origin +
        row_offset + words_begin;
    assign row_of_words_inside = iy < {8'd0, command.image.height};
    assign column_of_words_inside = ix < {8'd0, command.image.width};
  end
  logic left_of_image, right_of_image, words_outside;
  logic [COUNT_BITS-1:0] row_words;
  assign left_of_image = words_begin < 0;
  assign right_of_image = words_begin >= $signed(row_bytes);
  assign words_outside = !row_of_words_inside ||
      (joined_rows ? left_of_image || right_of_image : !column_of_words_inside);
  assign row_words = last_column_of_tiles ? command.region.last_places_x : command.region.places_x;
  kiln_word_run #(
      .WORDS_PER_CYCLE(DEPTHWISE_WORDS_PER_CYCLE),
      .WORD_BYTES(ARRAY_COLUMNS * CODE_BYTES)
  ) word_run (
      .clock,
      .reset,
      .length(joined_rows ? row_words : last_block ? command.reduction.last_fill_groups :
          command.reduction.groups_per_bank),
      .address(words_address),
      .padding(words_outside),
      .limited(joined_rows && row_of_words_inside && !right_of_image),
      .limit(left_of_image ? -words_begin : row_bytes - words_begin),
      .advance(walk && depthwise),
      .place(words_before),
      .words,
      .last(last_words)
  );

  // The number of codes of the word, of the run, or of the words.
  logic [LANE_BITS-1:0] codes, last_word_codes;
  assign last_word_codes =
      last_words && last_block ? LANE_BITS'(command.tiling.last_tile_columns) : COLUMN_LANES;
  always_comb begin
    if (packed_taps) codes = run_entries;
    else if (depthwise)
      codes = (LANE_BITS'(words) - LANE_BITS'(1)) * COLUMN_LANES + last_word_codes;
    else codes = last_group ? LANE_BITS'(command.reduction.last_group_rows) : ROW_LANES;
  end

  logic last_of_word, last_of_fill;
  assign last_of_word = !packed_taps || last_run;
  assign last_of_fill = (depthwise ? last_words : last_of_word) && last_place && last_group_of_fill;

  // Without tap packing, a request is wholly inside the image or outside.
  logic outside_image;
  assign outside_image = !row_inside ||
      (packed_taps ? !command.image.joined && !column_inside : depthwise ? words_outside :
      !column_inside);

  logic signed [ADDRESS_BITS-1:0] sums_begins;
  logic [ADDRESS_BITS-1:0] sums_place_address;
  logic [LANE_BITS-1:0] sums_codes, sums_lane;
  logic [PLACE_BITS-1:0] sums_bank_place;
  logic sums_outside, sums_last_of_word, sums_last_of_fill, sums_last;
  always_ff @(posedge clock) begin
    if (sums_ready) begin
      sums_begins        <= begins;
      sums_place_address <= place_address;
      sums_codes         <= codes;
      // For a depthwise request, the number of words less one replaces the first lane, which is 0.
      sums_lane          <= depthwise ? LANE_BITS'(words) - LANE_BITS'(1) :
          packed_taps ? run_lane : '0;
      sums_bank_place    <= bank_place;
      sums_outside       <= outside_image;
      sums_last_of_word  <= last_of_word;
      sums_last_of_fill  <= last_of_fill;
      sums_last          <= visit_end && last_visit;
    end
  end

  // ---- The part of the request inside the image. A joined run of packed taps may be partly
  // inside: it is cut to the bytes of the row.
  logic cut, cut_empty;
  logic signed [ADDRESS_BITS-1:0] ends, cut_begins, cut_ends;
  assign cut  = packed_taps && command.image.joined;
  assign ends = sums_begins + ADDRESS_BITS'(sums_codes) * ADDRESS_BITS'(CODE_BYTES);
  always_comb begin
    cut_begins = sums_begins;
    cut_ends   = ends;
    if (cut) begin
      if (sums_begins < 0) cut_begins = '0;
      if (ends > $signed(row_bytes)) cut_ends = row_bytes;
    end
    cut_empty = cut && cut_ends <= cut_begins;
  end

  // Bytes before the part inside the image, and bytes inside.
  logic [BYTES_BITS-1:0] skipped, inside_bytes;
  assign skipped = BYTES_BITS'(cut_begins - sums_begins);
  assign inside_bytes = BYTES_BITS'(cut_ends - cut_begins);

  logic [ADDRESS_BITS-1:0] part_address;
  logic [BYTES_BITS-1:0] part_bytes;
  logic [LANE_BITS-1:0] part_lane;
  logic [PLACE_BITS-1:0] part_bank_place;
  logic part_empty, part_last_of_word, part_last_of_fill, part_last;
  always_ff @(posedge clock) begin
    if (part_ready) begin
      part_address      <= sums_place_address + cut_begins;
      part_bytes        <= inside_bytes;
      part_lane         <= sums_lane + LANE_BITS'(skipped / BYTES_BITS'(CODE_BYTES));
      part_bank_place   <= sums_bank_place;
      part_empty        <= sums_outside || cut_empty;
      part_last_of_word <= sums_last_of_word;
      part_last_of_fill <= sums_last_of_fill;
      part_last         <= sums_last;
    end
  end

  // ---- The request of this cycle.
  logic only_padding, touched;
  logic [LANE_BITS-1:0] valid_lanes;
  assign only_padding = part_last_of_fill && part_empty && !touched;
  assign valid_lanes = part_empty ? '0 : LANE_BITS'(part_bytes / BYTES_BITS'(CODE_BYTES));
  always_ff @(posedge clock) begin
    if (reset || (fire && part_last_of_fill)) touched <= 1'b0;
    else if (fire && !part_empty) touched <= 1'b1;
  end

  assign request_address = only_padding ? command.image.base : part_address;
  // Without a request the address is undefined, and the address guard must not report it.
  assign request_bytes =
      !part_valid ? '0 : only_padding ? BYTES_BITS'(1) : part_empty ? '0 : part_bytes;
  assign request_tag = TAG_BITS'({
    scaled, depthwise, part_last_of_fill, part_last_of_word, part_bank_place, part_lane,
        valid_lanes, command.image.pad_code[INPUT_BITS-1:0]
  });

  // ---- The conditions for a request.
  logic [1:0] array_free, depthwise_free;  // free banks
  logic in_fill, array_takes, depthwise_takes, earlier_finished, bank_there, may_request;
  logic asked, port_done;  // the port may still be busy with a request of this unit
  assign earlier_finished = command.header.wait_distance == '0 ||
      kiln_systolic_pkg::INDEX_BITS'(command.number - finished) <
          kiln_systolic_pkg::INDEX_BITS'(command.header.wait_distance);
  assign bank_there = in_fill || (depthwise ? depthwise_free : array_free) != '0;
  assign may_request = part_valid && earlier_finished && bank_there;
  assign request_valid = may_request && (!scaled || scale_request_ready);
  assign command_ready = fire && part_last;
  assign port_done = !asked || request_ready;
  assign array_takes = fire && !in_fill && !depthwise;
  assign depthwise_takes = fire && !in_fill && depthwise;
  always_ff @(posedge clock) begin
    if (reset) begin
      in_fill        <= 1'b0;
      asked          <= 1'b0;
      array_free     <= 2'd2;
      depthwise_free <= 2'd2;
    end else begin
      if (fire) in_fill <= !part_last_of_fill;
      asked          <= fire || (asked && !request_ready);
      array_free     <= array_free + 2'(array_released) - 2'(array_takes);
      depthwise_free <= depthwise_free + 2'(depthwise_released) - 2'(depthwise_takes);
    end
  end
  assign busy = request_valid || (asked && !request_ready);
  assign bytes_read = fire && !only_padding ? request_bytes : '0;
  assign stalled_previous = command_valid && port_done && !earlier_finished;
  assign stalled_bank = command_valid && port_done && earlier_finished && !bank_there;

  // ---- The words that the port returns: runs are joined in `partial` until their word is
  // complete.
  logic word_scaled, word_depthwise, word_fill_ends, word_whole, has_partial;
  logic [PLACE_BITS-1:0] word_place;
  logic [LANE_BITS-1:0] word_first_lane, word_lanes;
  logic [INPUT_BITS-1:0] word_pad;
  assign {word_scaled, word_depthwise, word_fill_ends, word_whole, word_place, word_first_lane,
      word_lanes, word_pad} = FULL_TAG_BITS'(word_tag);

  logic [LANES*INPUT_BITS-1:0] arrived;
  for (genvar i = 0; i < LANES; i++) begin : g_lane
    // A code is in the lowest bits of its bytes.
    assign arrived[i*INPUT_BITS+:INPUT_BITS] = word_data[i*CODE_BYTES*8+:INPUT_BITS];
    if (INPUT_BITS < CODE_BYTES * 8) begin : g_rest
      wire unused_bits = &{1'b0, word_data[i*CODE_BYTES*8+INPUT_BITS+:CODE_BYTES*8-INPUT_BITS]};
    end
  end
  logic [ARRAY_ROWS*INPUT_BITS-1:0] shifted, partial, joined_word;
  assign shifted = arrived[ARRAY_ROWS*INPUT_BITS-1:0] << (32'(word_first_lane) * INPUT_BITS);
  for (genvar i = 0; i < DEPTHWISE_LANES; i++) begin : g_depthwise
    assign depthwise_write_data[i*INPUT_BITS+:INPUT_BITS] =
        LANE_BITS'(i) < word_lanes ? arrived[i*INPUT_BITS+:INPUT_BITS] : word_pad;
  end
  for (genvar i = 0; i < ARRAY_ROWS; i++) begin : g_join
    logic fresh;
    assign fresh = LANE_BITS'(i) >= word_first_lane && LANE_BITS'(i) - word_first_lane < word_lanes;
    assign joined_word[i*INPUT_BITS+:INPUT_BITS] =
        fresh ? shifted[i*INPUT_BITS+:INPUT_BITS] :
            has_partial ? partial[i*INPUT_BITS+:INPUT_BITS] : word_pad;
  end
  always_ff @(posedge clock) begin
    if (word_valid) partial <= joined_word;
    if (reset) has_partial <= 1'b0;
    else if (word_valid) has_partial <= !word_whole;
  end

  logic array_fill_ends;
  assign array_write_enable = word_valid && word_whole && !word_depthwise;
  assign array_write_address = word_place[ARRAY_PLACE_BITS-1:0];
  assign array_write_data = joined_word;
  assign array_fill_ends = array_write_enable && word_fill_ends;
  assign depthwise_write_enable = word_valid && word_whole && word_depthwise;
  assign depthwise_write_address = word_place[DEPTHWISE_PLACE_BITS-1:0];
  assign depthwise_write_words = word_first_lane[DEPTHWISE_COUNT_BITS-1:0];
  assign depthwise_filled = depthwise_write_enable && word_fill_ends;
  always_ff @(posedge clock) begin
    if (reset) begin
      array_write_bank     <= 1'b0;
      depthwise_write_bank <= 1'b0;
    end else begin
      if (array_fill_ends) array_write_bank <= !array_write_bank;
      if (depthwise_filled) depthwise_write_bank <= !depthwise_write_bank;
    end
  end

  // ---- Block scales. Their addresses are walked like those of the words, by steps of their own.
  if (BLOCK_SIZE == 0) begin : g_no_scales
    assign scale_request_valid = 1'b0;
    assign scale_request_address = '0;
    assign scale_request_bytes = '0;
    assign scale_request_tag = '0;
    assign scale_write_enable = 1'b0;
    assign scale_write_bank = 1'b0;
    assign scale_write_address = '0;
    assign scale_write_one = 1'b0;
    assign scale_write_data = '0;
    assign array_filled = array_fill_ends;
    wire unused_scales = &{1'b0, command_scales, scale_request_ready, scale_word_valid,
        scale_word_data, scale_word_tag, word_scaled, walk_y, walk_x};
  end else begin : g_scales
    localparam int unsigned GROUPS = BLOCK_SIZE / ARRAY_ROWS;  // groups that share a scale

    logic [COUNT_BITS-1:0] group_in_block;
    logic last_group_of_block;
    assign last_group_of_block = group_in_block == COUNT_BITS'(GROUPS - 1);
    always_ff @(posedge clock) begin
      if (reset || visit_end) group_in_block <= '0;
      else if (group_end) group_in_block <= last_group_of_block ? '0 : group_in_block + ONE;
    end

    logic [ADDRESS_BITS-1:0] scale_row_offset, scale_column_offset, scale_block_offset;
    kiln_nest_sum #(
        .LEVELS(3),
        .BITS  (ADDRESS_BITS)
    ) row_offsets (
        .clock,
        .reset,
        .restart(visit_end && (step[3] || step[4] || last_visit)),
        .rewind(1'b0),
        .advance(walk_y),
        .steps({
          visit_end && step[2] ? command_scales.tile_row_stride : NONE,
          command.region.compact_y ? command_scales.output_row_stride : command_scales.row_stride,
          command_scales.tap_row_stride
        }),
        .sum(scale_row_offset)
    );
    kiln_nest_sum #(
        .LEVELS(3),
        .BITS  (ADDRESS_BITS)
    ) column_offsets (
        .clock,
        .reset,
        .restart(visit_end && (step[2] || step[3] || step[4] || last_visit)),
        .rewind(1'b0),
        .advance(walk_x),
        .steps({
          visit_end && step[1] ? command_scales.tile_column_stride : NONE,
          command.region.compact_x ? command_scales.output_column_stride :
              command_scales.column_stride,
          command_scales.tap_column_stride
        }),
        .sum(scale_column_offset)
    );
    kiln_nest_sum #(
        .LEVELS(4),
        .BITS  (ADDRESS_BITS)
    ) block_offsets (
        .clock,
        .reset,
        .restart(visit_end && last_visit),
        .rewind(1'b0),
        .advance(walk_channels),
        .steps({command_scales.batch_stride, NONE, NONE,
            last_group_of_block ? ADDRESS_BITS'(SCALE_BYTES) : NONE}),
        .sum(scale_block_offset)
    );

    logic [ADDRESS_BITS-1:0] sums_scale_address, part_scale_address;
    always_ff @(posedge clock) begin
      if (sums_ready) begin
        sums_scale_address <= command_scales.base + scale_block_offset +
            command_scales.row_origin + scale_row_offset + command_scales.column_origin +
            scale_column_offset;
      end
      if (part_ready) part_scale_address <= sums_scale_address;
    end

    logic request_bank, word_bank, word_ends, word_inside;
    always_ff @(posedge clock) begin
      if (reset) request_bank <= 1'b0;
      else if (fire && part_last_of_fill && !depthwise) request_bank <= !request_bank;
    end
    assign scale_request_valid = may_request && scaled && request_ready;
    assign scale_request_address = part_scale_address;
    assign scale_request_bytes = part_empty ? '0 : SCALE_BYTES_BITS'(SCALE_BYTES);
    assign scale_request_tag =
        {request_bank, part_last_of_fill, !part_empty, part_bank_place[ARRAY_PLACE_BITS-1:0]};

    assign {word_bank, word_ends, word_inside, scale_write_address} = scale_word_tag;
    assign scale_write_enable = scale_word_valid;
    assign scale_write_bank = word_bank;
    assign scale_write_one = !word_inside;
    assign scale_write_data = scale_word_data[SCALE_BITS-1:0];

    kiln_fill_join join_fills (
        .clock,
        .reset,
        .filled(array_fill_ends),
        .scaled(word_scaled),
        .scales_filled(scale_word_valid && word_ends),
        .both_filled(array_filled)
    );
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      array_banks_in_range : assert (array_free <= 2'd2);
      depthwise_banks_in_range : assert (depthwise_free <= 2'd2);
      array_bank_was_free : assert (!array_takes || array_free != '0);
      depthwise_bank_was_free : assert (!depthwise_takes || depthwise_free != '0);
      request_has_command : assert (!request_valid || command_valid);
      one_stall : assert ($onehot0({stalled_previous, stalled_bank}));
    end
  end
`endif
endmodule
