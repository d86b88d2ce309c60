// Rounds an fp32 number to a short float format (kiln_float_round).
//   number    the upper NUMBER bits of an fp32 number
//   time      combinational
//   C++ twin  kiln::FormatTable::Round (numerics/tables.h)
module kiln_fp32_to_float #(
    // kiln_format_pkg::is_short_float
    parameter kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::FP16,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(FORMAT),
    localparam int unsigned FRACTION = NUMBER - 9
) (
    input  logic [31:0] value,
    output logic [NUMBER-1:0] number
);
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(FORMAT);
  localparam logic [NUMBER-1:0] NAN = ROUNDING[50] ? NUMBER'(10'h1ff) << (FRACTION - 1) : '0;

  // A subnormal number matters only above 2^-127, half the least normal number: then its highest
  // fraction bit is the leading one.
  logic subnormal, tiny;
  logic [22:0] fraction;
  logic signed [9:0] exponent;
  logic [NUMBER-1:0] rounded;
  assign subnormal = value[30:23] == '0;
  assign tiny      = subnormal && !value[22];
  assign fraction  = subnormal ? value[22:0] << 1 : value[22:0];
  assign exponent  = signed'({2'd0, value[30:23]}) - 10'sd127;
  kiln_float_round #(
      .FORMAT(FORMAT)
  ) round (
      .negative(value[31]),
      .exponent,
      .significand({1'b1, fraction[22-:FRACTION+1], fraction[21-FRACTION:0] != '0}),
      .number(rounded)
  );
  always_comb begin
    number = rounded;
    if (tiny) number = {value[31] && ROUNDING[49], {(NUMBER - 1) {1'b0}}};
    if (value[30:23] == '1 && value[22:0] != '0) number = NAN;
  end
endmodule
