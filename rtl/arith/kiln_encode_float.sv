// kiln_encode for floats. Larger magnitudes have larger codes, so that rounding up adds one to the
// code, also across exponents (IEEE 754, section 3.4).
module kiln_encode_float #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_format_pkg::FP32,
    parameter  int SIGNIFICAND_BITS = 24,
    parameter  int EXPONENT_BITS = 10,
    localparam int BITS = kiln_format_pkg::bits(FORMAT)
) (
    input  logic                               nan,
    input  logic                               infinite,
    input  logic                               negative,
    input  logic signed [   EXPONENT_BITS-1:0] exponent,
    input  logic        [SIGNIFICAND_BITS-1:0] significand,
    input  logic        [                31:0] random,
    output logic        [            BITS-1:0] code
);

  localparam int FIELD_BITS = kiln_format_pkg::exponent_bits(FORMAT);
  localparam int FRACTION_BITS = kiln_format_pkg::fraction_bits(FORMAT);
  localparam int BIAS = kiln_format_pkg::bias(FORMAT);
  localparam int LOW = kiln_format_pkg::low_exponent(FORMAT);
  localparam int SPECIALS = kiln_format_pkg::specials(FORMAT);
  localparam int ROUNDING = kiln_format_pkg::rounding(FORMAT);
  localparam bit SIGNED = kiln_format_pkg::is_signed(FORMAT);
  localparam bit SATURATES = kiln_format_pkg::overflow(FORMAT) ==
      kiln_format_pkg::OVERFLOW_SATURATE || SPECIALS == kiln_format_pkg::SPECIALS_NONE;

  // Magnitudes as integers: two bits more than codes have, for numbers beyond the greatest.
  localparam int MAGNITUDE_BITS = FIELD_BITS + FRACTION_BITS + 2;
  localparam logic [MAGNITUDE_BITS-1:0] GREATEST =
      MAGNITUDE_BITS'(kiln_format_pkg::greatest_fields(FORMAT));
  localparam logic [BITS-1:0] SIGN = SIGNED ? BITS'(1) << (BITS - 1) : '0;
  localparam logic [BITS-1:0] NAN = BITS'(kiln_format_pkg::nan_fields(FORMAT));
  // The unsigned code of infinity and of every number beyond the greatest one; a NaN has no sign.
  localparam bit OVERFLOWS_TO_NAN = !SATURATES && SPECIALS != kiln_format_pkg::SPECIALS_IEEE;
  localparam logic [BITS-1:0] OVERFLOWED = BITS'(SATURATES ? GREATEST : GREATEST + 1'b1);

  // The exponent of the least normal number, and one that is above all exponents.
  localparam int LEAST = LOW == kiln_format_pkg::LOW_NORMAL ? -BIAS : 1 - BIAS;
  localparam int MOST = (1 << FIELD_BITS) - BIAS;
  localparam int RANGE_BITS = kiln_format_pkg::max(EXPONENT_BITS, 12) + 1;
  localparam logic signed [RANGE_BITS-1:0] LEAST_EXPONENT = RANGE_BITS'(LEAST);
  localparam logic signed [RANGE_BITS-1:0] MOST_EXPONENT = RANGE_BITS'(MOST);

  // The significand is split into the bits that are kept and the rest.
  localparam int KEPT_BITS = FRACTION_BITS + 1;
  localparam int LEAST_REST = ROUNDING == kiln_format_pkg::ROUND_STOCHASTIC ? 33 : 2;
  localparam int WIDTH = kiln_format_pkg::max(SIGNIFICAND_BITS, KEPT_BITS + LEAST_REST);
  localparam int REST_BITS = WIDTH - KEPT_BITS;
  localparam int PLACE_BITS = $clog2(WIDTH + 1);

  logic signed [RANGE_BITS-1:0] wide_exponent, steps_above, steps_below;
  logic low, least, beyond, up;
  logic [PLACE_BITS-1:0] places;
  logic [WIDTH-1:0] wide, shifted;
  logic [KEPT_BITS-1:0] kept;
  logic [REST_BITS-1:0] rest;
  logic [MAGNITUDE_BITS-1:0] cut, magnitude;

  assign wide_exponent = RANGE_BITS'(exponent);
  assign steps_above = wide_exponent - LEAST_EXPONENT;
  assign steps_below = -steps_above;
  assign low = steps_above < 0;
  // Magnitude code 0: zero, or the least number of a format that has no zero.
  assign least = significand == '0 || (LOW == kiln_format_pkg::LOW_NORMAL && low);

  // Below the least normal number the weight of the LSB is constant.
  assign wide = WIDTH'(significand) << (WIDTH - SIGNIFICAND_BITS);
  assign places =
      !low ? '0 : steps_below > RANGE_BITS'(WIDTH) ? PLACE_BITS'(WIDTH) : PLACE_BITS'(steps_below);
  kiln_shift_right_sticky #(
      .WIDTH(WIDTH),
      .PLACE_BITS(PLACE_BITS)
  ) shift (
      .in(wide),
      .places(places),
      .out(shifted)
  );

  if (LOW == kiln_format_pkg::LOW_ZERO) begin : g_flush
    // The format has no number between zero and the least normal number. Rounding decides between
    // the two, so that all bits of a number below the least normal number are the rest.
    assign kept = low ? '0 : shifted[WIDTH-1-:KEPT_BITS];
    assign rest = !low ? shifted[REST_BITS-1:0] :
        REST_BITS'(shifted >> FRACTION_BITS) |
            REST_BITS'(|(shifted & ~({WIDTH{1'b1}} << FRACTION_BITS)));
    assign magnitude =
        cut + (!up ? '0 : low ? MAGNITUDE_BITS'(1 << FRACTION_BITS) : MAGNITUDE_BITS'(1));
  end else begin : g_gradual
    assign kept = shifted[WIDTH-1-:KEPT_BITS];
    assign rest = shifted[REST_BITS-1:0];
    assign magnitude = cut + MAGNITUDE_BITS'(up);
  end
  // The leading bit of a normal number adds one to the exponent field. This is right if the field 0
  // encodes zero and subnormals; if the field 0 is an ordinary exponent, the leading bit is
  // subtracted again.
  assign cut = (low ? '0 : MAGNITUDE_BITS'(steps_above) << FRACTION_BITS) + MAGNITUDE_BITS'(kept) -
      (LOW == kiln_format_pkg::LOW_NORMAL ? MAGNITUDE_BITS'(1 << FRACTION_BITS) : '0);
  kiln_round_up #(
      .ROUNDING(ROUNDING),
      .REST_BITS(REST_BITS)
  ) round (
      .negative(negative),
      .odd(cut[0]),
      .rest(rest),
      .random(random),
      .up(up)
  );

  // Directed rounding to smaller magnitudes never exceeds the greatest number, except for infinity
  // itself.
  logic held;
  assign held = !infinite && (ROUNDING == kiln_format_pkg::ROUND_TOWARD_ZERO ||
      (ROUNDING == kiln_format_pkg::ROUND_DOWN && !negative));
  assign beyond = infinite || (!least && (wide_exponent > MOST_EXPONENT || magnitude > GREATEST));

  logic [BITS-1:0] unsigned_code;
  always_comb begin
    if (beyond) unsigned_code = held ? BITS'(GREATEST) : OVERFLOWED;
    else if (least) unsigned_code = '0;
    else unsigned_code = BITS'(magnitude);

    if (nan) code = NAN;
    else if (negative && !SIGNED) code = '0;
    else if (beyond && !held && OVERFLOWS_TO_NAN) code = NAN;
    else if (!negative || (SPECIALS == kiln_format_pkg::SPECIALS_FNUZ && unsigned_code == '0))
      code = unsigned_code;
    else code = unsigned_code | SIGN;
  end

`ifndef SYNTHESIS
  // The part of the magnitude that the exponent and the leading bit of a normal number make up.
  logic [MAGNITUDE_BITS-1:0] unrounded_field;
  always_comb begin
    unrounded_field = MAGNITUDE_BITS'(steps_above) +
        MAGNITUDE_BITS'(LOW == kiln_format_pkg::LOW_NORMAL ? 0 : 1);
    places_within_width : assert (32'(places) <= WIDTH);
    // Rounding raises the exponent by one at most, and a number below the normal ones to the least
    // of them at most.
    carries_once : assert (nan || infinite || least || low || wide_exponent > MOST_EXPONENT ||
        (magnitude >> FRACTION_BITS) - unrounded_field <= MAGNITUDE_BITS'(1));
    rounds_to_least_normal : assert (nan || infinite || least || !low ||
        magnitude <= MAGNITUDE_BITS'(1 << FRACTION_BITS));
  end
`endif

endmodule
