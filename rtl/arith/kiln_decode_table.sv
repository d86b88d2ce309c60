// kiln_decode for tables: the fp32 value of every code is a constant.
module kiln_decode_table #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::NF4,
    localparam int BITS = kiln_format_pkg::bits(FORMAT),
    localparam int SIGNIFICAND_BITS = kiln_format_pkg::significand_bits(FORMAT),
    localparam int EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(FORMAT)
) (
    input  logic        [            BITS-1:0] code,
    output logic                               nan,
    output logic                               infinite,
    output logic                               negative,
    output logic signed [   EXPONENT_BITS-1:0] exponent,
    output logic        [SIGNIFICAND_BITS-1:0] significand
);

  localparam int CODES = 1 << BITS;

  logic [31:0] value;
  kiln_constant_table #(
      .WIDTH(32),
      .DEPTH(CODES),
      .CONTENTS(FORMAT[kiln_format_pkg::HEADER_BITS+:CODES*32])
  ) values (
      .index(code),
      .word(value)
  );
  kiln_decode_float #(.FORMAT(kiln_format_pkg::value_format(FORMAT))) decode (
      .code(value),
      .nan(nan),
      .infinite(infinite),
      .negative(negative),
      .exponent(exponent),
      .significand(significand)
  );

endmodule
