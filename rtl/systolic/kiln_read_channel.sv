// A unit's read path to memory: a kiln_axi_read_port after a guard that discards requests outside
// the memory. It supports stopping the machine in the middle of its work: while unit_reset is high,
// no new request is sent, and words that still arrive are discarded.
//   request, word    as in kiln_axi_read_port
//   turn             (kiln_bus_turns) For channels that share a bus: a request that uses the bus is
//                    sent only with `turn`, which answers turn_request in the same cycle; port_free
//                    says that the port could take a request. `turn` is 1 if the channel has a bus
//                    of its own.
//   range_fault      High while the unit requests an address outside the memory.
//   fault            Sticky until port_reset: a response was an error.
//   idle             No request is in flight.
module kiln_read_channel #(
    parameter int unsigned DATA_BYTES = 16,  // width of the port
    parameter int unsigned MAX_BYTES = 16,  // bytes of the longest request
    parameter int unsigned TAG_BITS = 8,
    parameter int unsigned OUTSTANDING = 32,  // requests in flight
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
    input  logic [    TAG_BITS-1:0] request_tag,
    output logic                    word_valid,
    input  logic                    word_ready,
    output logic [ MAX_BYTES*8-1:0] word_data,
    output logic [    TAG_BITS-1:0] word_tag,
    output logic                    turn_request,
    output logic                    port_free,
    input  logic                    turn,
    output logic                    idle,
    output logic                    fault,
    output logic                    range_fault,
    // AXI4 master, read channels
    output logic                    axi_arvalid,
    input  logic                    axi_arready,
    output logic [ADDRESS_BITS-1:0] axi_araddr,
    output logic [             7:0] axi_arlen,
    output logic [             2:0] axi_arsize,
    output logic [             1:0] axi_arburst,
    input  logic                    axi_rvalid,
    output logic                    axi_rready,
    input  logic [DATA_BYTES*8-1:0] axi_rdata,
    input  logic [             1:0] axi_rresp,
    input  logic                    axi_rlast
);
  logic guarded_valid, guarded_ready, port_valid, port_word_valid, on_bus;
  assign on_bus        = request_valid && !unit_reset && request_bytes != '0;
  assign turn_request  = on_bus && port_free;
  assign port_valid    = guarded_valid && (turn || !on_bus);
  assign guarded_ready = port_free && (turn || !on_bus);

  kiln_address_guard #(
      .MEMORY_BYTES(MEMORY_BYTES),
      .BYTES_BITS  (BYTES_BITS)
  ) guard (
      .unit_valid(request_valid && !unit_reset),
      .unit_ready(request_ready),
      .address   (request_address),
      .bytes     (request_bytes),
      .port_valid(guarded_valid),
      .port_ready(guarded_ready),
      .fault     (range_fault)
  );

  kiln_axi_read_port #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES  (DATA_BYTES),
      .MAX_BYTES   (MAX_BYTES),
      .TAG_BITS    (TAG_BITS),
      .OUTSTANDING (OUTSTANDING),
      .IN_MEMORY   (1'b1)
  ) port (
      .clock          (clock),
      .reset          (port_reset),
      .request_valid  (port_valid),
      .request_ready  (port_free),
      .request_address(request_address),
      .request_bytes  (request_bytes),
      .request_tag    (request_tag),
      .word_valid     (port_word_valid),
      .word_ready     (word_ready || unit_reset),
      .word_data      (word_data),
      .word_tag       (word_tag),
      .idle           (idle),
      .fault          (fault),
      .axi_arvalid    (axi_arvalid),
      .axi_arready    (axi_arready),
      .axi_araddr     (axi_araddr),
      .axi_arlen      (axi_arlen),
      .axi_arsize     (axi_arsize),
      .axi_arburst    (axi_arburst),
      .axi_rvalid     (axi_rvalid),
      .axi_rready     (axi_rready),
      .axi_rdata      (axi_rdata),
      .axi_rresp      (axi_rresp),
      .axi_rlast      (axi_rlast)
  );

  assign word_valid = port_word_valid && !unit_reset;

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!port_reset) begin
      no_request_in_unit_reset : assert (!unit_reset || !port_valid);
      bus_only_in_turn : assert (!(port_valid && on_bus) || turn);
      no_request_outside_memory : assert (!(port_valid && range_fault));
    end
  end
`endif
endmodule
