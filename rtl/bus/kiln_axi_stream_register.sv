// A register stage of an AXI4-Stream (skid buffer): cuts the combinational paths in both
// directions.
//   time       a beat accepted in cycle t (in_tvalid && in_tready) is at the output in t + 1 at the
//              earliest; one beat per cycle
//   timing     in_tready, out_tvalid and the output's payload come from registers
//   stalls     stores two beats: the one at the output, and the one accepted in the cycle in which
//              the output stalls, before in_tready falls
module kiln_axi_stream_register #(
    parameter int unsigned DATA_BYTES = 8
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
    output logic                    out_tlast
);
  localparam int unsigned BEAT_BITS = DATA_BYTES * 9 + 1;

  logic output_free, skid_valid;
  logic [BEAT_BITS-1:0] in_beat, skid_beat, out_beat;
  assign in_tready = !skid_valid;
  assign in_beat = {in_tlast, in_tkeep, in_tdata};
  assign {out_tlast, out_tkeep, out_tdata} = out_beat;
  assign output_free = !out_tvalid || out_tready;

  always_ff @(posedge clock) begin
    if (reset) begin
      out_tvalid <= 1'b0;
      skid_valid <= 1'b0;
    end else begin
      if (output_free) out_tvalid <= skid_valid || in_tvalid;
      skid_valid <= !output_free && (skid_valid || in_tvalid);
    end
    if (output_free) out_beat <= skid_valid ? skid_beat : in_beat;
    if (in_tready) skid_beat <= in_beat;
  end

`ifdef FORMAL
  // Proves the order: follows one arbitrary accepted beat to the output.
  (* anyseq *) logic choose;
  logic followed, followed_in_skid;
  logic [BEAT_BITS-1:0] followed_beat;
  always_ff @(posedge clock) begin
    if (reset) begin
      followed <= 1'b0;
    end else if (!followed && in_tvalid && in_tready && choose) begin
      followed         <= 1'b1;
      followed_in_skid <= !output_free;
      followed_beat    <= in_beat;
    end else if (followed && output_free) begin
      followed         <= followed_in_skid;
      followed_in_skid <= 1'b0;
    end
    if (!reset && followed) begin
      followed_stored : assert (followed_in_skid ? skid_valid && skid_beat == followed_beat :
          out_tvalid && out_beat == followed_beat);
    end
  end
`endif

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(BEAT_BITS)
  ) beat_handshake (
      .clock,
      .reset,
      .valid(out_tvalid),
      .ready(out_tready),
      .payload(out_beat)
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      skid_only_behind_output : assert (!skid_valid || out_tvalid);
      if ($past(reset)) quiet_after_reset : assert (!out_tvalid && in_tready);
    end
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
