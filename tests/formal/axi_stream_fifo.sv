// module: kiln_axi_stream_fifo
// properties: order and contents, stable output, count
// sources: bus/kiln_axi_stream_fifo.sv memory/kiln_fifo.sv bus/kiln_handshake_checker.sv
// parameters: DEPTH=1 DEPTH=3
// depth: 12
// induction: 3
module proof #(
    parameter int unsigned DEPTH = 3
) (
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
  logic [$clog2(DEPTH + 1)-1:0] count;
  kiln_axi_stream_fifo #(
      .DATA_BYTES(1),
      .DEPTH(DEPTH)
  ) dut (.*);

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (!reset) begin
      input_exactly_with_room : assert (in_tready == (32'(count) < DEPTH));
      output_exactly_when_stored : assert (out_tvalid == (count != '0));
    end
  end
endmodule
