// Words of AXI4 (Arm IHI 0022) as rtl/bus uses it.
package kiln_axi_pkg;
  // Cycles that a port adds to the memory behind it: with a memory whose first data beat (or write response) is on the bus
  // M cycles after the handshake that asks for it, a request sees a latency of L = M + PORT_LATENCY. The C++ constant is
  // kAxiPortLatency of src/kiln/hardware/axi_port.h.
  localparam int unsigned PORT_LATENCY = 2;
  // The same behind kiln_shared_bus, which takes a cycle (kSharedPortLatency).
  localparam int unsigned SHARED_PORT_LATENCY = PORT_LATENCY + 1;

  localparam int unsigned PAGE_BYTES = 4096;  // no burst crosses a multiple of this
  localparam int unsigned MAX_BURST_BEATS = 256;

  localparam logic [1:0] BURST_INCR = 2'b01;

  localparam logic [1:0] RESPONSE_OKAY = 2'b00;
  localparam logic [1:0] RESPONSE_EXOKAY = 2'b01;
  localparam logic [1:0] RESPONSE_SLVERR = 2'b10;
  localparam logic [1:0] RESPONSE_DECERR = 2'b11;

  // Rules of kiln_axi_checker: places in its `violations`.
  localparam int unsigned RULE_STABLE_AR = 0;  // valid, once raised, stays with its payload until ready
  localparam int unsigned RULE_STABLE_R = 1;
  localparam int unsigned RULE_STABLE_AW = 2;
  localparam int unsigned RULE_STABLE_W = 3;
  localparam int unsigned RULE_STABLE_B = 4;
  localparam int unsigned RULE_RESET = 5;  // no valid during reset, nor in the cycle after it
  localparam int unsigned RULE_PAGE = 6;  // a burst crosses 4 KiB
  localparam int unsigned RULE_BURST = 7;  // not a full-width, aligned, incrementing burst
  localparam int unsigned RULE_RESPONSE_CODE = 8;  // EXOKAY, though nothing asked for exclusive access
  localparam int unsigned RULE_READ_COUNT = 9;  // read data that nobody asked for
  localparam int unsigned RULE_READ_LAST = 10;  // rlast early or missing
  localparam int unsigned RULE_WRITE_LAST = 11;  // wlast early or missing
  localparam int unsigned RULE_WRITE_COUNT = 12;  // a response before its address and its data
  localparam int unsigned RULE_UNKNOWN = 13;  // X or Z on a control signal (simulators with four values)
  localparam int unsigned RULES = 14;
endpackage
