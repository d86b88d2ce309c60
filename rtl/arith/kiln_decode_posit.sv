// kiln_decode for posits: a code is a sign, a regime (a run of equal bits and the bit that ends
// it), es exponent bits and a fraction (Posit Standard, 2022, section 3).
module kiln_decode_posit #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::POSIT8_1,
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

  localparam int ES = kiln_format_pkg::exponent_bits(FORMAT);
  localparam int BODY_BITS = BITS - 1;
  // exponent and fraction, padded with the zeros that follow a code
  localparam int TAIL_BITS = BODY_BITS + ES;

  logic [BITS-1:0] absolute;
  logic [BODY_BITS-1:0] body, rest;
  logic [TAIL_BITS-1:0] tail;
  logic ones;
  logic [$clog2(BITS)-1:0] run;
  logic signed [EXPONENT_BITS-1:0] regime;

  assign infinite = 1'b0;
  assign nan = code == {1'b1, {BODY_BITS{1'b0}}};
  assign negative = code[BITS-1];
  assign absolute = negative ? -code : code;
  assign body = absolute[BODY_BITS-1:0];
  assign ones = body[BODY_BITS-1];

  // The run ends at the first bit that differs from its bits; the appended 1 marks the end of the
  // code.
  logic [BITS-1:0] unused_normalised;
  kiln_normalise #(.WIDTH(BITS)) count (
      .in({ones ? ~body : body, 1'b1}),
      .out(unused_normalised),
      .places(run)
  );
  assign regime = EXPONENT_BITS'(ones ? 32'(run) - 1 : 0 - 32'(run));
  assign rest = (body << run) << 1;
  assign tail = TAIL_BITS'(rest) << ES;

  if (ES == 0) begin : g_regime
    assign exponent = regime;
  end else begin : g_exponent
    assign exponent = (regime << ES) | EXPONENT_BITS'(tail[TAIL_BITS-1-:ES]);
  end
  if (SIGNIFICAND_BITS > 1) begin : g_fraction
    assign significand = code == '0 ? '0 : {1'b1, tail[BODY_BITS-1-:SIGNIFICAND_BITS-1]};
  end else begin : g_power
    assign significand = code != '0;
  end

  wire unused_zeros = &{1'b0, tail, absolute[BITS-1]};

`ifndef SYNTHESIS
  logic signed [31:0] whole_regime;  // before it is cut to EXPONENT_BITS
  if (BODY_BITS >= SIGNIFICAND_BITS) begin : g_cut
    always_comb begin
      only_zeros_cut : assert (nan || tail[BODY_BITS-SIGNIFICAND_BITS:0] == '0);
    end
  end
  always_comb begin
    whole_regime = ones ? 32'(run) - 1 : 0 - 32'(run);
    regime_in_range : assert (nan || significand == '0 || 32'(regime) == whole_regime);
    exponent_in_range : assert (nan || significand == '0 || exponent >>> ES == regime);
  end
`endif
endmodule
