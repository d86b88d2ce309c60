// Encodes an fp32 number with a format's rounding and overflow.
//
//   time       combinational
//   C++ twin   kiln::EncodeFloat (numerics/codec.h)
module kiln_encode_from_fp32 #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::INT8,
    localparam int BITS = kiln_format_pkg::bits(FORMAT)
) (
    input  logic [    31:0] value,
    input  logic [    31:0] random,  // stochastic rounding only; see numerics/codec.h
    output logic [BITS-1:0] code
);

  if (kiln_format_pkg::kind(FORMAT) == kiln_format_pkg::KIND_TABLE) begin : g_table
    kiln_encode_table #(.FORMAT(FORMAT)) encode (
        .value(value),
        .code(code)
    );
    wire unused_random = &{1'b0, random};
  end else begin : g_fields
    logic nan, infinite, negative;
    logic signed [9-1:0] exponent;
    logic [24-1:0] significand;
    kiln_decode #(.FORMAT(kiln_format_pkg::FP32)) decode (
        .code(value),
        .nan(nan),
        .infinite(infinite),
        .negative(negative),
        .exponent(exponent),
        .significand(significand)
    );
    kiln_encode #(
        .FORMAT(FORMAT),
        .SIGNIFICAND_BITS(24),
        .EXPONENT_BITS(9)
    ) encode (
        .nan(nan),
        .infinite(infinite),
        .negative(negative),
        .exponent(exponent),
        .significand(significand),
        .random(random),
        .code(code)
    );
  end

endmodule
