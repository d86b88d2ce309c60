// One programmable stage of the vector unit, all lanes: value = op(value, a, b), where the arguments are immediates, operands, scalars of
// the word's row or saved values. Operands and saved values travel beside the value.
//   time       a word that stands at the inputs in a cycle with `advance` stands at the outputs LATENCY such cycles later; one word a
//              cycle. The result is found in one cycle, LATENCY - 1 registers follow for retiming.
//   gating     registers of a word change only when there is a word, those of operands and saved values only when the word has them
//   stage_write   takes the configuration of this stage (SCALAR: scalar stage STAGE); valid for words one cycle later
//   numbers       values, operands, scalars and immediates are numbers of VECTOR_FORMAT, as fp32
// A word whose pass has STAGE stages or fewer is handed on.
module kiln_vector_stage #(
    parameter int unsigned LANES = 4,
    parameter int unsigned LATENCY = 1,  // cycles, at least 1
    parameter int unsigned STAGE = 0,
    parameter bit SCALAR = 1'b0,
    parameter int unsigned SLOTS = 7,  // programs
    parameter int unsigned ROWS = 8,  // rows in flight
    parameter bit HAS_FUNCTIONS = 1'b1,
    parameter bit HAS_DIVIDER = 1'b1,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter kiln_spline_pkg::tables_t SPLINES =
        VECTOR_FORMAT == kiln_named_formats_pkg::BF16 ? kiln_spline_tables_pkg::BF16 :
        VECTOR_FORMAT == kiln_named_formats_pkg::FP16 ? kiln_spline_tables_pkg::FP16 : kiln_spline_tables_pkg::FP32  // the vector format's; other formats bring their own
) (
    input  logic clock,
    input  logic reset,
    input  logic stage_write_valid,
    input  kiln_systolic_pkg::stage_write_t stage_write,
    input  logic advance,
    input  logic [ROWS*kiln_vector_pkg::SCALARS*32-1:0] scalars,  // of row 0 lowest, of a row s0 lowest
    input  logic in_valid,
    input  kiln_vector_pkg::word_tag_t in_tag,
    input  logic [LANES*32-1:0] in_value,
    input  logic [kiln_vector_pkg::SAVED*LANES*32-1:0] in_saved,  // all lanes of x0 lowest
    input  logic [kiln_systolic_pkg::MAX_OPERANDS*LANES*32-1:0] in_operands,
    output logic out_valid,
    output kiln_vector_pkg::word_tag_t out_tag,
    output logic [LANES*32-1:0] out_value,
    output logic [kiln_vector_pkg::SAVED*LANES*32-1:0] out_saved,
    output logic [kiln_systolic_pkg::MAX_OPERANDS*LANES*32-1:0] out_operands
);
  localparam int unsigned WORD = LANES * 32;
  localparam int unsigned ENTRIES = SLOTS * kiln_systolic_pkg::MAX_PASSES;
  localparam int unsigned ENTRY_BITS = $clog2(ENTRIES);
  localparam int unsigned SCALAR_BITS = kiln_vector_pkg::SCALARS * 32;
  localparam int unsigned STAGE_BITS = kiln_systolic_pkg::PAYLOAD_BITS;
  localparam int unsigned RESERVED = 32;  // bits at the end of a stage_t

  // Configurations of this stage in all passes of all programs that may be about.
  logic [STAGE_BITS-RESERVED-1:0] configurations[ENTRIES];
  wire unused_reserved = &{1'b0, stage_write.value.reserved0};
  always_ff @(posedge clock) begin
    if (stage_write_valid && stage_write.scalar == SCALAR && stage_write.stage == 4'(STAGE)) begin
      configurations[ENTRY_BITS'({stage_write.slot, stage_write.pass})] <= {
        stage_write.value.op,
        stage_write.value.a,
        stage_write.value.b,
        stage_write.value.kind,
        stage_write.value.immediate_a,
        stage_write.value.immediate_b
      };
    end
  end

  logic active;
  kiln_systolic_pkg::stage_t stage;
  logic [SCALAR_BITS-1:0] row_scalars;
  always_comb begin
    active      = in_valid && in_tag.stages > 4'(STAGE);
    stage       = '0;
    row_scalars = '0;
    if (active) begin
      stage       = {configurations[ENTRY_BITS'({in_tag.slot, in_tag.pass})], RESERVED'(0)};
      row_scalars = scalars[32'(in_tag.row)*SCALAR_BITS+:SCALAR_BITS];
    end
  end
  wire unused_stage = &{1'b0, stage.reserved0};

  // The result of every lane.
  logic [WORD-1:0] value;
  for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
    kiln_vector_lane #(
        .VECTOR_FORMAT(VECTOR_FORMAT),
        .SPLINES(SPLINES),
        .HAS_FUNCTIONS(HAS_FUNCTIONS),
        .HAS_DIVIDER(HAS_DIVIDER)
    ) compute (
        .enable(active),
        .op(stage.op),
        .from_a(stage.a),
        .from_b(stage.b),
        .kind(stage.kind),
        .immediate_a(stage.immediate_a),
        .immediate_b(stage.immediate_b),
        .scalars(row_scalars),
        .value(in_value[lane*32+:32]),
        .saved0(in_saved[lane*32+:32]),
        .saved1(in_saved[WORD+lane*32+:32]),
        .operand0(in_operands[lane*32+:32]),
        .operand1(in_operands[WORD+lane*32+:32]),
        .operand2(in_operands[2*WORD+lane*32+:32]),
        .result(value[lane*32+:32])
    );
  end

  // What the word takes along.
  kiln_vector_pkg::word_tag_t next_tag;
  logic [kiln_vector_pkg::SAVED*WORD-1:0] next_saved;
  always_comb begin
    next_tag   = in_tag;
    next_saved = in_saved;
    if (active && stage.op == kiln_systolic_pkg::STAGE_SAVE0) begin
      next_tag.saved[0]   = 1'b1;
      next_saved[0+:WORD] = in_value;
    end
    if (active && stage.op == kiln_systolic_pkg::STAGE_SAVE1) begin
      next_tag.saved[1]      = 1'b1;
      next_saved[WORD+:WORD] = in_value;
    end
  end

  kiln_vector_registers #(
      .LANES(LANES),
      .LATENCY(LATENCY)
  ) registers (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_tag(next_tag),
      .in_value(active ? value : in_value),
      .in_saved(next_saved),
      .in_operands,
      .out_valid,
      .out_tag,
      .out_value,
      .out_saved,
      .out_operands
  );
endmodule
