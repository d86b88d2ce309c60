// The interface of the command processor to software: registers, error codes and performance
// counters (docs/rtl.md, "Controlling the systolic hardware").
package kiln_control_pkg;

  // The reasons for which the machine stops before the end of its program.
  typedef enum logic [7:0] {
    ERROR_NONE = 8'd0,
    ERROR_OPCODE = 8'd1,  // unknown, or of a unit that this design point does not have
    ERROR_ORDER = 8'd2,  // a word whose tag or index is not the expected one
    ERROR_LENGTH = 8'd3,  // the header's length is not the number of words
    ERROR_COUNT = 8'd4,  // a count that is 0 or beyond the capacity of this design point
    // A base address outside the memory, or a program that does not begin at a multiple of 16.
    ERROR_ADDRESS = 8'd5,
    ERROR_ENUMERATOR = 8'd6,  // a field with an undefined value
    ERROR_PROGRAM_END = 8'd7,  // the program runs past the end of memory
    ERROR_BUS = 8'd8,  // SLVERR or DECERR on a port
    ERROR_RANGE = 8'd9,  // a unit was about to access an address outside the memory
    ERROR_WATCHDOG = 8'd10,  // no instruction finished within the watchdog's limit of cycles
    ERROR_STOPPED = 8'd11  // stopped by CONTROL
  } error_t;

  // Byte addresses of the registers, which have 32 bits.
  localparam logic [11:0] IDENTITY = 12'h000;
  localparam logic [11:0] VERSION = 12'h004;
  localparam logic [11:0] CONTROL = 12'h008;
  localparam logic [11:0] STATUS = 12'h00c;
  localparam logic [11:0] INTERRUPT_ENABLE = 12'h010;
  localparam logic [11:0] INTERRUPT_STATUS = 12'h014;
  localparam logic [11:0] ERROR_CODE = 12'h018;
  localparam logic [11:0] ERROR_PLACE = 12'h01c;
  localparam logic [11:0] PROGRAM_ADDRESS = 12'h020;
  localparam logic [11:0] WATCHDOG_LIMIT = 12'h028;
  localparam logic [11:0] FINISHED = 12'h02c;
  localparam logic [11:0] CYCLES = 12'h030;
  localparam logic [11:0] CYCLES_HIGH = 12'h034;
  // Counter k of unit u is at COUNTERS + 64 u + 8 k, its high half 4 bytes later.
  localparam logic [11:0] COUNTERS = 12'h100;

  localparam logic [31:0] IDENTITY_VALUE = 32'h4b494c4e;  // "KILN"
  localparam logic [31:0] VERSION_VALUE = 32'h0002_0000;

  // Bits of CONTROL, of STATUS, and of the interrupt registers.
  localparam int CONTROL_START = 0;
  localparam int CONTROL_STOP = 1;
  localparam int STATUS_BUSY = 0;
  localparam int STATUS_DONE = 1;
  localparam int STATUS_ERROR = 2;
  localparam int INTERRUPT_DONE = 0;
  localparam int INTERRUPT_ERROR = 1;

  // The units in the order of the cycle level's trace, followed by the command processor.
  localparam int UNIT_INPUT_FETCH = 0;
  localparam int UNIT_WEIGHT_FETCH = 1;
  localparam int UNIT_WEIGHT_LOAD = 2;
  localparam int UNIT_ARRAY = 3;
  localparam int UNIT_DEPTHWISE = 4;
  localparam int UNIT_PARAMETER_FETCH = 5;
  localparam int UNIT_VECTOR = 6;
  localparam int UNIT_COMMAND = 7;
  localparam int UNITS = 8;

  // The counters of a unit.
  localparam int COUNTER_BUSY = 0;
  // and the next two: stalls by cause, as docs/rtl.md lists them
  localparam int COUNTER_STALLED = 1;
  localparam int CAUSES = 3;
  localparam int COUNTER_READ = 4;  // bytes
  localparam int COUNTER_WRITTEN = 5;
  localparam int UNIT_COUNTERS = 6;
  localparam int COUNTER_BITS = 48;

  // Bit u: unit u has the counter of the third cause, of bytes read, of bytes written. The others
  // read as zero.
  localparam logic [UNITS-1:0] COUNTS_THIRD_CAUSE = 8'b1101_1000;
  localparam logic [UNITS-1:0] COUNTS_READS = 8'b1110_0011;
  localparam logic [UNITS-1:0] COUNTS_WRITES = 8'b0100_0000;

  // The activity of a unit in one cycle.
  localparam int BYTES_BITS = 16;
  typedef struct packed {
    logic busy;
    logic [CAUSES-1:0] stalled;  // bit i: stalled by cause i; at most one bit is set
    logic [BYTES_BITS-1:0] bytes_read;
    logic [BYTES_BITS-1:0] bytes_written;
  } activity_t;

  // The cycles in which each counter of each unit has one turn, as a power of two, and the bits of
  // what a counter counts in a turn.
  localparam int TURN_BITS = 6;
  localparam int PART_BITS = TURN_BITS + BYTES_BITS;

endpackage
