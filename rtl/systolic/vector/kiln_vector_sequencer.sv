// Lists the words of vector instructions and of drains in their order, with a description of each.
// The outputs describe one word until `step`.
//
//   vector instruction   for group of rows, for pass, for row of the group, for word of the row
//   drain of a block     for column tile, for row of pixels, for pixel
//                        if the output's scale blocks span column tiles: for scale block of column
//                        tiles, for row of pixels, for pixel, for column tile
//   blocks               for batch; for tile, for block or for block, for tile, as the
//                        instruction's order says
//
//   time      The outputs for a word are functions of registers and the command. They are valid in
//             the cycle after the step to the word; those of an instruction's first word are valid
//             in the cycle in which the command is available, and so are those of a block's first
//             word.
//   step      Ends a word. After a step with `word_last_of_block`, the outputs are those of the
//             next block's first word from the next cycle on; after a step with
//             `word_last_of_instruction`, the state is that before the first word of an
//             instruction.
module kiln_vector_sequencer #(
    parameter int unsigned LANES = 4,
    parameter int unsigned ACCUMULATION_ADDRESS_BITS = 10,
    parameter int unsigned ROW_ADDRESS_BITS = 24,  // of the row buffer
    parameter int unsigned BLOCK_SIZE = 0,  // elements that share a scale; 0: no block scales
    parameter int unsigned SCALE_BYTES = 1,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,
    localparam int unsigned COUNT_BITS = kiln_systolic_pkg::COUNT_BITS,
    localparam int unsigned LANE_BITS = $clog2(LANES + 1)  // bits of a number of lanes
) (
    input  logic clock,
    input  logic reset,
    input  kiln_systolic_pkg::vector_command_t command,
    input  kiln_systolic_pkg::vector_scales_t command_scales,  // used if BLOCK_SIZE > 0
    input  logic step,
    // The description of the current word.
    output logic [1:0] word_pass,
    output logic [2:0] word_reads,  // bit i: the word reads operand i
    output logic word_to_memory,
    output logic [15:0] word_gap,  // cycles; 0 except after the last word of a pass of a group
    output logic [kiln_vector_pkg::ROW_BITS-1:0] word_row,  // number of the row in its group
    output logic [LANE_BITS-1:0] word_lanes,  // number of valid lanes
    output logic word_first_of_row,
    output logic word_last_of_row,
    output logic word_last_of_block,  // a vector instruction is one block
    output logic word_last_of_instruction,
    // Address in the row buffer, of words that are kept there.
    output logic [ROW_ADDRESS_BITS-1:0] word_row_place,
    // address in the accumulation bank
    output logic [ACCUMULATION_ADDRESS_BITS-1:0] word_accumulator,
    output logic [COUNT_BITS-1:0] word_column,  // number of the column tile in the block
    // With a window: without the offset of the window's position.
    output logic [ADDRESS_BITS-1:0] operand0_address,
    output logic [ADDRESS_BITS-1:0] operand1_address,
    output logic [ADDRESS_BITS-1:0] operand2_address,
    output logic [ADDRESS_BITS-1:0] target_address,
    output logic signed [31:0] window_y,  // of the window's first position
    output logic signed [31:0] window_x,
    output logic [ADDRESS_BITS-1:0] window_row_offset,
    output logic [ADDRESS_BITS-1:0] window_column_offset,
    // The block scales of the current word (BLOCK_SIZE > 0): the address of the first one, and
    // whether the word is the last one that uses its scale.
    output logic [ADDRESS_BITS-1:0] operand0_scale_address,
    output logic [ADDRESS_BITS-1:0] operand1_scale_address,
    output logic [ADDRESS_BITS-1:0] operand2_scale_address,
    output logic [ADDRESS_BITS-1:0] target_scale_address,
    output logic [ADDRESS_BITS-1:0] window_scale_row_offset,
    output logic [ADDRESS_BITS-1:0] window_scale_column_offset,
    output logic word_last_of_scale,
    // The current block of a drain.
    output logic block_takes_parameters,
    output logic block_releases_parameters
);
  logic drain;
  assign drain = command.header.opcode != kiln_systolic_pkg::OPCODE_VECTOR;

  logic fresh;  // the current word is the first of an instruction
  always_ff @(posedge clock) begin
    if (reset) fresh <= 1'b1;
    else if (step) fresh <= word_last_of_instruction;
  end

  // ---- Rows and words of a vector instruction.
  logic [COUNT_BITS-1:0] index0, index1, index2, index3;  // indices of the outer loops
  logic [COUNT_BITS-1:0] mark0, mark1, mark2, mark3;  // those of the group's first row
  logic [COUNT_BITS-1:0] word;
  logic [ROW_ADDRESS_BITS-1:0] row_place;
  logic [kiln_vector_pkg::ROW_BITS-1:0] row;
  logic [1:0] pass;
  logic last0, last1, last2, last3, last_word, last_row, last_pass, ends_group;
  logic [1:0] row_level;

  assign last0     = kiln_systolic_pkg::is_last(index0, command.loops.outer0);
  assign last1     = kiln_systolic_pkg::is_last(index1, command.loops.outer1);
  assign last2     = kiln_systolic_pkg::is_last(index2, command.loops.outer2);
  assign last3     = kiln_systolic_pkg::is_last(index3, command.loops.outer3);
  assign last_word = kiln_systolic_pkg::is_last(word, command.loops.words);
  assign last_row  = last0 && last1 && last2 && last3;
  assign last_pass = 3'(pass) + 1'b1 == command.header.passes;
  assign ends_group = last_row || 16'(row) + 1'b1 == command.loops.rows_in_flight;
  assign row_level = !last3 ? 2'd3 : !last2 ? 2'd2 : !last1 ? 2'd1 : 2'd0;

  // ---- Words that share scales. `phase` counts the words of a scale along the row (in a drain:
  // along the column tiles of the instruction).
  localparam bit BLOCKS = BLOCK_SIZE > 0;
  localparam int unsigned SHARING = kiln_vector_pkg::words_of_block(BLOCK_SIZE, LANES);
  localparam int unsigned SCALES = kiln_vector_pkg::scales_of_word(BLOCK_SIZE, LANES);
  logic together, last_of_phase, last_together;  // drain: column tiles leave together
  assign together           = SHARING > 1 && drain && command.header.output_blocks;
  assign last_together      = !together || last_of_phase || last_column;
  assign word_last_of_scale = last_of_phase || (drain ? last_column : last_word);

  // ---- Pixels, column tiles and blocks of a drain.
  logic [COUNT_BITS-1:0] pixel_y, pixel_x, column;
  logic [COUNT_BITS-1:0] tile_y, tile_x, block, batch;
  logic [ACCUMULATION_ADDRESS_BITS-1:0] accumulator, accumulator_pixel, accumulator_row,
      accumulator_column;
  logic [COUNT_BITS-1:0] first_column_together;  // of the column tiles that leave together
  logic last_batch, last_tile_y, last_tile_x, last_block, last_pixel_y, last_pixel_x, last_column,
      last_tile;
  logic [1:0] block_level;
  logic weight_outer, one_block;

  assign weight_outer = command.tiling.order == kiln_systolic_pkg::ORDER_WEIGHT_OUTER;
  assign one_block    = command.tiling.blocks == COUNT_BITS'(1);
  assign last_batch   = kiln_systolic_pkg::is_last(batch, command.tiling.batch);
  assign last_tile_y  = kiln_systolic_pkg::is_last(tile_y, command.tiling.tiles_y);
  assign last_tile_x  = kiln_systolic_pkg::is_last(tile_x, command.tiling.tiles_x);
  assign last_block   = kiln_systolic_pkg::is_last(block, command.tiling.blocks);
  assign last_tile    = last_tile_y && last_tile_x;
  // Both counts of an axis are compared, so that the choice between them comes last.
  assign last_pixel_y = last_tile_y ?
      kiln_systolic_pkg::is_last(pixel_y, command.tiling.last_tile_height) :
      kiln_systolic_pkg::is_last(pixel_y, command.tiling.tile_height);
  assign last_pixel_x = last_tile_x ?
      kiln_systolic_pkg::is_last(pixel_x, command.tiling.last_tile_width) :
      kiln_systolic_pkg::is_last(pixel_x, command.tiling.tile_width);
  assign last_column  = last_block ?
      kiln_systolic_pkg::is_last(column, command.tiling.last_block_columns) :
      kiln_systolic_pkg::is_last(column, command.tiling.columns_per_block);
  always_comb begin
    if (weight_outer) begin
      block_level = !last_tile_x ? kiln_vector_pkg::LEVEL_TILE :
          !last_tile_y ? kiln_vector_pkg::LEVEL_TILE_ROW :
          !last_block ? kiln_vector_pkg::LEVEL_BLOCK : kiln_vector_pkg::LEVEL_BATCH;
    end else begin
      block_level = !last_block ? kiln_vector_pkg::LEVEL_BLOCK :
          !last_tile_x ? kiln_vector_pkg::LEVEL_TILE :
          !last_tile_y ? kiln_vector_pkg::LEVEL_TILE_ROW : kiln_vector_pkg::LEVEL_BATCH;
    end
  end

  // The parameters stay as long as the block stays, and the batch if each batch has its own
  // parameters.
  logic next_parameters, keep_parameters;
  assign next_parameters = (last_batch && last_tile && last_block) ||
      (!one_block && (!weight_outer || last_tile)) ||
      (command.tiling.parameters_by_batch && last_tile && last_block);
  assign block_takes_parameters    = fresh_block || !keep_parameters;
  assign block_releases_parameters = next_parameters;
  logic fresh_block;  // the current block is the instruction's first
  always_ff @(posedge clock) begin
    if (reset) fresh_block <= 1'b1;
    else if (step && word_last_of_block) fresh_block <= word_last_of_instruction;
    if (step && word_last_of_block) keep_parameters <= !next_parameters;
  end

  // ---- The current word.
  kiln_systolic_pkg::pass_t command_pass;  // of the current word
  always_comb begin
    command_pass = command.pass0;
    if (pass == 2'd1) command_pass = command.pass1;
    if (pass == 2'd2) command_pass = command.pass2;
    if (pass == 2'd3) command_pass = command.pass3;
  end
  assign word_pass                = pass;
  assign word_reads               = command_pass.reads;
  assign word_to_memory           = command_pass.to_memory;
  assign word_gap                 = !drain && last_word && ends_group ? command_pass.gap : '0;
  assign word_row                 = row;
  assign word_row_place           = row_place;
  assign word_accumulator         = accumulator;
  assign word_column              = column;
  assign word_first_of_row        = drain || word == '0;
  assign word_last_of_row         = drain || last_word;
  assign word_last_of_block       =
      drain ? last_column && last_pixel_y && last_pixel_x : last_word && last_row && last_pass;
  assign word_last_of_instruction =
      word_last_of_block && (!drain || (last_batch && last_tile && last_block));
  always_comb begin
    word_lanes = LANE_BITS'(LANES);
    if (drain && last_block && last_column)
      word_lanes = LANE_BITS'(command.tiling.last_tile_columns);
    if (!drain && last_word) word_lanes = LANE_BITS'(command.loops.last_lanes);
  end

  // ---- The step to the next word.
  logic [2:0] kind;
  logic [1:0] level;
  always_comb begin
    level = row_level;
    if (drain) begin
      level = block_level;
      kind  = !last_together ? kiln_vector_pkg::STEP_WORD :
          !last_pixel_x ? kiln_vector_pkg::STEP_PIXEL :
          !last_pixel_y ? kiln_vector_pkg::STEP_PIXEL_ROW :
          !last_column ? kiln_vector_pkg::STEP_COLUMN : kiln_vector_pkg::STEP_BLOCK;
    end else begin
      kind = !last_word ? kiln_vector_pkg::STEP_WORD : !ends_group ? kiln_vector_pkg::STEP_ROW :
          !last_pass ? kiln_vector_pkg::STEP_PASS : kiln_vector_pkg::STEP_GROUP;
    end
  end

  always_ff @(posedge clock) begin
    if (reset || (step && word_last_of_instruction)) begin
      index0             <= '0;
      index1             <= '0;
      index2             <= '0;
      index3             <= '0;
      mark0              <= '0;
      mark1              <= '0;
      mark2              <= '0;
      mark3              <= '0;
      word               <= '0;
      row_place          <= '0;
      row                <= '0;
      pass               <= '0;
      pixel_y            <= '0;
      pixel_x            <= '0;
      column             <= '0;
      tile_y             <= '0;
      tile_x             <= '0;
      block              <= '0;
      batch              <= '0;
      accumulator        <= '0;
      accumulator_row    <= '0;
      accumulator_column <= '0;
    end else if (step) begin
      case (kind)
        kiln_vector_pkg::STEP_WORD: begin
          if (SHARING > 1 && drain) begin
            column      <= column + 1'b1;
            accumulator <= accumulator + ACCUMULATION_ADDRESS_BITS'(command.tiling.tile_pixels);
          end else begin
            word      <= word + 1'b1;
            row_place <= row_place + 1'b1;
          end
        end
        kiln_vector_pkg::STEP_ROW, kiln_vector_pkg::STEP_GROUP: begin
          word      <= '0;
          row_place <= kind == kiln_vector_pkg::STEP_ROW ? row_place + 1'b1 : '0;
          row       <= kind == kiln_vector_pkg::STEP_ROW ? row + 1'b1 : '0;
          index3    <= last3 ? '0 : index3 + 1'b1;
          if (last3) index2 <= last2 ? '0 : index2 + 1'b1;
          if (last3 && last2) index1 <= last1 ? '0 : index1 + 1'b1;
          if (last3 && last2 && last1) index0 <= index0 + 1'b1;
          if (kind == kiln_vector_pkg::STEP_GROUP) begin
            pass  <= '0;
            mark3 <= last3 ? '0 : index3 + 1'b1;
            mark2 <= !last3 ? index2 : last2 ? '0 : index2 + 1'b1;
            mark1 <= !(last3 && last2) ? index1 : last1 ? '0 : index1 + 1'b1;
            mark0 <= last3 && last2 && last1 ? index0 + 1'b1 : index0;
          end
        end
        kiln_vector_pkg::STEP_PASS: begin
          word      <= '0;
          row_place <= '0;
          row       <= '0;
          pass      <= pass + 1'b1;
          index0    <= mark0;
          index1    <= mark1;
          index2    <= mark2;
          index3    <= mark3;
        end
        kiln_vector_pkg::STEP_PIXEL: begin
          pixel_x     <= pixel_x + 1'b1;
          accumulator <= (together ? accumulator_pixel : accumulator) + 1'b1;
          if (together) column <= first_column_together;
        end
        kiln_vector_pkg::STEP_PIXEL_ROW: begin
          pixel_x         <= '0;
          pixel_y         <= pixel_y + 1'b1;
          accumulator     <=
              accumulator_row + ACCUMULATION_ADDRESS_BITS'(command.tiling.tile_width);
          accumulator_row <=
              accumulator_row + ACCUMULATION_ADDRESS_BITS'(command.tiling.tile_width);
          if (together) column <= first_column_together;
        end
        kiln_vector_pkg::STEP_COLUMN: begin
          pixel_x            <= '0;
          pixel_y            <= '0;
          column             <= column + 1'b1;
          accumulator        <= next_accumulator_column;
          accumulator_row    <= next_accumulator_column;
          accumulator_column <= next_accumulator_column;
        end
        default: begin
          pixel_x            <= '0;
          pixel_y            <= '0;
          column             <= '0;
          accumulator        <= '0;
          accumulator_row    <= '0;
          accumulator_column <= '0;
          if (weight_outer) begin
            tile_x <= last_tile_x ? '0 : tile_x + 1'b1;
            if (last_tile_x) tile_y <= last_tile_y ? '0 : tile_y + 1'b1;
            if (last_tile) block <= last_block ? '0 : block + 1'b1;
          end else begin
            block <= last_block ? '0 : block + 1'b1;
            if (last_block) tile_x <= last_tile_x ? '0 : tile_x + 1'b1;
            if (last_block && last_tile_x) tile_y <= last_tile_y ? '0 : tile_y + 1'b1;
          end
          if (last_block && last_tile) batch <= batch + 1'b1;
        end
      endcase
    end
  end

  // Column tiles that leave together. The position of the next ones is known once the first pixel
  // has been processed.
  logic [ACCUMULATION_ADDRESS_BITS-1:0] next_accumulator_column;
  if (SHARING == 1) begin : g_column_tiles
    assign last_of_phase           = 1'b1;
    assign accumulator_pixel       = '0;
    assign first_column_together   = '0;
    assign next_accumulator_column =
        accumulator_column + ACCUMULATION_ADDRESS_BITS'(command.tiling.tile_pixels);
    wire unused_together = &{1'b0, accumulator_pixel, first_column_together};
  end else begin : g_together
    localparam int unsigned PHASE_BITS = $clog2(SHARING);
    // The phases of the current word, of the word after it, and of its block's first column tile.
    logic [PHASE_BITS-1:0] phase, next_phase, block_phase;
    logic [ACCUMULATION_ADDRESS_BITS-1:0] kept, kept_now;
    logic first_pixel;
    assign last_of_phase = phase == PHASE_BITS'(SHARING - 1);
    assign next_phase    = last_of_phase ? '0 : phase + 1'b1;
    assign first_pixel   = pixel_x == '0 && pixel_y == '0;
    assign kept_now      =
        first_pixel ? accumulator + ACCUMULATION_ADDRESS_BITS'(command.tiling.tile_pixels) : kept;
    assign next_accumulator_column = together ? kept_now :
        accumulator_column + ACCUMULATION_ADDRESS_BITS'(command.tiling.tile_pixels);
    // The address of the pixel's first word is kept until the pixel's last word.
    logic first_of_pixel;
    logic [ACCUMULATION_ADDRESS_BITS-1:0] pixel_place;
    logic [COUNT_BITS-1:0] pixel_column;
    assign first_of_pixel        = phase == '0;
    assign accumulator_pixel     = first_of_pixel ? accumulator : pixel_place;
    assign first_column_together = first_of_pixel ? column : pixel_column;
    always_ff @(posedge clock) begin
      if (step) begin
        kept         <= kept_now;
        pixel_place  <= accumulator_pixel;
        pixel_column <= first_column_together;
      end
      if (reset || (step && word_last_of_instruction)) begin
        phase       <= '0;
        block_phase <= '0;
      end else if (step) begin
        case (kind)
          kiln_vector_pkg::STEP_WORD: phase <= next_phase;
          kiln_vector_pkg::STEP_PIXEL, kiln_vector_pkg::STEP_PIXEL_ROW: if (together) phase <= '0;
          kiln_vector_pkg::STEP_COLUMN: phase <= together ? '0 : next_phase;
          kiln_vector_pkg::STEP_BLOCK: begin
            case (level)
              kiln_vector_pkg::LEVEL_BLOCK: begin
                phase       <= together ? '0 : next_phase;
                block_phase <= together ? '0 : next_phase;
              end
              kiln_vector_pkg::LEVEL_BATCH: begin
                phase       <= '0;
                block_phase <= '0;
              end
              default: phase <= weight_outer ? block_phase : '0;
            endcase
          end
          default: phase <= '0;
        endcase
      end
    end
  end

  // ---- Addresses. The walk over a block yields the start of later blocks. A start is kept when
  // the order of work will need it: that of the tile to the right in the first block of a tile,
  // that of the tile row below in the first tile of a row, that of the next block in the first
  // tile.
  logic first_of_tile, first_row, first_column, keep_tile, keep_row, keep_column, keep_block;
  assign first_of_tile = weight_outer || block == '0;
  assign first_row     = pixel_y == '0;
  assign first_column  = (together ? first_column_together : column) == '0;
  assign keep_tile     = drain && last_pixel_x && first_row && first_column && first_of_tile;
  assign keep_row      =
      drain && last_pixel_x && last_pixel_y && first_column && first_of_tile && tile_x == '0;
  assign keep_column   = together && last_together && first_row && pixel_x == '0;
  assign keep_block    =
      drain && word_last_of_block && (!weight_outer || (tile_x == '0 && tile_y == '0));

  kiln_vector_address #(
      .BLOCKS(BLOCKS)
  ) operand0 (
      .clock,
      .command_stream(command.operand0),
      .windowed(command.header.window),
      .fresh,
      .step,
      .kind,
      .level,
      .keep_tile,
      .keep_row,
      .keep_block,
      .together,
      .keep_column,
      .same_scale(1'b0),
      .address(operand0_address)
  );
  kiln_vector_address #(
      .BLOCKS(BLOCKS)
  ) operand1 (
      .clock,
      .command_stream(command.operand1),
      .windowed(1'b0),
      .fresh,
      .step,
      .kind,
      .level,
      .keep_tile,
      .keep_row,
      .keep_block,
      .together,
      .keep_column,
      .same_scale(1'b0),
      .address(operand1_address)
  );
  kiln_vector_address #(
      .BLOCKS(BLOCKS)
  ) operand2 (
      .clock,
      .command_stream(command.operand2),
      .windowed(1'b0),
      .fresh,
      .step,
      .kind,
      .level,
      .keep_tile,
      .keep_row,
      .keep_block,
      .together,
      .keep_column,
      .same_scale(1'b0),
      .address(operand2_address)
  );
  kiln_vector_address #(
      .BLOCKS(BLOCKS)
  ) target (
      .clock,
      .command_stream(command.target),
      .windowed(1'b0),
      .fresh,
      .step,
      .kind,
      .level,
      .keep_tile,
      .keep_row,
      .keep_block,
      .together,
      .keep_column,
      .same_scale(1'b0),
      .address(target_address)
  );
  kiln_window_origin window (
      .clock,
      .command_window(command.window),
      .fresh,
      .step,
      .kind,
      .level,
      .y(window_y),
      .x(window_x),
      .row_offset(window_row_offset),
      .column_offset(window_column_offset)
  );

  // ---- The same walk along the block scales, which stay unchanged for the words that share them.
  logic same_scale;
  assign same_scale = !last_of_phase;
  kiln_systolic_pkg::window_t window_scales;
  always_comb begin
    window_scales                      = command.window;
    window_scales.row_origin           = command_scales.operand0.row_origin;
    window_scales.column_origin        = command_scales.operand0.column_origin;
    window_scales.output_row_stride    = command_scales.operand0.output_row_stride;
    window_scales.output_column_stride = command_scales.operand0.output_column_stride;
  end
  if (BLOCKS) begin : g_scales
    kiln_scale_address #(
        .WORD_BYTES(SCALES * SCALE_BYTES)
    ) operand0_scale (
        .clock,
        .command_scales(command_scales.operand0),
        .windowed(command.header.window),
        .fresh,
        .step,
        .kind,
        .level,
        .keep_tile,
        .keep_row,
        .keep_block,
        .together,
        .keep_column,
        .same_scale,
        .address(operand0_scale_address)
    );
    kiln_scale_address #(
        .WORD_BYTES(SCALES * SCALE_BYTES)
    ) operand1_scale (
        .clock,
        .command_scales(command_scales.operand1),
        .windowed(1'b0),
        .fresh,
        .step,
        .kind,
        .level,
        .keep_tile,
        .keep_row,
        .keep_block,
        .together,
        .keep_column,
        .same_scale,
        .address(operand1_scale_address)
    );
    kiln_scale_address #(
        .WORD_BYTES(SCALES * SCALE_BYTES)
    ) operand2_scale (
        .clock,
        .command_scales(command_scales.operand2),
        .windowed(1'b0),
        .fresh,
        .step,
        .kind,
        .level,
        .keep_tile,
        .keep_row,
        .keep_block,
        .together,
        .keep_column,
        .same_scale,
        .address(operand2_scale_address)
    );
    kiln_scale_address #(
        .WORD_BYTES(SCALES * SCALE_BYTES)
    ) target_scale (
        .clock,
        .command_scales(command_scales.target),
        .windowed(1'b0),
        .fresh,
        .step,
        .kind,
        .level,
        .keep_tile,
        .keep_row,
        .keep_block,
        .together,
        .keep_column,
        .same_scale,
        .address(target_scale_address)
    );
    logic signed [31:0] unused_y, unused_x;
    kiln_window_origin window_scale (
        .clock,
        .command_window(window_scales),
        .fresh,
        .step,
        .kind,
        .level,
        .y(unused_y),
        .x(unused_x),
        .row_offset(window_scale_row_offset),
        .column_offset(window_scale_column_offset)
    );
  end else begin : g_no_scales
    assign operand0_scale_address     = '0;
    assign operand1_scale_address     = '0;
    assign operand2_scale_address     = '0;
    assign target_scale_address       = '0;
    assign window_scale_row_offset    = '0;
    assign window_scale_column_offset = '0;
    wire unused_scales = &{1'b0, window_scales, command_scales, same_scale};
  end
endmodule
