// Rounds an fp32 number to a narrower format and returns it as fp32. A vector unit of that format
// applies it to every result.
//
//   rounding   the format's own; fp32 passes through unchanged
//   time       combinational
//   C++ twin   kiln::FormatTable::Round (numerics/tables.h)
// Floats that round to nearest even are rounded in place (kiln_fp32_pkg::round_to), other formats
// by encoding and decoding.
module kiln_fp32_round #(
    parameter kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::BF16
) (
    input  logic [31:0] value,
    output logic [31:0] result
);

  if (FORMAT == kiln_format_pkg::FP32) begin : g_same
    assign result = value;
  end else if (kiln_format_pkg::kind(FORMAT) == kiln_format_pkg::KIND_FLOAT &&
      kiln_format_pkg::is_signed(FORMAT) &&
      kiln_format_pkg::low_exponent(FORMAT) != kiln_format_pkg::LOW_NORMAL &&
      kiln_format_pkg::rounding(FORMAT) == kiln_format_pkg::ROUND_NEAREST_EVEN) begin : g_float
    localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
        kiln_format_pkg::fp32_rounding(FORMAT);
    assign result = kiln_fp32_pkg::round_to(value, ROUNDING);
`ifndef SYNTHESIS
    localparam int NUMBER_BITS = kiln_format_pkg::number_bits(FORMAT);
    always_comb begin
      rest_is_gone : assert (NUMBER_BITS >= 32 || (result << NUMBER_BITS) == '0);
    end
`endif
  end else begin : g_round
    logic [kiln_format_pkg::bits(FORMAT)-1:0] code;
    kiln_encode_from_fp32 #(.FORMAT(FORMAT)) encode (
        .value(value),
        .random('0),
        .code(code)
    );
    kiln_decode_to_fp32 #(.FORMAT(FORMAT)) decode (
        .code(code),
        .value(result)
    );
  end

endmodule
