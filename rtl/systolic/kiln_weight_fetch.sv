// Weight fetch: reads the weight tiles of matrix instructions, in the order of the passes, and the
// taps of depthwise instructions, and writes them to the banks of the array's or the depthwise
// unit's weight buffer (docs/systolic.md, "Order of work of a matrix instruction").
//   command     Stays at its port until command_ready, which comes with its last request.
//   request     Tiled: one for each of the R rows of a tile. Strided: one for each valid row, or
//               with by_columns one for each valid column. Depthwise: one for each tap. One request
//               per cycle if the port takes them. The first request of an instruction comes in the
//               cycle in which the command is available (strided weights with a wait_distance: and
//               enough earlier instructions are `finished`). The first request of a fill also waits
//               for a free bank. Nothing else delays requests.
//   write       In the cycle of the word: a row of the tile, or a column (array_write_transposed);
//               lanes beyond its valid codes are 0.
//   filled      Asserted with the last write of a fill. A fill has weight_tiles_per_bank tiles or
//               the remaining ones of the block; depthwise: all taps.
//   packed      (PACKED_WEIGHTS) With `code_bits`, the rows of tiles and the taps are shorter in
//               memory, and their codes are extended by their highest bit. Codes that are not of
//               integers have all bits of their format, so that nothing reads the extension.
//   released    Counts from the cycle after the pulse on. Both buffers begin with two free banks;
//               fill k uses bank k modulo 2 of its buffer.
//   scales      (BLOCK_SIZE > 0) For an instruction with block scales, the first request for a tile
//               comes with the request for the scale of its first column, on a port of its own. The
//               other scales follow, one per cycle (tiled: C, strided: the valid ones); the next
//               tile begins when the tile's codes and scales have been requested. Scales are
//               written column by column to a buffer of their own, and a fill is complete when its
//               codes and scales have arrived. A scale is within one beat.
module kiln_weight_fetch #(
    parameter int unsigned ARRAY_ROWS = 8,
    parameter int unsigned ARRAY_COLUMNS = 8,
    parameter int unsigned WEIGHT_BITS = 8,  // bits of a code
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,  // rows of a bank
    parameter bit PACKED_WEIGHTS = 1'b0,
    // Rows that share a scale, a multiple of ARRAY_ROWS; 0: no scales.
    parameter int unsigned BLOCK_SIZE = 0,
    parameter int unsigned SCALE_BITS = 8,  // bits of a scale's code
    // In memory; derived, do not set.
    localparam int unsigned CODE_BYTES = WEIGHT_BITS > 16 ? 4 : WEIGHT_BITS > 8 ? 2 : 1,
    localparam int unsigned LANES = ARRAY_ROWS > ARRAY_COLUMNS ? ARRAY_ROWS : ARRAY_COLUMNS,
    localparam int unsigned LANE_BITS = $clog2(LANES + 1),
    localparam int unsigned MAX_BYTES = LANES * CODE_BYTES,
    localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1),
    localparam int unsigned TILES = WEIGHT_BUFFER_WORDS / ARRAY_ROWS,
    localparam int unsigned TILE_BITS = TILES > 1 ? $clog2(TILES) : 1,
    localparam int unsigned INDEX_BITS = LANES > 1 ? $clog2(LANES) : 1,
    localparam int unsigned TAG_BITS = (PACKED_WEIGHTS ? 3 : 0) + (BLOCK_SIZE > 0 ? 5 : 4) +
        TILE_BITS + INDEX_BITS + LANE_BITS,
    localparam int unsigned COLUMN_BITS = ARRAY_COLUMNS > 1 ? $clog2(ARRAY_COLUMNS) : 1,
    localparam int unsigned SCALE_BYTES = SCALE_BITS > 16 ? 4 : SCALE_BITS > 8 ? 2 : 1,
    localparam int unsigned SCALE_TAG_BITS = 2 + TILE_BITS + COLUMN_BITS,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS
) (
    input  logic                                     clock,
    input  logic                                     reset,
    input  logic                                     command_valid,
    output logic                                     command_ready,
    input  kiln_systolic_pkg::weight_fetch_command_t command,
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
    // The array's weight buffer.
    output logic                                     array_write_enable,
    output logic                                     array_write_bank,
    output logic [                    TILE_BITS-1:0] array_write_tile,
    output logic                                     array_write_transposed,
    // Row, or column if transposed.
    output logic [                   INDEX_BITS-1:0] array_write_index,
    output logic [            LANES*WEIGHT_BITS-1:0] array_write_data,
    output logic                                     array_filled,
    input  logic                                     array_released,
    // The depthwise unit's weight buffer.
    output logic                                     depthwise_write_enable,
    output logic                                     depthwise_write_bank,
    output logic                                     depthwise_write_first,  // tap 0
    output logic [    ARRAY_COLUMNS*WEIGHT_BITS-1:0] depthwise_write_data,
    output logic                                     depthwise_filled,
    input  logic                                     depthwise_released,
    // Block scales: the command's section, a kiln_axi_read_port with SCALE_BYTES and SCALE_TAG_BITS
    // (all requests have SCALE_BYTES bytes), and the buffer of the scales.
    input  kiln_systolic_pkg::weight_scales_t        command_scales,
    output logic                                     scale_request_valid,
    input  logic                                     scale_request_ready,
    output logic [                 ADDRESS_BITS-1:0] scale_request_address,
    output logic [               SCALE_TAG_BITS-1:0] scale_request_tag,
    input  logic                                     scale_word_valid,
    input  logic [                SCALE_BYTES*8-1:0] scale_word_data,
    input  logic [               SCALE_TAG_BITS-1:0] scale_word_tag,
    output logic                                     scale_write_enable,
    output logic                                     scale_write_bank,
    output logic [                    TILE_BITS-1:0] scale_write_tile,
    output logic [                  COLUMN_BITS-1:0] scale_write_column,
    output logic [                   SCALE_BITS-1:0] scale_write_data,
    // For the performance counters.
    output logic                                     busy,
    output logic [                    BYTES_BITS-1:0] bytes_read,
    // An earlier instruction is not finished.
    output logic                                     stalled_previous,
    output logic                                     stalled_bank  // weight bank is full
);
  localparam int COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam logic [ADDRESS_BITS-1:0] NONE = '0;
  localparam logic [COUNT_BITS-1:0] ONE = COUNT_BITS'(1);
  // A tag is `code_bits` (if weights can be packed) above the rest, whose top bit, which is 0
  // without block scales, is then omitted.
  localparam int unsigned PLAIN_TAG_BITS = TAG_BITS - (PACKED_WEIGHTS ? 3 : 0);
  localparam int unsigned FULL_TAG_BITS = 5 + TILE_BITS + INDEX_BITS + LANE_BITS;
  localparam int unsigned MOST_PACKED = WEIGHT_BITS < 7 ? WEIGHT_BITS : 7;  // bits of a code
  localparam logic [LANE_BITS-1:0] ROW_LANES = LANE_BITS'(ARRAY_ROWS);
  localparam logic [LANE_BITS-1:0] COLUMN_LANES = LANE_BITS'(ARRAY_COLUMNS);

  logic depthwise, strided, by_columns, scaled, fire;
  assign depthwise = command.header.opcode == kiln_systolic_pkg::OPCODE_DEPTHWISE;
  assign strided = !depthwise && command.weights.layout == kiln_systolic_pkg::LAYOUT_STRIDED;
  assign by_columns = strided && command.weights.by_columns;
  assign scaled = BLOCK_SIZE > 0 && command.header.weight_blocks;
  assign fire = request_valid && request_ready;

  // ---- The visits that fetch weights: one for all pixel tiles if the weights are resident.
  kiln_systolic_pkg::tiling_t command_visits;
  always_comb begin
    command_visits = command.tiling;
    if (command.tiling.weights_resident) begin
      command_visits.tiles_y = ONE;
      command_visits.tiles_x = ONE;
    end
  end
  logic last_visit, visit_end, last_block;
  logic [4:0] step;
  logic [COUNT_BITS-1:0] columns;
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
      .columns,
      .last_row(),
      .last_column(),
      .last_block,
      .fetch_inputs(),
      .last_of_inputs(),
      .fetch_weights(),
      .last_of_weights(),
      .fetch_parameters(),
      .last_of_parameters()
  );

  // ---- The groups of a visit, the column tiles of the block, the row tiles of a group (taps), and
  // the lines of a tile: rows, or columns. A tap of a depthwise instruction is a tile of one line.
  logic [COUNT_BITS-1:0] group, column, tap, tile_in_fill;
  logic [LANE_BITS-1:0] line, lines, valid_rows, valid_columns;
  logic last_group, last_column, last_tap, last_line, last_tile_of_fill, tile_end, taps_end,
      group_end, fill_end;
  assign valid_rows = last_group ? LANE_BITS'(command.reduction.last_group_rows) : ROW_LANES;
  assign valid_columns =
      last_block && last_column ? LANE_BITS'(command.tiling.last_tile_columns) : COLUMN_LANES;
  always_comb begin
    if (depthwise) lines = LANE_BITS'(1);
    else if (!strided) lines = ROW_LANES;
    else if (by_columns) lines = valid_columns;
    else lines = valid_rows;
  end
  assign last_group = group == command.reduction.groups - ONE;
  assign last_column = column == columns - ONE;
  assign last_tap = tap == command.reduction.rows_per_group - ONE;
  assign last_line = line == lines - LANE_BITS'(1);
  assign tile_end = fire && last_line;
  assign taps_end = tile_end && last_tap;
  assign group_end = taps_end && last_column;
  assign visit_end = group_end && last_group;
  assign last_tile_of_fill = (last_tap && last_column && last_group) ||
      (!depthwise && tile_in_fill == command.reduction.weight_tiles_per_bank - ONE);
  assign fill_end = tile_end && last_tile_of_fill;
  always_ff @(posedge clock) begin
    if (reset) begin
      group        <= '0;
      column       <= '0;
      tap          <= '0;
      line         <= '0;
      tile_in_fill <= '0;
    end else if (fire) begin
      line <= last_line ? '0 : line + LANE_BITS'(1);
      if (tile_end) tap <= last_tap ? '0 : tap + ONE;
      if (taps_end) column <= last_column ? '0 : column + ONE;
      if (group_end) group <= last_group ? '0 : group + ONE;
      if (tile_end) tile_in_fill <= last_tile_of_fill ? '0 : tile_in_fill + ONE;
    end
  end

  // ---- The bytes of a row of a tile, or of a tap, and of a tile.
  logic [ADDRESS_BITS-1:0] row_bytes, tile_bytes;
  always_comb begin
    row_bytes  = ADDRESS_BITS'(ARRAY_COLUMNS * CODE_BYTES);
    tile_bytes = ADDRESS_BITS'(ARRAY_ROWS * ARRAY_COLUMNS * CODE_BYTES);
    for (int unsigned b = 1; b <= MOST_PACKED; b++) begin
      if (PACKED_WEIGHTS && command.weights.code_bits == 3'(b)) begin
        row_bytes  = ADDRESS_BITS'((ARRAY_COLUMNS * b + 7) / 8);
        tile_bytes = ADDRESS_BITS'(ARRAY_ROWS * ((ARRAY_COLUMNS * b + 7) / 8));
      end
    end
  end

  // ---- Addresses.
  logic [ADDRESS_BITS-1:0] line_offset, group_offset;
  kiln_nest_sum #(
      .LEVELS(2),
      .BITS  (ADDRESS_BITS)
  ) line_offsets (
      .clock,
      .reset,
      .restart(taps_end),
      .rewind(1'b0),
      .advance({tile_end && !last_tap, fire && !last_line}),
      .steps({
        depthwise ? row_bytes : tile_bytes,
        !strided ? row_bytes : by_columns ? command.weights.column_stride :
            command.weights.row_stride
      }),
      .sum(line_offset)
  );
  kiln_nest_sum #(
      .LEVELS(3),
      .BITS  (ADDRESS_BITS)
  ) group_offsets (
      .clock,
      .reset,
      .restart(visit_end && last_visit),
      .rewind(1'b0),
      // The next group; the next visit's first group; the next batch.
      .advance({visit_end && step[4], visit_end && (|step[3:0]), group_end && !last_group}),
      .steps({command.weights.batch_stride, NONE, command.weights.group_stride}),
      .sum(group_offset)
  );
  // A block's first column tile follows the last one of the previous block.
  logic [ADDRESS_BITS-1:0] column_offset, block_offset, next_column_offset;
  logic next_block, same_block;
  assign next_column_offset = column_offset + command.weights.column_tile_stride;
  assign next_block = step[0] || step[3];
  assign same_block =
      command.tiling.order == kiln_systolic_pkg::ORDER_WEIGHT_OUTER && (step[1] || step[2]);
  always_ff @(posedge clock) begin
    if (reset) begin
      column_offset <= '0;
      block_offset  <= '0;
    end else if (visit_end) begin
      column_offset <= next_block ? next_column_offset : same_block ? block_offset : '0;
      block_offset  <= next_block ? next_column_offset : same_block ? block_offset : '0;
    end else if (taps_end) begin
      column_offset <= last_column ? block_offset : next_column_offset;
    end
  end

  logic [LANE_BITS-1:0] codes;
  assign codes = by_columns ? valid_rows : strided ? valid_columns : COLUMN_LANES;
  assign request_address = command.weights.base + group_offset + column_offset + line_offset;
  // Without a command the address is undefined, and the address guard must not report it.
  always_comb begin
    request_bytes = '0;
    if (command_valid && !strided) request_bytes = row_bytes[BYTES_BITS-1:0];
    else if (command_valid) request_bytes = BYTES_BITS'(codes) * BYTES_BITS'(CODE_BYTES);
  end
  assign request_tag[PLAIN_TAG_BITS-1:0] = PLAIN_TAG_BITS'({
    scaled, depthwise, last_line && last_tile_of_fill, tap == '0, by_columns,
        tile_in_fill[TILE_BITS-1:0], line[INDEX_BITS-1:0], codes
  });

  // ---- The conditions for a request.
  logic [1:0] array_free, depthwise_free;  // free banks
  logic in_fill, array_takes, depthwise_takes, earlier_finished, bank_there;
  logic asked, port_done;  // the port may still be busy with a request of this unit
  assign earlier_finished = !strided || command.header.wait_distance == '0 ||
      kiln_systolic_pkg::INDEX_BITS'(command.number - finished) <
          kiln_systolic_pkg::INDEX_BITS'(command.header.wait_distance);
  assign bank_there = in_fill || (depthwise ? depthwise_free : array_free) != '0;
  // A tile waits for the scales of the previous tile, and its first request is sent together with
  // that for its first scale.
  logic may_request, scales_busy, tile_begins;
  assign tile_begins = line == '0;
  assign may_request =
      command_valid && earlier_finished && bank_there && !(tile_begins && scales_busy);
  assign request_valid = may_request && (!scaled || !tile_begins || scale_request_ready);
  assign command_ready = visit_end && last_visit;
  assign port_done = (!asked || request_ready) && !scales_busy;
  assign array_takes = fire && !in_fill && !depthwise;
  assign depthwise_takes = fire && !in_fill && depthwise;
  always_ff @(posedge clock) begin
    if (reset) begin
      in_fill        <= 1'b0;
      asked          <= 1'b0;
      array_free     <= 2'd2;
      depthwise_free <= 2'd2;
    end else begin
      if (fire) in_fill <= !fill_end;
      asked          <= fire || (asked && !request_ready);
      array_free     <= array_free + 2'(array_released) - 2'(array_takes);
      depthwise_free <= depthwise_free + 2'(depthwise_released) - 2'(depthwise_takes);
    end
  end
  assign busy = request_valid || (asked && !request_ready) || scales_busy;
  assign bytes_read = fire ? request_bytes : '0;
  assign stalled_previous = command_valid && port_done && !earlier_finished;
  assign stalled_bank = command_valid && port_done && earlier_finished && !bank_there;

  // ---- The words that the port returns.
  logic word_scaled, word_depthwise, word_fill_ends, word_first_tap, word_transposed;
  logic [TILE_BITS-1:0] word_tile;
  logic [INDEX_BITS-1:0] word_index;
  logic [LANE_BITS-1:0] word_codes;
  assign {word_scaled, word_depthwise, word_fill_ends, word_first_tap, word_transposed, word_tile,
      word_index, word_codes} = FULL_TAG_BITS'(word_tag[PLAIN_TAG_BITS-1:0]);
  logic [2:0] word_code_bits;
  if (PACKED_WEIGHTS) begin : g_packed
    assign request_tag[TAG_BITS-1:PLAIN_TAG_BITS] = command.weights.code_bits;
    assign word_code_bits = word_tag[TAG_BITS-1:PLAIN_TAG_BITS];
  end else begin : g_whole
    assign word_code_bits = '0;
  end

  logic [LANES*WEIGHT_BITS-1:0] data;
  for (genvar i = 0; i < LANES; i++) begin : g_lane
    // The lane's code for each value of word_code_bits. A code that is not packed is in the lowest
    // bits of its bytes.
    logic [(PACKED_WEIGHTS ? 8 : 1)*WEIGHT_BITS-1:0] candidates;
    assign candidates[0+:WEIGHT_BITS] = word_data[i*CODE_BYTES*8+:WEIGHT_BITS];
    if (PACKED_WEIGHTS) begin : g_candidates
      for (genvar b = 1; b < 8; b++) begin : g_bits
        localparam int unsigned BITS = b < MOST_PACKED ? b : MOST_PACKED;
        assign candidates[b*WEIGHT_BITS+:WEIGHT_BITS] =
            WEIGHT_BITS'($signed(word_data[i*BITS+:BITS]));
      end
    end
    assign data[i*WEIGHT_BITS+:WEIGHT_BITS] = LANE_BITS'(i) < word_codes ?
        candidates[word_code_bits*WEIGHT_BITS+:WEIGHT_BITS] : '0;
    if (WEIGHT_BITS < CODE_BYTES * 8) begin : g_rest
      wire unused_bits = &{1'b0, word_data[i*CODE_BYTES*8+WEIGHT_BITS+:CODE_BYTES*8-WEIGHT_BITS]};
    end
  end
  logic array_fill_ends;
  assign array_write_enable = word_valid && !word_depthwise;
  assign array_write_tile = word_tile;
  assign array_write_transposed = word_transposed;
  assign array_write_index = word_index;
  assign array_write_data = data;
  assign array_fill_ends = array_write_enable && word_fill_ends;
  assign depthwise_write_enable = word_valid && word_depthwise;
  assign depthwise_write_first = word_first_tap;
  assign depthwise_write_data = data[ARRAY_COLUMNS*WEIGHT_BITS-1:0];
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

  // ---- Block scales.
  if (BLOCK_SIZE == 0) begin : g_no_scales
    assign scales_busy = 1'b0;
    assign scale_request_valid = 1'b0;
    assign scale_request_address = '0;
    assign scale_request_tag = '0;
    assign scale_write_enable = 1'b0;
    assign scale_write_bank = 1'b0;
    assign scale_write_tile = '0;
    assign scale_write_column = '0;
    assign scale_write_data = '0;
    assign array_filled = array_fill_ends;
    wire unused_scales = &{1'b0, command_scales, scale_request_ready, scale_word_valid,
        scale_word_data, scale_word_tag, word_scaled};
  end else begin : g_scales
    localparam int unsigned GROUPS = BLOCK_SIZE / ARRAY_ROWS;  // groups that share a scale
    localparam logic [ADDRESS_BITS-1:0] ONE_SCALE = ADDRESS_BITS'(SCALE_BYTES);
    localparam logic [ADDRESS_BITS-1:0] TILE_SCALES = ADDRESS_BITS'(ARRAY_COLUMNS * SCALE_BYTES);

    // The address of the tile's first scale. It is walked like the tiles, except that strided
    // scales stay the same for the groups of a scale block.
    logic [COUNT_BITS-1:0] group_in_block;
    logic last_group_of_block;
    assign last_group_of_block = group_in_block == COUNT_BITS'(GROUPS - 1);
    always_ff @(posedge clock) begin
      if (reset || visit_end) group_in_block <= '0;
      else if (group_end) group_in_block <= last_group_of_block ? '0 : group_in_block + ONE;
    end
    logic [ADDRESS_BITS-1:0] scale_group_step, scale_group_offset, scale_tap_offset,
        scale_column_offset, scale_block_offset;
    assign scale_group_step =
        strided ? (last_group_of_block ? ONE_SCALE : NONE) : command_scales.group_stride;
    kiln_nest_sum #(
        .LEVELS(3),
        .BITS  (ADDRESS_BITS)
    ) scale_group_offsets (
        .clock,
        .reset,
        .restart(visit_end && last_visit),
        .rewind(1'b0),
        .advance({visit_end && step[4], visit_end && (|step[3:0]), group_end && !last_group}),
        .steps({command_scales.batch_stride, NONE, scale_group_step}),
        .sum(scale_group_offset)
    );
    kiln_nest_sum #(
        .LEVELS(1),
        .BITS  (ADDRESS_BITS)
    ) scale_tap_offsets (
        .clock,
        .reset,
        .restart(taps_end),
        .rewind(1'b0),
        .advance(tile_end && !last_tap),
        .steps(TILE_SCALES),
        .sum(scale_tap_offset)
    );
    logic [ADDRESS_BITS-1:0] next_scale_column_offset;
    assign next_scale_column_offset = scale_column_offset + command_scales.column_tile_stride;
    always_ff @(posedge clock) begin
      if (reset) begin
        scale_column_offset <= '0;
        scale_block_offset  <= '0;
      end else if (visit_end) begin
        scale_column_offset <=
            next_block ? next_scale_column_offset : same_block ? scale_block_offset : '0;
        scale_block_offset  <=
            next_block ? next_scale_column_offset : same_block ? scale_block_offset : '0;
      end else if (taps_end) begin
        scale_column_offset <= last_column ? scale_block_offset : next_scale_column_offset;
      end
    end

    // The scales of a tile's other columns. They may still be requested when the command is already
    // that of the next instruction.
    logic [ADDRESS_BITS-1:0] first_address, next_address, column_step, next_step;
    logic [COLUMN_BITS-1:0] scale_column, last_scale_column, next_last_column;
    logic [TILE_BITS-1:0] scale_tile;
    logic scale_bank, scale_ends, request_bank, first_fire, scale_fire;
    assign first_address =
        command_scales.base + scale_group_offset + scale_column_offset + scale_tap_offset;
    assign column_step = strided ? command_scales.column_stride : ONE_SCALE;
    assign last_scale_column =
        COLUMN_BITS'((strided ? valid_columns : COLUMN_LANES) - LANE_BITS'(1));
    assign first_fire = fire && tile_begins && scaled;
    assign scale_fire = scale_request_valid && scale_request_ready;
    assign scale_request_valid =
        scales_busy || (may_request && tile_begins && scaled && request_ready);
    assign scale_request_address = scales_busy ? next_address : first_address;
    assign scale_request_tag = scales_busy ?
        {scale_bank, scale_ends && scale_column == next_last_column, scale_tile, scale_column} :
        {request_bank, last_tile_of_fill && last_scale_column == '0, tile_in_fill[TILE_BITS-1:0],
            COLUMN_BITS'(0)};
    always_ff @(posedge clock) begin
      if (reset) request_bank <= 1'b0;
      else if (fill_end && !depthwise) request_bank <= !request_bank;

      if (reset) scales_busy <= 1'b0;
      else if (first_fire) scales_busy <= last_scale_column != '0;
      else if (scale_fire) scales_busy <= scale_column != next_last_column;
      if (first_fire) begin
        next_address     <= first_address + column_step;
        next_step        <= column_step;
        next_last_column <= last_scale_column;
        scale_column     <= COLUMN_BITS'(1);
        scale_tile       <= tile_in_fill[TILE_BITS-1:0];
        scale_bank       <= request_bank;
        scale_ends       <= last_tile_of_fill;
      end else if (scale_fire) begin
        next_address <= next_address + next_step;
        scale_column <= scale_column + COLUMN_BITS'(1);
      end
    end

    logic word_bank, word_ends;
    assign {word_bank, word_ends, scale_write_tile, scale_write_column} = scale_word_tag;
    assign scale_write_enable = scale_word_valid;
    assign scale_write_bank = word_bank;
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
