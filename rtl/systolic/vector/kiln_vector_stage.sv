// One programmable stage of the vector unit, for all lanes: value = op(value, a, b). The arguments
// a and b are immediates, operands, scalars of the word's row, or saved values. Operands and saved
// values travel beside the value.
//   time          A word at the inputs in a cycle with `advance` is at the outputs LATENCY + EXTRA
//                 such cycles later; the stage accepts one word per cycle. kiln_vector_lane divides
//                 the work among the cycles.
//   gating        The registers of a word change only when there is a word, and those of operands
//                 and saved values only when the word carries them.
//   place         The number of the stage, counted from 0. It is a constant input rather than a
//                 parameter, so that stages can be one module.
//   stage_write   Writes the configuration of this stage (with SCALAR: of scalar stage `place`). It
//                 is valid for words that come at least two cycles later.
//   in_next       The slot and the pass of the word that is at the inputs after the next cycle with
//                 `advance`: its configuration is read in the cycle before. out_next says the same
//                 of the outputs.
//   numbers       Values, operands, scalars and immediates are numbers of VECTOR_FORMAT, stored as
//                 the upper NUMBER bits of fp32 numbers (kiln_format_pkg::number_bits).
//
// A word whose pass has `place` stages or fewer passes through unchanged.
module kiln_vector_stage #(
    parameter int unsigned LANES = 4,
    parameter int unsigned LATENCY = 1,  // cycles, at least 1
    parameter int unsigned EXTRA = 0,  // further cycles, for functions and divisions
    parameter bit SCALAR = 1'b0,
    parameter int unsigned SLOTS = 7,  // programs that the stage memories hold
    parameter int unsigned ROWS = 8,  // rows in flight
    parameter bit HAS_FUNCTIONS = 1'b1,
    parameter bit HAS_DIVIDER = 1'b1,
    // What the next stage reads (kiln_vector_registers): nothing behind the last stage and behind
    // scalar stages, whose programs name neither.
    parameter bit CARRIES_SAVED = 1'b1,
    parameter logic [kiln_systolic_pkg::MAX_OPERANDS-1:0] CARRIES_OPERANDS = 3'b111,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    // The spline tables of VECTOR_FORMAT. A format that is not named here needs its own tables.
    parameter kiln_spline_pkg::tables_t SPLINES =
        VECTOR_FORMAT == kiln_named_formats_pkg::BF16 ? kiln_spline_tables_pkg::BF16 :
        VECTOR_FORMAT == kiln_named_formats_pkg::FP16 ? kiln_spline_tables_pkg::FP16 :
            kiln_spline_tables_pkg::FP32,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT)
) (
    input  logic clock,
    input  logic reset,
    input  logic [3:0] place,
    input  logic stage_write_valid,
    input  kiln_systolic_pkg::stage_write_t stage_write,
    input  logic advance,
    // Row 0 in the lowest bits; in each row, scalar s0 in the lowest bits.
    input  logic [ROWS*kiln_vector_pkg::SCALARS*NUMBER-1:0] scalars,
    input  logic in_next_valid,
    input  logic [kiln_vector_pkg::PROGRAM_BITS-1:0] in_next_program,
    input  logic in_valid,
    input  kiln_vector_pkg::word_tag_t in_tag,
    input  logic [LANES*NUMBER-1:0] in_value,
    // all lanes of saved value 0 in the lowest bits
    input  logic [kiln_vector_pkg::SAVED*LANES*NUMBER-1:0] in_saved,
    input  logic [kiln_systolic_pkg::MAX_OPERANDS*LANES*NUMBER-1:0] in_operands,
    output logic out_next_valid,
    output logic [kiln_vector_pkg::PROGRAM_BITS-1:0] out_next_program,
    output logic out_valid,
    output kiln_vector_pkg::word_tag_t out_tag,
    output logic [LANES*NUMBER-1:0] out_value,
    output logic [kiln_vector_pkg::SAVED*LANES*NUMBER-1:0] out_saved,
    output logic [kiln_systolic_pkg::MAX_OPERANDS*LANES*NUMBER-1:0] out_operands
);
  localparam int unsigned WORD = LANES * NUMBER;
  localparam int unsigned ENTRIES = SLOTS * kiln_systolic_pkg::MAX_PASSES;
  localparam int unsigned ENTRY_BITS = $clog2(ENTRIES);
  localparam int unsigned SCALAR_BITS = kiln_vector_pkg::SCALARS * NUMBER;
  localparam int unsigned STAGE_BITS = kiln_systolic_pkg::PAYLOAD_BITS;
  localparam int unsigned RESERVED = 32;  // reserved bits at the end of a stage_t
  localparam int unsigned CONFIGURATION_BITS = STAGE_BITS - RESERVED - 2 * (32 - NUMBER);

  // The configurations of this stage for all passes of all programs that may be in flight, and that
  // of the word at the inputs.
  logic [CONFIGURATION_BITS-1:0] configuration;
  // reserved bits, and low bits of immediates, which are 0
  wire unused_write = &{1'b0, stage_write.value};
  wire unused_program = &{1'b0, in_next_program};  // upper bits
  kiln_ram_1w #(
      .WIDTH(CONFIGURATION_BITS),
      .WORDS(ENTRIES),
      .STYLE(1)
  ) configurations (
      .clock,
      .write_enable(stage_write_valid && stage_write.scalar == SCALAR &&
          stage_write.stage == place),
      .write_address(ENTRY_BITS'({stage_write.slot, stage_write.pass})),
      .write_data({
        stage_write.value.op,
        stage_write.value.a,
        stage_write.value.b,
        stage_write.value.kind,
        stage_write.value.immediate_a[31-:NUMBER],
        stage_write.value.immediate_b[31-:NUMBER]
      }),
      .read_enable(advance && in_next_valid),
      .read_address(ENTRY_BITS'(in_next_program)),
      .read_data(configuration)
  );

  logic active;
  logic [3:0] op, from_a, from_b, kind;
  logic [NUMBER-1:0] immediate_a, immediate_b;
  logic [SCALAR_BITS-1:0] row_scalars;
  always_comb begin
    active      = in_valid && in_tag.stages > place;
    {op, from_a, from_b, kind, immediate_a, immediate_b} = '0;
    row_scalars = '0;
    if (active) begin
      {op, from_a, from_b, kind, immediate_a, immediate_b} = configuration;
      row_scalars = scalars[32'(in_tag.row)*SCALAR_BITS+:SCALAR_BITS];
    end
  end

  // The operations of the words at the product and at the last register of a short format
  // (kiln_vector_short_alu); a word that passes through has an operation that leaves it as it is.
  localparam int unsigned CYCLES = LATENCY + EXTRA;
  localparam int unsigned SELECTED = LATENCY >= 3 ? 1 : 0;
  logic [CYCLES-1:0] moves;
  logic [3:0] op_now, op_product, op_result, kind_product;
  assign op_now = active ? op : kiln_systolic_pkg::STAGE_SAVE0;
  if (SELECTED == 0) begin : g_selection
    assign {op_product, kind_product} = {op_now, kind};
  end else begin : g_selected
    always_ff @(posedge clock) begin
      if (advance && moves[0]) {op_product, kind_product} <= {op_now, kind};
    end
  end
  if (CYCLES - 1 == SELECTED) begin : g_result
    assign op_result = op_product;
  end else begin : g_results
    localparam int unsigned REST = CYCLES - 1 - SELECTED;
    logic [REST*4-1:0] line;
    always_ff @(posedge clock) begin
      if (advance && moves[SELECTED]) line[0+:4] <= op_product;
      for (int i = 1; i < REST; i++) begin
        if (advance && moves[SELECTED+i]) line[i*4+:4] <= line[(i-1)*4+:4];
      end
    end
    assign op_result = line[(REST-1)*4+:4];
  end

  for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
    kiln_vector_lane #(
        .VECTOR_FORMAT(VECTOR_FORMAT),
        .SPLINES(SPLINES),
        .LATENCY(LATENCY),
        .EXTRA(EXTRA),
        .HAS_FUNCTIONS(HAS_FUNCTIONS),
        .HAS_DIVIDER(HAS_DIVIDER)
    ) compute (
        .clock,
        .advance,
        .moves,
        .enable(active),
        .op,
        .op_product,
        .op_result,
        .from_a,
        .from_b,
        .kind,
        .kind_product,
        .immediate_a,
        .immediate_b,
        .scalars(row_scalars),
        .value(in_value[lane*NUMBER+:NUMBER]),
        .saved0(in_saved[lane*NUMBER+:NUMBER]),
        .saved1(in_saved[WORD+lane*NUMBER+:NUMBER]),
        .operand0(in_operands[lane*NUMBER+:NUMBER]),
        .operand1(in_operands[WORD+lane*NUMBER+:NUMBER]),
        .operand2(in_operands[2*WORD+lane*NUMBER+:NUMBER]),
        .result(out_value[lane*NUMBER+:NUMBER])
    );
  end

  // The tag and the saved values that leave with the word.
  kiln_vector_pkg::word_tag_t next_tag;
  logic [kiln_vector_pkg::SAVED*WORD-1:0] next_saved;
  always_comb begin
    next_tag   = in_tag;
    next_saved = in_saved;
    if (active && op == kiln_systolic_pkg::STAGE_SAVE0) begin
      next_tag.saved[0]   = 1'b1;
      next_saved[0+:WORD] = in_value;
    end
    if (active && op == kiln_systolic_pkg::STAGE_SAVE1) begin
      next_tag.saved[1]      = 1'b1;
      next_saved[WORD+:WORD] = in_value;
    end
  end

  logic [WORD-1:0] unused_value;
  kiln_vector_registers #(
      .LANES(LANES),
      .LATENCY(CYCLES),
      .NUMBER(NUMBER),
      .CARRIES_VALUE(1'b0),
      .CARRIES_SAVED(CARRIES_SAVED),
      .CARRIES_OPERANDS(CARRIES_OPERANDS)
  ) registers (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_tag(next_tag),
      .in_value('0),
      .in_saved(next_saved),
      .in_operands,
      .moves,
      .next_valid(out_next_valid),
      .next_program(out_next_program),
      .out_valid,
      .out_tag,
      .out_value(unused_value),
      .out_saved,
      .out_operands
  );

`ifndef SYNTHESIS
  // The word at the inputs is the one that was announced.
  logic [kiln_vector_pkg::PROGRAM_BITS-1:0] announced;
  always_ff @(posedge clock) begin
    if (advance && in_next_valid) announced <= in_next_program;
    if (!reset) begin
      word_was_announced : assert (!in_valid || announced == {in_tag.slot, in_tag.pass});
    end
  end
`endif
endmodule
