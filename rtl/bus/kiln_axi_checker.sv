// Watches an AXI4 bus and reports violations of the protocol or of this library's narrower use of
// it. Simulation only: synthesis removes it. Each port instantiates one when KILN_AXI_CHECKER is
// defined.
//   rules      kiln_axi_pkg::RULE_*. A violation is an $error that names the rule, and sets its bit
//              of `violations` until the next reset.
//   IDs        data and responses of one ID are in order. Reads of different IDs may interleave,
//              and their responses may overtake each other. Write data are in the order of their
//              addresses, and may precede them.
// A bus that has only read or only write channels ties the others to zero.
module kiln_axi_checker #(
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned DATA_BYTES = 16,
    parameter int unsigned ID_BITS = 1
) (
    input  logic                           clock,
    input  logic                           reset,
    input  logic                           axi_arvalid,
    input  logic                           axi_arready,
    input  logic [            ID_BITS-1:0] axi_arid,
    input  logic [       ADDRESS_BITS-1:0] axi_araddr,
    input  logic [                    7:0] axi_arlen,
    input  logic [                    2:0] axi_arsize,
    input  logic [                    1:0] axi_arburst,
    input  logic                           axi_rvalid,
    input  logic                           axi_rready,
    input  logic [            ID_BITS-1:0] axi_rid,
    input  logic [       DATA_BYTES*8-1:0] axi_rdata,
    input  logic [                    1:0] axi_rresp,
    input  logic                           axi_rlast,
    input  logic                           axi_awvalid,
    input  logic                           axi_awready,
    input  logic [            ID_BITS-1:0] axi_awid,
    input  logic [       ADDRESS_BITS-1:0] axi_awaddr,
    input  logic [                    7:0] axi_awlen,
    input  logic [                    2:0] axi_awsize,
    input  logic [                    1:0] axi_awburst,
    input  logic                           axi_wvalid,
    input  logic                           axi_wready,
    input  logic [       DATA_BYTES*8-1:0] axi_wdata,
    input  logic [         DATA_BYTES-1:0] axi_wstrb,
    input  logic                           axi_wlast,
    input  logic                           axi_bvalid,
    input  logic                           axi_bready,
    input  logic [            ID_BITS-1:0] axi_bid,
    input  logic [                    1:0] axi_bresp,
    output logic [kiln_axi_pkg::RULES-1:0] violations
);
`ifdef SYNTHESIS
  assign violations = '0;
`else
  localparam int unsigned IDS = 2 ** ID_BITS;
  localparam int unsigned OFFSET_BITS = $clog2(DATA_BYTES);
  localparam int unsigned ADDRESS_PAYLOAD = ID_BITS + ADDRESS_BITS + 8 + 3 + 2;
  localparam int unsigned READ_PAYLOAD = ID_BITS + DATA_BYTES * 8 + 2 + 1;
  localparam int unsigned WRITE_PAYLOAD = DATA_BYTES * 9 + 1;
  localparam int unsigned RESPONSE_PAYLOAD = ID_BITS + 2;

  // Later statements of the monitor use the results of earlier ones in the same cycle.
  // verilator lint_off BLKSEQ
  function automatic void complain(input logic [3:0] rule, input string what);
    violations[rule] = 1'b1;
    $error("AXI: %s", what);
  endfunction

  // Offers that were not accepted in the last cycle, and must therefore stay unchanged.
  logic held_ar, held_r, held_aw, held_w, held_b;
  logic was_reset = 1'b0;
  logic [ADDRESS_PAYLOAD-1:0] last_ar, last_aw, now_ar, now_aw;
  logic [READ_PAYLOAD-1:0] last_r, now_r;
  logic [WRITE_PAYLOAD-1:0] last_w, now_w;
  logic [RESPONSE_PAYLOAD-1:0] last_b, now_b;
  assign now_ar = {axi_arid, axi_araddr, axi_arlen, axi_arsize, axi_arburst};
  assign now_aw = {axi_awid, axi_awaddr, axi_awlen, axi_awsize, axi_awburst};
  assign now_r = {axi_rid, axi_rdata, axi_rresp, axi_rlast};
  assign now_w = {axi_wdata, axi_wstrb, axi_wlast};
  assign now_b = {axi_bid, axi_bresp};

  always_ff @(posedge clock) begin
    held_ar   <= axi_arvalid && !axi_arready && !reset;
    held_r    <= axi_rvalid && !axi_rready && !reset;
    held_aw   <= axi_awvalid && !axi_awready && !reset;
    held_w    <= axi_wvalid && !axi_wready && !reset;
    held_b    <= axi_bvalid && !axi_bready && !reset;
    was_reset <= reset;
    if (axi_arvalid) last_ar <= now_ar;
    if (axi_rvalid) last_r <= now_r;
    if (axi_awvalid) last_aw <= now_aw;
    if (axi_wvalid) last_w <= now_w;
    if (axi_bvalid) last_b <= now_b;
  end

  // Address channels: checks of a burst's form.
  function automatic logic crosses_page(input logic [11:OFFSET_BITS] place,
      input logic [7:0] length);
    logic [12:0] first, beats;
    first = 13'(place);
    beats = 13'(length) + 13'd1;
    crosses_page = first + beats > 13'(kiln_axi_pkg::PAGE_BYTES / DATA_BYTES);
  endfunction
  function automatic logic odd_burst(input logic [OFFSET_BITS-1:0] offset, input logic [2:0] size,
      input logic [1:0] burst);
    odd_burst = burst != kiln_axi_pkg::BURST_INCR || size != 3'(OFFSET_BITS) || offset != '0;
  endfunction

  // Transactions in flight.
  logic [7:0] read_lengths[IDS][$];  // per ID: lengths of the bursts whose data are incomplete
  logic [8:0] read_beats[IDS];  // per ID: beats received of the oldest burst
  logic [ID_BITS+7:0] write_addresses[$];  // {ID, length} of bursts whose data are incomplete
  logic [8:0] write_ends[$];  // beats of complete data bursts whose addresses have not arrived
  logic [8:0] write_beats;  // beats received of the current data burst
  int unsigned writes_done[IDS];  // per ID: writes with address and data, without their response

  always @(posedge clock) begin
    // Registers with a synchronous reset hold their reset value from the second reset cycle on, and
    // a signal that they drive through another register still holds it one cycle after the last
    // reset cycle.
    if (was_reset && (axi_arvalid || axi_awvalid || axi_wvalid || axi_rvalid || axi_bvalid))
      complain(4'(kiln_axi_pkg::RULE_RESET), "valid during reset or in the cycle after it");
    if (reset) begin
      violations  = was_reset ? violations : '0;
      write_beats = '0;
      write_addresses.delete();
      write_ends.delete();
      for (int i = 0; i < int'(IDS); ++i) begin
        read_lengths[i].delete();
        read_beats[i]  = '0;
        writes_done[i] = 0;
      end
    end else begin
      if ($isunknown({axi_arvalid, axi_arready, axi_rvalid, axi_rready, axi_awvalid, axi_awready,
          axi_wvalid, axi_wready, axi_bvalid, axi_bready}) || (axi_arvalid && $isunknown(now_ar)) ||
          (axi_awvalid && $isunknown(now_aw)) || (axi_wvalid && $isunknown({axi_wstrb, axi_wlast})))
        complain(4'(kiln_axi_pkg::RULE_UNKNOWN), "a control signal is unknown");
      if (held_ar && !(axi_arvalid && now_ar == last_ar))
        complain(4'(kiln_axi_pkg::RULE_STABLE_AR), "AR changed before it was taken");
      if (held_r && !(axi_rvalid && now_r == last_r))
        complain(4'(kiln_axi_pkg::RULE_STABLE_R), "R changed before it was taken");
      if (held_aw && !(axi_awvalid && now_aw == last_aw))
        complain(4'(kiln_axi_pkg::RULE_STABLE_AW), "AW changed before it was taken");
      if (held_w && !(axi_wvalid && now_w == last_w))
        complain(4'(kiln_axi_pkg::RULE_STABLE_W), "W changed before it was taken");
      if (held_b && !(axi_bvalid && now_b == last_b))
        complain(4'(kiln_axi_pkg::RULE_STABLE_B), "B changed before it was taken");

      if ((axi_arvalid && crosses_page(axi_araddr[11:OFFSET_BITS], axi_arlen)) ||
          (axi_awvalid && crosses_page(axi_awaddr[11:OFFSET_BITS], axi_awlen)))
        complain(4'(kiln_axi_pkg::RULE_PAGE), "a burst crosses 4 KiB");
      if ((axi_arvalid && odd_burst(axi_araddr[OFFSET_BITS-1:0], axi_arsize, axi_arburst)) ||
          (axi_awvalid && odd_burst(axi_awaddr[OFFSET_BITS-1:0], axi_awsize, axi_awburst)))
        complain(4'(kiln_axi_pkg::RULE_BURST),
            "a burst is not incrementing, full-width and aligned");
      if ((axi_rvalid && axi_rresp == kiln_axi_pkg::RESPONSE_EXOKAY) ||
          (axi_bvalid && axi_bresp == kiln_axi_pkg::RESPONSE_EXOKAY))
        complain(4'(kiln_axi_pkg::RULE_RESPONSE_CODE), "EXOKAY without exclusive access");

      // Responses are checked before requests: a response in the cycle of its request is too
      // early.
      if (axi_rvalid) begin
        if (read_lengths[axi_rid].size() == 0)
          complain(4'(kiln_axi_pkg::RULE_READ_COUNT), "read data that nobody asked for");
        else begin
          if (axi_rlast != (read_beats[axi_rid] == 9'(read_lengths[axi_rid][0])))
            complain(4'(kiln_axi_pkg::RULE_READ_LAST), "RLAST early or missing");
          if (axi_rready) begin
            if (read_beats[axi_rid] == 9'(read_lengths[axi_rid][0])) begin
              void'(read_lengths[axi_rid].pop_front());
              read_beats[axi_rid] = '0;
            end else read_beats[axi_rid] = read_beats[axi_rid] + 1'b1;
          end
        end
      end
      if (axi_arvalid && axi_arready) read_lengths[axi_arid].push_back(axi_arlen);

      if (axi_bvalid) begin
        if (writes_done[axi_bid] == 0)
          complain(4'(kiln_axi_pkg::RULE_WRITE_COUNT),
              "a write response before its address and data");
        else if (axi_bready) writes_done[axi_bid] = writes_done[axi_bid] - 1;
      end
      if (axi_awvalid && axi_awready) write_addresses.push_back({axi_awid, axi_awlen});
      if (axi_wvalid && axi_wready) begin
        write_beats = write_beats + 1'b1;
        // The length is checked beat by beat if the address is known.
        if (write_ends.size() == 0 && write_addresses.size() != 0) begin
          if (axi_wlast != (write_beats == 9'(write_addresses[0][7:0]) + 9'd1))
            complain(4'(kiln_axi_pkg::RULE_WRITE_LAST), "WLAST early or missing");
        end
        if (axi_wlast) begin
          write_ends.push_back(write_beats);
          write_beats = '0;
        end
      end
      if (write_ends.size() != 0 && write_addresses.size() != 0) begin
        if (write_ends[0] != 9'(write_addresses[0][7:0]) + 9'd1 &&
            !violations[kiln_axi_pkg::RULE_WRITE_LAST])
          complain(4'(kiln_axi_pkg::RULE_WRITE_LAST),
              "write data of another length than their address says");
        writes_done[write_addresses[0][8+:ID_BITS]] =
            writes_done[write_addresses[0][8+:ID_BITS]] + 1;
        void'(write_addresses.pop_front());
        void'(write_ends.pop_front());
      end
    end
  end
  // verilator lint_on BLKSEQ
`endif
endmodule
