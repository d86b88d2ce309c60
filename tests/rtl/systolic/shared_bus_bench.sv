// kiln_systolic on one bus (kiln_shared_bus), as in an emitted design with shared_bus. For
// kiln_systolic_test.cc.
module shared_bus_bench #(
    parameter int unsigned ARRAY_ROWS = 4,
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter int unsigned INPUT_BUFFER_WORDS = 256,
    parameter int unsigned WEIGHT_BUFFER_WORDS = 96,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 64,
    parameter int unsigned DEPTHWISE_BUFFER_WORDS = 256,
    parameter int unsigned DEPTHWISE_WORDS_PER_CYCLE = 2,
    parameter int unsigned VECTOR_ROW_BUFFER_WORDS = 16,
    parameter int unsigned VECTOR_STAGES = 4,
    parameter int unsigned VECTOR_STAGE_LATENCY = 2,
    parameter int unsigned VECTOR_ROWS_IN_FLIGHT = 4,
    parameter int unsigned DEPTHWISE_MULTIPLIERS = 4,
    parameter longint unsigned MEMORY_BYTES = 64'd1048576,
    localparam int unsigned DATA_BYTES = 8,
    localparam int unsigned DATA_BITS = DATA_BYTES * 8,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,
    localparam int unsigned ID_BITS = 3
) (
    input  logic clock,
    input  logic reset,
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
    output logic running,
    output logic [15:0] finished,
    output logic memory_arvalid,
    input  logic memory_arready,
    output logic [ID_BITS-1:0] memory_arid,
    output logic [ADDRESS_BITS-1:0] memory_araddr,
    output logic [7:0] memory_arlen,
    output logic [2:0] memory_arsize,
    output logic [1:0] memory_arburst,
    input  logic memory_rvalid,
    output logic memory_rready,
    input  logic [ID_BITS-1:0] memory_rid,
    input  logic [DATA_BITS-1:0] memory_rdata,
    input  logic [1:0] memory_rresp,
    input  logic memory_rlast,
    output logic memory_awvalid,
    input  logic memory_awready,
    output logic [ID_BITS-1:0] memory_awid,
    output logic [ADDRESS_BITS-1:0] memory_awaddr,
    output logic [7:0] memory_awlen,
    output logic [2:0] memory_awsize,
    output logic [1:0] memory_awburst,
    output logic memory_wvalid,
    input  logic memory_wready,
    output logic [DATA_BITS-1:0] memory_wdata,
    output logic [DATA_BYTES-1:0] memory_wstrb,
    output logic memory_wlast,
    input  logic memory_bvalid,
    output logic memory_bready,
    input  logic [ID_BITS-1:0] memory_bid,
    input  logic [1:0] memory_bresp
);
  logic program_arvalid, program_arready, program_rvalid, program_rready, program_rlast;
  logic [ADDRESS_BITS-1:0] program_araddr;
  logic [7:0] program_arlen;
  logic [2:0] program_arsize;
  logic [1:0] program_arburst, program_rresp;
  logic [DATA_BITS-1:0] program_rdata;
  logic input_arvalid, input_arready, input_rvalid, input_rready, input_rlast;
  logic [ADDRESS_BITS-1:0] input_araddr;
  logic [7:0] input_arlen;
  logic [2:0] input_arsize;
  logic [1:0] input_arburst, input_rresp;
  logic [DATA_BITS-1:0] input_rdata;
  logic weight_arvalid, weight_arready, weight_rvalid, weight_rready, weight_rlast;
  logic [ADDRESS_BITS-1:0] weight_araddr;
  logic [7:0] weight_arlen;
  logic [2:0] weight_arsize;
  logic [1:0] weight_arburst, weight_rresp;
  logic [DATA_BITS-1:0] weight_rdata;
  logic operand_arvalid, operand_arready, operand_rvalid, operand_rready, operand_rlast;
  logic [ADDRESS_BITS-1:0] operand_araddr;
  logic [7:0] operand_arlen;
  logic [2:0] operand_arsize;
  logic [1:0] operand_arburst, operand_rresp;
  logic [DATA_BITS-1:0] operand_rdata;
  logic output_awvalid, output_awready, output_wvalid, output_wready, output_wlast;
  logic output_bvalid, output_bready;
  logic [ADDRESS_BITS-1:0] output_awaddr;
  logic [7:0] output_awlen;
  logic [2:0] output_awsize;
  logic [1:0] output_awburst, output_bresp;
  logic [DATA_BITS-1:0] output_wdata;
  logic [DATA_BYTES-1:0] output_wstrb;
  kiln_systolic #(
      .SHARED_BUS               (1'b1),
      .ARRAY_ROWS               (ARRAY_ROWS),
      .ARRAY_COLUMNS            (ARRAY_COLUMNS),
      .INPUT_BUFFER_WORDS       (INPUT_BUFFER_WORDS),
      .WEIGHT_BUFFER_WORDS      (WEIGHT_BUFFER_WORDS),
      .ACCUMULATION_BUFFER_WORDS(ACCUMULATION_BUFFER_WORDS),
      .DEPTHWISE_BUFFER_WORDS   (DEPTHWISE_BUFFER_WORDS),
      .DEPTHWISE_WORDS_PER_CYCLE(DEPTHWISE_WORDS_PER_CYCLE),
      .VECTOR_ROW_BUFFER_WORDS  (VECTOR_ROW_BUFFER_WORDS),
      .VECTOR_STAGES            (VECTOR_STAGES),
      .VECTOR_FUNCTION_STAGES   (4'b0010),
      .VECTOR_DIVIDE_STAGES     (4'b1000),
      .VECTOR_STAGE_LATENCY     (VECTOR_STAGE_LATENCY),
      .VECTOR_ROWS_IN_FLIGHT    (VECTOR_ROWS_IN_FLIGHT),
      .DEPTHWISE_MULTIPLIERS    (DEPTHWISE_MULTIPLIERS),
      .INPUT_PORT_BYTES         (DATA_BYTES),
      .WEIGHT_PORT_BYTES        (DATA_BYTES),
      .OPERAND_PORT_BYTES       (DATA_BYTES),
      .OUTPUT_PORT_BYTES        (DATA_BYTES),
      .INSTRUCTION_BYTES_PER_CYCLE(DATA_BYTES),
      .MEMORY_BYTES             (MEMORY_BYTES)
  ) machine (
      // No block scales.
      .input_scale_arvalid(),
      .input_scale_arready('0),
      .input_scale_araddr(),
      .input_scale_arlen(),
      .input_scale_arsize(),
      .input_scale_arburst(),
      .input_scale_rvalid('0),
      .input_scale_rready(),
      .input_scale_rdata('0),
      .input_scale_rresp('0),
      .input_scale_rlast('0),
      .weight_scale_arvalid(),
      .weight_scale_arready('0),
      .weight_scale_araddr(),
      .weight_scale_arlen(),
      .weight_scale_arsize(),
      .weight_scale_arburst(),
      .weight_scale_rvalid('0),
      .weight_scale_rready(),
      .weight_scale_rdata('0),
      .weight_scale_rresp('0),
      .weight_scale_rlast('0),
      .operand_scale_arvalid(),
      .operand_scale_arready('0),
      .operand_scale_araddr(),
      .operand_scale_arlen(),
      .operand_scale_arsize(),
      .operand_scale_arburst(),
      .operand_scale_rvalid('0),
      .operand_scale_rready(),
      .operand_scale_rdata('0),
      .operand_scale_rresp('0),
      .operand_scale_rlast('0),
      .output_scale_awvalid(),
      .output_scale_awready('0),
      .output_scale_awaddr(),
      .output_scale_awlen(),
      .output_scale_awsize(),
      .output_scale_awburst(),
      .output_scale_wvalid(),
      .output_scale_wready('0),
      .output_scale_wdata(),
      .output_scale_wstrb(),
      .output_scale_wlast(),
      .output_scale_bvalid('0),
      .output_scale_bready(),
      .output_scale_bresp('0),
      .*
  );
  kiln_shared_bus #(
      .DATA_BYTES(DATA_BYTES)
  ) bus (
      .*
  );
endmodule
