// kiln_decode for integers and fixed point: value = code * 2^-fraction_bits.
module kiln_decode_integer #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_format_pkg::INT32,
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

  // The exponent of a code's top bit.
  localparam int TOP = BITS - 1 - kiln_format_pkg::fraction_bits(FORMAT);

  logic [BITS-1:0] magnitude, normalised;
  logic [(BITS > 1 ? $clog2(BITS) : 1)-1:0] places;

  assign nan = 1'b0;
  assign infinite = 1'b0;
  assign negative = kiln_format_pkg::is_signed(FORMAT) && code[BITS-1];
  assign magnitude = negative ? -code : code;
  kiln_normalise #(.WIDTH(BITS)) normalise (
      .in(magnitude),
      .out(normalised),
      .places(places)
  );
  assign significand = normalised[BITS-1-:SIGNIFICAND_BITS];
  assign exponent = EXPONENT_BITS'(TOP - 32'(places));

  // No code has more than SIGNIFICAND_BITS significant bits: the least code of a signed format is a
  // power of two.
  if (SIGNIFICAND_BITS < BITS) begin : g_zeros
    wire unused_zeros = &{1'b0, normalised[BITS-1-SIGNIFICAND_BITS:0]};
`ifndef SYNTHESIS
    always_comb only_zeros_cut : assert (normalised[BITS-1-SIGNIFICAND_BITS:0] == '0);
`endif
  end

`ifndef SYNTHESIS
  always_comb begin
    exponent_in_range : assert (significand == '0 || 32'(exponent) == TOP - 32'(places));
  end
`endif

endmodule
