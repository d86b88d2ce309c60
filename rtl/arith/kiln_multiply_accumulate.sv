// One step of a weight-stationary array: psum_out = round(psum_in + x * w).
//
//   integer psum   operands count as kiln_integer_operand says; the sum wraps modulo 2^bits and is exact but for that
//   other psum     the product is exact and the sum rounded once; with PRODUCT_ROUNDED the product is rounded to the
//                  psum's format before it is added
//   time           combinational
//   C++ twin       kiln::PsumStep (numerics/mac.h)
module kiln_multiply_accumulate #(
    parameter  kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter  kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter  kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter  bit PRODUCT_ROUNDED = 1'b0,
    localparam int INPUT_BITS = kiln_format_pkg::bits(INPUT_FORMAT),
    localparam int WEIGHT_BITS = kiln_format_pkg::bits(WEIGHT_FORMAT),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT)
) (
    input  logic [ INPUT_BITS-1:0] x,         // a code of INPUT_FORMAT
    input  logic [WEIGHT_BITS-1:0] w,         // a code of WEIGHT_FORMAT
    input  logic [  PSUM_BITS-1:0] psum_in,   // codes of PSUM_FORMAT
    output logic [  PSUM_BITS-1:0] psum_out
);

  if (kiln_format_pkg::kind(PSUM_FORMAT) == kiln_format_pkg::KIND_INTEGER) begin : g_integer
    localparam int X_BITS = kiln_format_pkg::integer_bits(INPUT_FORMAT);
    localparam int W_BITS = kiln_format_pkg::integer_bits(WEIGHT_FORMAT);
    // Wide enough for the product or for the sum, whichever is wider; what a narrow psum cannot hold is cut off.
    localparam int BITS = X_BITS + W_BITS > PSUM_BITS ? X_BITS + W_BITS : PSUM_BITS;
    logic signed [X_BITS-1:0] x_value;
    logic signed [W_BITS-1:0] w_value;
    logic signed [BITS-1:0] sum;
    kiln_integer_operand #(.FORMAT(INPUT_FORMAT)) x_operand (.code(x), .value(x_value));
    kiln_integer_operand #(.FORMAT(WEIGHT_FORMAT)) w_operand (.code(w), .value(w_value));
    assign sum = BITS'(signed'(psum_in)) + BITS'(x_value) * BITS'(w_value);
    assign psum_out = sum[PSUM_BITS-1:0];
    wire unused_rounding = PRODUCT_ROUNDED;  // an integer product is exact either way
    if (BITS > PSUM_BITS) begin : g_wrapped
      wire unused_carries = &{1'b0, sum[BITS-1:PSUM_BITS]};
    end
  end else begin : g_real
    $error("kiln_multiply_accumulate: integer psums only");
  end

endmodule
