// Dot products: multiplies ELEMENTS activations by the weights of OUTPUTS processing elements, and
// adds up each one's products. Results are exact.
//   layout     activation n at n * IN_BITS; weight n of processing element e at
//              (e * ELEMENTS + n) * WEIGHT_BITS; sum e at e * SUM_BITS, signed
//   time       `weights` in cycle t - 1 and `window` in cycle t give `sums` in
//              t + 1 + U + ceil(log2(ELEMENTS)); U = 1 with PACK > 1, else 0
//   formats, PACK, MULTIPLIER_BITS, LUT_PRODUCTS   as in kiln_dataflow_multiplier; PACK processing
//              elements share the multiplier of an activation
module kiln_dataflow_products #(
    parameter int unsigned ELEMENTS = 9,
    parameter int unsigned OUTPUTS = 2,
    parameter int unsigned IN_BITS = 8,
    parameter bit IN_SIGNED = 1'b1,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned PACK = 1,
    parameter int unsigned MULTIPLIER_BITS = 27,
    parameter bit LUT_PRODUCTS = 1'b0,
    // derived, do not set
    localparam int unsigned SUM_BITS = IN_BITS + WEIGHT_BITS + $clog2(ELEMENTS)
) (
    input  logic                                    clock,
    input  logic [OUTPUTS*ELEMENTS*WEIGHT_BITS-1:0] weights,
    input  logic [            ELEMENTS*IN_BITS-1:0] window,
    output logic [            OUTPUTS*SUM_BITS-1:0] sums
);
  localparam int unsigned PRODUCT_BITS = IN_BITS + WEIGHT_BITS;
  localparam int unsigned GROUPS = (OUTPUTS + PACK - 1) / PACK;

  logic [GROUPS*PACK*ELEMENTS*PRODUCT_BITS-1:0] products;  // by processing element
  for (genvar g = 0; g < GROUPS; g++) begin : g_group
    for (genvar n = 0; n < ELEMENTS; n++) begin : g_element
      logic [ PACK*WEIGHT_BITS-1:0] some_weights;
      logic [PACK*PRODUCT_BITS-1:0] some_products;
      for (genvar i = 0; i < PACK; i++) begin : g_output
        localparam int unsigned OUTPUT = g * PACK + i;
        if (OUTPUT < OUTPUTS) begin : g_used
          assign some_weights[i*WEIGHT_BITS+:WEIGHT_BITS] =
              weights[(OUTPUT*ELEMENTS+n)*WEIGHT_BITS+:WEIGHT_BITS];
        end else begin : g_unused
          assign some_weights[i*WEIGHT_BITS+:WEIGHT_BITS] = '0;
        end
        assign products[(OUTPUT*ELEMENTS+n)*PRODUCT_BITS+:PRODUCT_BITS] =
            some_products[i*PRODUCT_BITS+:PRODUCT_BITS];
      end
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
          .in(window[n*IN_BITS+:IN_BITS]),
          .products(some_products)
      );
    end
  end
  if (GROUPS * PACK > OUTPUTS) begin : g_rest
    wire unused_products = &{1'b0, products[GROUPS*PACK*ELEMENTS*PRODUCT_BITS-1:
        OUTPUTS*ELEMENTS*PRODUCT_BITS]};
  end
  for (genvar e = 0; e < OUTPUTS; e++) begin : g_sum
    kiln_sum_tree #(
        .TERMS(ELEMENTS),
        .BITS (PRODUCT_BITS)
    ) tree (
        .clock,
        .terms(products[e*ELEMENTS*PRODUCT_BITS+:ELEMENTS*PRODUCT_BITS]),
        .sum  (sums[e*SUM_BITS+:SUM_BITS])
    );
  end
endmodule
