// kiln_vector_stage behind one register of its kind, which announces the words.
module vector_stage_bench #(
    parameter int unsigned LANES = 2,
    parameter int unsigned LATENCY = 1,
    parameter int unsigned EXTRA = 0,
    parameter int unsigned SLOTS = 3,
    parameter int unsigned ROWS = 3,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT)
) (
    input  logic clock,
    input  logic reset,
    input  logic [3:0] place,
    input  logic stage_write_valid,
    input  kiln_systolic_pkg::stage_write_t stage_write,
    input  logic advance,
    input  logic [ROWS*kiln_vector_pkg::SCALARS*NUMBER-1:0] scalars,
    input  logic in_valid,
    input  kiln_vector_pkg::word_tag_t in_tag,
    input  logic [LANES*NUMBER-1:0] in_value,
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
  logic next_valid, valid, moves;
  logic [kiln_vector_pkg::PROGRAM_BITS-1:0] next_program;
  kiln_vector_pkg::word_tag_t tag;
  logic [LANES*NUMBER-1:0] value;
  logic [kiln_vector_pkg::SAVED*LANES*NUMBER-1:0] saved;
  logic [kiln_systolic_pkg::MAX_OPERANDS*LANES*NUMBER-1:0] operands;
  wire unused_moves = moves;
  kiln_vector_registers #(
      .LANES(LANES),
      .LATENCY(1),
      .NUMBER(NUMBER)
  ) registers (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_tag,
      .in_value,
      .in_saved,
      .in_operands,
      .moves,
      .next_valid,
      .next_program,
      .out_valid(valid),
      .out_tag(tag),
      .out_value(value),
      .out_saved(saved),
      .out_operands(operands)
  );
  kiln_vector_stage #(
      .LANES(LANES),
      .LATENCY(LATENCY),
      .EXTRA(EXTRA),
      .SLOTS(SLOTS),
      .ROWS(ROWS),
      .VECTOR_FORMAT(VECTOR_FORMAT)
  ) stage (
      .clock,
      .reset,
      .place,
      .stage_write_valid,
      .stage_write,
      .advance,
      .scalars,
      .in_next_valid(next_valid),
      .in_next_program(next_program),
      .in_valid(valid),
      .in_tag(tag),
      .in_value(value),
      .in_saved(saved),
      .in_operands(operands),
      .out_next_valid,
      .out_next_program,
      .out_valid,
      .out_tag,
      .out_value,
      .out_saved,
      .out_operands
  );
endmodule
