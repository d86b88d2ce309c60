// The ALU unit of the VTA machine. It also clears accumulators for GEMM instructions with `reset`.
//   time     a step in cycle s reads its micro-op in s, the second operand in s + 1, the first in
//            s + 2, computes in s + 3 and writes in s + 4. Results that were not yet written when
//            the step read its operands are forwarded.
//   steps    one per cycle, or one every other cycle with `command_pairs`. With a second operand
//            the first step of an instruction is one cycle later, so that its second operand is not
//            read in the cycle in which the previous step reads its first.
//   command  accepted when the unit is idle or in the cycle of a last step; has at least one step.
//            `done` is high in cycle s + 4 of the last step.
module kiln_vta_alu #(
    parameter int unsigned ACCUMULATOR_BITS = 32,
    parameter int unsigned NUMBERS = 16,  // in an accumulator element
    parameter int unsigned UOP_INDEX_BITS = 13,
    parameter int unsigned INPUT_INDEX_BITS = 11,
    parameter int unsigned WEIGHT_INDEX_BITS = 10,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 11,
    // derived, do not set
    localparam int unsigned SOURCE_INDEX_BITS =
        INPUT_INDEX_BITS > ACCUMULATOR_INDEX_BITS ? INPUT_INDEX_BITS : ACCUMULATOR_INDEX_BITS,
    localparam int unsigned UOP_BITS =
        ACCUMULATOR_INDEX_BITS + SOURCE_INDEX_BITS + WEIGHT_INDEX_BITS,
    localparam int unsigned ELEMENT_BITS = NUMBERS * ACCUMULATOR_BITS
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic                                      command_valid,
    output logic                                      command_ready,
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] command_instruction,
    input  logic                                      command_pairs,
    // high from an instruction's first cycle to its last
    output logic                                      active,
    // a step begins in this cycle; `step_clears`: it belongs to a GEMM instruction
    output logic                                      step,
    output logic                                      step_clears,
    output logic                                      done,
    // Memories return the word of an address in the next cycle
    output logic                                      uop_enable,
    output logic [                UOP_INDEX_BITS-1:0] uop_address,
    input  logic [                      UOP_BITS-1:0] uop,
    output logic                                      second_enable,
    output logic [        ACCUMULATOR_INDEX_BITS-1:0] second_index,
    input  logic [                  ELEMENT_BITS-1:0] second_data,
    output logic                                      first_enable,
    output logic [        ACCUMULATOR_INDEX_BITS-1:0] first_index,
    input  logic [                  ELEMENT_BITS-1:0] first_data,
    output logic                                      write_enable,
    output logic [        ACCUMULATOR_INDEX_BITS-1:0] write_index,
    output logic [                  ELEMENT_BITS-1:0] write_data
);
  localparam int unsigned INDEX_BITS = ACCUMULATOR_INDEX_BITS;

  // ---- Cycle s. The number in the names below is the number of cycles after s.
  logic second_operand;  // the command has a second operand
  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] instruction;
  logic valid0, last0, clear0, use_immediate0, command_use_immediate;
  logic [INDEX_BITS-1:0] dst0;
  logic [SOURCE_INDEX_BITS-1:0] src0;
  logic [2:0] operation0;
  logic [15:0] immediate0;
  kiln_vta_fields #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) command_fields (
      .instruction(command_instruction),
      .clear(),
      .uop_begin(),
      .uop_end(),
      .outer(),
      .inner(),
      .dst_outer(),
      .dst_inner(),
      .src_outer(),
      .src_inner(),
      .weight_outer(),
      .weight_inner(),
      .operation(),
      .use_immediate(command_use_immediate),
      .immediate()
  );
  assign second_operand =
      command_instruction[2:0] == kiln_vta_pkg::OPCODE_ALU && !command_use_immediate;
  kiln_vta_steps #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) steps (
      .clock,
      .reset,
      .command_valid,
      .command_ready,
      .command_instruction,
      .command_late(second_operand),
      .command_pairs,
      .active,
      .step_valid(valid0),
      .step_last(last0),
      .instruction,
      .uop_address,
      .dst(dst0),
      .src(src0),
      .weight()
  );
  kiln_vta_fields #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) fields (
      .instruction,
      .clear(clear0),
      .uop_begin(),
      .uop_end(),
      .outer(),
      .inner(),
      .dst_outer(),
      .dst_inner(),
      .src_outer(),
      .src_inner(),
      .weight_outer(),
      .weight_inner(),
      .operation(operation0),
      .use_immediate(use_immediate0),
      .immediate(immediate0)
  );
  assign uop_enable = valid0;
  assign step = valid0;
  assign step_clears = clear0;

  // ---- s + 1 to s + 3: computes the indices, reads the second operand and then the first.
  logic valid1, valid2, valid3, last1, last2, last3, clear1, clear2, clear3;
  logic use_immediate1, use_immediate2, use_immediate3;
  logic [2:0] operation1, operation2;
  logic [15:0] immediate1, immediate2, immediate3;
  logic [INDEX_BITS-1:0] uop_dst, dst1, dst2, dst3, src2, src3;
  logic [SOURCE_INDEX_BITS-1:0] uop_src, src1;
  logic [WEIGHT_INDEX_BITS-1:0] unused_weight;
  logic [ELEMENT_BITS-1:0] second3;
  assign {unused_weight, uop_src, uop_dst} = uop;
  assign second_enable = valid1 && !clear1 && !use_immediate1;
  assign second_index = INDEX_BITS'(uop_src + src1);
  assign first_enable = valid2;
  assign first_index = dst2;

  // ---- s + 3: computes the result. The words that were read do not contain the writes of the last
  // cycles, which are forwarded.
  logic valid5, valid6;
  logic [INDEX_BITS-1:0] dst5, dst6;
  logic [ELEMENT_BITS-1:0] data5, data6, x, y, result;
  always_comb begin
    x = first_data;
    if (valid5 && dst5 == dst3) x = data5;
    if (write_enable && write_index == dst3) x = write_data;
    y = second3;
    if (valid6 && dst6 == src3) y = data6;
    if (valid5 && dst5 == src3) y = data5;
    if (write_enable && write_index == src3) y = write_data;
  end
  localparam int unsigned OPERAND_BITS = ACCUMULATOR_BITS > 16 ? ACCUMULATOR_BITS : 16;
  // Each group of numbers has its own register of the operation, which bounds the register's load.
  localparam int unsigned GROUP = 16;
  localparam int unsigned GROUPS = (NUMBERS + GROUP - 1) / GROUP;
  logic [GROUPS*3-1:0] operations3;
  for (genvar g = 0; g < GROUPS; g++) begin : g_group
    kiln_delay #(
        .WIDTH(3),
        .CYCLES(1)
    ) operation (
        .clock,
        .in (operation2),
        .out(operations3[g*3+:3])
    );
  end
  logic signed [15:0] immediate;
  assign immediate = immediate3;
  for (genvar n = 0; n < NUMBERS; n++) begin : g_number
    logic signed [ACCUMULATOR_BITS-1:0] second;
    logic [ACCUMULATOR_BITS-1:0] computed;
    logic [OPERAND_BITS-1:0] operand;
    assign second = y[n*ACCUMULATOR_BITS+:ACCUMULATOR_BITS];
    assign operand = use_immediate3 ? OPERAND_BITS'(immediate) : OPERAND_BITS'(second);
    kiln_vta_alu_number #(
        .ACCUMULATOR_BITS(ACCUMULATOR_BITS)
    ) alu (
        .operation(operations3[n/GROUP*3+:3]),
        .x(x[n*ACCUMULATOR_BITS+:ACCUMULATOR_BITS]),
        .y(operand),
        .result(computed)
    );
    assign result[n*ACCUMULATOR_BITS+:ACCUMULATOR_BITS] = clear3 ? '0 : computed;
  end

  always_ff @(posedge clock) begin
    if (reset) begin
      {valid1, valid2, valid3, write_enable, valid5, valid6, done} <= '0;
    end else begin
      valid1       <= valid0;
      valid2       <= valid1;
      valid3       <= valid2;
      write_enable <= valid3;
      valid5       <= write_enable;
      valid6       <= valid5;
      done         <= valid3 && last3;
    end
    {last3, last2, last1} <= {last2, last1, last0};
    {clear3, clear2, clear1} <= {clear2, clear1, clear0};
    {use_immediate3, use_immediate2, use_immediate1} <=
        {use_immediate2, use_immediate1, use_immediate0};
    {operation2, operation1} <= {operation1, operation0};
    {immediate3, immediate2, immediate1} <= {immediate2, immediate1, immediate0};
    dst1        <= dst0;
    src1        <= src0;
    dst2        <= uop_dst + dst1;
    src2        <= second_index;
    dst3        <= dst2;
    src3        <= src2;
    second3     <= second_data;
    write_index <= dst3;
    write_data  <= result;
    {dst6, dst5} <= {dst5, write_index};
    {data6, data5} <= {data5, write_data};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      done_with_last_write : assert (!done || write_enable);
      // Every write belongs to a step that has read its operand.
      write_follows_read : assert (!write_enable || $past(first_enable, 2));
    end
  end
`endif
endmodule
