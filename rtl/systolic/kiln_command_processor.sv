// The control unit of the machine: fetches the program, decodes it word by word, and puts every
// instruction into the queues of the units that use it. It detects the end of the program or its
// failure and informs software (kiln_control_registers).
//
// A run. S is the cycle after the one in which software writes the start; from then on unit_reset
// is low and `cycles` counts.
//   words         The first word can be decoded in S + L (an ideal memory of latency L), then one
//                 per cycle, or one in two cycles through a port of 8 bytes. If the words of an
//                 instruction arrive in cycles t .. t + n - 1, the instruction enters the queue
//                 of each unit that it needs in t + n, or as soon as the queue has room, and is
//                 available to the unit in the cycle after. The next instruction's first word is
//                 decoded in the cycle after the one in which the last queue took it.
//   number        Instructions are numbered from 0, modulo 2^16; `finished` comes from the vector
//                 unit and counts those whose writes are all in memory.
//   end           The run ends in the cycle in which `end` has been decoded and `finished` counts
//                 all instructions before it. `cycles` is the number of cycles from S to that
//                 cycle.
//   failure       The first of: a word that the decoder refuses; a program that runs past the end
//                 of memory; port_fault (a port got an error response); range_fault
//                 (kiln_address_guard); a stop by software; no instruction finished for
//                 WATCHDOG_LIMIT cycles. Every run therefore ends: programs have no jumps, and
//                 memory holds a limited number of instructions.
//   afterwards    unit_reset is high from the cycle after the end or the failure on. Requests in
//                 flight at the ports are drained: the modules that connect them discard their
//                 words while unit_reset is high. Software can start the next run when ports_idle
//                 (no port has a request in flight) and this module's own port is idle; only then
//                 port_reset is high, which clears the ports' faults.
module kiln_command_processor #(
    parameter int unsigned ARRAY_ROWS = 16,
    parameter int unsigned ARRAY_COLUMNS = 16,
    parameter int unsigned INPUT_BUFFER_WORDS = 1024,
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 1024,
    parameter int unsigned DEPTHWISE_MULTIPLIERS = 9,
    parameter int unsigned DEPTHWISE_BUFFER_WORDS = 1024,
    parameter int unsigned USER_UNIT = 0,
    parameter int unsigned VECTOR_STAGES = 12,
    // Bit i: stage i has the approximate functions, or a divider; the lanes and the scalar stages
    // alike. (The default is not '1, of which Yosys keeps the lowest bit.)
    parameter logic [VECTOR_STAGES-1:0] VECTOR_FUNCTION_STAGES = {VECTOR_STAGES{1'b1}},
    parameter logic [VECTOR_STAGES-1:0] VECTOR_DIVIDE_STAGES = {VECTOR_STAGES{1'b1}},
    parameter int unsigned VECTOR_ROWS_IN_FLIGHT = 8,
    parameter int unsigned BLOCK_SIZE = 0,
    parameter int unsigned PRECISIONS = 1,
    parameter bit INTEGER_ELEMENTS = 1'b1,  // streams can have integers
    parameter int unsigned SCALE_BITS = 32,  // of a stream's scale
    parameter longint unsigned MEMORY_BYTES = 64'd1 << 30,
    // Width of the program's port in bytes: 8 to 128.
    parameter int unsigned INSTRUCTION_BYTES_PER_CYCLE = 16,
    // Instructions in the queue of each unit, including the one that it works on.
    parameter int unsigned COMMAND_QUEUE_DEPTH = 4,
    // Words of the program that are read ahead; memory never waits if at least MEMORY_LATENCY + 2.
    parameter int unsigned PREFETCH_WORDS = 32,
    parameter int unsigned SLOTS = COMMAND_QUEUE_DEPTH + 8,  // of the vector unit's stage memories
    parameter bit PERFORMANCE_COUNTERS = 1'b1,
    localparam int unsigned REGISTER_BITS = 12,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,
    localparam int unsigned INDEX_BITS = kiln_systolic_pkg::INDEX_BITS,
    localparam int unsigned COUNTER_BITS = kiln_control_pkg::COUNTER_BITS,
    localparam int unsigned DATA_BITS = INSTRUCTION_BYTES_PER_CYCLE * 8,
    localparam int unsigned QUEUES = 7  // one for each unit
) (
    input  logic clock,
    input  logic reset,
    // AXI4-Lite slave: registers
    input  logic control_awvalid,
    output logic control_awready,
    input  logic [REGISTER_BITS-1:0] control_awaddr,
    input  logic control_wvalid,
    output logic control_wready,
    input  logic [31:0] control_wdata,
    input  logic [3:0] control_wstrb,
    output logic control_bvalid,
    input  logic control_bready,
    output logic [1:0] control_bresp,
    input  logic control_arvalid,
    output logic control_arready,
    input  logic [REGISTER_BITS-1:0] control_araddr,
    output logic control_rvalid,
    input  logic control_rready,
    output logic [31:0] control_rdata,
    output logic [1:0] control_rresp,
    output logic irq,
    // AXI4 master, read channels: the program
    output logic program_arvalid,
    input  logic program_arready,
    output logic [ADDRESS_BITS-1:0] program_araddr,
    output logic [7:0] program_arlen,
    output logic [2:0] program_arsize,
    output logic [1:0] program_arburst,
    input  logic program_rvalid,
    output logic program_rready,
    input  logic [DATA_BITS-1:0] program_rdata,
    input  logic [1:0] program_rresp,
    input  logic program_rlast,
    // kiln_bus_turns; program_turn is 1 if the program has a bus of its own.
    output logic program_turn_request,
    output logic program_port_free,
    input  logic program_turn,
    // The units and ports.
    output logic unit_reset,
    // Copies of it, one for each unit and its queue, in the order of the queues.
    output logic [QUEUES-1:0] unit_resets,
    output logic port_reset,
    input  logic ports_idle,
    input  logic port_fault,
    input  logic range_fault,
    input  logic [INDEX_BITS-1:0] finished,
    output logic [COUNTER_BITS-1:0] cycles,
    output logic input_fetch_command_valid,
    input  logic input_fetch_command_ready,
    output kiln_systolic_pkg::input_fetch_command_t input_fetch_command,
    output kiln_systolic_pkg::input_scales_t input_fetch_scales,
    output logic weight_fetch_command_valid,
    input  logic weight_fetch_command_ready,
    output kiln_systolic_pkg::weight_fetch_command_t weight_fetch_command,
    output kiln_systolic_pkg::weight_scales_t weight_fetch_scales,
    output logic weight_load_command_valid,
    input  logic weight_load_command_ready,
    output kiln_systolic_pkg::weight_load_command_t weight_load_command,
    output logic array_command_valid,
    input  logic array_command_ready,
    output kiln_systolic_pkg::array_command_t array_command,
    output logic depthwise_command_valid,
    input  logic depthwise_command_ready,
    output kiln_systolic_pkg::array_command_t depthwise_command,
    output logic parameter_fetch_command_valid,
    input  logic parameter_fetch_command_ready,
    output kiln_systolic_pkg::parameter_fetch_command_t parameter_fetch_command,
    output logic vector_command_valid,
    input  logic vector_command_ready,
    output kiln_systolic_pkg::vector_command_t vector_command,
    output kiln_systolic_pkg::vector_scales_t vector_scales,
    output logic stage_write_valid,
    output kiln_systolic_pkg::stage_write_t stage_write,
    // The activity of the units in this cycle, for the counters.
    input  kiln_control_pkg::activity_t activity_input_fetch,
    input  kiln_control_pkg::activity_t activity_weight_fetch,
    input  kiln_control_pkg::activity_t activity_weight_load,
    input  kiln_control_pkg::activity_t activity_array,
    input  kiln_control_pkg::activity_t activity_depthwise,
    input  kiln_control_pkg::activity_t activity_parameter_fetch,
    input  kiln_control_pkg::activity_t activity_vector
);
  localparam bit BLOCKS = BLOCK_SIZE != 0;
  localparam int unsigned SLOT_BITS = kiln_systolic_pkg::SLOT_BITS;
  // Cycles that a word takes through the port.
  localparam int unsigned WORD_CYCLES =
      INSTRUCTION_BYTES_PER_CYCLE < 16 ? 16 / INSTRUCTION_BYTES_PER_CYCLE : 1;

  if (SLOTS < COMMAND_QUEUE_DEPTH + 3 || SLOTS > 1 << SLOT_BITS) begin : g_slots
    $error("SLOTS must be from COMMAND_QUEUE_DEPTH + 3 to 64");
  end

  // ---- Registers.
  logic start, stop, idle, done, failed;
  logic [ADDRESS_BITS-1:0] program_address;
  logic [31:0] watchdog_limit;
  kiln_control_pkg::error_t failed_code;
  logic [15:0] failed_instruction, failed_word;
  logic [2:0] read_unit, read_counter;
  logic read_valid;
  logic [COUNTER_BITS-1:0] read_value;
  kiln_control_registers registers (
      .clock,
      .reset,
      .axi_awvalid(control_awvalid),
      .axi_awready(control_awready),
      .axi_awaddr(control_awaddr),
      .axi_wvalid(control_wvalid),
      .axi_wready(control_wready),
      .axi_wdata(control_wdata),
      .axi_wstrb(control_wstrb),
      .axi_bvalid(control_bvalid),
      .axi_bready(control_bready),
      .axi_bresp(control_bresp),
      .axi_arvalid(control_arvalid),
      .axi_arready(control_arready),
      .axi_araddr(control_araddr),
      .axi_rvalid(control_rvalid),
      .axi_rready(control_rready),
      .axi_rdata(control_rdata),
      .axi_rresp(control_rresp),
      .irq,
      .start,
      .stop,
      .program_address,
      .watchdog_limit,
      .idle,
      .done,
      .failed,
      .failed_code,
      .failed_instruction,
      .failed_word,
      .finished(finished_count),
      .cycles,
      .read_unit,
      .read_counter,
      .read_valid,
      .read_value
  );

  // ---- The run: idle, running, or stopping (requests in flight at the ports are drained).
  logic running, stopping, ended;  // ended: the program's end has been decoded
  logic fetch_idle, bad_start;
  assign idle = !running && !stopping;
  assign unit_reset = reset || !running;
  assign port_reset = reset || idle;
  assign bad_start = program_address[3:0] != '0 || 64'(program_address) >= MEMORY_BYTES;

  logic [INDEX_BITS-1:0] number;  // number of the next instruction
  logic [15:0] finished_count;  // `finished` of the last run
  logic start_refused, watchdog_expired, fetch_fault, exhausted, decode_error;
  kiln_control_pkg::error_t decode_code;
  logic [15:0] decode_word;
  assign done = running && !failed && ended && finished == number;
  always_comb begin
    failed = running;
    failed_instruction = number;
    failed_word = '0;
    if (stop) begin
      failed_code = kiln_control_pkg::ERROR_STOPPED;
    end else if (start_refused) begin
      failed_code = kiln_control_pkg::ERROR_ADDRESS;
    end else if (decode_error) begin
      failed_code = decode_code;
      failed_word = decode_word;
    end else if (fetch_fault || port_fault) begin
      failed_code = kiln_control_pkg::ERROR_BUS;
      failed_instruction = finished;
    end else if (range_fault) begin
      failed_code = kiln_control_pkg::ERROR_RANGE;
      failed_instruction = finished;
    end else if (exhausted && !ended && !complete) begin
      failed_code = kiln_control_pkg::ERROR_PROGRAM_END;
    end else if (watchdog_expired) begin
      failed_code = kiln_control_pkg::ERROR_WATCHDOG;
      failed_instruction = finished;
    end else begin
      failed_code = kiln_control_pkg::ERROR_NONE;
      failed = 1'b0;
    end
  end

  logic end_taken, running_next;
  assign running_next = start || (running && !failed && !done);
  always_ff @(posedge clock) begin
    if (reset) begin
      running  <= 1'b0;
      stopping <= 1'b0;
    end else begin
      running  <= running_next;
      stopping <= failed || done || (stopping && !(ports_idle && fetch_idle));
    end
    if (start) begin
      start_refused <= bad_start;
      ended         <= 1'b0;
    end else if (end_taken) begin
      ended <= 1'b1;
    end
    if (start) cycles <= '0;
    else if (running && !failed && !done) cycles <= cycles + 1'b1;
    if (start) finished_count <= '0;
    else if (running) finished_count <= finished;
  end

  logic [QUEUES-1:0] halted;  // copies of !running
  assign unit_resets = halted | {QUEUES{reset}};
  for (genvar i = 0; i < QUEUES; i++) begin : g_reset
    kiln_copy_register copy (
        .clock,
        .reset,
        .in (!running_next),
        .out(halted[i])
    );
  end

  // ---- Watchdog: counts the cycles since an instruction last finished.
  logic [31:0] quiet;
  logic progress;
  assign progress = finished != INDEX_BITS'(finished_count);
  assign watchdog_expired = quiet >= watchdog_limit;
  always_ff @(posedge clock) begin
    if (start || progress) quiet <= '0;
    else if (running && !watchdog_expired) quiet <= quiet + 1'b1;
  end

  // ---- The program's words.
  logic word_valid, word_ready, word_allowed, decoder_ready, begins;
  logic [kiln_systolic_pkg::WORD_BITS-1:0] word;
  kiln_program_fetch #(
      .INSTRUCTION_BYTES_PER_CYCLE(INSTRUCTION_BYTES_PER_CYCLE),
      .PREFETCH_WORDS(PREFETCH_WORDS),
      .MEMORY_BYTES(MEMORY_BYTES)
  ) fetch (
      .clock,
      .reset,
      .port_reset,
      .start(start && !bad_start),
      .start_address(program_address),
      .stop(failed || done || end_taken),
      .word_valid,
      .word_ready,
      .word,
      .turn_request(program_turn_request),
      .port_free(program_port_free),
      .turn(program_turn),
      .exhausted,
      .fault(fetch_fault),
      .idle(fetch_idle),
      .axi_arvalid(program_arvalid),
      .axi_arready(program_arready),
      .axi_araddr(program_araddr),
      .axi_arlen(program_arlen),
      .axi_arsize(program_arsize),
      .axi_arburst(program_arburst),
      .axi_rvalid(program_rvalid),
      .axi_rready(program_rready),
      .axi_rdata(program_rdata),
      .axi_rresp(program_rresp),
      .axi_rlast(program_rlast)
  );

  // A word takes WORD_CYCLES cycles even if several words wait, so that time does not depend on how
  // far ahead fetch is.
  logic [1:0] pace;
  logic complete, push, slot_free, word_taken;
  logic [INDEX_BITS-1:0] in_flight;
  assign in_flight = number - finished;
  assign slot_free = in_flight < INDEX_BITS'(SLOTS);
  assign word_allowed = running && !ended && pace == 2'(WORD_CYCLES - 1) && (!begins || slot_free);
  assign word_ready = decoder_ready && word_allowed;
  assign word_taken = word_valid && word_ready;
  always_ff @(posedge clock) begin
    if (start) pace <= 2'(WORD_CYCLES - 1);
    else if (word_taken || complete) pace <= '0;
    else if (pace != 2'(WORD_CYCLES - 1)) pace <= pace + 1'b1;
  end

  kiln_systolic_pkg::header_t header;
  kiln_systolic_pkg::tiling_t tiling;
  kiln_systolic_pkg::reduction_t reduction;
  kiln_systolic_pkg::region_t region;
  kiln_systolic_pkg::input_t image;
  kiln_systolic_pkg::input_scales_t input_scales;
  kiln_systolic_pkg::weights_t weights;
  kiln_systolic_pkg::weight_scales_t weight_scales;
  kiln_systolic_pkg::parameters_t parameters;
  kiln_systolic_pkg::vector_t loops;
  kiln_systolic_pkg::window_t window;
  kiln_systolic_pkg::stream_t operand0, operand1, operand2, target;
  kiln_systolic_pkg::stream_scales_t operand0_scales, operand1_scales, operand2_scales,
      target_scales;
  kiln_systolic_pkg::pass_t pass0, pass1, pass2, pass3;
  kiln_systolic_pkg::stage_t stage;
  logic [1:0] stage_pass;
  logic [3:0] stage_number;
  logic stage_scalar;
  logic matrix, depthwise, is_end;  // the instruction's kind
  kiln_instruction_decoder #(
      .ARRAY_ROWS(ARRAY_ROWS),
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .INPUT_BUFFER_WORDS(INPUT_BUFFER_WORDS),
      .WEIGHT_BUFFER_WORDS(WEIGHT_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_WORDS(ACCUMULATION_BUFFER_WORDS),
      .DEPTHWISE_MULTIPLIERS(DEPTHWISE_MULTIPLIERS),
      .DEPTHWISE_BUFFER_WORDS(DEPTHWISE_BUFFER_WORDS),
      .USER_UNIT(USER_UNIT),
      .VECTOR_STAGES(VECTOR_STAGES),
      .VECTOR_FUNCTION_STAGES(VECTOR_FUNCTION_STAGES),
      .VECTOR_DIVIDE_STAGES(VECTOR_DIVIDE_STAGES),
      .VECTOR_ROWS_IN_FLIGHT(VECTOR_ROWS_IN_FLIGHT),
      .BLOCK_SIZE(BLOCK_SIZE),
      .PRECISIONS(PRECISIONS),
      .INTEGER_ELEMENTS(INTEGER_ELEMENTS),
      .SCALE_BITS(SCALE_BITS),
      .MEMORY_BYTES(MEMORY_BYTES)
  ) decoder (
      .clock,
      .reset,
      .clear(start),
      .word_valid(word_valid && word_allowed),
      .word_ready(decoder_ready),
      .word,
      .begins,
      .complete,
      .next(push || end_taken),
      .error(decode_error),
      .error_code(decode_code),
      .place(decode_word),
      .matrix,
      .depthwise,
      .is_end,
      .header,
      .tiling,
      .reduction,
      .region,
      .image,
      .input_scales,
      .weights,
      .weight_scales,
      .parameters,
      .loops,
      .window,
      .operand0,
      .operand1,
      .operand2,
      .target,
      .operand0_scales,
      .operand1_scales,
      .operand2_scales,
      .target_scales,
      .pass0,
      .pass1,
      .pass2,
      .pass3,
      .stage_valid(stage_write_valid),
      .stage_pass,
      .stage_scalar,
      .stage_number,
      .stage
  );
  logic [SLOT_BITS-1:0] slot;
  assign stage_write = {slot, stage_pass, stage_scalar, stage_number, stage};

  // ---- Dispatch.
  logic convolution;
  logic [QUEUES-1:0] uses, room, pushes;
  logic [INDEX_BITS-1:0] first_block;
  assign convolution = matrix || depthwise;
  // A queue takes the instruction as soon as it has room; `push` is the cycle in which the last one
  // does.
  logic offered;
  logic [QUEUES-1:0] sent;  // the queues that have taken the instruction in an earlier cycle
  assign offered = running && complete && !is_end;
  assign push = offered && (room | sent | ~uses) == '1;
  assign end_taken = running && complete && is_end;
  always_ff @(posedge clock) begin
    if (start) begin
      number      <= '0;
      first_block <= '0;
      slot        <= '0;
    end else if (push) begin
      number <= number + 1'b1;
      first_block <= first_block + tiling.visits;  // 0 without a tiling
      slot <= slot == SLOT_BITS'(SLOTS - 1) ? '0 : slot + 1'b1;
    end
    if (start || push) sent <= '0;
    else if (offered) sent <= sent | (uses & room);
  end

  assign uses = {1'b1, convolution, depthwise, matrix, matrix, convolution, convolution};
  assign pushes = uses & room & ~sent & {QUEUES{offered}};
  kiln_command_queues #(
      .DEPTH(COMMAND_QUEUE_DEPTH),
      .BLOCKS(BLOCKS),
      .INTEGER_ELEMENTS(INTEGER_ELEMENTS),
      .SCALE_BITS(SCALE_BITS)
  ) queues (
      .clock,
      .resets(unit_resets),
      .pushes(pushes),
      .rooms(room),
      .number,
      .first_block,
      .slot,
      .header,
      .tiling,
      .reduction,
      .region,
      .image,
      .input_scales,
      .weights,
      .weight_scales,
      .parameters,
      .loops,
      .window,
      .operand0,
      .operand1,
      .operand2,
      .target,
      .operand0_scales,
      .operand1_scales,
      .operand2_scales,
      .target_scales,
      .pass0,
      .pass1,
      .pass2,
      .pass3,
      .input_fetch_command_valid,
      .input_fetch_command_ready,
      .input_fetch_command,
      .input_fetch_scales,
      .weight_fetch_command_valid,
      .weight_fetch_command_ready,
      .weight_fetch_command,
      .weight_fetch_scales,
      .weight_load_command_valid,
      .weight_load_command_ready,
      .weight_load_command,
      .array_command_valid,
      .array_command_ready,
      .array_command,
      .depthwise_command_valid,
      .depthwise_command_ready,
      .depthwise_command,
      .parameter_fetch_command_valid,
      .parameter_fetch_command_ready,
      .parameter_fetch_command,
      .vector_command_valid,
      .vector_command_ready,
      .vector_command,
      .vector_scales
  );

  // ---- Counters.
  kiln_control_pkg::activity_t activity_command;
  assign activity_command.busy = word_taken || push || end_taken;
  // Waits for the program's next word.
  assign activity_command.stalled[0] = word_allowed && decoder_ready && !word_valid;
  assign activity_command.stalled[1] = complete && !is_end && !push;  // waits for a queue
  // The stage memories are full.
  assign activity_command.stalled[2] = !complete && !ended && begins && !slot_free;
  assign activity_command.bytes_read = word_taken ? kiln_control_pkg::BYTES_BITS'(16) : '0;
  assign activity_command.bytes_written = '0;
  kiln_performance_counters #(
      .PERFORMANCE_COUNTERS(PERFORMANCE_COUNTERS)
  ) counters (
      .clock,
      .reset,
      .clear(start),
      .count(running && !failed && !done),
      .activity_input_fetch,
      .activity_weight_fetch,
      .activity_weight_load,
      .activity_array,
      .activity_depthwise,
      .activity_parameter_fetch,
      .activity_vector,
      .activity_command,
      .read_unit,
      .read_counter,
      .read_valid,
      .read_value
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_state : assert (!(running && stopping));
      ends_one_way : assert (!(done && failed));
      starts_when_idle : assert (!start || idle);
      slots_in_range : assert (!running || 32'(slot) < SLOTS);
      in_flight_within_slots : assert (!running || 32'(in_flight) <= SLOTS);
      no_command_lost : assert (!push || (sent | pushes) == uses);
      no_command_twice : assert ((sent & pushes) == '0);
      words_only_while_running : assert (!word_taken || running);
      done_has_nothing_in_flight : assert (!done || in_flight == '0);
    end
  end
`endif
endmodule
