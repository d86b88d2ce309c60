// Weight fetch with its bus: kiln_weight_fetch behind an AXI4 read port of WEIGHT_PORT_BYTES. Timing and tokens as there; words come
// MEMORY_LATENCY cycles after the last beat of their request was asked for, where the memory behind the port has a latency of
// MEMORY_LATENCY - PORT_LATENCY (kiln_axi_pkg).
module kiln_weight_master #(
    parameter int unsigned ARRAY_ROWS = 8,
    parameter int unsigned ARRAY_COLUMNS = 8,
    parameter int unsigned WEIGHT_BITS = 8,  // of a code
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,  // rows of a bank
    parameter int unsigned WEIGHT_PORT_BYTES = 16,
    parameter int unsigned MEMORY_LATENCY = 16,  // cycles
    localparam int unsigned CODE_BYTES = WEIGHT_BITS > 16 ? 4 : WEIGHT_BITS > 8 ? 2 : 1,  // in memory; derived, do not set
    localparam int unsigned LANES = ARRAY_ROWS > ARRAY_COLUMNS ? ARRAY_ROWS : ARRAY_COLUMNS,
    localparam int unsigned TILES = WEIGHT_BUFFER_WORDS / ARRAY_ROWS,
    localparam int unsigned TILE_BITS = TILES > 1 ? $clog2(TILES) : 1,
    localparam int unsigned INDEX_BITS = LANES > 1 ? $clog2(LANES) : 1
) (
    input  logic                                     clock,
    input  logic                                     reset,
    input  logic                                     command_valid,
    output logic                                     command_ready,
    output logic                                     command_taken,
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
    output logic                                     busy,
    output logic                                     stalled_previous,
    output logic                                     stalled_bank,
    output logic                                     idle,  // nothing asked for and not yet there
    output logic                                     fault,  // sticky: an error response
    // AXI4 master, read channels
    output logic                                     axi_arvalid,
    input  logic                                     axi_arready,
    output logic [                             39:0] axi_araddr,
    output logic [                              7:0] axi_arlen,
    output logic [                              2:0] axi_arsize,
    output logic [                              1:0] axi_arburst,
    input  logic                                     axi_rvalid,
    output logic                                     axi_rready,
    input  logic [          WEIGHT_PORT_BYTES*8-1:0] axi_rdata,
    input  logic [                              1:0] axi_rresp,
    input  logic                                     axi_rlast
);
  localparam int unsigned MAX_BYTES = LANES * CODE_BYTES;
  localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1);
  localparam int unsigned TAG_BITS = 4 + TILE_BITS + INDEX_BITS + $clog2(LANES + 1);

  logic request_valid, request_ready, word_valid;
  logic [39:0] request_address;
  logic [BYTES_BITS-1:0] request_bytes;
  logic [TAG_BITS-1:0] request_tag, word_tag;
  logic [MAX_BYTES*8-1:0] word_data;

  kiln_weight_fetch #(
      .ARRAY_ROWS(ARRAY_ROWS),
      .ARRAY_COLUMNS(ARRAY_COLUMNS),
      .WEIGHT_BITS(WEIGHT_BITS),
      .WEIGHT_BUFFER_WORDS(WEIGHT_BUFFER_WORDS)
  ) fetch (
      .clock,
      .reset,
      .command_valid,
      .command_ready,
      .command_taken,
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
      .busy,
      .stalled_previous,
      .stalled_bank
  );

  kiln_axi_read_port #(
      .DATA_BYTES(WEIGHT_PORT_BYTES),
      .MAX_BYTES(MAX_BYTES),
      .TAG_BITS(TAG_BITS),
      .OUTSTANDING(MEMORY_LATENCY + 2)
  ) port (
      .clock,
      .reset,
      .request_valid,
      .request_ready,
      .request_address,
      .request_bytes,
      .request_tag,
      .word_valid,
      .word_ready(1'b1),
      .word_data,
      .word_tag,
      .idle,
      .fault,
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
endmodule
