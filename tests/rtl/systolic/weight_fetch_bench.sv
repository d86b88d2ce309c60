// kiln_weight_fetch with its AXI4 ports and address guards. With block scales (BLOCK_SIZE > 0) it
// has a second port, for the scales.
module weight_fetch_bench #(
    parameter int unsigned ARRAY_ROWS = 8,
    parameter int unsigned ARRAY_COLUMNS = 8,
    parameter int unsigned WEIGHT_BITS = 8,  // of a code
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,  // rows of a bank
    parameter int unsigned WEIGHT_PORT_BYTES = 16,
    parameter longint unsigned MEMORY_BYTES = 64'd1 << 30,
    parameter int unsigned MEMORY_LATENCY = 16,  // cycles
    parameter int unsigned BLOCK_SIZE = 0,  // elements that share a scale; 0: no scales
    parameter int unsigned SCALE_BITS = 8,  // of a scale's code
    parameter int unsigned SCALE_PORT_BYTES = 8,
    // Derived parameters; do not set them.
    localparam int unsigned CODE_BYTES = WEIGHT_BITS > 16 ? 4 : WEIGHT_BITS > 8 ? 2 : 1,
    localparam int unsigned LANES = ARRAY_ROWS > ARRAY_COLUMNS ? ARRAY_ROWS : ARRAY_COLUMNS,
    localparam int unsigned MAX_BYTES = LANES * CODE_BYTES,
    localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1),
    localparam int unsigned TILES = WEIGHT_BUFFER_WORDS / ARRAY_ROWS,
    localparam int unsigned TILE_BITS = TILES > 1 ? $clog2(TILES) : 1,
    localparam int unsigned INDEX_BITS = LANES > 1 ? $clog2(LANES) : 1,
    localparam int unsigned COLUMN_BITS = ARRAY_COLUMNS > 1 ? $clog2(ARRAY_COLUMNS) : 1
) (
    input  logic                                     clock,
    // Resets the unit. Words that arrive during reset are discarded.
    input  logic                                     reset,
    // Clears the requests in flight and `fault`. Only allowed while idle.
    input  logic                                     port_reset,
    input  logic                                     command_valid,
    output logic                                     command_ready,
    input  kiln_systolic_pkg::weight_fetch_command_t command,
    input  logic [kiln_systolic_pkg::INDEX_BITS-1:0] finished,
    output logic                                     array_write_enable,
    output logic                                     array_write_bank,
    output logic [                    TILE_BITS-1:0] array_write_tile,
    output logic                                     array_write_transposed,
    output logic [                   INDEX_BITS-1:0] array_write_index,
    output logic [            LANES*WEIGHT_BITS-1:0] array_write_data,
    output logic                                     array_filled,
    input  logic                                     array_released,
    output logic                                     depthwise_write_enable,
    output logic                                     depthwise_write_bank,
    output logic                                     depthwise_write_first,
    output logic [    ARRAY_COLUMNS*WEIGHT_BITS-1:0] depthwise_write_data,
    output logic                                     depthwise_filled,
    input  logic                                     depthwise_released,
    input  kiln_systolic_pkg::weight_scales_t        command_scales,
    output logic                                     scale_write_enable,
    output logic                                     scale_write_bank,
    output logic [                    TILE_BITS-1:0] scale_write_tile,
    output logic [                  COLUMN_BITS-1:0] scale_write_column,
    output logic [                   SCALE_BITS-1:0] scale_write_data,
    output logic                                     busy,
    output logic [                   BYTES_BITS-1:0] bytes_read,
    output logic                                     stalled_previous,
    output logic                                     stalled_bank,
    output logic                                     idle,  // no request is in flight
    output logic                                     fault,  // sticky: an error response
    output logic                                     range_fault,  // a request beyond the memory
    // AXI4 master, read channels
    output logic                                     axi_arvalid,
    input  logic                                     axi_arready,
    output logic [                             31:0] axi_araddr,
    output logic [                              7:0] axi_arlen,
    output logic [                              2:0] axi_arsize,
    output logic [                              1:0] axi_arburst,
    input  logic                                     axi_rvalid,
    output logic                                     axi_rready,
    input  logic [          WEIGHT_PORT_BYTES*8-1:0] axi_rdata,
    input  logic [                              1:0] axi_rresp,
    input  logic                                     axi_rlast,
    // AXI4 master of the block scales, read channels
    output logic                                     scale_axi_arvalid,
    input  logic                                     scale_axi_arready,
    output logic [                             31:0] scale_axi_araddr,
    output logic [                              7:0] scale_axi_arlen,
    output logic [                              2:0] scale_axi_arsize,
    output logic [                              1:0] scale_axi_arburst,
    input  logic                                     scale_axi_rvalid,
    output logic                                     scale_axi_rready,
    input  logic [           SCALE_PORT_BYTES*8-1:0] scale_axi_rdata,
    input  logic [                              1:0] scale_axi_rresp,
    input  logic                                     scale_axi_rlast
);
  localparam int unsigned TAG_BITS =
      (BLOCK_SIZE > 0 ? 5 : 4) + TILE_BITS + INDEX_BITS + $clog2(LANES + 1);
  localparam int unsigned SCALE_BYTES = SCALE_BITS > 16 ? 4 : SCALE_BITS > 8 ? 2 : 1;
  localparam int unsigned SCALE_BYTES_BITS = $clog2(SCALE_BYTES + 1);
  localparam int unsigned SCALE_TAG_BITS = 2 + TILE_BITS + COLUMN_BITS;

  logic request_valid, request_ready, word_valid;
  logic [31:0] request_address;
  logic [BYTES_BITS-1:0] request_bytes;
  logic [TAG_BITS-1:0] request_tag, word_tag;
  logic [MAX_BYTES*8-1:0] word_data;

  logic scale_request_valid, scale_request_ready, scale_word_valid;
  logic [31:0] scale_request_address;
  logic [SCALE_BYTES_BITS-1:0] scale_request_bytes;
  logic [SCALE_TAG_BITS-1:0] scale_request_tag, scale_word_tag;
  logic [SCALE_BYTES*8-1:0] scale_word_data;
  logic port_request_valid, port_request_ready, port_idle, port_fault, port_range_fault;
  logic scale_idle, scale_fault, scale_range_fault;
  assign scale_request_bytes = SCALE_BYTES_BITS'(SCALE_BYTES);
  assign idle = port_idle && scale_idle;
  assign fault = port_fault || scale_fault;
  assign range_fault = port_range_fault || scale_range_fault;

  kiln_weight_fetch #(
      .ARRAY_ROWS(ARRAY_ROWS),
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .WEIGHT_BITS(WEIGHT_BITS),
      .WEIGHT_BUFFER_WORDS(WEIGHT_BUFFER_WORDS),
      .BLOCK_SIZE(BLOCK_SIZE),
      .SCALE_BITS(SCALE_BITS)
  ) fetch (
      .clock,
      .reset,
      .command_valid,
      .command_ready,
      .command,
      .finished,
      .request_valid,
      .request_ready,
      .request_address,
      .request_bytes,
      .request_tag,
      .word_valid,
      .word_data,
      .word_tag,
      .array_write_enable,
      .array_write_bank,
      .array_write_tile,
      .array_write_transposed,
      .array_write_index,
      .array_write_data,
      .array_filled,
      .array_released,
      .depthwise_write_enable,
      .depthwise_write_bank,
      .depthwise_write_first,
      .depthwise_write_data,
      .depthwise_filled,
      .depthwise_released,
      .command_scales,
      .scale_request_valid,
      .scale_request_ready,
      .scale_request_address,
      .scale_request_tag,
      .scale_word_valid,
      .scale_word_data,
      .scale_word_tag,
      .scale_write_enable,
      .scale_write_bank,
      .scale_write_tile,
      .scale_write_column,
      .scale_write_data,
      .busy,
      .bytes_read,
      .stalled_previous,
      .stalled_bank
  );

  kiln_address_guard #(
      .MEMORY_BYTES(MEMORY_BYTES),
      .BYTES_BITS(BYTES_BITS)
  ) guard (
      .unit_valid(request_valid),
      .unit_ready(request_ready),
      .address(request_address),
      .bytes(request_bytes),
      .port_valid(port_request_valid),
      .port_ready(port_request_ready),
      .fault(port_range_fault)
  );

  kiln_axi_read_port #(
      .ADDRESS_BITS(kiln_systolic_pkg::ADDRESS_BITS),
      .DATA_BYTES(WEIGHT_PORT_BYTES),
      .MAX_BYTES(MAX_BYTES),
      .TAG_BITS(TAG_BITS),
      .OUTSTANDING(MEMORY_LATENCY + 2)
  ) port (
      .clock,
      .reset(port_reset),
      .request_valid(port_request_valid),
      .request_ready(port_request_ready),
      .request_address,
      .request_bytes,
      .request_tag,
      .word_valid,
      .word_ready(1'b1),
      .word_data,
      .word_tag,
      .idle(port_idle),
      .fault(port_fault),
      .axi_arvalid,
      .axi_arready,
      .axi_araddr,
      .axi_arlen,
      .axi_arsize,
      .axi_arburst,
      .axi_rvalid,
      .axi_rready,
      .axi_rdata,
      .axi_rresp,
      .axi_rlast
  );

  if (BLOCK_SIZE > 0) begin : g_scales
    logic scale_port_request_valid, scale_port_request_ready;
    kiln_address_guard #(
        .MEMORY_BYTES(MEMORY_BYTES),
        .BYTES_BITS(SCALE_BYTES_BITS)
    ) guard (
        .unit_valid(scale_request_valid),
        .unit_ready(scale_request_ready),
        .address(scale_request_address),
        .bytes(scale_request_bytes),
        .port_valid(scale_port_request_valid),
        .port_ready(scale_port_request_ready),
        .fault(scale_range_fault)
    );
    kiln_axi_read_port #(
        .ADDRESS_BITS(kiln_systolic_pkg::ADDRESS_BITS),
        .DATA_BYTES(SCALE_PORT_BYTES),
        .MAX_BYTES(SCALE_BYTES),
        .TAG_BITS(SCALE_TAG_BITS),
        .OUTSTANDING(MEMORY_LATENCY + 2)
    ) port (
        .clock,
        .reset(port_reset),
        .request_valid(scale_port_request_valid),
        .request_ready(scale_port_request_ready),
        .request_address(scale_request_address),
        .request_bytes(scale_request_bytes),
        .request_tag(scale_request_tag),
        .word_valid(scale_word_valid),
        .word_ready(1'b1),
        .word_data(scale_word_data),
        .word_tag(scale_word_tag),
        .idle(scale_idle),
        .fault(scale_fault),
        .axi_arvalid(scale_axi_arvalid),
        .axi_arready(scale_axi_arready),
        .axi_araddr(scale_axi_araddr),
        .axi_arlen(scale_axi_arlen),
        .axi_arsize(scale_axi_arsize),
        .axi_arburst(scale_axi_arburst),
        .axi_rvalid(scale_axi_rvalid),
        .axi_rready(scale_axi_rready),
        .axi_rdata(scale_axi_rdata),
        .axi_rresp(scale_axi_rresp),
        .axi_rlast(scale_axi_rlast)
    );
  end else begin : g_no_scales
    assign scale_request_ready = 1'b0;
    assign scale_word_valid = 1'b0;
    assign scale_word_data = '0;
    assign scale_word_tag = '0;
    assign scale_idle = 1'b1;
    assign scale_fault = 1'b0;
    assign scale_range_fault = 1'b0;
    assign scale_axi_arvalid = 1'b0;
    assign scale_axi_araddr = '0;
    assign scale_axi_arlen = '0;
    assign scale_axi_arsize = '0;
    assign scale_axi_arburst = '0;
    assign scale_axi_rready = 1'b0;
    wire unused_scales = &{1'b0, scale_request_valid, scale_request_address, scale_request_bytes,
                           scale_request_tag, scale_axi_arready, scale_axi_rvalid, scale_axi_rdata,
                           scale_axi_rresp, scale_axi_rlast};
  end
endmodule
