// Instances of all fp32 units, with the same operands.
module fp32_bench (
    input  logic        [31:0] a,
    input  logic        [31:0] b,
    input  logic        [31:0] c,
    input  logic        [31:0] power,         // a power of two, zero, infinite or NaN
    input  logic signed [31:0] integer_value,
    input  logic signed [31:0] low,
    input  logic signed [31:0] high,
    output logic        [31:0] multiply_add,  // a * b + c
    output logic        [31:0] multiply,      // a * b
    output logic        [31:0] times_power,   // a * power
    output logic        [31:0] add,           // a + b
    output logic        [31:0] divide,        // a / b
    output logic               greater,       // a > b
    output logic        [31:0] maximum,
    output logic        [31:0] minimum,
    output logic        [31:0] from_integer,
    output logic signed [31:0] code,          // a * b + integer_value, held to [low, high]
    output logic [14*32-1:0] rounded  // a, rounded to each format below, in that order
);

  kiln_fp32_multiply_add unit_multiply_add (.a(a), .b(b), .c(c), .result(multiply_add));
  kiln_fp32_multiply unit_multiply (.a(a), .b(b), .result(multiply));
  kiln_fp32_times_power unit_times_power (.value(a), .power(power), .product(times_power));
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
  kiln_fp32_round #(.FORMAT(kiln_named_formats_pkg::BF16)) unit_bf16
      (.value(a), .result(rounded[0*32+:32]));
  kiln_fp32_round #(.FORMAT(kiln_named_formats_pkg::FP16)) unit_fp16
      (.value(a), .result(rounded[1*32+:32]));
  kiln_fp32_round #(.FORMAT(kiln_named_formats_pkg::TF32)) unit_tf32
      (.value(a), .result(rounded[2*32+:32]));
  kiln_fp32_round #(.FORMAT(kiln_named_formats_pkg::E5M2)) unit_e5m2
      (.value(a), .result(rounded[3*32+:32]));
  kiln_fp32_round #(.FORMAT(kiln_named_formats_pkg::E3M2)) unit_e3m2
      (.value(a), .result(rounded[4*32+:32]));
  kiln_fp32_round #(.FORMAT(other_formats_pkg::E4M3_INFINITY)) unit_e4m3_infinity
      (.value(a), .result(rounded[5*32+:32]));
  kiln_fp32_round #(.FORMAT(other_formats_pkg::E4M3_FNUZ_INFINITY)) unit_e4m3_fnuz_infinity
      (.value(a), .result(rounded[6*32+:32]));
  kiln_fp32_round #(.FORMAT(other_formats_pkg::FP16_SATURATE)) unit_fp16_saturate
      (.value(a), .result(rounded[7*32+:32]));
  kiln_fp32_round #(.FORMAT(other_formats_pkg::BF16_FLUSH)) unit_bf16_flush
      (.value(a), .result(rounded[8*32+:32]));
  kiln_fp32_round #(.FORMAT(other_formats_pkg::E4M3_FLUSH)) unit_e4m3_flush
      (.value(a), .result(rounded[9*32+:32]));
  kiln_fp32_round #(.FORMAT(other_formats_pkg::E8M23_FLUSH)) unit_e8m23_flush
      (.value(a), .result(rounded[10*32+:32]));
  kiln_fp32_round #(.FORMAT(other_formats_pkg::E8M2_FNUZ)) unit_e8m2_fnuz
      (.value(a), .result(rounded[11*32+:32]));
  kiln_fp32_round #(.FORMAT(other_formats_pkg::E1M2)) unit_e1m2
      (.value(a), .result(rounded[12*32+:32]));
  kiln_fp32_round #(.FORMAT(other_formats_pkg::E7M12)) unit_e7m12
      (.value(a), .result(rounded[13*32+:32]));

endmodule
