// Converts a code to a number that the arithmetic modules compute with.
//
// A number is five signals, in this module and in all others:
//   nan, infinite   at most one is set; the other signals are then ignored, except the sign of an
//                   infinity
//   negative        the sign, also of zeros
//   significand     its top bit is set unless the number is zero
//   exponent        two's complement: the number is significand * 2^(exponent - (bits of
//                   significand - 1)); ignored if the number is zero
//
//   time       combinational
//   C++ twin   kiln::Decode (numerics/codec.h)
module kiln_decode #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_format_pkg::FP32,
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

  localparam int KIND = kiln_format_pkg::kind(FORMAT);

  if (!kiln_format_pkg::is_valid(FORMAT[kiln_format_pkg::HEADER_BITS-1:0])) begin : g_format
    $error("kiln_decode: the fields of FORMAT contradict each other");
  end

  if (KIND == kiln_format_pkg::KIND_INTEGER) begin : g_integer
    kiln_decode_integer #(.FORMAT(FORMAT)) decode (.*);
  end else if (KIND == kiln_format_pkg::KIND_FLOAT) begin : g_float
    kiln_decode_float #(.FORMAT(FORMAT)) decode (.*);
  end else if (KIND == kiln_format_pkg::KIND_POSIT) begin : g_posit
    kiln_decode_posit #(.FORMAT(FORMAT)) decode (.*);
  end else if (KIND == kiln_format_pkg::KIND_QUIRE) begin : g_quire
    kiln_decode_quire #(.FORMAT(FORMAT)) decode (.*);
  end else begin : g_table
    kiln_decode_table #(.FORMAT(FORMAT)) decode (.*);
  end

`ifndef SYNTHESIS
  always_comb begin
    one_special : assert (!(nan && infinite));
    leading_one : assert (nan || infinite || significand == '0 || significand[SIGNIFICAND_BITS-1]);
  end
`endif

endmodule
