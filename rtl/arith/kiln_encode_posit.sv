// kiln_encode for posits: rounds the bit string (Posit Standard, 2022, section 4). A number is
// never rounded to zero or to NaR.
module kiln_encode_posit #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::POSIT8_1,
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

  localparam int ES = kiln_format_pkg::exponent_bits(FORMAT);
  localparam int ROUNDING = kiln_format_pkg::rounding(FORMAT);
  localparam int BODY_BITS = BITS - 1;
  localparam int RANGE_BITS = kiln_format_pkg::max(EXPONENT_BITS, ES + 7) + 1;
  localparam logic signed [RANGE_BITS-1:0] MOST_REGIME = RANGE_BITS'(BITS - 2);

  // The bit string for regime 0 or -1: two regime bits, exponent and fraction. A longer run shifts
  // it down.
  localparam int FRACTION_BITS = SIGNIFICAND_BITS - 1;
  localparam int STRING_BITS = 2 + ES + FRACTION_BITS;
  localparam int LEAST_REST = ROUNDING == kiln_format_pkg::ROUND_STOCHASTIC ? 33 : 2;
  localparam int WIDTH = kiln_format_pkg::max(STRING_BITS, BODY_BITS + LEAST_REST);
  localparam int REST_BITS = WIDTH - BODY_BITS;
  localparam int PLACE_BITS = $clog2(WIDTH + 1);

  logic signed [RANGE_BITS-1:0] wide_exponent, regime;
  logic above, too_large, too_small, up;
  logic [PLACE_BITS-1:0] places;
  logic [STRING_BITS-1:0] string_bits;
  logic [WIDTH-1:0] wide, shifted, filled;
  logic [SIGNIFICAND_BITS-1:0] fraction;
  logic [BODY_BITS-1:0] kept, magnitude;
  logic [REST_BITS-1:0] rest;

  assign wide_exponent = RANGE_BITS'(exponent);
  assign regime = wide_exponent >>> ES;
  assign above = regime >= 0;
  assign too_large = regime >= MOST_REGIME;
  assign too_small = regime < -MOST_REGIME;

  assign fraction = significand & ~({SIGNIFICAND_BITS{1'b1}} << FRACTION_BITS);
  if (ES == 0) begin : g_no_exponent
    assign string_bits = (STRING_BITS'({above, !above}) << FRACTION_BITS) | STRING_BITS'(fraction);
  end else begin : g_exponent
    assign string_bits = (STRING_BITS'({above, !above, wide_exponent[ES-1:0]}) << FRACTION_BITS) |
        STRING_BITS'(fraction);
  end

  assign wide = WIDTH'(string_bits) << (WIDTH - STRING_BITS);
  assign places = PLACE_BITS'(above ? regime : -regime - 1'b1);
  kiln_shift_right_sticky #(
      .WIDTH(WIDTH),
      .PLACE_BITS(PLACE_BITS)
  ) shift (
      .in(wide),
      .places(places),
      .out(shifted)
  );
  // A run of ones fills the positions into which the shift has moved zeros.
  assign filled = above ? ~({WIDTH{1'b1}} >> places) : '0;
  assign {kept, rest} = shifted | filled;
  kiln_round_up #(
      .ROUNDING(ROUNDING),
      .REST_BITS(REST_BITS)
  ) round (
      .negative(negative),
      .odd(kept[0]),
      .rest(rest),
      .random(random),
      .up(up)
  );

  always_comb begin
    if (too_large) magnitude = '1;
    else if (too_small) magnitude = BODY_BITS'(1);
    else magnitude = kept + BODY_BITS'(up);

    if (nan || infinite) code = {1'b1, {BODY_BITS{1'b0}}};
    else if (significand == '0) code = '0;
    else code = negative ? -{1'b0, magnitude} : {1'b0, magnitude};
  end

`ifndef SYNTHESIS
  always_comb begin
    places_within_width : assert (too_large || too_small || 32'(places) <= WIDTH);
    // A number is never rounded to zero or to NaR.
    number_stays_number : assert (nan || infinite || significand == '0 ||
        code[BODY_BITS-1:0] != '0);
    sign_stays : assert (nan || infinite || significand == '0 || code[BITS-1] == negative);
  end
`endif

endmodule
