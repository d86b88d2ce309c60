// Converts a value of a short float format (kiln_format_pkg::is_short_float) to an element on its
// way to memory, as kiln_quantiser does, in REGISTERS + 1 steps of a pipeline.
//
//   value * inverse_scale ─▶ fp32 ─▶ integer, codes ─▶ + zero_point, held to [low, high] ─▶ bits
//
//   registers  after the product's rounding (REGISTERS >= 1), after integer and codes (>= 2),
//              within the product (>= 3); further ones at the end. The bits have no register of their own.
//   moves      bit i: register i takes a word
//   scaled_    in_block comes with the product in fp32; converted_ inputs come with the integer and
//              the codes. For a code of a plain integer format (kiln_format_pkg::is_plain_integer)
//              the zero point is 0, and low and high are the format's limits.
//   C++ twin   kiln::systolic::StoreValue (targets/systolic/simulate/arithmetic.h),
//              kiln::BlockCodec::ElementCode (numerics/microscaling.h)
module kiln_short_quantiser #(
    parameter kiln_format_pkg::format_t INPUT_FORMAT  = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,
    parameter bit INTEGER_ELEMENTS = 1'b1,  // integers can be written
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP16,
    parameter bit BLOCKS = 1'b0,  // in_block is used
    parameter int unsigned SCALE = 32,  // bits of inverse_scale
    parameter int unsigned ELEMENT = 32,  // kiln_vector_pkg::element_bits
    parameter int unsigned REGISTERS = 0,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT),
    localparam int unsigned MOVES = REGISTERS > 0 ? REGISTERS : 1
) (
    input  logic clock,
    input  logic advance,
    input  logic [MOVES-1:0] moves,
    input  logic [NUMBER-1:0] value,
    input  logic [SCALE-1:0] inverse_scale,  // the upper bits of an fp32 number
    input  logic scaled_in_block,
    input  logic [3:0] converted_element,  // kiln_systolic_pkg::element_t
    input  logic signed [31:0] converted_zero_point,
    input  logic signed [31:0] converted_low,
    input  logic signed [31:0] converted_high,
    // An element of n bytes is in the lowest n. If there are only 16 bits, they are the upper half
    // of an fp32 element.
    output logic [ELEMENT-1:0] bits
);
  localparam int unsigned MULTIPLIED = REGISTERS >= 3 ? 1 : 0;
  localparam int unsigned ROUNDED = REGISTERS >= 1 ? 1 : 0;
  localparam int unsigned CONVERTED = REGISTERS >= 2 ? 1 : 0;
  localparam int unsigned WAIT = REGISTERS - MULTIPLIED - ROUNDED - CONVERTED;
  localparam int CODES = 2 * PRECISIONS;  // elements from ELEMENT_INPUT on
  wire unused_inputs = &{1'b0, moves, scaled_in_block};

  // ---- The product in fp32; the value travels beside it.
  logic [31:0] product, scaled;
  logic [NUMBER-1:0] value_product, value_scaled;
  kiln_float_scale #(
      .FORMAT(VECTOR_FORMAT),
      .SCALE(SCALE),
      .SUBNORMAL_SCALES(BLOCKS),
      .SUBNORMAL_PRODUCTS(kiln_format_pkg::has_tiny_codes(
          INPUT_FORMAT, OTHER_INPUT_FORMATS, WEIGHT_FORMAT, OTHER_WEIGHT_FORMATS, CODES)),
      .REGISTERED(MULTIPLIED == 1)
  ) multiply (
      .clock,
      .advance(advance && moves[0]),
      .number(value),
      .scale(inverse_scale),
      .product
  );
  if (MULTIPLIED == 0) begin : g_product
    assign value_product = value;
  end else begin : g_multiplied
    always_ff @(posedge clock) if (advance && moves[0]) value_product <= value;
  end
  if (ROUNDED == 0) begin : g_scaled
    assign {scaled, value_scaled} = {product, value_product};
  end else begin : g_rounded
    always_ff @(posedge clock) begin
      if (advance && moves[MULTIPLIED]) {scaled, value_scaled} <= {product, value_product};
    end
  end

  // ---- To the nearest integer, 2^33 at most. The magnitude is the significand, shifted down from
  // where it is for 2^32 and more.
  logic [5:0] distance;
  logic [65:0] shifted;
  logic signed [34:0] whole, whole_now;
  logic [33:0] magnitude;
  assign distance = 6'd31 - scaled[28:23];  // 159 modulo 64
  always_comb begin
    shifted   = {1'b1, scaled[22:0], 42'd0} >> distance;
    magnitude = {1'b0, shifted[65:33]} +
        34'(shifted[32] && (shifted[31:0] != '0 || shifted[33]));
    if (scaled[30:23] < 8'd126 || kiln_fp32_pkg::is_nan(scaled)) magnitude = '0;
    else if (scaled[30:23] >= 8'd160) magnitude = 34'h2_0000_0000;
    whole = scaled[31] ? -signed'({1'b0, magnitude}) : signed'({1'b0, magnitude});
  end

  // ---- To codes of formats that are no whole numbers.
  logic [CODES*32-1:0] codes, codes_now;
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
    end else if (kiln_format_pkg::is_plain_integer(FORMAT)) begin : g_integer
      assign bits_of_code = '0;
    end else begin : g_encode
      localparam kiln_format_pkg::format_t SATURATING = kiln_format_pkg::saturating(FORMAT);
      localparam bit SIGNED = kiln_format_pkg::kind(FORMAT) == kiln_format_pkg::KIND_INTEGER &&
          kiln_format_pkg::is_signed(FORMAT);
      logic [BITS-1:0] plain_code, code;
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
        assign code = scaled_in_block ? saturated_code : plain_code;
      end else begin : g_plain
        assign code = plain_code;
      end
      // The code as it is stored in memory: signed integers sign-extended, others zero-extended.
      assign bits_of_code = 32'(code) | (SIGNED && code[BITS-1] ? 32'hffff_ffff << BITS : '0);
    end
    assign codes[c*32+:32] = bits_of_code;
  end

  logic [NUMBER-1:0] value_now;
  if (CONVERTED == 0) begin : g_converts
    assign {whole_now, codes_now, value_now} = {whole, codes, value_scaled};
  end else begin : g_converted
    always_ff @(posedge clock) begin
      if (advance && moves[MULTIPLIED+ROUNDED])
        {whole_now, codes_now, value_now} <= {whole, codes, value_scaled};
    end
  end

  // ---- A number of the vector format; no rounding is left.
  localparam int VECTOR_BITS = kiln_format_pkg::bits(VECTOR_FORMAT);
  logic [31:0] number;
  logic [VECTOR_BITS-1:0] vector_code;
  logic is_nan;
  assign is_nan = kiln_fp32_pkg::is_nan(32'(value_now) << (32 - NUMBER));
  assign number = is_nan ? kiln_fp32_pkg::NAN : 32'(value_now) << (32 - NUMBER);
  kiln_encode_from_fp32 #(
      .FORMAT(VECTOR_FORMAT)
  ) encode_vector (
      .value (number),
      .random('0),
      .code  (vector_code)
  );

  // ---- The element.
  logic signed [35:0] sum;
  logic [31:0] held, next;
  logic [3:0] chosen;
  logic [CODES-1:0] plain;  // the element is a code of a plain integer format
  for (genvar c = 0; c < CODES; c++) begin : g_plain
    localparam kiln_format_pkg::format_t FORMAT =
        kiln_format_pkg::code_format(INPUT_FORMAT, OTHER_INPUT_FORMATS, WEIGHT_FORMAT,
            OTHER_WEIGHT_FORMATS, c);
    assign plain[c] = chosen == 4'(c) && kiln_format_pkg::is_plain_integer(FORMAT);
  end
  assign chosen = converted_element - kiln_systolic_pkg::ELEMENT_INPUT;
  assign sum    = 36'(whole_now) + 36'(converted_zero_point);
  always_comb begin
    held = sum[31:0];
    if (sum > 36'(converted_high)) held = converted_high;
    if (sum < 36'(converted_low)) held = converted_low;
    next = converted_element == kiln_systolic_pkg::ELEMENT_VECTOR ? 32'(vector_code) : number;
    if (converted_element >= kiln_systolic_pkg::ELEMENT_INPUT)
      next = plain != '0 ? held : codes_now[32'(chosen)*32+:32];
    if (INTEGER_ELEMENTS && converted_element <= kiln_systolic_pkg::ELEMENT_INT32) next = held;
  end
  logic [ELEMENT-1:0] kept;
  assign kept = ELEMENT == 32 || converted_element == kiln_systolic_pkg::ELEMENT_FLOAT32 ?
      next[31-:ELEMENT] : next[ELEMENT-1:0];
  wire unused_next = &{1'b0, next};
  if (WAIT == 0) begin : g_no_wait
    assign bits = kept;
  end else begin : g_wait
    logic [WAIT*ELEMENT-1:0] line;
    always_ff @(posedge clock) begin
      if (advance && moves[3]) line[0+:ELEMENT] <= kept;
      for (int i = 1; i < WAIT; i++) begin
        if (advance && moves[3+i]) line[i*ELEMENT+:ELEMENT] <= line[(i-1)*ELEMENT+:ELEMENT];
      end
    end
    assign bits = line[(WAIT-1)*ELEMENT+:ELEMENT];
  end
endmodule
