// The fp32 units side by side, all with the same operands.
module fp32_bench (
    input  logic        [31:0] a,
    input  logic        [31:0] b,
    input  logic        [31:0] c,
    input  logic signed [31:0] integer_value,
    input  logic signed [31:0] low,
    input  logic signed [31:0] high,
    output logic        [31:0] multiply_add,  // a * b + c
    output logic        [31:0] multiply,      // a * b
    output logic        [31:0] add,           // a + b
    output logic        [31:0] divide,        // a / b
    output logic               greater,       // a > b
    output logic        [31:0] maximum,
    output logic        [31:0] minimum,
    output logic        [31:0] from_integer,
    output logic signed [31:0] code,          // a * b + integer_value, held to [low, high]
    output logic        [31:0] bf16,          // a, rounded
    output logic        [31:0] fp16
);

  kiln_fp32_multiply_add unit_multiply_add (.a(a), .b(b), .c(c), .result(multiply_add));
  kiln_fp32_multiply unit_multiply (.a(a), .b(b), .result(multiply));
  kiln_fp32_add unit_add (.a(a), .b(b), .result(add));
  kiln_fp32_divide unit_divide (.a(a), .b(b), .result(divide));
  kiln_fp32_greater unit_greater (.a(a), .b(b), .greater(greater));
  kiln_fp32_maximum unit_maximum (.a(a), .b(b), .result(maximum));
  kiln_fp32_minimum unit_minimum (.a(a), .b(b), .result(minimum));
  kiln_int32_to_fp32 unit_from_integer (.value(integer_value), .result(from_integer));
  kiln_fp32_to_code unit_code (
      .value(a),
      .inverse_scale(b),
      .zero_point(integer_value),
      .low(low),
      .high(high),
      .code(code)
  );
  kiln_fp32_round #(.FORMAT(kiln_named_formats_pkg::BF16)) unit_bf16 (.value(a), .result(bf16));
  kiln_fp32_round #(.FORMAT(kiln_named_formats_pkg::FP16)) unit_fp16 (.value(a), .result(fp16));

endmodule
