// The path of words through the vector unit: their registers, with and without all that a word can
// carry, the inputs of the lanes (int32
// accumulators to fp32, bf16 accumulators to bf16, int32 accumulators to a short float), and the
// collection of blocks with scales (a block of four words; two blocks in one word).
module vector_words_bench #(
    parameter kiln_format_pkg::format_t BF16_FLUSH = kiln_named_formats_pkg::FP16,
    localparam int unsigned OPERANDS = kiln_systolic_pkg::MAX_OPERANDS,
    localparam int unsigned SAVED = kiln_vector_pkg::SAVED,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS
) (
    input  logic clock,
    input  logic reset,
    input  logic advance,
    input  logic in_valid,
    input  kiln_vector_pkg::word_tag_t in_tag,
    // Registers: two lanes of 16 bits, three cycles.
    input  logic [2*16-1:0] in_value,
    input  logic [SAVED*2*16-1:0] in_saved,
    input  logic [OPERANDS*2*16-1:0] in_operands,
    output logic out_valid,
    output kiln_vector_pkg::word_tag_t out_tag,
    output logic [2*16-1:0] out_value,
    output logic [SAVED*2*16-1:0] out_saved,
    output logic [OPERANDS*2*16-1:0] out_operands,
    output logic [SAVED*2*16-1:0] bare_saved,
    output logic [OPERANDS*2*16-1:0] bare_operands,
    // The front: two lanes; the upper halves of numbers are those of bf16.
    input  logic [1:0] source,
    input  logic averages,
    input  logic [63:0] accumulators,
    input  logic [63:0] offsets,
    input  logic [63:0] scales,
    input  logic [63:0] biases,
    input  logic [63:0] front_operand,
    input  logic [31:0] factor,
    input  logic [63:0] row_word,
    input  logic [31:0] constant,
    output logic front_valid,
    output kiln_vector_pkg::word_tag_t front_tag,
    output logic [63:0] front_value,
    output logic [63:0] front_out_operand,
    output logic narrow_valid,
    output logic [31:0] narrow_value,
    output logic short_valid,
    output kiln_vector_pkg::word_tag_t short_tag,
    output logic [31:0] short_value,
    output logic [31:0] short_operand,
    // Blocks, each with words of its own.
    input  logic wide_in,
    input  logic wide_in_last,
    input  logic [2*32-1:0] wide_in_value,
    input  logic [1:0] wide_in_lanes,
    input  logic [ADDRESS_BITS-1:0] wide_in_target,
    input  logic [ADDRESS_BITS-1:0] wide_in_scale_target,
    input  logic [2:0] wide_in_slot,
    output logic wide_out,
    output logic [2*32-1:0] wide_out_value,
    output logic [2*32-1:0] wide_out_inverse,
    output logic [1:0] wide_out_lanes,
    output logic [ADDRESS_BITS-1:0] wide_out_target,
    output logic [2:0] wide_out_slot,
    output logic wide_out_scales,
    output logic [7:0] wide_out_scale_codes,
    output logic [0:0] wide_out_scale_count,
    output logic [ADDRESS_BITS-1:0] wide_out_scale_target,
    input  logic fine_in,
    input  logic fine_in_last,
    input  logic [4*16-1:0] fine_in_value,
    input  logic [2:0] fine_in_lanes,
    input  logic [ADDRESS_BITS-1:0] fine_in_target,
    input  logic [ADDRESS_BITS-1:0] fine_in_scale_target,
    input  logic [2:0] fine_in_slot,
    output logic fine_out,
    output logic [4*16-1:0] fine_out_value,
    output logic [4*32-1:0] fine_out_inverse,
    output logic [2:0] fine_out_lanes,
    output logic [ADDRESS_BITS-1:0] fine_out_target,
    output logic [2:0] fine_out_slot,
    output logic fine_out_scales,
    output logic [15:0] fine_out_scale_codes,
    output logic [1:0] fine_out_scale_count,
    output logic [ADDRESS_BITS-1:0] fine_out_scale_target
);
  localparam int unsigned PROGRAM = kiln_vector_pkg::PROGRAM_BITS;
  logic [4:0] unused_nexts;
  logic [5*PROGRAM-1:0] unused_programs;
  kiln_vector_registers #(
      .LANES(2),
      .LATENCY(3),
      .NUMBER(16)
  ) registers (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_tag,
      .in_value,
      .in_saved,
      .in_operands,
      .moves(unused_moves),
      .next_valid(unused_nexts[0]),
      .next_program(unused_programs[0+:PROGRAM]),
      .out_valid,
      .out_tag,
      .out_value,
      .out_saved,
      .out_operands
  );
  logic [2:0] unused_moves;
  logic unused_delayed;
  wire unused_bench = &{1'b0, unused_moves, unused_delayed, unused_nexts, unused_programs};

  // Carries operand 1 alone.
  logic unused_bare_valid;
  kiln_vector_pkg::word_tag_t unused_bare_tag;
  logic [31:0] unused_bare_value;
  logic [2:0] unused_bare_moves;
  wire unused_bare = &{1'b0, unused_bare_valid, unused_bare_tag, unused_bare_value,
      unused_bare_moves};
  kiln_vector_registers #(
      .LANES(2),
      .LATENCY(3),
      .NUMBER(16),
      .CARRIES_VALUE(1'b0),
      .CARRIES_SAVED(1'b0),
      .CARRIES_OPERANDS(3'b010)
  ) bare_registers (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_tag,
      .in_value,
      .in_saved,
      .in_operands,
      .moves(unused_bare_moves),
      .next_valid(unused_nexts[4]),
      .next_program(unused_programs[4*PROGRAM+:PROGRAM]),
      .out_valid(unused_bare_valid),
      .out_tag(unused_bare_tag),
      .out_value(unused_bare_value),
      .out_saved(bare_saved),
      .out_operands(bare_operands)
  );

  kiln_vector_source #(
      .LANES(2),
      .LATENCY(2)
  ) front (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_tag,
      .source,
      .accumulators,
      .offsets,
      .scales,
      .biases,
      .in_operand(front_operand),
      .averages,
      .factor,
      .row_word,
      .constant,
      .next_valid(unused_nexts[1]),
      .next_program(unused_programs[1*PROGRAM+:PROGRAM]),
      .out_valid(front_valid),
      .out_tag(front_tag),
      .out_value(front_value),
      .out_operand(front_out_operand)
  );

  logic [31:0] narrow_operand, unused_operand;
  kiln_vector_pkg::word_tag_t unused_tag;
  assign narrow_operand = {front_operand[63:48], front_operand[31:16]};
  kiln_vector_source #(
      .LANES(2),
      .LATENCY(1),
      .ACCUMULATION_FORMAT(kiln_named_formats_pkg::BF16),
      .VECTOR_FORMAT(kiln_named_formats_pkg::BF16)
  ) narrow_front (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_tag,
      .source,
      .accumulators({accumulators[63:48], accumulators[31:16]}),
      .offsets,
      .scales,
      .biases,
      .in_operand(narrow_operand),
      .averages,
      .factor(factor[31:16]),
      .row_word({row_word[63:48], row_word[31:16]}),
      .constant(constant[31:16]),
      .next_valid(unused_nexts[2]),
      .next_program(unused_programs[2*PROGRAM+:PROGRAM]),
      .out_valid(narrow_valid),
      .out_tag(unused_tag),
      .out_value(narrow_value),
      .out_operand(unused_operand)
  );

  // The late inputs come after the conversion.
  localparam int unsigned LATE = kiln_vector_pkg::WORD_TAG_BITS + 2 * 32 + 2 * 16;
  logic [LATE-1:0] early, late;
  kiln_vector_pkg::word_tag_t late_tag;
  logic [31:0] late_operand, late_row;
  logic [15:0] late_factor, late_constant;
  assign early = {in_tag, narrow_operand, row_word[63:48], row_word[31:16], factor[31:16],
      constant[31:16]};
  assign {late_tag, late_operand, late_row, late_factor, late_constant} = late;
  kiln_vector_delay #(
      .WIDTH (LATE),
      .CYCLES(3)
  ) conversion (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_data(early),
      .out_valid(unused_delayed),
      .out_data(late)
  );
  kiln_vector_source #(
      .LANES(2),
      .CONVERT(3),
      .LATENCY(3),
      .VECTOR_FORMAT(BF16_FLUSH)
  ) short_front (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .accumulators,
      .offsets,
      .scales,
      .biases,
      .row_word(late_row),
      .in_tag(late_tag),
      .source,
      .in_operand(late_operand),
      .averages,
      .factor(late_factor),
      .constant(late_constant),
      .next_valid(unused_nexts[3]),
      .next_program(unused_programs[3*PROGRAM+:PROGRAM]),
      .out_valid(short_valid),
      .out_tag(short_tag),
      .out_value(short_value),
      .out_operand(short_operand)
  );

  // Inverses of powers of two: 16 bits are enough.
  logic [2*16-1:0] wide_inverse;
  assign wide_out_inverse = {wide_inverse[31:16], 16'd0, wide_inverse[15:0], 16'd0};
  kiln_vector_blocks #(
      .LANES(2),
      .LATENCY(3),
      .INVERSE(16),
      .BLOCK_SIZE(8),
      .ELEMENT_FORMAT(kiln_named_formats_pkg::E4M3),
      .OUTPUT_PORT_BYTES(8)
  ) wide (
      .clock,
      .reset,
      .advance,
      .in_valid(wide_in),
      .in_last(wide_in_last),
      .in_value(wide_in_value),
      .in_lanes(wide_in_lanes),
      .in_target(wide_in_target),
      .in_scale_target(wide_in_scale_target),
      .in_about(wide_in_slot),
      .out_valid(wide_out),
      .out_value(wide_out_value),
      .out_inverse(wide_inverse),
      .out_lanes(wide_out_lanes),
      .out_target(wide_out_target),
      .out_about(wide_out_slot),
      .out_scales(wide_out_scales),
      .out_scale_codes(wide_out_scale_codes),
      .out_scale_count(wide_out_scale_count),
      .out_scale_target(wide_out_scale_target)
  );
  kiln_vector_blocks #(
      .LANES(4),
      .LATENCY(1),
      .NUMBER(16),
      .BLOCK_SIZE(2),
      .ELEMENT_FORMAT(kiln_named_formats_pkg::FP16),
      .SCALE_FORMAT(kiln_named_formats_pkg::UE5M3),
      .OUTPUT_PORT_BYTES(8)
  ) fine (
      .clock,
      .reset,
      .advance,
      .in_valid(fine_in),
      .in_last(fine_in_last),
      .in_value(fine_in_value),
      .in_lanes(fine_in_lanes),
      .in_target(fine_in_target),
      .in_scale_target(fine_in_scale_target),
      .in_about(fine_in_slot),
      .out_valid(fine_out),
      .out_value(fine_out_value),
      .out_inverse(fine_out_inverse),
      .out_lanes(fine_out_lanes),
      .out_target(fine_out_target),
      .out_about(fine_out_slot),
      .out_scales(fine_out_scales),
      .out_scale_codes(fine_out_scale_codes),
      .out_scale_count(fine_out_scale_count),
      .out_scale_target(fine_out_scale_target)
  );
endmodule
