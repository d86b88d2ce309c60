// Selects one operand of a tile's instructions.
//   time      In fabric cycle c the instruction says where the operand comes from (kind, line,
//             delay); `valids` are those of all messages. read_line, combinational, asks a
//             delay line for the message, and read_memory a tile memory. In c + 1 their data are
//             there; `literal_now` is the instruction's literal, and `value` the operand.
//   lines     Line l has bits l * SPAN + d of `valids` for the delays d; bits of delays that do not
//             exist are 0.
//   advance   a fabric cycle; registers keep their values in other cycles
// A message that is not valid gives the literal.
module kiln_cgra_operand #(
    parameter int unsigned LANES = 2,
    parameter int unsigned LINES = 5,
    parameter int unsigned SPAN = 8,  // a power of two
    localparam int unsigned WIDTH = 32 * LANES  // derived, do not set
) (
    input  logic                                   clock,
    input  logic                                   advance,
    input  logic [kiln_cgra_pkg::OPERAND_BITS-1:0] operand,
    input  logic [                 LINES*SPAN-1:0] valids,
    output logic [                      LINES-1:0] read_line,
    output logic [                            1:0] read_memory,
    input  logic [                           31:0] literal_now,
    input  logic [                LINES*WIDTH-1:0] line_data,
    input  logic [                    2*WIDTH-1:0] memory_data,
    output logic [                      WIDTH-1:0] value
);
  localparam int unsigned SPAN_BITS = SPAN > 1 ? $clog2(SPAN) : 1;
  logic [2:0] kind;
  logic [kiln_cgra_pkg::LINE_BITS-1:0] line;
  logic [SPAN_BITS-1:0] delay;
  assign kind  = operand[2:0];
  assign line  = operand[3+:kiln_cgra_pkg::LINE_BITS];
  assign delay = operand[7+:SPAN_BITS];

  for (genvar l = 0; l < LINES; l++) begin : g_line
    logic [SPAN-1:0] of_line;
    assign of_line = valids[l*SPAN+:SPAN];
    assign read_line[l] = kind == kiln_cgra_pkg::OPERAND_MESSAGE &&
        line == kiln_cgra_pkg::LINE_BITS'(l) && of_line[delay];
  end
  assign read_memory[0] = kind == kiln_cgra_pkg::OPERAND_MEMORY_0;
  assign read_memory[1] = kind == kiln_cgra_pkg::OPERAND_MEMORY_1;

  logic [LINES-1:0] line_now;
  logic [1:0] memory_now;
  logic use_literal;
  always_ff @(posedge clock) begin
    if (advance) begin
      line_now    <= read_line;
      memory_now  <= read_memory;
      use_literal <= kind == kiln_cgra_pkg::OPERAND_LITERAL ||
          (kind == kiln_cgra_pkg::OPERAND_MESSAGE && read_line == '0);
    end
  end

  always_comb begin
    value = use_literal ? {LANES{literal_now}} : '0;
    for (int l = 0; l < LINES; l++)
      value = value | (line_data[l*WIDTH+:WIDTH] & {WIDTH{line_now[l]}});
    for (int i = 0; i < 2; i++)
      value = value | (memory_data[i*WIDTH+:WIDTH] & {WIDTH{memory_now[i]}});
  end

  if (SPAN_BITS < kiln_cgra_pkg::DELAY_BITS) begin : g_unused
    wire unused = &{1'b0, operand};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) one_line : assert ($onehot0(read_line));
`endif
endmodule
