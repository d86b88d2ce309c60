// Watches an AXI4-Lite bus and reports violations of the protocol (Arm IHI 0022, A3 and B1).
// Simulation only: synthesis removes it. Each slave instantiates one when KILN_AXI_CHECKER is
// defined.
//   rules      kiln_axi_pkg::RULE_*, those that apply to a bus without bursts and IDs. A violation
//              is an $error that names the rule, and sets its bit of `violations` until the next
//              reset.
//   order      responses are in the order of their requests; write data may precede their addresses
// Any strobes are accepted, including none.
module kiln_axi_lite_checker #(
    parameter int unsigned ADDRESS_BITS = 12,
    parameter int unsigned DATA_BYTES = 4
) (
    input  logic                           clock,
    input  logic                           reset,
    input  logic                           axi_awvalid,
    input  logic                           axi_awready,
    input  logic [       ADDRESS_BITS-1:0] axi_awaddr,
    input  logic                           axi_wvalid,
    input  logic                           axi_wready,
    input  logic [       DATA_BYTES*8-1:0] axi_wdata,
    input  logic [         DATA_BYTES-1:0] axi_wstrb,
    input  logic                           axi_bvalid,
    input  logic                           axi_bready,
    input  logic [                    1:0] axi_bresp,
    input  logic                           axi_arvalid,
    input  logic                           axi_arready,
    input  logic [       ADDRESS_BITS-1:0] axi_araddr,
    input  logic                           axi_rvalid,
    input  logic                           axi_rready,
    input  logic [       DATA_BYTES*8-1:0] axi_rdata,
    input  logic [                    1:0] axi_rresp,
    output logic [kiln_axi_pkg::RULES-1:0] violations
);
`ifdef SYNTHESIS
  assign violations = '0;
`else
  // Later statements of the monitor use the results of earlier ones in the same cycle.
  // verilator lint_off BLKSEQ
  function automatic void complain(input logic [3:0] rule, input string what);
    violations[rule] = 1'b1;
    $error("AXI4-Lite: %s", what);
  endfunction

  // Offers that were not accepted in the last cycle, and must therefore stay unchanged.
  logic held_aw, held_w, held_b, held_ar, held_r;
  logic was_reset = 1'b0;
  logic [ADDRESS_BITS-1:0] last_aw, last_ar;
  logic [DATA_BYTES*9-1:0] last_w, now_w;
  logic [1:0] last_b;
  logic [DATA_BYTES*8+1:0] last_r, now_r;
  assign now_w = {axi_wdata, axi_wstrb};
  assign now_r = {axi_rdata, axi_rresp};

  always_ff @(posedge clock) begin
    held_aw   <= axi_awvalid && !axi_awready && !reset;
    held_w    <= axi_wvalid && !axi_wready && !reset;
    held_b    <= axi_bvalid && !axi_bready && !reset;
    held_ar   <= axi_arvalid && !axi_arready && !reset;
    held_r    <= axi_rvalid && !axi_rready && !reset;
    was_reset <= reset;
    if (axi_awvalid) last_aw <= axi_awaddr;
    if (axi_wvalid) last_w <= now_w;
    if (axi_bvalid) last_b <= axi_bresp;
    if (axi_arvalid) last_ar <= axi_araddr;
    if (axi_rvalid) last_r <= now_r;
  end

  // Transactions in flight.
  int unsigned addresses;  // write addresses whose data have not arrived
  int unsigned data;  // write data whose addresses have not arrived
  int unsigned writes;  // writes with address and data, without their response
  int unsigned reads;

  always @(posedge clock) begin
    // Registers with a synchronous reset hold their reset value from the second reset cycle on, and
    // a signal that they drive through another register still holds it one cycle after the last
    // reset cycle.
    if (was_reset && (axi_awvalid || axi_wvalid || axi_bvalid || axi_arvalid || axi_rvalid))
      complain(4'(kiln_axi_pkg::RULE_RESET), "valid during reset or in the cycle after it");
    if (reset) begin
      violations = was_reset ? violations : '0;
      addresses  = 0;
      data       = 0;
      writes     = 0;
      reads      = 0;
    end else begin
      if ($isunknown({axi_awvalid, axi_awready, axi_wvalid, axi_wready, axi_bvalid, axi_bready,
          axi_arvalid, axi_arready, axi_rvalid, axi_rready}) ||
          (axi_awvalid && $isunknown(axi_awaddr)) || (axi_wvalid && $isunknown(axi_wstrb)) ||
          (axi_bvalid && $isunknown(axi_bresp)) || (axi_arvalid && $isunknown(axi_araddr)) ||
          (axi_rvalid && $isunknown(axi_rresp)))
        complain(4'(kiln_axi_pkg::RULE_UNKNOWN), "a control signal is unknown");
      if (held_aw && !(axi_awvalid && axi_awaddr == last_aw))
        complain(4'(kiln_axi_pkg::RULE_STABLE_AW), "AW changed before it was taken");
      if (held_w && !(axi_wvalid && now_w == last_w))
        complain(4'(kiln_axi_pkg::RULE_STABLE_W), "W changed before it was taken");
      if (held_b && !(axi_bvalid && axi_bresp == last_b))
        complain(4'(kiln_axi_pkg::RULE_STABLE_B), "B changed before it was taken");
      if (held_ar && !(axi_arvalid && axi_araddr == last_ar))
        complain(4'(kiln_axi_pkg::RULE_STABLE_AR), "AR changed before it was taken");
      if (held_r && !(axi_rvalid && now_r == last_r))
        complain(4'(kiln_axi_pkg::RULE_STABLE_R), "R changed before it was taken");
      if ((axi_rvalid && axi_rresp == kiln_axi_pkg::RESPONSE_EXOKAY) ||
          (axi_bvalid && axi_bresp == kiln_axi_pkg::RESPONSE_EXOKAY))
        complain(4'(kiln_axi_pkg::RULE_RESPONSE_CODE), "EXOKAY, which AXI4-Lite does not have");

      // Responses are checked before requests: a response in the cycle of its request is too
      // early.
      if (axi_rvalid) begin
        if (reads == 0)
          complain(4'(kiln_axi_pkg::RULE_READ_COUNT), "read data that nobody asked for");
        else if (axi_rready) reads = reads - 1;
      end
      if (axi_arvalid && axi_arready) reads = reads + 1;

      if (axi_bvalid) begin
        if (writes == 0)
          complain(4'(kiln_axi_pkg::RULE_WRITE_COUNT),
              "a write response before its address and data");
        else if (axi_bready) writes = writes - 1;
      end
      if (axi_awvalid && axi_awready) addresses = addresses + 1;
      if (axi_wvalid && axi_wready) data = data + 1;
      if (addresses != 0 && data != 0) begin
        addresses = addresses - 1;
        data      = data - 1;
        writes    = writes + 1;
      end
    end
  end
  // verilator lint_on BLKSEQ
`endif
endmodule
