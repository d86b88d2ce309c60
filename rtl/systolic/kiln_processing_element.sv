// One multiply-accumulate of the array: a weight that stands still, activations that go right, sums that go down.
//   time       psum_in and the activation of one pixel come in the same cycle t; psum_out and activation_out are that pixel's in t+1
//   weights    `load` puts `weight` into the shadow register; the first pixel of a pass (`swap`) takes the shadow register's old content
//              into the array, and is itself multiplied by it
//   rows       a pixel without `multiply` lets the sum through unchanged: rows beyond the valid ones of a row tile
// Registers keep their values in cycles without a pixel (`active`).
module kiln_processing_element #(
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter bit PRODUCT_ROUNDED = 1'b0,
    localparam int INPUT_BITS = kiln_format_pkg::bits(INPUT_FORMAT),
    localparam int WEIGHT_BITS = kiln_format_pkg::bits(WEIGHT_FORMAT),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT)
) (
    input  logic                   clock,
    // What goes with the pixel, and with `weight`; the array hands it on from column to column.
    input  logic                   active,
    input  logic                   swap,
    input  logic                   multiply,
    input  logic                   load,
    // From the left, to the right.
    input  logic [ INPUT_BITS-1:0] activation_in,
    output logic [ INPUT_BITS-1:0] activation_out,
    // From above, down.
    input  logic [WEIGHT_BITS-1:0] weight,
    input  logic [  PSUM_BITS-1:0] psum_in,
    output logic [  PSUM_BITS-1:0] psum_out
);
  logic [WEIGHT_BITS-1:0] shadow, standing;
  logic [PSUM_BITS-1:0] sum;

  kiln_multiply_accumulate #(
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PSUM_FORMAT(PSUM_FORMAT),
      .PRODUCT_ROUNDED(PRODUCT_ROUNDED)
  ) multiply_accumulate (
      .x(activation_in),
      .w(swap ? shadow : standing),
      .psum_in,
      .psum_out(sum)
  );

  always_ff @(posedge clock) begin
    if (load) shadow <= weight;
    if (active) begin
      activation_out <= activation_in;
      psum_out       <= multiply ? sum : psum_in;
      if (swap) standing <= shadow;
    end
  end
endmodule
