// Encodes a number, in the form of kiln_decode, with a format's rounding and overflow. The
// significand's lowest bit may be sticky if the significand has at least two bits more than the
// codes of the format keep.
//
//   time       combinational
//   C++ twin   kiln::Encode (numerics/codec.h), which defines the results of overflow, infinities
//              and NaN
// Does not support tables, which encode fp32 numbers (kiln_encode_table).
module kiln_encode #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_format_pkg::FP32,
    parameter  int SIGNIFICAND_BITS = 24,
    parameter  int EXPONENT_BITS = 10,
    localparam int BITS = kiln_format_pkg::bits(FORMAT)
) (
    input  logic                               nan,
    input  logic                               infinite,
    input  logic                               negative,
    input  logic signed [   EXPONENT_BITS-1:0] exponent,
    input  logic        [SIGNIFICAND_BITS-1:0] significand,
    input  logic        [                31:0] random,       // stochastic rounding only
    output logic        [            BITS-1:0] code
);

  localparam int KIND = kiln_format_pkg::kind(FORMAT);

  if (!kiln_format_pkg::is_valid(FORMAT[kiln_format_pkg::HEADER_BITS-1:0])) begin : g_format
    $error("kiln_encode: the fields of FORMAT contradict each other");
  end

  if (KIND == kiln_format_pkg::KIND_INTEGER) begin : g_integer
    kiln_encode_integer #(
        .FORMAT(FORMAT),
        .SIGNIFICAND_BITS(SIGNIFICAND_BITS),
        .EXPONENT_BITS(EXPONENT_BITS)
    ) encode (.*);
  end else if (KIND == kiln_format_pkg::KIND_FLOAT) begin : g_float
    kiln_encode_float #(
        .FORMAT(FORMAT),
        .SIGNIFICAND_BITS(SIGNIFICAND_BITS),
        .EXPONENT_BITS(EXPONENT_BITS)
    ) encode (.*);
  end else if (KIND == kiln_format_pkg::KIND_POSIT) begin : g_posit
    kiln_encode_posit #(
        .FORMAT(FORMAT),
        .SIGNIFICAND_BITS(SIGNIFICAND_BITS),
        .EXPONENT_BITS(EXPONENT_BITS)
    ) encode (.*);
  end else begin : g_table
    $error("kiln_encode: tables are encoded from fp32, by kiln_encode_from_fp32");
  end

`ifndef SYNTHESIS
  always_comb begin
    leading_one : assert (nan || infinite || significand == '0 || significand[SIGNIFICAND_BITS-1]);
  end
`endif

endmodule
