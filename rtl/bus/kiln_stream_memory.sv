// Puts a machine with AXI4-Streams behind memory: reads what goes into its streams from memory,
// stores what comes out, and is controlled by registers (kiln_stream_control). All streams share
// one AXI4 master, on which stream i has the ID i; streams into the machine come first. A burst of
// writes takes one cycle more than its beats (kiln_axi_arbiter).
//   BEAT_BYTES   bytes of a beat of each stream, 32 bits each, stream 0 lowest
//   to_*, from_*  the streams into the machine and out of it: one bit of tvalid and tready each,
//                and the data of all of them, stream after stream, the first one lowest
module kiln_stream_memory #(
    parameter int unsigned STREAMS_IN = 1,
    parameter int unsigned STREAMS_OUT = 1,
    localparam int unsigned STREAMS = STREAMS_IN + STREAMS_OUT,  // derived, do not set
    parameter logic [STREAMS*32-1:0] BEAT_BYTES = {STREAMS{32'd4}},
    parameter int unsigned TO_BYTES = 4,  // sum of BEAT_BYTES of the streams into the machine
    parameter int unsigned FROM_BYTES = 4,  // sum of those out of it
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned DATA_BYTES = 16,  // of a beat of the memory: 8 to 128, a power of two
    localparam int unsigned DATA_BITS = DATA_BYTES * 8,  // derived, do not set
    localparam int unsigned ID_BITS = $clog2(STREAMS)  // derived, do not set
) (
    input  logic                    clock,
    input  logic                    reset,
    // AXI4-Lite slave
    input  logic                    control_awvalid,
    output logic                    control_awready,
    input  logic [            11:0] control_awaddr,
    input  logic                    control_wvalid,
    output logic                    control_wready,
    input  logic [            31:0] control_wdata,
    input  logic [             3:0] control_wstrb,
    output logic                    control_bvalid,
    input  logic                    control_bready,
    output logic [             1:0] control_bresp,
    input  logic                    control_arvalid,
    output logic                    control_arready,
    input  logic [            11:0] control_araddr,
    output logic                    control_rvalid,
    input  logic                    control_rready,
    output logic [            31:0] control_rdata,
    output logic [             1:0] control_rresp,
    output logic                    irq,
    // The machine's streams
    output logic [  STREAMS_IN-1:0] to_tvalid,
    input  logic [  STREAMS_IN-1:0] to_tready,
    output logic [  TO_BYTES*8-1:0] to_tdata,
    input  logic [ STREAMS_OUT-1:0] from_tvalid,
    output logic [ STREAMS_OUT-1:0] from_tready,
    input  logic [FROM_BYTES*8-1:0] from_tdata,
    // AXI4 master
    output logic                    memory_arvalid,
    input  logic                    memory_arready,
    output logic [     ID_BITS-1:0] memory_arid,
    output logic [ADDRESS_BITS-1:0] memory_araddr,
    output logic [             7:0] memory_arlen,
    output logic [             2:0] memory_arsize,
    output logic [             1:0] memory_arburst,
    input  logic                    memory_rvalid,
    output logic                    memory_rready,
    input  logic [     ID_BITS-1:0] memory_rid,
    input  logic [   DATA_BITS-1:0] memory_rdata,
    input  logic [             1:0] memory_rresp,
    input  logic                    memory_rlast,
    output logic                    memory_awvalid,
    input  logic                    memory_awready,
    output logic [     ID_BITS-1:0] memory_awid,
    output logic [ADDRESS_BITS-1:0] memory_awaddr,
    output logic [             7:0] memory_awlen,
    output logic [             2:0] memory_awsize,
    output logic [             1:0] memory_awburst,
    output logic                    memory_wvalid,
    input  logic                    memory_wready,
    output logic [   DATA_BITS-1:0] memory_wdata,
    output logic [  DATA_BYTES-1:0] memory_wstrb,
    output logic                    memory_wlast,
    input  logic                    memory_bvalid,
    output logic                    memory_bready,
    input  logic [     ID_BITS-1:0] memory_bid,
    input  logic [             1:0] memory_bresp
);
  // Bytes of all streams from `first` up to, but without, `stream`.
  function automatic int unsigned bytes_before(input int unsigned first, input int unsigned stream);
    bytes_before = 0;
    for (int unsigned i = first; i < stream; i++) begin
      bytes_before = bytes_before + BEAT_BYTES[i*32+:32];
    end
  endfunction

  if (bytes_before(0, STREAMS_IN) != TO_BYTES ||
      bytes_before(STREAMS_IN, STREAMS) != FROM_BYTES) begin : g_parameters
    $error("TO_BYTES and FROM_BYTES must be the sums of BEAT_BYTES");
  end

  // ---- The registers.
  logic start;
  logic [STREAMS*ADDRESS_BITS-1:0] addresses;
  logic [STREAMS*32-1:0] beat_counts;
  logic [STREAMS-1:0] busy, faults;
  kiln_stream_control #(
      .STREAMS_IN  (STREAMS_IN),
      .STREAMS_OUT (STREAMS_OUT),
      .ADDRESS_BITS(ADDRESS_BITS)
  ) registers (
      .clock,
      .reset,
      .axi_awvalid(control_awvalid),
      .axi_awready(control_awready),
      .axi_awaddr (control_awaddr),
      .axi_wvalid (control_wvalid),
      .axi_wready (control_wready),
      .axi_wdata  (control_wdata),
      .axi_wstrb  (control_wstrb),
      .axi_bvalid (control_bvalid),
      .axi_bready (control_bready),
      .axi_bresp  (control_bresp),
      .axi_arvalid(control_arvalid),
      .axi_arready(control_arready),
      .axi_araddr (control_araddr),
      .axi_rvalid (control_rvalid),
      .axi_rready (control_rready),
      .axi_rdata  (control_rdata),
      .axi_rresp  (control_rresp),
      .start,
      .addresses,
      .beat_counts,
      .busy,
      .faults,
      .valids     ({from_tvalid, to_tvalid}),
      .readys     ({from_tready, to_tready}),
      .irq
  );

  // ---- Readers and writers, and the bus that they share.
  logic [STREAMS-1:0] port_arvalid, port_arready, port_rvalid, port_rready;
  logic [STREAMS-1:0] port_awvalid, port_awready, port_wvalid, port_wready, port_wlast;
  logic [STREAMS-1:0] port_bvalid, port_bready;
  logic [STREAMS*ADDRESS_BITS-1:0] port_araddr, port_awaddr;
  logic [STREAMS*8-1:0] port_arlen, port_awlen;
  logic [STREAMS*DATA_BITS-1:0] port_wdata;
  logic [STREAMS*DATA_BYTES-1:0] port_wstrb;
  logic [DATA_BITS-1:0] port_rdata;
  logic [1:0] port_rresp, port_bresp;
  logic port_rlast;
  for (genvar i = 0; i < STREAMS_IN; i++) begin : g_in
    localparam int unsigned BYTES = BEAT_BYTES[i*32+:32];
    localparam int unsigned FIRST = bytes_before(0, i);
    logic [2:0] unused_size;
    logic [1:0] unused_burst;
    kiln_axi_stream_reader #(
        .ADDRESS_BITS(ADDRESS_BITS),
        .DATA_BYTES  (DATA_BYTES),
        .BEAT_BYTES  (BYTES)
    ) reader (
        .clock,
        .reset,
        .start,
        .address    (addresses[i*ADDRESS_BITS+:ADDRESS_BITS]),
        .beat_count (beat_counts[i*32+:32]),
        .busy       (busy[i]),
        .fault      (faults[i]),
        .out_tvalid (to_tvalid[i]),
        .out_tready (to_tready[i]),
        .out_tdata  (to_tdata[FIRST*8+:BYTES*8]),
        .axi_arvalid(port_arvalid[i]),
        .axi_arready(port_arready[i]),
        .axi_araddr (port_araddr[i*ADDRESS_BITS+:ADDRESS_BITS]),
        .axi_arlen  (port_arlen[i*8+:8]),
        .axi_arsize (unused_size),
        .axi_arburst(unused_burst),
        .axi_rvalid (port_rvalid[i]),
        .axi_rready (port_rready[i]),
        .axi_rdata  (port_rdata),
        .axi_rresp  (port_rresp),
        .axi_rlast  (port_rlast)
    );
    assign port_awvalid[i] = 1'b0;
    assign port_awaddr[i*ADDRESS_BITS+:ADDRESS_BITS] = '0;
    assign port_awlen[i*8+:8] = '0;
    assign port_wvalid[i] = 1'b0;
    assign port_wdata[i*DATA_BITS+:DATA_BITS] = '0;
    assign port_wstrb[i*DATA_BYTES+:DATA_BYTES] = '0;
    assign port_wlast[i] = 1'b0;
    assign port_bready[i] = 1'b1;
    wire unused_writes = &{1'b0, port_awready[i], port_wready[i], port_bvalid[i]};
  end
  for (genvar i = STREAMS_IN; i < STREAMS; i++) begin : g_out
    localparam int unsigned BYTES = BEAT_BYTES[i*32+:32];
    localparam int unsigned FIRST = bytes_before(STREAMS_IN, i);
    logic [2:0] unused_size;
    logic [1:0] unused_burst;
    kiln_axi_stream_writer #(
        .ADDRESS_BITS(ADDRESS_BITS),
        .DATA_BYTES  (DATA_BYTES),
        .BEAT_BYTES  (BYTES)
    ) writer (
        .clock,
        .reset,
        .start,
        .address    (addresses[i*ADDRESS_BITS+:ADDRESS_BITS]),
        .beat_count (beat_counts[i*32+:32]),
        .busy       (busy[i]),
        .fault      (faults[i]),
        .in_tvalid  (from_tvalid[i-STREAMS_IN]),
        .in_tready  (from_tready[i-STREAMS_IN]),
        .in_tdata   (from_tdata[FIRST*8+:BYTES*8]),
        .axi_awvalid(port_awvalid[i]),
        .axi_awready(port_awready[i]),
        .axi_awaddr (port_awaddr[i*ADDRESS_BITS+:ADDRESS_BITS]),
        .axi_awlen  (port_awlen[i*8+:8]),
        .axi_awsize (unused_size),
        .axi_awburst(unused_burst),
        .axi_wvalid (port_wvalid[i]),
        .axi_wready (port_wready[i]),
        .axi_wdata  (port_wdata[i*DATA_BITS+:DATA_BITS]),
        .axi_wstrb  (port_wstrb[i*DATA_BYTES+:DATA_BYTES]),
        .axi_wlast  (port_wlast[i]),
        .axi_bvalid (port_bvalid[i]),
        .axi_bready (port_bready[i]),
        .axi_bresp  (port_bresp)
    );
    assign port_arvalid[i] = 1'b0;
    assign port_araddr[i*ADDRESS_BITS+:ADDRESS_BITS] = '0;
    assign port_arlen[i*8+:8] = '0;
    assign port_rready[i] = 1'b1;
    wire unused_reads = &{1'b0, port_arready[i], port_rvalid[i]};
  end
  kiln_axi_arbiter #(
      .MASTERS     (STREAMS),
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES  (DATA_BYTES)
  ) bus (
      .clock,
      .reset,
      .port_arvalid,
      .port_arready,
      .port_araddr,
      .port_arlen,
      .port_rvalid,
      .port_rready,
      .port_rdata,
      .port_rresp,
      .port_rlast,
      .port_awvalid,
      .port_awready,
      .port_awaddr,
      .port_awlen,
      .port_wvalid,
      .port_wready,
      .port_wdata,
      .port_wstrb,
      .port_wlast,
      .port_bvalid,
      .port_bready,
      .port_bresp,
      .axi_arvalid(memory_arvalid),
      .axi_arready(memory_arready),
      .axi_arid   (memory_arid),
      .axi_araddr (memory_araddr),
      .axi_arlen  (memory_arlen),
      .axi_arsize (memory_arsize),
      .axi_arburst(memory_arburst),
      .axi_rvalid (memory_rvalid),
      .axi_rready (memory_rready),
      .axi_rid    (memory_rid),
      .axi_rdata  (memory_rdata),
      .axi_rresp  (memory_rresp),
      .axi_rlast  (memory_rlast),
      .axi_awvalid(memory_awvalid),
      .axi_awready(memory_awready),
      .axi_awid   (memory_awid),
      .axi_awaddr (memory_awaddr),
      .axi_awlen  (memory_awlen),
      .axi_awsize (memory_awsize),
      .axi_awburst(memory_awburst),
      .axi_wvalid (memory_wvalid),
      .axi_wready (memory_wready),
      .axi_wdata  (memory_wdata),
      .axi_wstrb  (memory_wstrb),
      .axi_wlast  (memory_wlast),
      .axi_bvalid (memory_bvalid),
      .axi_bready (memory_bready),
      .axi_bid    (memory_bid),
      .axi_bresp  (memory_bresp)
  );
endmodule
