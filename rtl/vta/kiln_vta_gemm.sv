// The GEMM unit of the VTA machine. It executes one step per cycle.
//   time     a step in cycle s reads its micro-op in s, input and weight in s + 1, multiplies in
//            s + 2, sums the products and reads the accumulator in s + 3, adds in s + 4 and writes
//            in s + 5. Results that were not yet written when the step read its accumulator are
//            forwarded.
//   command  accepted when the unit is idle or in the cycle of a last step; has at least one step.
//            `done` is high in cycle s + 5 of the last step.
module kiln_vta_gemm #(
    parameter int unsigned INPUT_BITS = 8,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned ACCUMULATOR_BITS = 32,
    parameter int unsigned BATCH = 1,
    parameter int unsigned BLOCK_IN = 16,
    parameter int unsigned BLOCK_OUT = 16,
    parameter int unsigned UOP_INDEX_BITS = 13,
    parameter int unsigned INPUT_INDEX_BITS = 11,
    parameter int unsigned WEIGHT_INDEX_BITS = 10,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 11,
    // derived, do not set
    localparam int unsigned SOURCE_INDEX_BITS =
        INPUT_INDEX_BITS > ACCUMULATOR_INDEX_BITS ? INPUT_INDEX_BITS : ACCUMULATOR_INDEX_BITS,
    localparam int unsigned UOP_BITS =
        ACCUMULATOR_INDEX_BITS + SOURCE_INDEX_BITS + WEIGHT_INDEX_BITS,
    localparam int unsigned NUMBERS = BATCH * BLOCK_OUT,
    localparam int unsigned ELEMENT_BITS = NUMBERS * ACCUMULATOR_BITS
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic                                      command_valid,
    output logic                                      command_ready,
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] command_instruction,
    output logic                                      step,  // a step begins in this cycle
    output logic                                      done,
    // Memories return the word of an address in the next cycle
    output logic                                      uop_enable,
    output logic [                UOP_INDEX_BITS-1:0] uop_address,
    input  logic [                      UOP_BITS-1:0] uop,
    output logic                                      operands_enable,
    output logic [              INPUT_INDEX_BITS-1:0] input_address,
    input  logic [     BATCH*BLOCK_IN*INPUT_BITS-1:0] input_data,
    output logic [             WEIGHT_INDEX_BITS-1:0] weight_address,
    input  logic [BLOCK_OUT*BLOCK_IN*WEIGHT_BITS-1:0] weight_data,
    output logic                                      read_enable,
    output logic [        ACCUMULATOR_INDEX_BITS-1:0] read_index,
    input  logic [                  ELEMENT_BITS-1:0] read_data,
    output logic                                      write_enable,
    output logic [        ACCUMULATOR_INDEX_BITS-1:0] write_index,
    output logic [                  ELEMENT_BITS-1:0] write_data
);
  localparam int unsigned SUM_BITS = INPUT_BITS + WEIGHT_BITS + $clog2(BLOCK_IN);

  // ---- Cycle s. The number in the names below is the number of cycles after s.
  logic valid0, last0;
  logic [ACCUMULATOR_INDEX_BITS-1:0] dst0;
  logic [SOURCE_INDEX_BITS-1:0] src0;
  logic [WEIGHT_INDEX_BITS-1:0] weight0;
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
      .command_late(1'b0),
      .command_pairs(1'b0),
      .active(),
      .step_valid(valid0),
      .step_last(last0),
      .instruction(),
      .uop_address,
      .dst(dst0),
      .src(src0),
      .weight(weight0)
  );
  assign uop_enable = valid0;
  assign step = valid0;

  // ---- s + 1: computes the indices.
  logic valid1, last1;
  logic [ACCUMULATOR_INDEX_BITS-1:0] dst1, uop_dst;
  logic [SOURCE_INDEX_BITS-1:0] src1, uop_src;
  logic [WEIGHT_INDEX_BITS-1:0] weight1, uop_weight;
  assign {uop_weight, uop_src, uop_dst} = uop;
  assign operands_enable = valid1;
  assign input_address = INPUT_INDEX_BITS'(uop_src + src1);
  assign weight_address = uop_weight + weight1;

  // ---- s + 2 and s + 3: computes products and sums; reads the accumulator.
  logic valid2, valid3, last2, last3;
  logic [ACCUMULATOR_INDEX_BITS-1:0] dst2, dst3;
  logic [NUMBERS*SUM_BITS-1:0] sums;
  kiln_vta_multiply #(
      .INPUT_BITS(INPUT_BITS),
      .WEIGHT_BITS(WEIGHT_BITS),
      .BATCH(BATCH),
      .BLOCK_IN(BLOCK_IN),
      .BLOCK_OUT(BLOCK_OUT)
  ) multiply (
      .clock,
      .inputs (input_data),
      .weights(weight_data),
      .sums
  );
  assign read_enable = valid3;
  assign read_index = dst3;

  // ---- s + 4: adds to the accumulator. The word that was read does not contain the writes of the
  // previous two cycles, which are forwarded.
  logic valid4, last4, valid6;
  logic [ACCUMULATOR_INDEX_BITS-1:0] dst4, dst6;
  logic [ELEMENT_BITS-1:0] data6, addend, total;
  always_comb begin
    addend = read_data;
    if (valid6 && dst6 == dst4) addend = data6;
    if (write_enable && write_index == dst4) addend = write_data;
  end
  for (genvar n = 0; n < NUMBERS; n++) begin : g_number
    logic signed [SUM_BITS-1:0] sum;
    assign sum = sums[n*SUM_BITS+:SUM_BITS];
    assign total[n*ACCUMULATOR_BITS+:ACCUMULATOR_BITS] =
        addend[n*ACCUMULATOR_BITS+:ACCUMULATOR_BITS] + ACCUMULATOR_BITS'(sum);
    wire unused_upper_bits = &{1'b0, sum};  // if sums are wider than accumulators
  end

  always_ff @(posedge clock) begin
    if (reset) begin
      {valid1, valid2, valid3, valid4, write_enable, valid6, done} <= '0;
    end else begin
      valid1       <= valid0;
      valid2       <= valid1;
      valid3       <= valid2;
      valid4       <= valid3;
      write_enable <= valid4;
      valid6       <= write_enable;
      done         <= valid4 && last4;
    end
    last1       <= last0;
    last2       <= last1;
    last3       <= last2;
    last4       <= last3;
    dst1        <= dst0;
    src1        <= src0;
    weight1     <= weight0;
    dst2        <= uop_dst + dst1;
    dst3        <= dst2;
    dst4        <= dst3;
    write_index <= dst4;
    write_data  <= total;
    dst6        <= write_index;
    data6       <= write_data;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      done_with_last_write : assert (!done || write_enable);
      step_reads_uop : assert (step == uop_enable);
    end
  end
`endif
endmodule
