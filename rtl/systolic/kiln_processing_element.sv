// One multiply-accumulate of the array: the weight stays in place, activations move right and sums
// move down.
//   time        psum_in and the activation of a pixel arrive in the same cycle t; psum_out and
//               activation_out belong to that pixel in t + 1.
//   weights     `load` writes `weight` to the shadow register. The first pixel of a pass (`swap`)
//               moves the shadow register's old content into the array, and is itself multiplied by
//               it.
//   rows        A pixel without `multiply` passes the sum through unchanged: its row is beyond the
//               valid ones of the row tile.
//   precision   Selects which of PRECISIONS pairs of operand formats the pixel's activation and the
//               array's weights have; a narrower format uses the lowest bits. There is one
//               multiply-accumulate for each pair, and psum_out is the selected one's.
//
// Registers keep their values in cycles without a pixel (`active`).
module kiln_processing_element #(
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    // Pairs of operand formats; the two above are the first pair, kiln_format_pkg::formats_t
    // describes the others.
    parameter int unsigned PRECISIONS = 1,
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter bit PRODUCT_ROUNDED = 1'b0,
    localparam int INPUT_BITS =
        kiln_format_pkg::most_bits(INPUT_FORMAT, OTHER_INPUT_FORMATS, PRECISIONS),
    localparam int WEIGHT_BITS =
        kiln_format_pkg::most_bits(WEIGHT_FORMAT, OTHER_WEIGHT_FORMATS, PRECISIONS),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT),
    localparam int PRECISION_BITS = PRECISIONS > 1 ? $clog2(PRECISIONS) : 1
) (
    input  logic                   clock,
    // The control of the pixel and of `weight`; the array passes it on from column to column.
    input  logic                   active,
    input  logic                   swap,
    input  logic                   multiply,
    input  logic [PRECISION_BITS-1:0] precision,
    input  logic                   load,
    // From the left, to the right.
    input  logic [ INPUT_BITS-1:0] activation_in,
    output logic [ INPUT_BITS-1:0] activation_out,
    // From above, down.
    input  logic [WEIGHT_BITS-1:0] weight,
    input  logic [  PSUM_BITS-1:0] psum_in,
    output logic [  PSUM_BITS-1:0] psum_out
);
  logic [WEIGHT_BITS-1:0] shadow, standing, multiplier;
  logic [PSUM_BITS-1:0] sum;
  assign multiplier = swap ? shadow : standing;

  logic [PRECISIONS*PSUM_BITS-1:0] sums;
  for (genvar p = 0; p < PRECISIONS; p++) begin : g_precision
    localparam kiln_format_pkg::format_t INPUT =
        kiln_format_pkg::format_of(INPUT_FORMAT, OTHER_INPUT_FORMATS, p);
    localparam kiln_format_pkg::format_t WEIGHT =
        kiln_format_pkg::format_of(WEIGHT_FORMAT, OTHER_WEIGHT_FORMATS, p);
    kiln_multiply_accumulate #(
        .INPUT_FORMAT(INPUT),
        .WEIGHT_FORMAT(WEIGHT),
        .PSUM_FORMAT(PSUM_FORMAT),
        .PRODUCT_ROUNDED(PRODUCT_ROUNDED)
    ) multiply_accumulate (
        .x(activation_in[kiln_format_pkg::bits(INPUT)-1:0]),
        .w(multiplier[kiln_format_pkg::bits(WEIGHT)-1:0]),
        .psum_in,
        .psum_out(sums[p*PSUM_BITS+:PSUM_BITS])
    );
  end
  if (PRECISIONS == 1) begin : g_one
    assign sum = sums;
    wire unused_precision = &{1'b0, precision};
  end else begin : g_choice
    assign sum = sums[32'(precision)*PSUM_BITS+:PSUM_BITS];
  end

  always_ff @(posedge clock) begin
    if (load) shadow <= weight;
    if (active) begin
      activation_out <= activation_in;
      psum_out       <= multiply ? sum : psum_in;
      if (swap) standing <= shadow;
    end
  end
endmodule
