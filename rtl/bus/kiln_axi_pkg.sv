// Constants of AXI4 (Arm IHI 0022) and of its use in rtl/bus.
package kiln_axi_pkg;
  // Cycles that a port adds to the memory's latency: with a memory whose first data beat (or write
  // response) is on the bus M cycles after the handshake that requests it, a request sees a latency
  // of L = M + PORT_LATENCY. The C++ constant is kAxiPortLatency of src/kiln/hardware/axi_port.h.
  localparam int unsigned PORT_LATENCY = 2;
  // The same for a port behind kiln_shared_bus, which adds one cycle (kSharedPortLatency).
  localparam int unsigned SHARED_PORT_LATENCY = PORT_LATENCY + 1;

  localparam int unsigned PAGE_BYTES = 4096;  // no burst crosses a multiple of this
  localparam int unsigned MAX_BURST_BEATS = 256;

  localparam logic [1:0] BURST_INCR = 2'b01;

  localparam logic [1:0] RESPONSE_OKAY = 2'b00;
  localparam logic [1:0] RESPONSE_EXOKAY = 2'b01;
  localparam logic [1:0] RESPONSE_SLVERR = 2'b10;
  localparam logic [1:0] RESPONSE_DECERR = 2'b11;

  // Rules of kiln_axi_checker: positions in its `violations`.
  // valid, once asserted, must stay asserted with an unchanged payload until ready
  localparam int unsigned RULE_STABLE_AR = 0;
  localparam int unsigned RULE_STABLE_R = 1;
  localparam int unsigned RULE_STABLE_AW = 2;
  localparam int unsigned RULE_STABLE_W = 3;
  localparam int unsigned RULE_STABLE_B = 4;
  localparam int unsigned RULE_RESET = 5;  // no valid during reset, nor in the cycle after it
  localparam int unsigned RULE_PAGE = 6;  // a burst crosses 4 KiB
  localparam int unsigned RULE_BURST = 7;  // not a full-width, aligned, incrementing burst
  // EXOKAY although no exclusive access was requested
  localparam int unsigned RULE_RESPONSE_CODE = 8;
  localparam int unsigned RULE_READ_COUNT = 9;  // read data without a request
  localparam int unsigned RULE_READ_LAST = 10;  // rlast early or missing
  localparam int unsigned RULE_WRITE_LAST = 11;  // wlast early or missing
  localparam int unsigned RULE_WRITE_COUNT = 12;  // a response before its address and its data
  // X or Z on a control signal (simulators with four values)
  localparam int unsigned RULE_UNKNOWN = 13;
  localparam int unsigned RULES = 14;

  // Rules of kiln_axi_stream_checker: positions in its `violations`.
  localparam int unsigned STREAM_RULE_VALID = 0;  // TVALID withdrawn before TREADY
  localparam int unsigned STREAM_RULE_DATA = 1;  // TDATA changed before TREADY
  localparam int unsigned STREAM_RULE_KEEP = 2;  // TKEEP changed before TREADY
  localparam int unsigned STREAM_RULE_LAST = 3;  // TLAST changed before TREADY
  localparam int unsigned STREAM_RULE_RESET = 4;  // TVALID during reset or in the cycle after it
  localparam int unsigned STREAM_RULE_PACKED = 5;  // a null byte before the end of a packet
  // X or Z on a control signal (simulators with four values)
  localparam int unsigned STREAM_RULE_UNKNOWN = 6;
  localparam int unsigned STREAM_RULES = 7;
endpackage
