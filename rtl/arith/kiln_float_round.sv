// Rounds a normalised number to a short float format, to nearest, ties to even.
//   value     (-1)^negative * significand * 2^(exponent - FRACTION - 2): the significand has its
//             leading one on top, then FRACTION bits, a guard bit and a sticky bit
//   number    the number of FORMAT as the upper NUMBER bits of an fp32 number. Below the least
//             normal number the format's subnormal numbers, or zero if it has none: then a number
//             of more than half the least normal number becomes that number.
//   time      combinational
//   C++ twin  kiln::FormatTable::Round (numerics/tables.h)
module kiln_float_round #(
    // kiln_format_pkg::is_short_float
    parameter kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::FP16,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(FORMAT),
    localparam int unsigned FRACTION = NUMBER - 9
) (
    input  logic negative,
    input  logic signed [9:0] exponent,  // of the leading one
    input  logic [FRACTION+2:0] significand,
    output logic [NUMBER-1:0] number
);
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(FORMAT);
  localparam logic [30:0] GREATEST = ROUNDING[30:0];
  localparam logic signed [9:0] LEAST = ROUNDING[45:36];
  localparam bit FLUSHES = ROUNDING[48];
  localparam bit HAS_MINUS_ZERO = ROUNDING[49];
  localparam logic [30:0] BEYOND =
      ROUNDING[51] ? 31'h7f80_0000 : ROUNDING[52] ? 31'h7fc0_0000 : GREATEST;
  localparam int unsigned BITS = FRACTION + 12;  // exponent field, fraction, guard, sticky

  if (!kiln_format_pkg::is_short_float(FORMAT)) begin : g_check
    $error("kiln_float_round: FORMAT is no short float");
  end

  // Larger magnitudes have larger bit patterns, so that rounding up carries into the exponent.
  logic signed [9:0] field;
  logic [BITS-1:0] pattern, rounded;
  logic below, far_below, over;
  assign field     = exponent + 10'sd127;
  assign pattern   = {field, significand[FRACTION+1:0]};
  assign below     = exponent < LEAST;
  wire unused_one = significand[FRACTION+2];

  if (FLUSHES) begin : g_flush
    assign far_below = below && !(exponent == LEAST - 10'sd1 &&
        significand[FRACTION+1:0] != '0);
    always_comb begin
      rounded = pattern + BITS'(1) + BITS'(significand[2]);
      if (below) rounded = {LEAST + 10'sd127, {(FRACTION + 2) {1'b0}}};
    end
  end else begin : g_subnormal
    // `places` bits are dropped: two, and one more for each power of two below the least normal
    // number.
    localparam logic signed [9:0] FARTHEST = 10'(FRACTION + 1);
    logic signed [9:0] distance;
    logic [4:0] places;
    logic [BITS-1:0] mask, kept;
    logic odd;
    assign distance  = LEAST - exponent;
    // Half the least subnormal number, or less, is zero.
    assign far_below = below && (distance > FARTHEST ||
        (distance == FARTHEST && significand[FRACTION+1:0] == '0));
    assign places    = below ? 5'd2 + distance[4:0] : 5'd2;
    assign mask      = ~({BITS{1'b1}} << places);
    // With all fraction bits dropped, the leading one is the lowest bit that is kept.
    assign kept      = pattern >> places;
    assign odd       = places == 5'(FRACTION + 2) || kept[0];
    wire unused_kept = &{1'b0, kept};
    always_comb begin
      rounded = (pattern + (mask >> 1) + BITS'(odd)) & ~mask;
      // A number between half the least subnormal number and the whole rounds up.
      if (places == 5'(FRACTION + 3))
        rounded = {field + 10'sd1, {(FRACTION + 2) {1'b0}}};
    end
  end

  logic [30:0] magnitude;
  always_comb begin
    magnitude = '0;
    magnitude[30-:NUMBER-1] = rounded[NUMBER:2];
    over = !below && (field >= 10'sd255 || rounded[BITS-1:BITS-2] != '0 || magnitude > GREATEST);
    if (far_below) magnitude = '0;
    else if (over) magnitude = BEYOND;
    number = {negative && (HAS_MINUS_ZERO || magnitude != '0) && !(over && ROUNDING[52]),
        magnitude[30-:NUMBER-1]};
  end
  wire unused_rounded = &{1'b0, rounded, magnitude};
endmodule
