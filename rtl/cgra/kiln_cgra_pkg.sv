// Numbers of the cgra machine that software and hardware share (docs/cgra-machine.md).
package kiln_cgra_pkg;
  localparam int unsigned WORD_BITS = 32;  // of a lane
  localparam int unsigned SPOKE_BITS = 32;  // of an entry of the spoke RAM
  localparam int unsigned INSTRUCTION_BITS = 128;
  localparam int unsigned ENTRY_BITS = 22;  // of the delivery table
  localparam int unsigned DELAY_BITS = 7;
  localparam int unsigned LINE_BITS = 4;
  localparam int unsigned ADDRESS_BITS = 12;  // of a tile memory, in encodings
  localparam int unsigned MOST_LINKS = 8;
  localparam int unsigned MOST_OUTPUTS = 8;

  // Fields of a spoke entry: their lowest bits.
  localparam int unsigned SPOKE_VALID = 0;
  localparam int unsigned SPOKE_INSTRUCTION = 1;
  localparam int unsigned SPOKE_BASE = 7;
  localparam int unsigned SPOKE_LINE = 8;
  localparam int unsigned SPOKE_DELAY = 12;
  localparam int unsigned SPOKE_LINKS = 19;
  localparam int unsigned SPOKE_OUTPUTS = 27;
  localparam int unsigned SPOKE_OUTPUT = 28;

  // Fields of an instruction.
  localparam int unsigned MULTIPLY_BITS = 3;
  localparam int unsigned LOGIC_BITS = 5;
  localparam int unsigned INSTRUCTION_LOGIC = 3;
  localparam int unsigned INSTRUCTION_GATED = 8;
  localparam int unsigned INSTRUCTION_OPERANDS = 10;  // three of OPERAND_BITS
  localparam int unsigned OPERAND_BITS = 14;
  localparam int unsigned INSTRUCTION_MEMORIES = 52;  // two addresses of MEMORY_BITS
  localparam int unsigned MEMORY_BITS = 13;
  localparam int unsigned INSTRUCTION_LITERAL = 96;

  // Kinds of operands.
  localparam logic [2:0] OPERAND_MESSAGE = 3'd1;
  localparam logic [2:0] OPERAND_MEMORY_0 = 3'd2;
  localparam logic [2:0] OPERAND_MEMORY_1 = 3'd3;
  localparam logic [2:0] OPERAND_LITERAL = 3'd4;

  // Operations of the multiply/shift unit.
  localparam logic [2:0] MULTIPLY_IN1 = 3'd0;
  localparam logic [2:0] MULTIPLY_PRODUCT = 3'd1;
  localparam logic [2:0] MULTIPLY_LEFT = 3'd2;
  localparam logic [2:0] MULTIPLY_RIGHT = 3'd3;
  localparam logic [2:0] MULTIPLY_RIGHT_SIGNED = 3'd4;
  localparam logic [2:0] MULTIPLY_FLOAT = 3'd5;

  // Operations of the arithmetic/logic unit.
  localparam logic [4:0] LOGIC_M = 5'd0;
  localparam logic [4:0] LOGIC_ADD = 5'd1;
  localparam logic [4:0] LOGIC_SUBTRACT = 5'd2;
  localparam logic [4:0] LOGIC_SUBTRACT_M = 5'd3;
  localparam logic [4:0] LOGIC_AND = 5'd4;
  localparam logic [4:0] LOGIC_OR = 5'd5;
  localparam logic [4:0] LOGIC_XOR = 5'd6;
  localparam logic [4:0] LOGIC_LEAST = 5'd7;
  localparam logic [4:0] LOGIC_GREATEST = 5'd8;
  localparam logic [4:0] LOGIC_LESS = 5'd9;
  localparam logic [4:0] LOGIC_GREATER = 5'd10;
  localparam logic [4:0] LOGIC_EQUAL = 5'd11;
  localparam logic [4:0] LOGIC_SELECT = 5'd12;
  localparam logic [4:0] LOGIC_FLOAT_ADD = 5'd13;
  localparam logic [4:0] LOGIC_FLOAT_SUBTRACT = 5'd14;
  localparam logic [4:0] LOGIC_FLOAT_SUBTRACT_M = 5'd15;
  localparam logic [4:0] LOGIC_PREDICATE = 5'd16;

  // Commands and targets of the stream in.
  localparam logic [3:0] COMMAND_WRITE = 4'd1;
  localparam logic [3:0] COMMAND_RUN = 4'd2;
  localparam logic [3:0] TARGET_MEMORY_0 = 4'd0;
  localparam logic [3:0] TARGET_MEMORY_1 = 4'd1;
  localparam logic [3:0] TARGET_SPOKES = 4'd2;
  localparam logic [3:0] TARGET_INSTRUCTIONS = 4'd3;
  localparam logic [3:0] TARGET_DELIVERIES = 4'd4;
endpackage
