// Returns a + b, rounded to a short float format (kiln_float_round). Operands and result are
// numbers of FORMAT as the upper NUMBER bits of fp32 numbers.
//   time      combinational, or with REGISTERED one cycle: operands of a cycle with `advance` give
//             the sum from the next cycle on
//   specials  NaN, and the sum of both infinities, give NaN (zero in a format without NaN); a sum
//             of zero is -0 only if both operands are
//   C++ twin  the sum in fp32, rounded by kiln::FormatTable::Round (numerics/tables.h)
module kiln_float_add #(
    // kiln_format_pkg::is_short_float
    parameter kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::FP16,
    parameter bit REGISTERED = 1'b0,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(FORMAT),
    localparam int unsigned FRACTION = NUMBER - 9
) (
    input  logic clock,
    input  logic advance,
    input  logic [NUMBER-1:0] a,
    input  logic [NUMBER-1:0] b,
    output logic [NUMBER-1:0] sum
);
  // The sum of the aligned significands: a carry, FRACTION + 1 bits, and three bits below them, the
  // last of which is sticky.
  localparam int unsigned WIDTH = FRACTION + 5;
  localparam int unsigned STATE = WIDTH + 8 + 3;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(FORMAT);
  localparam logic [NUMBER-1:0] NAN = ROUNDING[50] ? NUMBER'(10'h1ff) << (FRACTION - 1) : '0;

  // ---- Align and add. The operand of the greater magnitude gives exponent and sign.
  logic swap, negative, subtract, is_nan, is_infinite;
  logic [NUMBER-1:0] greater;
  logic [NUMBER-2:0] lesser;  // its magnitude
  logic [7:0] field, distance;
  logic [FRACTION:0] greater_significand, lesser_significand;
  logic [FRACTION+3:0] aligned;
  // The lesser significand above zeros, shifted down by up to all its bits.
  logic [2*FRACTION+7:0] shifted;
  logic [WIDTH-1:0] total;
  assign swap     = b[NUMBER-2:0] > a[NUMBER-2:0];
  assign greater  = swap ? b : a;
  assign lesser   = swap ? a[NUMBER-2:0] : b[NUMBER-2:0];
  assign field    = greater[NUMBER-2:FRACTION];
  assign distance = field - lesser[NUMBER-2:FRACTION];
  assign greater_significand = {field != '0, greater[FRACTION-1:0]};
  assign lesser_significand = {lesser[NUMBER-2:FRACTION] != '0, lesser[FRACTION-1:0]};
  always_comb begin
    shifted = {lesser_significand, {(FRACTION + 7) {1'b0}}};
    if (distance < 8'(FRACTION + 4)) begin
      shifted = shifted >> distance[3:0];
    end else begin
      shifted    = '0;
      shifted[0] = lesser_significand[FRACTION];
    end
    aligned = {shifted[2*FRACTION+7-:FRACTION+3], shifted[FRACTION+4:0] != '0};
  end
  assign subtract = a[NUMBER-1] ^ b[NUMBER-1];
  assign total    = subtract ? {1'b0, greater_significand, 3'b000} - {1'b0, aligned} :
      {1'b0, greater_significand, 3'b000} + {1'b0, aligned};
  // Equal magnitudes of opposite signs give +0.
  assign negative = total == '0 ? a[NUMBER-1] && b[NUMBER-1] : greater[NUMBER-1];
  assign is_infinite = field == '1;
  assign is_nan   = is_infinite && (greater[FRACTION-1:0] != '0 ||
      (lesser[NUMBER-2:FRACTION] == '1 && subtract));

  // ---- Normalise and round.
  logic [STATE-1:0] aligned_state, state;
  assign aligned_state = {is_nan, is_infinite, negative, field, total};
  if (REGISTERED) begin : g_register
    always_ff @(posedge clock) if (advance) state <= aligned_state;
  end else begin : g_wire
    wire unused_clock = &{1'b0, clock, advance};
    assign state = aligned_state;
  end

  logic nan_now, infinite_now, negative_now;
  logic [7:0] field_now;
  logic [WIDTH-1:0] total_now, normal;
  logic [4:0] zeros;
  logic signed [9:0] exponent;
  logic [NUMBER-1:0] rounded;
  assign {nan_now, infinite_now, negative_now, field_now, total_now} = state;
  always_comb begin
    // The number of zeros above the leading one.
    zeros  = '0;
    normal = total_now;
    for (int i = 3; i >= 0; i--) begin
      if ((1 << i) < WIDTH && (normal >> (WIDTH - (1 << i))) == '0) begin
        zeros[i] = 1'b1;
        normal   = normal << (1 << i);
      end
    end
  end
  assign exponent = infinite_now ? 10'sd255 :
      signed'({2'd0, field_now}) - 10'sd126 - signed'({5'd0, zeros});
  kiln_float_round #(
      .FORMAT(FORMAT)
  ) round (
      .negative(negative_now),
      .exponent,
      .significand({normal[WIDTH-1-:FRACTION+2], normal[2:0] != '0}),
      .number(rounded)
  );
  always_comb begin
    sum = rounded;
    if (total_now == '0) sum = {negative_now, {(NUMBER - 1) {1'b0}}};
    if (nan_now) sum = NAN;
  end
endmodule
