// kiln_encode for integers and fixed point: value = code * 2^-fraction_bits.
module kiln_encode_integer #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::INT8,
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

  localparam int BINARY_PLACES = kiln_format_pkg::fraction_bits(FORMAT);
  localparam int ROUNDING = kiln_format_pkg::rounding(FORMAT);
  localparam bit SIGNED = kiln_format_pkg::is_signed(FORMAT);
  localparam bit NARROW = kiln_format_pkg::is_narrow(FORMAT);
  localparam bit WRAPS = kiln_format_pkg::overflow(FORMAT) == kiln_format_pkg::OVERFLOW_WRAP;

  // Greatest magnitudes of positive and of negative codes.
  localparam int MAGNITUDE_BITS = BITS + 1;
  localparam logic [MAGNITUDE_BITS-1:0] HALF = MAGNITUDE_BITS'(1) << (BITS - 1);
  localparam logic [MAGNITUDE_BITS-1:0] MOST = SIGNED ? HALF - 1'b1 : {1'b0, {BITS{1'b1}}};
  localparam logic [MAGNITUDE_BITS-1:0] LEAST = !SIGNED ? '0 : NARROW ? HALF - 1'b1 : HALF;

  // The significand starts at the top of the kept bits and is shifted down to its bit position. The
  // kept bits are one more than a code has, so that larger numbers are recognised by their exponent
  // alone; formats that wrap keep all bits of a large number.
  localparam int KEPT_BITS = WRAPS ? BITS + SIGNIFICAND_BITS : MAGNITUDE_BITS;
  localparam int LEAST_REST = ROUNDING == kiln_format_pkg::ROUND_STOCHASTIC ? 33 : 2;
  localparam int WIDTH = kiln_format_pkg::max(SIGNIFICAND_BITS, KEPT_BITS + LEAST_REST);
  localparam int REST_BITS = WIDTH - KEPT_BITS;
  localparam int PLACE_BITS = $clog2(WIDTH + 1);
  localparam int RANGE_BITS = kiln_format_pkg::max(EXPONENT_BITS, 9) + 1;
  localparam logic signed [RANGE_BITS-1:0] TOP = RANGE_BITS'(KEPT_BITS - 1 - BINARY_PLACES);

  logic signed [RANGE_BITS-1:0] down;
  logic beyond, up;
  logic [PLACE_BITS-1:0] places;
  logic [WIDTH-1:0] wide, shifted;
  logic [KEPT_BITS-1:0] kept;
  logic [REST_BITS-1:0] rest;
  logic [MAGNITUDE_BITS-1:0] magnitude, most;

  assign down = TOP - RANGE_BITS'(exponent);
  assign beyond = down < 0;
  assign places = down > RANGE_BITS'(WIDTH) ? PLACE_BITS'(WIDTH) : PLACE_BITS'(down);
  assign wide = WIDTH'(significand) << (WIDTH - SIGNIFICAND_BITS);
  kiln_shift_right_sticky #(
      .WIDTH(WIDTH),
      .PLACE_BITS(PLACE_BITS)
  ) shift (
      .in(wide),
      .places(places),
      .out(shifted)
  );
  assign {kept, rest} = shifted;
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

  assign most = negative ? LEAST : MOST;
  if (WRAPS) begin : g_wrap
    // A number beyond the kept bits has only zeros in the bit positions of a code.
    assign magnitude =
        infinite ? most : beyond ? '0 : kept[MAGNITUDE_BITS-1:0] + MAGNITUDE_BITS'(up);
    wire unused_carries = &{1'b0, kept};
  end else begin : g_saturate
    // If the top bit of `kept` is set, the number is beyond every code; rounding up does not change
    // that.
    logic [MAGNITUDE_BITS:0] rounded;
    assign rounded = {1'b0, kept} + (MAGNITUDE_BITS + 1)'(up);
    assign magnitude =
        infinite || beyond || rounded > {1'b0, most} ? most : rounded[MAGNITUDE_BITS-1:0];
  end

  always_comb begin
    if (nan || (significand == '0 && !infinite)) code = '0;
    else code = BITS'(negative ? -magnitude : magnitude);
  end

`ifndef SYNTHESIS
  always_comb begin
    places_within_width : assert (beyond || 32'(places) <= WIDTH);
    if (SIGNED && !WRAPS) begin
      sign_stays : assert (code == '0 || code[BITS-1] == negative);
      narrow_without_least_code : assert (!NARROW || code != HALF[BITS-1:0]);
    end
  end
`endif

endmodule
