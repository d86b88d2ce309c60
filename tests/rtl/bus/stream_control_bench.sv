// kiln_stream_control with two streams in and one out, and with the port names of an emitted top,
// which kiln_axi_lite.h drives.
module stream_control_bench (
    input  logic         clock,
    input  logic         reset,
    input  logic         control_awvalid,
    output logic         control_awready,
    input  logic [ 11:0] control_awaddr,
    input  logic         control_wvalid,
    output logic         control_wready,
    input  logic [ 31:0] control_wdata,
    input  logic [  3:0] control_wstrb,
    output logic         control_bvalid,
    input  logic         control_bready,
    output logic [  1:0] control_bresp,
    input  logic         control_arvalid,
    output logic         control_arready,
    input  logic [ 11:0] control_araddr,
    output logic         control_rvalid,
    input  logic         control_rready,
    output logic [ 31:0] control_rdata,
    output logic [  1:0] control_rresp,
    output logic         start,
    output logic [119:0] addresses,
    output logic [ 95:0] beat_counts,
    input  logic [  2:0] busy,
    input  logic [  2:0] faults,
    input  logic [  2:0] valids,
    input  logic [  2:0] readys,
    output logic         irq
);
  kiln_stream_control #(
      .STREAMS_IN(2)
  ) control (
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
      .*
  );
endmodule
