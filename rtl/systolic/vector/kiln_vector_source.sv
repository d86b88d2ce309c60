// The source stage, in front of the lanes: computes the initial value of each lane of a word.
//   SOURCE_ACCUMULATOR   fma(fp32(accumulator + offset), scale, bias) with the channel's
//                        parameters; float accumulators have no offset
//   SOURCE_OPERAND0      the operand; for an average over a window times `factor`
//   SOURCE_ROW_BUFFER    the value that an earlier pass stored
//   SOURCE_CONSTANT      the constant
//
// Each value is a number of the vector format. If that format is narrower than fp32, accumulators
// and channel parameters are first rounded to it, and the fma is a product and a sum, each rounded;
// operands, factor and constant arrive as its numbers. Numbers are the upper NUMBER bits of fp32
// numbers (kiln_format_pkg::number_bits).
//   time      Accumulators, their parameters, `source` and `averages` come with in_valid; all else
//             comes CONVERT cycles with `advance` later. The word is at the outputs after LATENCY
//             more such cycles, with its operand 0; one word per cycle.
//   C++ twin  kiln::systolic::AccumulatorToValue (targets/systolic/simulate/arithmetic.h)
module kiln_vector_source #(
    parameter int unsigned LANES = 4,
    parameter int unsigned CONVERT = 0,
    parameter int unsigned LATENCY = 1,
    parameter kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    // derived, do not set
    localparam int unsigned ACCUMULATION_BITS = kiln_format_pkg::bits(ACCUMULATION_FORMAT),
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT)
) (
    input  logic clock,
    input  logic reset,
    input  logic advance,
    input  logic in_valid,
    input  logic [LANES*ACCUMULATION_BITS-1:0] accumulators,
    input  logic [LANES*32-1:0] offsets,  // int32
    input  logic [LANES*32-1:0] scales,
    input  logic [LANES*32-1:0] biases,
    input  logic [LANES*NUMBER-1:0] row_word,
    input  kiln_vector_pkg::word_tag_t in_tag,
    input  logic [1:0] source,  // kiln_systolic_pkg::source_t
    input  logic [LANES*NUMBER-1:0] in_operand,  // operand 0
    input  logic averages,
    input  logic [NUMBER-1:0] factor,
    input  logic [NUMBER-1:0] constant,
    output logic next_valid,  // as in kiln_vector_registers
    output logic [kiln_vector_pkg::PROGRAM_BITS-1:0] next_program,
    output logic out_valid,
    output kiln_vector_pkg::word_tag_t out_tag,
    output logic [LANES*NUMBER-1:0] out_value,
    output logic [LANES*NUMBER-1:0] out_operand
);
  // The words in the conversion, and the one with the late inputs.
  logic late_valid, source_valid, source_averages;
  logic [1:0] source_now;
  logic [CONVERT+LATENCY-1:0] moves;
  logic [LATENCY-1:0] late_moves;
  if (CONVERT == 0) begin : g_no_conversion
    assign late_valid = in_valid;
    assign moves      = late_moves;
  end else begin : g_conversion
    logic [CONVERT-1:0] valids, entering;
    assign entering   = CONVERT'({valids, in_valid});
    assign late_valid = valids[CONVERT-1];
    assign moves      = {late_moves, entering};
    always_ff @(posedge clock) begin
      if (reset) valids <= '0;
      else if (advance) valids <= entering;
    end
  end

  kiln_vector_delay #(
      .WIDTH (3),
      .CYCLES(CONVERT > 0 ? CONVERT - 1 : 0)
  ) wait_source (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_data({source, averages}),
      .out_valid(source_valid),
      .out_data({source_now, source_averages})
  );
  for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
    kiln_source_lane #(
        .ACCUMULATION_FORMAT(ACCUMULATION_FORMAT),
        .VECTOR_FORMAT(VECTOR_FORMAT),
        .CONVERT(CONVERT),
        .LATENCY(LATENCY)
    ) begin_value (
        .clock,
        .advance,
        .moves,
        .accumulator(accumulators[lane*ACCUMULATION_BITS+:ACCUMULATION_BITS]),
        .offset(offsets[lane*32+:32]),
        .scale(scales[lane*32+:32]),
        .bias(biases[lane*32+:32]),
        .row_number(row_word[lane*NUMBER+:NUMBER]),
        .source_valid,
        .source(source_now),
        .averages(source_averages),
        .constant,
        .operand(in_operand[lane*NUMBER+:NUMBER]),
        .factor,
        .result(out_value[lane*NUMBER+:NUMBER])
    );
  end

  localparam int unsigned OPERANDS = kiln_systolic_pkg::MAX_OPERANDS;
  logic [LANES*NUMBER-1:0] unused_value;
  logic [kiln_vector_pkg::SAVED*LANES*NUMBER-1:0] unused_saved;
  logic [OPERANDS*LANES*NUMBER-1:0] carried;
  wire unused_carried = &{1'b0, carried};
  assign out_operand = carried[0+:LANES*NUMBER];
  kiln_vector_registers #(
      .LANES(LANES),
      .LATENCY(LATENCY),
      .NUMBER(NUMBER),
      .CARRIES_VALUE(1'b0),
      .CARRIES_SAVED(1'b0),  // no word has any yet
      .CARRIES_OPERANDS(3'b001)
  ) registers (
      .clock,
      .reset,
      .advance,
      .in_valid(late_valid),
      .in_tag,
      .in_value('0),
      .in_saved('0),
      .in_operands((OPERANDS*LANES*NUMBER)'(in_operand)),
      .moves(late_moves),
      .next_valid,
      .next_program,
      .out_valid,
      .out_tag,
      .out_value(unused_value),
      .out_saved(unused_saved),
      .out_operands(carried)
  );
endmodule
