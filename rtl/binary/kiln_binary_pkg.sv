// Numbers of the binary machine that software and hardware share (docs/binary-machine.md).
package kiln_binary_pkg;
  localparam int unsigned DIGIT_BITS = 4;  // of an activation, looked up at a time
  localparam int unsigned TESTS = 4;  // of a stage
  localparam int unsigned STEP_ENTRIES = 64;  // of the table of steps
  localparam int unsigned SETTINGS = 9;  // words of 64 bits
  localparam int unsigned PLACE_BITS = 16;  // of a signed coordinate
  localparam int unsigned PARAMETER_BITS = 64;
  localparam int unsigned BUFFERS = 4;  // pixels whose sums a column keeps
  localparam int unsigned BUFFER_BITS = 2;

  localparam logic [3:0] COMMAND_WRITE = 4'd1;
  localparam logic [3:0] COMMAND_RUN = 4'd2;

  localparam logic [3:0] TARGET_MACHINE = 4'd0;
  localparam logic [3:0] TARGET_SETTINGS = 4'd1;
  localparam logic [3:0] TARGET_STEPS = 4'd2;
  localparam logic [3:0] TARGET_WEIGHTS = 4'd3;
  localparam logic [3:0] TARGET_PARAMETERS = 4'd4;
  localparam logic [3:0] TARGET_THRESHOLDS = 4'd5;
  localparam logic [3:0] TARGET_LIMITS = 4'd6;

  // A round, as the fetch describes it to the columns: lowest bits of its fields.
  localparam int unsigned ROUND_SHIFT = 0;  // 5 bits
  localparam int unsigned ROUND_WEIGHTS = 5;  // 16 bits: address of its first weights
  localparam int unsigned ROUND_TESTS = 21;  // 8 bits: address of the test's first threshold
  localparam int unsigned ROUND_DIGIT = 29;  // 2 bits
  localparam int unsigned ROUND_TEST = 31;  // results are tested
  localparam int unsigned ROUND_FRESH = 32;  // sums begin
  localparam int unsigned ROUND_BASE = 33;  // the base is subtracted, if it is to be
  localparam int unsigned ROUND_FIRST = 34;  // of a pixel
  localparam int unsigned ROUND_LAST = 35;  // of a pixel
  localparam int unsigned ROUND_BITS = 36;
endpackage
