// Converts an element of a memory operand to the vector unit's number: an integer to fp32(code -
// zero_point) * scale, a code of the array's formats (of any precision) to (value of the code) *
// scale, and an fp32 number or a number of the vector format to itself. The result is rounded to
// the vector format, and in a short float the factor before `scale` to as many fraction bits, with
// the exponents of fp32 (kiln_format_pkg::long_range).
//   time      REGISTERS cycles; one element per cycle
//   moves     bit i: register i takes an element
//   short     In a short float format (kiln_format_pkg::is_short_float) there are registers after
//             the product (REGISTERS >= 1), after the number that is scaled (>= 2) and after the
//             difference (>= 3). In other formats everything is computed in the first cycle.
//   scale     the upper bits of an fp32 number, as many as a number of a short float format has
//             (kiln_vector_pkg::scale_bits); in a short float a subnormal scale counts as zero. It
//             comes with the element, or, with the register after the difference, one cycle later
//   enable    0: the result is not used
//   C++ twin  kiln::systolic::LoadValue (targets/systolic/simulate/arithmetic.h)
module kiln_operand_decoder #(
    parameter kiln_format_pkg::format_t INPUT_FORMAT  = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,
    parameter bit INTEGER_ELEMENTS = 1'b1,  // integers can be read
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter int unsigned REGISTERS = 0,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT),
    localparam int unsigned SCALE = kiln_vector_pkg::scale_bits(VECTOR_FORMAT),
    localparam int unsigned MOVES = REGISTERS > 0 ? REGISTERS : 1
) (
    input  logic        clock,
    input  logic [MOVES-1:0] moves,
    input  logic        enable,
    input  logic [ 3:0] element,     // kiln_systolic_pkg::element_t
    // The element's bytes, right-aligned; higher bytes are ignored.
    input  logic [31:0] bits,
    input  logic [31:0] zero_point,
    input  logic [SCALE-1:0] scale,
    output logic [NUMBER-1:0] number  // the upper bits of an fp32 number
);
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);
  localparam int VECTOR_BITS = kiln_format_pkg::bits(VECTOR_FORMAT);

  logic is_integer;
  logic [31:0] code;
  assign is_integer = INTEGER_ELEMENTS && element <= kiln_systolic_pkg::ELEMENT_INT32;
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

  if (kiln_format_pkg::is_short_float(VECTOR_FORMAT)) begin : g_short
    localparam int unsigned SUBTRACTED = REGISTERS >= 3 ? 1 : 0;
    localparam int unsigned CONVERTED = REGISTERS >= 2 ? 1 : 0;
    localparam int unsigned MULTIPLIED = REGISTERS >= 1 ? 1 : 0;
    localparam int unsigned WAIT = REGISTERS - SUBTRACTED - CONVERTED - MULTIPLIED;
    if (REGISTERS == 0) begin : g_combinational
      wire unused_clock = &{1'b0, clock, moves, enable};
    end else begin : g_clocked
      wire unused_enable = enable;
    end

    // ---- The difference, or another number in fp32.
    logic integer_now, scaled, scaled_now;
    logic [31:0] real_value, start, start_now;
    assign scaled     = is_code || is_integer;
    assign real_value = is_code ? code_value :
        element == kiln_systolic_pkg::ELEMENT_VECTOR ? vector_value : bits;
    assign start      = is_integer ? code : real_value;
    if (SUBTRACTED == 0) begin : g_start
      assign {integer_now, scaled_now, start_now} = {is_integer, scaled, start};
    end else begin : g_subtracted
      always_ff @(posedge clock) begin
        if (moves[0]) {integer_now, scaled_now, start_now} <= {is_integer, scaled, start};
      end
    end

    // ---- The number that is scaled.
    logic multiplies;
    localparam kiln_format_pkg::format_t FACTOR_FORMAT =
        kiln_format_pkg::long_range(VECTOR_FORMAT);
    logic [NUMBER-1:0] whole, part, plain, factor, factor_now;
    logic [SCALE-1:0] scale_now;
    kiln_integer_to_float #(
        .FORMAT(FACTOR_FORMAT)
    ) convert_integer (
        .value (start_now),
        .number(whole)
    );
    kiln_fp32_to_float #(
        .FORMAT(FACTOR_FORMAT)
    ) convert_real (
        .value (start_now),
        .number(part)
    );
    // A number that is not scaled.
    kiln_fp32_to_float #(
        .FORMAT(VECTOR_FORMAT)
    ) convert_number (
        .value (start_now),
        .number(plain)
    );
    assign factor = integer_now ? whole : scaled_now ? part : plain;
    if (CONVERTED == 0) begin : g_factor
      assign {multiplies, factor_now, scale_now} = {scaled_now, factor, scale};
    end else begin : g_converted
      always_ff @(posedge clock) begin
        if (moves[SUBTRACTED])
          {multiplies, factor_now, scale_now} <= {scaled_now, factor, scale};
      end
    end

    // ---- The product.
    logic multiplied;
    logic [NUMBER-1:0] other, product;
    kiln_float_multiply #(
        .FORMAT(VECTOR_FORMAT),
        .REGISTERED(MULTIPLIED == 1)
    ) multiply (
        .clock,
        .advance(moves[SUBTRACTED+CONVERTED]),
        .a(factor_now),
        .b(scale_now),
        .product
    );
    if (MULTIPLIED == 0) begin : g_product
      assign {multiplied, other} = {multiplies, factor_now};
    end else begin : g_multiplied
      always_ff @(posedge clock) begin
        if (moves[SUBTRACTED+CONVERTED]) {multiplied, other} <= {multiplies, factor_now};
      end
    end
    logic [NUMBER-1:0] next;
    assign next = multiplied ? product : other;
    if (WAIT == 0) begin : g_no_wait
      assign number = next;
    end else begin : g_wait
      logic [WAIT*NUMBER-1:0] line;
      always_ff @(posedge clock) begin
        if (moves[3]) line[0+:NUMBER] <= next;
        for (int i = 1; i < WAIT; i++) begin
          if (moves[3+i]) line[i*NUMBER+:NUMBER] <= line[(i-1)*NUMBER+:NUMBER];
        end
      end
      assign number = line[(WAIT-1)*NUMBER+:NUMBER];
    end
  end else begin : g_whole
    logic [31:0] factor, exact, value;
    always_comb begin
      factor = '0;
      if (enable && is_code) factor = code_value;
      if (enable && is_integer) factor = kiln_fp32_pkg::from_int32(code);
      exact = element == kiln_systolic_pkg::ELEMENT_VECTOR ? vector_value : bits;
      if (enable && (is_code || is_integer)) exact = kiln_fp32_pkg::multiply(factor, scale);
      value = exact;
      if (enable && NARROW) value = kiln_fp32_pkg::round_to(exact, ROUNDING);
    end
    wire unused_value = &{1'b0, value};  // low bits, which are 0
    if (REGISTERS == 0) begin : g_combinational
      wire unused_clock = &{1'b0, clock, moves};
      assign number = value[31-:NUMBER];
    end else begin : g_line
      logic [REGISTERS*NUMBER-1:0] line;
      always_ff @(posedge clock) begin
        if (moves[0]) line[0+:NUMBER] <= value[31-:NUMBER];
        for (int i = 1; i < REGISTERS; i++) begin
          if (moves[i]) line[i*NUMBER+:NUMBER] <= line[(i-1)*NUMBER+:NUMBER];
        end
      end
      assign number = line[(REGISTERS-1)*NUMBER+:NUMBER];
    end
  end
endmodule
