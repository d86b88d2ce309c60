// An element of a memory operand as the vector unit sees it: integers fp32(code - zero_point) * scale, codes of the array's formats
// (value of the code) * scale, fp32 numbers and those of the vector format as they are; all of it rounded to the vector format.
//   time      combinational
//   enable    0: the result is nobody's business
//   C++ twin  kiln::systolic::LoadValue (targets/systolic/arithmetic.h)
module kiln_operand_decoder #(
    parameter kiln_format_pkg::format_t INPUT_FORMAT  = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32
) (
    input  logic        enable,
    input  logic [ 2:0] element,     // kiln_systolic_pkg::element_t
    input  logic [31:0] bits,        // the element's bytes, right-aligned; bytes beside it are nobody's business
    input  logic [31:0] zero_point,
    input  logic [31:0] scale,       // fp32
    output logic [31:0] value        // fp32
);
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING = kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);
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

  // What a code stands for.
  logic is_code;
  logic [31:0] input_value, weight_value;
  assign is_code = element == kiln_systolic_pkg::ELEMENT_INPUT || element == kiln_systolic_pkg::ELEMENT_WEIGHT;
  // int8 by a function, which a simulation computes only where it is asked for.
  if (INPUT_FORMAT == kiln_named_formats_pkg::INT8 && WEIGHT_FORMAT == kiln_named_formats_pkg::INT8) begin : g_int8
    always_comb begin
      input_value = '0;
      if (enable && is_code) input_value = kiln_fp32_pkg::from_int32({{24{bits[7]}}, bits[7:0]});
    end
    assign weight_value = input_value;
  end else begin : g_formats
    kiln_decode_to_fp32 #(
        .FORMAT(INPUT_FORMAT)
    ) decode_input (
        .code (bits[kiln_format_pkg::bits(INPUT_FORMAT)-1:0]),
        .value(input_value)
    );
    kiln_decode_to_fp32 #(
        .FORMAT(WEIGHT_FORMAT)
    ) decode_weight (
        .code (bits[kiln_format_pkg::bits(WEIGHT_FORMAT)-1:0]),
        .value(weight_value)
    );
  end

  // A number of the vector format. One with fp32's exponents is the upper bits of an fp32 number.
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
    if (enable && is_code) begin
      exact = kiln_fp32_pkg::multiply(element == kiln_systolic_pkg::ELEMENT_INPUT ? input_value : weight_value, scale);
    end
    if (enable && is_integer) exact = kiln_fp32_pkg::multiply(kiln_fp32_pkg::from_int32(code), scale);
    value = exact;
    if (enable && NARROW) value = kiln_fp32_pkg::round_to(exact, ROUNDING);
  end
endmodule
