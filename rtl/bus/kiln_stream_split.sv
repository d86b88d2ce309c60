// Gives the beats of one AXI4-Stream to several: the last byte of a beat is the number of its
// stream. out_tdata has the data of all streams out, stream after stream.
//   time   combinational: a beat passes in the cycle in which its stream accepts it, and a stream
//          that stalls stalls those behind it in the order of the beats
module kiln_stream_split #(
    parameter int unsigned BEAT_BYTES = 4,
    parameter int unsigned STREAMS = 2
) (
    input  logic                            clock,
    input  logic                            reset,
    input  logic                            in_tvalid,
    output logic                            in_tready,
    input  logic [        BEAT_BYTES*8-1:0] in_tdata,
    output logic [             STREAMS-1:0] out_tvalid,
    input  logic [             STREAMS-1:0] out_tready,
    output logic [STREAMS*BEAT_BYTES*8-1:0] out_tdata
);
  logic [7:0] number;
  assign number = in_tdata[BEAT_BYTES*8-1-:8];
  for (genvar i = 0; i < STREAMS; i++) begin : g_stream
    assign out_tvalid[i] = in_tvalid && number == 8'(i);
  end
  assign in_tready = (out_tvalid & out_tready) != '0;
  assign out_tdata = {STREAMS{in_tdata}};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      beat_has_stream : assert (!in_tvalid || 32'(number) < STREAMS);
      one_stream : assert ($onehot0(out_tvalid));
    end
  end
`else
  wire unused_clock = &{1'b0, clock, reset};
`endif
endmodule
