// Compares a packed multiplier with products by `*`. Activation and weights are of one
// cycle, and `wrong` of four cycles later.
module packed_check #(
    parameter int unsigned BITS = 8,
    parameter bit IN_SIGNED = 1'b1,
    parameter int unsigned PACK = 2,
    parameter int unsigned MULTIPLIER_BITS = 27
) (
    input  logic                 clock,
    input  logic [     BITS-1:0] in,
    input  logic [PACK*BITS-1:0] weights,
    output logic                 wrong
);
  logic [BITS-1:0] in1;
  logic [PACK*2*BITS-1:0] products, expected, expected1, expected2, expected3;
  always_ff @(posedge clock) begin
    in1       <= in;
    expected1 <= expected;
    expected2 <= expected1;
    expected3 <= expected2;
    wrong     <= products != expected3;
  end
  for (genvar i = 0; i < PACK; i++) begin : g_expected
    logic signed [BITS:0] factor;
    logic signed [BITS-1:0] weight;
    logic signed [2*BITS-1:0] product;
    assign factor = {IN_SIGNED && in[BITS-1], in};
    assign weight = weights[i*BITS+:BITS];
    assign product = (2 * BITS)'(factor * weight);
    assign expected[i*2*BITS+:2*BITS] = product;
  end
  kiln_dataflow_multiplier #(
      .IN_BITS(BITS),
      .IN_SIGNED(IN_SIGNED),
      .WEIGHT_BITS(BITS),
      .PACK(PACK),
      .MULTIPLIER_BITS(MULTIPLIER_BITS)
  ) multiplier (
      .clock,
      .weights,
      .in(in1),
      .products
  );
endmodule
