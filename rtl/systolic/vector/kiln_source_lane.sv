// One lane of the source stage (kiln_vector_source): converts an accumulator with its offset to a
// number, scales it and adds the bias; or multiplies an operand by a factor. One multiply-add does
// both; in a vector format narrower than fp32 it is one product and one sum. Combinational.
module kiln_source_lane #(
    parameter kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    // derived, do not set
    localparam int unsigned ACCUMULATION_BITS = kiln_format_pkg::bits(ACCUMULATION_FORMAT)
) (
    input  logic enable,  // 0: the result is not used
    input  logic from_accumulator,
    input  logic [ACCUMULATION_BITS-1:0] accumulator,
    input  logic [31:0] offset,  // int32; added to integer accumulators
    input  logic [31:0] scale,
    input  logic [31:0] bias,
    input  logic [31:0] operand,
    input  logic [31:0] factor,
    output logic [31:0] result
);
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);

  logic [31:0] number;  // accumulator + offset, converted to fp32
  if (kiln_format_pkg::kind(ACCUMULATION_FORMAT) == kiln_format_pkg::KIND_INTEGER) begin : g_integer
    logic [31:0] sum;
    assign sum = 32'(signed'(accumulator)) + offset;
    always_comb begin
      number = '0;
      if (from_accumulator) number = kiln_fp32_pkg::from_int32(sum);
    end
  end else begin : g_real
    wire unused_offset = &{1'b0, offset};
    kiln_decode_to_fp32 #(
        .FORMAT(ACCUMULATION_FORMAT)
    ) decode (
        .code (accumulator),
        .value(number)
    );
  end
  logic [31:0] multiplicand, multiplier, addend;
  always_comb begin
    multiplicand = operand;
    multiplier   = factor;
    addend       = kiln_vector_pkg::FP32_MINUS_ZERO;
    result       = '0;
    if (from_accumulator) begin
      multiplicand = NARROW ? kiln_fp32_pkg::round_to(number, ROUNDING) : number;
      multiplier   = NARROW ? kiln_fp32_pkg::round_to(scale, ROUNDING) : scale;
      addend       = NARROW ? kiln_fp32_pkg::round_to(bias, ROUNDING) : bias;
    end
    if (enable && !NARROW) result = kiln_fp32_pkg::multiply_add(multiplicand, multiplier, addend);
    if (enable && NARROW) begin
      result = kiln_fp32_pkg::round_to(kiln_fp32_pkg::multiply(multiplicand, multiplier), ROUNDING);
      if (from_accumulator)
        result = kiln_fp32_pkg::round_to(kiln_fp32_pkg::add(result, addend), ROUNDING);
    end
  end
endmodule
