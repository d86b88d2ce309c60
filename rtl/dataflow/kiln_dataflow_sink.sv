// The output of a dataflow machine: a channel in front of an AXI4-Stream source. A beat is a word,
// in the lowest bits of TDATA; further bits, up to whole bytes, are zero. The oldest word is
// offered in each cycle, and popped when the beat is accepted.
module kiln_dataflow_sink #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    localparam int unsigned DATA_BITS = (WIDTH + 7) / 8 * 8  // derived, do not set
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 in_valid,
    input  logic [    WIDTH-1:0] in_data,
    output logic                 in_pop,
    output logic                 axi_tvalid,
    input  logic                 axi_tready,
    output logic [DATA_BITS-1:0] axi_tdata
);
  assign axi_tvalid = in_valid && !reset;
  assign axi_tdata = DATA_BITS'(in_data);
  assign in_pop = axi_tvalid && axi_tready;
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
