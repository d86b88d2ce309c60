// The retirement queue of the compute stage: holds the dispatched instructions in order until they
// are done. An instruction retires, and gives its tokens, in its unit's done cycle at the earliest;
// at most one instruction retires per cycle.
//   push     in the cycle of the dispatch; the instruction retires in the next cycle at the
//            earliest
//   done     pulses of the units; each unit completes its own instructions in order
module kiln_vta_retirement (
    input  logic                           clock,
    input  logic                           reset,
    input  logic                           push,
    output logic                           ready,
    input  logic [                    1:0] unit,  // or UNIT_NONE
    input  kiln_vta_pkg::common_t          common,
    input  logic [kiln_vta_pkg::UNITS-1:0] done,
    output logic                           pending,  // an instruction has not yet retired
    output logic                           retired,
    output logic                           push_previous,  // pulses: tokens given
    output logic                           push_next,
    output logic                           finish  // pulse: FINISH has retired
);
  localparam int unsigned DEPTH = kiln_vta_pkg::RETIREMENT_DEPTH;
  localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1);
  localparam int unsigned UNITS = kiln_vta_pkg::UNITS;

  logic is_finish, head_finish, head_previous, head_next;
  logic [1:0] head_unit;
  logic [COUNT_BITS-1:0] unused_count;
  assign is_finish = common.opcode == kiln_vta_pkg::OPCODE_FINISH;
  kiln_fifo #(
      .WIDTH(5),
      .DEPTH(DEPTH)
  ) queue (
      .clock,
      .reset,
      .in_valid (push),
      .in_ready (ready),
      .in_data  ({is_finish, common.push_previous, common.push_next, unit}),
      .out_valid(pending),
      .out_ready(retired),
      .out_data ({head_finish, head_previous, head_next, head_unit}),
      .count    (unused_count)
  );

  // Counts, for each unit, the instructions that are done and not yet retired.
  logic [UNITS-1:0] head_is, there;
  for (genvar u = 0; u < UNITS; u++) begin : g_unit
    logic [COUNT_BITS-1:0] instructions;
    assign head_is[u] = head_unit == 2'(u);
    assign there[u] = done[u] || instructions != '0;
    always_ff @(posedge clock) begin
      if (reset) instructions <= '0;
      else instructions <= instructions + COUNT_BITS'(done[u]) - COUNT_BITS'(retired && head_is[u]);
    end
`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset) begin
        assert (32'(instructions) <= DEPTH);
        assert (!(retired && head_is[u]) || done[u] || instructions != '0);
      end
    end
`endif
  end
  assign retired = pending && (head_unit == kiln_vta_pkg::UNIT_NONE || (head_is & there) != '0);
  assign push_previous = retired && head_previous;
  assign push_next = retired && head_next;
  assign finish = retired && head_finish;

  logic unused_common;
  assign unused_common = &{1'b0, common};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      push_into_room : assert (!push || ready);
      done_instruction_pending : assert (done == '0 || pending);
      retires_one_unit : assert ($onehot0(head_is));
      tokens_only_with_retirement : assert (retired || !(push_previous || push_next || finish));
    end
  end
`endif
endmodule
