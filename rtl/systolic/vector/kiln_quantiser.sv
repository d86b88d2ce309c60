// A value on its way to memory. Integers: clamp(rne(value * inverse_scale) + zero_point, low, high), NaN counts as 0; codes of the array's
// formats: the code of value * inverse_scale; the vector format: the number's code; fp32: the number, a NaN as 0x7fc00000.
//   in_block  the element is one of a block with a scale, `inverse_scale` the scale's: its code saturates, whatever the format does else
//   time      combinational
//   enable    0: the result is nobody's business
//   C++ twin  kiln::systolic::StoreValue (targets/systolic/arithmetic.h), kiln::BlockCodec::ElementCode (numerics/microscaling.h)
module kiln_quantiser #(
    parameter kiln_format_pkg::format_t INPUT_FORMAT  = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter bit BLOCKS = 1'b0  // there are such blocks
) (
    input  logic               enable,
    input  logic               in_block,
    input  logic        [ 2:0] element,        // kiln_systolic_pkg::element_t
    input  logic        [31:0] value,          // fp32; a number of the vector format
    input  logic        [31:0] inverse_scale,  // fp32
    input  logic signed [31:0] zero_point,
    input  logic signed [31:0] low,
    input  logic signed [31:0] high,
    output logic        [31:0] bits            // of an element of n bytes the lowest n
);
  localparam int unsigned INPUT_BITS = kiln_format_pkg::bits(INPUT_FORMAT);
  localparam int unsigned WEIGHT_BITS = kiln_format_pkg::bits(WEIGHT_FORMAT);
  wire unused_in_block = in_block;
  logic is_code;
  logic [31:0] scaled;
  logic [INPUT_BITS-1:0] input_code;
  logic [WEIGHT_BITS-1:0] weight_code;
  assign is_code = enable && (element == kiln_systolic_pkg::ELEMENT_INPUT || element == kiln_systolic_pkg::ELEMENT_WEIGHT);
  always_comb begin
    scaled = '0;
    if (is_code) scaled = kiln_fp32_pkg::multiply(value, inverse_scale);
  end
  // int8 by a function, which a simulation computes only where it is asked for.
  if (INPUT_FORMAT == kiln_named_formats_pkg::INT8 && WEIGHT_FORMAT == kiln_named_formats_pkg::INT8) begin : g_int8
    always_comb begin
      input_code = '0;
      if (is_code) input_code = 8'(kiln_fp32_pkg::to_code(scaled, kiln_vector_pkg::FP32_ONE, '0, -32'sd128, 32'sd127));
    end
    assign weight_code = input_code;
  end else begin : g_formats
    localparam kiln_format_pkg::format_t SATURATING = kiln_format_pkg::saturating(INPUT_FORMAT);
    logic [INPUT_BITS-1:0] plain_code;
    kiln_encode_from_fp32 #(
        .FORMAT(INPUT_FORMAT)
    ) encode_input (
        .value(scaled),
        .random('0),
        .code(plain_code)
    );
    if (BLOCKS && SATURATING != INPUT_FORMAT) begin : g_saturating
      logic [INPUT_BITS-1:0] saturated_code;
      kiln_encode_from_fp32 #(
          .FORMAT(SATURATING)
      ) encode_saturating (
          .value(scaled),
          .random('0),
          .code(saturated_code)
      );
      assign input_code = in_block ? saturated_code : plain_code;
    end else begin : g_plain
      assign input_code = plain_code;
    end
    kiln_encode_from_fp32 #(
        .FORMAT(WEIGHT_FORMAT)
    ) encode_weight (
        .value(scaled),
        .random('0),
        .code(weight_code)
    );
  end
  // As they stand in memory: signed integers sign-extended, others zero-extended.
  logic input_sign, weight_sign;
  logic [31:0] input_bits, weight_bits;
  assign input_sign = kiln_format_pkg::kind(INPUT_FORMAT) == kiln_format_pkg::KIND_INTEGER &&
      kiln_format_pkg::is_signed(INPUT_FORMAT) && input_code[INPUT_BITS-1];
  assign weight_sign = kiln_format_pkg::kind(WEIGHT_FORMAT) == kiln_format_pkg::KIND_INTEGER &&
      kiln_format_pkg::is_signed(WEIGHT_FORMAT) && weight_code[WEIGHT_BITS-1];
  assign input_bits  = 32'(input_code) | (input_sign ? 32'hffff_ffff << INPUT_BITS : '0);
  assign weight_bits = 32'(weight_code) | (weight_sign ? 32'hffff_ffff << WEIGHT_BITS : '0);

  logic [31:0] number;
  assign number = kiln_fp32_pkg::is_nan(value) ? kiln_fp32_pkg::NAN : value;
  // Nothing is left to round. A number of a format with fp32's exponents has zeros behind its code.
  localparam int VECTOR_BITS = kiln_format_pkg::bits(VECTOR_FORMAT);
  logic [31:0] vector_bits;
  if (kiln_format_pkg::is_fp32_prefix(VECTOR_FORMAT)) begin : g_prefix
    assign vector_bits = number >> (32 - VECTOR_BITS);
  end else begin : g_encode
    logic [VECTOR_BITS-1:0] vector_code;
    kiln_encode_from_fp32 #(
        .FORMAT(VECTOR_FORMAT)
    ) encode_vector (
        .value,
        .random('0),
        .code(vector_code)
    );
    assign vector_bits = 32'(vector_code);
  end

  always_comb begin
    bits = element == kiln_systolic_pkg::ELEMENT_VECTOR ? vector_bits : number;
    if (enable && element <= kiln_systolic_pkg::ELEMENT_INT32) begin
      bits = kiln_fp32_pkg::to_code(value, inverse_scale, zero_point, low, high);
    end
    if (is_code) bits = element == kiln_systolic_pkg::ELEMENT_INPUT ? input_bits : weight_bits;
  end
endmodule
