// Returns a * b, rounded to a short float format (kiln_float_round). Operands and result are the
// upper NUMBER bits of fp32 numbers. The result is a number of FORMAT; the operands may have any
// exponent of fp32, and a subnormal operand counts as zero.
//   time      combinational, or with REGISTERED one cycle: operands of a cycle with `advance` give
//             the product from the next cycle on
//   specials  NaN, and infinity times zero, give NaN (zero in a format without NaN)
//   C++ twin  the product in fp32, rounded by kiln::FormatTable::Round (numerics/tables.h)
module kiln_float_multiply #(
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
    output logic [NUMBER-1:0] product
);
  localparam int unsigned FULL = 2 * FRACTION + 2;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(FORMAT);
  localparam logic [NUMBER-1:0] NAN = ROUNDING[50] ? NUMBER'(10'h1ff) << (FRACTION - 1) : '0;

  logic a_zero, b_zero, a_top, b_top, a_nan, b_nan;
  assign a_zero = a[NUMBER-2:FRACTION] == '0;
  assign b_zero = b[NUMBER-2:FRACTION] == '0;
  assign a_top  = a[NUMBER-2:FRACTION] == '1;
  assign b_top  = b[NUMBER-2:FRACTION] == '1;
  assign a_nan  = a_top && a[FRACTION-1:0] != '0;
  assign b_nan  = b_top && b[FRACTION-1:0] != '0;

  // The product of two significands is from 1 to below 4.
  logic [FULL-1:0] exact;
  logic signed [9:0] exponent;  // of the product if it is below 2
  logic is_infinite, is_nan, is_zero;
  assign exact   = FULL'({1'b1, a[FRACTION-1:0]}) * FULL'({1'b1, b[FRACTION-1:0]});
  assign exponent =
      signed'({2'd0, a[NUMBER-2:FRACTION]}) + signed'({2'd0, b[NUMBER-2:FRACTION]}) - 10'sd254;
  assign is_infinite = a_top || b_top;
  assign is_zero = a_zero || b_zero;
  assign is_nan  = a_nan || b_nan || (a_top && b_zero) || (b_top && a_zero);

  localparam int unsigned STATE = FULL + 10 + 4;
  logic [STATE-1:0] multiplied, state;
  assign multiplied = {
    is_nan, is_zero, is_infinite, a[NUMBER-1] ^ b[NUMBER-1], exponent, exact
  };
  if (REGISTERED) begin : g_register
    always_ff @(posedge clock) if (advance) state <= multiplied;
  end else begin : g_wire
    wire unused_clock = &{1'b0, clock, advance};
    assign state = multiplied;
  end

  logic nan_now, zero_now, infinite_now, negative;
  logic signed [9:0] exponent_now, top;
  logic [FULL-1:0] exact_now;
  logic [FULL:0] normal;  // with the leading one on top, and a zero below
  logic [FRACTION+2:0] significand;
  logic [NUMBER-1:0] rounded;
  assign {nan_now, zero_now, infinite_now, negative, exponent_now, exact_now} = state;
  assign normal      = exact_now[FULL-1] ? {exact_now, 1'b0} : {exact_now[FULL-2:0], 2'b00};
  // An infinite operand's exponent makes any product but those by zero overflow.
  assign top = infinite_now ? 10'sd255 : exponent_now + signed'({9'd0, exact_now[FULL-1]});
  assign significand = {normal[FULL-:FRACTION+2], normal[FULL-FRACTION-2:0] != '0};
  kiln_float_round #(
      .FORMAT(FORMAT)
  ) round (
      .negative,
      .exponent(top),
      .significand,
      .number(rounded)
  );
  always_comb begin
    product = rounded;
    if (zero_now) product = {negative && ROUNDING[49], {(NUMBER - 1) {1'b0}}};
    if (nan_now) product = NAN;
  end
endmodule
