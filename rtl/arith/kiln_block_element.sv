// Encodes one element of a block under the block's scale: the code of fp32(value * inverse), with
// saturation.
//
//   time       combinational
//   C++ twin   kiln::BlockCodec::ElementCode (numerics/microscaling.h)
module kiln_block_element #(
    parameter  kiln_format_pkg::format_t ELEMENT_FORMAT = kiln_named_formats_pkg::E4M3,
    localparam int BITS = kiln_format_pkg::bits(ELEMENT_FORMAT)
) (
    input  logic [    31:0] value,
    input  logic [    31:0] inverse,  // 1 / scale, from kiln_block_scale
    output logic [BITS-1:0] code
);

  logic [31:0] scaled;
  kiln_fp32_multiply multiply (
      .a(value),
      .b(inverse),
      .result(scaled)
  );
  kiln_encode_from_fp32 #(.FORMAT(kiln_format_pkg::saturating(ELEMENT_FORMAT))) encode (
      .value(scaled),
      .random('0),
      .code(code)
  );

endmodule
