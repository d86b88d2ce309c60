// kiln_decode_to_fp32 and kiln_encode_from_fp32 for every named format, then for the formats of
// other_formats_pkg.
module codec_bench #(
    localparam int NAMED = kiln_named_formats_pkg::COUNT,
    localparam int FORMATS = NAMED + other_formats_pkg::COUNT
) (
    input  logic [          31:0] code,      // lowest bits: a code of each format
    input  logic [          31:0] value,
    input  logic [          31:0] random,
    output logic [FORMATS*32-1:0] decoded,
    output logic [FORMATS*32-1:0] encoded    // zeros above the code
);

  for (genvar i = 0; i < FORMATS; i++) begin : g_format
    localparam kiln_format_pkg::format_t FORMAT =
        i < NAMED ? kiln_named_formats_pkg::format_of(i) : other_formats_pkg::format_of(i - NAMED);
    localparam int BITS = kiln_format_pkg::bits(FORMAT);
    logic [BITS-1:0] result;
    kiln_decode_to_fp32 #(.FORMAT(FORMAT)) decode (
        .code(code[BITS-1:0]),
        .value(decoded[i*32+:32])
    );
    kiln_encode_from_fp32 #(.FORMAT(FORMAT)) encode (
        .value(value),
        .random(random),
        .code(result)
    );
    assign encoded[i*32+:32] = 32'(result);
  end

endmodule
