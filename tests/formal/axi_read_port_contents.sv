// module: kiln_axi_read_port
// properties: every request gets its word in order, with the memory's bytes
// sources: bus/kiln_axi_read_port.sv bus/kiln_axi_bursts.sv memory/kiln_fifo.sv
// sources: bus/kiln_handshake_checker.sv
// depth: 6
// induction: no, the invariants would have to follow the bytes of partial words
module proof (
    input logic        clock,
    input logic        reset,
    input logic        request_valid,
    input logic [11:0] request_address,
    input logic [ 3:0] request_bytes,
    input logic [ 1:0] request_tag,
    input logic        word_ready,
    input logic        axi_arready,
    input logic        axi_rvalid,
    input logic [63:0] axi_rdata,
    input logic [ 1:0] axi_rresp
);
  logic request_ready, word_valid, idle, fault, axi_arvalid, axi_rready, axi_rlast;
  logic [63:0] word_data;
  logic [1:0] word_tag, axi_arburst;
  logic [11:0] axi_araddr;
  logic [7:0] axi_arlen;
  logic [2:0] axi_arsize;
  kiln_axi_read_port #(
      .ADDRESS_BITS(12),
      .DATA_BYTES(8),
      .MAX_BYTES(8),
      .TAG_BITS(2),
      .OUTSTANDING(2)
  ) dut (.*);

  // A memory that answers bursts in order, with stalls: {beat's number in memory, beats left - 1}
  // of up to four bursts, the oldest lowest.
  localparam int unsigned BURST = 10;
  logic [4*BURST-1:0] bursts, bursts_left;
  logic [2:0] count, count_left;
  logic taken, burst_ends;
  assign taken = axi_rvalid && axi_rready;
  assign axi_rlast = bursts[0] == 1'b0;
  assign burst_ends = taken && axi_rlast;
  assign bursts_left = burst_ends ? bursts >> BURST :
      taken ? {bursts[4*BURST-1:BURST], bursts[9:1] + 9'd1, 1'b0} : bursts;
  assign count_left = count - 3'(burst_ends);

  // One byte of the memory, any, is known.
  (* anyconst *) logic [11:0] known_address;
  (* anyconst *) logic [7:0] known_byte;

  // One request, any, is followed to its word.
  (* anyseq *) logic choose;
  logic followed;
  logic [2:0] in_flight, ahead;
  logic [11:0] followed_address, offset;
  logic [3:0] followed_bytes;
  logic [1:0] followed_tag;
  logic accepted, delivered;
  assign accepted = request_valid && request_ready;
  assign delivered = word_valid && word_ready;
  assign offset = known_address - followed_address;

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (request_bytes <= 4'd8);
    assume (32'(request_address) + 32'(request_bytes) <= 4096);
    assume (!axi_rvalid || (count != '0 && !reset));
    if (begun && $past(!reset && axi_rvalid && !axi_rready)) begin
      assume (axi_rvalid && $stable(axi_rdata) && $stable(axi_rresp));
    end
    if (axi_rvalid && bursts[9:1] == known_address[11:3]) begin
      assume (axi_rdata[8*known_address[2:0]+:8] == known_byte);
    end

    if (reset) begin
      count     <= '0;
      followed  <= 1'b0;
      in_flight <= '0;
    end else begin
      count  <= count_left + 3'(axi_arvalid && axi_arready);
      bursts <= bursts_left;
      if (axi_arvalid && axi_arready)
        bursts[count_left*BURST+:BURST] <= {axi_araddr[11:3], axi_arlen[0]};
      in_flight <= in_flight + 3'(accepted) - 3'(delivered);
      if (!followed && accepted && choose) begin
        followed         <= 1'b1;
        ahead            <= in_flight - 3'(delivered);
        followed_address <= request_address;
        followed_bytes   <= request_bytes;
        followed_tag     <= request_tag;
      end else if (followed && delivered) begin
        ahead <= ahead - 1'b1;
        if (ahead == '0) followed <= 1'b0;
      end
    end

    if (!reset) begin
      memory_holds_bursts : assert (count <= 3'd4 && (!axi_arvalid || axi_arlen <= 8'd1));
      idle_exactly_without_requests : assert (idle == (in_flight == '0));
      if (followed && ahead == '0 && word_valid) begin
        right_tag : assert (word_tag == followed_tag);
        if (offset < 12'(followed_bytes)) begin
          right_byte : assert (word_data[8*offset[2:0]+:8] == known_byte);
        end
      end
      if (begun && $past(!reset && axi_rvalid && axi_rready && axi_rresp[1])) begin
        errors_are_reported : assert (fault);
      end
      if (begun && fault && $past(!fault && !reset)) begin
        no_fault_without_error : assert ($past(axi_rvalid && axi_rready && axi_rresp[1]));
      end
    end
  end
endmodule
