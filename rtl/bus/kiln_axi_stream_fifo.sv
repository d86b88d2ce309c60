// A queue of AXI4-Stream beats.
//   time       a beat accepted in cycle t (in_tvalid && in_tready) is at the output in t + 1 at the
//              earliest; one beat per cycle (DEPTH 1: one beat every other cycle)
//   storage    registers or LUT memory (kiln_fifo), or a block memory with IN_MEMORY
//              (kiln_deep_fifo); both have the same cycles
//   in_tready  high while the queue has room; a function of registers only
//   count      number of stored beats, at most DEPTH
module kiln_axi_stream_fifo #(
    parameter int unsigned DATA_BYTES = 8,
    parameter int unsigned DEPTH = 16,  // beats, any number from 1, with IN_MEMORY from 2
    parameter bit IN_MEMORY = 1'b0,
    localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1)  // derived, do not set
) (
    input  logic                    clock,
    input  logic                    reset,
    // AXI4-Stream sink
    input  logic                    in_tvalid,
    output logic                    in_tready,
    input  logic [DATA_BYTES*8-1:0] in_tdata,
    input  logic [  DATA_BYTES-1:0] in_tkeep,
    input  logic                    in_tlast,
    // AXI4-Stream source
    output logic                    out_tvalid,
    input  logic                    out_tready,
    output logic [DATA_BYTES*8-1:0] out_tdata,
    output logic [  DATA_BYTES-1:0] out_tkeep,
    output logic                    out_tlast,
    output logic [  COUNT_BITS-1:0] count
);
  localparam int unsigned BEAT_BITS = DATA_BYTES * 9 + 1;

  if (IN_MEMORY) begin : g_memory
    kiln_deep_fifo #(
        .WIDTH(BEAT_BITS),
        .DEPTH(DEPTH)
    ) queue (
        .clock,
        .reset,
        .in_valid (in_tvalid),
        .in_ready (in_tready),
        .in_data  ({in_tlast, in_tkeep, in_tdata}),
        .out_valid(out_tvalid),
        .out_ready(out_tready),
        .out_data ({out_tlast, out_tkeep, out_tdata}),
        .count
    );
  end else begin : g_registers
    kiln_fifo #(
        .WIDTH(BEAT_BITS),
        .DEPTH(DEPTH)
    ) queue (
        .clock,
        .reset,
        .in_valid (in_tvalid),
        .in_ready (in_tready),
        .in_data  ({in_tlast, in_tkeep, in_tdata}),
        .out_valid(out_tvalid),
        .out_ready(out_tready),
        .out_data ({out_tlast, out_tkeep, out_tdata}),
        .count
    );
  end

`ifndef SYNTHESIS
  // Checks the handshake rules towards the sink; kiln_fifo asserts the state of the queue.
  kiln_handshake_checker #(
      .WIDTH(BEAT_BITS)
  ) beat_handshake (
      .clock,
      .reset,
      .valid(out_tvalid),
      .ready(out_tready),
      .payload({out_tlast, out_tkeep, out_tdata})
  );
  always_ff @(posedge clock) begin
    if (!reset && $past(reset)) quiet_after_reset : assert (!out_tvalid && in_tready);
  end
`endif

`ifdef KILN_AXI_CHECKER
  logic [kiln_axi_pkg::STREAM_RULES-1:0] unused_in_violations;
  kiln_axi_stream_checker #(
      .DATA_BYTES(DATA_BYTES)
  ) checker_of_input (
      .clock,
      .reset,
      .axi_tvalid(in_tvalid),
      .axi_tready(in_tready),
      .axi_tdata (in_tdata),
      .axi_tkeep (in_tkeep),
      .axi_tlast (in_tlast),
      .violations(unused_in_violations)
  );
  logic [kiln_axi_pkg::STREAM_RULES-1:0] unused_out_violations;
  kiln_axi_stream_checker #(
      .DATA_BYTES(DATA_BYTES)
  ) checker_of_output (
      .clock,
      .reset,
      .axi_tvalid(out_tvalid),
      .axi_tready(out_tready),
      .axi_tdata (out_tdata),
      .axi_tkeep (out_tkeep),
      .axi_tlast (out_tlast),
      .violations(unused_out_violations)
  );
`endif
endmodule
