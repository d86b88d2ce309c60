// module: kiln_axi_stream_register
// properties: a queue of two beats: order, contents, stable output
// sources: bus/kiln_axi_stream_register.sv bus/kiln_handshake_checker.sv
// depth: 14
// induction: 3
module proof (
    input logic       clock,
    input logic       reset,
    input logic       in_tvalid,
    input logic [7:0] in_tdata,
    input logic [0:0] in_tkeep,
    input logic       in_tlast,
    input logic       out_tready
);
  logic in_tready, out_tvalid, out_tlast;
  logic [7:0] out_tdata;
  logic [0:0] out_tkeep;
  kiln_axi_stream_register #(.DATA_BYTES(1)) dut (.*);

  logic [1:0] count;
  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (reset) count <= '0;
    else count <= count + 2'(in_tvalid && in_tready) - 2'(out_tvalid && out_tready);
    if (!reset) begin
      output_exactly_when_stored : assert (out_tvalid == (count != '0));
      input_exactly_with_room : assert (in_tready == (count != 2'd2) && count <= 2'd2);
    end
  end
endmodule
