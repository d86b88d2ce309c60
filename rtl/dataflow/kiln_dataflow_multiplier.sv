// PACK products of one activation and PACK weights in one multiplier, exact.
//   time       `weights` in cycle t - 1 and `in` in cycle t give `products` in t + 1, or in t + 2
//              with PACK > 1
//   formats    activations of 1 to 16 bits, signed or unsigned; weights are signed, 1 to 16 bits. A
//              weight of 1 bit is +1 if the bit is set, else -1. Products are signed and have
//              IN_BITS + WEIGHT_BITS bits, element 0 lowest.
//   structure  PACK 1: a multiplier, or adders of LUTs if an operand has 1 or 2 bits or with
//              LUT_PRODUCTS. PACK > 1: one multiplier of MULTIPLIER_BITS x 18 bits, signed.
//
// PACK 2. The weights are fields of one operand, w0 + w1 * 2^F with F = IN_BITS + WEIGHT_BITS. The
// lowest F bits of the product are p0. If p0 is negative, it has borrowed 1 from the upper field.
//
// PACK 4. Four fields are F = IN_BITS + WEIGHT_BITS - 1 bits apart, one bit less than a product
// has. Every product satisfies |p| < 2^F: an unsigned x has |x w| <= (2^IN_BITS - 1) *
// 2^(WEIGHT_BITS-1), a signed one half of 2^F at most. So the fields below field i sum up to less
// than one unit of field i in magnitude, and borrow 1 from it exactly if their sum is negative. The
// lowest bit of p_i is x[0] & w_i[0]. It differs from bit F * i of the product exactly if field i
// has lent 1. After that is added back, bits F - 1..0 of the field are those of p_i, and bit F is
// the highest bit of p_i exclusive-or the lowest bit of p_(i+1).
// If the four weights need one bit more than the multiplier has, the sign of the highest weight
// stays outside, and its product with the activation is subtracted at the end.
module kiln_dataflow_multiplier #(
    parameter int unsigned IN_BITS = 8,
    parameter bit IN_SIGNED = 1'b1,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned PACK = 1,  // 1, 2 or 4
    // bits of the longer operand of a multiplier: 27 of a DSP48E2, 25 of a DSP48E1
    parameter int unsigned MULTIPLIER_BITS = 27,
    parameter bit LUT_PRODUCTS = 1'b0,
    localparam int unsigned PRODUCT_BITS = IN_BITS + WEIGHT_BITS  // derived, do not set
) (
    input  logic                         clock,
    input  logic [ PACK*WEIGHT_BITS-1:0] weights,
    input  logic [          IN_BITS-1:0] in,
    output logic [PACK*PRODUCT_BITS-1:0] products
);
  localparam int unsigned FIELD_BITS = PACK == 4 ? PRODUCT_BITS - 1 : PRODUCT_BITS;
  localparam int unsigned WHOLE_BITS = (PACK - 1) * FIELD_BITS + WEIGHT_BITS + 1;
  localparam bit SIGN_APART = PACK == 4 && WHOLE_BITS > MULTIPLIER_BITS;
  localparam int unsigned PACKED_BITS = SIGN_APART ? WHOLE_BITS - 1 : WHOLE_BITS;

  if (PACK != 1 && PACK != 2 && PACK != 4) begin : g_pack
    $error("PACK must be 1, 2 or 4");
  end
  if (PACK > 1 && (WEIGHT_BITS < 2 || PACKED_BITS > MULTIPLIER_BITS ||
      (PACK == 2 && PRODUCT_BITS > 16) || (PACK == 4 && PRODUCT_BITS > 8))) begin : g_operands
    $error("PACK 2 takes operands of up to 16 bits together, PACK 4 of 8; weights have 2 or more");
  end

  // The activation as a signed number.
  logic signed [IN_BITS:0] factor;
  assign factor = {IN_SIGNED && in[IN_BITS-1], in};

  if (PACK > 1) begin : g_packed
    localparam int unsigned SIGNED_BITS = WEIGHT_BITS + 1;
    localparam int unsigned SUM_BITS = PACKED_BITS + IN_BITS + 1;

    // Cycle t - 1: the packed weights, field by field, each less what the fields below borrow.
    logic signed [PACKED_BITS-1:0] packed_weights, packed_next;
    logic [PACK-1:0] odd, odd_next;
    logic top_negative;
    logic signed [WEIGHT_BITS-1:0] weight;
    logic signed [SIGNED_BITS-1:0] field;
    always_comb begin
      packed_next = '0;
      odd_next = '0;
      weight = '0;
      field = '0;
      for (int i = 0; i < PACK; i++) begin
        weight = weights[i*WEIGHT_BITS+:WEIGHT_BITS];
        odd_next[i] = weight[0];
        if (SIGN_APART && i == PACK - 1) weight[WEIGHT_BITS-1] = 1'b0;
        field = SIGNED_BITS'(weight) - (field < 0 ? SIGNED_BITS'(1) : '0);
        // The next field overwrites the copies of the sign.
        packed_next = (packed_next & ~({PACKED_BITS{1'b1}} << (i * FIELD_BITS))) |
            (PACKED_BITS'(field) << (i * FIELD_BITS));
      end
    end
    always_ff @(posedge clock) begin
      packed_weights <= packed_next;
      odd            <= odd_next;
      top_negative   <= weights[PACK*WEIGHT_BITS-1];
    end

    // Cycle t: the product, and the lowest bit of each field's product.
    logic signed [SUM_BITS-1:0] product;
    logic [PACK-1:0] odd_products;
    logic signed [IN_BITS:0] apart;
    always_ff @(posedge clock) begin
      product      <= packed_weights * factor;
      odd_products <= in[0] ? odd : '0;
      apart        <= top_negative ? factor : '0;
    end

    // Cycle t + 1: the fields.
    logic [PACK*PRODUCT_BITS-1:0] fields;
    logic [PRODUCT_BITS-1:0] one;
    logic borrow;
    always_comb begin
      fields = '0;
      one = '0;
      borrow = 1'b0;
      for (int i = 0; i < PACK; i++) begin
        if (i > 0) borrow = PACK == 2 ? product[FIELD_BITS-1] :
            product[i*FIELD_BITS] ^ odd_products[i];
        one = PRODUCT_BITS'(product >> (i * FIELD_BITS)) + PRODUCT_BITS'(borrow);
        if (SIGN_APART && i == PACK - 1)
          one = one - (PRODUCT_BITS'(apart) << (WEIGHT_BITS - 1));
        if (PACK == 4 && i < PACK - 1)
          one[PRODUCT_BITS-1] = one[PRODUCT_BITS-1] ^ odd_products[(i+1)%PACK];
        fields[i*PRODUCT_BITS+:PRODUCT_BITS] = one;
      end
    end
    always_ff @(posedge clock) products <= fields;
`ifndef SYNTHESIS
    // A field has the lowest bit of its product, unless a borrow is not added back.
    logic [1:0] filled = '0;  // cycles since power-up, up to 2
    always_ff @(posedge clock) filled <= filled == 2'd2 ? filled : filled + 1'b1;
    for (genvar i = 0; i < PACK; i++) begin : g_assert
      always_ff @(posedge clock) begin
        if (filled == 2'd2) assert (fields[i*PRODUCT_BITS] == odd_products[i]);
      end
    end
`endif
    // Copies of the sign; the parity of the lowest product; what only SIGN_APART needs.
    wire unused_bits = &{1'b0, product, odd_products, apart};
  end else if (WEIGHT_BITS == 1) begin : g_sign
    logic plus;
    always_ff @(posedge clock) begin
      plus     <= weights[0];
      products <= plus ? factor : -factor;
    end
  end else if (LUT_PRODUCTS || IN_BITS <= 2 || WEIGHT_BITS == 2) begin : g_adders
    // Adds the shifted longer operand for each bit of the shorter one.
    localparam bit IN_SHORTER = IN_BITS < WEIGHT_BITS;
    localparam int unsigned SHORT_BITS = IN_SHORTER ? IN_BITS : WEIGHT_BITS;
    logic signed [WEIGHT_BITS-1:0] weight;
    logic [SHORT_BITS-1:0] shorter;
    logic [PRODUCT_BITS-1:0] longer, term, product;
    always_comb begin
      if (IN_SHORTER) begin
        shorter = SHORT_BITS'(in);
        longer = PRODUCT_BITS'(weight);
      end else begin
        shorter = SHORT_BITS'(weight);
        longer = PRODUCT_BITS'(factor);
      end
      product = '0;
      term = '0;
      for (int i = 0; i < SHORT_BITS; i++) begin
        term = shorter[i] ? longer << i : '0;
        if (i == SHORT_BITS - 1 && (IN_SIGNED || !IN_SHORTER)) product = product - term;
        else product = product + term;
      end
    end
    always_ff @(posedge clock) begin
      weight   <= weights;
      products <= product;
    end
  end else begin : g_single
    logic signed [WEIGHT_BITS-1:0] weight;
    logic signed [PRODUCT_BITS-1:0] product;
    always_ff @(posedge clock) begin
      weight  <= weights;
      product <= PRODUCT_BITS'(weight * factor);
    end
    assign products = product;
  end
endmodule
