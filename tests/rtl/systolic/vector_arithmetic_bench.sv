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
    localparam kiln_spline_pkg::tables_t SPLINES =
        VECTOR_FORMAT == kiln_named_formats_pkg::BF16 ? kiln_spline_tables_pkg::BF16 :
        VECTOR_FORMAT == kiln_named_formats_pkg::FP16 ? kiln_spline_tables_pkg::FP16 :
        kiln_spline_tables_pkg::FP32,
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT)
) (
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
    output logic [31:0] stored,
    input  logic maximum,
    output logic [31:0] joined,
    input  logic [3:0] op,
    input  logic [3:0] kind,
    output logic [31:0] computed,
    // The lane, with every value that an argument can select.
    input  logic [3:0] from_a,
    input  logic [3:0] from_b,
    input  logic [11*32-1:0] arguments,  // immediates a and b, s0 to s3, x0, x1, operands 0 to 2
    output logic [31:0] lane_computed
);
  kiln_operand_decoder #(
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PRECISIONS(PRECISIONS),
      .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
      .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
      .VECTOR_FORMAT(VECTOR_FORMAT)
  ) decoder (
      .enable(1'b1),
      .element,
      .bits,
      .zero_point,
      .scale,
      .value(loaded)
  );
  kiln_quantiser #(
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PRECISIONS(PRECISIONS),
      .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
      .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .BLOCKS(BLOCKS)
  ) quantiser (
      .enable(1'b1),
      .in_block,
      .element,
      .value,
      .inverse_scale,
      .zero_point,
      .low,
      .high,
      .bits(stored)
  );

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
      .SPLINES(SPLINES)
  ) lane (
      .enable(1'b1),
      .op,
      .from_a,
      .from_b,
      .kind,
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
