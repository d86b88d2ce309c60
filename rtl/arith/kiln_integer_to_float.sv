// Converts a two's complement integer of 32 bits to a short float format: to fp32 and then to the
// format, rounded each time to nearest, ties to even.
//   number    the upper NUMBER bits of an fp32 number
//   time      combinational
//   C++ twin  static_cast<float>, rounded by kiln::FormatTable::Round (numerics/tables.h)
module kiln_integer_to_float #(
    // kiln_format_pkg::is_short_float
    parameter kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::FP16,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(FORMAT),
    localparam int unsigned FRACTION = NUMBER - 9
) (
    input  logic [31:0] value,
    output logic [NUMBER-1:0] number
);
  logic [31:0] magnitude, normal;
  logic [4:0] zeros;
  assign magnitude = value[31] ? -value : value;
  always_comb begin
    // The number of zeros above the leading one.
    zeros  = '0;
    normal = magnitude;
    for (int i = 4; i >= 0; i--) begin
      if ((normal >> (32 - (1 << i))) == '0) begin
        zeros[i] = 1'b1;
        normal   = normal << (1 << i);
      end
    end
  end

  // To fp32's 24 bits.
  logic [24:0] kept;
  logic [22:0] fraction;
  logic signed [9:0] exponent;
  logic [NUMBER-1:0] rounded;
  assign kept     = {1'b0, normal[31:8]} +
      25'(normal[7] && (normal[6:0] != '0 || normal[8]));
  assign fraction = kept[24] ? '0 : kept[22:0];
  assign exponent = 10'sd31 - signed'({5'd0, zeros}) + signed'({9'd0, kept[24]});
  wire unused_one = kept[23];
  kiln_float_round #(
      .FORMAT(FORMAT)
  ) round (
      .negative(value[31]),
      .exponent,
      .significand({1'b1, fraction[22-:FRACTION+1], fraction[21-FRACTION:0] != '0}),
      .number(rounded)
  );
  assign number = value == '0 ? '0 : rounded;
endmodule
