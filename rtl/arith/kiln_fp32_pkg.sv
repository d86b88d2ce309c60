// fp32 arithmetic (IEEE 754 binary32, nearest even, subnormals kept, every NaN 0x7fc00000) as
// functions with the same results as the modules kiln_fp32_*. They serve units with many operators:
// a simulation calls one function instead of evaluating a copy of the logic for each operator, and
// only if the caller needs the result.
package kiln_fp32_pkg;

  localparam logic [31:0] NAN = 32'h7fc0_0000;
  localparam logic [31:0] INFINITY = 32'h7f80_0000;
  localparam int EXPONENT_BITS = 12;  // bits of internal exponents, signed

  // These functions ignore the sign.
  // verilator lint_off UNUSEDSIGNAL
  function automatic logic is_nan(input logic [31:0] a);
    is_nan = a[30:23] == '1 && a[22:0] != '0;
  endfunction
  function automatic logic is_infinite(input logic [31:0] a);
    is_infinite = a[30:0] == INFINITY[30:0];
  endfunction
  function automatic logic is_zero(input logic [31:0] a);
    is_zero = a[30:0] == '0;
  endfunction

  // Returns a > b: false if either is NaN; zeros of both signs are equal.
  function automatic logic greater(input logic [31:0] a, input logic [31:0] b);
    /* verilator no_inline_task */
    logic [31:0] a_key, b_key;
    // Maps sign and magnitude to keys that are ordered as the numbers: negative numbers are
    // inverted.
    a_key   = a[31] ? ~a : {1'b1, a[30:0]};
    b_key   = b[31] ? ~b : {1'b1, b[30:0]};
    greater = a_key > b_key && !is_nan(a) && !is_nan(b) && (a[30:0] != '0 || b[30:0] != '0);
  endfunction
  function automatic logic [31:0] maximum(input logic [31:0] a, input logic [31:0] b);
    /* verilator no_inline_task */
    maximum = greater(a, b) ? a : b;
  endfunction
  function automatic logic [31:0] minimum(input logic [31:0] a, input logic [31:0] b);
    /* verilator no_inline_task */
    minimum = greater(b, a) ? a : b;
  endfunction

  // A finite number has the magnitude significand_of * 2^unit_of.
  function automatic logic [23:0] significand_of(input logic [31:0] a);
    significand_of = {a[30:23] != '0, a[22:0]};
  endfunction
  function automatic logic signed [EXPONENT_BITS-1:0] unit_of(input logic [31:0] a);
    unit_of = (a[30:23] == '0 ? 12'sd1 : signed'({4'd0, a[30:23]})) - 12'sd150;
  endfunction
  // verilator lint_on UNUSEDSIGNAL

  // Returns the number of zeros above the leading one of a nonzero number.
  function automatic logic [5:0] leading_zeros(input logic [63:0] a);
    /* verilator no_inline_task */
    logic [63:0] rest;
    rest = a;
    leading_zeros = '0;
    if (rest[63:32] == '0) begin
      leading_zeros[5] = 1'b1;
      rest = rest << 32;
    end
    if (rest[63:48] == '0) begin
      leading_zeros[4] = 1'b1;
      rest = rest << 16;
    end
    if (rest[63:56] == '0) begin
      leading_zeros[3] = 1'b1;
      rest = rest << 8;
    end
    if (rest[63:60] == '0) begin
      leading_zeros[2] = 1'b1;
      rest = rest << 4;
    end
    if (rest[63:62] == '0) begin
      leading_zeros[1] = 1'b1;
      rest = rest << 2;
    end
    if (!rest[63]) leading_zeros[0] = 1'b1;
  endfunction

  // Returns magnitude * 2^unit, rounded. The magnitude must not be 0; its lowest bit may be sticky.
  function automatic logic [31:0] round(input logic negative, input logic [63:0] magnitude,
                                        input logic signed [EXPONENT_BITS-1:0] unit);
    /* verilator no_inline_task */
    logic [5:0] zeros;
    logic [63:0] normal, dropped;
    logic [24:0] kept;
    // last: exponent of the result's LSB, at least that of subnormals
    logic signed [EXPONENT_BITS-1:0] field, last;
    // distance by which the normalised magnitude is shifted down, at least 40
    logic signed [EXPONENT_BITS-1:0] shift;
    logic [31:0] bits;
    zeros  = leading_zeros(magnitude);
    normal = magnitude << zeros;
    last   = unit + 12'sd40 - signed'({6'd0, zeros});
    if (last < -12'sd149) last = -12'sd149;
    shift = last - unit + signed'({6'd0, zeros});
    if (shift > 12'sd64) begin
      kept    = '0;
      dropped = 64'd1;
    end else begin
      kept    = 25'(normal >> shift[6:0]);
      dropped = normal << (7'd64 - shift[6:0]);
    end
    if (dropped[63] && (dropped[62:0] != '0 || kept[0])) kept = kept + 1'b1;
    // The hidden bit increments the exponent field, and so does a carry out of the significand.
    field = last + 12'sd149;
    bits  = (32'(field) << 23) + 32'(kept);
`ifndef SYNTHESIS
    kept_bits_fit : assert (shift >= 12'sd40 && kept <= 25'h100_0000);
`endif
    round = {negative, last > 12'sd104 || bits >= INFINITY ? INFINITY[30:0] : bits[30:0]};
  endfunction

  // Returns a number rounded to a narrower float format, to nearest, ties to even. `format` is the
  // result of kiln_format_pkg::fp32_rounding. Larger magnitudes, including subnormal ones, have
  // larger bit patterns, so that rounding up adds one to the lowest bit that is kept, also across
  // exponents.
  function automatic logic [31:0] round_to(input logic [31:0] value, input logic [63:0] format);
    /* verilator no_inline_task */
    logic [30:0] greatest, magnitude, below;  // below: mask of the bits that are dropped
    logic [4:0] fraction_bits;
    logic signed [EXPONENT_BITS-1:0] least, exponent, unit, last, places;
    logic flushes, has_minus_zero, has_nan, to_infinity, to_nan, normal, odd;
    logic [10:0] unused;
    {unused, to_nan, to_infinity, has_nan, has_minus_zero, flushes, least, fraction_bits,
        greatest} = format;
    normal = value[30:23] != '0;
    unit   = unit_of(value);
    // The exponent of the leading bit. In a subnormal number the leading bit needs to be found only
    // if the format's normal numbers are that small.
    exponent = unit + (normal ? 12'sd23 : 12'sd22);
    if (!normal && least < -12'sd126)
      exponent = exponent - signed'({6'd0, leading_zeros({value[22:0], 1'b1, 40'd0})});
    // The exponent of the LSB below the least normal number.
    last = flushes ? least : least - signed'({7'd0, fraction_bits});
    // The first case: the format has the exponent range of fp32.
    if (least == -12'sd126 && !flushes) places = 12'sd23 - signed'({7'd0, fraction_bits});
    else if (exponent < least) places = last - unit;
    else places = exponent - unit - signed'({7'd0, fraction_bits});
    magnitude = value[30:0];
    if (places > 12'sd24) begin
      magnitude = '0;
    end else if (places == 12'sd24) begin
      // More than half of the LSB rounds to one LSB, exactly half rounds to zero.
      magnitude = normal && value[22:0] != '0 ? {value[30:23] + 8'd1, 23'd0} : '0;
    end else if (places > 12'sd0) begin
      below     = ~(31'h7fff_ffff << places[4:0]);
      odd       = places == 12'sd23 ? normal : value[places[4:0]];
      magnitude = value[30:0] + (below >> 1) + 31'(odd);
      magnitude = magnitude & ~below;
    end
    if (is_nan(value)) round_to = has_nan ? NAN : '0;
    else if (magnitude > greatest)
      round_to = to_nan ? NAN : {value[31], to_infinity ? INFINITY[30:0] : greatest};
    else round_to = {value[31] && (has_minus_zero || magnitude != '0), magnitude};
  endfunction

  // Returns a * b + c, rounded once.
  function automatic logic [31:0] multiply_add(input logic [31:0] a, input logic [31:0] b,
      input logic [31:0] c);
    /* verilator no_inline_task */
    logic negative, subtract, product_infinite;
    logic [47:0] product;
    logic [127:0] term, addend, sum;
    logic [63:0] magnitude;
    logic signed [EXPONENT_BITS-1:0] product_unit, distance, unit;
    logic [23:0] kept, dropped;
    logic [5:0] zeros;
    negative         = a[31] ^ b[31];
    subtract         = negative ^ c[31];
    product_infinite = is_infinite(a) || is_infinite(b);
    product          = 48'(significand_of(a)) * 48'(significand_of(b));
    product_unit     = unit_of(a) + unit_of(b);
    if (is_nan(a) || is_nan(b) || is_nan(c) || (product_infinite && (is_zero(a) || is_zero(b))) ||
        (product_infinite && is_infinite(c) && subtract)) begin
      multiply_add = NAN;
    end else if (product_infinite) begin
      multiply_add = {negative, INFINITY[30:0]};
    end else if (is_infinite(c)) begin
      multiply_add = c;
    end else if (product == '0) begin
      multiply_add = is_zero(c) ? {negative && c[31], 31'd0} : c;
    end else begin
      // The product is shifted up by 28 bits. Lower bits of the addend only set the sticky bit, as
      // does the product if the addend is far above it.
      distance = unit_of(c) - product_unit;
      unit     = product_unit - 12'sd28;
      term     = 128'(product) << 28;
      addend   = '0;
      if (is_zero(c)) begin
        addend = '0;
      end else if (distance > 12'sd64) begin
        addend = 128'(significand_of(c)) << 92;
        term   = 128'd1;
        unit   = unit_of(c) - 12'sd92;
      end else if (distance >= -12'sd28) begin
        addend = 128'(significand_of(c)) << (7'd28 + distance[6:0]);
      end else begin
        addend[0] = 1'b1;
        if (distance >= -12'sd52) begin
          kept      = significand_of(c);
          // The addend is shifted down by -28 - distance, 1 to 24 bits: modulo 32 this is
          // 4 - distance, and 24 minus this is 20 + distance.
          dropped   = kept << (5'd20 + distance[4:0]);
          kept      = kept >> (5'd4 - distance[4:0]);
          addend    = 128'(kept);
          addend[0] = kept[0] || dropped != '0;
        end
      end
      sum = subtract ? term - addend : term + addend;
      if (subtract && addend > term) begin
        sum      = addend - term;
        negative = !negative;
      end
      // Long and short sums share one rounder: the upper half of a long sum is rounded, and its
      // lower bits set the sticky bit.
      magnitude = sum[63:0];
      if (sum[127:64] != '0) begin
        zeros     = leading_zeros(sum[127:64]);
        sum       = sum << zeros;
        magnitude = {sum[127:65], sum[64:0] != '0};
        unit      = unit + 12'sd64 - signed'({6'd0, zeros});
      end
      multiply_add = magnitude == '0 ? '0 : round(negative, magnitude, unit);
    end
  endfunction

  function automatic logic [31:0] multiply(input logic [31:0] a, input logic [31:0] b);
    /* verilator no_inline_task */
    logic negative;
    negative = a[31] ^ b[31];
    if (is_nan(a) || is_nan(b) || (is_infinite(a) && is_zero(b)) || (is_zero(a) && is_infinite(b)))
      multiply = NAN;
    else if (is_infinite(a) || is_infinite(b)) multiply = {negative, INFINITY[30:0]};
    else if (is_zero(a) || is_zero(b)) multiply = {negative, 31'd0};
    else
      multiply =
          round(negative, 64'(significand_of(a)) * 64'(significand_of(b)), unit_of(a) + unit_of(b));
  endfunction

  function automatic logic [31:0] add(input logic [31:0] a, input logic [31:0] b);
    /* verilator no_inline_task */
    logic swap, negative;
    logic [31:0] greater_term, lesser_term;
    logic [63:0] upper, lower, sum;
    logic signed [EXPONENT_BITS-1:0] distance;
    swap         = b[30:0] > a[30:0];
    greater_term = swap ? b : a;
    lesser_term  = swap ? a : b;
    negative     = greater_term[31];
    if (is_nan(a) || is_nan(b) || (is_infinite(a) && is_infinite(b) && a[31] != b[31])) begin
      add = NAN;
    end else if (is_infinite(greater_term)) begin
      add = greater_term;
    end else if (is_zero(lesser_term)) begin
      add = is_zero(greater_term) ? {a[31] && b[31], 31'd0} : greater_term;
    end else begin
      distance = unit_of(greater_term) - unit_of(lesser_term);
      upper    = 64'(significand_of(greater_term)) << 36;
      lower    = 64'd1;  // further down it counts by being there
      if (distance <= 12'sd36) lower = (64'(significand_of(lesser_term)) << 36) >> distance[5:0];
      sum = a[31] == b[31] ? upper + lower : upper - lower;
      add = sum == '0 ? '0 : round(negative, sum, unit_of(greater_term) - 12'sd36);
`ifndef SYNTHESIS
      greater_first : assert (distance >= 12'sd0 && upper >= lower);
`endif
    end
  endfunction

  // Returns a / b, correctly rounded.
  function automatic logic [31:0] divide(input logic [31:0] a, input logic [31:0] b);
    /* verilator no_inline_task */
    logic negative;
    logic [5:0] a_zeros, b_zeros;
    logic [23:0] divisor;
    logic [24:0] rest;
    logic [63:0] quotient;
    negative = a[31] ^ b[31];
    if (is_nan(a) || is_nan(b) || (is_infinite(a) && is_infinite(b)) ||
        (is_zero(a) && is_zero(b))) begin
      divide = NAN;
    end else if (is_infinite(a) || is_zero(b)) begin
      divide = {negative, INFINITY[30:0]};
    end else if (is_zero(a) || is_infinite(b)) begin
      divide = {negative, 31'd0};
    end else begin
      // Both operands are normalised, so that the quotient is between 1/2 and 2. It has 27 bits and
      // a sticky bit for the remainder.
      a_zeros  = leading_zeros({significand_of(a), 40'd0});
      b_zeros  = leading_zeros({significand_of(b), 40'd0});
      rest     = {1'b0, significand_of(a) << a_zeros};
      divisor  = significand_of(b) << b_zeros;
      quotient = '0;
      for (int i = 0; i < 27; i++) begin
        quotient = quotient << 1;
        if (rest >= {1'b0, divisor}) begin
          quotient[0] = 1'b1;
          rest = rest - {1'b0, divisor};
        end
        rest = rest << 1;
      end
`ifndef SYNTHESIS
      rest_below_divisor : assert (rest[24:1] < divisor);
      quotient_in_range : assert (quotient[26:25] != '0 && quotient[63:27] == '0);
`endif
      divide = round(negative, {quotient[62:0], rest != '0}, unit_of(a) - unit_of(b) - 12'sd27 -
                     signed'({6'd0, a_zeros}) + signed'({6'd0, b_zeros}));
    end
  endfunction

  // Converts a two's complement integer to fp32.
  function automatic logic [31:0] from_int32(input logic [31:0] a);
    /* verilator no_inline_task */
    logic [31:0] magnitude;
    magnitude  = a[31] ? -a : a;
    from_int32 = a == '0 ? '0 : round(a[31], 64'(magnitude), '0);
  endfunction

  // Returns round(value * inverse_scale) + zero_point, clamped to [low, high]. NaN is treated as 0
  // (its C++ twin is QuantiseToCode).
  function automatic logic [31:0] to_code(input logic [31:0] value,
      input logic [31:0] inverse_scale,
                                          input logic signed [31:0] zero_point,
                                              input logic signed [31:0] low,
                                          input logic signed [31:0] high);
    /* verilator no_inline_task */
    logic [31:0] scaled;
    logic [63:0] magnitude, dropped;
    logic signed [35:0] code;
    logic [7:0] shift;
    scaled    = multiply(value, inverse_scale);
    magnitude = 64'(significand_of(scaled));
    shift     = '0;
    dropped   = '0;
    if (is_nan(scaled)) begin
      magnitude = '0;
    end else if (scaled[30:23] >= 8'd160) begin
      magnitude = 64'd1 << 33;  // large enough to be clamped with every zero point
    end else if (scaled[30:23] >= 8'd150) begin
      magnitude = magnitude << (scaled[30:23] - 8'd150);
    end else if (scaled[30:23] >= 8'd126) begin
      shift     = 8'd150 - scaled[30:23];
      dropped   = magnitude << (8'd64 - shift);
      magnitude = magnitude >> shift;
      if (dropped[63] && (dropped[62:0] != '0 || magnitude[0])) magnitude = magnitude + 1'b1;
    end else begin
      magnitude = '0;
    end
    code = 36'(magnitude);
    if (scaled[31]) code = -code;
    code = code + 36'(zero_point);
    if (code > 36'(high)) code = 36'(high);
    if (code < 36'(low)) code = 36'(low);
    to_code = code[31:0];
  endfunction

endpackage
