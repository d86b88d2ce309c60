// The dispatcher of the compute stage: dispatches the instructions of its queue in order, each to
// the unit that executes it, when its tokens are available, no other unit uses its banks, and the
// queues have room. GEMM and ALU instructions are examined first (kiln_vta_examiner).
//
//   dispatch     in the cycle of queue_ready: the instruction enters the queue of the unit in
//                `unit_valid` (one-hot; 0 for an instruction that only handles tokens) and the
//                retirement queue
//   pairs        ALU: the two operands may be in the same bank, so that a step takes two cycles
//   fault_valid  the instruction at the head accesses elements outside its buffers; it is not
//                dispatched
module kiln_vta_dispatcher #(
    parameter int unsigned UOP_INDEX_BITS = 13,
    parameter int unsigned INPUT_INDEX_BITS = 11,
    parameter int unsigned WEIGHT_INDEX_BITS = 10,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 11,
    parameter int unsigned ACCUMULATOR_BANKS = 4,
    localparam int unsigned UNITS = kiln_vta_pkg::UNITS,
    // derived, do not set
    localparam int unsigned SOURCE_INDEX_BITS =
        INPUT_INDEX_BITS > ACCUMULATOR_INDEX_BITS ? INPUT_INDEX_BITS : ACCUMULATOR_INDEX_BITS,
    localparam int unsigned UOP_BITS =
        ACCUMULATOR_INDEX_BITS + SOURCE_INDEX_BITS + WEIGHT_INDEX_BITS
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic                                      queue_valid,
    output logic                                      queue_ready,
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] queue_instruction,
    input  logic [             ACCUMULATOR_BANKS-1:0] queue_banks,  // for loads of accumulators
    input  logic                                      load_token_there,
    output logic                                      load_token_take,
    input  logic                                      store_token_there,
    output logic                                      store_token_take,
    output logic [                         UNITS-1:0] unit_valid,
    input  logic [                         UNITS-1:0] unit_ready,
    output logic                                      pairs,
    input  logic [                         UNITS-1:0] unit_done,
    output logic [                               1:0] unit,  // UNIT_NONE is possible
    input  logic                                      retirement_ready,
    output logic                                      fault_valid,
    output kiln_vta_pkg::dispatch_events_t            events,
    // Micro-op memory
    output logic                                      uop_enable,
    output logic [                UOP_INDEX_BITS-1:0] uop_address,
    input  logic [                      UOP_BITS-1:0] uop
);
  // ---- The unit that executes the instruction.
  kiln_vta_pkg::transfer_t transfer;
  assign transfer = queue_instruction;
  logic clear;
  logic [UOP_INDEX_BITS-1:0] uop_begin;
  logic [UOP_INDEX_BITS:0] uop_end;
  logic [kiln_vta_pkg::LOOP_BITS-1:0] outer, inner;
  kiln_vta_fields #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) fields (
      .instruction(queue_instruction),
      .clear,
      .uop_begin,
      .uop_end,
      .outer,
      .inner,
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
  logic gemm, alu, steps, elements;
  assign gemm = transfer.common.opcode == kiln_vta_pkg::OPCODE_GEMM;
  assign alu = transfer.common.opcode == kiln_vta_pkg::OPCODE_ALU;
  assign steps =
      (gemm || alu) && uop_end > (UOP_INDEX_BITS + 1)'(uop_begin) && outer != '0 && inner != '0;
  assign elements = transfer.common.opcode == kiln_vta_pkg::OPCODE_LOAD && transfer.x_size != '0;
  always_comb begin
    unit = kiln_vta_pkg::UNIT_NONE;
    if (steps) unit = gemm && !clear ? kiln_vta_pkg::UNIT_GEMM : kiln_vta_pkg::UNIT_ALU;
    else if (elements) unit = kiln_vta_pkg::UNIT_LOADER;
  end

  // ---- The resources that the instruction uses: the accumulator banks and, as the last one, the
  // micro-op buffer. A load of micro-ops waits for the instructions that read the buffer.
  localparam int unsigned RESOURCES = ACCUMULATOR_BANKS + 1;
  localparam int unsigned UOPS = ACCUMULATOR_BANKS;
  logic [ACCUMULATOR_BANKS-1:0] dst_banks, src_banks, banks;
  logic [UNITS-1:0] busy;
  logic [UNITS*RESOURCES-1:0] touched;
  logic examined, beyond, loads_uops, uops_loading, uops_in_use, banks_in_use;
  assign loads_uops = elements && transfer.memory == kiln_vta_pkg::MEMORY_UOP;
  assign banks = steps ? dst_banks | src_banks : queue_banks;  // 0 for a load of micro-ops
  assign pairs = (dst_banks & src_banks) != '0;
  assign uops_loading = touched[kiln_vta_pkg::UNIT_LOADER*RESOURCES+UOPS];
  assign uops_in_use =
      loads_uops && (busy[kiln_vta_pkg::UNIT_GEMM] || busy[kiln_vta_pkg::UNIT_ALU]);
  always_comb begin
    banks_in_use = 1'b0;
    for (int u = 0; u < UNITS; u++) begin
      if (unit != kiln_vta_pkg::UNIT_NONE && unit != 2'(u) &&
          (touched[u*RESOURCES+:ACCUMULATOR_BANKS] & banks) != '0) begin
        banks_in_use = 1'b1;
      end
    end
  end

  kiln_vta_scoreboard #(
      .RESOURCES(RESOURCES)
  ) scoreboard (
      .clock,
      .reset,
      .begin_unit(unit_valid),
      .begin_resources({loads_uops, banks}),
      .done(unit_done),
      .busy,
      .touched
  );

  kiln_vta_examiner #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS),
      .ACCUMULATOR_BANKS(ACCUMULATOR_BANKS)
  ) examiner (
      .clock,
      .reset,
      .start(queue_valid && steps && !uops_loading),
      .instruction(queue_instruction),
      .taken(queue_ready),
      .examined,
      .beyond,
      .dst_banks,
      .src_banks,
      .uop_enable,
      .uop_address,
      .uop
  );

  // ---- Dispatch.
  logic tokens_there, known, room;
  logic [UNITS-1:0] unit_one_hot;
  assign unit_one_hot = unit == kiln_vta_pkg::UNIT_NONE ? '0 : UNITS'(1) << unit;
  assign tokens_there = (!transfer.common.pop_previous || load_token_there) &&
      (!transfer.common.pop_next || store_token_there);
  assign known = queue_valid && (!steps || examined);
  assign room = retirement_ready && (unit_one_hot & ~unit_ready) == '0;
  assign queue_ready =
      known && !(steps && beyond) && tokens_there && room && !banks_in_use && !uops_in_use;
  assign fault_valid = known && steps && beyond && tokens_there;
  assign unit_valid = queue_ready ? unit_one_hot : '0;
  assign load_token_take = queue_ready && transfer.common.pop_previous;
  assign store_token_take = queue_ready && transfer.common.pop_next;

  assign events.dispatched = queue_ready;
  assign events.uops_loading = queue_valid && steps && !examined && uops_loading;
  assign events.examining = queue_valid && steps && !examined && !uops_loading;
  assign events.tokens = known && !tokens_there;
  assign events.queue_full = known && tokens_there && !room;
  assign events.banks = known && tokens_there && room && banks_in_use;
  assign events.uops_in_use = known && tokens_there && room && !banks_in_use && uops_in_use;

  logic unused_fields;
  assign unused_fields = &{1'b0, transfer, touched};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_unit : assert ($onehot0(unit_valid));
      unit_is_ready : assert ((unit_valid & ~unit_ready) == '0);
      load_token_exists : assert (!load_token_take || load_token_there);
      store_token_exists : assert (!store_token_take || store_token_there);
      no_dispatch_with_fault : assert (!(queue_ready && fault_valid));
      dispatches_from_queue : assert (!queue_ready || queue_valid);
      // Every cycle of a waiting instruction has one cause.
      one_cause : assert ($onehot0({events.dispatched, events.uops_loading, events.examining,
          events.tokens, events.queue_full, events.banks, events.uops_in_use}));
      units_of_done_busy : assert ((unit_done & ~busy) == '0);
      banks_free : assert (unit_valid == '0 || !banks_in_use);
    end
  end
`endif
endmodule
