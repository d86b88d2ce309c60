// The input of a dataflow machine: an AXI4-Stream sink in front of a channel. A beat is a word, in
// the lowest bits of TDATA; further bits, up to whole bytes, are ignored. A beat is accepted, and
// pushed in the same cycle, while `run` is high and the channel has room.
module kiln_dataflow_source #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    localparam int unsigned DATA_BITS = (WIDTH + 7) / 8 * 8  // derived, do not set
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 run,
    input  logic                 axi_tvalid,
    output logic                 axi_tready,
    input  logic [DATA_BITS-1:0] axi_tdata,
    input  logic                 out_room,
    output logic                 out_reserve,
    output logic                 out_push,
    output logic [    WIDTH-1:0] out_data
);
  assign axi_tready = run && out_room && !reset;
  assign out_push = axi_tvalid && axi_tready;
  assign out_reserve = out_push;
  assign out_data = axi_tdata[WIDTH-1:0];
  if (DATA_BITS > WIDTH) begin : g_padding
    wire unused_padding = &{1'b0, axi_tdata};
  end
`ifdef SYNTHESIS
  wire unused_clock = clock;
`else
  kiln_handshake_checker #(
      .WIDTH(DATA_BITS)
  ) beat_handshake (
      .clock,
      .reset,
      .valid(axi_tvalid),
      .ready(axi_tready),
      .payload(axi_tdata)
  );
`endif
endmodule
