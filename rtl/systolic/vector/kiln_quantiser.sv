// Converts a value to an element on its way to memory. Integers: clamp(rne(value * inverse_scale) +
// zero_point, low, high), where NaN counts as 0. Codes of the array's formats: the code of value *
// inverse_scale. The vector format: the number's code. fp32: the number, with 0x7fc00000 for NaN.
//   in_block  The element belongs to a scale block, and `inverse_scale` is the inverse of that
//             block's scale; its code saturates even if the format does not.
//   time      combinational
//   enable    0: the result is not used
//   C++ twin  kiln::systolic::StoreValue (targets/systolic/simulate/arithmetic.h),
//             kiln::BlockCodec::ElementCode (numerics/microscaling.h)
module kiln_quantiser #(
    parameter kiln_format_pkg::format_t INPUT_FORMAT  = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,
    parameter bit INTEGER_ELEMENTS = 1'b1,  // integers can be written
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter bit BLOCKS = 1'b0  // in_block is used
) (
    input  logic               enable,
    input  logic               in_block,
    input  logic        [ 3:0] element,        // kiln_systolic_pkg::element_t
    input  logic        [31:0] value,          // fp32; a number of the vector format
    input  logic        [31:0] inverse_scale,  // fp32
    input  logic signed [31:0] zero_point,
    input  logic signed [31:0] low,
    input  logic signed [31:0] high,
    output logic        [31:0] bits            // an element of n bytes is in the lowest n
);
  localparam int CODES = 2 * PRECISIONS;  // elements from ELEMENT_INPUT on
  wire unused_in_block = in_block;
  logic is_code;
  logic [31:0] scaled, code_bits;
  logic [CODES*32-1:0] bits_of_codes;
  logic [3:0] chosen;
  assign is_code = enable && element >= kiln_systolic_pkg::ELEMENT_INPUT;
  assign chosen = element - kiln_systolic_pkg::ELEMENT_INPUT;
  assign code_bits = bits_of_codes[32'(chosen)*32+:32];
  always_comb begin
    scaled = '0;
    if (is_code) scaled = kiln_fp32_pkg::multiply(value, inverse_scale);
  end
  for (genvar c = 0; c < CODES; c++) begin : g_code
    localparam kiln_format_pkg::format_t FORMAT =
        kiln_format_pkg::code_format(INPUT_FORMAT, OTHER_INPUT_FORMATS, WEIGHT_FORMAT,
            OTHER_WEIGHT_FORMATS, c);
    // Codes of the same format share one encoder. (Scale blocks have elements of the first format.)
    localparam int FIRST =
        kiln_format_pkg::first_code(INPUT_FORMAT, OTHER_INPUT_FORMATS, WEIGHT_FORMAT,
            OTHER_WEIGHT_FORMATS, c);
    localparam int BITS = kiln_format_pkg::bits(FORMAT);
    logic [31:0] bits_of_code;
    if (FIRST != c) begin : g_same
      assign bits_of_code = g_code[FIRST].bits_of_code;
    end else begin : g_encode
      localparam kiln_format_pkg::format_t SATURATING = kiln_format_pkg::saturating(FORMAT);
      localparam bit SIGNED = kiln_format_pkg::kind(FORMAT) == kiln_format_pkg::KIND_INTEGER &&
          kiln_format_pkg::is_signed(FORMAT);
      logic [BITS-1:0] code;
      if (FORMAT == kiln_named_formats_pkg::INT8) begin : g_int8
        // A function call, which a simulation evaluates only if the code is used.
        always_comb begin
          code = '0;
          if (is_code)
            code = 8'(kiln_fp32_pkg::to_code(scaled, kiln_vector_pkg::FP32_ONE, '0, -32'sd128,
                32'sd127));
        end
      end else begin : g_format
        logic [BITS-1:0] plain_code;
        kiln_encode_from_fp32 #(
            .FORMAT(FORMAT)
        ) encode (
            .value(scaled),
            .random('0),
            .code(plain_code)
        );
        if (c == 0 && BLOCKS && SATURATING != FORMAT) begin : g_saturating
          logic [BITS-1:0] saturated_code;
          kiln_encode_from_fp32 #(
              .FORMAT(SATURATING)
          ) encode_saturating (
              .value(scaled),
              .random('0),
              .code(saturated_code)
          );
          assign code = in_block ? saturated_code : plain_code;
        end else begin : g_plain
          assign code = plain_code;
        end
      end
      // The code as it is stored in memory: signed integers sign-extended, others zero-extended.
      assign bits_of_code = 32'(code) | (SIGNED && code[BITS-1] ? 32'hffff_ffff << BITS : '0);
    end
    assign bits_of_codes[c*32+:32] = bits_of_code;
  end

  logic [31:0] number;
  assign number = kiln_fp32_pkg::is_nan(value) ? kiln_fp32_pkg::NAN : value;
  // No rounding is left. A number of a format with fp32's exponent field has zeros below its code.
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
    if (INTEGER_ELEMENTS && enable && element <= kiln_systolic_pkg::ELEMENT_INT32) begin
      bits = kiln_fp32_pkg::to_code(value, inverse_scale, zero_point, low, high);
    end
    if (is_code) bits = code_bits;
  end
endmodule
