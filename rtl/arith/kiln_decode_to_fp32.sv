// Converts a code to fp32, rounded to nearest even if fp32 cannot hold the value. For int32 codes
// this is the conversion of integers. A NaN becomes kiln_format_pkg::FP32_NAN.
//
//   time       combinational
//   C++ twin   kiln::DecodeFloat (numerics/codec.h)
module kiln_decode_to_fp32 #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::INT8,
    localparam int BITS = kiln_format_pkg::bits(FORMAT)
) (
    input  logic [BITS-1:0] code,
    output logic [    31:0] value
);

  if (kiln_format_pkg::kind(FORMAT) == kiln_format_pkg::KIND_TABLE) begin : g_table
    localparam int CODES = 1 << BITS;
    kiln_constant_table #(
        .WIDTH(32),
        .DEPTH(CODES),
        .CONTENTS(FORMAT[kiln_format_pkg::HEADER_BITS+:CODES*32])
    ) values (
        .index(code),
        .word(value)
    );
  end else begin : g_fields
    localparam int SIGNIFICAND_BITS = kiln_format_pkg::significand_bits(FORMAT);
    localparam int EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(FORMAT);
    logic nan, infinite, negative;
    logic signed [EXPONENT_BITS-1:0] exponent;
    logic [SIGNIFICAND_BITS-1:0] significand;
    kiln_decode #(.FORMAT(FORMAT)) decode (.*);
    kiln_encode #(
        .FORMAT(kiln_format_pkg::FP32),
        .SIGNIFICAND_BITS(SIGNIFICAND_BITS),
        .EXPONENT_BITS(EXPONENT_BITS)
    ) encode (
        .nan(nan),
        .infinite(infinite),
        .negative(negative),
        .exponent(exponent),
        .significand(significand),
        .random('0),
        .code(value)
    );
  end

`ifndef SYNTHESIS
  always_comb begin
    one_nan : assert (!kiln_fp32_pkg::is_nan(value) || value == kiln_format_pkg::FP32_NAN);
  end
`endif

endmodule
