// kiln_decode for floats: a code is a sign, an exponent field and a fraction field.
module kiln_decode_float #(
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

  localparam int FIELD_BITS = kiln_format_pkg::exponent_bits(FORMAT);
  localparam int FRACTION_BITS = kiln_format_pkg::fraction_bits(FORMAT);
  localparam int MAGNITUDE_BITS = FIELD_BITS + FRACTION_BITS;
  localparam int BIAS = kiln_format_pkg::bias(FORMAT);
  localparam int LOW = kiln_format_pkg::low_exponent(FORMAT);
  localparam int SPECIALS = kiln_format_pkg::specials(FORMAT);
  localparam logic [MAGNITUDE_BITS:0] GREATEST =
      (MAGNITUDE_BITS + 1)'(kiln_format_pkg::greatest_fields(FORMAT));

  logic [MAGNITUDE_BITS-1:0] magnitude;
  logic [FIELD_BITS-1:0] field;
  logic lowest;  // the exponent field is 0 and encodes zero or subnormal numbers
  logic [FRACTION_BITS:0] hidden, fraction, normalised;
  logic beyond;

  assign negative = kiln_format_pkg::is_signed(FORMAT) && code[BITS-1];
  assign magnitude = code[MAGNITUDE_BITS-1:0];

  assign beyond = {1'b0, magnitude} > GREATEST;
  assign infinite =
      SPECIALS == kiln_format_pkg::SPECIALS_IEEE && {1'b0, magnitude} == GREATEST + 1'b1;
  assign nan = (beyond && !infinite) ||
      (SPECIALS == kiln_format_pkg::SPECIALS_FNUZ && negative && magnitude == '0);

  assign field = magnitude[MAGNITUDE_BITS-1-:FIELD_BITS];
  assign lowest = LOW != kiln_format_pkg::LOW_NORMAL && field == '0;
  assign hidden = {(FRACTION_BITS + 1){1'b1}} << FRACTION_BITS;
  assign fraction = (magnitude[FRACTION_BITS:0] & ~hidden) | (lowest ? '0 : hidden);

  if (LOW == kiln_format_pkg::LOW_SUBNORMAL) begin : g_subnormal
    logic [(FRACTION_BITS > 0 ? $clog2(FRACTION_BITS + 1) : 1)-1:0] places;
    kiln_normalise #(.WIDTH(FRACTION_BITS + 1)) normalise (
        .in(fraction),
        .out(normalised),
        .places(places)
    );
    assign exponent = EXPONENT_BITS'((lowest ? 1 : 32'(field)) - BIAS - 32'(places));
  end else begin : g_normal
    assign normalised = lowest ? '0 : fraction;
    assign exponent = EXPONENT_BITS'(32'(field) - BIAS);
  end
  assign significand = normalised[FRACTION_BITS-:SIGNIFICAND_BITS];

  if (SIGNIFICAND_BITS < FRACTION_BITS + 1) begin : g_zeros
    wire unused_zeros = &{1'b0, normalised[FRACTION_BITS-SIGNIFICAND_BITS:0]};
`ifndef SYNTHESIS
    always_comb begin
      only_zeros_cut : assert (nan || infinite ||
          normalised[FRACTION_BITS-SIGNIFICAND_BITS:0] == '0);
    end
`endif
  end

`ifndef SYNTHESIS
  // The exponent before it is cut to EXPONENT_BITS.
  logic signed [31:0] whole_exponent, shifted_places;
  if (LOW == kiln_format_pkg::LOW_SUBNORMAL) begin : g_shifted
    assign shifted_places = 32'(g_subnormal.places);
  end else begin : g_unshifted
    assign shifted_places = '0;
  end
  always_comb begin
    whole_exponent = (lowest ? 1 : 32'(field)) - BIAS - shifted_places;
    exponent_in_range : assert (nan || infinite || significand == '0 ||
        32'(exponent) == whole_exponent);
  end
`endif

endmodule
