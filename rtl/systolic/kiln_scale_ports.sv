// The ports for block scales, beside those for the codes: the paths to memory of input fetch,
// weight fetch and vector unit (kiln_read_channel, kiln_write_channel). In a design point without
// block scales there are no ports, and all outputs except `idle` are 0.
//   idle, fault, range_fault    of all ports together
module kiln_scale_ports #(
    parameter int unsigned BLOCK_SIZE = 8,
    parameter int unsigned SCALE_BYTES = 1,
    parameter int unsigned INPUT_TAG_BITS = 8,
    parameter int unsigned WEIGHT_TAG_BITS = 8,
    parameter int unsigned OUTSTANDING = 32,
    parameter longint unsigned MEMORY_BYTES = 64'd1 << 30,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,  // derived, do not set
    localparam int unsigned BYTES_BITS = $clog2(SCALE_BYTES + 1),
    localparam int unsigned OPERAND_TAG_BITS = kiln_vector_pkg::SCALE_TAG_BITS,
    localparam int unsigned PORT_BITS = kiln_systolic_pkg::SCALE_PORT_BYTES * 8
) (
    input  logic clock,
    input  logic unit_reset,
    input  logic port_reset,
    output logic idle,
    output logic fault,
    output logic range_fault,
    input  logic input_scale_request_valid,
    output logic input_scale_request_ready,
    input  logic [ADDRESS_BITS-1:0] input_scale_request_address,
    input  logic [BYTES_BITS-1:0] input_scale_request_bytes,  // 0: padding
    input  logic [INPUT_TAG_BITS-1:0] input_scale_request_tag,
    output logic input_scale_word_valid,
    output logic [SCALE_BYTES*8-1:0] input_scale_word_data,
    output logic [INPUT_TAG_BITS-1:0] input_scale_word_tag,
    input  logic weight_scale_request_valid,
    output logic weight_scale_request_ready,
    input  logic [ADDRESS_BITS-1:0] weight_scale_request_address,
    input  logic [WEIGHT_TAG_BITS-1:0] weight_scale_request_tag,
    output logic weight_scale_word_valid,
    output logic [SCALE_BYTES*8-1:0] weight_scale_word_data,
    output logic [WEIGHT_TAG_BITS-1:0] weight_scale_word_tag,
    input  logic operand_scale_request_valid,
    output logic operand_scale_request_ready,
    input  logic [ADDRESS_BITS-1:0] operand_scale_request_address,
    input  logic [OPERAND_TAG_BITS-1:0] operand_scale_request_tag,
    output logic operand_scale_word_valid,
    input  logic operand_scale_word_ready,
    output logic [SCALE_BYTES*8-1:0] operand_scale_word_data,
    output logic [OPERAND_TAG_BITS-1:0] operand_scale_word_tag,
    input  logic output_scale_request_valid,
    output logic output_scale_request_ready,
    input  logic [ADDRESS_BITS-1:0] output_scale_request_address,
    input  logic [SCALE_BYTES*8-1:0] output_scale_request_data,
    input  logic output_scale_request_tag,
    output logic output_scale_done,
    output logic output_scale_done_tag,
    // AXI4 masters
    output logic input_scale_arvalid,
    input  logic input_scale_arready,
    output logic [ADDRESS_BITS-1:0] input_scale_araddr,
    output logic [7:0] input_scale_arlen,
    output logic [2:0] input_scale_arsize,
    output logic [1:0] input_scale_arburst,
    input  logic input_scale_rvalid,
    output logic input_scale_rready,
    input  logic [PORT_BITS-1:0] input_scale_rdata,
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
    input  logic [PORT_BITS-1:0] weight_scale_rdata,
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
    input  logic [PORT_BITS-1:0] operand_scale_rdata,
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
    output logic [PORT_BITS-1:0] output_scale_wdata,
    output logic [PORT_BITS/8-1:0] output_scale_wstrb,
    output logic output_scale_wlast,
    input  logic output_scale_bvalid,
    output logic output_scale_bready,
    input  logic [1:0] output_scale_bresp
);
  if (BLOCK_SIZE > 0) begin : g_ports
    logic [3:0] idles, faults, range_faults;
    assign idle        = &idles;
    assign fault       = |faults;
    assign range_fault = |range_faults;

    kiln_read_channel #(
        .DATA_BYTES  (kiln_systolic_pkg::SCALE_PORT_BYTES),
        .MAX_BYTES   (SCALE_BYTES),
        .TAG_BITS    (INPUT_TAG_BITS),
        .OUTSTANDING (OUTSTANDING),
        .MEMORY_BYTES(MEMORY_BYTES)
    ) input_scale_channel (
        .clock          (clock),
        .unit_reset     (unit_reset),
        .port_reset     (port_reset),
        .request_valid  (input_scale_request_valid),
        .request_ready  (input_scale_request_ready),
        .request_address(input_scale_request_address),
        .request_bytes  (input_scale_request_bytes),
        .request_tag    (input_scale_request_tag),
        .word_valid     (input_scale_word_valid),
        .word_ready     (1'b1),
        .word_data      (input_scale_word_data),
        .word_tag       (input_scale_word_tag),
        .turn_request(),
        .port_free(),
        .turn(1'b1),
        .idle           (idles[0]),
        .fault          (faults[0]),
        .range_fault    (range_faults[0]),
        .axi_arvalid    (input_scale_arvalid),
        .axi_arready    (input_scale_arready),
        .axi_araddr     (input_scale_araddr),
        .axi_arlen      (input_scale_arlen),
        .axi_arsize     (input_scale_arsize),
        .axi_arburst    (input_scale_arburst),
        .axi_rvalid     (input_scale_rvalid),
        .axi_rready     (input_scale_rready),
        .axi_rdata      (input_scale_rdata),
        .axi_rresp      (input_scale_rresp),
        .axi_rlast      (input_scale_rlast)
    );

    kiln_read_channel #(
        .DATA_BYTES  (kiln_systolic_pkg::SCALE_PORT_BYTES),
        .MAX_BYTES   (SCALE_BYTES),
        .TAG_BITS    (WEIGHT_TAG_BITS),
        .OUTSTANDING (OUTSTANDING),
        .MEMORY_BYTES(MEMORY_BYTES)
    ) weight_scale_channel (
        .clock          (clock),
        .unit_reset     (unit_reset),
        .port_reset     (port_reset),
        .request_valid  (weight_scale_request_valid),
        .request_ready  (weight_scale_request_ready),
        .request_address(weight_scale_request_address),
        .request_bytes  (BYTES_BITS'(SCALE_BYTES)),
        .request_tag    (weight_scale_request_tag),
        .word_valid     (weight_scale_word_valid),
        .word_ready     (1'b1),
        .word_data      (weight_scale_word_data),
        .word_tag       (weight_scale_word_tag),
        .turn_request(),
        .port_free(),
        .turn(1'b1),
        .idle           (idles[1]),
        .fault          (faults[1]),
        .range_fault    (range_faults[1]),
        .axi_arvalid    (weight_scale_arvalid),
        .axi_arready    (weight_scale_arready),
        .axi_araddr     (weight_scale_araddr),
        .axi_arlen      (weight_scale_arlen),
        .axi_arsize     (weight_scale_arsize),
        .axi_arburst    (weight_scale_arburst),
        .axi_rvalid     (weight_scale_rvalid),
        .axi_rready     (weight_scale_rready),
        .axi_rdata      (weight_scale_rdata),
        .axi_rresp      (weight_scale_rresp),
        .axi_rlast      (weight_scale_rlast)
    );

    kiln_read_channel #(
        .DATA_BYTES  (kiln_systolic_pkg::SCALE_PORT_BYTES),
        .MAX_BYTES   (SCALE_BYTES),
        .TAG_BITS    (OPERAND_TAG_BITS),
        .OUTSTANDING (OUTSTANDING),
        .MEMORY_BYTES(MEMORY_BYTES)
    ) operand_scale_channel (
        .clock          (clock),
        .unit_reset     (unit_reset),
        .port_reset     (port_reset),
        .request_valid  (operand_scale_request_valid),
        .request_ready  (operand_scale_request_ready),
        .request_address(operand_scale_request_address),
        .request_bytes  (BYTES_BITS'(SCALE_BYTES)),
        .request_tag    (operand_scale_request_tag),
        .word_valid     (operand_scale_word_valid),
        .word_ready     (operand_scale_word_ready),
        .word_data      (operand_scale_word_data),
        .word_tag       (operand_scale_word_tag),
        .turn_request(),
        .port_free(),
        .turn(1'b1),
        .idle           (idles[2]),
        .fault          (faults[2]),
        .range_fault    (range_faults[2]),
        .axi_arvalid    (operand_scale_arvalid),
        .axi_arready    (operand_scale_arready),
        .axi_araddr     (operand_scale_araddr),
        .axi_arlen      (operand_scale_arlen),
        .axi_arsize     (operand_scale_arsize),
        .axi_arburst    (operand_scale_arburst),
        .axi_rvalid     (operand_scale_rvalid),
        .axi_rready     (operand_scale_rready),
        .axi_rdata      (operand_scale_rdata),
        .axi_rresp      (operand_scale_rresp),
        .axi_rlast      (operand_scale_rlast)
    );

    kiln_write_channel #(
        .DATA_BYTES  (kiln_systolic_pkg::SCALE_PORT_BYTES),
        .MAX_BYTES   (SCALE_BYTES),
        .TAG_BITS    (1),
        .OUTSTANDING (OUTSTANDING),
        .MEMORY_BYTES(MEMORY_BYTES)
    ) output_scale_channel (
        .clock          (clock),
        .unit_reset     (unit_reset),
        .port_reset     (port_reset),
        .request_valid  (output_scale_request_valid),
        .request_ready  (output_scale_request_ready),
        .request_address(output_scale_request_address),
        .request_bytes  (BYTES_BITS'(SCALE_BYTES)),
        .request_data   (output_scale_request_data),
        .request_tag    (output_scale_request_tag),
        .done_valid     (output_scale_done),
        .done_tag       (output_scale_done_tag),
        .idle           (idles[3]),
        .fault          (faults[3]),
        .range_fault    (range_faults[3]),
        .axi_awvalid    (output_scale_awvalid),
        .axi_awready    (output_scale_awready),
        .axi_awaddr     (output_scale_awaddr),
        .axi_awlen      (output_scale_awlen),
        .axi_awsize     (output_scale_awsize),
        .axi_awburst    (output_scale_awburst),
        .axi_wvalid     (output_scale_wvalid),
        .axi_wready     (output_scale_wready),
        .axi_wdata      (output_scale_wdata),
        .axi_wstrb      (output_scale_wstrb),
        .axi_wlast      (output_scale_wlast),
        .axi_bvalid     (output_scale_bvalid),
        .axi_bready     (output_scale_bready),
        .axi_bresp      (output_scale_bresp)
    );
  end else begin : g_no_ports
    assign idle        = 1'b1;
    assign fault       = 1'b0;
    assign range_fault = 1'b0;
    assign input_scale_request_ready   = 1'b0;
    assign input_scale_word_valid      = 1'b0;
    assign input_scale_word_data       = '0;
    assign input_scale_word_tag        = '0;
    assign input_scale_arvalid         = 1'b0;
    assign input_scale_araddr          = '0;
    assign input_scale_arlen           = '0;
    assign input_scale_arsize          = '0;
    assign input_scale_arburst         = '0;
    assign input_scale_rready          = 1'b0;
    assign weight_scale_request_ready  = 1'b0;
    assign weight_scale_word_valid     = 1'b0;
    assign weight_scale_word_data      = '0;
    assign weight_scale_word_tag       = '0;
    assign weight_scale_arvalid        = 1'b0;
    assign weight_scale_araddr         = '0;
    assign weight_scale_arlen          = '0;
    assign weight_scale_arsize         = '0;
    assign weight_scale_arburst        = '0;
    assign weight_scale_rready         = 1'b0;
    assign operand_scale_request_ready = 1'b0;
    assign operand_scale_word_valid    = 1'b0;
    assign operand_scale_word_data     = '0;
    assign operand_scale_word_tag      = '0;
    assign operand_scale_arvalid       = 1'b0;
    assign operand_scale_araddr        = '0;
    assign operand_scale_arlen         = '0;
    assign operand_scale_arsize        = '0;
    assign operand_scale_arburst       = '0;
    assign operand_scale_rready        = 1'b0;
    assign output_scale_request_ready  = 1'b0;
    assign output_scale_done           = 1'b0;
    assign output_scale_done_tag       = 1'b0;
    assign output_scale_awvalid        = 1'b0;
    assign output_scale_awaddr         = '0;
    assign output_scale_awlen          = '0;
    assign output_scale_awsize         = '0;
    assign output_scale_awburst        = '0;
    assign output_scale_wvalid         = 1'b0;
    assign output_scale_wdata          = '0;
    assign output_scale_wstrb          = '0;
    assign output_scale_wlast          = 1'b0;
    assign output_scale_bready         = 1'b0;
    wire unused_ports = &{1'b0, clock, unit_reset, port_reset, input_scale_request_valid,
        input_scale_request_address, input_scale_request_tag, input_scale_request_bytes,
        input_scale_arready, input_scale_rvalid, input_scale_rdata, input_scale_rresp,
        input_scale_rlast, weight_scale_request_valid, weight_scale_request_address,
        weight_scale_request_tag, weight_scale_arready, weight_scale_rvalid, weight_scale_rdata,
        weight_scale_rresp, weight_scale_rlast, operand_scale_request_valid,
        operand_scale_request_address, operand_scale_request_tag, operand_scale_word_ready,
                          operand_scale_arready, operand_scale_rvalid, operand_scale_rdata,
                              operand_scale_rresp, operand_scale_rlast,
                          output_scale_request_valid, output_scale_request_address,
                              output_scale_request_data, output_scale_request_tag,
                          output_scale_awready, output_scale_wready, output_scale_bvalid,
                              output_scale_bresp};
  end
endmodule
