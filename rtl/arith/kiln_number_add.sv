// Adds two numbers in the form of kiln_decode. Bits that do not fit into the significand set its
// lowest bit (sticky), so that one later rounding to RESULT_BITS significant bits or fewer gives
// the rounding of the exact sum. A sum of opposite numbers is +0; a sum of two zeros is -0 only if
// both are; opposite infinities give NaN.
//
//   time       combinational, or with REGISTERED one cycle: terms of a cycle with `advance` give
//              the sum from the next cycle on, until the next such cycle
//   C++ twin   kiln::Add (numerics/exact.h)
module kiln_number_add #(
    parameter  int A_SIGNIFICAND_BITS = 48,
    parameter  int A_EXPONENT_BITS = 11,
    parameter  int B_SIGNIFICAND_BITS = 24,
    parameter  int B_EXPONENT_BITS = 9,
    parameter  int RESULT_BITS = 24,
    parameter  bit REGISTERED = 1'b0,
    localparam int SIGNIFICAND_BITS =
        kiln_format_pkg::sum_bits(A_SIGNIFICAND_BITS, B_SIGNIFICAND_BITS, RESULT_BITS),
    localparam int EXPONENT_BITS =
        kiln_format_pkg::sum_exponent_bits(A_EXPONENT_BITS, B_EXPONENT_BITS, SIGNIFICAND_BITS)
) (
    input  logic                        clock,
    input  logic                        advance,
    input  logic                        a_nan,
    input  logic                        a_infinite,
    input  logic                        a_negative,
    input  logic signed [A_EXPONENT_BITS-1:0] a_exponent,
    input  logic [A_SIGNIFICAND_BITS-1:0] a_significand,
    input  logic                        b_nan,
    input  logic                        b_infinite,
    input  logic                        b_negative,
    input  logic signed [B_EXPONENT_BITS-1:0] b_exponent,
    input  logic [B_SIGNIFICAND_BITS-1:0] b_significand,
    output logic                        nan,
    output logic                        infinite,
    output logic                        negative,
    output logic signed [EXPONENT_BITS-1:0] exponent,
    output logic [SIGNIFICAND_BITS-1:0] significand
);

  // Terms are aligned to the top of TERM_BITS; one bit above holds the carry. If their exponents
  // differ by 2 or more, the leading bit of a difference moves down by at most one bit, and the
  // bits that are shifted out are below the half bit of a rounding to RESULT_BITS. If the exponents
  // differ by less, no bit is shifted out.
  localparam int TERM_BITS = SIGNIFICAND_BITS - 1;
  localparam int PLACE_BITS = $clog2(TERM_BITS + 1);

  logic a_zero, b_zero, a_greater, greater_negative, subtract;
  logic [TERM_BITS-1:0] a_term, b_term, greater, lesser, aligned;
  logic signed [EXPONENT_BITS-1:0] a_wide, b_wide, greater_exponent, distance;
  logic [PLACE_BITS-1:0] places;
  logic [$clog2(SIGNIFICAND_BITS)-1:0] cancelled;
  logic [SIGNIFICAND_BITS-1:0] sum;
  logic unused_carry;

  assign a_zero = a_significand == '0;
  assign b_zero = b_significand == '0;
  assign a_term = TERM_BITS'(a_significand) << (TERM_BITS - A_SIGNIFICAND_BITS);
  assign b_term = TERM_BITS'(b_significand) << (TERM_BITS - B_SIGNIFICAND_BITS);
  assign a_wide = EXPONENT_BITS'(a_exponent);
  assign b_wide = EXPONENT_BITS'(b_exponent);

  // The greater magnitude is not shifted. A zero is always the lesser one, whatever its exponent.
  assign a_greater =
      b_zero || (!a_zero && (a_wide > b_wide || (a_wide == b_wide && a_term >= b_term)));
  assign greater = a_greater ? a_term : b_term;
  assign lesser = a_greater ? b_term : a_term;
  assign greater_negative = a_greater ? a_negative : b_negative;
  assign greater_exponent = a_greater ? a_wide : b_wide;
  assign distance = a_greater ? a_wide - b_wide : b_wide - a_wide;
  assign places = distance < 0 || distance > EXPONENT_BITS'(TERM_BITS) ? PLACE_BITS'(TERM_BITS) :
      PLACE_BITS'(distance);
  kiln_shift_right_sticky #(
      .WIDTH(TERM_BITS),
      .PLACE_BITS(PLACE_BITS)
  ) align (
      .in(lesser),
      .places(places),
      .out(aligned)
  );

  assign subtract = a_negative != b_negative;
  // One adder: the lowest bit carries the one that a two's complement needs.
  assign {sum, unused_carry} =
      {1'b0, greater, 1'b1} + {{1'b0, aligned} ^ {SIGNIFICAND_BITS{subtract}}, subtract};

  logic sum_nan, sum_infinite, sum_negative;
  assign sum_nan = a_nan || b_nan || (a_infinite && b_infinite && subtract);
  assign sum_infinite = (a_infinite || b_infinite) && !sum_nan;
  always_comb begin
    if (a_infinite) sum_negative = a_negative;
    else if (b_infinite) sum_negative = b_negative;
    else sum_negative = greater_negative;
  end

  // The sum before it is normalised, with the signs of a number and of a zero.
  localparam int STATE_BITS = 4 + EXPONENT_BITS + SIGNIFICAND_BITS;
  logic [STATE_BITS-1:0] added, state;
  logic number_negative, zero_negative;
  logic signed [EXPONENT_BITS-1:0] raw_exponent;
  logic [SIGNIFICAND_BITS-1:0] raw;
  assign added = {
    sum_nan, sum_infinite, sum_negative, a_negative && b_negative, greater_exponent, sum
  };
  if (REGISTERED) begin : g_register
    always_ff @(posedge clock) begin
      if (advance) state <= added;
    end
  end else begin : g_wire
    wire unused_clock = &{1'b0, clock, advance};
    assign state = added;
  end
  assign {nan, infinite, number_negative, zero_negative, raw_exponent, raw} = state;
  assign negative = raw == '0 && !infinite ? zero_negative : number_negative;

  kiln_normalise #(.WIDTH(SIGNIFICAND_BITS)) normalise (
      .in(raw),
      .out(significand),
      .places(cancelled)
  );
  assign exponent = raw_exponent + 1'b1 - EXPONENT_BITS'(signed'({1'b0, cancelled}));

