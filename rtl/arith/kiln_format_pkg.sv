// Number formats as parameters.
//
// A format is ONE constant, its descriptor: a header of 128 bits and, for a table format, its list
// of values. The compiler prints descriptors (src/kiln/hardware/rtl_format.h);
// kiln_named_formats_pkg holds those of the named formats. Modules take them as `parameter
// kiln_format_pkg::format_t FORMAT` and size their ports with kiln_format_pkg::bits(FORMAT).
//
//   header bits   field
//     3:0         kind: KIND_INTEGER, KIND_FLOAT, KIND_POSIT, KIND_TABLE, KIND_QUIRE
//    11:4         bits of a code, 1 to 32; for a quire, the lowest 8 bits of that number
//    15:12        signed (1) or unsigned (0)
//    23:16        exponent bits of a float; es of a posit
//    31:24        fraction bits of a float; binary places of an integer
//    47:32        bias of a float's exponent field, two's complement; for a quire, log2 of the
//                 weight of its lowest bit
//    51:48        specials of a float: SPECIALS_NONE, _IEEE, _NAN_ONLY, _FNUZ
//    55:52        meaning of a float's exponent field 0: LOW_SUBNORMAL, LOW_ZERO, LOW_NORMAL; for a
//                 table, LOW_SUBNORMAL if its values include subnormal fp32 numbers, else LOW_ZERO
//    59:56        narrow: a signed integer without its least code
//    63:60        rounding: ROUND_NEAREST_EVEN, _NEAREST_AWAY, _TOWARD_ZERO, _DOWN, _STOCHASTIC
//    67:64        overflow: OVERFLOW_SATURATE, _WRAP, _INFINITY
//    75:68        significand bits: the most that a value needs, including the leading one
//    83:76        bits of a two's complement exponent that can hold the exponent of every value's
//                 leading one
//    91:84        bits of a two's complement integer that holds every value (integers: every code)
//                 in an integer sum; 0 if the values are not such integers
//   103:92        number of steps of a table's encoding
//   107:104       upper bits of the number of bits of a code (quires)
//   127:108       0
// In a table format the header is followed by 2^bits values of 32 bits, the fp32 value of every
// code, code 0 lowest, and then by the steps, 40 bits each, at which the code of an fp32 number
// changes (kiln_encode_table).
//
// A quire is not a format of numerics/format.h: it holds exact sums of products (numerics/quire.h),
// for psums and accumulations. A code is {NaN, plus infinity, minus infinity, sum}: the sum is a
// two's complement number, and the flags are sticky.
//
// Names and meanings are those of src/kiln/numerics/format.h.
package kiln_format_pkg;

  localparam int HEADER_BITS = 128;
  localparam int VALUE_BITS = 32;
  localparam int STEP_BITS = 40;
  localparam int MOST_CODES = 256;  // codes of a table
  localparam int MOST_STEPS = MOST_CODES + 2;  // NaNs have a step at both ends
  localparam int FORMAT_BITS = HEADER_BITS + MOST_CODES * VALUE_BITS + MOST_STEPS * STEP_BITS;

  typedef logic [FORMAT_BITS-1:0] format_t;

  // Formats of an operand in the array's further precisions: precision p > 0 is entry p - 1.
  localparam int MOST_PRECISIONS = 4;
  typedef logic [(MOST_PRECISIONS-1)*FORMAT_BITS-1:0] formats_t;
  // for an array with one precision
  localparam formats_t NO_OTHERS = ((MOST_PRECISIONS - 1) * FORMAT_BITS)'(0);

  localparam int KIND_INTEGER = 0;
  localparam int KIND_FLOAT = 1;
  localparam int KIND_POSIT = 2;
  localparam int KIND_TABLE = 3;
  localparam int KIND_QUIRE = 4;
  localparam int QUIRE_FLAGS = 3;

  localparam int SPECIALS_NONE = 0;
  localparam int SPECIALS_IEEE = 1;
  localparam int SPECIALS_NAN_ONLY = 2;
  localparam int SPECIALS_FNUZ = 3;

  localparam int LOW_SUBNORMAL = 0;
  localparam int LOW_ZERO = 1;
  localparam int LOW_NORMAL = 2;

  localparam int ROUND_NEAREST_EVEN = 0;
  localparam int ROUND_NEAREST_AWAY = 1;
  localparam int ROUND_TOWARD_ZERO = 2;
  localparam int ROUND_DOWN = 3;
  localparam int ROUND_STOCHASTIC = 4;

  localparam int OVERFLOW_SATURATE = 0;
  localparam int OVERFLOW_WRAP = 1;
  localparam int OVERFLOW_INFINITY = 2;

  // The two formats that every machine needs: fp32, rounded to nearest even, and 32-bit two's
  // complement integers.
  localparam format_t FP32 = FORMAT_BITS'(128'h9182_0001_007f_1708_1201);
  localparam format_t INT32 = FORMAT_BITS'(128'h0200_61f0_0000_0000_0000_1200);
  // The quire for products of posit8_1 numbers: the default of modules for quires.
  localparam format_t POSIT8_1_QUIRE = FORMAT_BITS'(128'h8220_0000_ffe8_0000_1534);

  // Every NaN result of an fp32 unit is this one.
  localparam logic [31:0] FP32_NAN = 32'h7fc0_0000;

  // Each function reads its own field of the descriptor.
  // verilator lint_off UNUSEDSIGNAL
  function automatic int kind(input format_t format);
    kind = 32'(format[3:0]);
  endfunction
  function automatic int bits(input format_t format);
    bits = 32'({format[107:104], format[11:4]});
  endfunction
  function automatic bit is_signed(input format_t format);
    is_signed = format[12];
  endfunction
  function automatic int exponent_bits(input format_t format);
    exponent_bits = 32'(format[23:16]);
  endfunction
  function automatic int fraction_bits(input format_t format);
    fraction_bits = 32'(format[31:24]);
  endfunction
  function automatic int bias(input format_t format);
    bias = 32'(signed'(format[47:32]));
  endfunction
  function automatic int specials(input format_t format);
    specials = 32'(format[51:48]);
  endfunction
  function automatic int low_exponent(input format_t format);
    low_exponent = 32'(format[55:52]);
  endfunction
  function automatic bit is_narrow(input format_t format);
    is_narrow = format[56];
  endfunction
  function automatic int rounding(input format_t format);
    rounding = 32'(format[63:60]);
  endfunction
  function automatic int overflow(input format_t format);
    overflow = 32'(format[67:64]);
  endfunction
  function automatic int significand_bits(input format_t format);
    significand_bits = 32'(format[75:68]);
  endfunction
  function automatic int number_exponent_bits(input format_t format);
    number_exponent_bits = 32'(format[83:76]);
  endfunction
  function automatic int integer_bits(input format_t format);
    integer_bits = 32'(format[91:84]);
  endfunction
  function automatic int steps(input format_t format);
    steps = 32'(format[103:92]);
  endfunction

  // Returns whether the fields of a header agree with each other.
  function automatic bit is_valid(input logic [HEADER_BITS-1:0] header);
    int width, significand, fields;
    width       = 32'({header[107:104], header[11:4]});
    significand = 32'(header[75:68]);
    fields      = 32'(header[23:16]) + 32'(header[31:24]) + 32'(header[12]);
    is_valid    = width > 0 && significand > 0 && header[83:76] != '0 && header[51:48] <= 4'd3 &&
        header[55:52] <= 4'd2 && header[63:60] <= 4'd4 && header[67:64] <= 4'd2;
    case (32'(header[3:0]))
      KIND_INTEGER: is_valid = is_valid && significand <= width;
      KIND_FLOAT: is_valid = is_valid && fields == width && significand <= 32'(header[31:24]) + 1;
      KIND_POSIT: is_valid = is_valid && header[12] && width > 1 && significand < width;
      KIND_TABLE: is_valid = is_valid && (1 << width) <= MOST_CODES && header[103:92] != '0 &&
          32'(header[103:92]) <= MOST_STEPS;
      KIND_QUIRE: is_valid = is_valid && width > QUIRE_FLAGS && significand < width;
      default: is_valid = 1'b0;
    endcase
  endfunction
  // Returns the format of a precision.
  function automatic format_t format_of(input format_t first, input formats_t others,
      input int precision);
    format_of = precision == 0 ? first : others[(precision-1)*FORMAT_BITS+:FORMAT_BITS];
  endfunction
  // Returns a format by its number in the vector unit: the input format and the weight format of
  // the first precision, then those of the next precisions.
  function automatic format_t code_format(input format_t first_input, input formats_t other_inputs,
      input format_t first_weight,
                                          input formats_t other_weights, input int number);
    code_format = number % 2 == 0 ? format_of(first_input, other_inputs, number / 2) :
        format_of(first_weight, other_weights, number / 2);
  endfunction
  // Returns the lowest of these numbers that has the same format as `number`.
  function automatic int first_code(input format_t first_input, input formats_t other_inputs,
      input format_t first_weight,
                                    input formats_t other_weights, input int number);
    first_code = number;
    for (int i = 2 * MOST_PRECISIONS - 1; i >= 0; i--) begin
      if (i < number && code_format(first_input, other_inputs, first_weight, other_weights, i) ==
          code_format(first_input, other_inputs, first_weight, other_weights, number)) first_code =
              i;
    end
  endfunction
  // Returns the bits of the widest code among the first `precisions` precisions.
  function automatic int most_bits(input format_t first, input formats_t others,
      input int precisions);
    most_bits = bits(first);
    for (int p = 1; p < MOST_PRECISIONS; p++) begin
      if (p < precisions && bits(format_of(first, others, p)) > most_bits)
        most_bits = bits(format_of(first, others, p));
    end
  endfunction

  // Returns the bits of the widest integer operand among the first `precisions` precisions
  // (kiln_integer_operand).
  function automatic int most_integer_bits(input format_t first, input formats_t others,
      input int precisions);
    most_integer_bits = integer_bits(first);
    for (int p = 1; p < MOST_PRECISIONS; p++) begin
      if (p < precisions && integer_bits(format_of(first, others, p)) > most_integer_bits)
        most_integer_bits = integer_bits(format_of(first, others, p));
    end
  endfunction

  // Returns whether a format among the first `codes` (code_format) has numbers near fp32's least
  // normal number, 2^-126. Every other format has exponents of at most seven bits with their sign,
  // and rounds all numbers of one sign between zero and 2^-126 to the same number.
  function automatic bit has_tiny_codes(input format_t first_input, input formats_t other_inputs,
      input format_t first_weight, input formats_t other_weights, input int codes);
    has_tiny_codes = 1'b0;
    for (int i = 0; i < 2 * MOST_PRECISIONS; i++) begin
      if (i < codes && (kind(code_format(first_input, other_inputs, first_weight, other_weights,
          i)) == KIND_TABLE || number_exponent_bits(code_format(first_input, other_inputs,
          first_weight, other_weights, i)) > 7)) has_tiny_codes = 1'b1;
    end
  endfunction

  // Returns the fp32 value of a code of a table.
  function automatic logic [31:0] table_value(input format_t format, input int code);
    table_value = format[HEADER_BITS+code*VALUE_BITS+:VALUE_BITS];
  endfunction
  // Step i of a table's encoding: step_key returns its least key, step_code the code from that key
  // on.
  function automatic logic [31:0] step_key(input format_t format, input int i);
    step_key = format[HEADER_BITS+(VALUE_BITS<<bits(format))+i*STEP_BITS+:32];
  endfunction
  function automatic logic [7:0] step_code(input format_t format, input int i);
    step_code = format[HEADER_BITS+(VALUE_BITS<<bits(format))+i*STEP_BITS+32+:8];
  endfunction
  // Returns the format of a table's values: fp32, without a shifter for subnormal numbers if the
  // table has none.
  function automatic format_t value_format(input format_t format);
    value_format = FORMAT_BITS'({
        FP32[91:84], format[83:68], FP32[67:56], format[55:52], FP32[51:0]});
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  // Returns the values of a table of whole numbers as integers of WHOLE_BITS, code 0 lowest.
  localparam int WHOLE_BITS = 17;
  function automatic logic [MOST_CODES*WHOLE_BITS-1:0] whole_values(input format_t format);
    logic [31:0] value, magnitude;
    whole_values = (MOST_CODES * WHOLE_BITS)'(0);
    for (int i = 0; i < MOST_CODES; i++) begin
      if (i < (1 << bits(format))) begin
        value = table_value(format, i);
        // 1.fraction * 2^(field - 127), as a 24-bit integer that is shifted to its bit position.
        magnitude =
            value[30:23] < 8'd127 ? '0 : 32'({1'b1, value[22:0]}) >> (8'd150 - value[30:23]);
        if (value[31]) magnitude = -magnitude;
        whole_values[i*WHOLE_BITS+:WHOLE_BITS] = magnitude[WHOLE_BITS-1:0];
      end
    end
  endfunction

  // Returns a float's greatest finite number, as a code without its sign.
  function automatic int greatest_fields(input format_t format);
    case (specials(format))
      SPECIALS_IEEE:
        greatest_fields = (((1 << exponent_bits(format)) - 1) << fraction_bits(format)) - 1;
      SPECIALS_NAN_ONLY:
        greatest_fields = (1 << (exponent_bits(format) + fraction_bits(format))) - 2;
      default: greatest_fields = (1 << (exponent_bits(format) + fraction_bits(format))) - 1;
    endcase
  endfunction
  // Returns the code of NaN in a float format: the quiet NaN without a sign, or zero if the format
  // has no NaN.
  function automatic logic [31:0] nan_fields(input format_t format);
    case (specials(format))
      SPECIALS_IEEE:
        nan_fields = (greatest_fields(format) + 1) | (1 << (fraction_bits(format) - 1));
      SPECIALS_NAN_ONLY: nan_fields = greatest_fields(format) + 1;
      SPECIALS_FNUZ: nan_fields = 1 << (bits(format) - 1);
      default: nan_fields = '0;
    endcase
  endfunction

  // Returns a short float's format with the exponents of fp32 and as many fraction bits; subnormal
  // numbers are flushed to zero.
  function automatic format_t long_range(input format_t format);
    long_range        = format;
    long_range[23:16] = 8'd8;
    long_range[47:32] = 16'd127;
    long_range[51:48] = 4'(SPECIALS_IEEE);
    long_range[55:52] = 4'(LOW_ZERO);
    long_range[67:64] = 4'(OVERFLOW_INFINITY);
  endfunction

  // Returns whether a format holds whole numbers, rounded to nearest, ties to even, and saturating.
  function automatic bit is_plain_integer(input format_t format);
    is_plain_integer = kind(format) == KIND_INTEGER && fraction_bits(format) == 0 &&
        !is_narrow(format) && rounding(format) == ROUND_NEAREST_EVEN &&
        overflow(format) == OVERFLOW_SATURATE;
  endfunction
  // Returns the least and the greatest code of such a format.
  function automatic logic signed [31:0] least_integer(input format_t format);
    least_integer = is_signed(format) ? 32'hffff_ffff << (bits(format) - 1) : '0;
  endfunction
  function automatic logic signed [31:0] greatest_integer(input format_t format);
    greatest_integer = ~(32'hffff_ffff << (is_signed(format) ? bits(format) - 1 : bits(format)));
  endfunction

  // Returns whether every finite number of a float format is a power of two, as in E8M0.
  function automatic bit is_power_of_two(input format_t format);
    is_power_of_two = kind(format) == KIND_FLOAT && fraction_bits(format) == 0 &&
        !is_signed(format) && low_exponent(format) == LOW_NORMAL;
  endfunction

  // A product of two powers of two that is rounded to fp32, as kiln_power_product gives it.
  localparam int POWER_EXPONENT_BITS = 9;
  typedef struct packed {
    logic nan;
    logic infinite;
    logic zero;
    logic signed [POWER_EXPONENT_BITS-1:0] exponent;
  } power_t;
  localparam int POWER_BITS = 3 + POWER_EXPONENT_BITS;
  // Returns the bits of the product of two scales: a power_t if the format has powers of two only,
  // else fp32.
  function automatic int scale_product_bits(input format_t format);
    scale_product_bits = is_power_of_two(format) ? POWER_BITS : 32;
  endfunction

  // Returns whether codes are the upper bits of fp32 numbers, as in fp32, bf16 and tf32.
  function automatic bit is_fp32_prefix(input format_t format);
    is_fp32_prefix = kind(format) == KIND_FLOAT && is_signed(format) &&
        exponent_bits(format) == 8 && bias(format) == 127 && specials(format) == SPECIALS_IEEE &&
        low_exponent(format) == LOW_SUBNORMAL;
  endfunction

  // Returns the number of upper bits of an fp32 number that distinguish the numbers of a float
  // format, including NaN. The other bits are 0.
  function automatic int number_bits(input format_t format);
    number_bits = max(10, fraction_bits(format) + max(9, bias(format) - 118));
  endfunction

  // Returns whether the modules kiln_float_* compute in a format: a signed float with 1 to 10
  // fraction bits that rounds to nearest even and whose numbers are zero or normal in fp32, such as
  // bf16.flush and fp16. An operation of two such numbers that is rounded to fp32 and then to the
  // format has the same result as one that is rounded once.
  function automatic bit is_short_float(input format_t format);
    is_short_float = kind(format) == KIND_FLOAT && is_signed(format) &&
        fraction_bits(format) >= 1 && fraction_bits(format) <= 10 &&
        rounding(format) == ROUND_NEAREST_EVEN &&
        ((low_exponent(format) == LOW_ZERO && bias(format) <= 127) ||
         (low_exponent(format) == LOW_SUBNORMAL && bias(format) + fraction_bits(format) <= 127));
  endfunction

  // Returns the argument of kiln_fp32_pkg::round_to for a float format that rounds to nearest even
  // and whose numbers fp32 can represent.
  //    30:0   the greatest number, fp32
  //    35:31  fraction bits
  //    47:36  exponent of the least normal number, two's complement
  //    48     the format has no numbers but zero below the least normal number
  //    49     the format has a minus zero
  //    50     the format has a NaN; otherwise NaN becomes zero
  //    51     numbers beyond the greatest one become infinity
  //    52     numbers beyond the greatest one become NaN; without bits 51 and 52 they saturate
  //    63:53  0
  localparam int ROUNDING_BITS = 64;
  function automatic logic [ROUNDING_BITS-1:0] fp32_rounding(input format_t format);
    int fields;
    logic saturates;
    fields    = greatest_fields(format);
    saturates = overflow(format) == OVERFLOW_SATURATE || specials(format) == SPECIALS_NONE;
    fp32_rounding = '0;
    // If the greatest number has the exponent field 0, it is zero: in formats with subnormal
    // numbers the greatest number is not one of them.
    if (fields >= (1 << fraction_bits(format))) begin
      fp32_rounding[30:0] =
          31'((fields << (23 - fraction_bits(format))) + ((127 - bias(format)) << 23));
    end
    fp32_rounding[35:31] = 5'(fraction_bits(format));
    fp32_rounding[47:36] = 12'(1 - bias(format));
    fp32_rounding[48]    = low_exponent(format) == LOW_ZERO;
    fp32_rounding[49]    = specials(format) != SPECIALS_FNUZ;
    fp32_rounding[50]    = specials(format) != SPECIALS_NONE;
    fp32_rounding[51]    = !saturates && specials(format) == SPECIALS_IEEE;
    fp32_rounding[52]    = !saturates && specials(format) != SPECIALS_IEEE;
  endfunction

  // Returns the code of the greatest number.
  function automatic logic [31:0] greatest_code(input format_t format);
    logic [30:0] greatest;
    case (kind(format))
      KIND_FLOAT: greatest_code = greatest_fields(format);
      KIND_TABLE: begin
        // Larger positive fp32 numbers have larger bit patterns; the table has at least one.
        greatest = '0;
        greatest_code = '0;
        for (int i = 0; i < MOST_CODES; i++) begin
          if (i < (1 << bits(format)) && !format[HEADER_BITS+i*VALUE_BITS+31] &&
              format[HEADER_BITS+i*VALUE_BITS+:31] >= greatest &&
              format[HEADER_BITS+i*VALUE_BITS+:31] < 31'h7f80_0000) begin
            greatest = format[HEADER_BITS+i*VALUE_BITS+:31];
            greatest_code = i;
          end
        end
      end
      default: greatest_code = (32'd1 << (bits(format) - (is_signed(format) ? 1 : 0))) - 1;
    endcase
  endfunction
  // Returns the format with overflow changed to saturation.
  function automatic format_t saturating(input format_t format);
    saturating = format;
    saturating[67:64] = 4'(OVERFLOW_SATURATE);
  endfunction

  // Returns a signed integer format of any width up to 63, for numbers inside a unit; it saturates.
  function automatic format_t integer_format(input int width, input logic [3:0] round);
    // Signed, with exponents of 7 bits.
    integer_format = FORMAT_BITS'(128'h7000_0000_0000_0000_1000) | (FORMAT_BITS'(width) << 4) |
        (FORMAT_BITS'(round) << 60) | (FORMAT_BITS'(width) << 68) | (FORMAT_BITS'(width) << 84);
  endfunction

  function automatic int max(input int a, input int b);
    max = a > b ? a : b;
  endfunction

  // Widths of the results of kiln_number_multiply and kiln_number_add.
  function automatic int product_exponent_bits(input int a_exponent_bits,
      input int b_exponent_bits);
    product_exponent_bits = max(a_exponent_bits, b_exponent_bits) + 2;
  endfunction
  function automatic int sum_bits(input int a_significand_bits, input int b_significand_bits,
      input int result_bits);
    sum_bits = max(max(a_significand_bits, b_significand_bits), result_bits) + 4;
  endfunction
  function automatic int sum_exponent_bits(input int a_exponent_bits, input int b_exponent_bits,
      input int width);
    sum_exponent_bits = max(max(a_exponent_bits, b_exponent_bits), $clog2(width) + 1) + 2;
  endfunction

endpackage
