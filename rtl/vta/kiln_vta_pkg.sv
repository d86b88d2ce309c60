// Constants and types of the VTA machine (docs/vta-machine.md): the instruction encoding, the tags
// of memory requests, the events that are counted, and the register addresses.
package kiln_vta_pkg;
  localparam int unsigned INSTRUCTION_BITS = 128;
  localparam int unsigned INSTRUCTION_BYTES = INSTRUCTION_BITS / 8;
  localparam int unsigned UOP_BYTES = 4;
  localparam int unsigned ADDRESS_BITS = 32;
  localparam int unsigned NUMBER_BITS = 32;  // of an instruction within its launch
  localparam int unsigned ELEMENT_BITS = 16;  // index of an element of the largest buffer
  localparam int unsigned LOOP_BITS = 14;
  localparam int unsigned PAGE_BITS = 12;  // byte addresses below 2^PAGE_BITS are not memory

  localparam logic [2:0] OPCODE_LOAD = 3'd0;
  localparam logic [2:0] OPCODE_STORE = 3'd1;
  localparam logic [2:0] OPCODE_GEMM = 3'd2;
  localparam logic [2:0] OPCODE_FINISH = 3'd3;
  localparam logic [2:0] OPCODE_ALU = 3'd4;  // larger opcodes are reserved

  localparam logic [2:0] MEMORY_UOP = 3'd0;
  localparam logic [2:0] MEMORY_WEIGHT = 3'd1;
  localparam logic [2:0] MEMORY_INPUT = 3'd2;
  localparam logic [2:0] MEMORY_ACCUMULATOR = 3'd3;
  localparam logic [2:0] MEMORY_OUTPUT = 3'd4;
  localparam logic [2:0] MEMORY_ACCUMULATOR8 = 3'd5;  // one byte per number in memory

  localparam logic [2:0] ALU_MIN = 3'd0;
  localparam logic [2:0] ALU_MAX = 3'd1;
  localparam logic [2:0] ALU_ADD = 3'd2;
  localparam logic [2:0] ALU_SHIFT_RIGHT = 3'd3;
  localparam logic [2:0] ALU_MULTIPLY = 3'd4;

  // Stages of the machine, and units of the compute stage.
  localparam logic [1:0] STAGE_LOAD = 2'd0;
  localparam logic [1:0] STAGE_COMPUTE = 2'd1;
  localparam logic [1:0] STAGE_STORE = 2'd2;
  localparam logic [1:0] UNIT_GEMM = 2'd0;
  localparam logic [1:0] UNIT_ALU = 2'd1;
  localparam logic [1:0] UNIT_LOADER = 2'd2;
  localparam logic [1:0] UNIT_NONE = 2'd3;  // for instructions that only handle tokens
  localparam int unsigned UNITS = 3;
  localparam int unsigned UNIT_QUEUE_DEPTH = 8;
  localparam int unsigned RETIREMENT_DEPTH = 32;
  localparam int unsigned FETCH_DEPTH = 16;
  // with this many instructions in the queues of the stages, fetch has the lowest read priority
  localparam int unsigned FETCH_STANDING = 8;

  // Kinds of faults: values of the register FAULT.
  localparam logic [3:0] FAULT_NONE = 4'd0;
  localparam logic [3:0] FAULT_SRAM_RANGE = 4'd1;
  localparam logic [3:0] FAULT_DRAM_RANGE = 4'd2;
  localparam logic [3:0] FAULT_BAD_OPCODE = 4'd3;
  localparam logic [3:0] FAULT_BAD_MEMORY_ID = 4'd4;
  localparam logic [3:0] FAULT_BAD_FIELD = 4'd5;
  localparam logic [3:0] FAULT_BAD_DEPENDENCY = 4'd6;
  localparam logic [3:0] FAULT_DEADLOCK = 4'd7;
  localparam logic [3:0] FAULT_NO_FINISH = 4'd8;
  localparam int unsigned STILL_CYCLES = 64;  // cycles without progress after which a launch ends

  // The lowest bits of every instruction.
  typedef struct packed {
    logic       push_next;
    logic       push_previous;
    logic       pop_next;
    logic       pop_previous;
    logic [2:0] opcode;
  } common_t;

  localparam int unsigned COMMON_BITS = 7;

  // The complete encoding of a load or store.
  typedef struct packed {
    logic [3:0]  x_pad_after;
    logic [3:0]  x_pad_before;
    logic [3:0]  y_pad_after;
    logic [3:0]  y_pad_before;
    logic [15:0] x_stride;
    logic [15:0] x_size;
    logic [15:0] y_size;
    logic [5:0]  unused;
    logic [31:0] dram_base;
    logic [15:0] sram_base;
    logic [2:0]  memory;
    common_t     common;
  } transfer_t;

  // Returns the lowest bit of a field of `bits` bits that would begin at bit `first`. A field that
  // would cross the middle of an instruction begins there instead.
  function automatic int unsigned field_place(input int unsigned first, input int unsigned bits);
    field_place = first < INSTRUCTION_BITS / 2 && first + bits > INSTRUCTION_BITS / 2 ?
        INSTRUCTION_BITS / 2 : first;
  endfunction

  // The tag of a request of the read port.
  localparam logic [1:0] SOURCE_FETCH = 2'd0;
  localparam logic [1:0] SOURCE_LOADER = 2'd1;
  localparam logic [1:0] SOURCE_LOAD_STAGE = 2'd2;
  typedef struct packed {
    logic [1:0]              source;
    logic [NUMBER_BITS-1:0]  number;  // of the instruction
    logic [2:0]              memory;
    logic [ELEMENT_BITS-1:0] element;  // index in the buffer to write
    logic                    padding;  // write zeros instead of the word
    logic                    empty;  // write nothing: the instruction has no elements
    logic                    last;  // last request of its instruction
    logic                    push_next;  // flag of its instruction
  } read_tag_t;
  localparam int unsigned READ_TAG_BITS = NUMBER_BITS + ELEMENT_BITS + 9;
  // The tag of a request of the write port.
  typedef struct packed {
    logic [NUMBER_BITS-1:0] number;
    logic                   last;
    logic                   push_previous;
  } write_tag_t;
  localparam int unsigned WRITE_TAG_BITS = NUMBER_BITS + 2;

  // The events of a cycle, for the counters (targets/vta/isa/counters.def). At most one of the
  // dispatch events is high.
  typedef struct packed {
    logic dispatched;
    logic uops_loading;
    logic examining;
    logic tokens;
    logic queue_full;
    logic banks;
    logic uops_in_use;
  } dispatch_events_t;
  typedef struct packed {
    dispatch_events_t dispatch;
    logic             gemm_step;
    logic             gemm_write;
    logic             alu_busy;
    logic             alu_step;
    logic             alu_clear;  // a step of a GEMM instruction with `reset`
    logic             alu_write;
  } compute_events_t;
  localparam int unsigned COUNTER_COUNT = 30;

  // Registers (docs/vta-machine.md): byte addresses.
  localparam int unsigned REGISTER_BITS = 12;
  localparam logic [REGISTER_BITS-1:0] CONTROL = 12'h000;
  localparam logic [REGISTER_BITS-1:0] CYCLES = 12'h004;
  localparam logic [REGISTER_BITS-1:0] INSTRUCTIONS = 12'h008;
  localparam logic [REGISTER_BITS-1:0] PROGRAM_ADDRESS = 12'h00c;
  localparam logic [REGISTER_BITS-1:0] UOP_BASE = 12'h010;
  localparam logic [REGISTER_BITS-1:0] INPUT_BASE = 12'h014;
  localparam logic [REGISTER_BITS-1:0] WEIGHT_BASE = 12'h018;
  localparam logic [REGISTER_BITS-1:0] ACCUMULATOR_BASE = 12'h01c;
  localparam logic [REGISTER_BITS-1:0] OUTPUT_BASE = 12'h020;
  localparam logic [REGISTER_BITS-1:0] ACCUMULATOR_WRITES = 12'h024;
  localparam logic [REGISTER_BITS-1:0] FAULT = 12'h028;
  localparam logic [REGISTER_BITS-1:0] FAULT_INSTRUCTION = 12'h02c;
  localparam logic [REGISTER_BITS-1:0] IDENTITY = 12'h030;
  localparam logic [REGISTER_BITS-1:0] COUNTERS = 12'h040;
  localparam logic [31:0] IDENTITY_VALUE = 32'h4b494c4e;
  localparam int unsigned CONTROL_LAUNCH = 0;
  localparam int unsigned CONTROL_FINISHED = 1;
endpackage
