// The vector unit of the systolic machine: drains blocks of accumulators and runs vector
// instructions, word by word (isa.h, "Vector programs"; docs/systolic.md, "Time").
//
//   command ─▶ sequencer ─▶ operand fetch ─▶ issue ─▶ source ─▶ stages ─▶ quantiser ─▶ writer
//                               │                       ▲          │
//                               └▶ port ─▶ operand buffer          ▼
//                                          row buffer (back to source), reduction (back to stages)
//
//   command                      Stays until the unit has finished with it: command_ready is high
//                                in the last cycle of its busy time. The unit starts in the cycle
//                                after the one in which the command is available, if it waits for
//                                nothing.
//                                stage_write comes before the command of its slot.
//   array_done, depthwise_done   Pulses: one more block can be drained, from the next cycle on.
//   parameters_ready             Pulse: one more set of channel parameters can be used, from the
//                                next cycle on.
//   accumulation_released        Pulse in the last cycle of a drain's busy time.
//   parameters_released          Likewise, after the last block that uses a set.
//   vector_done                  Counts the instructions whose words have all been issued. From the
//                                next cycle on, modulo 2^16.
//   finished                     Counts the instructions whose last byte is in memory and whose
//                                last word has left the lanes. From the next cycle on, modulo 2^16.
//   accumulation, parameters     Addresses in cycle t; data from t + 1 on until the next read.
//   operands                     Requests to a kiln_axi_read_port (L = MEMORY_LATENCY with an ideal
//                                memory), and the words that it returns. Words of operands without
//                                block scales are always taken; with block scales, a word waits for
//                                its scales and a scale for its word.
//   writes                       Requests to a kiln_axi_write_port, which returns request_tag with
//                                done.
//   time                         A word that is issued in cycle X offers its first write in X +
//                                loops.depth, where depth is (stages of the longest pass + 2) *
//                                VECTOR_STAGE_LATENCY, VECTOR_FUNCTION_LATENCY for each of these
//                                stages with functions or a divider, and twice
//                                VECTOR_CONVERT_LATENCY. If the output has block scales
//                                (BLOCK_SIZE > 0), X is the issue of the scale block's last word, the
//                                first word of the scale block is the one that is offered, and depth
//                                is greater by VECTOR_STAGE_LATENCY * (ceil(log2(lanes that share a
//                                scale)) + 1) (kiln_vector_blocks, docs/systolic.md).
//
// If a program has more stages than the next one, or a longer way to memory, the next one starts
// later by the difference, so that words leave in order. If the writer cannot take words, all lanes
// stall: a queue of OUTPUT_WORDS words takes what leaves the lanes until they do, two cycles later,
// so that `advance` can be a register, with a copy for each large part of the unit.
module kiln_vector_unit #(
    parameter int unsigned ARRAY_COLUMNS = 4,  // lanes
    parameter int unsigned VECTOR_STAGES = 12,
    parameter int unsigned VECTOR_STAGE_LATENCY = 4,  // cycles
    // Further cycles: of a stage with functions or a divider; before the source stage to convert
    // elements and accumulators, and as many behind the lanes to convert numbers.
    parameter int unsigned VECTOR_FUNCTION_LATENCY = 0,
    parameter int unsigned VECTOR_CONVERT_LATENCY = 0,
    parameter int unsigned VECTOR_ROW_BUFFER_WORDS = 1024,
    parameter int unsigned VECTOR_ROWS_IN_FLIGHT = 8,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 1024,  // words of a bank
    parameter int unsigned ACCUMULATION_BUFFER_BANKS = 2,
    parameter int unsigned OPERAND_PORT_BYTES = 16,
    parameter int unsigned OUTPUT_PORT_BYTES = 16,
    // Words between operand fetch and lanes: how far requests run ahead.
    parameter int unsigned OPERAND_BUFFER_WORDS = 32,
    // Programs that the stage memories hold (kiln_systolic_pkg::vector_command_t); at least 2.
    parameter int unsigned SLOTS = 7,
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    // this and the next two: see kiln_operand_decoder, kiln_quantiser
    parameter int unsigned PRECISIONS = 1,
    parameter bit INTEGER_ELEMENTS = 1'b1,  // integers can be read and written
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    // All results are rounded to this format: a signed float that fp32 can represent, rounded to
    // nearest even. Its numbers travel as the upper bits of fp32 numbers.
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    // The spline tables of VECTOR_FORMAT.
    parameter kiln_spline_pkg::tables_t VECTOR_SPLINES = kiln_spline_tables_pkg::FP32,
    parameter int unsigned BLOCK_SIZE = 0,  // elements that share a scale; 0: no block scales
    parameter kiln_format_pkg::format_t SCALE_FORMAT = kiln_named_formats_pkg::E8M0,
    // Bit i: stage i has functions and reciprocals, or a divider; the lanes and the scalar stages
    // alike. (The default is not '1, of which Yosys keeps the lowest bit.)
    parameter logic [VECTOR_STAGES-1:0] VECTOR_FUNCTION_STAGES = {VECTOR_STAGES{1'b1}},
    parameter logic [VECTOR_STAGES-1:0] VECTOR_DIVIDE_STAGES = {VECTOR_STAGES{1'b1}},
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,
    localparam int unsigned INDEX_BITS = kiln_systolic_pkg::INDEX_BITS,
    localparam int unsigned COUNT_BITS = kiln_systolic_pkg::COUNT_BITS,
    localparam int unsigned WORD = ARRAY_COLUMNS * 32,  // bits of a word of elements or parameters
    localparam int unsigned BYTES_BITS = $clog2(ARRAY_COLUMNS * 4 + 1),
    localparam int unsigned ACCUMULATION_BITS = kiln_format_pkg::bits(ACCUMULATION_FORMAT),
    localparam int unsigned ACCUMULATION_ADDRESS_BITS =
        ACCUMULATION_BUFFER_WORDS > 1 ? $clog2(ACCUMULATION_BUFFER_WORDS) : 1,
    localparam int SCALE_BITS = kiln_format_pkg::bits(SCALE_FORMAT),
    localparam int unsigned SCALE_BYTES = 1 << kiln_vector_pkg::code_shift(SCALE_BITS)
) (
    input  logic clock,
    input  logic reset,
    input  logic command_valid,
    output logic command_ready,
    input  kiln_systolic_pkg::vector_command_t command,
    input  logic stage_write_valid,
    input  kiln_systolic_pkg::stage_write_t stage_write,
    // Tokens
    input  logic array_done,
    input  logic depthwise_done,
    output logic accumulation_released,
    input  logic parameters_ready,
    output logic parameters_released,
    output logic [INDEX_BITS-1:0] vector_done,
    output logic [INDEX_BITS-1:0] finished,
    // Accumulators and channel parameters
    output logic accumulation_enable,
    output logic accumulation_bank,
    output logic [ACCUMULATION_ADDRESS_BITS-1:0] accumulation_address,
    input  logic [ARRAY_COLUMNS*ACCUMULATION_BITS-1:0] accumulation_data,
    output logic parameter_enable,
    output logic [COUNT_BITS-1:0] parameter_column,  // number of the column tile in the block
    input  logic [WORD-1:0] parameter_offsets,
    input  logic [WORD-1:0] parameter_scales,
    input  logic [WORD-1:0] parameter_biases,
    // Operand port
    output logic operand_request_valid,
    input  logic operand_request_ready,
    output logic [ADDRESS_BITS-1:0] operand_request_address,
    output logic [BYTES_BITS-1:0] operand_request_bytes,
    output kiln_vector_pkg::operand_tag_t operand_request_tag,
    input  logic operand_word_valid,
    output logic operand_word_ready,
    input  logic [WORD-1:0] operand_word_data,
    input  kiln_vector_pkg::operand_tag_t operand_word_tag,
    // Output port
    output logic write_request_valid,
    input  logic write_request_ready,
    output logic [ADDRESS_BITS-1:0] write_request_address,
    output logic [BYTES_BITS-1:0] write_request_bytes,
    output logic [WORD-1:0] write_request_data,
    output logic write_request_tag,
    input  logic write_done,
    input  logic write_done_tag,
    // Block scales: the command's sections, and ports like those of operands and output; a request
    // is for SCALE_BYTES bytes.
    input  kiln_systolic_pkg::vector_scales_t command_scales,
    output logic scale_request_valid,
    input  logic scale_request_ready,
    output logic [ADDRESS_BITS-1:0] scale_request_address,
    output kiln_vector_pkg::scale_tag_t scale_request_tag,
    input  logic scale_word_valid,
    output logic scale_word_ready,
    input  logic [SCALE_BYTES*8-1:0] scale_word_data,
    input  kiln_vector_pkg::scale_tag_t scale_word_tag,
    output logic scale_write_valid,
    input  logic scale_write_ready,
    output logic [ADDRESS_BITS-1:0] scale_write_address,
    output logic [SCALE_BYTES*8-1:0] scale_write_data,
    output logic scale_write_tag,
    input  logic scale_write_done,
    input  logic scale_write_done_tag,
    // For the performance counters. Causes of stalls: an earlier instruction, accumulators, channel
    // parameters.
    output kiln_control_pkg::activity_t activity
);
  localparam int unsigned LANES = ARRAY_COLUMNS;
  localparam int unsigned ACTIVITY_BITS = kiln_control_pkg::BYTES_BITS;
  localparam int unsigned LATENCY = VECTOR_STAGE_LATENCY;
  localparam int unsigned CONVERT = VECTOR_CONVERT_LATENCY;
  // Entries of the operand buffer: a word's operands are read up to CONVERT + LATENCY cycles after
  // it has entered the lanes.
  localparam int unsigned ENTRIES = OPERAND_BUFFER_WORDS + CONVERT + LATENCY;
  localparam int unsigned OPERANDS = kiln_systolic_pkg::MAX_OPERANDS;
  localparam int unsigned SAVED = kiln_vector_pkg::SAVED;
  localparam int unsigned COUNT_LANE_BITS = $clog2(LANES + 1);
  localparam logic [1:0] INPUT_SHIFT =
      kiln_vector_pkg::code_shift(kiln_format_pkg::bits(INPUT_FORMAT));
  localparam logic [1:0] WEIGHT_SHIFT =
      kiln_vector_pkg::code_shift(kiln_format_pkg::bits(WEIGHT_FORMAT));
  localparam logic [1:0] VECTOR_SHIFT =
      kiln_vector_pkg::code_shift(kiln_format_pkg::bits(VECTOR_FORMAT));
  // Numbers of the vector format are the upper bits of fp32 numbers.
  localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT);
  localparam int unsigned NUMBERS = LANES * NUMBER;
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);
  localparam int unsigned ROWS = VECTOR_ROWS_IN_FLIGHT;
  localparam int unsigned ROW_ADDRESS_BITS =
      VECTOR_ROW_BUFFER_WORDS > 1 ? $clog2(VECTOR_ROW_BUFFER_WORDS) : 1;
  localparam int unsigned SLOT_INDEX_BITS = SLOTS > 1 ? $clog2(SLOTS) : 1;
  localparam bit BLOCKS = BLOCK_SIZE > 0;
  localparam int unsigned SCALES = kiln_vector_pkg::scales_of_word(BLOCK_SIZE, LANES);
  localparam int unsigned INVERSE =
      kiln_vector_pkg::inverse_bits(VECTOR_FORMAT, BLOCK_SIZE, SCALE_FORMAT);

  if (kiln_vector_pkg::SLOT_BITS != kiln_systolic_pkg::SLOT_BITS ||
      kiln_vector_pkg::ADDRESS_BITS != ADDRESS_BITS) begin : g_check
    $error("kiln_vector_pkg and kiln_systolic_pkg differ");
  end

  logic instruction_end;
  assign command_ready = instruction_end;

  logic drain;
  logic [3:0] longest;  // stages of the longest pass; unused passes have 0
  assign drain = command.header.opcode != kiln_systolic_pkg::OPCODE_VECTOR;
  always_comb begin
    longest = command.pass0.stages;
    if (command.pass1.stages > longest) longest = command.pass1.stages;
    if (command.pass2.stages > longest) longest = command.pass2.stages;
    if (command.pass3.stages > longest) longest = command.pass3.stages;
  end

  // ---- The lanes advance while the output queue has room for what may still arrive.
  localparam int unsigned OUTPUT_WORDS = 4;
  localparam int unsigned STALLED_PARTS = VECTOR_STAGES + 3;  // and all others: advance
  localparam int unsigned SOURCE_PART = VECTOR_STAGES;
  localparam int unsigned REDUCTION_PART = VECTOR_STAGES + 1;
  localparam int unsigned QUANTISER_PART = VECTOR_STAGES + 2;
  logic [$clog2(OUTPUT_WORDS+1)-1:0] queued;
  logic advance, advance_soon;
  logic [STALLED_PARTS-1:0] advances;
  always_ff @(posedge clock) begin
    advance_soon <= reset || 32'(queued) + 3 <= OUTPUT_WORDS;
    advance      <= reset || advance_soon;
  end
  for (genvar i = 0; i < STALLED_PARTS; i++) begin : g_advance
    kiln_copy_register copy (
        .clock,
        .reset,
        .in (advance_soon),
        .out(advances[i])
    );
  end

  // ---- Blocks. A vector instruction is one block.
  logic [INDEX_BITS-1:0] array_blocks, depthwise_blocks, parameter_sets;  // tokens
  logic busy, block_running, block_start, block_end, listed, working, completion_room,
      takes_parameters;
  logic block_accumulators, block_parameters, block_order, block_earlier, listed_earlier, awaits;
  logic [INDEX_BITS-1:0] awaited, past_awaited;
  // The next block's words would leave the unit, or the lanes, before those in them.
  logic leaves_early, leaves_lanes_early;
  logic listed_takes_parameters, listed_releases_parameters;

  assign block_earlier      = !drain && command.header.wait_distance != '0 &&
      INDEX_BITS'(command.number - finished) >= INDEX_BITS'(command.header.wait_distance);
  // The same of a listed word, with what depends on the command alone in registers: a block waits
  // until `awaited` instructions are finished. Compared modulo 2^16: no count is ever ahead of the
  // other by half of that.
  always_ff @(posedge clock) begin
    awaits  <= !drain && command.header.wait_distance != '0;
    awaited <= command.number - INDEX_BITS'(command.header.wait_distance) + 1'b1;
  end
  assign past_awaited       = finished - awaited;
  assign listed_earlier     = awaits && past_awaited[INDEX_BITS-1];
  assign block_accumulators = drain &&
      (command.header.opcode == kiln_systolic_pkg::OPCODE_MATRIX ? array_blocks == '0 :
      depthwise_blocks == '0);
  // An instruction's first block takes parameters.
  assign takes_parameters   = drain && (!there || listed_takes_parameters);
  assign block_parameters   = takes_parameters && parameter_sets == '0;
  assign block_order        = leaves_early || leaves_lanes_early || !completion_room;
  // Its answer is one cycle old, and so is the command when a word is listed.
  kiln_block_order order_of_blocks (
      .clock,
      .reset,
      .advance,
      .block_end,
      .depth(command.loops.depth),
      .waits(leaves_early)
  );
  assign block_start = there && !block_running && !listed_earlier && !block_accumulators &&
      !block_parameters && !block_order;
  assign working            = (block_running || block_start) && !listed;
  assign busy               = block_running || block_start;
  assign activity.busy       = busy;
  assign activity.stalled[0] = command_valid && !busy && block_earlier;
  assign activity.stalled[1] = command_valid && !busy && block_accumulators;
  assign activity.stalled[2] = command_valid && !busy && !block_accumulators && block_parameters;
  always_comb begin
    activity.bytes_read    = '0;
    activity.bytes_written = '0;
    if (operand_request_valid && operand_request_ready)
      activity.bytes_read = ACTIVITY_BITS'(operand_request_bytes);
    if (write_request_valid && write_request_ready)
      activity.bytes_written = ACTIVITY_BITS'(write_request_bytes);
  end

  // ---- The words of the instruction. A word is listed in the cycle before its slot may begin.
  logic there;  // a word is listed
  logic list, all_listed;
  logic [2:0] listed_reads;
  logic listed_to_memory;
  logic [15:0] listed_gap;
  logic slot_begin, slot_end, listed_last_of_instruction, nothing, nothing_last;
  logic [kiln_vector_pkg::PLACE_BITS-1:0] nothing_place;
  logic [31:0] slot_cycles;
  logic [15:0] slot_beats;
  logic [ADDRESS_BITS-1:0] operand0_address, operand1_address, operand2_address;
  logic signed [31:0] window_y, window_x;
  logic [23:0] window_tap_y, window_tap_x;
  logic room;
  logic [kiln_vector_pkg::PLACE_BITS-1:0] slot_place;
  kiln_vector_pkg::word_t listed_word;
  logic [ADDRESS_BITS-1:0] operand0_scale_address, operand1_scale_address, operand2_scale_address,
      target_scale_address;
  logic listed_last_of_scale;

  // What the sequencer says of the word to list next.
  logic [2:0] next_reads;
  logic next_to_memory, next_last_of_instruction, next_last_of_scale, next_takes_parameters,
      next_releases_parameters;
  logic [15:0] next_gap;
  logic [COUNT_LANE_BITS-1:0] next_lanes;
  logic [ACCUMULATION_ADDRESS_BITS-1:0] next_accumulator;
  logic [ROW_ADDRESS_BITS-1:0] next_row_place;
  kiln_vector_pkg::word_t next_word;
  assign next_word.lanes       = kiln_vector_pkg::LANE_BITS'(next_lanes);
  assign next_word.accumulator = 24'(next_accumulator);
  assign next_word.row_place   = 24'(next_row_place);
  logic [ADDRESS_BITS-1:0] next_operand0, next_operand1, next_operand2, next_row_offset,
      next_column_offset, next_operand0_scale, next_operand1_scale, next_operand2_scale,
      next_target_scale, next_scale_row_offset, next_scale_column_offset;
  logic signed [31:0] next_window_y, next_window_x, begin_y, begin_x;
  logic [23:0] begin_tap_y, begin_tap_x;
  logic skips_rows, skips_columns, begins_below, begins_right;

  kiln_vector_sequencer #(
      .LANES(LANES),
      .ACCUMULATION_ADDRESS_BITS(ACCUMULATION_ADDRESS_BITS),
      .ROW_ADDRESS_BITS(ROW_ADDRESS_BITS),
      .BLOCK_SIZE(BLOCK_SIZE),
      .SCALE_BYTES(SCALE_BYTES)
  ) sequencer (
      .clock,
      .reset,
      .command,
      .command_scales,
      .step(list),
      .word_pass(next_word.pass),
      .word_reads(next_reads),
      .word_to_memory(next_to_memory),
      .word_gap(next_gap),
      .word_row(next_word.row),
      .word_lanes(next_lanes),
      .word_first_of_row(next_word.first_of_row),
      .word_last_of_row(next_word.last_of_row),
      .word_last_of_block(next_word.last_of_block),
      .word_last_of_instruction(next_last_of_instruction),
      .word_row_place(next_row_place),
      .word_accumulator(next_accumulator),
      .word_column(next_word.column),
      .operand0_address(next_operand0),
      .operand1_address(next_operand1),
      .operand2_address(next_operand2),
      .target_address(next_word.target),
      .window_y(next_window_y),
      .window_x(next_window_x),
      .window_row_offset(next_row_offset),
      .window_column_offset(next_column_offset),
      .operand0_scale_address(next_operand0_scale),
      .operand1_scale_address(next_operand1_scale),
      .operand2_scale_address(next_operand2_scale),
      .target_scale_address(next_target_scale),
      .window_scale_row_offset(next_scale_row_offset),
      .window_scale_column_offset(next_scale_column_offset),
      .word_last_of_scale(next_last_of_scale),
      .block_takes_parameters(next_takes_parameters),
      .block_releases_parameters(next_releases_parameters)
  );
  kiln_window_begin begin_window (
      .command_window(command.window),
      .window_y(next_window_y),
      .window_x(next_window_x),
      .y(begin_y),
      .x(begin_x),
      .tap_y(begin_tap_y),
      .tap_x(begin_tap_x),
      .skips_rows,
      .skips_columns
  );
  assign begins_below = command.header.window && !skips_rows;
  assign begins_right = command.header.window && !skips_columns;

  // The next word is listed when the slot of the one before ends, but none of the next instruction.
  assign list = command_valid && !all_listed && (!there || slot_end);
  always_ff @(posedge clock) begin
    if (reset) begin
      there      <= 1'b0;
      all_listed <= 1'b0;
    end else begin
      there      <= list || (there && !slot_end);
      all_listed <= (all_listed || (list && next_last_of_instruction)) && !instruction_end;
    end
    if (list) begin
      listed_word                <= next_word;
      listed_reads               <= next_reads;
      listed_to_memory           <= next_to_memory;
      listed_gap                 <= next_gap;
      listed_last_of_instruction <= next_last_of_instruction;
      listed_last_of_scale       <= next_last_of_scale;
      listed_takes_parameters    <= next_takes_parameters;
      listed_releases_parameters <= next_releases_parameters;
      operand0_address           <= next_operand0 + (begins_below ? next_row_offset : '0) +
          (begins_right ? next_column_offset : '0);
      operand1_address           <= next_operand1;
      operand2_address           <= next_operand2;
      window_y                   <= begin_y;
      window_x                   <= begin_x;
      window_tap_y               <= begin_tap_y;
      window_tap_x               <= begin_tap_x;
      // The zeros are written here because synthesis does not see those of the sequencer.
      operand0_scale_address     <= !BLOCKS ? '0 : next_operand0_scale +
          (begins_below ? next_scale_row_offset : '0) +
          (begins_right ? next_scale_column_offset : '0);
      operand1_scale_address     <= BLOCKS ? next_operand1_scale : '0;
      operand2_scale_address     <= BLOCKS ? next_operand2_scale : '0;
      target_scale_address       <= BLOCKS ? next_target_scale : '0;
    end
  end

  kiln_operand_fetch #(
      .LANES(LANES),
      .OPERAND_PORT_BYTES(OPERAND_PORT_BYTES),
      .OUTPUT_PORT_BYTES(OUTPUT_PORT_BYTES),
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .BLOCK_SIZE(BLOCK_SIZE),
      .SCALE_BYTES(SCALE_BYTES)
  ) fetch (
      .clock,
      .reset,
      .command,
      .command_scales,
      .working,
      .room,
      .place(slot_place),
      .reads(listed_reads),
      .to_memory(listed_to_memory),
      .gap(listed_gap),
      .lanes(listed_word.lanes[COUNT_LANE_BITS-1:0]),
      .operand0_address,
      .operand1_address,
      .operand2_address,
      .target_address(listed_word.target),
      .window_y,
      .window_x,
      .window_tap_y,
      .window_tap_x,
      .operand0_scale_address,
      .operand1_scale_address,
      .operand2_scale_address,
      .slot_begin,
      .slot_end,
      .slot_cycles,
      .slot_beats,
      .nothing,
      .nothing_last,
      .nothing_place,
      .request_valid(operand_request_valid),
      .request_ready(operand_request_ready),
      .request_address(operand_request_address),
      .request_bytes(operand_request_bytes),
      .request_tag(operand_request_tag),
      .scale_request_valid,
      .scale_request_ready,
      .scale_request_address,
      .scale_request_tag
  );

  // ---- Into the lanes.
  logic complete, issue, word_end;
  logic [kiln_vector_pkg::PLACE_BITS-1:0] complete_place, issue_place;
  kiln_vector_pkg::word_t issued;
  kiln_vector_pkg::mark_t listed_mark, issued_mark;
  kiln_vector_issue #(
      .WORDS(OPERAND_BUFFER_WORDS),
      .ENTRIES(ENTRIES),
      .BLOCKS(BLOCKS)
  ) issuer (
      .clock,
      .reset,
      .advance,
      .room,
      .slot_place,
      .slot_begin,
      .slot_word(listed_word),
      .slot_mark(listed_mark),
      .slot_reads(listed_reads != '0),
      .slot_end,
      .slot_cycles,
      .slot_beats,
      .complete,
      .complete_place,
      .nothing(nothing && nothing_last),
      .nothing_place,
      .issue,
      .issue_word(issued),
      .issue_mark(issued_mark),
      .issue_place,
      .word_end,
      .block_end
  );
  wire unused_issue = &{1'b0, word_end, issued, issued_mark};
  // The word's part in the gathering of scale blocks.
  assign listed_mark.gathered     = listed_to_memory && command.header.output_blocks;
  assign listed_mark.last         = listed_last_of_scale;
  assign listed_mark.scale_target = target_scale_address;

  kiln_systolic_pkg::pass_t pass;  // of the issued word
  always_comb begin
    pass = command.pass0;
    if (issued.pass == 2'd1) pass = command.pass1;
    if (issued.pass == 2'd2) pass = command.pass2;
    if (issued.pass == 2'd3) pass = command.pass3;
  end

  wire unused_pass = &{1'b0, pass};  // the gap and reserved bits

  // ---- The fp32 constants of an instruction as numbers of the vector format, computed once for
  // all lanes.
  kiln_systolic_pkg::stage_write_t rounded_write;
  logic [31:0] window_factor, constant, least;
  wire unused_numbers = &{1'b0, window_factor, constant, least};  // low bits, which are 0
  always_comb begin
    rounded_write = stage_write;
    window_factor = command.window.factor;
    constant      = pass.value;
    least         = kiln_vector_pkg::FP32_MINUS_INFINITY;
    if (NARROW) begin
      rounded_write.value.immediate_a =
          kiln_fp32_pkg::round_to(stage_write.value.immediate_a, ROUNDING);
      rounded_write.value.immediate_b =
          kiln_fp32_pkg::round_to(stage_write.value.immediate_b, ROUNDING);
      window_factor = kiln_fp32_pkg::round_to(command.window.factor, ROUNDING);
      constant = kiln_fp32_pkg::round_to(pass.value, ROUNDING);
      least = kiln_fp32_pkg::round_to(kiln_vector_pkg::FP32_MINUS_INFINITY, ROUNDING);
    end
  end

  // Stages are written one cycle late, which is before the first word of their instruction is
  // listed.
  logic rounded_write_valid;
  kiln_systolic_pkg::stage_write_t late_write;
  always_ff @(posedge clock) begin
    rounded_write_valid <= stage_write_valid && !reset;
    late_write          <= rounded_write;
  end

  // ---- Ends of blocks and instructions. The sequencer is already at the next block when the last
  // word of a block has had its time.
  logic last_block, last_block_now, releases, releases_now;
  assign last_block_now =
      slot_end && listed_word.last_of_block ? listed_last_of_instruction : last_block;
  assign releases_now   =
      slot_end && listed_word.last_of_block ? listed_releases_parameters : releases;
  assign instruction_end       = block_end && last_block_now;
  assign accumulation_released = block_end && drain;
  assign parameters_released   = block_end && drain && releases_now;

  logic bank;
  logic [INDEX_BITS-1:0] next_done;
  assign accumulation_bank = ACCUMULATION_BUFFER_BANKS == 1 ? 1'b0 : bank;
  always_ff @(posedge clock) begin
    // Known in advance: the next instruction ends two cycles later at the earliest.
    next_done  <= vector_done + 1'b1;
    last_block <= last_block_now;
    releases   <= releases_now;
    if (reset) begin
      block_running    <= 1'b0;
      listed           <= 1'b0;
      bank             <= 1'b0;
      array_blocks     <= '0;
      depthwise_blocks <= '0;
      parameter_sets   <= '0;
      vector_done      <= '0;
    end else begin
      block_running <= busy && !block_end;
      listed        <= (listed || (slot_end && listed_word.last_of_block)) && !block_end;
      if (accumulation_released) bank <= !bank;
      array_blocks <= array_blocks + INDEX_BITS'(array_done) -
          INDEX_BITS'(block_start && command.header.opcode == kiln_systolic_pkg::OPCODE_MATRIX);
      depthwise_blocks <= depthwise_blocks + INDEX_BITS'(depthwise_done) -
          INDEX_BITS'(block_start && command.header.opcode == kiln_systolic_pkg::OPCODE_DEPTHWISE);
      parameter_sets <= parameter_sets + INDEX_BITS'(parameters_ready) -
          INDEX_BITS'(block_start && takes_parameters);
      if (instruction_end) vector_done <= next_done;
    end
  end

  // ---- The output streams of instructions, for words that are still in the lanes when the next
  // instruction has started: in a memory, which is read when a word is about to leave, and the
  // distances of elements in registers, which the writer reads.
  logic [ADDRESS_BITS-1:0] element_strides[SLOTS];
  always_ff @(posedge clock) begin
    if (block_start)
      element_strides[SLOT_INDEX_BITS'(command.slot)] <= command.target.element_stride;
  end

  // ---- One cycle after the issue: accumulators and parameters are there.
  logic raw_valid, raw_averages, raw_kept, raw_window, raw_sums, raw_divides;
  kiln_vector_pkg::word_tag_t raw_tag;
  logic [1:0] raw_source;
  logic [NUMBER-1:0] raw_constant, raw_window_factor;
  logic [LANES*ACCUMULATION_BITS-1:0] kept_accumulators;
  // The same CONVERT cycles later, when the accumulators have been converted, with operand 0 and
  // the row buffer's word. The other operands come LATENCY cycles after that.
  logic [NUMBERS-1:0] row_word;
  logic [OPERANDS*NUMBERS-1:0] operands;
  logic [NUMBER-1:0] operand_factor;
  logic operand_empty;
  logic late_window, late_sums, late_divides;
  kiln_vector_pkg::word_tag_t late_tag;
  logic [NUMBER-1:0] late_constant, late_window_factor;

  assign accumulation_enable  = issue && drain;
  assign accumulation_address = ACCUMULATION_ADDRESS_BITS'(issued.accumulator);
  assign parameter_enable     = issue && drain;
  assign parameter_column     = issued.column;

  always_ff @(posedge clock) begin
    if (reset) raw_valid <= 1'b0;
    else if (advance) raw_valid <= issue;
    // The bank may be released, and read by the array, before stalled lanes take its last word.
    raw_kept <= raw_valid && !advance;
    if (raw_valid && !advance && !raw_kept) kept_accumulators <= accumulation_data;
    if (issue) begin
      raw_tag.slot      <= command.slot;
      raw_tag.pass      <= issued.pass;
      raw_tag.into      <= pass.into;
      raw_tag.stages    <= pass.stages;
      raw_tag.exit      <= longest;
      raw_tag.row       <= issued.row;
      raw_tag.operands  <= pass.reads;
      raw_tag.saved     <= '0;
      raw_source        <= pass.source;
      raw_constant      <= constant[31-:NUMBER];
      raw_averages      <= command.header.window && command.window.average && issued.pass == '0;
      raw_window        <= command.header.window;
      raw_sums          <= command.window.combine == kiln_systolic_pkg::COMBINE_SUM;
      raw_divides       <= command.window.divide_by_valid;
      raw_window_factor <= window_factor[31-:NUMBER];
    end
  end

  localparam int unsigned LATE = kiln_vector_pkg::WORD_TAG_BITS + 3 + 2 * NUMBER;
  logic [LATE-1:0] raw_word, late_word;
  logic unused_late_valid;
  assign raw_word = {raw_tag, raw_constant, raw_window, raw_sums, raw_divides, raw_window_factor};
  kiln_vector_delay #(
      .WIDTH (LATE),
      .CYCLES(CONVERT)
  ) converting (
      .clock,
      .reset,
      .advance,
      .in_valid(raw_valid),
      .in_data(raw_word),
      .out_valid(unused_late_valid),
      .out_data(late_word)
  );
  assign {late_tag, late_constant, late_window, late_sums, late_divides, late_window_factor} =
      late_word;

  // What the source needs, operand 0 and the row buffer's word, is read one cycle before, and the
  // other operands one cycle before the first stage.
  logic reads, reads_row, late_reads;
  logic [kiln_vector_pkg::PLACE_BITS-1:0] read_place, late_place;
  logic [ROW_ADDRESS_BITS-1:0] issued_row_place, row_place;
  assign issued_row_place = ROW_ADDRESS_BITS'(issued.row_place);
  kiln_vector_delay #(
      .WIDTH (kiln_vector_pkg::PLACE_BITS + 1 + ROW_ADDRESS_BITS),
      .CYCLES(CONVERT)
  ) place (
      .clock,
      .reset,
      .advance,
      .in_valid(issue),
      .in_data({
        issue_place, pass.source == kiln_systolic_pkg::SOURCE_ROW_BUFFER, issued_row_place
      }),
      .out_valid(reads),
      .out_data({read_place, reads_row, row_place})
  );
  kiln_vector_delay #(
      .WIDTH (kiln_vector_pkg::PLACE_BITS),
      .CYCLES(LATENCY)
  ) later_place (
      .clock,
      .reset,
      .advance,
      .in_valid(reads),
      .in_data(read_place),
      .out_valid(late_reads),
      .out_data(late_place)
  );

  kiln_operand_buffer #(
      .LANES(LANES),
      .WORDS(ENTRIES),
      .CONVERT(CONVERT),
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PRECISIONS(PRECISIONS),
      .INTEGER_ELEMENTS(INTEGER_ELEMENTS),
      .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
      .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .BLOCK_SIZE(BLOCK_SIZE),
      .SCALE_FORMAT(SCALE_FORMAT)
  ) buffer (
      .clock,
      .reset,
      .command,
      .scale_valid(scale_word_valid),
      .scale_ready(scale_word_ready),
      .scale_code(scale_word_data[SCALE_BITS-1:0]),
      .scale_tag(scale_word_tag),
      .in_ready(operand_word_ready),
      .in_valid(operand_word_valid),
      .in_data(operand_word_data),
      .in_tag(operand_word_tag),
      .nothing,
      .nothing_place,
      .complete,
      .complete_place,
      .read(reads && advance),
      .read_place,
      .late_read(late_reads && advance),
      .late_place,
      .read_operands(operands),
      .read_factor(operand_factor),
      .read_empty(operand_empty)
  );

  // A window without a position in the image yields the initial value of its sum or maximum.
  logic source_empty;
  logic [NUMBER-1:0] source_factor, neutral, one;
  logic [NUMBERS-1:0] source_operand;
  assign source_empty  = late_window && operand_empty;
  assign one           = NUMBER'(kiln_vector_pkg::FP32_ONE >> (32 - NUMBER));
  assign neutral       = late_sums ? '0 : least[31-:NUMBER];
  assign source_factor = !source_empty ? operand_factor : late_divides ? one : late_window_factor;
  assign source_operand = source_empty ? {LANES{neutral}} : operands[0+:NUMBERS];

  // ---- The lanes: source and stages. Link i is the output of i stages.
  logic [ROWS*kiln_vector_pkg::SCALARS*NUMBER-1:0] scalars;
  localparam int unsigned TAG = kiln_vector_pkg::WORD_TAG_BITS;
  logic [VECTOR_STAGES:0] link_valids, exits, leaves;
  logic [(VECTOR_STAGES+1)*TAG-1:0] link_tags;
  localparam int unsigned PROGRAM = kiln_vector_pkg::PROGRAM_BITS;
  logic [VECTOR_STAGES:0] next_valids;  // as in kiln_vector_registers
  logic [(VECTOR_STAGES+1)*PROGRAM-1:0] next_programs;
  logic [(VECTOR_STAGES+1)*NUMBERS-1:0] link_values;
  logic [(VECTOR_STAGES+1)*SAVED*NUMBERS-1:0] link_saved;
  logic [(VECTOR_STAGES+1)*OPERANDS*NUMBERS-1:0] link_operands;
  kiln_vector_source #(
      .LANES(LANES),
      .CONVERT(CONVERT),
      .LATENCY(LATENCY),
      .ACCUMULATION_FORMAT(ACCUMULATION_FORMAT),
      .VECTOR_FORMAT(VECTOR_FORMAT)
  ) begin_word (
      .clock,
      .reset,
      .advance(advances[SOURCE_PART]),
      .in_valid(raw_valid),
      .accumulators(raw_kept ? kept_accumulators : accumulation_data),
      .offsets(parameter_offsets),
      .scales(parameter_scales),
      .biases(parameter_biases),
      .row_word,
      .in_tag(late_tag),
      .source(raw_source),
      .in_operand(source_operand),
      .averages(raw_averages),
      .factor(source_factor),
      .constant(late_constant),
      .next_valid(next_valids[0]),
      .next_program(next_programs[0+:PROGRAM]),
      .out_valid(link_valids[0]),
      .out_tag(link_tags[0+:TAG]),
      .out_value(link_values[0+:NUMBERS]),
      .out_operand(link_operands[0+:NUMBERS])
  );
  assign link_saved[0+:SAVED*NUMBERS] = '0;
  assign link_operands[NUMBERS+:(OPERANDS-1)*NUMBERS] = operands[OPERANDS*NUMBERS-1:NUMBERS];
  for (genvar i = 1; i <= VECTOR_STAGES; i++) begin : g_stage
    kiln_vector_stage #(
        .LANES(LANES),
        .LATENCY(LATENCY),
        .EXTRA(VECTOR_FUNCTION_STAGES[i-1] || VECTOR_DIVIDE_STAGES[i-1] ?
            VECTOR_FUNCTION_LATENCY : 0),
        .SLOTS(SLOTS),
        .ROWS(ROWS),
        .HAS_FUNCTIONS(VECTOR_FUNCTION_STAGES[i-1]),
        .HAS_DIVIDER(VECTOR_DIVIDE_STAGES[i-1]),
        .CARRIES_SAVED(i < VECTOR_STAGES),
        .CARRIES_OPERANDS(i < VECTOR_STAGES ? 3'b111 : 3'b000),
        .VECTOR_FORMAT(VECTOR_FORMAT),
        .SPLINES(VECTOR_SPLINES)
    ) compute (
        .clock,
        .reset,
        .place(4'(i - 1)),
        .stage_write_valid(rounded_write_valid),
        .stage_write(late_write),
        .advance(advances[i-1]),
        .scalars,
        .in_next_valid(next_valids[i-1]),
        .in_next_program(next_programs[(i-1)*PROGRAM+:PROGRAM]),
        .in_valid(link_valids[i-1] && !exits[i-1]),
        .in_tag(link_tags[(i-1)*TAG+:TAG]),
        .in_value(link_values[(i-1)*NUMBERS+:NUMBERS]),
        .in_saved(link_saved[(i-1)*SAVED*NUMBERS+:SAVED*NUMBERS]),
        .in_operands(link_operands[(i-1)*OPERANDS*NUMBERS+:OPERANDS*NUMBERS]),
        .out_next_valid(next_valids[i]),
        .out_next_program(next_programs[i*PROGRAM+:PROGRAM]),
        .out_valid(link_valids[i]),
        .out_tag(link_tags[i*TAG+:TAG]),
        .out_value(link_values[i*NUMBERS+:NUMBERS]),
        .out_saved(link_saved[i*SAVED*NUMBERS+:SAVED*NUMBERS]),
        .out_operands(link_operands[i*OPERANDS*NUMBERS+:OPERANDS*NUMBERS])
    );
  end
  // outputs of the last stage
  wire unused_link = &{1'b0, link_saved, link_operands, next_valids, next_programs};

  // ---- Departure, after the stages of the program's longest pass. Two words never leave at once:
  // a program with fewer stages than the previous one starts late enough.
  for (genvar i = 0; i <= VECTOR_STAGES; i++) begin : g_link
    assign exits[i]  = link_tags[i*TAG+kiln_vector_pkg::TAG_EXIT+:4] == 4'(i);
    assign leaves[i] = link_valids[i] && exits[i];
  end
  logic exit_valid;
  kiln_vector_pkg::word_tag_t exit_tag;
  logic [NUMBERS-1:0] exit_value;
  always_comb begin
    exit_valid = leaves != '0;
    exit_tag   = '0;
    exit_value = '0;
    for (int i = 0; i <= VECTOR_STAGES; i++) begin
      if (leaves[i]) begin
        exit_tag   = link_tags[i*TAG+:TAG];
        exit_value = link_values[i*NUMBERS+:NUMBERS];
      end
    end
  end

  // The word's description at its issue.
  localparam int unsigned WORDS_IN_LANES =
      (VECTOR_STAGES + 2) * LATENCY + VECTOR_STAGES * VECTOR_FUNCTION_LATENCY + CONVERT + 1;
  logic departure_valid, departure_ready, departure_taken, departure_there;
  logic [$clog2(WORDS_IN_LANES+1)-1:0] unused_departures;
  logic [kiln_vector_pkg::DEPARTURE_BITS-1:0] issued_departure, exit_departure;
  kiln_vector_pkg::departure_t departure;
  assign issued_departure = {
    issued.lanes,
    pass.to_memory,
    pass.to_row_buffer,
    // A program of one pass has no reader of a scalar, and no gap in which to compute it.
    command.header.passes == 3'd1 ? 2'd0 : pass.reduce,
    pass.scalar_stages,
    issued.first_of_row,
    issued.last_of_row,
    issued.row_place,
    issued.target,
    command.slot
  };
  kiln_deep_fifo #(
      .WIDTH(kiln_vector_pkg::DEPARTURE_BITS),
      .DEPTH(WORDS_IN_LANES),
      .STYLE(1)
  ) departures (
      .clock,
      .reset,
      .in_valid(issue),
      .in_ready(departure_ready),
      .in_data(issued_departure),
      .out_valid(departure_valid),
      .out_ready(departure_taken),
      .out_data(exit_departure),
      .count(unused_departures)
  );
  wire unused_departure = &{1'b0, departure_ready, departure.reduce};
  // The next word to leave is taken from the queue in advance: a word has been in the lanes for two
  // cycles at least when it leaves.
  logic [LANES-1:0] exit_lanes;
  logic exit_reduces, exit_maximum;
  kiln_vector_pkg::departure_t next_departure;
  // The output stream of the departing word's instruction: the upper bits of a
  // kiln_vector_pkg::target_t, below the inverse scale if all lanes share one copy.
  localparam int unsigned GROUP = kiln_vector_pkg::lanes_of_copy(LANES);
  localparam int unsigned GROUPS = (LANES + GROUP - 1) / GROUP;
  localparam int unsigned CODE_BITS = kiln_vector_pkg::target_bits(INTEGER_ELEMENTS);
  localparam int unsigned STREAM_BITS = CODE_BITS + (GROUPS == 1 ? INVERSE : 0);
  logic [STREAM_BITS-1:0] departure_target;
  logic [SLOT_INDEX_BITS-1:0] next_slot;
  assign next_departure = exit_departure;
  assign next_slot = SLOT_INDEX_BITS'(next_departure.slot);
  assign departure_taken = !departure_there || (exit_valid && advance);
  logic [kiln_vector_pkg::TARGET_BITS-1:0] target_now;
  logic [CODE_BITS+INVERSE-1:0] stream_now;
  assign target_now = {
    command.target.element,
    command.target.access,
    command.target.zero_point,
    command.target.low,
    command.target.high
  };
  assign stream_now = {
    command.target.scale[31-:INVERSE], target_now[kiln_vector_pkg::TARGET_BITS-1-:CODE_BITS]
  };
  wire unused_stream = &{1'b0, target_now, stream_now};
  kiln_ram_1w #(
      .WIDTH(STREAM_BITS),
      .WORDS(SLOTS),
      .STYLE(1)
  ) targets (
      .clock,
      .write_enable(block_start),
      .write_address(SLOT_INDEX_BITS'(command.slot)),
      .write_data(STREAM_BITS'(stream_now)),
      .read_enable(departure_taken && departure_valid),
      .read_address(next_slot),
      .read_data(departure_target)
  );
  always_ff @(posedge clock) begin
    if (reset) departure_there <= 1'b0;
    else if (departure_taken) departure_there <= departure_valid;
    if (departure_taken) begin
      departure        <= next_departure;
      exit_reduces     <= next_departure.reduce != kiln_systolic_pkg::REDUCE_NONE;
      exit_maximum     <= next_departure.reduce == kiln_systolic_pkg::REDUCE_MAX;
      for (int i = 0; i < LANES; i++)
        exit_lanes[i] <= kiln_vector_pkg::LANE_BITS'(i) < next_departure.lanes;
    end
  end

  // The inverse of the output's scale for each lane. Each of several groups has its own copy.
  logic [GROUPS*INVERSE-1:0] inverse_of_group;
  logic [LANES*INVERSE-1:0] departure_inverse;
  if (GROUPS == 1) begin : g_inverse
    assign inverse_of_group = departure_target[STREAM_BITS-1-:INVERSE];
  end else begin : g_inverses
    for (genvar i = 0; i < GROUPS; i++) begin : g_copy
      kiln_ram_1w #(
          .WIDTH(INVERSE),
          .WORDS(SLOTS),
          .STYLE(1)
      ) copy (
          .clock,
          .write_enable(block_start),
          .write_address(SLOT_INDEX_BITS'(command.slot)),
          .write_data(command.target.scale[31-:INVERSE]),
          .read_enable(departure_taken && departure_valid),
          .read_address(next_slot),
          .read_data(inverse_of_group[i*INVERSE+:INVERSE])
      );
    end
  end
  for (genvar lane = 0; lane < LANES; lane++) begin : g_inverse_of_lane
    assign departure_inverse[lane*INVERSE+:INVERSE] =
        inverse_of_group[lane/GROUP*INVERSE+:INVERSE];
  end

  // Results that stay on chip: the row buffer and the scalars.
  kiln_ram_1w #(
      .WIDTH(NUMBERS),
      .WORDS(VECTOR_ROW_BUFFER_WORDS)
  ) row_buffer (
      .clock,
      .write_enable(exit_valid && advance && departure.to_row_buffer),
      .write_address(ROW_ADDRESS_BITS'(departure.row_place)),
      .write_data(exit_value),
      .read_enable(reads && reads_row && advance),
      .read_address(row_place),
      .read_data(row_word)
  );

  kiln_vector_pkg::word_tag_t reduction_tag;
  always_comb begin
    reduction_tag          = exit_tag;
    reduction_tag.stages   = departure.scalar_stages;
    reduction_tag.exit     = departure.scalar_stages;
    reduction_tag.saved    = '0;
    reduction_tag.operands = '0;
  end
  kiln_reduction #(
      .LANES(LANES),
      .LATENCY(LATENCY),
      .FUNCTION_LATENCY(VECTOR_FUNCTION_LATENCY),
      .SCALAR_STAGES(VECTOR_STAGES),
      .FUNCTION_STAGES(VECTOR_FUNCTION_STAGES),
      .DIVIDE_STAGES(VECTOR_DIVIDE_STAGES),
      .SLOTS(SLOTS),
      .ROWS(ROWS),
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .SPLINES(VECTOR_SPLINES)
  ) reduction (
      .clock,
      .reset,
      .stage_write_valid(rounded_write_valid),
      .stage_write(late_write),
      .advance(advances[REDUCTION_PART]),
      .in_valid(exit_valid && exit_reduces),
      .in_tag(reduction_tag),
      .in_maximum(exit_maximum),
      .in_first(departure.first_of_row),
      .in_last(departure.last_of_row),
      .in_lanes(exit_lanes),
      .in_value(exit_value),
      .scalars
  );

  // To memory: words of scale blocks once their scales are known, others at once. Never both in a
  // cycle: a word after a scale block has waited for the end of the block's output
  // (kiln_vector_issue).
  kiln_vector_pkg::target_t leaving_target;
  logic gathered, leaves_now;  // a word of a scale block comes out; a word leaves
  logic [NUMBERS-1:0] gathered_value, leaving_value;
  logic [LANES*INVERSE-1:0] gathered_inverse;
  logic [COUNT_LANE_BITS-1:0] gathered_lanes, leaving_lanes;
  logic [ADDRESS_BITS-1:0] gathered_address, leaving_address;
  logic [SLOT_INDEX_BITS-1:0] departure_slot, gathered_slot, leaving_slot;
  logic [CODE_BITS-1:0] gathered_code, leaving_code;
  logic [1:0] leaving_shift;
  kiln_vector_pkg::mark_t mark;  // of the word at the exit
  assign leaves_now      = gathered || (exit_valid && departure.to_memory && !mark.gathered);
  assign leaving_value   = gathered ? gathered_value : exit_value;
  assign leaving_lanes   = gathered ? gathered_lanes : COUNT_LANE_BITS'(departure.lanes);
  assign leaving_address = gathered ? gathered_address : departure.target;
  assign departure_slot  = SLOT_INDEX_BITS'(departure.slot);
  assign leaving_slot    = gathered ? gathered_slot : departure_slot;
  assign leaving_code    = gathered ? gathered_code : departure_target[CODE_BITS-1:0];
  assign leaving_target  = kiln_vector_pkg::TARGET_BITS'(leaving_code) <<
      (kiln_vector_pkg::TARGET_BITS - CODE_BITS);
  assign leaving_shift   = kiln_vector_pkg::element_shift(leaving_target.element, VECTOR_SHIFT,
      INPUT_SHIFT, WEIGHT_SHIFT);
  // Each user reads only some members.
  wire unused_target = &{1'b0, leaving_target, mark};
  localparam int unsigned QUANTISE = LATENCY - 1 + CONVERT;  // registers
  logic final_valid, unused_final, writer_ready, scale_writer_ready;
  localparam int unsigned ELEMENT = kiln_vector_pkg::element_bits(VECTOR_FORMAT, INTEGER_ELEMENTS,
      kiln_format_pkg::max(
          kiln_format_pkg::most_bits(INPUT_FORMAT, OTHER_INPUT_FORMATS, PRECISIONS),
          kiln_format_pkg::most_bits(WEIGHT_FORMAT, OTHER_WEIGHT_FORMATS, PRECISIONS)));
  logic [LANES*ELEMENT-1:0] final_elements;
  logic [COUNT_LANE_BITS-1:0] final_lanes;
  logic [ADDRESS_BITS-1:0] final_address;
  logic [SLOT_INDEX_BITS-1:0] final_slot;
  logic [1:0] final_access, final_shift;
  kiln_word_quantiser #(
      .LANES(LANES),
      .REGISTERS(QUANTISE),
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PRECISIONS(PRECISIONS),
      .INTEGER_ELEMENTS(INTEGER_ELEMENTS),
      .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
      .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .BLOCKS(BLOCKS),
      .SCALE(INVERSE),
      .ELEMENT(ELEMENT)
  ) quantise (
      .clock,
      .reset,
      .advance(advances[QUANTISER_PART]),
      .in_valid(leaves_now),
      .in_block(gathered),
      .element(leaving_target.element),
      .values(leaving_value),
      .inverse_scales(gathered ? gathered_inverse : departure_inverse),
      .zero_point(leaving_target.zero_point),
      .low(leaving_target.low),
      .high(leaving_target.high),
      .out_valid(final_valid),
      .elements(final_elements)
  );
  kiln_vector_delay #(
      .WIDTH (COUNT_LANE_BITS + ADDRESS_BITS + SLOT_INDEX_BITS + 4),
      .CYCLES(QUANTISE)
  ) final_word (
      .clock,
      .reset,
      .advance,
      .in_valid(leaves_now),
      .in_data({
        leaving_lanes, leaving_address, leaving_slot, leaving_target.access, leaving_shift
      }),
      .out_valid(unused_final),
      .out_data({final_lanes, final_address, final_slot, final_access, final_shift})
  );

  // What has left the lanes waits for the writer in a queue, and goes past it if it is empty.
  localparam int unsigned CODES = SCALES * SCALE_BITS;
  localparam int unsigned SCALE_COUNT_BITS = $clog2(SCALES + 1);
  localparam int unsigned SCALE_PART = BLOCKS ? 1 + CODES + SCALE_COUNT_BITS + ADDRESS_BITS : 1;
  localparam int unsigned OUTPUT =
      LANES * ELEMENT + COUNT_LANE_BITS + ADDRESS_BITS + SLOT_INDEX_BITS + 4 + SCALE_PART;
  logic arrives, taken, waits, unused_room, output_valid;
  logic [SCALE_PART-1:0] final_scale_part, output_scale_part;
  logic [OUTPUT-1:0] final_output, waiting;
  logic [LANES*ELEMENT-1:0] output_kept;
  logic [WORD-1:0] output_elements;
  logic [COUNT_LANE_BITS-1:0] output_lanes;
  logic [ADDRESS_BITS-1:0] output_address;
  logic [SLOT_INDEX_BITS-1:0] output_slot;
  logic [1:0] output_access, output_shift;
  assign arrives      = final_valid && advance;
  assign output_valid = waits || arrives;
  assign taken        = writer_ready && scale_writer_ready;
  assign final_output = {final_elements, final_lanes, final_address, final_slot, final_access,
      final_shift, final_scale_part};
  assign {output_kept, output_lanes, output_address, output_slot, output_access, output_shift,
      output_scale_part} = waits ? waiting : final_output;
  for (genvar lane = 0; lane < LANES; lane++) begin : g_element
    if (ELEMENT == 32) begin : g_whole
      assign output_elements[lane*32+:32] = output_kept[lane*32+:32];
    end else begin : g_half
      assign output_elements[lane*32+:32] = output_shift == 2'd2 ?
          {output_kept[lane*16+:16], 16'd0} : {16'd0, output_kept[lane*16+:16]};
    end
  end
  kiln_fifo #(
      .WIDTH(OUTPUT),
      .DEPTH(OUTPUT_WORDS)
  ) output_queue (
      .clock,
      .reset,
      .in_valid(arrives && (waits || !taken)),
      .in_ready(unused_room),
      .in_data(final_output),
      .out_valid(waits),
      .out_ready(taken),
      .out_data(waiting),
      .count(queued)
  );

  kiln_output_writer #(
      .LANES(LANES)
  ) writer (
      .clock,
      .reset,
      .word_valid(output_valid && scale_writer_ready),
      .word_ready(writer_ready),
      .word_elements(output_elements),
      .word_lanes(output_lanes),
      .word_address(output_address),
      .word_access(output_access),
      .word_shift(output_shift),
      .word_stride(element_strides[output_slot]),
      .request_valid(write_request_valid),
      .request_ready(write_request_ready),
      .request_address(write_request_address),
      .request_bytes(write_request_bytes),
      .request_data(write_request_data),
      .request_tag(write_request_tag)
  );

  // ---- Scale blocks and their scales.
  logic [15:0] scales_issued_now, scales_written_now;  // words that write scales to memory
  if (!BLOCKS) begin : g_no_blocks
    assign mark                = '0;
    assign gathered            = 1'b0;
    assign gathered_value      = '0;
    assign gathered_inverse    = '0;
    assign gathered_lanes      = '0;
    assign gathered_address    = '0;
    assign gathered_slot       = '0;
    assign gathered_code       = '0;
    assign leaves_lanes_early  = 1'b0;
    assign scale_writer_ready  = 1'b1;
    assign final_scale_part    = '0;
    wire unused_scale_part = &{1'b0, output_scale_part};
    assign scale_write_valid   = 1'b0;
    assign scale_write_address = '0;
    assign scale_write_data    = '0;
    assign scale_write_tag     = 1'b0;
    assign scales_issued_now   = '0;
    assign scales_written_now  = '0;
    wire unused_blocks = &{1'b0, scale_write_ready, scale_write_done, scale_write_done_tag};
  end else begin : g_blocks
    logic unused_marks_ready, unused_marks_valid;
    logic [$clog2(WORDS_IN_LANES+1)-1:0] unused_marks;
    logic [kiln_vector_pkg::MARK_BITS-1:0] exit_mark;
    kiln_deep_fifo #(
        .WIDTH(kiln_vector_pkg::MARK_BITS),
        .DEPTH(WORDS_IN_LANES),
        .STYLE(1)
    ) marks_in_lanes (
        .clock,
        .reset,
        .in_valid(issue),
        .in_ready(unused_marks_ready),
        .in_data(issued_mark),
        .out_valid(unused_marks_valid),
        .out_ready(exit_valid && advance),
        .out_data(exit_mark),
        .count(unused_marks)
    );
    assign mark = exit_mark;

    // Scale blocks lengthen the path to memory, but not that through the lanes.
    localparam int unsigned BLOCK_DEPTH = LATENCY * ($clog2(LANES / SCALES) + 1);
    logic [15:0] lane_depth;
    assign lane_depth         =
        command.loops.depth - (command.header.output_blocks ? 16'(BLOCK_DEPTH) : '0);
    kiln_block_order order_in_lanes (
        .clock,
        .reset,
        .advance,
        .block_end,
        .depth(lane_depth),
        .waits(leaves_lanes_early)
    );

    logic gathered_scales, final_scales, output_scales;
    logic [CODES-1:0] gathered_codes, final_codes, output_codes;
    logic [SCALE_COUNT_BITS-1:0] gathered_count, final_count, output_count;
    logic [ADDRESS_BITS-1:0] gathered_scale_address, final_scale_address, output_scale_address;
    kiln_vector_blocks #(
        .LANES(LANES),
        .LATENCY(LATENCY),
        .BLOCK_SIZE(BLOCK_SIZE),
        .NUMBER(NUMBER),
        .INVERSE(INVERSE),
        .ELEMENT_FORMAT(INPUT_FORMAT),
        .SCALE_FORMAT(SCALE_FORMAT),
        .OUTPUT_PORT_BYTES(OUTPUT_PORT_BYTES),
        .ABOUT_BITS(SLOT_INDEX_BITS + CODE_BITS)
    ) blocks (
        .clock,
        .reset,
        .advance,
        .in_valid(exit_valid && mark.gathered),
        .in_last(mark.last),
        .in_value(exit_value),
        .in_lanes(COUNT_LANE_BITS'(departure.lanes)),
        .in_target(departure.target),
        .in_scale_target(mark.scale_target),
        .in_about({departure_slot, departure_target[CODE_BITS-1:0]}),
        .out_valid(gathered),
        .out_value(gathered_value),
        .out_inverse(gathered_inverse),
        .out_lanes(gathered_lanes),
        .out_target(gathered_address),
        .out_about({gathered_slot, gathered_code}),
        .out_scales(gathered_scales),
        .out_scale_codes(gathered_codes),
        .out_scale_count(gathered_count),
        .out_scale_target(gathered_scale_address)
    );
    kiln_vector_delay #(
        .WIDTH (CODES + SCALE_COUNT_BITS + ADDRESS_BITS),
        .CYCLES(QUANTISE)
    ) final_scales_of_word (
        .clock,
        .reset,
        .advance,
        .in_valid(gathered_scales),
        .in_data({gathered_codes, gathered_count, gathered_scale_address}),
        .out_valid(final_scales),
        .out_data({final_codes, final_count, final_scale_address})
    );

    assign final_scale_part = {final_scales, final_codes, final_count, final_scale_address};
    assign {output_scales, output_codes, output_count, output_scale_address} = output_scale_part;
    logic [SCALES*32-1:0] scale_elements, scale_data;
    logic [$clog2(SCALES*4+1)-1:0] unused_bytes;
    logic scales_ready;
    for (genvar i = 0; i < SCALES; i++) begin : g_scale
      assign scale_elements[i*32+:32] = 32'(output_codes[i*SCALE_BITS+:SCALE_BITS]);
    end
    assign scale_writer_ready = !output_scales || scales_ready;
    assign scale_write_data   = scale_data[SCALE_BYTES*8-1:0];
    wire unused_scale_data = &{1'b0, scale_data, unused_bytes};
    kiln_output_writer #(
        .LANES(SCALES)
    ) scale_writer (
        .clock,
        .reset,
        .word_valid(output_valid && output_scales && writer_ready),
        .word_ready(scales_ready),
        .word_elements(scale_elements),
        .word_lanes(output_count),
        .word_address(output_scale_address),
        .word_access(kiln_systolic_pkg::ACCESS_STRIDED),
        .word_shift(kiln_vector_pkg::code_shift(SCALE_BITS)),
        .word_stride(ADDRESS_BITS'(SCALE_BYTES)),
        .request_valid(scale_write_valid),
        .request_ready(scale_write_ready),
        .request_address(scale_write_address),
        .request_bytes(unused_bytes),
        .request_data(scale_data),
        .request_tag(scale_write_tag)
    );

    logic [15:0] scales_issued, scales_written;
    assign scales_issued_now  =
        scales_issued + 16'(issue && issued_mark.gathered && issued_mark.last);
    assign scales_written_now = scales_written + 16'(scale_write_done && scale_write_done_tag);
    always_ff @(posedge clock) begin
      if (reset) begin
        scales_issued  <= '0;
        scales_written <= '0;
      end else begin
        scales_issued  <= scales_issued_now;
        scales_written <= scales_written_now;
      end
    end
  end

  // ---- Completion: an instruction is finished when `depth` cycles have passed since its busy time
  // ended, and all its words and scales are in memory.
  logic [15:0] now, words_issued, words_issued_now, words_written, words_written_now;
  logic [15:0] deadline, words_wanted, scales_wanted;
  logic completion_valid, finish;
  assign words_issued_now  = words_issued + 16'(issue && pass.to_memory);
  assign words_written_now = words_written + 16'(write_done && write_done_tag);
  localparam int unsigned COMPLETION = BLOCKS ? 48 : 32;
  localparam int unsigned COMPLETIONS_BITS = $clog2(SLOTS + 1);
  logic [47:0] completed;
  logic [COMPLETION-1:0] completion, ended;
  assign completed = 48'(completion);
  assign {scales_wanted, deadline, words_wanted} = completed;
  // An instruction that has ended joins the list a cycle later: no deadline is as near as that.
  logic has_ended, unused_list_room;
  logic [COMPLETIONS_BITS-1:0] listed_completions;
  assign completion_room =
      listed_completions != COMPLETIONS_BITS'(SLOTS) &&
      !(has_ended && listed_completions == COMPLETIONS_BITS'(SLOTS - 1));
  always_ff @(posedge clock) begin
    has_ended <= instruction_end && !reset;
    ended     <= COMPLETION'({scales_issued_now, now + command.loops.depth, words_issued_now});
  end
  kiln_deep_fifo #(
      .WIDTH(COMPLETION),
      .DEPTH(SLOTS)
  ) completions (
      .clock,
      .reset,
      .in_valid(has_ended),
      .in_ready(unused_list_room),
      .in_data(ended),
      .out_valid(completion_valid),
      .out_ready(finish),
      .out_data(completion),
      .count(listed_completions)
  );
  // Compared modulo 2^16: no counter is ever ahead by half of that.
  logic [15:0] past_deadline, past_words, past_scales;
  assign past_deadline = now - deadline;
  assign past_words    = words_written_now - words_wanted;
  assign past_scales   = scales_written_now - scales_wanted;
  assign finish        =
      completion_valid && !past_deadline[15] && !past_words[15] && !past_scales[15];
  always_ff @(posedge clock) begin
    if (reset) begin
      now           <= '0;
      words_issued  <= '0;
      words_written <= '0;
      finished      <= '0;
    end else begin
      if (advance) now <= now + 1'b1;
      words_issued  <= words_issued_now;
      words_written <= words_written_now;
      if (finish) finished <= finished + 1'b1;
    end
  end
  wire unused_past = &{1'b0, past_deadline, past_words, past_scales, past_awaited};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      output_finds_room : assert (!arrives || !(waits || !taken) || unused_room);
      copies_agree : assert (advances == {STALLED_PARTS{advance}});
      listed_word_has_command : assert (!there || command_valid);
      running_block_has_word : assert (!working || there);
      listed_word_waits_alike : assert (!there || listed_earlier == block_earlier);
      next_number_is_known : assert (!instruction_end || next_done == vector_done + 1'b1);
      ended_finds_room : assert (!has_ended || unused_list_room);
      ended_joins_in_time : assert (!instruction_end || command.loops.depth > 16'd1);
      leaving_word_is_known :
      assert (!exit_valid || (departure_there && departure.slot == exit_tag.slot));
    end
  end
`endif
endmodule
