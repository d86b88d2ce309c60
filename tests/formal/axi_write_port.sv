// module: kiln_axi_write_port
// properties: a response and a pulse of done for every request, in order, counters
// sources: bus/kiln_axi_write_port.sv bus/kiln_axi_bursts.sv memory/kiln_fifo.sv bus/kiln_handshake_checker.sv
// depth: 9
// induction: no, the invariants would have to relate the port's queues to the memory's
module proof (
    input logic        clock,
    input logic        reset,
    input logic        request_valid,
    input logic [11:0] request_address,
    input logic [ 3:0] request_bytes,
    input logic [63:0] request_data,
    input logic [ 1:0] request_tag,
    input logic        axi_awready,
    input logic        axi_wready,
    input logic        axi_bvalid,
    input logic [ 1:0] axi_bresp
);
  logic request_ready, done_valid, idle, fault, axi_awvalid, axi_wvalid, axi_wlast, axi_bready;
  logic [1:0] done_tag, axi_awburst;
  logic [1:0] outstanding;
  logic [11:0] axi_awaddr;
  logic [7:0] axi_awlen, axi_wstrb;
  logic [2:0] axi_awsize;
  logic [63:0] axi_wdata;
  kiln_axi_write_port #(
      .ADDRESS_BITS(12),
      .DATA_BYTES(8),
      .MAX_BYTES(8),
      .TAG_BITS(2),
      .OUTSTANDING(2)
  ) dut (.*);

  // The memory answers a burst when its address and its last beat have come, in order.
  logic [3:0] addresses, ends, answers;
  // One request, any, is followed until it is done.
  (* anyseq *) logic choose;
  logic followed;
  logic [2:0] in_flight, ahead;
  logic [1:0] followed_tag;
  logic accepted;
  assign accepted = request_valid && request_ready;

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (request_bytes != '0 && request_bytes <= 4'd8);
    assume (32'(request_address) + 32'(request_bytes) <= 4096);
    assume (!axi_bvalid || (!reset && answers < addresses && answers < ends));
    if (reset) begin
      {addresses, ends, answers, in_flight} <= '0;
      followed <= 1'b0;
    end else begin
      addresses     <= addresses + 4'(axi_awvalid && axi_awready);
      ends          <= ends + 4'(axi_wvalid && axi_wready && axi_wlast);
      answers       <= answers + 4'(axi_bvalid && axi_bready);
      in_flight     <= in_flight + 3'(accepted) - 3'(done_valid);
      if (!followed && accepted && choose) begin
        followed     <= 1'b1;
        ahead        <= in_flight - 3'(done_valid);
        followed_tag <= request_tag;
      end else if (followed && done_valid) begin
        ahead <= ahead - 1'b1;
        if (ahead == '0) followed <= 1'b0;
      end
    end
    if (!reset) begin
      outstanding_counts_requests : assert (3'(outstanding) == in_flight);
      idle_exactly_without_requests : assert (idle == (in_flight == '0));
      answered_when_idle : assert (!idle || (answers == addresses && answers == ends));
      if (followed && ahead == '0 && done_valid) begin
        right_tag : assert (done_tag == followed_tag);
      end
    end
  end
endmodule
