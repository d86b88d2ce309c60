// The systolic accelerator: the machine of docs/systolic.md with five AXI4 ports (nine with block
// scales) and an AXI4-Lite register interface.
//
//   program ─▶ command processor ─▶ a queue in front of every unit
//   input   ─▶ input fetch ──▶ input buffer ──▶ array ─▶ accumulators ─▶ vector unit ─▶ output
//   weight  ─▶ weight fetch ─▶ weight buffer ─────┘                 ▲       ▲   ▲
//              both fetches ─▶ depthwise buffers ─▶ depthwise unit ─┘       │   │
//   operand ─▶ parameter fetch ─▶ parameter buffer ─────────────────────────┘   │
//   operand ─▶ operands ────────────────────────────────────────────────────────┘
//
// Parameters have the names of the design point's keys in capitals
// (src/kiln/targets/systolic/config/config.h). The file of each unit describes the unit's timing;
// docs/systolic.md, "Time", describes that of the machine. Cycles equal those of the cycle level if
// the memory has a latency of MEMORY_LATENCY - PORT_LATENCY and the ports never wait for it
// (kiln_axi_pkg; SHARED_PORT_LATENCY with kiln_shared_bus).
//
// A run begins when CONTROL is written. `running` is high from its first cycle, cycle 0, on;
// `finished` counts the instructions whose last byte is in memory in the current cycle.
module kiln_systolic #(
    parameter int unsigned ARRAY_ROWS = 4,
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter int unsigned WEIGHT_ROWS_PER_CYCLE = 1,
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    // Pairs of operand formats of the array, selected by the instruction: the two above and those
    // below.
    parameter int unsigned PRECISIONS = 1,
    // The codes of the other formats take as many bytes as those of the first.
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    // The vector unit reads and writes integers.
    parameter bit INTEGER_ELEMENTS = 1'b1,
    // Constant weights may be packed in memory (kiln_weight_fetch).
    parameter bit PACKED_WEIGHTS = 1'b0,
    parameter bit PRODUCT_ROUNDED = 1'b0,
    parameter int unsigned ARRAY_PRODUCT_LATENCY = 0,  // cycles
    parameter int unsigned ARRAY_SUM_LATENCY = 1,      // cycles
    parameter int unsigned ACCUMULATION_LATENCY = 1,   // cycles
    parameter kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    // A signed float that fp32 can represent, rounded to nearest even.
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter kiln_spline_pkg::tables_t VECTOR_SPLINES =
        VECTOR_FORMAT == kiln_named_formats_pkg::BF16 ? kiln_spline_tables_pkg::BF16 :
        // The spline tables of VECTOR_FORMAT (kiln_spline). A format that is not named here needs
        // its own tables.
        VECTOR_FORMAT == kiln_named_formats_pkg::FP16 ? kiln_spline_tables_pkg::FP16 :
            kiln_spline_tables_pkg::FP32,
    // Elements that share a scale; 0: no block scales, and the ports for them are unused.
    parameter int unsigned BLOCK_SIZE = 0,
    parameter kiln_format_pkg::format_t SCALE_FORMAT = kiln_named_formats_pkg::E8M0,
    parameter int unsigned INPUT_BUFFER_WORDS = 1024,
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_BANKS = 2,
    parameter int unsigned PARAMETER_BUFFER_WORDS = 32,
    parameter int unsigned VECTOR_STAGES = 4,
    parameter int unsigned VECTOR_STAGE_LATENCY = 4,  // cycles
    parameter int unsigned VECTOR_FUNCTION_LATENCY = 0,  // cycles
    parameter int unsigned VECTOR_CONVERT_LATENCY = 0,  // cycles
    // Bit i: stage i has the approximate functions, or a divider; the lanes and the scalar stages
    // alike. (The default is not '1, of which Yosys keeps the lowest bit.)
    parameter logic [VECTOR_STAGES-1:0] VECTOR_FUNCTION_STAGES = {VECTOR_STAGES{1'b1}},
    parameter logic [VECTOR_STAGES-1:0] VECTOR_DIVIDE_STAGES = {VECTOR_STAGES{1'b1}},
    parameter int unsigned VECTOR_ROW_BUFFER_WORDS = 1024,
    parameter int unsigned VECTOR_ROWS_IN_FLIGHT = 8,
    parameter int unsigned OPERAND_BUFFER_WORDS = 32,
    parameter int unsigned DEPTHWISE_MULTIPLIERS = 9,  // 0: no depthwise unit
    parameter int unsigned DEPTHWISE_BUFFER_WORDS = 1024,
    parameter int unsigned DEPTHWISE_SUM_LATENCY = 1,  // cycles
    parameter int unsigned USER_UNIT = 0,  // number of the unit in kiln_user_unit; 0: none
    parameter int unsigned DEPTHWISE_WORDS_PER_CYCLE = 1,
    parameter int unsigned INPUT_PORT_BYTES = 16,
    parameter int unsigned WEIGHT_PORT_BYTES = 16,
    parameter int unsigned OPERAND_PORT_BYTES = 16,
    parameter int unsigned OUTPUT_PORT_BYTES = 16,
    parameter int unsigned INSTRUCTION_BYTES_PER_CYCLE = 16,
    // Cycles of latency that the ports hide by requests in flight and words read ahead.
    parameter int unsigned MEMORY_LATENCY = 16,
    parameter longint unsigned MEMORY_BYTES = 64'd1 << 30,
    parameter int unsigned COMMAND_QUEUE_DEPTH = 4,
    // The ports share one bus (kiln_shared_bus) and request it in turn.
    parameter bit SHARED_BUS = 1'b0,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,  // derived, do not set
    localparam int unsigned SCALE_PORT_BITS = kiln_systolic_pkg::SCALE_PORT_BYTES * 8
) (
    input  logic clock,
    input  logic reset,
    // AXI4-Lite slave: registers (kiln_control_pkg), and the interrupt
    input  logic control_awvalid,
    output logic control_awready,
    input  logic [11:0] control_awaddr,
    input  logic control_wvalid,
    output logic control_wready,
    input  logic [31:0] control_wdata,
    input  logic [3:0] control_wstrb,
    output logic control_bvalid,
    input  logic control_bready,
    output logic [1:0] control_bresp,
    input  logic control_arvalid,
    output logic control_arready,
    input  logic [11:0] control_araddr,
    output logic control_rvalid,
    input  logic control_rready,
    output logic [31:0] control_rdata,
    output logic [1:0] control_rresp,
    output logic irq,
    // AXI4 master: the program
    output logic program_arvalid,
    input  logic program_arready,
    output logic [ADDRESS_BITS-1:0] program_araddr,
    output logic [7:0] program_arlen,
    output logic [2:0] program_arsize,
    output logic [1:0] program_arburst,
    input  logic program_rvalid,
    output logic program_rready,
    input  logic [INSTRUCTION_BYTES_PER_CYCLE*8-1:0] program_rdata,
    input  logic [1:0] program_rresp,
    input  logic program_rlast,
    // AXI4 master: inputs
    output logic input_arvalid,
    input  logic input_arready,
    output logic [ADDRESS_BITS-1:0] input_araddr,
    output logic [7:0] input_arlen,
    output logic [2:0] input_arsize,
    output logic [1:0] input_arburst,
    input  logic input_rvalid,
    output logic input_rready,
    input  logic [INPUT_PORT_BYTES*8-1:0] input_rdata,
    input  logic [1:0] input_rresp,
    input  logic input_rlast,
    // AXI4 master: weights
    output logic weight_arvalid,
    input  logic weight_arready,
    output logic [ADDRESS_BITS-1:0] weight_araddr,
    output logic [7:0] weight_arlen,
    output logic [2:0] weight_arsize,
    output logic [1:0] weight_arburst,
    input  logic weight_rvalid,
    output logic weight_rready,
    input  logic [WEIGHT_PORT_BYTES*8-1:0] weight_rdata,
    input  logic [1:0] weight_rresp,
    input  logic weight_rlast,
    // AXI4 master: channel parameters and operands of the vector unit
    output logic operand_arvalid,
    input  logic operand_arready,
    output logic [ADDRESS_BITS-1:0] operand_araddr,
    output logic [7:0] operand_arlen,
    output logic [2:0] operand_arsize,
    output logic [1:0] operand_arburst,
    input  logic operand_rvalid,
    output logic operand_rready,
    input  logic [OPERAND_PORT_BYTES*8-1:0] operand_rdata,
    input  logic [1:0] operand_rresp,
    input  logic operand_rlast,
    // AXI4 master: results
    output logic output_awvalid,
    input  logic output_awready,
    output logic [ADDRESS_BITS-1:0] output_awaddr,
    output logic [7:0] output_awlen,
    output logic [2:0] output_awsize,
    output logic [1:0] output_awburst,
    output logic output_wvalid,
    input  logic output_wready,
    output logic [OUTPUT_PORT_BYTES*8-1:0] output_wdata,
    output logic [OUTPUT_PORT_BYTES-1:0] output_wstrb,
    output logic output_wlast,
    input  logic output_bvalid,
    output logic output_bready,
    input  logic [1:0] output_bresp,
    // AXI4 masters: block scales of the inputs, the weights, the vector unit's operands, and the
    // results
    output logic input_scale_arvalid,
    input  logic input_scale_arready,
    output logic [ADDRESS_BITS-1:0] input_scale_araddr,
    output logic [7:0] input_scale_arlen,
    output logic [2:0] input_scale_arsize,
    output logic [1:0] input_scale_arburst,
    input  logic input_scale_rvalid,
    output logic input_scale_rready,
    input  logic [SCALE_PORT_BITS-1:0] input_scale_rdata,
    input  logic [1:0] input_scale_rresp,
    input  logic input_scale_rlast,
    output logic weight_scale_arvalid,
    input  logic weight_scale_arready,
    output logic [ADDRESS_BITS-1:0] weight_scale_araddr,
    output logic [7:0] weight_scale_arlen,
    output logic [2:0] weight_scale_arsize,
    output logic [1:0] weight_scale_arburst,
    input  logic weight_scale_rvalid,
    output logic weight_scale_rready,
    input  logic [SCALE_PORT_BITS-1:0] weight_scale_rdata,
    input  logic [1:0] weight_scale_rresp,
    input  logic weight_scale_rlast,
    output logic operand_scale_arvalid,
    input  logic operand_scale_arready,
    output logic [ADDRESS_BITS-1:0] operand_scale_araddr,
    output logic [7:0] operand_scale_arlen,
    output logic [2:0] operand_scale_arsize,
    output logic [1:0] operand_scale_arburst,
    input  logic operand_scale_rvalid,
    output logic operand_scale_rready,
    input  logic [SCALE_PORT_BITS-1:0] operand_scale_rdata,
    input  logic [1:0] operand_scale_rresp,
    input  logic operand_scale_rlast,
    output logic output_scale_awvalid,
    input  logic output_scale_awready,
    output logic [ADDRESS_BITS-1:0] output_scale_awaddr,
    output logic [7:0] output_scale_awlen,
    output logic [2:0] output_scale_awsize,
    output logic [1:0] output_scale_awburst,
    output logic output_scale_wvalid,
    input  logic output_scale_wready,
    output logic [SCALE_PORT_BITS-1:0] output_scale_wdata,
    output logic [SCALE_PORT_BITS/8-1:0] output_scale_wstrb,
    output logic output_scale_wlast,
    input  logic output_scale_bvalid,
    output logic output_scale_bready,
    input  logic [1:0] output_scale_bresp,
    // Whether a program is running, and how many of its instructions are finished, modulo 2^16
    output logic running,
    output logic [15:0] finished
);
  localparam int unsigned INDEX_BITS = kiln_systolic_pkg::INDEX_BITS;
  localparam int unsigned COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam int unsigned OUTSTANDING = MEMORY_LATENCY + 4;
  // Programs in the vector unit's stage memories.
  localparam int unsigned SLOTS = COMMAND_QUEUE_DEPTH + 8;
  localparam int INPUT_BITS =
      kiln_format_pkg::most_bits(INPUT_FORMAT, OTHER_INPUT_FORMATS, PRECISIONS);
  localparam int WEIGHT_BITS =
      kiln_format_pkg::most_bits(WEIGHT_FORMAT, OTHER_WEIGHT_FORMATS, PRECISIONS);
  localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT);
  localparam int ACCUMULATION_BITS = kiln_format_pkg::bits(ACCUMULATION_FORMAT);
  localparam int SCALE_BITS = kiln_format_pkg::bits(SCALE_FORMAT);
  localparam int unsigned SCALE_BYTES = SCALE_BITS > 16 ? 4 : SCALE_BITS > 8 ? 2 : 1;
  localparam int unsigned SCALE_BYTES_BITS = $clog2(SCALE_BYTES + 1);
  localparam int unsigned LONGEST = ARRAY_ROWS > ARRAY_COLUMNS ? ARRAY_ROWS : ARRAY_COLUMNS;
  localparam int unsigned LANE_BITS = $clog2(LONGEST + 1);
  localparam int unsigned LANE_INDEX_BITS = LONGEST > 1 ? $clog2(LONGEST) : 1;
  localparam int unsigned INPUT_CODE_BYTES = INPUT_BITS > 16 ? 4 : INPUT_BITS > 8 ? 2 : 1;
  localparam int unsigned WEIGHT_CODE_BYTES = WEIGHT_BITS > 16 ? 4 : WEIGHT_BITS > 8 ? 2 : 1;
  localparam int unsigned TILES = WEIGHT_BUFFER_WORDS / ARRAY_ROWS;
  localparam int unsigned TILE_BITS = TILES > 1 ? $clog2(TILES) : 1;
  localparam int unsigned INPUT_PLACE_BITS =
      INPUT_BUFFER_WORDS > 1 ? $clog2(INPUT_BUFFER_WORDS) : 1;
  localparam int unsigned DEPTHWISE_PLACE_BITS =
      DEPTHWISE_BUFFER_WORDS > 1 ? $clog2(DEPTHWISE_BUFFER_WORDS) : 1;
  localparam int unsigned ACCUMULATION_PLACE_BITS =
      ACCUMULATION_BUFFER_WORDS > 1 ? $clog2(ACCUMULATION_BUFFER_WORDS) : 1;
  localparam int unsigned PARAMETER_PLACE_BITS =
      PARAMETER_BUFFER_WORDS > 1 ? $clog2(PARAMETER_BUFFER_WORDS) : 1;

  // ---- Control unit
  logic unit_reset, port_reset, ports_idle, port_fault, range_fault;
  logic [6:0] unit_resets;  // of input fetch, weight fetch, weight loader, array, ...
  logic [INDEX_BITS-1:0] vector_done;
  logic input_fetch_command_valid, input_fetch_command_ready;
  kiln_systolic_pkg::input_fetch_command_t input_fetch_command;
  logic weight_fetch_command_valid, weight_fetch_command_ready;
  kiln_systolic_pkg::weight_fetch_command_t weight_fetch_command;
  logic weight_load_command_valid, weight_load_command_ready;
  kiln_systolic_pkg::weight_load_command_t weight_load_command;
  logic array_command_valid, array_command_ready;
  kiln_systolic_pkg::array_command_t array_command;
  logic depthwise_command_valid, depthwise_command_ready;
  kiln_systolic_pkg::array_command_t depthwise_command;
  logic parameter_fetch_command_valid, parameter_fetch_command_ready;
  kiln_systolic_pkg::parameter_fetch_command_t parameter_fetch_command;
  logic vector_command_valid, vector_command_ready;
  kiln_systolic_pkg::vector_command_t vector_command;
  logic stage_write_valid;
  kiln_systolic_pkg::stage_write_t stage_write;
  kiln_control_pkg::activity_t activity_input_fetch, activity_weight_fetch, activity_weight_load,
      activity_array;
  kiln_control_pkg::activity_t activity_depthwise, activity_parameter_fetch, activity_vector;

  kiln_systolic_pkg::input_scales_t input_fetch_scales;
  kiln_systolic_pkg::weight_scales_t weight_fetch_scales;
  kiln_systolic_pkg::vector_scales_t vector_scales;

  kiln_command_processor #(
      .BLOCK_SIZE                 (BLOCK_SIZE),
      .PRECISIONS                 (PRECISIONS),
      .INTEGER_ELEMENTS           (INTEGER_ELEMENTS),
      .SCALE_BITS                 (kiln_vector_pkg::scale_bits(VECTOR_FORMAT)),
      .ARRAY_ROWS                 (ARRAY_ROWS),
      .ARRAY_COLUMNS              (ARRAY_COLUMNS),
      .INPUT_BUFFER_WORDS         (INPUT_BUFFER_WORDS),
      .WEIGHT_BUFFER_WORDS        (WEIGHT_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_WORDS  (ACCUMULATION_BUFFER_WORDS),
      .DEPTHWISE_MULTIPLIERS      (DEPTHWISE_MULTIPLIERS),
      .DEPTHWISE_BUFFER_WORDS     (DEPTHWISE_BUFFER_WORDS),
      .USER_UNIT                  (USER_UNIT),
      .VECTOR_STAGES              (VECTOR_STAGES),
      .VECTOR_FUNCTION_STAGES     (VECTOR_FUNCTION_STAGES),
      .VECTOR_DIVIDE_STAGES       (VECTOR_DIVIDE_STAGES),
      .VECTOR_ROWS_IN_FLIGHT      (VECTOR_ROWS_IN_FLIGHT),
      .MEMORY_BYTES               (MEMORY_BYTES),
      .INSTRUCTION_BYTES_PER_CYCLE(INSTRUCTION_BYTES_PER_CYCLE),
      .COMMAND_QUEUE_DEPTH        (COMMAND_QUEUE_DEPTH),
      .PREFETCH_WORDS             (MEMORY_LATENCY + 16),
      .SLOTS                      (SLOTS)
  ) command_processor (
      .cycles             (),
      .*
  );
  assign running = !unit_reset;
  wire unused_resets = &{1'b0, unit_resets};  // of units that the machine lacks

  // ---- Bus turns of a shared bus: program, inputs, weights, operands. Results need no turn,
  // because they are the only user of the write channels.
  localparam int unsigned READERS = 4;
  logic program_turn_request, program_port_free, program_turn, input_turn_request, input_port_free,
      input_turn;
  logic weight_turn_request, weight_port_free, weight_turn, operand_turn_request, operand_port_free,
      operand_turn;
  logic [READERS-1:0] turn_requests, ports_free, turns;
  assign turn_requests =
      {operand_turn_request, weight_turn_request, input_turn_request, program_turn_request};
  assign ports_free    = {operand_port_free, weight_port_free, input_port_free, program_port_free};
  assign {operand_turn, weight_turn, input_turn, program_turn} = turns;
  if (SHARED_BUS) begin : g_shared_bus
    kiln_bus_turns #(
        .MASTERS(READERS)
    ) bus_turns (
        .clock,
        .reset(port_reset),
        .request(turn_requests),
        .port_free(ports_free),
        .turn(turns)
    );
  end else begin : g_own_buses
    assign turns = '1;
    wire unused_turns = &{1'b0, turn_requests, ports_free};
  end

  // ---- Block scales: the ports to memory
  localparam int unsigned INPUT_SCALE_TAG_BITS = 3 + INPUT_PLACE_BITS;
  localparam int unsigned COLUMN_BITS = ARRAY_COLUMNS > 1 ? $clog2(ARRAY_COLUMNS) : 1;
  localparam int unsigned WEIGHT_SCALE_TAG_BITS = 2 + TILE_BITS + COLUMN_BITS;
  logic scales_idle, scales_fault, scales_range_fault;
  logic input_scale_request_valid, input_scale_request_ready, input_scale_word_valid;
  logic [ADDRESS_BITS-1:0] input_scale_request_address;
  logic [SCALE_BYTES_BITS-1:0] input_scale_request_bytes;
  logic [INPUT_SCALE_TAG_BITS-1:0] input_scale_request_tag, input_scale_word_tag;
  logic [SCALE_BYTES*8-1:0] input_scale_word_data, weight_scale_word_data, operand_scale_word_data,
      output_scale_request_data;
  logic input_scale_write_enable, input_scale_write_bank, input_scale_write_one;
  logic [INPUT_PLACE_BITS-1:0] input_scale_write_address;
  logic [SCALE_BITS-1:0] input_scale_write_data, weight_scale_write_data;
  logic weight_scale_request_valid, weight_scale_request_ready, weight_scale_word_valid;
  logic [ADDRESS_BITS-1:0] weight_scale_request_address;
  logic [WEIGHT_SCALE_TAG_BITS-1:0] weight_scale_request_tag, weight_scale_word_tag;
  logic weight_scale_write_enable, weight_scale_write_bank;
  logic [TILE_BITS-1:0] weight_scale_write_tile;
  logic [COLUMN_BITS-1:0] weight_scale_write_column;
  logic operand_scale_request_valid, operand_scale_request_ready, operand_scale_word_valid,
      operand_scale_word_ready;
  logic [ADDRESS_BITS-1:0] operand_scale_request_address, output_scale_request_address;
  kiln_vector_pkg::scale_tag_t operand_scale_request_tag, operand_scale_word_tag;
  logic output_scale_request_valid, output_scale_request_ready, output_scale_request_tag,
      output_scale_done, output_scale_done_tag;

  kiln_scale_ports #(
      .BLOCK_SIZE     (BLOCK_SIZE),
      .SCALE_BYTES    (SCALE_BYTES),
      .INPUT_TAG_BITS (INPUT_SCALE_TAG_BITS),
      .WEIGHT_TAG_BITS(WEIGHT_SCALE_TAG_BITS),
      .OUTSTANDING    (OUTSTANDING),
      .MEMORY_BYTES   (MEMORY_BYTES)
  ) scale_ports (
      .idle       (scales_idle),
      .fault      (scales_fault),
      .range_fault(scales_range_fault),
      .*
  );

  // ---- Input fetch
  localparam int unsigned DEPTHWISE_LANES = DEPTHWISE_WORDS_PER_CYCLE * ARRAY_COLUMNS;
  localparam int unsigned DEPTHWISE_COUNT_BITS =
      DEPTHWISE_WORDS_PER_CYCLE > 1 ? $clog2(DEPTHWISE_WORDS_PER_CYCLE) : 1;
  // Lanes of a request.
  localparam int unsigned INPUT_LANES = ARRAY_ROWS > DEPTHWISE_LANES ? ARRAY_ROWS : DEPTHWISE_LANES;
  localparam int unsigned INPUT_BYTES = INPUT_LANES * INPUT_CODE_BYTES;
  localparam int unsigned INPUT_BYTES_BITS = $clog2(INPUT_BYTES + 1);
  localparam int unsigned INPUT_WORDS =
      INPUT_BUFFER_WORDS > DEPTHWISE_BUFFER_WORDS ? INPUT_BUFFER_WORDS : DEPTHWISE_BUFFER_WORDS;
  localparam int unsigned INPUT_TAG_BITS = (BLOCK_SIZE > 0 ? 4 : 3) +
      (INPUT_WORDS > 1 ? $clog2(INPUT_WORDS) : 1) + 2 * $clog2(INPUT_LANES + 1) + INPUT_BITS;
  logic input_request_valid, input_request_ready, input_word_valid, input_idle, input_fault,
      input_range_fault;
  logic [ADDRESS_BITS-1:0] input_request_address;
  logic [INPUT_BYTES_BITS-1:0] input_request_bytes;
  logic [INPUT_TAG_BITS-1:0] input_request_tag, input_word_tag;
  logic [INPUT_BYTES*8-1:0] input_word_data;
  logic input_write_enable, input_write_bank, input_filled, input_released;
  logic [INPUT_PLACE_BITS-1:0] input_write_address;
  logic [ARRAY_ROWS*INPUT_BITS-1:0] input_write_data;
  logic depthwise_input_write_enable, depthwise_input_write_bank, depthwise_input_filled,
      depthwise_input_released;
  logic [DEPTHWISE_PLACE_BITS-1:0] depthwise_input_write_address;
  logic [DEPTHWISE_COUNT_BITS-1:0] depthwise_input_write_words;
  logic [DEPTHWISE_LANES*INPUT_BITS-1:0] depthwise_input_write_data;
  logic input_busy, input_stalled_previous, input_stalled_bank;
  logic [INPUT_BYTES_BITS-1:0] input_bytes_read;

  kiln_input_fetch #(
      .ARRAY_ROWS               (ARRAY_ROWS),
      .ARRAY_COLUMNS            (ARRAY_COLUMNS),
      .INPUT_BITS               (INPUT_BITS),
      .INPUT_BUFFER_WORDS       (INPUT_BUFFER_WORDS),
      .DEPTHWISE_BUFFER_WORDS   (DEPTHWISE_BUFFER_WORDS),
      .DEPTHWISE_WORDS_PER_CYCLE(DEPTHWISE_WORDS_PER_CYCLE),
      .BLOCK_SIZE               (BLOCK_SIZE),
      .SCALE_BITS               (SCALE_BITS)
  ) input_fetch (
      .clock                  (clock),
      .reset                  (unit_resets[0]),
      .command_valid          (input_fetch_command_valid),
      .command_ready          (input_fetch_command_ready),
      .command                (input_fetch_command),
      .finished               (finished),
      .request_valid          (input_request_valid),
      .request_ready          (input_request_ready),
      .request_address        (input_request_address),
      .request_bytes          (input_request_bytes),
      .request_tag            (input_request_tag),
      .word_valid             (input_word_valid),
      .word_data              (input_word_data),
      .word_tag               (input_word_tag),
      .array_write_enable     (input_write_enable),
      .array_write_bank       (input_write_bank),
      .array_write_address    (input_write_address),
      .array_write_data       (input_write_data),
      .array_filled           (input_filled),
      .array_released         (input_released),
      .depthwise_write_enable (depthwise_input_write_enable),
      .depthwise_write_bank   (depthwise_input_write_bank),
      .depthwise_write_address(depthwise_input_write_address),
      .depthwise_write_words  (depthwise_input_write_words),
      .depthwise_write_data   (depthwise_input_write_data),
      .depthwise_filled       (depthwise_input_filled),
      .depthwise_released     (depthwise_input_released),
      .busy                   (input_busy),
      .stalled_previous       (input_stalled_previous),
      .stalled_bank           (input_stalled_bank),
      .bytes_read             (input_bytes_read),
      .command_scales         (input_fetch_scales),
      .scale_request_valid    (input_scale_request_valid),
      .scale_request_ready    (input_scale_request_ready),
      .scale_request_address  (input_scale_request_address),
      .scale_request_bytes    (input_scale_request_bytes),
      .scale_request_tag      (input_scale_request_tag),
      .scale_word_valid       (input_scale_word_valid),
      .scale_word_data        (input_scale_word_data),
      .scale_word_tag         (input_scale_word_tag),
      .scale_write_enable     (input_scale_write_enable),
      .scale_write_bank       (input_scale_write_bank),
      .scale_write_address    (input_scale_write_address),
      .scale_write_one        (input_scale_write_one),
      .scale_write_data       (input_scale_write_data)
  );

  kiln_read_channel #(
      .DATA_BYTES  (INPUT_PORT_BYTES),
      .MAX_BYTES   (INPUT_BYTES),
      .TAG_BITS    (INPUT_TAG_BITS),
      .OUTSTANDING (OUTSTANDING),
      .MEMORY_BYTES(MEMORY_BYTES)
  ) input_channel (
      .clock          (clock),
      .unit_reset     (unit_reset),
      .port_reset     (port_reset),
      .request_valid  (input_request_valid),
      .request_ready  (input_request_ready),
      .request_address(input_request_address),
      .request_bytes  (input_request_bytes),
      .request_tag    (input_request_tag),
      .word_valid     (input_word_valid),
      .word_ready     (1'b1),
      .word_data      (input_word_data),
      .word_tag       (input_word_tag),
      .turn_request   (input_turn_request),
      .port_free      (input_port_free),
      .turn           (input_turn),
      .idle           (input_idle),
      .fault          (input_fault),
      .range_fault    (input_range_fault),
      .axi_arvalid(input_arvalid),
      .axi_arready(input_arready),
      .axi_araddr (input_araddr),
      .axi_arlen  (input_arlen),
      .axi_arsize (input_arsize),
      .axi_arburst(input_arburst),
      .axi_rvalid (input_rvalid),
      .axi_rready (input_rready),
      .axi_rdata  (input_rdata),
      .axi_rresp  (input_rresp),
      .axi_rlast  (input_rlast)
  );

  // ---- Weight fetch
  localparam int unsigned WEIGHT_BYTES = LONGEST * WEIGHT_CODE_BYTES;
  localparam int unsigned WEIGHT_BYTES_BITS = $clog2(WEIGHT_BYTES + 1);
  localparam int unsigned WEIGHT_TAG_BITS = (PACKED_WEIGHTS ? 3 : 0) + (BLOCK_SIZE > 0 ? 5 : 4) +
      TILE_BITS + LANE_INDEX_BITS + LANE_BITS;
  logic weight_request_valid, weight_request_ready, weight_word_valid, weight_idle, weight_fault,
      weight_range_fault;
  logic [ADDRESS_BITS-1:0] weight_request_address;
  logic [WEIGHT_BYTES_BITS-1:0] weight_request_bytes;
  logic [WEIGHT_TAG_BITS-1:0] weight_request_tag, weight_word_tag;
  logic [WEIGHT_BYTES*8-1:0] weight_word_data;
  logic weight_write_enable, weight_write_bank, weight_write_transposed, weights_filled,
      weights_released;
  logic [TILE_BITS-1:0] weight_write_tile;
  logic [LANE_INDEX_BITS-1:0] weight_write_index;
  logic [LONGEST*WEIGHT_BITS-1:0] weight_write_data;
  logic depthwise_weight_write_enable, depthwise_weight_write_bank, depthwise_weight_write_first;
  logic depthwise_weights_filled, depthwise_weights_released;
  logic [ARRAY_COLUMNS*WEIGHT_BITS-1:0] depthwise_weight_write_data;
  logic weight_busy, weight_stalled_previous, weight_stalled_bank;
  logic [WEIGHT_BYTES_BITS-1:0] weight_bytes_read;

  kiln_weight_fetch #(
      .ARRAY_ROWS         (ARRAY_ROWS),
      .ARRAY_COLUMNS      (ARRAY_COLUMNS),
      .WEIGHT_BITS        (WEIGHT_BITS),
      .WEIGHT_BUFFER_WORDS(WEIGHT_BUFFER_WORDS),
      .PACKED_WEIGHTS     (PACKED_WEIGHTS),
      .BLOCK_SIZE         (BLOCK_SIZE),
      .SCALE_BITS         (SCALE_BITS)
  ) weight_fetch (
      .clock                 (clock),
      .reset                 (unit_resets[1]),
      .command_valid         (weight_fetch_command_valid),
      .command_ready         (weight_fetch_command_ready),
      .command               (weight_fetch_command),
      .finished              (finished),
      .request_valid         (weight_request_valid),
      .request_ready         (weight_request_ready),
      .request_address       (weight_request_address),
      .request_bytes         (weight_request_bytes),
      .request_tag           (weight_request_tag),
      .word_valid            (weight_word_valid),
      .word_data             (weight_word_data),
      .word_tag              (weight_word_tag),
      .array_write_enable    (weight_write_enable),
      .array_write_bank      (weight_write_bank),
      .array_write_tile      (weight_write_tile),
      .array_write_transposed(weight_write_transposed),
      .array_write_index     (weight_write_index),
      .array_write_data      (weight_write_data),
      .array_filled          (weights_filled),
      .array_released        (weights_released),
      .depthwise_write_enable(depthwise_weight_write_enable),
      .depthwise_write_bank  (depthwise_weight_write_bank),
      .depthwise_write_first (depthwise_weight_write_first),
      .depthwise_write_data  (depthwise_weight_write_data),
      .depthwise_filled      (depthwise_weights_filled),
      .depthwise_released    (depthwise_weights_released),
      .busy                  (weight_busy),
      .stalled_previous      (weight_stalled_previous),
      .stalled_bank          (weight_stalled_bank),
      .bytes_read            (weight_bytes_read),
      .command_scales        (weight_fetch_scales),
      .scale_request_valid   (weight_scale_request_valid),
      .scale_request_ready   (weight_scale_request_ready),
      .scale_request_address (weight_scale_request_address),
      .scale_request_tag     (weight_scale_request_tag),
      .scale_word_valid      (weight_scale_word_valid),
      .scale_word_data       (weight_scale_word_data),
      .scale_word_tag        (weight_scale_word_tag),
      .scale_write_enable    (weight_scale_write_enable),
      .scale_write_bank      (weight_scale_write_bank),
      .scale_write_tile      (weight_scale_write_tile),
      .scale_write_column    (weight_scale_write_column),
      .scale_write_data      (weight_scale_write_data)
  );

  kiln_read_channel #(
      .DATA_BYTES  (WEIGHT_PORT_BYTES),
      .MAX_BYTES   (WEIGHT_BYTES),
      .TAG_BITS    (WEIGHT_TAG_BITS),
      .OUTSTANDING (OUTSTANDING),
      .MEMORY_BYTES(MEMORY_BYTES)
  ) weight_channel (
      .clock          (clock),
      .unit_reset     (unit_reset),
      .port_reset     (port_reset),
      .request_valid  (weight_request_valid),
      .request_ready  (weight_request_ready),
      .request_address(weight_request_address),
      .request_bytes  (weight_request_bytes),
      .request_tag    (weight_request_tag),
      .word_valid     (weight_word_valid),
      .word_ready     (1'b1),
      .word_data      (weight_word_data),
      .word_tag       (weight_word_tag),
      .turn_request   (weight_turn_request),
      .port_free      (weight_port_free),
      .turn           (weight_turn),
      .idle           (weight_idle),
      .fault          (weight_fault),
      .range_fault    (weight_range_fault),
      .axi_arvalid(weight_arvalid),
      .axi_arready(weight_arready),
      .axi_araddr (weight_araddr),
      .axi_arlen  (weight_arlen),
      .axi_arsize (weight_arsize),
      .axi_arburst(weight_arburst),
      .axi_rvalid (weight_rvalid),
      .axi_rready (weight_rready),
      .axi_rdata  (weight_rdata),
      .axi_rresp  (weight_rresp),
      .axi_rlast  (weight_rlast)
  );

  // ---- Array, depthwise unit, accumulation buffer
  logic array_block_done, depthwise_block_done, accumulation_released, accumulation_read_enable,
      accumulation_read_bank;
  logic [ACCUMULATION_PLACE_BITS-1:0] accumulation_read_address;
  logic [ARRAY_COLUMNS*ACCUMULATION_BITS-1:0] accumulation_read_data;
  logic depthwise_valid, depthwise_bank;
  logic [ACCUMULATION_PLACE_BITS-1:0] depthwise_address;
  logic [ARRAY_COLUMNS*PSUM_BITS-1:0] depthwise_psums;
  logic load_busy, load_stalled_empty, load_stalled_full;
  logic array_busy, array_stalled_input, array_stalled_weights, array_stalled_accumulation;
  logic depthwise_busy, depthwise_stalled_input, depthwise_stalled_weights,
      depthwise_stalled_accumulation;

  kiln_array_cluster #(
      .ARRAY_ROWS               (ARRAY_ROWS),
      .ARRAY_COLUMNS            (ARRAY_COLUMNS),
      .WEIGHT_ROWS_PER_CYCLE    (WEIGHT_ROWS_PER_CYCLE),
      .INPUT_FORMAT             (INPUT_FORMAT),
      .WEIGHT_FORMAT            (WEIGHT_FORMAT),
      .PRECISIONS               (PRECISIONS),
      .OTHER_INPUT_FORMATS      (OTHER_INPUT_FORMATS),
      .OTHER_WEIGHT_FORMATS     (OTHER_WEIGHT_FORMATS),
      .PSUM_FORMAT              (PSUM_FORMAT),
      .ACCUMULATION_FORMAT      (ACCUMULATION_FORMAT),
      .PRODUCT_ROUNDED          (PRODUCT_ROUNDED),
      .ARRAY_PRODUCT_LATENCY    (ARRAY_PRODUCT_LATENCY),
      .ARRAY_SUM_LATENCY        (ARRAY_SUM_LATENCY),
      .ACCUMULATION_LATENCY     (ACCUMULATION_LATENCY),
      .DEPTHWISE                (DEPTHWISE_MULTIPLIERS > 0),
      .BLOCK_SIZE               (BLOCK_SIZE),
      .SCALE_FORMAT             (SCALE_FORMAT),
      .INPUT_BUFFER_WORDS       (INPUT_BUFFER_WORDS),
      .WEIGHT_BUFFER_WORDS      (WEIGHT_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_WORDS(ACCUMULATION_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_BANKS(ACCUMULATION_BUFFER_BANKS)
  ) array (
      .reset             (unit_resets[3]),
      .load_command_valid(weight_load_command_valid),
      .load_command_ready(weight_load_command_ready),
      .load_command      (weight_load_command),
      .block_done        (array_block_done),
      .*
  );

  if (DEPTHWISE_MULTIPLIERS > 0) begin : g_depthwise
    // The unit has the formats of the first precision, whose codes may have fewer bits than others.
    localparam int OWN_INPUT_BITS = kiln_format_pkg::bits(INPUT_FORMAT);
    localparam int OWN_WEIGHT_BITS = kiln_format_pkg::bits(WEIGHT_FORMAT);
    logic [DEPTHWISE_LANES*OWN_INPUT_BITS-1:0] own_inputs;
    logic [ARRAY_COLUMNS*OWN_WEIGHT_BITS-1:0] own_weights;
    for (genvar lane = 0; lane < DEPTHWISE_LANES; lane++) begin : g_input
      assign own_inputs[lane*OWN_INPUT_BITS+:OWN_INPUT_BITS] =
          depthwise_input_write_data[lane*INPUT_BITS+:OWN_INPUT_BITS];
    end
    for (genvar lane = 0; lane < ARRAY_COLUMNS; lane++) begin : g_weight
      assign own_weights[lane*OWN_WEIGHT_BITS+:OWN_WEIGHT_BITS] =
          depthwise_weight_write_data[lane*WEIGHT_BITS+:OWN_WEIGHT_BITS];
    end
    wire unused_others = &{1'b0, depthwise_input_write_data, depthwise_weight_write_data};
    kiln_depthwise_cluster #(
        .ARRAY_COLUMNS            (ARRAY_COLUMNS),
        .DEPTHWISE_MULTIPLIERS    (DEPTHWISE_MULTIPLIERS),
        .DEPTHWISE_BUFFER_WORDS   (DEPTHWISE_BUFFER_WORDS),
        .DEPTHWISE_WORDS_PER_CYCLE(DEPTHWISE_WORDS_PER_CYCLE),
        .WEIGHT_BUFFER_WORDS      (WEIGHT_BUFFER_WORDS),
        .ACCUMULATION_BUFFER_WORDS(ACCUMULATION_BUFFER_WORDS),
        .ACCUMULATION_BUFFER_BANKS(ACCUMULATION_BUFFER_BANKS),
        .ACCUMULATION_LATENCY     (ACCUMULATION_LATENCY),
        .DEPTHWISE_SUM_LATENCY    (DEPTHWISE_SUM_LATENCY),
        .INPUT_FORMAT             (INPUT_FORMAT),
        .WEIGHT_FORMAT            (WEIGHT_FORMAT),
        .PSUM_FORMAT              (PSUM_FORMAT),
        .PRODUCT_ROUNDED          (PRODUCT_ROUNDED),
        .USER_UNIT                (USER_UNIT)
    ) depthwise (
        .clock                (clock),
        .reset                (unit_resets[4]),
        .command_valid        (depthwise_command_valid),
        .command_ready        (depthwise_command_ready),
        .command              (depthwise_command),
        .input_write_enable   (depthwise_input_write_enable),
        .input_write_bank     (depthwise_input_write_bank),
        .input_write_address  (depthwise_input_write_address),
        .input_write_words    (depthwise_input_write_words),
        .input_write_data     (own_inputs),
        .input_filled         (depthwise_input_filled),
        .input_released       (depthwise_input_released),
        .weight_write_enable  (depthwise_weight_write_enable),
        .weight_write_bank    (depthwise_weight_write_bank),
        .weight_write_first   (depthwise_weight_write_first),
        .weight_write_data    (own_weights),
        .weights_filled       (depthwise_weights_filled),
        .weights_released     (depthwise_weights_released),
        .accumulate_valid     (depthwise_valid),
        .accumulate_bank      (depthwise_bank),
        .accumulate_address   (depthwise_address),
        .accumulate_psums     (depthwise_psums),
        .block_done           (depthwise_block_done),
        .accumulation_released(accumulation_released),
        .busy                 (depthwise_busy),
        .stalled_input        (depthwise_stalled_input),
        .stalled_weights      (depthwise_stalled_weights),
        .stalled_accumulation (depthwise_stalled_accumulation)
    );
  end else begin : g_no_depthwise
    assign depthwise_command_ready = 1'b0;
    assign depthwise_input_released = 1'b0;
    assign depthwise_weights_released = 1'b0;
    assign depthwise_valid = 1'b0;
    assign depthwise_bank = 1'b0;
    assign depthwise_address = '0;
    assign depthwise_psums = '0;
    assign depthwise_block_done = 1'b0;
    assign depthwise_busy = 1'b0;
    assign depthwise_stalled_input = 1'b0;
    assign depthwise_stalled_weights = 1'b0;
    assign depthwise_stalled_accumulation = 1'b0;
    wire unused_depthwise = &{
      1'b0,
      depthwise_command_valid,
      depthwise_command,
      depthwise_input_write_enable,
      depthwise_input_write_bank,
      depthwise_input_filled,
      depthwise_input_write_address,
      depthwise_input_write_words,
      depthwise_input_write_data,
      depthwise_weight_write_enable,
      depthwise_weight_write_bank,
      depthwise_weight_write_first,
      depthwise_weights_filled,
      depthwise_weight_write_data
    };
  end

  // ---- Channel parameters and the vector unit share one port. Tokens prevent simultaneous use.
  localparam int unsigned WORD_BITS = ARRAY_COLUMNS * 32;
  localparam int unsigned WORD_BYTES = ARRAY_COLUMNS * 4;
  localparam int unsigned WORD_BYTES_BITS = $clog2(WORD_BYTES + 1);
  localparam int unsigned PARAMETER_TAG_BITS = 3 + PARAMETER_PLACE_BITS;
  localparam int unsigned VECTOR_TAG_BITS = kiln_vector_pkg::OPERAND_TAG_BITS;
  localparam int unsigned OPERAND_TAG_BITS =
      1 + (PARAMETER_TAG_BITS > VECTOR_TAG_BITS ? PARAMETER_TAG_BITS : VECTOR_TAG_BITS);
  logic operand_request_valid, operand_request_ready, operand_word_valid, operand_idle,
      operand_fault, operand_range_fault;
  logic [ADDRESS_BITS-1:0] operand_request_address;
  logic [WORD_BYTES_BITS-1:0] operand_request_bytes;
  logic [OPERAND_TAG_BITS-1:0] operand_request_tag, operand_word_tag;
  logic [WORD_BITS-1:0] operand_word_data;
  logic parameter_request_valid, parameter_request_ready, parameter_word_valid,
      parameter_write_enable, parameters_filled, parameters_released;
  logic [ADDRESS_BITS-1:0] parameter_request_address;
  logic [WORD_BYTES_BITS-1:0] parameter_request_bytes;
  logic [PARAMETER_TAG_BITS-1:0] parameter_request_tag, parameter_word_tag;
  logic [WORD_BITS-1:0] parameter_word_data, vector_word_data;
  logic [1:0] parameter_write_array;
  logic [PARAMETER_PLACE_BITS-1:0] parameter_write_address;
  logic [WORD_BITS-1:0] parameter_write_data;
  logic parameter_busy, parameter_stalled_port, parameter_stalled_buffer;
  logic [WORD_BYTES_BITS-1:0] parameter_bytes_read;
  logic parameter_read_enable;
  // A block has no more column tiles than the parameter buffer has words.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [COUNT_BITS-1:0] parameter_read_column;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [WORD_BITS-1:0] parameter_offsets, parameter_scales, parameter_biases;
  logic vector_request_valid, vector_request_ready, vector_word_valid, vector_word_ready,
      operand_word_ready;
  logic [ADDRESS_BITS-1:0] vector_request_address;
  logic [WORD_BYTES_BITS-1:0] vector_request_bytes;
  kiln_vector_pkg::operand_tag_t vector_request_tag, vector_word_tag;
  logic write_request_valid, write_request_ready, write_request_tag, write_done, write_done_tag;
  logic [ADDRESS_BITS-1:0] write_request_address;
  logic [WORD_BYTES_BITS-1:0] write_request_bytes;
  logic [WORD_BITS-1:0] write_request_data;
  logic output_idle, output_fault, output_range_fault;

  kiln_parameter_fetch #(
      .ARRAY_COLUMNS         (ARRAY_COLUMNS),
      .PARAMETER_BUFFER_WORDS(PARAMETER_BUFFER_WORDS)
  ) parameter_fetch (
      .clock          (clock),
      .reset          (unit_resets[5]),
      .command_valid  (parameter_fetch_command_valid),
      .command_ready  (parameter_fetch_command_ready),
      .command        (parameter_fetch_command),
      .vector_done    (vector_done),
      .request_valid  (parameter_request_valid),
      .request_ready  (parameter_request_ready),
      .request_address(parameter_request_address),
      .request_bytes  (parameter_request_bytes),
      .request_tag    (parameter_request_tag),
      .word_valid     (parameter_word_valid),
      .word_data      (parameter_word_data),
      .word_tag       (parameter_word_tag),
      .write_enable   (parameter_write_enable),
      .write_array    (parameter_write_array),
      .write_address  (parameter_write_address),
      .write_data     (parameter_write_data),
      .filled         (parameters_filled),
      .released       (parameters_released),
      .busy           (parameter_busy),
      .stalled_port   (parameter_stalled_port),
      .stalled_buffer (parameter_stalled_buffer),
      .bytes_read     (parameter_bytes_read)
  );

  kiln_parameter_buffer #(
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .WORDS        (PARAMETER_BUFFER_WORDS)
  ) parameter_buffer (
      .clock        (clock),
      .write_enable (parameter_write_enable),
      .write_array  (parameter_write_array),
      .write_address(parameter_write_address),
      .write_data   (parameter_write_data),
      .read_enable  (parameter_read_enable),
      .read_address (parameter_read_column[PARAMETER_PLACE_BITS-1:0]),
      .read_offset  (parameter_offsets),
      .read_scale   (parameter_scales),
      .read_bias    (parameter_biases)
  );

  kiln_read_share #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .BYTES_BITS  (WORD_BYTES_BITS),
      .WORD_BITS   (WORD_BITS),
      .A_TAG_BITS  (VECTOR_TAG_BITS),
      .B_TAG_BITS  (PARAMETER_TAG_BITS)
  ) operand_share (
      .a_request_valid  (vector_request_valid),
      .a_request_ready  (vector_request_ready),
      .a_request_address(vector_request_address),
      .a_request_bytes  (vector_request_bytes),
      .a_request_tag    (vector_request_tag),
      .a_word_valid     (vector_word_valid),
      .a_word_ready     (vector_word_ready),
      .a_word_data      (vector_word_data),
      .a_word_tag       (vector_word_tag),
      .b_request_valid  (parameter_request_valid),
      .b_request_ready  (parameter_request_ready),
      .b_request_address(parameter_request_address),
      .b_request_bytes  (parameter_request_bytes),
      .b_request_tag    (parameter_request_tag),
      .b_word_valid     (parameter_word_valid),
      .b_word_ready     (1'b1),
      .b_word_data      (parameter_word_data),
      .b_word_tag       (parameter_word_tag),
      .request_valid    (operand_request_valid),
      .request_ready    (operand_request_ready),
      .request_address  (operand_request_address),
      .request_bytes    (operand_request_bytes),
      .request_tag      (operand_request_tag),
      .word_valid       (operand_word_valid),
      .word_ready       (operand_word_ready),
      .word_data        (operand_word_data),
      .word_tag         (operand_word_tag)
  );

  kiln_read_channel #(
      .DATA_BYTES  (OPERAND_PORT_BYTES),
      .MAX_BYTES   (WORD_BYTES),
      .TAG_BITS    (OPERAND_TAG_BITS),
      .OUTSTANDING (OUTSTANDING),
      .MEMORY_BYTES(MEMORY_BYTES)
  ) operand_channel (
      .clock          (clock),
      .unit_reset     (unit_reset),
      .port_reset     (port_reset),
      .request_valid  (operand_request_valid),
      .request_ready  (operand_request_ready),
      .request_address(operand_request_address),
      .request_bytes  (operand_request_bytes),
      .request_tag    (operand_request_tag),
      .word_valid     (operand_word_valid),
      .word_ready     (operand_word_ready),
      .word_data      (operand_word_data),
      .word_tag       (operand_word_tag),
      .turn_request   (operand_turn_request),
      .port_free      (operand_port_free),
      .turn           (operand_turn),
      .idle           (operand_idle),
      .fault          (operand_fault),
      .range_fault    (operand_range_fault),
      .axi_arvalid(operand_arvalid),
      .axi_arready(operand_arready),
      .axi_araddr (operand_araddr),
      .axi_arlen  (operand_arlen),
      .axi_arsize (operand_arsize),
      .axi_arburst(operand_arburst),
      .axi_rvalid (operand_rvalid),
      .axi_rready (operand_rready),
      .axi_rdata  (operand_rdata),
      .axi_rresp  (operand_rresp),
      .axi_rlast  (operand_rlast)
  );

  kiln_vector_unit #(
      .ARRAY_COLUMNS            (ARRAY_COLUMNS),
      .VECTOR_STAGES            (VECTOR_STAGES),
      .VECTOR_STAGE_LATENCY     (VECTOR_STAGE_LATENCY),
      .VECTOR_FUNCTION_LATENCY  (VECTOR_FUNCTION_LATENCY),
      .VECTOR_CONVERT_LATENCY   (VECTOR_CONVERT_LATENCY),
      .VECTOR_FUNCTION_STAGES   (VECTOR_FUNCTION_STAGES),
      .VECTOR_DIVIDE_STAGES     (VECTOR_DIVIDE_STAGES),
      .VECTOR_ROW_BUFFER_WORDS  (VECTOR_ROW_BUFFER_WORDS),
      .VECTOR_ROWS_IN_FLIGHT    (VECTOR_ROWS_IN_FLIGHT),
      .ACCUMULATION_BUFFER_WORDS(ACCUMULATION_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_BANKS(ACCUMULATION_BUFFER_BANKS),
      .OPERAND_PORT_BYTES       (OPERAND_PORT_BYTES),
      .OUTPUT_PORT_BYTES        (OUTPUT_PORT_BYTES),
      .OPERAND_BUFFER_WORDS     (OPERAND_BUFFER_WORDS),
      .SLOTS                    (SLOTS),
      .INPUT_FORMAT             (INPUT_FORMAT),
      .WEIGHT_FORMAT            (WEIGHT_FORMAT),
      .PRECISIONS               (PRECISIONS),
      .INTEGER_ELEMENTS         (INTEGER_ELEMENTS),
      .OTHER_INPUT_FORMATS      (OTHER_INPUT_FORMATS),
      .OTHER_WEIGHT_FORMATS     (OTHER_WEIGHT_FORMATS),
      .ACCUMULATION_FORMAT      (ACCUMULATION_FORMAT),
      .VECTOR_FORMAT            (VECTOR_FORMAT),
      .VECTOR_SPLINES           (VECTOR_SPLINES),
      .BLOCK_SIZE               (BLOCK_SIZE),
      .SCALE_FORMAT             (SCALE_FORMAT)
  ) vector (
      .clock                  (clock),
      .reset                  (unit_resets[6]),
      .command_valid          (vector_command_valid),
      .command_ready          (vector_command_ready),
      .command                (vector_command),
      .stage_write_valid      (stage_write_valid),
      .stage_write            (stage_write),
      .array_done             (array_block_done),
      .depthwise_done         (depthwise_block_done),
      .accumulation_released  (accumulation_released),
      .parameters_ready       (parameters_filled),
      .parameters_released    (parameters_released),
      .vector_done            (vector_done),
      .finished               (finished),
      .accumulation_enable    (accumulation_read_enable),
      .accumulation_bank      (accumulation_read_bank),
      .accumulation_address   (accumulation_read_address),
      .accumulation_data      (accumulation_read_data),
      .parameter_enable       (parameter_read_enable),
      .parameter_column       (parameter_read_column),
      .parameter_offsets      (parameter_offsets),
      .parameter_scales       (parameter_scales),
      .parameter_biases       (parameter_biases),
      .operand_request_valid  (vector_request_valid),
      .operand_request_ready  (vector_request_ready),
      .operand_request_address(vector_request_address),
      .operand_request_bytes  (vector_request_bytes),
      .operand_request_tag    (vector_request_tag),
      .operand_word_valid     (vector_word_valid),
      .operand_word_ready     (vector_word_ready),
      .operand_word_data      (vector_word_data),
      .operand_word_tag       (vector_word_tag),
      .write_request_valid    (write_request_valid),
      .write_request_ready    (write_request_ready),
      .write_request_address  (write_request_address),
      .write_request_bytes    (write_request_bytes),
      .write_request_data     (write_request_data),
      .write_request_tag      (write_request_tag),
      .write_done             (write_done),
      .write_done_tag         (write_done_tag),
      .command_scales         (vector_scales),
      .scale_request_valid    (operand_scale_request_valid),
      .scale_request_ready    (operand_scale_request_ready),
      .scale_request_address  (operand_scale_request_address),
      .scale_request_tag      (operand_scale_request_tag),
      .scale_word_valid       (operand_scale_word_valid),
      .scale_word_ready       (operand_scale_word_ready),
      .scale_word_data        (operand_scale_word_data),
      .scale_word_tag         (operand_scale_word_tag),
      .scale_write_valid      (output_scale_request_valid),
      .scale_write_ready      (output_scale_request_ready),
      .scale_write_address    (output_scale_request_address),
      .scale_write_data       (output_scale_request_data),
      .scale_write_tag        (output_scale_request_tag),
      .scale_write_done       (output_scale_done),
      .scale_write_done_tag   (output_scale_done_tag),
      .activity               (activity_vector)
  );

  kiln_write_channel #(
      .DATA_BYTES  (OUTPUT_PORT_BYTES),
      .MAX_BYTES   (WORD_BYTES),
      .TAG_BITS    (1),
      .OUTSTANDING (OUTSTANDING),
      .MEMORY_BYTES(MEMORY_BYTES)
  ) output_channel (
      .clock          (clock),
      .unit_reset     (unit_reset),
      .port_reset     (port_reset),
      .request_valid  (write_request_valid),
      .request_ready  (write_request_ready),
      .request_address(write_request_address),
      .request_bytes  (write_request_bytes),
      .request_data   (write_request_data),
      .request_tag    (write_request_tag),
      .done_valid     (write_done),
      .done_tag       (write_done_tag),
      .idle           (output_idle),
      .fault          (output_fault),
      .range_fault    (output_range_fault),
      .axi_awvalid(output_awvalid),
      .axi_awready(output_awready),
      .axi_awaddr (output_awaddr),
      .axi_awlen  (output_awlen),
      .axi_awsize (output_awsize),
      .axi_awburst(output_awburst),
      .axi_wvalid (output_wvalid),
      .axi_wready (output_wready),
      .axi_wdata  (output_wdata),
      .axi_wstrb  (output_wstrb),
      .axi_wlast  (output_wlast),
      .axi_bvalid (output_bvalid),
      .axi_bready (output_bready),
      .axi_bresp  (output_bresp)
  );

  // ---- Signals of the ports and the units to the command processor
  assign ports_idle = input_idle && weight_idle && operand_idle && output_idle && scales_idle;
  assign port_fault = input_fault || weight_fault || operand_fault || output_fault || scales_fault;
  assign range_fault = input_range_fault || weight_range_fault || operand_range_fault ||
      output_range_fault || scales_range_fault;
  localparam int unsigned BYTES_BITS = kiln_control_pkg::BYTES_BITS;
  assign activity_input_fetch.busy = input_busy;
  assign activity_input_fetch.stalled = {1'b0, input_stalled_bank, input_stalled_previous};
  assign activity_input_fetch.bytes_read = BYTES_BITS'(input_bytes_read);
  assign activity_input_fetch.bytes_written = '0;
  assign activity_weight_fetch.busy = weight_busy;
  assign activity_weight_fetch.stalled = {1'b0, weight_stalled_bank, weight_stalled_previous};
  assign activity_weight_fetch.bytes_read = BYTES_BITS'(weight_bytes_read);
  assign activity_weight_fetch.bytes_written = '0;
  assign activity_weight_load.busy = load_busy;
  assign activity_weight_load.stalled = {1'b0, load_stalled_full, load_stalled_empty};
  assign activity_weight_load.bytes_read = '0;
  assign activity_weight_load.bytes_written = '0;
  assign activity_array.busy = array_busy;
  assign activity_array.stalled =
      {array_stalled_accumulation, array_stalled_weights, array_stalled_input};
  assign activity_array.bytes_read = '0;
  assign activity_array.bytes_written = '0;
  assign activity_depthwise.busy = depthwise_busy;
  assign activity_depthwise.stalled =
      {depthwise_stalled_accumulation, depthwise_stalled_weights, depthwise_stalled_input};
  assign activity_depthwise.bytes_read = '0;
  assign activity_depthwise.bytes_written = '0;
  assign activity_parameter_fetch.busy = parameter_busy;
  assign activity_parameter_fetch.stalled =
      {1'b0, parameter_stalled_buffer, parameter_stalled_port};
  assign activity_parameter_fetch.bytes_read = BYTES_BITS'(parameter_bytes_read);
  assign activity_parameter_fetch.bytes_written = '0;
endmodule
