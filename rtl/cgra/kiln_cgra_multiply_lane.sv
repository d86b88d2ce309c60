// The multiply/shift unit of one lane, for integers: m = f(in1, in2).
//   time        combinational
//   operations  kiln_cgra_pkg::MULTIPLY_*; for all others m is in1
module kiln_cgra_multiply_lane (
    input  logic [kiln_cgra_pkg::MULTIPLY_BITS-1:0] operation,
    input  logic [                            31:0] in1,
    input  logic [                            31:0] in2,
    output logic [                            31:0] m
);
  logic [31:0] product, shifted, reversed_in, reversed_out, to_right;
  logic left, fill;

  assign product = in1 * in2;

  // One shifter to the right does all shifts: a shift to the left reverses the bits before and
  // after it.
  assign left = operation == kiln_cgra_pkg::MULTIPLY_LEFT;
  assign fill = operation == kiln_cgra_pkg::MULTIPLY_RIGHT_SIGNED && in1[31];
  for (genvar i = 0; i < 32; i++) begin : g_reverse
    assign reversed_in[i]  = in1[31-i];
    assign reversed_out[i] = to_right[31-i];
  end
  logic [31:0] stage16, stage8, stage4, stage2, unshifted;
  assign unshifted = left ? reversed_in : in1;
  assign stage16 = in2[4] ? {{16{fill}}, unshifted[31:16]} : unshifted;
  assign stage8 = in2[3] ? {{8{fill}}, stage16[31:8]} : stage16;
  assign stage4 = in2[2] ? {{4{fill}}, stage8[31:4]} : stage8;
  assign stage2 = in2[1] ? {{2{fill}}, stage4[31:2]} : stage4;
  assign to_right = in2[0] ? {fill, stage2[31:1]} : stage2;
  assign shifted = left ? reversed_out : to_right;

  always_comb begin
    case (operation)
      kiln_cgra_pkg::MULTIPLY_PRODUCT: m = product;
      kiln_cgra_pkg::MULTIPLY_LEFT, kiln_cgra_pkg::MULTIPLY_RIGHT,
      kiln_cgra_pkg::MULTIPLY_RIGHT_SIGNED:
      m = shifted;
      default: m = in1;
    endcase
  end

`ifndef SYNTHESIS
  // The five stages, with the bits reversed or not, are a shift by in2 modulo 32.
  always_comb begin
    if (left) shifts_left : assert (shifted == in1 << in2[4:0]);
    if (operation == kiln_cgra_pkg::MULTIPLY_RIGHT)
      shifts_right : assert (shifted == in1 >> in2[4:0]);
  end
`endif
endmodule
