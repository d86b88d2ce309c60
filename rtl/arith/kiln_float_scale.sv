// Returns number * scale in fp32: a number of a short float format times a number with fp32's
// exponents and the same or more fraction bits, each as the upper bits of an fp32 number. Nearest
// even, subnormal results are kept, every NaN is kiln_format_pkg::FP32_NAN.
//   SUBNORMAL_SCALES    0: a subnormal scale counts as zero
//   SUBNORMAL_PRODUCTS  0: a subnormal product becomes the least normal number
//   time      combinational, or with REGISTERED one cycle: inputs of a cycle with `advance` give
//             the product from the next cycle on
//   C++ twin  the product of two floats
module kiln_float_scale #(
    // kiln_format_pkg::is_short_float
    parameter kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::FP16,
    parameter int unsigned SCALE = 32,  // bits of a scale
    parameter bit SUBNORMAL_SCALES = 1'b1,
    parameter bit SUBNORMAL_PRODUCTS = 1'b1,
    parameter bit REGISTERED = 1'b0,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(FORMAT),
    localparam int unsigned FRACTION = NUMBER - 9
) (
    input  logic clock,
    input  logic advance,
    input  logic [NUMBER-1:0] number,
    input  logic [SCALE-1:0] scale,
    output logic [31:0] product
);
  localparam int unsigned SCALE_FRACTION = SCALE - 9;
  localparam int unsigned FULL = FRACTION + SCALE_FRACTION + 2;

  // ---- Multiply. A subnormal scale is normalised first.
  logic zero, number_top, scale_top, scale_low, is_nan, is_infinite, is_zero;
  logic [SCALE_FRACTION-1:0] scale_field, fraction;
  logic signed [9:0] scale_exponent, exponent;
  logic [FULL-1:0] exact;
  assign zero        = number[NUMBER-2:FRACTION] == '0;
  assign number_top  = number[NUMBER-2:FRACTION] == '1;
  assign scale_top   = scale[SCALE-2:SCALE_FRACTION] == '1;
  assign scale_low   = scale[SCALE-2:SCALE_FRACTION] == '0;
  assign scale_field = scale[SCALE_FRACTION-1:0];
  assign is_zero     = zero || (scale_low && (!SUBNORMAL_SCALES || scale_field == '0));
  assign is_infinite = number_top || scale_top;
  assign is_nan      = (number_top && number[FRACTION-1:0] != '0) ||
      (scale_top && scale_field != '0) || (is_infinite && is_zero);
  if (SUBNORMAL_SCALES) begin : g_subnormal
    localparam int SHIFT_BITS = SCALE_FRACTION > 1 ? $clog2(SCALE_FRACTION) : 1;
    logic [SHIFT_BITS-1:0] zeros;
    logic [SCALE_FRACTION-1:0] subnormal;
    always_comb begin
      zeros     = '0;
      subnormal = scale_field;
      for (int i = SHIFT_BITS - 1; i >= 0; i--) begin
        if ((1 << i) < SCALE_FRACTION && (subnormal >> (SCALE_FRACTION - (1 << i))) == '0) begin
          zeros[i]  = 1'b1;
          subnormal = subnormal << (1 << i);
        end
      end
      fraction       = scale_field;
      scale_exponent = signed'({2'd0, scale[SCALE-2:SCALE_FRACTION]}) - 10'sd127;
      if (scale_low) begin
        fraction       = subnormal << 1;
        scale_exponent = -10'sd127 - signed'({{(10 - SHIFT_BITS) {1'b0}}, zeros});
      end
    end
  end else begin : g_normal
    assign fraction       = scale_field;
    assign scale_exponent = signed'({2'd0, scale[SCALE-2:SCALE_FRACTION]}) - 10'sd127;
  end
  assign exact    = FULL'({1'b1, number[FRACTION-1:0]}) * FULL'({1'b1, fraction});
  assign exponent = signed'({2'd0, number[NUMBER-2:FRACTION]}) - 10'sd127 + scale_exponent;

  localparam int unsigned STATE = FULL + 10 + 4;
  logic [STATE-1:0] multiplied, state;
  assign multiplied = {
    is_nan, is_infinite, is_zero, number[NUMBER-1] ^ scale[SCALE-1], exponent, exact
  };
  if (REGISTERED) begin : g_register
    always_ff @(posedge clock) if (advance) state <= multiplied;
  end else begin : g_wire
    wire unused_clock = &{1'b0, clock, advance};
    assign state = multiplied;
  end

  // ---- Normalise and round.
  logic nan_now, infinite_now, zero_now, negative;
  logic signed [9:0] exponent_now, top;
  logic [FULL-1:0] exact_now, normal;
  logic below, over;
  logic [25:0] significand;  // 24 bits, guard, sticky
  logic [30:0] magnitude;
  assign {nan_now, infinite_now, zero_now, negative, exponent_now, exact_now} = state;
  assign normal = exact_now[FULL-1] ? exact_now : exact_now << 1;
  assign top    = exponent_now + signed'({9'd0, exact_now[FULL-1]});
  assign below  = top < -10'sd126;
  if (FULL > 25) begin : g_sticky
    assign significand = {normal[FULL-1-:25], normal[FULL-26:0] != '0};
  end else begin : g_exact
    assign significand = 26'(normal) << (26 - FULL);
  end
  if (SUBNORMAL_PRODUCTS) begin : g_subnormal_product
    logic signed [9:0] distance;
    logic [25:0] shifted, lost;
    assign distance = -10'sd126 - top;
    always_comb begin
      shifted = significand;
      lost    = '0;
      if (below) begin
        if (distance > 10'sd25) begin
          shifted = 26'd1;
        end else begin
          shifted = significand >> distance[4:0];
          lost    = significand << (5'd26 - distance[4:0]);
        end
      end
      if (lost != '0) shifted[0] = 1'b1;
      // Rounding up carries into the exponent field, out of subnormal numbers, too.
      magnitude = {below ? 8'd0 : top[7:0] + 8'd127, shifted[24:2]};
      if (shifted[1] && (shifted[0] || shifted[2])) magnitude = magnitude + 31'd1;
    end
    wire unused_top = &{1'b0, shifted[25]};
  end else begin : g_normal_product
    always_comb begin
      magnitude = {top[7:0] + 8'd127, significand[24:2]};
      if (significand[1] && (significand[0] || significand[2])) magnitude = magnitude + 31'd1;
      if (below) magnitude = {8'd1, 23'd0};
      // Half of the least subnormal number, or less, is zero.
      if (top < -10'sd150 || (top == -10'sd150 && normal[FULL-2:0] == '0)) magnitude = '0;
    end
    wire unused_top = &{1'b0, significand[25]};
  end
  assign over = infinite_now || (!below && (top > 10'sd127 || magnitude[30:23] == '1));
  always_comb begin
    product = {negative, magnitude};
    if (over) product = {negative, 8'hff, 23'd0};
    if (zero_now) product = {negative, 31'd0};
    if (nan_now) product = kiln_format_pkg::FP32_NAN;
  end
endmodule
