// The arithmetic of one cycle of the vector unit: elements to numbers, a stage's operation with and
// without the selection of its arguments, the additions of a reduction, numbers to elements.
module vector_arithmetic_bench #(
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter bit BLOCKS = 1'b0,
    parameter bit INTEGER_ELEMENTS = 1'b1,
    parameter int unsigned QUANTISE = 0,  // registers of the quantiser
    localparam kiln_spline_pkg::tables_t SPLINES =
        VECTOR_FORMAT == kiln_named_formats_pkg::BF16 ? kiln_spline_tables_pkg::BF16 :
        VECTOR_FORMAT == kiln_named_formats_pkg::FP16 ? kiln_spline_tables_pkg::FP16 :
        kiln_spline_tables_pkg::FP32,
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT),
    localparam int unsigned SCALE = kiln_vector_pkg::scale_bits(VECTOR_FORMAT),
    localparam int unsigned ELEMENT = kiln_vector_pkg::element_bits(VECTOR_FORMAT,
        INTEGER_ELEMENTS, 8),
    localparam int unsigned LANE_CYCLES = 5
) (
    input  logic clock,
    input  logic reset,
    input  logic [3:0] element,
    input  logic [31:0] bits,
    input  logic [31:0] zero_point,
    input  logic [31:0] scale,
    output logic [31:0] loaded,
    // Numbers of the vector format.
    input  logic [31:0] value,
    input  logic [31:0] a,
    input  logic [31:0] b,
    input  logic in_block,
    input  logic [31:0] inverse_scale,
    input  logic [31:0] low,
    input  logic [31:0] high,
    input  logic store,  // the inputs of the quantiser are valid
    input  logic advance,  // of the quantiser
    output logic stored_valid,
    output logic [31:0] stored,  // the upper half of fp32, if an element has 16 bits on its way
    input  logic maximum,
    output logic [31:0] joined,
    input  logic [3:0] op,
    input  logic [3:0] kind,
    output logic [31:0] computed,
    // The lane, with every value that an argument can select.
    input  logic [3:0] from_a,
    input  logic [3:0] from_b,
    input  logic [11*32-1:0] arguments,  // immediates a and b, s0 to s3, x0, x1, operands 0 to 2
    output logic [31:0] lane_computed  // of the inputs LANE_CYCLES ago
);
  wire unused_scales = &{1'b0, scale, inverse_scale};  // bits below those of a scale
  logic [ELEMENT-1:0] stored_bits;
  logic [NUMBER-1:0] decoded;
  kiln_operand_decoder #(
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PRECISIONS(PRECISIONS),
      .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
      .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .INTEGER_ELEMENTS(INTEGER_ELEMENTS)
  ) decoder (
      .clock,
      .moves(1'b0),
      .enable(1'b1),
      .element,
      .bits,
      .zero_point,
      .scale(scale[31-:SCALE]),
      .number(decoded)
  );
  assign loaded = 32'(decoded) << (32 - NUMBER);
  kiln_word_quantiser #(
      .LANES(1),
      .REGISTERS(QUANTISE),
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PRECISIONS(PRECISIONS),
      .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
      .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .BLOCKS(BLOCKS),
      .INTEGER_ELEMENTS(INTEGER_ELEMENTS),
      .ELEMENT(ELEMENT),
      .SCALE(SCALE)
  ) quantiser (
      .clock,
      .reset,
      .advance,
      .in_valid(store),
      .in_block,
      .element,
      .values(value[31-:NUMBER]),
      .inverse_scales(inverse_scale[31-:SCALE]),
      .zero_point,
      .low,
      .high,
      .out_valid(stored_valid),
      .elements(stored_bits)
  );
  assign stored = 32'(stored_bits);

  logic [NUMBER-1:0] join_result, lane_result;
  kiln_vector_join #(
      .VECTOR_FORMAT(VECTOR_FORMAT)
  ) join_two (
      .enable(1'b1),
      .maximum,
      .a(value[31-:NUMBER]),
      .b(a[31-:NUMBER]),
      .result(join_result)
  );
  assign joined = 32'(join_result) << (32 - NUMBER);

  kiln_vector_alu #(
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .SPLINES(SPLINES)
  ) alu (
      .enable(1'b1),
      .op,
      .kind,
      .value,
      .a,
      .b,
      .result(computed)
  );

  logic [11*NUMBER-1:0] numbers;
  wire unused_arguments = &{1'b0, arguments};  // zeros below
  for (genvar i = 0; i < 11; i++) begin : g_number
    assign numbers[i*NUMBER+:NUMBER] = arguments[i*32+32-NUMBER+:NUMBER];
  end
  kiln_vector_lane #(
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .SPLINES(SPLINES),
      .EXTRA(LANE_CYCLES - 1)
  ) lane (
      .clock,
      .advance(1'b1),
      .moves('1),
      .enable(1'b1),
      .op,
      .op_product(op),
      .op_result(op),
      .from_a,
      .from_b,
      .kind,
      .kind_product(kind),
      .immediate_a(numbers[0+:NUMBER]),
      .immediate_b(numbers[NUMBER+:NUMBER]),
      .scalars(numbers[2*NUMBER+:4*NUMBER]),
      .value(value[31-:NUMBER]),
      .saved0(numbers[6*NUMBER+:NUMBER]),
      .saved1(numbers[7*NUMBER+:NUMBER]),
      .operand0(numbers[8*NUMBER+:NUMBER]),
      .operand1(numbers[9*NUMBER+:NUMBER]),
      .operand2(numbers[10*NUMBER+:NUMBER]),
      .result(lane_result)
  );
  assign lane_computed = 32'(lane_result) << (32 - NUMBER);
endmodule
