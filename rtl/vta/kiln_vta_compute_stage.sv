// The compute stage and the buffers of the VTA machine. Contains the dispatcher, the retirement
// queue, the GEMM and ALU units and the loader; the micro-op, input and weight buffers; and the
// accumulators with the output buffer.
//   words    elements from memory that the loader or the load stage has requested. They are written
//            as they arrive, to the buffer and index in their tags.
//   store    the store stage's reads of the output buffer: the element of an index is available in
//            the next cycle
module kiln_vta_compute_stage #(
    parameter int unsigned INPUT_BITS = 8,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned ACCUMULATOR_BITS = 32,
    parameter int unsigned BATCH = 1,
    parameter int unsigned BLOCK_IN = 4,
    parameter int unsigned BLOCK_OUT = 4,
    parameter int unsigned UOP_INDEX_BITS = 6,
    parameter int unsigned INPUT_INDEX_BITS = 6,
    parameter int unsigned WEIGHT_INDEX_BITS = 6,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 6,
    parameter int unsigned ACCUMULATOR_BANKS = 4,
    parameter int unsigned MAX_BYTES = 16,  // bytes of the longest element
    // derived, do not set
    localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1),
    localparam int unsigned OUTPUT_ELEMENT_BITS = BATCH * BLOCK_OUT * INPUT_BITS,
    localparam int unsigned ADDRESS_BITS = kiln_vta_pkg::ADDRESS_BITS,
    localparam int unsigned NUMBER_BITS = kiln_vta_pkg::NUMBER_BITS,
    localparam int unsigned INSTRUCTION_BITS = kiln_vta_pkg::INSTRUCTION_BITS
) (
    input  logic                              clock,
    input  logic                              reset,
    input  logic                              queue_valid,
    output logic                              queue_ready,
    input  logic [      INSTRUCTION_BITS-1:0] queue_instruction,
    input  logic [           NUMBER_BITS-1:0] queue_number,
    input  logic [     ACCUMULATOR_BANKS-1:0] queue_banks,
    input  logic                              load_token_there,
    output logic                              load_token_take,
    output logic                              load_token_give,
    input  logic                              store_token_there,
    output logic                              store_token_take,
    output logic                              store_token_give,
    // an instruction is dispatched and not yet retired
    output logic                              pending,
    output logic                              retired,
    output logic                              finish,
    // fault sram_range of the instruction at the head
    output logic                              fault_valid,
    output kiln_vta_pkg::compute_events_t     events,
    // Loader
    input  logic [          ADDRESS_BITS-1:0] uop_base,
    input  logic [          ADDRESS_BITS-1:0] accumulator_base,
    output logic                              request_valid,
    input  logic                              request_ready,
    output logic [          ADDRESS_BITS-1:0] request_address,
    output logic [            BYTES_BITS-1:0] request_bytes,
    output kiln_vta_pkg::read_tag_t           request_tag,
    input  logic                              word_valid,
    input  logic [           MAX_BYTES*8-1:0] word_data,
    input  kiln_vta_pkg::read_tag_t           word_tag,
    // Store stage
    input  logic                              store_read_enable,
    input  logic [ACCUMULATOR_INDEX_BITS-1:0] store_read_index,
    output logic [   OUTPUT_ELEMENT_BITS-1:0] store_read_data
);
  localparam int unsigned UNITS = kiln_vta_pkg::UNITS;
  localparam int unsigned SOURCE_INDEX_BITS =
      INPUT_INDEX_BITS > ACCUMULATOR_INDEX_BITS ? INPUT_INDEX_BITS : ACCUMULATOR_INDEX_BITS;
  localparam int unsigned UOP_BITS = ACCUMULATOR_INDEX_BITS + SOURCE_INDEX_BITS + WEIGHT_INDEX_BITS;
  localparam int unsigned NUMBERS = BATCH * BLOCK_OUT;
  localparam int unsigned INPUT_ELEMENT_BITS = BATCH * BLOCK_IN * INPUT_BITS;
  localparam int unsigned WEIGHT_ELEMENT_BITS = BLOCK_OUT * BLOCK_IN * WEIGHT_BITS;
  localparam int unsigned ACCUMULATOR_ELEMENT_BITS = NUMBERS * ACCUMULATOR_BITS;

  // ---- Dispatcher and retirement.
  logic [UNITS-1:0] unit_valid, unit_ready, unit_done;
  logic [1:0] unit;
  logic pairs, retirement_ready;
  logic examiner_uop_enable, gemm_uop_enable, alu_uop_enable;
  logic [UOP_INDEX_BITS-1:0] examiner_uop_address, gemm_uop_address, alu_uop_address;
  logic [UOP_BITS-1:0] examiner_uop, gemm_uop, alu_uop;
  kiln_vta_dispatcher #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS),
      .ACCUMULATOR_BANKS(ACCUMULATOR_BANKS)
  ) dispatcher (
      .clock,
      .reset,
      .queue_valid,
      .queue_ready,
      .queue_instruction,
      .queue_banks,
      .load_token_there,
      .load_token_take,
      .store_token_there,
      .store_token_take,
      .unit_valid,
      .unit_ready,
      .pairs,
      .unit_done,
      .unit,
      .retirement_ready,
      .fault_valid,
      .events(events.dispatch),
      .uop_enable(examiner_uop_enable),
      .uop_address(examiner_uop_address),
      .uop(examiner_uop)
  );
  kiln_vta_retirement retirement (
      .clock,
      .reset,
      .push(queue_ready),
      .ready(retirement_ready),
      .unit,
      .common(queue_instruction[kiln_vta_pkg::COMMON_BITS-1:0]),
      .done(unit_done),
      .pending,
      .retired,
      .push_previous(load_token_give),
      .push_next(store_token_give),
      .finish
  );

  // ---- Queues of the units.
  localparam int unsigned QUEUE_COUNT_BITS = $clog2(kiln_vta_pkg::UNIT_QUEUE_DEPTH + 1);
  logic gemm_valid, gemm_ready, alu_valid, alu_ready, alu_pairs, loader_valid, loader_ready,
      loader_busy;
  logic [INSTRUCTION_BITS-1:0] gemm_instruction, alu_instruction, loader_instruction;
  logic [NUMBER_BITS-1:0] loader_number;
  logic [QUEUE_COUNT_BITS-1:0] unused_gemm_count, unused_alu_count, unused_loader_count;
  kiln_fifo #(
      .WIDTH(INSTRUCTION_BITS),
      .DEPTH(kiln_vta_pkg::UNIT_QUEUE_DEPTH)
  ) gemm_queue (
      .clock,
      .reset,
      .in_valid (unit_valid[kiln_vta_pkg::UNIT_GEMM]),
      .in_ready (unit_ready[kiln_vta_pkg::UNIT_GEMM]),
      .in_data  (queue_instruction),
      .out_valid(gemm_valid),
      .out_ready(gemm_ready),
      .out_data (gemm_instruction),
      .count    (unused_gemm_count)
  );
  kiln_fifo #(
      .WIDTH(INSTRUCTION_BITS + 1),
      .DEPTH(kiln_vta_pkg::UNIT_QUEUE_DEPTH)
  ) alu_queue (
      .clock,
      .reset,
      .in_valid (unit_valid[kiln_vta_pkg::UNIT_ALU]),
      .in_ready (unit_ready[kiln_vta_pkg::UNIT_ALU]),
      .in_data  ({pairs, queue_instruction}),
      .out_valid(alu_valid),
      .out_ready(alu_ready),
      .out_data ({alu_pairs, alu_instruction}),
      .count    (unused_alu_count)
  );
  kiln_fifo #(
      .WIDTH(INSTRUCTION_BITS + NUMBER_BITS),
      .DEPTH(kiln_vta_pkg::UNIT_QUEUE_DEPTH)
  ) loader_queue (
      .clock,
      .reset,
      .in_valid (unit_valid[kiln_vta_pkg::UNIT_LOADER]),
      .in_ready (unit_ready[kiln_vta_pkg::UNIT_LOADER]),
      .in_data  ({queue_number, queue_instruction}),
      .out_valid(loader_valid),
      .out_ready(loader_ready),
      .out_data ({loader_number, loader_instruction}),
      .count    (unused_loader_count)
  );

  // ---- Loader.
  assign loader_ready = !loader_busy;
  kiln_vta_element_reader #(
      .ACCUMULATOR_BYTES(ACCUMULATOR_ELEMENT_BITS / 8),
      .ACCUMULATOR8_BYTES(NUMBERS),
      .BYTES_BITS(BYTES_BITS),
      .SOURCE(kiln_vta_pkg::SOURCE_LOADER)
  ) loader (
      .clock,
      .reset,
      .start(loader_valid && loader_ready),
      .instruction(loader_instruction),
      .number(loader_number),
      .uop_base,
      .input_base('0),
      .weight_base('0),
      .accumulator_base,
      .busy(loader_busy),
      .request_valid,
      .request_ready,
      .request_address,
      .request_bytes,
      .request_tag
  );

  // ---- Words from memory, written to the buffers.
  logic writes, uop_write, input_write, weight_write, load_write;
  assign writes =
      word_valid && !reset && word_tag.source != kiln_vta_pkg::SOURCE_FETCH && !word_tag.empty;
  assign uop_write = writes && word_tag.memory == kiln_vta_pkg::MEMORY_UOP;
  assign input_write = writes && word_tag.memory == kiln_vta_pkg::MEMORY_INPUT;
  assign weight_write = writes && word_tag.memory == kiln_vta_pkg::MEMORY_WEIGHT;
  assign load_write = writes &&
      (word_tag.memory == kiln_vta_pkg::MEMORY_ACCUMULATOR ||
          word_tag.memory == kiln_vta_pkg::MEMORY_ACCUMULATOR8);
  assign unit_done[kiln_vta_pkg::UNIT_LOADER] =
      word_valid && word_tag.source == kiln_vta_pkg::SOURCE_LOADER && word_tag.last;

  logic [MAX_BYTES*8-1:0] word;
  logic [ACCUMULATOR_ELEMENT_BITS-1:0] wide_word, load_word;  // 8-bit numbers, sign-extended
  assign word = word_tag.padding ? '0 : word_data;
  for (genvar n = 0; n < NUMBERS; n++) begin : g_wide
    logic signed [7:0] number;
    assign number = word[n*8+:8];
    assign wide_word[n*ACCUMULATOR_BITS+:ACCUMULATOR_BITS] = ACCUMULATOR_BITS'(number);
  end
  assign load_word = word_tag.memory == kiln_vta_pkg::MEMORY_ACCUMULATOR8 ? wide_word :
      word[ACCUMULATOR_ELEMENT_BITS-1:0];

  // ---- Buffers.
  kiln_ram_1w #(
      .WIDTH(UOP_BITS),
      .WORDS(1 << UOP_INDEX_BITS),
      .READS(3),
      .INITIALLY_ZERO(1'b1)
  ) uops (
      .clock,
      .write_enable(uop_write),
      .write_address(UOP_INDEX_BITS'(word_tag.element)),
      .write_data(word[UOP_BITS-1:0]),
      .read_enable({alu_uop_enable, gemm_uop_enable, examiner_uop_enable}),
      .read_address({alu_uop_address, gemm_uop_address, examiner_uop_address}),
      .read_data({alu_uop, gemm_uop, examiner_uop})
  );
  logic operands_enable;
  logic [INPUT_INDEX_BITS-1:0] input_address;
  logic [WEIGHT_INDEX_BITS-1:0] weight_address;
  logic [INPUT_ELEMENT_BITS-1:0] input_data;
  logic [WEIGHT_ELEMENT_BITS-1:0] weight_data;
  kiln_ram_1w #(
      .WIDTH(INPUT_ELEMENT_BITS),
      .WORDS(1 << INPUT_INDEX_BITS),
      .INITIALLY_ZERO(1'b1)
  ) inputs (
      .clock,
      .write_enable(input_write),
      .write_address(INPUT_INDEX_BITS'(word_tag.element)),
      .write_data(word[INPUT_ELEMENT_BITS-1:0]),
      .read_enable(operands_enable),
      .read_address(input_address),
      .read_data(input_data)
  );
  kiln_ram_1w #(
      .WIDTH(WEIGHT_ELEMENT_BITS),
      .WORDS(1 << WEIGHT_INDEX_BITS),
      .INITIALLY_ZERO(1'b1)
  ) weights (
      .clock,
      .write_enable(weight_write),
      .write_address(WEIGHT_INDEX_BITS'(word_tag.element)),
      .write_data(word[WEIGHT_ELEMENT_BITS-1:0]),
      .read_enable(operands_enable),
      .read_address(weight_address),
      .read_data(weight_data)
  );

  // ---- GEMM unit, ALU unit and accumulators.
  logic gemm_read_enable, first_read_enable, second_read_enable, gemm_write_enable,
      alu_write_enable, alu_step, alu_clears;
  logic [ACCUMULATOR_INDEX_BITS-1:0] gemm_read_index, first_read_index, second_read_index,
      gemm_write_index, alu_write_index;
  logic [ACCUMULATOR_ELEMENT_BITS-1:0] gemm_read_data, first_read_data, second_read_data,
      gemm_write_data, alu_write_data;
  kiln_vta_gemm #(
      .INPUT_BITS(INPUT_BITS),
      .WEIGHT_BITS(WEIGHT_BITS),
      .ACCUMULATOR_BITS(ACCUMULATOR_BITS),
      .BATCH(BATCH),
      .BLOCK_IN(BLOCK_IN),
      .BLOCK_OUT(BLOCK_OUT),
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) gemm (
      .clock,
      .reset,
      .command_valid(gemm_valid),
      .command_ready(gemm_ready),
      .command_instruction(gemm_instruction),
      .step(events.gemm_step),
      .done(unit_done[kiln_vta_pkg::UNIT_GEMM]),
      .uop_enable(gemm_uop_enable),
      .uop_address(gemm_uop_address),
      .uop(gemm_uop),
      .operands_enable,
      .input_address,
      .input_data,
      .weight_address,
      .weight_data,
      .read_enable(gemm_read_enable),
      .read_index(gemm_read_index),
      .read_data(gemm_read_data),
      .write_enable(gemm_write_enable),
      .write_index(gemm_write_index),
      .write_data(gemm_write_data)
  );
  kiln_vta_alu #(
      .ACCUMULATOR_BITS(ACCUMULATOR_BITS),
      .NUMBERS(NUMBERS),
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) alu (
      .clock,
      .reset,
      .command_valid(alu_valid),
      .command_ready(alu_ready),
      .command_instruction(alu_instruction),
      .command_pairs(alu_pairs),
      .active(events.alu_busy),
      .step(alu_step),
      .step_clears(alu_clears),
      .done(unit_done[kiln_vta_pkg::UNIT_ALU]),
      .uop_enable(alu_uop_enable),
      .uop_address(alu_uop_address),
      .uop(alu_uop),
      .second_enable(second_read_enable),
      .second_index(second_read_index),
      .second_data(second_read_data),
      .first_enable(first_read_enable),
      .first_index(first_read_index),
      .first_data(first_read_data),
      .write_enable(alu_write_enable),
      .write_index(alu_write_index),
      .write_data(alu_write_data)
  );
  kiln_vta_accumulators #(
      .ACCUMULATOR_BITS(ACCUMULATOR_BITS),
      .OUTPUT_BITS(INPUT_BITS),
      .NUMBERS(NUMBERS),
      .INDEX_BITS(ACCUMULATOR_INDEX_BITS),
      .BANKS(ACCUMULATOR_BANKS)
  ) accumulators (
      .clock,
      .reset,
      .gemm_read_enable,
      .gemm_read_index,
      .gemm_read_data,
      .first_read_enable,
      .first_read_index,
      .first_read_data,
      .second_read_enable,
      .second_read_index,
      .second_read_data,
      .store_read_enable,
      .store_read_index,
      .store_read_data,
      .gemm_write_enable,
      .gemm_write_index,
      .gemm_write_data,
      .alu_write_enable,
      .alu_write_index,
      .alu_write_data,
      .load_write_enable(load_write),
      .load_write_index(ACCUMULATOR_INDEX_BITS'(word_tag.element)),
      .load_write_data(load_word)
  );
  assign events.gemm_write = gemm_write_enable;
  assign events.alu_write = alu_write_enable;
  assign events.alu_step = alu_step && !alu_clears;
  assign events.alu_clear = alu_step && alu_clears;

  logic unused_bits;
  assign unused_bits = &{1'b0, word, word_tag};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      uops_exist : assert (!uop_write || 32'(word_tag.element) < 1 << UOP_INDEX_BITS);
      inputs_exist : assert (!input_write || 32'(word_tag.element) < 1 << INPUT_INDEX_BITS);
      weights_exist : assert (!weight_write || 32'(word_tag.element) < 1 << WEIGHT_INDEX_BITS);
      accumulators_exist : assert (!load_write ||
          32'(word_tag.element) < 1 << ACCUMULATOR_INDEX_BITS);
      // Micro-ops are not replaced while a unit reads them.
      no_write_of_uops_in_use : assert (!uop_write || (!gemm_uop_enable && !alu_uop_enable));
      word_has_a_buffer : assert (!writes ||
          $onehot({uop_write, input_write, weight_write, load_write}));
    end
  end
`endif
endmodule
