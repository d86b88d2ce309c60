// Three masters, each with a read and a write port, connected to one kiln_axi_arbiter. Port slices
// are whole bytes, which is convenient for the test.
module arbiter_bench (
    input  logic                clock,
    input  logic                reset,
    input  logic [         2:0] read_valid,
    output logic [         2:0] read_ready,
    input  logic [    3*40-1:0] read_address,
    input  logic [     3*8-1:0] read_bytes,
    input  logic [    3*16-1:0] read_tag,
    output logic [         2:0] word_valid,
    input  logic [         2:0] word_ready,
    output logic [  3*32*8-1:0] word_data,
    output logic [    3*16-1:0] word_tag,
    input  logic [         2:0] write_valid,
    output logic [         2:0] write_ready,
    input  logic [    3*40-1:0] write_address,
    input  logic [     3*8-1:0] write_bytes,
    input  logic [  3*32*8-1:0] write_data,
    output logic [         2:0] write_idle,
    output logic [         2:0] fault,
    output logic                axi_arvalid,
    input  logic                axi_arready,
    output logic [         1:0] axi_arid,
    output logic [        39:0] axi_araddr,
    output logic [         7:0] axi_arlen,
    input  logic                axi_rvalid,
    output logic                axi_rready,
    input  logic [         1:0] axi_rid,
    input  logic [       127:0] axi_rdata,
    input  logic [         1:0] axi_rresp,
    input  logic                axi_rlast,
    output logic                axi_awvalid,
    input  logic                axi_awready,
    output logic [         1:0] axi_awid,
    output logic [        39:0] axi_awaddr,
    output logic [         7:0] axi_awlen,
    output logic                axi_wvalid,
    input  logic                axi_wready,
    output logic [       127:0] axi_wdata,
    output logic [        15:0] axi_wstrb,
    output logic                axi_wlast,
    input  logic                axi_bvalid,
    output logic                axi_bready,
    input  logic [         1:0] axi_bid,
    input  logic [         1:0] axi_bresp
);
  logic [2:0] port_arvalid, port_arready, port_rvalid, port_rready;
  logic [2:0] port_awvalid, port_awready, port_wvalid, port_wready;
  logic [2:0] port_wlast, port_bvalid, port_bready, read_fault, write_fault;
  logic [3*40-1:0] port_araddr, port_awaddr;
  logic [3*8-1:0] port_arlen, port_awlen;
  logic [127:0] port_rdata;
  logic [1:0] port_rresp, port_bresp;
  logic port_rlast;
  logic [3*128-1:0] port_wdata;
  logic [3*16-1:0] port_wstrb;

  for (genvar i = 0; i < 3; i = i + 1) begin : g_master
    kiln_axi_read_port #(
        .DATA_BYTES(16),
        .MAX_BYTES(32),
        .TAG_BITS(16)
    ) read (
        .clock,
        .reset,
        .request_valid(read_valid[i]),
        .request_ready(read_ready[i]),
        .request_address(read_address[i*40+:40]),
        .request_bytes(read_bytes[i*8+:6]),
        .request_tag(read_tag[i*16+:16]),
        .word_valid(word_valid[i]),
        .word_ready(word_ready[i]),
        .word_data(word_data[i*256+:256]),
        .word_tag(word_tag[i*16+:16]),
        .idle(),
        .fault(read_fault[i]),
        .axi_arvalid(port_arvalid[i]),
        .axi_arready(port_arready[i]),
        .axi_araddr(port_araddr[i*40+:40]),
        .axi_arlen(port_arlen[i*8+:8]),
        .axi_arsize(),
        .axi_arburst(),
        .axi_rvalid(port_rvalid[i]),
        .axi_rready(port_rready[i]),
        .axi_rdata(port_rdata),
        .axi_rresp(port_rresp),
        .axi_rlast(port_rlast)
    );
    kiln_axi_write_port #(
        .DATA_BYTES(16),
        .MAX_BYTES(32),
        .TAG_BITS(1)
    ) write (
        .clock,
        .reset,
        .request_valid(write_valid[i]),
        .request_ready(write_ready[i]),
        .request_address(write_address[i*40+:40]),
        .request_bytes(write_bytes[i*8+:6]),
        .request_data(write_data[i*256+:256]),
        .request_tag(1'b0),
        .done_valid(),
        .done_tag(),
        .outstanding(),
        .idle(write_idle[i]),
        .fault(write_fault[i]),
        .axi_awvalid(port_awvalid[i]),
        .axi_awready(port_awready[i]),
        .axi_awaddr(port_awaddr[i*40+:40]),
        .axi_awlen(port_awlen[i*8+:8]),
        .axi_awsize(),
        .axi_awburst(),
        .axi_wvalid(port_wvalid[i]),
        .axi_wready(port_wready[i]),
        .axi_wdata(port_wdata[i*128+:128]),
        .axi_wstrb(port_wstrb[i*16+:16]),
        .axi_wlast(port_wlast[i]),
        .axi_bvalid(port_bvalid[i]),
        .axi_bready(port_bready[i]),
        .axi_bresp(port_bresp)
    );
    logic unused_bytes;
    assign unused_bytes = &{1'b0, read_bytes[i*8+6+:2], write_bytes[i*8+6+:2]};
  end
  assign fault = read_fault | write_fault;

  kiln_axi_arbiter #(
      .MASTERS(3),
      .DATA_BYTES(16),
      .WRITE_BURSTS(4)
  ) arbiter (
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
      .axi_arvalid,
      .axi_arready,
      .axi_arid,
      .axi_araddr,
      .axi_arlen,
      .axi_arsize(),
      .axi_arburst(),
      .axi_rvalid,
      .axi_rready,
      .axi_rid,
      .axi_rdata,
      .axi_rresp,
      .axi_rlast,
      .axi_awvalid,
      .axi_awready,
      .axi_awid,
      .axi_awaddr,
      .axi_awlen,
      .axi_awsize(),
      .axi_awburst(),
      .axi_wvalid,
      .axi_wready,
      .axi_wdata,
      .axi_wstrb,
      .axi_wlast,
      .axi_bvalid,
      .axi_bready,
      .axi_bid,
      .axi_bresp
  );
endmodule
