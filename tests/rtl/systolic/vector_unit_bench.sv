// kiln_vector_unit with its AXI ports, and memories for accumulators and channel parameters that
// the test writes.
module vector_unit_bench #(
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter int unsigned VECTOR_STAGES = 3,
    parameter int unsigned VECTOR_STAGE_LATENCY = 2,
    parameter int unsigned VECTOR_FUNCTION_LATENCY = 0,
    parameter int unsigned VECTOR_CONVERT_LATENCY = 0,
    parameter logic [VECTOR_STAGES-1:0] VECTOR_FUNCTION_STAGES = {VECTOR_STAGES{1'b1}},
    parameter logic [VECTOR_STAGES-1:0] VECTOR_DIVIDE_STAGES = {VECTOR_STAGES{1'b1}},
    parameter int unsigned VECTOR_ROW_BUFFER_WORDS = 16,
    parameter int unsigned OPERAND_BUFFER_WORDS = 64,
    parameter int unsigned VECTOR_ROWS_IN_FLIGHT = 3,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 64,
    parameter int unsigned ACCUMULATION_BUFFER_BANKS = 2,
    parameter int unsigned OPERAND_PORT_BYTES = 8,
    parameter int unsigned OUTPUT_PORT_BYTES = 8,
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    // A format of 32 bits.
    parameter kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter int unsigned BLOCK_SIZE = 0,
    parameter bit INTEGER_ELEMENTS = 1'b1,
    parameter kiln_format_pkg::format_t SCALE_FORMAT = kiln_named_formats_pkg::E8M0,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,
    localparam int unsigned WORD = ARRAY_COLUMNS * 32,
    localparam int unsigned BANK_BITS = $clog2(ACCUMULATION_BUFFER_WORDS),
    localparam int unsigned SCALE_PORT_BYTES = 8,
    localparam int unsigned SCALE_BYTES =
        1 << kiln_vector_pkg::code_shift(kiln_format_pkg::bits(SCALE_FORMAT))
) (
    input  logic clock,
    input  logic reset,
    input  logic command_valid,
    output logic command_ready,
    input  kiln_systolic_pkg::vector_command_t command,
    input  kiln_systolic_pkg::vector_scales_t command_scales,
    input  logic stage_write_valid,
    input  kiln_systolic_pkg::stage_write_t stage_write,
    input  logic array_done,
    input  logic depthwise_done,
    output logic accumulation_released,
    input  logic parameters_ready,
    output logic parameters_released,
    output logic [15:0] vector_done,
    output logic [15:0] finished,
    output kiln_control_pkg::activity_t activity,
    output logic fault,
    input  logic accumulation_write,
    input  logic accumulation_write_bank,
    input  logic [BANK_BITS-1:0] accumulation_write_address,
    input  logic [WORD-1:0] accumulation_write_data,
    input  logic parameter_write,
    input  logic [1:0] parameter_write_array,
    input  logic [BANK_BITS-1:0] parameter_write_column,
    input  logic [WORD-1:0] parameter_write_data,
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
    // Block scales: of operands, of the output.
    output logic operand_scale_arvalid,
    input  logic operand_scale_arready,
    output logic [ADDRESS_BITS-1:0] operand_scale_araddr,
    output logic [7:0] operand_scale_arlen,
    output logic [2:0] operand_scale_arsize,
    output logic [1:0] operand_scale_arburst,
    input  logic operand_scale_rvalid,
    output logic operand_scale_rready,
    input  logic [SCALE_PORT_BYTES*8-1:0] operand_scale_rdata,
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
    output logic [SCALE_PORT_BYTES*8-1:0] output_scale_wdata,
    output logic [SCALE_PORT_BYTES-1:0] output_scale_wstrb,
    output logic output_scale_wlast,
    input  logic output_scale_bvalid,
    output logic output_scale_bready,
    input  logic [1:0] output_scale_bresp
);
  localparam int unsigned BYTES_BITS = $clog2(ARRAY_COLUMNS * 4 + 1);
  localparam int unsigned OUTSTANDING = 64;

  logic accumulation_enable, accumulation_bank, parameter_enable;
  logic [BANK_BITS-1:0] accumulation_address;
  logic [kiln_systolic_pkg::COUNT_BITS-1:0] parameter_column;
  logic [WORD-1:0] accumulation_data, parameter_offsets, parameter_scales, parameter_biases;
  logic operand_request_valid, operand_request_ready, operand_word_valid;
  logic [ADDRESS_BITS-1:0] operand_request_address, write_request_address;
  logic [BYTES_BITS-1:0] operand_request_bytes, write_request_bytes;
  kiln_vector_pkg::operand_tag_t operand_request_tag, operand_word_tag;
  logic [WORD-1:0] operand_word_data, write_request_data;
  logic write_request_valid, write_request_ready, write_request_tag, write_done, write_done_tag;
  logic operand_word_ready;
  logic scale_request_valid, scale_request_ready, scale_word_valid, scale_word_ready;
  logic scale_write_valid, scale_write_ready, scale_write_tag;
  logic scale_write_done, scale_write_done_tag;
  logic [ADDRESS_BITS-1:0] scale_request_address, scale_write_address;
  logic [SCALE_BYTES*8-1:0] scale_word_data, scale_write_data;
  kiln_vector_pkg::scale_tag_t scale_request_tag, scale_word_tag;
  logic read_fault, write_fault, scale_read_fault, scale_write_fault;
  assign fault = read_fault || write_fault || scale_read_fault || scale_write_fault;
  wire unused_column = &{1'b0, parameter_column};

  kiln_vector_unit #(
      .INTEGER_ELEMENTS(INTEGER_ELEMENTS),
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .VECTOR_STAGES(VECTOR_STAGES),
      .VECTOR_STAGE_LATENCY(VECTOR_STAGE_LATENCY),
      .VECTOR_FUNCTION_LATENCY(VECTOR_FUNCTION_LATENCY),
      .VECTOR_CONVERT_LATENCY(VECTOR_CONVERT_LATENCY),
      .VECTOR_FUNCTION_STAGES(VECTOR_FUNCTION_STAGES),
      .VECTOR_DIVIDE_STAGES(VECTOR_DIVIDE_STAGES),
      .VECTOR_ROW_BUFFER_WORDS(VECTOR_ROW_BUFFER_WORDS),
      .VECTOR_ROWS_IN_FLIGHT(VECTOR_ROWS_IN_FLIGHT),
      .ACCUMULATION_BUFFER_WORDS(ACCUMULATION_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_BANKS(ACCUMULATION_BUFFER_BANKS),
      .OPERAND_PORT_BYTES(OPERAND_PORT_BYTES),
      .OUTPUT_PORT_BYTES(OUTPUT_PORT_BYTES),
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .ACCUMULATION_FORMAT(ACCUMULATION_FORMAT),
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .VECTOR_SPLINES(VECTOR_FORMAT == kiln_named_formats_pkg::BF16 ? kiln_spline_tables_pkg::BF16 :
                      VECTOR_FORMAT == kiln_named_formats_pkg::FP16 ? kiln_spline_tables_pkg::FP16 :
                      kiln_spline_tables_pkg::FP32),
      .BLOCK_SIZE(BLOCK_SIZE),
      .SCALE_FORMAT(SCALE_FORMAT),
      .OPERAND_BUFFER_WORDS(OPERAND_BUFFER_WORDS),
      .SLOTS(16)
  ) unit (
      .clock,
      .reset,
      .command_valid,
      .command_ready,
      .command,
      .stage_write_valid,
      .stage_write,
      .array_done,
      .depthwise_done,
      .accumulation_released,
      .parameters_ready,
      .parameters_released,
      .vector_done,
      .finished,
      .accumulation_enable,
      .accumulation_bank,
      .accumulation_address,
      .accumulation_data,
      .parameter_enable,
      .parameter_column,
      .parameter_offsets,
      .parameter_scales,
      .parameter_biases,
      .operand_request_valid,
      .operand_request_ready,
      .operand_request_address,
      .operand_request_bytes,
      .operand_request_tag,
      .operand_word_valid,
      .operand_word_ready,
      .operand_word_data,
      .operand_word_tag,
      .write_request_valid,
      .write_request_ready,
      .write_request_address,
      .write_request_bytes,
      .write_request_data,
      .write_request_tag,
      .write_done,
      .write_done_tag,
      .command_scales,
      .scale_request_valid,
      .scale_request_ready,
      .scale_request_address,
      .scale_request_tag,
      .scale_word_valid,
      .scale_word_ready,
      .scale_word_data,
      .scale_word_tag,
      .scale_write_valid,
      .scale_write_ready,
      .scale_write_address,
      .scale_write_data,
      .scale_write_tag,
      .scale_write_done,
      .scale_write_done_tag,
      .activity
  );

  kiln_ram_1w #(
      .WIDTH(WORD),
      .WORDS(2 * ACCUMULATION_BUFFER_WORDS)
  ) accumulators (
      .clock,
      .write_enable(accumulation_write),
      .write_address({accumulation_write_bank, accumulation_write_address}),
      .write_data(accumulation_write_data),
      .read_enable(accumulation_enable),
      .read_address({accumulation_bank, accumulation_address}),
      .read_data(accumulation_data)
  );
  kiln_parameter_buffer #(
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .WORDS(ACCUMULATION_BUFFER_WORDS)
  ) parameters (
      .clock,
      .write_enable(parameter_write),
      .write_array(parameter_write_array),
      .write_address(parameter_write_column),
      .write_data(parameter_write_data),
      .read_enable(parameter_enable),
      .read_address(BANK_BITS'(parameter_column)),
      .read_offset(parameter_offsets),
      .read_scale(parameter_scales),
      .read_bias(parameter_biases)
  );

  kiln_axi_read_port #(
      .ADDRESS_BITS(kiln_systolic_pkg::ADDRESS_BITS),
      .DATA_BYTES(OPERAND_PORT_BYTES),
      .MAX_BYTES(ARRAY_COLUMNS * 4),
      .TAG_BITS(kiln_vector_pkg::OPERAND_TAG_BITS),
      .OUTSTANDING(OUTSTANDING)
  ) operand_port (
      .clock,
      .reset,
      .request_valid(operand_request_valid),
      .request_ready(operand_request_ready),
      .request_address(operand_request_address),
      .request_bytes(operand_request_bytes),
      .request_tag(operand_request_tag),
      .word_valid(operand_word_valid),
      .word_ready(operand_word_ready),
      .word_data(operand_word_data),
      .word_tag(operand_word_tag),
      .idle(),
      .fault(read_fault),
      .axi_arvalid(operand_arvalid),
      .axi_arready(operand_arready),
      .axi_araddr(operand_araddr),
      .axi_arlen(operand_arlen),
      .axi_arsize(operand_arsize),
      .axi_arburst(operand_arburst),
      .axi_rvalid(operand_rvalid),
      .axi_rready(operand_rready),
      .axi_rdata(operand_rdata),
      .axi_rresp(operand_rresp),
      .axi_rlast(operand_rlast)
  );
  kiln_axi_write_port #(
      .ADDRESS_BITS(kiln_systolic_pkg::ADDRESS_BITS),
      .DATA_BYTES(OUTPUT_PORT_BYTES),
      .MAX_BYTES(ARRAY_COLUMNS * 4),
      .TAG_BITS(1),
      .OUTSTANDING(OUTSTANDING)
  ) output_port (
      .clock,
      .reset,
      .request_valid(write_request_valid),
      .request_ready(write_request_ready),
      .request_address(write_request_address),
      .request_bytes(write_request_bytes),
      .request_data(write_request_data),
      .request_tag(write_request_tag),
      .done_valid(write_done),
      .done_tag(write_done_tag),
      .outstanding(),
      .idle(),
      .fault(write_fault),
      .axi_awvalid(output_awvalid),
      .axi_awready(output_awready),
      .axi_awaddr(output_awaddr),
      .axi_awlen(output_awlen),
      .axi_awsize(output_awsize),
      .axi_awburst(output_awburst),
      .axi_wvalid(output_wvalid),
      .axi_wready(output_wready),
      .axi_wdata(output_wdata),
      .axi_wstrb(output_wstrb),
      .axi_wlast(output_wlast),
      .axi_bvalid(output_bvalid),
      .axi_bready(output_bready),
      .axi_bresp(output_bresp)
  );

  if (BLOCK_SIZE > 0) begin : g_scales
    kiln_axi_read_port #(
        .ADDRESS_BITS(kiln_systolic_pkg::ADDRESS_BITS),
        .DATA_BYTES(SCALE_PORT_BYTES),
        .MAX_BYTES(SCALE_BYTES),
        .TAG_BITS(kiln_vector_pkg::SCALE_TAG_BITS),
        .OUTSTANDING(OUTSTANDING)
    ) operand_scale_port (
        .clock,
        .reset,
        .request_valid(scale_request_valid),
        .request_ready(scale_request_ready),
        .request_address(scale_request_address),
        .request_bytes($clog2(SCALE_BYTES + 1)'(SCALE_BYTES)),
        .request_tag(scale_request_tag),
        .word_valid(scale_word_valid),
        .word_ready(scale_word_ready),
        .word_data(scale_word_data),
        .word_tag(scale_word_tag),
        .idle(),
        .fault(scale_read_fault),
        .axi_arvalid(operand_scale_arvalid),
        .axi_arready(operand_scale_arready),
        .axi_araddr(operand_scale_araddr),
        .axi_arlen(operand_scale_arlen),
        .axi_arsize(operand_scale_arsize),
        .axi_arburst(operand_scale_arburst),
        .axi_rvalid(operand_scale_rvalid),
        .axi_rready(operand_scale_rready),
        .axi_rdata(operand_scale_rdata),
        .axi_rresp(operand_scale_rresp),
        .axi_rlast(operand_scale_rlast)
    );
    kiln_axi_write_port #(
        .ADDRESS_BITS(kiln_systolic_pkg::ADDRESS_BITS),
        .DATA_BYTES(SCALE_PORT_BYTES),
        .MAX_BYTES(SCALE_BYTES),
        .TAG_BITS(1),
        .OUTSTANDING(OUTSTANDING)
    ) output_scale_port (
        .clock,
        .reset,
        .request_valid(scale_write_valid),
        .request_ready(scale_write_ready),
        .request_address(scale_write_address),
        .request_bytes($clog2(SCALE_BYTES + 1)'(SCALE_BYTES)),
        .request_data(scale_write_data),
        .request_tag(scale_write_tag),
        .done_valid(scale_write_done),
        .done_tag(scale_write_done_tag),
        .outstanding(),
        .idle(),
        .fault(scale_write_fault),
        .axi_awvalid(output_scale_awvalid),
        .axi_awready(output_scale_awready),
        .axi_awaddr(output_scale_awaddr),
        .axi_awlen(output_scale_awlen),
        .axi_awsize(output_scale_awsize),
        .axi_awburst(output_scale_awburst),
        .axi_wvalid(output_scale_wvalid),
        .axi_wready(output_scale_wready),
        .axi_wdata(output_scale_wdata),
        .axi_wstrb(output_scale_wstrb),
        .axi_wlast(output_scale_wlast),
        .axi_bvalid(output_scale_bvalid),
        .axi_bready(output_scale_bready),
        .axi_bresp(output_scale_bresp)
    );
  end else begin : g_no_scales
    assign scale_request_ready   = 1'b0;
    assign scale_word_valid      = 1'b0;
    assign scale_word_data       = '0;
    assign scale_word_tag        = '0;
    assign scale_write_ready     = 1'b0;
    assign scale_write_done      = 1'b0;
    assign scale_write_done_tag  = 1'b0;
    assign scale_read_fault      = 1'b0;
    assign scale_write_fault     = 1'b0;
    assign operand_scale_arvalid = 1'b0;
    assign operand_scale_araddr  = '0;
    assign operand_scale_arlen   = '0;
    assign operand_scale_arsize  = '0;
    assign operand_scale_arburst = '0;
    assign operand_scale_rready  = 1'b0;
    assign output_scale_awvalid  = 1'b0;
    assign output_scale_awaddr   = '0;
    assign output_scale_awlen    = '0;
    assign output_scale_awsize   = '0;
    assign output_scale_awburst  = '0;
    assign output_scale_wvalid   = 1'b0;
    assign output_scale_wdata    = '0;
    assign output_scale_wstrb    = '0;
    assign output_scale_wlast    = 1'b0;
    assign output_scale_bready   = 1'b0;
    wire unused_scales = &{1'b0, scale_request_valid, scale_request_address, scale_request_tag,
                           scale_word_ready, scale_write_valid, scale_write_address,
                           scale_write_data, scale_write_tag, operand_scale_arready,
                           operand_scale_rvalid, operand_scale_rdata, operand_scale_rresp,
                           operand_scale_rlast, output_scale_awready, output_scale_wready,
                           output_scale_bvalid, output_scale_bresp};
  end
endmodule
