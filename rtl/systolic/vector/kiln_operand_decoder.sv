// Converts an element of a memory operand to the vector unit's number: an integer to fp32(code -
// zero_point) * scale, a code of the array's formats (of any precision) to (value of the code) *
// scale, and an fp32 number or a number of the vector format to itself. The result is rounded to
// the vector format.
//   time      combinational
//   enable    0: the result is not used
//   C++ twin  kiln::systolic::LoadValue (targets/systolic/simulate/arithmetic.h)
module kiln_operand_decoder #(
    parameter kiln_format_pkg::format_t INPUT_FORMAT  = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32
) (
    input  logic        enable,
    input  logic [ 3:0] element,     // kiln_systolic_pkg::element_t
    // The element's bytes, right-aligned; higher bytes are ignored.
    input  logic [31:0] bits,
    input  logic [31:0] zero_point,
    input  logic [31:0] scale,       // fp32
    output logic [31:0] value        // fp32
);
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);
  localparam int VECTOR_BITS = kiln_format_pkg::bits(VECTOR_FORMAT);

  logic is_integer;
  logic [31:0] code;
  assign is_integer = element <= kiln_systolic_pkg::ELEMENT_INT32;
  always_comb begin
    case (element)
      kiln_systolic_pkg::ELEMENT_INT8: code = {{24{bits[7]}}, bits[7:0]} - zero_point;
      kiln_systolic_pkg::ELEMENT_UINT8: code = {24'd0, bits[7:0]} - zero_point;
      kiln_systolic_pkg::ELEMENT_INT16: code = {{16{bits[15]}}, bits[15:0]} - zero_point;
      default: code = bits - zero_point;
    endcase
  end

  // The value of a code of the array's formats.
  logic is_code;
  localparam int CODES = 2 * PRECISIONS;  // elements from ELEMENT_INPUT on
  logic [CODES*32-1:0] code_values;
  logic [3:0] chosen;
  logic [31:0] code_value;
  assign is_code = element >= kiln_systolic_pkg::ELEMENT_INPUT;
  assign chosen = element - kiln_systolic_pkg::ELEMENT_INPUT;
  assign code_value = code_values[32'(chosen)*32+:32];
  for (genvar c = 0; c < CODES; c++) begin : g_code
    localparam kiln_format_pkg::format_t FORMAT =
        kiln_format_pkg::code_format(INPUT_FORMAT, OTHER_INPUT_FORMATS, WEIGHT_FORMAT,
            OTHER_WEIGHT_FORMATS, c);
    // Codes of the same format share one decoder.
    localparam int FIRST =
        kiln_format_pkg::first_code(INPUT_FORMAT, OTHER_INPUT_FORMATS, WEIGHT_FORMAT,
            OTHER_WEIGHT_FORMATS, c);
    logic [31:0] value_of_code;
    if (FIRST != c) begin : g_same
      assign value_of_code = g_code[FIRST].value_of_code;
    end else if (FORMAT == kiln_named_formats_pkg::INT8) begin : g_int8
      // A function call, which a simulation evaluates only if the code is used.
      always_comb begin
        value_of_code = '0;
        if (enable && is_code)
          value_of_code = kiln_fp32_pkg::from_int32({{24{bits[7]}}, bits[7:0]});
      end
    end else begin : g_decode
      kiln_decode_to_fp32 #(
          .FORMAT(FORMAT)
      ) decode (
          .code (bits[kiln_format_pkg::bits(FORMAT)-1:0]),
          .value(value_of_code)
      );
    end
    assign code_values[c*32+:32] = value_of_code;
  end

  // A number of the vector format. A format with fp32's exponent field is the upper bits of fp32.
  logic [31:0] vector_value;
  if (kiln_format_pkg::is_fp32_prefix(VECTOR_FORMAT)) begin : g_prefix
    assign vector_value = 32'(bits[VECTOR_BITS-1:0]) << (32 - VECTOR_BITS);
  end else begin : g_decode
    kiln_decode_to_fp32 #(
        .FORMAT(VECTOR_FORMAT)
    ) decode_vector (
        .code (bits[VECTOR_BITS-1:0]),
        .value(vector_value)
    );
  end

  logic [31:0] exact;
  always_comb begin
    exact = element == kiln_systolic_pkg::ELEMENT_VECTOR ? vector_value : bits;
    if (enable && is_code) exact = kiln_fp32_pkg::multiply(code_value, scale);
    if (enable && is_integer)
      exact = kiln_fp32_pkg::multiply(kiln_fp32_pkg::from_int32(code), scale);
    value = exact;
    if (enable && NARROW) value = kiln_fp32_pkg::round_to(exact, ROUNDING);
  end
endmodule
