// Returns a / b, rounded to a short float format (kiln_float_round): the quotient's bits by
// restoring division, spread over REGISTERS + 1 cycles. Operands and result are numbers of FORMAT
// as the upper NUMBER bits of fp32 numbers.
//   time      Operands of a cycle with `advance` give the quotient REGISTERS such cycles later; one
//             division per cycle. With REGISTERS = 0 the module is combinational.
//   specials  NaN, 0 / 0 and infinity / infinity give NaN (zero in a format without NaN); x / 0 is
//             infinite, or what the format has in its place
//   C++ twin  the quotient in fp32, rounded by kiln::FormatTable::Round (numerics/tables.h)
module kiln_float_divide #(
    // kiln_format_pkg::is_short_float
    parameter kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::FP16,
    parameter int unsigned REGISTERS = 0,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(FORMAT),
    localparam int unsigned FRACTION = NUMBER - 9
) (
    input  logic clock,
    input  logic advance,
    input  logic [NUMBER-1:0] a,
    input  logic [NUMBER-1:0] b,
    output logic [NUMBER-1:0] quotient
);
  // The quotient of two significands is between 1/2 and 2. Its bits from 1 down give a significand
  // with a guard bit in either case; the remainder is sticky.
  localparam int unsigned STEPS = FRACTION + 3;
  localparam int unsigned PER_CYCLE = (STEPS + REGISTERS) / (REGISTERS + 1);
  localparam int unsigned SPECIAL = 3;  // NaN, infinite, zero
  localparam int unsigned STATE = SPECIAL + 1 + 10 + (FRACTION + 1) + (FRACTION + 2) + STEPS;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(FORMAT);
  localparam logic [NUMBER-1:0] NAN = ROUNDING[50] ? NUMBER'(10'h1ff) << (FRACTION - 1) : '0;

  logic a_zero, b_zero, a_top, b_top, is_nan, is_infinite, is_zero;
  logic signed [9:0] distance;
  assign a_zero      = a[NUMBER-2:FRACTION] == '0;
  assign b_zero      = b[NUMBER-2:FRACTION] == '0;
  assign a_top       = a[NUMBER-2:FRACTION] == '1;
  assign b_top       = b[NUMBER-2:FRACTION] == '1;
  assign is_nan      = (a_top && a[FRACTION-1:0] != '0) || (b_top && b[FRACTION-1:0] != '0) ||
      (a_zero && b_zero) || (a_top && b_top);
  assign is_infinite = a_top || b_zero;
  assign is_zero     = a_zero || b_top;
  assign distance    = signed'({2'd0, a[NUMBER-2:FRACTION]}) -
      signed'({2'd0, b[NUMBER-2:FRACTION]});

  // Segment i computes PER_CYCLE bits; state i is its input. A state holds the specials, the sign,
  // the exponent, the divisor, the remainder (below twice the divisor), and the bits found so far.
  logic [(REGISTERS+1)*STATE-1:0] given, found;
  assign given[0+:STATE] = {is_nan, is_infinite, is_zero, a[NUMBER-1] ^ b[NUMBER-1], distance,
      1'b1, b[FRACTION-1:0], 2'b01, a[FRACTION-1:0], {STEPS{1'b0}}};
  for (genvar i = 0; i <= REGISTERS; i++) begin : g_segment
    localparam int FIRST = i * PER_CYCLE;
    localparam int BITS =
        FIRST >= STEPS ? 0 : FIRST + PER_CYCLE > STEPS ? STEPS - FIRST : PER_CYCLE;
    logic [SPECIAL+10:0] head;
    logic [FRACTION:0] divisor;
    logic [FRACTION+1:0] rest_before, rest;
    logic [STEPS-1:0] bits_before, bits;
    assign {head, divisor, rest_before, bits_before} = given[i*STATE+:STATE];
    always_comb begin
      rest = rest_before;
      bits = bits_before;
      for (int step = 0; step < BITS; step++) begin
        bits = bits << 1;
        if (rest >= {1'b0, divisor}) begin
          rest    = rest - {1'b0, divisor};
          bits[0] = 1'b1;
        end
        rest = rest << 1;
      end
    end
    assign found[i*STATE+:STATE] = {head, divisor, rest, bits};
    if (i < REGISTERS) begin : g_register
      logic [STATE-1:0] state;
      always_ff @(posedge clock) if (advance) state <= found[i*STATE+:STATE];
      assign given[(i+1)*STATE+:STATE] = state;
    end
  end

  logic nan_now, infinite_now, zero_now, negative;
  logic signed [9:0] distance_now, exponent;
  logic [FRACTION:0] divisor_now;
  logic [FRACTION+1:0] rest_now;
  logic [STEPS-1:0] bits_now, normal;
  logic [NUMBER-1:0] rounded;
  assign {nan_now, infinite_now, zero_now, negative, distance_now, divisor_now, rest_now,
      bits_now} = found[REGISTERS*STATE+:STATE];
  wire unused_divisor = &{1'b0, divisor_now};
  assign normal   = bits_now[STEPS-1] ? bits_now : bits_now << 1;
  assign exponent =
      infinite_now ? 10'sd255 : bits_now[STEPS-1] ? distance_now : distance_now - 10'sd1;
  kiln_float_round #(
      .FORMAT(FORMAT)
  ) round (
      .negative,
      .exponent,
      .significand({normal[STEPS-1:1], normal[0] || rest_now != '0}),
      .number(rounded)
  );
  always_comb begin
    quotient = rounded;
    if (zero_now) quotient = {negative && ROUNDING[49], {(NUMBER - 1) {1'b0}}};
    if (nan_now) quotient = NAN;
  end

  if (REGISTERS == 0) begin : g_combinational
    wire unused_clock = &{1'b0, clock, advance};
`ifndef SYNTHESIS
    always_comb begin
      rest_below_divisor : assert (is_nan || is_infinite || is_zero ||
          rest_now[FRACTION+1:1] < divisor_now);
    end
`endif
  end
endmodule
