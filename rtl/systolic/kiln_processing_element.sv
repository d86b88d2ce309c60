// One multiply-accumulate of the array: the weight stays in place, activations move right and sums
// move down.
//   time        The activation of a pixel arrives in cycle t and is at activation_out in t + 1;
//               psum_in arrives in t + PRODUCT_LATENCY, and psum_out belongs to the pixel in t +
//               PRODUCT_LATENCY + SUM_LATENCY.
//   weights     `load` writes `weight` to the shadow register. The first pixel of a pass (`swap`)
//               moves the shadow register's old content into the array, and is itself multiplied by
//               it.
//   rows        A pixel without `multiply` passes the sum through unchanged: its row is beyond the
//               valid ones of the row tile.
//   precision   Selects which of PRECISIONS pairs of operand formats the pixel's activation and the
//               array's weights have; a narrower format uses the lowest bits. There is one
//               multiply-accumulate for each pair, and psum_out is the selected one's.
//
// Registers keep their values in cycles without a pixel (`active`). The control of the pixel whose
// activation came i cycles ago is at index i: the array has it in the line beside the row.
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
    parameter int unsigned PRODUCT_LATENCY = 0,  // 0 or 1: cycles from operands to product
    parameter int unsigned SUM_LATENCY = 1,      // 1 or 2: cycles of an addition
    localparam int unsigned STAGES = PRODUCT_LATENCY + SUM_LATENCY,  // derived, do not set
    localparam int INPUT_BITS =
        kiln_format_pkg::most_bits(INPUT_FORMAT, OTHER_INPUT_FORMATS, PRECISIONS),
    localparam int WEIGHT_BITS =
        kiln_format_pkg::most_bits(WEIGHT_FORMAT, OTHER_WEIGHT_FORMATS, PRECISIONS),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT),
    localparam int PRECISION_BITS = PRECISIONS > 1 ? $clog2(PRECISIONS) : 1
) (
    input  logic                   clock,
    // The control of the pixel and of `weight`; the array passes it on from column to column.
    input  logic [     STAGES-1:0] active,
    input  logic                   swap,
    input  logic [     STAGES-1:0] multiply,
    input  logic [STAGES*PRECISION_BITS-1:0] precision,
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
        .PRODUCT_ROUNDED(PRODUCT_ROUNDED),
        .PRODUCT_REGISTERS(PRODUCT_LATENCY),
        .SUM_REGISTERS(SUM_LATENCY - 1)
    ) multiply_accumulate (
        .clock,
        .product_advance(active[0]),
        .sum_advance(active[PRODUCT_LATENCY]),
        .counts(multiply[0]),
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
    logic [PRECISION_BITS-1:0] sum_precision;
    assign sum_precision = precision[(STAGES-1)*PRECISION_BITS+:PRECISION_BITS];
    assign sum = sums[32'(sum_precision)*PSUM_BITS+:PSUM_BITS];
    wire unused_precision = &{1'b0, precision};
  end

  wire unused_multiply = &{1'b0, multiply};
  logic [PSUM_BITS-1:0] next;
  if (SUM_LATENCY == 1) begin : g_one_cycle
    assign next = multiply[STAGES-1] ? sum : psum_in;
  end else begin : g_two_cycles
    assign next = sum;
  end

  always_ff @(posedge clock) begin
    if (load) shadow <= weight;
    if (active[0]) begin
      activation_out <= activation_in;
      if (swap) standing <= shadow;
    end
    if (active[STAGES-1]) psum_out <= next;
  end
endmodule
