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
//   time      Inputs in a cycle with `advance` are at the outputs LATENCY such cycles later; one
//             word per cycle.
//   C++ twin  kiln::systolic::AccumulatorToValue (targets/systolic/simulate/arithmetic.h)
module kiln_vector_source #(
    parameter int unsigned LANES = 4,
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
    input  kiln_vector_pkg::word_tag_t in_tag,
    input  logic [1:0] source,  // kiln_systolic_pkg::source_t
    input  logic [LANES*ACCUMULATION_BITS-1:0] accumulators,
    input  logic [LANES*32-1:0] offsets,  // int32
    input  logic [LANES*32-1:0] scales,
    input  logic [LANES*32-1:0] biases,
    input  logic [kiln_systolic_pkg::MAX_OPERANDS*LANES*NUMBER-1:0] in_operands,
    input  logic averages,
    input  logic [NUMBER-1:0] factor,
    input  logic [LANES*NUMBER-1:0] row_word,
    input  logic [NUMBER-1:0] constant,
    output logic out_valid,
    output kiln_vector_pkg::word_tag_t out_tag,
    output logic [LANES*NUMBER-1:0] out_value,
    output logic [kiln_vector_pkg::SAVED*LANES*NUMBER-1:0] out_saved,
    output logic [kiln_systolic_pkg::MAX_OPERANDS*LANES*NUMBER-1:0] out_operands
);
  logic from_accumulator, multiplies;
  assign from_accumulator = in_valid && source == kiln_systolic_pkg::SOURCE_ACCUMULATOR;
  assign multiplies =
      from_accumulator || (in_valid && source == kiln_systolic_pkg::SOURCE_OPERAND0 && averages);

  logic [LANES*NUMBER-1:0] value;
  for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
    logic [31:0] scaled;
    kiln_source_lane #(
        .ACCUMULATION_FORMAT(ACCUMULATION_FORMAT),
        .VECTOR_FORMAT(VECTOR_FORMAT)
    ) begin_value (
        .enable(multiplies),
        .from_accumulator,
        .accumulator(accumulators[lane*ACCUMULATION_BITS+:ACCUMULATION_BITS]),
        .offset(offsets[lane*32+:32]),
        .scale(scales[lane*32+:32]),
        .bias(biases[lane*32+:32]),
        .operand(32'(in_operands[lane*NUMBER+:NUMBER]) << (32 - NUMBER)),
        .factor(32'(factor) << (32 - NUMBER)),
        .result(scaled)
    );
    wire unused_scaled = &{1'b0, scaled};  // low bits, which are 0
    always_comb begin
      value[lane*NUMBER+:NUMBER] = in_operands[lane*NUMBER+:NUMBER];
      if (multiplies) value[lane*NUMBER+:NUMBER] = scaled[31-:NUMBER];
      else if (source == kiln_systolic_pkg::SOURCE_ROW_BUFFER)
        value[lane*NUMBER+:NUMBER] = row_word[lane*NUMBER+:NUMBER];
      else if (source == kiln_systolic_pkg::SOURCE_CONSTANT) value[lane*NUMBER+:NUMBER] = constant;
    end
  end

  kiln_vector_registers #(
      .LANES(LANES),
      .LATENCY(LATENCY),
      .NUMBER(NUMBER)
  ) registers (
      .clock,
      .reset,
      .advance,
      .in_valid,
      .in_tag,
      .in_value(value),
      .in_saved('0),
      .in_operands,
      .out_valid,
      .out_tag,
      .out_value,
      .out_saved,
      .out_operands
  );
endmodule
