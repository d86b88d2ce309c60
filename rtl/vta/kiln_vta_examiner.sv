// Examines a GEMM or ALU instruction before its dispatch: reads its micro-ops and computes the
// least and greatest index of each buffer. From these follow whether the instruction stays inside
// the buffers, and which accumulator banks it touches.
//
//   start        the instruction is at the head of the queue and no load of micro-ops is in flight.
//                `start` is a level; it and the instruction must not change until `taken`.
//   time         the first micro-op is read in the first cycle e with `start`. With n micro-ops
//                `examined` is high and the results are valid from e + n + 2 to the cycle of
//                `taken`.
//   beyond       an index is outside its buffer. If `uop_end` is beyond the micro-op buffer, only
//                the first micro-op is read, and `examined` is high from e + 3 on.
//   src_banks    banks of an ALU instruction's second operands
// Within an instruction indices grow with both loops. The least index is therefore that of the
// least micro-op in the first iterations, and the greatest that of the greatest micro-op in the
// last.
module kiln_vta_examiner #(
    parameter int unsigned UOP_INDEX_BITS = 13,
    parameter int unsigned INPUT_INDEX_BITS = 11,
    parameter int unsigned WEIGHT_INDEX_BITS = 10,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 11,
    parameter int unsigned ACCUMULATOR_BANKS = 4,
    // derived, do not set
    localparam int unsigned SOURCE_INDEX_BITS =
        INPUT_INDEX_BITS > ACCUMULATOR_INDEX_BITS ? INPUT_INDEX_BITS : ACCUMULATOR_INDEX_BITS,
    localparam int unsigned UOP_BITS =
        ACCUMULATOR_INDEX_BITS + SOURCE_INDEX_BITS + WEIGHT_INDEX_BITS
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic                                      start,
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] instruction,
    input  logic                                      taken,
    output logic                                      examined,
    output logic                                      beyond,
    output logic [             ACCUMULATOR_BANKS-1:0] dst_banks,
    output logic [             ACCUMULATOR_BANKS-1:0] src_banks,
    // Micro-op memory
    output logic                                      uop_enable,
    output logic [                UOP_INDEX_BITS-1:0] uop_address,
    input  logic [                      UOP_BITS-1:0] uop
);
  localparam int unsigned LOOP_BITS = kiln_vta_pkg::LOOP_BITS;

  logic clear, use_immediate, gemm;
  logic [UOP_INDEX_BITS-1:0] uop_begin;
  logic [UOP_INDEX_BITS:0] uop_end;
  logic [LOOP_BITS-1:0] outer, inner;
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
      .clear,
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
      .use_immediate,
      .immediate()
  );
  assign gemm = instruction[2:0] == kiln_vta_pkg::OPCODE_GEMM;

  // ---- Micro-ops: addresses are issued from the first cycle on, words arrive one cycle later.
  logic begins, busy, reading, uop_valid, uop_first, all_read, uops_beyond;
  logic [UOP_INDEX_BITS:0] next_uop;
  assign begins = start && !busy && !examined;
  assign uops_beyond = uop_end > (UOP_INDEX_BITS + 1)'(1) << UOP_INDEX_BITS;
  assign uop_enable = begins || reading;
  assign uop_address = begins ? uop_begin : UOP_INDEX_BITS'(next_uop);
  always_ff @(posedge clock) begin
    if (reset) begin
      busy      <= 1'b0;
      reading   <= 1'b0;
      uop_valid <= 1'b0;
      examined  <= 1'b0;
    end else begin
      if (begins) busy <= 1'b1;
      else if (all_read) busy <= 1'b0;
      if (begins) reading <= (UOP_INDEX_BITS + 1)'(uop_begin) + 1'b1 != uop_end && !uops_beyond;
      else if (next_uop + 1'b1 == uop_end) reading <= 1'b0;
      uop_valid <= uop_enable;
      if (all_read) examined <= 1'b1;
      else if (taken) examined <= 1'b0;
    end
    uop_first <= begins;
    next_uop  <= begins ? (UOP_INDEX_BITS + 1)'(uop_begin) + 1'b1 : next_uop + 1'b1;
  end
  assign all_read = busy && !uop_valid;  // the extremes include all micro-ops

  logic [ACCUMULATOR_INDEX_BITS-1:0] dst, dst_least, dst_greatest;
  logic [SOURCE_INDEX_BITS-1:0] src, src_least, src_greatest;
  logic [WEIGHT_INDEX_BITS-1:0] weight, weight_greatest;
  assign {weight, src, dst} = uop;
  always_ff @(posedge clock) begin
    if (uop_valid) begin
      if (uop_first || dst < dst_least) dst_least <= dst;
      if (uop_first || dst > dst_greatest) dst_greatest <= dst;
      if (uop_first || src < src_least) src_least <= src;
      if (uop_first || src > src_greatest) src_greatest <= src;
      if (uop_first || weight > weight_greatest) weight_greatest <= weight;
    end
  end

  // ---- The amounts that the loops add to the greatest indices: the products are computed in the
  // first cycle, their sums in the next, and the results are used in the cycle after that.
  localparam int unsigned DST_BITS = LOOP_BITS + ACCUMULATOR_INDEX_BITS + 2;
  localparam int unsigned SRC_BITS = LOOP_BITS + SOURCE_INDEX_BITS + 2;
  localparam int unsigned WEIGHT_BITS = LOOP_BITS + WEIGHT_INDEX_BITS + 2;
  logic [LOOP_BITS-1:0] outer_last, inner_last;
  assign outer_last = outer - 1'b1;
  assign inner_last = inner - 1'b1;
  logic [DST_BITS-1:0] dst_outer_way, dst_inner_way, dst_way, dst_end;
  logic [SRC_BITS-1:0] src_outer_way, src_inner_way, src_way, src_end;
  logic [WEIGHT_BITS-1:0] weight_outer_way, weight_inner_way, weight_way, weight_end;
  always_ff @(posedge clock) begin
    dst_outer_way    <= DST_BITS'(outer_last) * DST_BITS'(dst_outer);
    dst_inner_way    <= DST_BITS'(inner_last) * DST_BITS'(dst_inner);
    src_outer_way    <= SRC_BITS'(outer_last) * SRC_BITS'(src_outer);
    src_inner_way    <= SRC_BITS'(inner_last) * SRC_BITS'(src_inner);
    weight_outer_way <= WEIGHT_BITS'(outer_last) * WEIGHT_BITS'(weight_outer);
    weight_inner_way <= WEIGHT_BITS'(inner_last) * WEIGHT_BITS'(weight_inner);
    dst_way          <= dst_outer_way + dst_inner_way;
    src_way          <= src_outer_way + src_inner_way;
    weight_way       <= weight_outer_way + weight_inner_way;
  end
  assign dst_end = dst_way + DST_BITS'(dst_greatest);
  assign src_end = src_way + SRC_BITS'(src_greatest);
  assign weight_end = weight_way + WEIGHT_BITS'(weight_greatest);

  logic dst_beyond, src_beyond, weight_beyond;
  assign dst_beyond = dst_end >= DST_BITS'(1) << ACCUMULATOR_INDEX_BITS;
  assign src_beyond = gemm ? !clear && src_end >= SRC_BITS'(1) << INPUT_INDEX_BITS :
      src_end >= SRC_BITS'(1) << ACCUMULATOR_INDEX_BITS;
  assign weight_beyond = gemm && !clear && weight_end >= WEIGHT_BITS'(1) << WEIGHT_INDEX_BITS;

  logic [ACCUMULATOR_BANKS-1:0] dst_found, src_found;
  kiln_vta_banks #(
      .INDEX_BITS(ACCUMULATOR_INDEX_BITS),
      .BANKS(ACCUMULATOR_BANKS)
  ) banks_of_dst (
      .any(1'b1),
      .least(dst_least),
      .greatest(ACCUMULATOR_INDEX_BITS'(dst_end)),
      .banks(dst_found)
  );
  kiln_vta_banks #(
      .INDEX_BITS(ACCUMULATOR_INDEX_BITS),
      .BANKS(ACCUMULATOR_BANKS)
  ) banks_of_src (
      .any(!gemm && !use_immediate),
      .least(ACCUMULATOR_INDEX_BITS'(src_least)),
      .greatest(ACCUMULATOR_INDEX_BITS'(src_end)),
      .banks(src_found)
  );
  always_ff @(posedge clock) begin
    if (all_read) begin
      beyond    <= uops_beyond || dst_beyond || src_beyond || weight_beyond;
      dst_banks <= dst_found;
      src_banks <= src_found;
    end
  end

`ifndef SYNTHESIS
  logic waits;  // the instruction was there in the last cycle and was not taken
  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] waiting_instruction;
  always_ff @(posedge clock) begin
    waits <= !reset && start && !taken;
    waiting_instruction <= instruction;
    if (!reset) begin
      instruction_stays : assert (!waits || (start && instruction == waiting_instruction));
      one_state : assert (!(busy && examined));
      reads_while_busy : assert (!reading || busy);
      micro_ops_exist : assert (!reading || (next_uop < uop_end && !next_uop[UOP_INDEX_BITS]));
      extremes_in_order : assert (!all_read ||
          (dst_least <= dst_greatest && src_least <= src_greatest));
      taken_when_examined : assert (!(taken && busy));
    end
  end
`endif
endmodule
