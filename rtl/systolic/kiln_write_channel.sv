// The vector unit's write path to memory: a kiln_axi_write_port after a guard that discards
// requests outside the memory. While unit_reset is high, no new write is started; writes in flight
// complete.
//   request, done   as in kiln_axi_write_port
//   range_fault     High while the unit requests a write outside the memory.
//   fault           Sticky until port_reset: a response was an error.
//   idle            All accepted data are in memory.
module kiln_write_channel #(
    parameter int unsigned DATA_BYTES = 16,  // width of the port
    parameter int unsigned MAX_BYTES = 16,  // bytes of the longest request
    parameter int unsigned TAG_BITS = 1,
    parameter int unsigned OUTSTANDING = 32,  // bursts in flight
    parameter longint unsigned MEMORY_BYTES = 64'd1 << 30,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,  // derived, do not set
    localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1)
) (
    input  logic                    clock,
    input  logic                    unit_reset,
    input  logic                    port_reset,
    input  logic                    request_valid,
    output logic                    request_ready,
    input  logic [ADDRESS_BITS-1:0] request_address,
    input  logic [  BYTES_BITS-1:0] request_bytes,
    input  logic [ MAX_BYTES*8-1:0] request_data,
    input  logic [    TAG_BITS-1:0] request_tag,
    output logic                    done_valid,
    output logic [    TAG_BITS-1:0] done_tag,
    output logic                    idle,
    output logic                    fault,
    output logic                    range_fault,
    // AXI4 master, write channels
    output logic                    axi_awvalid,
    input  logic                    axi_awready,
    output logic [ADDRESS_BITS-1:0] axi_awaddr,
    output logic [             7:0] axi_awlen,
    output logic [             2:0] axi_awsize,
    output logic [             1:0] axi_awburst,
    output logic                    axi_wvalid,
    input  logic                    axi_wready,
    output logic [DATA_BYTES*8-1:0] axi_wdata,
    output logic [  DATA_BYTES-1:0] axi_wstrb,
    output logic                    axi_wlast,
    input  logic                    axi_bvalid,
    output logic                    axi_bready,
    input  logic [             1:0] axi_bresp
);
  logic port_valid, port_ready, port_done_valid;

  kiln_address_guard #(
      .MEMORY_BYTES(MEMORY_BYTES),
      .BYTES_BITS  (BYTES_BITS)
  ) guard (
      .unit_valid(request_valid && !unit_reset),
      .unit_ready(request_ready),
      .address   (request_address),
      .bytes     (request_bytes),
      .port_valid(port_valid),
      .port_ready(port_ready),
      .fault     (range_fault)
  );

  kiln_axi_write_port #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES  (DATA_BYTES),
      .MAX_BYTES   (MAX_BYTES),
      .TAG_BITS    (TAG_BITS),
      .OUTSTANDING (OUTSTANDING)
  ) port (
      .clock          (clock),
      .reset          (port_reset),
      .request_valid  (port_valid),
      .request_ready  (port_ready),
      .request_address(request_address),
      .request_bytes  (request_bytes),
      .request_data   (request_data),
      .request_tag    (request_tag),
      .done_valid     (port_done_valid),
      .done_tag       (done_tag),
      .outstanding    (),
      .idle           (idle),
      .fault          (fault),
      .axi_awvalid    (axi_awvalid),
      .axi_awready    (axi_awready),
      .axi_awaddr     (axi_awaddr),
      .axi_awlen      (axi_awlen),
      .axi_awsize     (axi_awsize),
      .axi_awburst    (axi_awburst),
      .axi_wvalid     (axi_wvalid),
      .axi_wready     (axi_wready),
      .axi_wdata      (axi_wdata),
      .axi_wstrb      (axi_wstrb),
      .axi_wlast      (axi_wlast),
      .axi_bvalid     (axi_bvalid),
      .axi_bready     (axi_bready),
      .axi_bresp      (axi_bresp)
  );

  assign done_valid = port_done_valid && !unit_reset;

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!port_reset) begin
      no_request_in_unit_reset : assert (!unit_reset || !port_valid);
      no_request_outside_memory : assert (!(port_valid && range_fault));
      done_of_something : assert (!port_done_valid || !idle);
    end
  end
`endif
endmodule