`ifndef SYNTHESIS
  // Significands lead with one. Registers without a reset hold other bits until their first use;
  // no sum of these is used.
  logic finite, terms_lead, state_leads;
  logic signed [31:0] whole_exponent;  // before it is cut to EXPONENT_BITS
  assign terms_lead = (a_zero || a_significand[A_SIGNIFICAND_BITS-1]) &&
      (b_zero || b_significand[B_SIGNIFICAND_BITS-1]);
  if (REGISTERED) begin : g_later
    logic led;
    initial led = 1'b0;
    always_ff @(posedge clock) if (advance) led <= terms_lead;
    assign state_leads = led;
  end else begin : g_now
    assign state_leads = terms_lead;
  end
  always_comb begin
    finite = !a_nan && !b_nan && !a_infinite && !b_infinite;
    whole_exponent = 32'(raw_exponent) + 1 - signed'(32'(cancelled));
    places_within_width : assert (32'(places) <= TERM_BITS);
    // A difference is never below zero, because the greater magnitude comes first.
    greater_first : assert (!finite || !terms_lead || !subtract || !sum[SIGNIFICAND_BITS-1]);
    exponent_in_range :
    assert (nan || infinite || raw == '0 || !state_leads || 32'(exponent) == whole_exponent);
  end
`endif

endmodule
