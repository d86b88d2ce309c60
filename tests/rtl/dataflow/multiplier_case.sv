// A multiplier with ports of fixed widths.
module multiplier_case #(
    parameter int unsigned IN_BITS = 8,
    parameter bit IN_SIGNED = 1'b1,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned PACK = 1,
    parameter int unsigned MULTIPLIER_BITS = 27,
    parameter bit LUT_PRODUCTS = 1'b0
) (
    input  logic         clock,
    input  logic [ 15:0] in,
    input  logic [ 63:0] weights,
    output logic [127:0] products
);
  localparam int unsigned PRODUCT_BITS = IN_BITS + WEIGHT_BITS;
  logic [PACK*WEIGHT_BITS-1:0] some_weights;
  logic [PACK*PRODUCT_BITS-1:0] some_products;
  for (genvar i = 0; i < 4; i++) begin : g_product
    if (i < PACK) begin : g_used
      logic signed [PRODUCT_BITS-1:0] product;
      assign some_weights[i*WEIGHT_BITS+:WEIGHT_BITS] = weights[i*16+:WEIGHT_BITS];
      assign product = some_products[i*PRODUCT_BITS+:PRODUCT_BITS];
      assign products[i*32+:32] = 32'(product);
    end else begin : g_unused
      assign products[i*32+:32] = '0;
    end
  end
  wire unused_bits = &{1'b0, in, weights};
  kiln_dataflow_multiplier #(
      .IN_BITS(IN_BITS),
      .IN_SIGNED(IN_SIGNED),
      .WEIGHT_BITS(WEIGHT_BITS),
      .PACK(PACK),
      .MULTIPLIER_BITS(MULTIPLIER_BITS),
      .LUT_PRODUCTS(LUT_PRODUCTS)
  ) multiplier (
      .clock,
      .weights(some_weights),
      .in(in[IN_BITS-1:0]),
      .products(some_products)
  );
endmodule
