// Computes the dot products of one row of inputs with two rows of weights, for the multiply array
// (kiln_vta_multiply). The first pipeline stage registers the products, the second their sums.
//   time     the sums of the inputs of cycle t are at the outputs in t + 2
//   exact    SUM_BITS is wide enough for every sum
module kiln_vta_dot #(
    parameter int unsigned INPUT_BITS = 8,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned BLOCK_IN = 16,
    localparam int unsigned SUM_BITS = INPUT_BITS + WEIGHT_BITS + $clog2(BLOCK_IN)
) (
    input  logic                            clock,
    input  logic [ BLOCK_IN*INPUT_BITS-1:0] in,
    input  logic [BLOCK_IN*WEIGHT_BITS-1:0] weights_low,
    input  logic [BLOCK_IN*WEIGHT_BITS-1:0] weights_high,
    output logic [            SUM_BITS-1:0] sum_low,
    output logic [            SUM_BITS-1:0] sum_high
);
  localparam int unsigned PRODUCT_BITS = INPUT_BITS + WEIGHT_BITS;
  logic [BLOCK_IN*PRODUCT_BITS-1:0] low, high;
  for (genvar k = 0; k < BLOCK_IN; k++) begin : g_product
    logic [PRODUCT_BITS-1:0] product_low, product_high;
    kiln_vta_product_pair #(
        .INPUT_BITS(INPUT_BITS),
        .WEIGHT_BITS(WEIGHT_BITS)
    ) pair (
        .in(in[k*INPUT_BITS+:INPUT_BITS]),
        .weight_low(weights_low[k*WEIGHT_BITS+:WEIGHT_BITS]),
        .weight_high(weights_high[k*WEIGHT_BITS+:WEIGHT_BITS]),
        .product_low,
        .product_high
    );
    always_ff @(posedge clock) begin
      low[k*PRODUCT_BITS+:PRODUCT_BITS]  <= product_low;
      high[k*PRODUCT_BITS+:PRODUCT_BITS] <= product_high;
    end
  end

  kiln_vta_sum #(
      .TERMS(BLOCK_IN),
      .BITS(PRODUCT_BITS)
  ) low_sum (
      .clock,
      .terms(low),
      .sum(sum_low)
  );
  kiln_vta_sum #(
      .TERMS(BLOCK_IN),
      .BITS(PRODUCT_BITS)
  ) high_sum (
      .clock,
      .terms(high),
      .sum(sum_high)
  );
endmodule
