// Generates the steps of a GEMM or ALU instruction: loops over the micro-ops (innermost), `inner`
// and `outer`. Used by the GEMM and ALU units.
//
//   command_ready  the module is idle, or this is the cycle of the last step. An instruction
//                  accepted in c has its first step in c + 1, or in c + 2 with `command_late`. With
//                  `command_pairs` it has a step every other cycle.
//   step_valid     a step begins. uop_address is the address of its micro-op; dst, src and weight
//                  are the offsets to add to the micro-op's indices. They and `instruction` are
//                  valid in this cycle.
module kiln_vta_steps #(
    parameter int unsigned UOP_INDEX_BITS = 13,
    parameter int unsigned INPUT_INDEX_BITS = 11,
    parameter int unsigned WEIGHT_INDEX_BITS = 10,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 11,
    // derived, do not set
    localparam int unsigned SOURCE_INDEX_BITS =
        INPUT_INDEX_BITS > ACCUMULATOR_INDEX_BITS ? INPUT_INDEX_BITS : ACCUMULATOR_INDEX_BITS
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic                                      command_valid,
    output logic                                      command_ready,
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] command_instruction,  // has at least one step
    input  logic                                      command_late,
    input  logic                                      command_pairs,
    // high from an instruction's first cycle to its last
    output logic                                      active,
    output logic                                      step_valid,
    output logic                                      step_last,  // last step of the instruction
    output logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] instruction,
    output logic [                UOP_INDEX_BITS-1:0] uop_address,
    output logic [        ACCUMULATOR_INDEX_BITS-1:0] dst,
    output logic [             SOURCE_INDEX_BITS-1:0] src,
    output logic [             WEIGHT_INDEX_BITS-1:0] weight
);
  logic pairs, waiting, taken;
  assign step_valid = active && !waiting;
  assign command_ready = !active || (step_valid && step_last);
  assign taken = command_valid && command_ready;

  logic [UOP_INDEX_BITS-1:0] uop_begin, first_uop;
  logic [UOP_INDEX_BITS:0] uop_end;
  logic [kiln_vta_pkg::LOOP_BITS-1:0] outer, inner;
  logic [ACCUMULATOR_INDEX_BITS-1:0] dst_outer, dst_inner;
  logic [SOURCE_INDEX_BITS-1:0] src_outer, src_inner;
  logic [WEIGHT_INDEX_BITS-1:0] weight_outer, weight_inner;
  kiln_vta_fields #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) fields (
      .instruction,
      .clear(),
      .uop_begin,
      .uop_end,
      .outer,
      .inner,
      .dst_outer,
      .dst_inner,
      .src_outer,
      .src_inner,
      .weight_outer,
      .weight_inner,
      .operation(),
      .use_immediate(),
      .immediate()
  );
  kiln_vta_fields #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) command_fields (
      .instruction(command_instruction),
      .clear(),
      .uop_begin(first_uop),
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
      .use_immediate(),
      .immediate()
  );

  logic [kiln_vta_pkg::LOOP_BITS-1:0] outer_at, inner_at;
  logic uop_last, inner_last, outer_last;
  assign uop_last = (UOP_INDEX_BITS + 1)'(uop_address) + 1'b1 == uop_end;
  assign inner_last = inner_at + 1'b1 == inner;
  assign outer_last = outer_at + 1'b1 == outer;
  assign step_last = uop_last && inner_last && outer_last;

  logic [ACCUMULATOR_INDEX_BITS-1:0] dst_row;  // offset at the start of the outer iteration
  logic [SOURCE_INDEX_BITS-1:0] src_row;
  logic [WEIGHT_INDEX_BITS-1:0] weight_row;
  always_ff @(posedge clock) begin
    if (reset) active <= 1'b0;
    else if (taken) active <= 1'b1;
    else if (step_valid && step_last) active <= 1'b0;
    if (taken) waiting <= command_late;
    else waiting <= step_valid && pairs;
    if (taken) begin
      instruction <= command_instruction;
      pairs       <= command_pairs;
      uop_address <= first_uop;
      outer_at    <= '0;
      inner_at    <= '0;
      dst         <= '0;
      src         <= '0;
      weight      <= '0;
      dst_row     <= '0;
      src_row     <= '0;
      weight_row  <= '0;
    end else if (step_valid) begin
      uop_address <= uop_last ? uop_begin : uop_address + 1'b1;
      if (uop_last) begin
        inner_at <= inner_last ? '0 : inner_at + 1'b1;
        if (inner_last) begin
          outer_at   <= outer_at + 1'b1;
          dst_row    <= dst_row + dst_outer;
          src_row    <= src_row + src_outer;
          weight_row <= weight_row + weight_outer;
        end
        dst    <= inner_last ? dst_row + dst_outer : dst + dst_inner;
        src    <= inner_last ? src_row + src_outer : src + src_inner;
        weight <= inner_last ? weight_row + weight_outer : weight + weight_inner;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      step_while_active : assert (!step_valid || active);
      uop_in_range : assert (!active || (uop_address >= uop_begin && (UOP_INDEX_BITS +
          1)'(uop_address) < uop_end));
      inner_in_range : assert (!active || inner_at < inner);
      outer_in_range : assert (!active || outer_at < outer);
      no_step_lost : assert (!(taken && active) || (step_valid && step_last));
    end
  end
`endif
endmodule
