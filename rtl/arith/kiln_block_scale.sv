// Computes the scale of a block of values (microscaling) from the block's greatest magnitude.
//
//   e8m0 scales     2^(exponent of the greatest magnitude - exponent of the greatest element)
//   other floats    fp32(greatest magnitude / greatest element), encoded with saturation; the least
//                   positive scale if that is zero
//   infinity, NaN   the NaN scale, or the greatest scale in a format without NaN
//   time            combinational
//   C++ twin        kiln::BlockCodec::ScaleCode and kiln::InverseBlockScale
//                   (numerics/microscaling.h)
module kiln_block_scale #(
    parameter  kiln_format_pkg::format_t ELEMENT_FORMAT = kiln_named_formats_pkg::E4M3,
    parameter  kiln_format_pkg::format_t SCALE_FORMAT = kiln_named_formats_pkg::E8M0,  // a float
    localparam int BITS = kiln_format_pkg::bits(SCALE_FORMAT)
) (
    // fp32 without its sign: larger magnitudes have larger bit patterns, and NaN the largest
    input  logic [    30:0] greatest,
    output logic [BITS-1:0] code,
    // 1 / scale, at most the greatest finite fp32 number
    output logic [    31:0] inverse
);

  localparam int ELEMENT_BITS = kiln_format_pkg::bits(ELEMENT_FORMAT);
  localparam logic [ELEMENT_BITS-1:0] GREATEST_ELEMENT =
      ELEMENT_BITS'(kiln_format_pkg::greatest_code(ELEMENT_FORMAT));
  localparam bit POWERS_OF_TWO = kiln_format_pkg::is_power_of_two(SCALE_FORMAT);
  localparam logic [BITS-1:0] GREATEST = BITS'(kiln_format_pkg::greatest_fields(SCALE_FORMAT));
  localparam logic [BITS-1:0] NAN = kiln_format_pkg::specials(SCALE_FORMAT) ==
      kiln_format_pkg::SPECIALS_NONE ? GREATEST : BITS'(kiln_format_pkg::nan_fields(SCALE_FORMAT));
  localparam logic [31:0] GREATEST_FP32 = 32'h7f7f_ffff;

  if (kiln_format_pkg::kind(SCALE_FORMAT) != kiln_format_pkg::KIND_FLOAT) begin : g_no_scales
    $error("kiln_block_scale: scales are floats");
  end

  logic [BITS-1:0] finite_code;
  if (POWERS_OF_TWO) begin : g_power
    localparam int EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(ELEMENT_FORMAT);
    localparam int FIELD_BITS = kiln_format_pkg::max(EXPONENT_BITS, 12) + 2;
    logic signed [8:0] exponent;
    logic signed [EXPONENT_BITS-1:0] element_exponent;
    logic signed [FIELD_BITS-1:0] field;
    logic [23:0] significand;
    logic [kiln_format_pkg::significand_bits(ELEMENT_FORMAT)-1:0] unused_significand;
    logic [5:0] unused_flags;
    kiln_decode #(.FORMAT(kiln_format_pkg::FP32)) decode (
        .code({1'b0, greatest}),
        .nan(unused_flags[0]),
        .infinite(unused_flags[1]),
        .negative(unused_flags[2]),
        .exponent(exponent),
        .significand(significand)
    );
    kiln_decode #(.FORMAT(ELEMENT_FORMAT)) decode_element (
        .code(GREATEST_ELEMENT),
        .nan(unused_flags[3]),
        .infinite(unused_flags[4]),
        .negative(unused_flags[5]),
        .exponent(element_exponent),
        .significand(unused_significand)
    );
    assign field = FIELD_BITS'(exponent) - FIELD_BITS'(element_exponent) +
        FIELD_BITS'(kiln_format_pkg::bias(SCALE_FORMAT));
    always_comb begin
      if (significand == '0 || field < 0) finite_code = '0;
      else if (field > FIELD_BITS'({1'b0, GREATEST})) finite_code = GREATEST;
      else finite_code = BITS'(field);
    end
  end else begin : g_quotient
    localparam int LOW = kiln_format_pkg::low_exponent(SCALE_FORMAT);
    localparam logic [BITS-1:0] LEAST =
        LOW == kiln_format_pkg::LOW_ZERO ?
            BITS'(1) << kiln_format_pkg::fraction_bits(SCALE_FORMAT) : BITS'(1);
    logic [31:0] element, quotient;
    logic [BITS-1:0] quotient_code;
    kiln_decode_to_fp32 #(.FORMAT(ELEMENT_FORMAT)) decode_element (
        .code(GREATEST_ELEMENT),
        .value(element)
    );
    kiln_fp32_divide divide (
        .a({1'b0, greatest}),
        .b(element),
        .result(quotient)
    );
    kiln_encode_from_fp32 #(.FORMAT(kiln_format_pkg::saturating(SCALE_FORMAT))) encode (
        .value(quotient),
        .random('0),
        .code(quotient_code)
    );
    assign finite_code =
        quotient_code == '0 && LOW != kiln_format_pkg::LOW_NORMAL ? LEAST : quotient_code;
  end
  assign code = greatest >= 31'h7f80_0000 ? NAN : finite_code;

  if (POWERS_OF_TWO) begin : g_negated
    // The inverse of 2^n is 2^-n: field 127 - n of fp32. The least normal number is 2^-126; 2^-127
    // is subnormal, and 2^128 is infinite.
    localparam int FIELD_BITS = BITS + 10;
    logic signed [FIELD_BITS-1:0] field;
    assign field = FIELD_BITS'(127 + kiln_format_pkg::bias(SCALE_FORMAT)) -
        FIELD_BITS'({1'b0, code});
    always_comb begin
      inverse = {1'b0, field[7:0], 23'd0};
      if (field < 0) inverse = '0;
      if (field == 0) inverse = 32'h0040_0000;
      if (field > FIELD_BITS'(254)) inverse = GREATEST_FP32;
      if (kiln_format_pkg::specials(SCALE_FORMAT) != kiln_format_pkg::SPECIALS_NONE && code == NAN)
        inverse = kiln_fp32_pkg::NAN;
    end
  end else begin : g_divided
    logic [31:0] scale, quotient_one;
    kiln_decode_to_fp32 #(.FORMAT(SCALE_FORMAT)) decode_scale (
        .code(code),
        .value(scale)
    );
    kiln_fp32_divide invert (
        .a(32'h3f80_0000),
        .b(scale),
        .result(quotient_one)
    );
    assign inverse = quotient_one == 32'h7f80_0000 ? GREATEST_FP32 : quotient_one;
`ifndef SYNTHESIS
    always_comb begin
      scale_above_zero : assert (greatest >= 31'h7f80_0000 || (scale[30:0] != '0 && !scale[31]));
    end
`endif
  end

`ifndef SYNTHESIS
  always_comb begin
    inverse_finite : assert (greatest >= 31'h7f80_0000 || inverse[30:23] != '1);
  end
`endif

endmodule
