// Adds the sum of a row tile to an accumulator:
//   accumulation_out = round(accumulation_in + psum * scale)
//
//   integer accumulator   wraps modulo 2^bits and uses no scale
//   quire                 adds two quires exactly and uses no scale
//   other accumulator     multiplies by the scale exactly and rounds the sum once; an integer psum
//                         or a quire is first converted to fp32 (nearest even)
//   time                  LATENCY - 1 cycles: an exact sum has LATENCY 1 and is combinational;
//                         others have 1, 2 (a register within the sum) or 3 (registers before the
//                         sum, too: behind psum * scale and the decoded accumulation_in). Inputs of
//                         a cycle with `advance` give accumulation_out LATENCY - 1 cycles later,
//                         until the sum of the next such cycle.
//   C++ twin              kiln::AccumulationStep (numerics/mac.h)
module kiln_accumulate #(
    parameter  kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter  kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    // row tiles have scales (microscaling); otherwise `scale` is ignored
    parameter  bit SCALED = 1'b0,
    // a scale is the product of two codes of this format, or one of them
    parameter  kiln_format_pkg::format_t SCALE_FORMAT = kiln_format_pkg::FP32,
    parameter  int unsigned LATENCY = 1,
    localparam int SCALE_WIDTH = kiln_format_pkg::scale_product_bits(SCALE_FORMAT),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT),
    localparam int ACCUMULATION_BITS = kiln_format_pkg::bits(ACCUMULATION_FORMAT)
) (
    input  logic                         clock,
    input  logic                         advance,
    input  logic [        PSUM_BITS-1:0] psum,              // a code of PSUM_FORMAT
    input  logic [      SCALE_WIDTH-1:0] scale,             // fp32, or a kiln_format_pkg::power_t
    input  logic [ACCUMULATION_BITS-1:0] accumulation_in,   // codes of ACCUMULATION_FORMAT
    output logic [ACCUMULATION_BITS-1:0] accumulation_out
);

  localparam bit INTEGER =
      kiln_format_pkg::kind(ACCUMULATION_FORMAT) == kiln_format_pkg::KIND_INTEGER;

  if ((INTEGER || kiln_format_pkg::kind(ACCUMULATION_FORMAT) == kiln_format_pkg::KIND_QUIRE) &&
      LATENCY != 1) begin : g_no_latency
    $error("kiln_accumulate: an exact sum takes one cycle");
  end

  if (INTEGER) begin : g_integer
    localparam int BITS = PSUM_BITS > ACCUMULATION_BITS ? PSUM_BITS : ACCUMULATION_BITS;
    logic [BITS-1:0] sum;
    assign sum = BITS'(signed'(accumulation_in)) + BITS'(signed'(psum));
    assign accumulation_out = sum[ACCUMULATION_BITS-1:0];
    if (BITS > ACCUMULATION_BITS) begin : g_wrapped
      wire unused_carries = &{1'b0, sum[BITS-1:ACCUMULATION_BITS]};
    end
    wire unused_scale = &{1'b0, scale, clock, advance};
    if (SCALED) begin : g_no_scales
      $error("kiln_accumulate: integer accumulations take no scale");
    end
  end else if (kiln_format_pkg::kind(ACCUMULATION_FORMAT) ==
      kiln_format_pkg::KIND_QUIRE) begin : g_quire
    localparam int SUM_BITS = ACCUMULATION_BITS - kiln_format_pkg::QUIRE_FLAGS;
    assign accumulation_out = {
      accumulation_in[ACCUMULATION_BITS-1:SUM_BITS] | psum[PSUM_BITS-1:SUM_BITS],
      accumulation_in[SUM_BITS-1:0] + psum[SUM_BITS-1:0]
    };
    wire unused_scale = &{1'b0, scale, clock, advance};
    if (PSUM_BITS != ACCUMULATION_BITS || SCALED) begin : g_no_other
      $error("kiln_accumulate: a quire takes quires of its own kind, and no scale");
    end
  end else begin : g_real
    // The term before scaling: the psum, converted to fp32 if it is a quire or an integer. Integers
    // of up to 24 bits are exact in fp32.
    localparam bit CONVERTED =
        (kiln_format_pkg::kind(PSUM_FORMAT) == kiln_format_pkg::KIND_INTEGER && PSUM_BITS > 24) ||
        kiln_format_pkg::kind(PSUM_FORMAT) == kiln_format_pkg::KIND_QUIRE;
    localparam int TERM_BITS = CONVERTED ? 24 : kiln_format_pkg::significand_bits(PSUM_FORMAT);
    localparam int TERM_EXPONENT_BITS =
        CONVERTED ? 9 : kiln_format_pkg::number_exponent_bits(PSUM_FORMAT);
    logic term_nan, term_infinite, term_negative;
    logic signed [TERM_EXPONENT_BITS-1:0] term_exponent;
    logic [TERM_BITS-1:0] term_significand;
    if (CONVERTED) begin : g_converted
      logic [31:0] value;
      kiln_decode_to_fp32 #(.FORMAT(PSUM_FORMAT)) convert (
          .code(psum),
          .value(value)
      );
      kiln_decode #(.FORMAT(kiln_format_pkg::FP32)) decode (
          .code(value),
          .nan(term_nan),
          .infinite(term_infinite),
          .negative(term_negative),
          .exponent(term_exponent),
          .significand(term_significand)
      );
    end else begin : g_psum
      kiln_decode #(.FORMAT(PSUM_FORMAT)) decode (
          .code(psum),
          .nan(term_nan),
          .infinite(term_infinite),
          .negative(term_negative),
          .exponent(term_exponent),
          .significand(term_significand)
      );
    end

    // Significant bits of a scale: powers of two have one, and the product of two numbers has the
    // bits of both.
    localparam int FACTOR_BITS = kiln_format_pkg::significand_bits(SCALE_FORMAT);
    localparam int SCALE_BITS = FACTOR_BITS == 1 ? 1 : 2 * FACTOR_BITS < 24 ? 2 * FACTOR_BITS : 24;
    // What is added to the accumulator.
    localparam int ADDED_BITS = SCALED ? TERM_BITS + SCALE_BITS : TERM_BITS;
    localparam int ADDED_EXPONENT_BITS =
        SCALED ? kiln_format_pkg::product_exponent_bits(TERM_EXPONENT_BITS, 9) : TERM_EXPONENT_BITS;
    logic product_nan, product_infinite, product_negative;
    logic signed [ADDED_EXPONENT_BITS-1:0] product_exponent;
    logic [ADDED_BITS-1:0] product_significand;
    if (SCALED) begin : g_scaled
      logic scale_nan, scale_infinite, scale_negative;
      logic signed [9-1:0] scale_exponent;
      logic [24-1:0] scale_significand;
      if (kiln_format_pkg::is_power_of_two(SCALE_FORMAT)) begin : g_power
        logic scale_zero;
        assign {scale_nan, scale_infinite, scale_zero, scale_exponent} = scale;
        assign scale_negative    = 1'b0;
        assign scale_significand = {!scale_zero, 23'd0};
      end else begin : g_fp32
        kiln_decode #(.FORMAT(kiln_format_pkg::FP32)) decode_scale (
            .code(scale),
            .nan(scale_nan),
            .infinite(scale_infinite),
            .negative(scale_negative),
            .exponent(scale_exponent),
            .significand(scale_significand)
        );
      end
      if (SCALE_BITS < 24) begin : g_short_scale
        wire unused_places = &{1'b0, scale_significand};
      end
      kiln_number_multiply #(
          .A_SIGNIFICAND_BITS(TERM_BITS),
          .A_EXPONENT_BITS(TERM_EXPONENT_BITS),
          .B_SIGNIFICAND_BITS(SCALE_BITS),
          .B_EXPONENT_BITS(9)
      ) multiply (
          .a_nan(term_nan),
          .a_infinite(term_infinite),
          .a_negative(term_negative),
          .a_exponent(term_exponent),
          .a_significand(term_significand),
          .b_nan(scale_nan),
          .b_infinite(scale_infinite),
          .b_negative(scale_negative),
          .b_exponent(scale_exponent),
          .b_significand(scale_significand[23-:SCALE_BITS]),
          .nan(product_nan),
          .infinite(product_infinite),
          .negative(product_negative),
          .exponent(product_exponent),
          .significand(product_significand)
      );
    end else begin : g_unscaled
      assign product_nan = term_nan;
      assign product_infinite = term_infinite;
      assign product_negative = term_negative;
      assign product_exponent = term_exponent;
      assign product_significand = term_significand;
      wire unused_scale = &{1'b0, scale};
    end

    logic added_nan, added_infinite, added_negative;
    logic signed [ADDED_EXPONENT_BITS-1:0] added_exponent;
    logic [ADDED_BITS-1:0] added_significand;
    logic sum_advance;
    if (LATENCY > 2) begin : g_term_register
      always_ff @(posedge clock) begin
        sum_advance <= advance;
        if (advance) begin
          added_nan         <= product_nan;
          added_infinite    <= product_infinite;
          added_negative    <= product_negative;
          added_exponent    <= product_exponent;
          added_significand <= product_significand;
        end
      end
    end else begin : g_term_wire
      assign added_nan = product_nan;
      assign added_infinite = product_infinite;
      assign added_negative = product_negative;
      assign added_exponent = product_exponent;
      assign added_significand = product_significand;
      assign sum_advance = advance;
    end

    kiln_add_to_code #(
        .FORMAT(ACCUMULATION_FORMAT),
        .SIGNIFICAND_BITS(ADDED_BITS),
        .EXPONENT_BITS(ADDED_EXPONENT_BITS),
        .REGISTERED(LATENCY > 1),
        .CODE_REGISTERED(LATENCY > 2)
    ) add (
        .clock,
        .advance(sum_advance),
        .code_advance(advance),
        .nan(added_nan),
        .infinite(added_infinite),
        .negative(added_negative),
        .exponent(added_exponent),
        .significand(added_significand),
        .code_in(accumulation_in),
        .code_out(accumulation_out)
    );
  end

endmodule
