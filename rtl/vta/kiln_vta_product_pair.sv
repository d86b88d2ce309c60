// Multiplies one input by two weights, for kiln_vta_dot. Uses a single multiplier if both weights
// fit side by side into one of its operands, as 8-bit numbers do in the 25 x 18 bit multipliers of
// FPGAs. Combinational; the two's complement products are exact.
module kiln_vta_product_pair #(
    parameter int unsigned INPUT_BITS = 8,
    parameter int unsigned WEIGHT_BITS = 8,
    localparam int unsigned PRODUCT_BITS = INPUT_BITS + WEIGHT_BITS
) (
    input  logic [  INPUT_BITS-1:0] in,
    input  logic [ WEIGHT_BITS-1:0] weight_low,
    input  logic [ WEIGHT_BITS-1:0] weight_high,
    output logic [PRODUCT_BITS-1:0] product_low,
    output logic [PRODUCT_BITS-1:0] product_high
);
  localparam int unsigned MULTIPLIER_BITS = 25;  // bits of the longer operand
  localparam int unsigned PACKED_BITS = PRODUCT_BITS + WEIGHT_BITS + 1;
  if (PACKED_BITS <= MULTIPLIER_BITS) begin : g_packed
    localparam int unsigned WHOLE_BITS = PACKED_BITS + INPUT_BITS;
    logic signed [PACKED_BITS-1:0] low, high, both;
    logic signed [INPUT_BITS-1:0] factor;
    logic signed [WHOLE_BITS-1:0] product;
    assign low = {{PACKED_BITS - WEIGHT_BITS{weight_low[WEIGHT_BITS-1]}}, weight_low};
    assign high = {{PACKED_BITS - PRODUCT_BITS - WEIGHT_BITS{weight_high[WEIGHT_BITS-1]}},
        weight_high, {PRODUCT_BITS{1'b0}}};
    assign both = low + high;
    assign factor = in;
    assign product = both * factor;
    // The lower product is in the lowest bits. If it is negative, it has borrowed 1 from the upper
    // product, which is added back.
    assign product_low = product[PRODUCT_BITS-1:0];
    assign product_high =
        product[PRODUCT_BITS+:PRODUCT_BITS] + PRODUCT_BITS'(product[PRODUCT_BITS-1]);
    logic unused_top;  // copies of the sign
    assign unused_top = &{1'b0, product[WHOLE_BITS-1:2*PRODUCT_BITS-1]};
  end else begin : g_two
    logic signed [INPUT_BITS-1:0] factor;
    logic signed [WEIGHT_BITS-1:0] low, high;
    logic signed [PRODUCT_BITS-1:0] low_product, high_product;
    assign factor = in;
    assign low = weight_low;
    assign high = weight_high;
    assign low_product = factor * low;
    assign high_product = factor * high;
    assign product_low = low_product;
    assign product_high = high_product;
  end

`ifndef SYNTHESIS
  // A product is odd if both factors are, unless a borrow is not added back.
  always_comb begin
    low_is_exact : assert (product_low[0] == (in[0] && weight_low[0]));
    high_is_exact : assert (product_high[0] == (in[0] && weight_high[0]));
  end
`endif
endmodule
