// The read side of the VTA machine's memory port. In each cycle in which the port is free it
// accepts the request with the highest priority: fetch, then loader, then load stage; with
// `fetch_last` loader, then load stage, then fetch. Words return with their tags, in the order of
// requests, and must be accepted immediately.
//   enable         no request is accepted while `enable` is low
//   fault_valid    instruction `fault_number` requests an address that is not memory (the request
//                  is not issued), or the response to its request was an error
//   idle           no request is in flight
module kiln_vta_reads #(
    parameter int unsigned MEMORY_PORT_BYTES = 8,
    parameter int unsigned MEMORY_LATENCY = 32,
    parameter int unsigned MAX_BYTES = 256,  // bytes of the longest element
    localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1),  // derived, do not set
    localparam int unsigned ADDRESS_BITS = kiln_vta_pkg::ADDRESS_BITS,
    localparam int unsigned SOURCES = 3,  // indexed by SOURCE_*
    localparam int unsigned TAG_BITS = kiln_vta_pkg::READ_TAG_BITS
) (
    input  logic                                 clock,
    input  logic                                 reset,
    input  logic                                 enable,
    input  logic                                 fetch_last,
    input  logic [                  SOURCES-1:0] request_valid,
    output logic [                  SOURCES-1:0] request_ready,
    input  logic [     SOURCES*ADDRESS_BITS-1:0] request_address,
    input  logic [       SOURCES*BYTES_BITS-1:0] request_bytes,
    input  logic [         SOURCES*TAG_BITS-1:0] request_tag,
    output logic                                 word_valid,
    output logic [              MAX_BYTES*8-1:0] word_data,
    output kiln_vta_pkg::read_tag_t              word_tag,
    output logic                                 idle,
    // the source has a request, and the port serves another source in this cycle
    output logic [                  SOURCES-1:0] waits,
    // beats and bytes of the request accepted in this cycle; 0 if there is none
    output logic [               BYTES_BITS-1:0] taken_beats,
    output logic [               BYTES_BITS-1:0] taken_bytes,
    output logic [                          2:0] taken_memory,  // SOURCE_FETCH has none
    output logic                                 fault_valid,
    output logic [kiln_vta_pkg::NUMBER_BITS-1:0] fault_number,
    // AXI4 master, read channels
    output logic                                 axi_arvalid,
    input  logic                                 axi_arready,
    output logic [             ADDRESS_BITS-1:0] axi_araddr,
    output logic [                          7:0] axi_arlen,
    output logic [                          2:0] axi_arsize,
    output logic [                          1:0] axi_arburst,
    input  logic                                 axi_rvalid,
    output logic                                 axi_rready,
    input  logic [      MEMORY_PORT_BYTES*8-1:0] axi_rdata,
    input  logic [                          1:0] axi_rresp,
    input  logic                                 axi_rlast
);
  localparam int unsigned PAGE_BITS = kiln_vta_pkg::PAGE_BITS;

  logic [SOURCES-1:0] eligible, grant;
  always_comb begin
    eligible = request_valid;
    if (fetch_last && request_valid[SOURCES-1:1] != '0) eligible[kiln_vta_pkg::SOURCE_FETCH] = 1'b0;
  end
  assign grant = eligible & (~eligible + 1'b1);  // the lowest bit

  logic [ADDRESS_BITS-1:0] address;
  logic [BYTES_BITS-1:0] bytes;
  logic [TAG_BITS-1:0] tag_bits;
  kiln_vta_pkg::read_tag_t tag;
  always_comb begin
    address  = '0;
    bytes    = '0;
    tag_bits = '0;
    for (int i = 0; i < SOURCES; i++) begin
      address  = address | (grant[i] ? request_address[i*ADDRESS_BITS+:ADDRESS_BITS] : '0);
      bytes    = bytes | (grant[i] ? request_bytes[i*BYTES_BITS+:BYTES_BITS] : '0);
      tag_bits = tag_bits | (grant[i] ? request_tag[i*TAG_BITS+:TAG_BITS] : '0);
    end
  end
  assign tag = tag_bits;

  // Each source's own request decides whether it is accepted: fetch does not wait until the loader
  // knows whether its element is padding.
  logic port_valid, port_ready, port_fault;
  logic [SOURCES-1:0] nowhere;  // the source's request is to an address that is not memory
  for (genvar i = 0; i < SOURCES; i++) begin : g_source
    assign nowhere[i] = request_bytes[i*BYTES_BITS+:BYTES_BITS] != '0 &&
        request_address[i*ADDRESS_BITS+PAGE_BITS+:ADDRESS_BITS-PAGE_BITS] == '0;
  end
  assign port_valid = enable && (grant & ~nowhere) != '0;
  assign request_ready = enable && port_ready ? grant & ~nowhere : '0;

  kiln_axi_read_port #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(MEMORY_PORT_BYTES),
      .MAX_BYTES(MAX_BYTES),
      .TAG_BITS(TAG_BITS),
      .OUTSTANDING(MEMORY_LATENCY + 2)
  ) port (
      .clock,
      .reset,
      .request_valid(port_valid),
      .request_ready(port_ready),
      .request_address(address),
      .request_bytes(bytes),
      .request_tag(tag_bits),
      .word_valid,
      .word_ready(1'b1),
      .word_data,
      .word_tag,
      .idle,
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

  // ---- Inputs of the counters.
  localparam int unsigned OFFSET_BITS = $clog2(MEMORY_PORT_BYTES);
  localparam int unsigned SPAN_BITS = $clog2(MAX_BYTES + 2 * MEMORY_PORT_BYTES);
  logic [SOURCES-1:0] owner;  // source of the last request
  logic taken;
  logic [SPAN_BITS-1:0] span;
  assign taken = port_valid && port_ready;
  always_ff @(posedge clock) begin
    if (taken) owner <= grant;
  end
  assign waits = request_valid & ~(port_ready ? grant : owner);
  assign span =
      SPAN_BITS'(address[OFFSET_BITS-1:0]) + SPAN_BITS'(bytes) + SPAN_BITS'(MEMORY_PORT_BYTES - 1);
  assign taken_beats = taken && bytes != '0 ? BYTES_BITS'(span >> OFFSET_BITS) : '0;
  assign taken_bytes = taken ? bytes : '0;
  assign taken_memory = tag.memory;

  // The port asserts `fault` from the cycle after the beat with the error on. The word with that
  // beat leaves the port in the same cycle or later.
  logic word_fault, request_fault;
  assign word_fault = port_fault && word_valid;
  assign request_fault = enable && (grant & nowhere) != '0;
  assign fault_valid = word_fault || request_fault;
  assign fault_number = word_fault ? word_tag.number : tag.number;

  logic unused_tag;
  assign unused_tag = &{1'b0, tag};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_grant : assert ($onehot0(grant));
      grant_requested : assert ((grant & ~request_valid) == '0);
      one_request_taken : assert ($onehot0(request_ready));
      grant_whenever_requested : assert (request_valid == '0 || grant != '0);
      word_has_a_source : assert (!word_valid || 32'(word_tag.source) < SOURCES);
      // An address without memory is a fault and never reaches the bus.
      no_request_with_fault : assert (!(request_fault && taken));
    end
  end
`endif
endmodule
