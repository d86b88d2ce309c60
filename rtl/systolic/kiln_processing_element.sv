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
    input  logic                   reset,
    // From the left.
    input  logic [ INPUT_BITS-1:0] activation_in,
    input  logic                   active_in,
    input  logic                   swap_in,
    input  logic                   multiply_in,
    input  logic                   load_in,
    // To the right.
    output logic [ INPUT_BITS-1:0] activation_out,
    output logic                   active_out,
    output logic                   swap_out,
    output logic                   multiply_out,
    output logic                   load_out,
    // From above, with load_in.
    input  logic [WEIGHT_BITS-1:0] weight,
    // Down.
    input  logic [  PSUM_BITS-1:0] psum_in,
    output logic [  PSUM_BITS-1:0] psum_out
);
  logic [WEIGHT_BITS-1:0] shadow, standing, present;
  logic [PSUM_BITS-1:0] sum;

  assign present = swap_in ? shadow : standing;

  kiln_multiply_accumulate #(
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PSUM_FORMAT(PSUM_FORMAT),
      .PRODUCT_ROUNDED(PRODUCT_ROUNDED)
  ) multiply_accumulate (
      .x(activation_in),
      .w(present),
      .psum_in,
      .psum_out(sum)
  );

  always_ff @(posedge clock) begin
    if (load_in) shadow <= weight;
    if (active_in) begin
      activation_out <= activation_in;
      standing       <= present;
      psum_out       <= multiply_in ? sum : psum_in;
    end
    {active_out, swap_out, multiply_out, load_out} <= reset ? '0 : {active_in, swap_in, multiply_in, load_in};
  end
endmodule
