// Watches an AXI4-Stream and reports violations of the protocol (Arm IHI 0051, 2.2 and 2.7).
// Simulation only: synthesis removes it. The stream modules of this library instantiate one on each
// side when KILN_AXI_CHECKER is defined.
//   rules      kiln_axi_pkg::STREAM_RULE_*. A violation is an $error that names the rule, and sets
//              its bit of `violations` until the next reset.
//   packed     PACKED also checks this library's narrower use of TKEEP: every beat but a packet's
//              last is full, and the last one has at least one byte and no gap below its last byte
// Without PACKED any TKEEP is accepted, including no byte at all.
module kiln_axi_stream_checker #(
    parameter int unsigned DATA_BYTES = 8,
    parameter bit PACKED = 1'b0
) (
    input  logic                                  clock,
    input  logic                                  reset,
    input  logic                                  axi_tvalid,
    input  logic                                  axi_tready,
    input  logic [              DATA_BYTES*8-1:0] axi_tdata,
    input  logic [                DATA_BYTES-1:0] axi_tkeep,
    input  logic                                  axi_tlast,
    output logic [kiln_axi_pkg::STREAM_RULES-1:0] violations
);
`ifdef SYNTHESIS
  assign violations = '0;
`else
  // Statements of the monitor set bits of `violations` one after the other.
  // verilator lint_off BLKSEQ
  function automatic void complain(input logic [2:0] rule, input string what);
    violations[rule] = 1'b1;
    $error("AXI4-Stream: %s", what);
  endfunction

  logic held;  // a beat was offered in the last cycle and not accepted
  logic was_reset = 1'b0;
  logic [DATA_BYTES*8-1:0] last_data;
  logic [DATA_BYTES-1:0] last_keep;
  logic last_last;
  always_ff @(posedge clock) begin
    held      <= axi_tvalid && !axi_tready && !reset;
    was_reset <= reset;
    if (axi_tvalid) begin
      last_data <= axi_tdata;
      last_keep <= axi_tkeep;
      last_last <= axi_tlast;
    end
  end

  // The kept bytes are a run of ones from byte 0 on if adding 1 carries through all of them.
  logic contiguous;
  assign contiguous = (axi_tkeep & (axi_tkeep + 1'b1)) == '0;

  always @(posedge clock) begin
    // Registers with a synchronous reset hold their reset value from the second reset cycle on, and
    // a signal that they drive through another register still holds it one cycle after the last
    // reset cycle.
    if (was_reset && axi_tvalid)
      complain(3'(kiln_axi_pkg::STREAM_RULE_RESET), "TVALID during reset or in the cycle after it");
    if (reset) begin
      violations = was_reset ? violations : '0;
    end else begin
      if ($isunknown({axi_tvalid, axi_tready}) ||
          (axi_tvalid && $isunknown({axi_tkeep, axi_tlast})))
        complain(3'(kiln_axi_pkg::STREAM_RULE_UNKNOWN), "a control signal is unknown");
      if (held && !axi_tvalid)
        complain(3'(kiln_axi_pkg::STREAM_RULE_VALID), "TVALID withdrawn before TREADY");
      if (held && axi_tvalid && axi_tdata != last_data)
        complain(3'(kiln_axi_pkg::STREAM_RULE_DATA), "TDATA changed before TREADY");
      if (held && axi_tvalid && axi_tkeep != last_keep)
        complain(3'(kiln_axi_pkg::STREAM_RULE_KEEP), "TKEEP changed before TREADY");
      if (held && axi_tvalid && axi_tlast != last_last)
        complain(3'(kiln_axi_pkg::STREAM_RULE_LAST), "TLAST changed before TREADY");
      if (PACKED && axi_tvalid &&
          (axi_tlast ? !contiguous || axi_tkeep == '0 : axi_tkeep != '1))
        complain(3'(kiln_axi_pkg::STREAM_RULE_PACKED), "a null byte before the end of a packet");
    end
  end
  // verilator lint_on BLKSEQ
`endif
endmodule
