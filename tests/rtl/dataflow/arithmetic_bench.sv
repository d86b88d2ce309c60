// Multipliers and scales of the dataflow machine side by side.
//   in, weights     operands of the multipliers: an activation, and four weights in 16 bits each.
//                   The weights of cycle t - 1 belong to the activation of cycle t.
//   products        four products of multiplier i in slot i, in 32 bits each; 0 where PACK is less
//   operands        every value of it, one after the other, gives all operands of PACK 2 with 8
//                   bits and PACK 4 with 4 bits
//   wrong           bit i: instance i of these differed from products by `*` for the value of four
//                   cycles before
//   sum, m, c, codes   of the scales, in slots of 32 bits
module arithmetic_bench #(
    localparam int unsigned MULTIPLIERS = 20,
    localparam int unsigned SCALES = 6,
    localparam int unsigned CHECKED = 36
) (
    input  logic                       clock,
    input  logic [               15:0] in,
    input  logic [               63:0] weights,
    output logic [MULTIPLIERS*128-1:0] products,
    input  logic [               19:0] operands,
    output logic [        CHECKED-1:0] wrong,
    input  logic [               31:0] sum,
    input  logic [               16:0] m,
    input  logic [               51:0] c,
    output logic [      SCALES*32-1:0] codes
);
`define MULTIPLIER(i, x, is_signed, w, pack, bits, luts) \
  multiplier_case #( \
      .IN_BITS(x), \
      .IN_SIGNED(is_signed), \
      .WEIGHT_BITS(w), \
      .PACK(pack), \
      .MULTIPLIER_BITS(bits), \
      .LUT_PRODUCTS(luts) \
  ) multiplier``i (.clock, .in, .weights, .products(products[i*128+:128]));
  `MULTIPLIER(0, 8, 1'b1, 8, 1, 27, 1'b0)
  `MULTIPLIER(1, 8, 1'b0, 8, 1, 27, 1'b0)
  `MULTIPLIER(2, 8, 1'b1, 8, 2, 27, 1'b0)
  `MULTIPLIER(3, 8, 1'b0, 8, 2, 25, 1'b0)
  `MULTIPLIER(4, 4, 1'b1, 4, 4, 27, 1'b0)
  `MULTIPLIER(5, 4, 1'b0, 4, 4, 27, 1'b0)
  `MULTIPLIER(6, 4, 1'b1, 4, 4, 25, 1'b0)
  `MULTIPLIER(7, 4, 1'b0, 4, 4, 25, 1'b0)
  `MULTIPLIER(8, 8, 1'b1, 1, 1, 27, 1'b0)
  `MULTIPLIER(9, 8, 1'b0, 1, 1, 27, 1'b0)
  `MULTIPLIER(10, 8, 1'b1, 2, 1, 27, 1'b0)
  `MULTIPLIER(11, 8, 1'b0, 2, 1, 27, 1'b0)
  `MULTIPLIER(12, 1, 1'b0, 8, 1, 27, 1'b0)
  `MULTIPLIER(13, 2, 1'b1, 7, 1, 27, 1'b0)
  `MULTIPLIER(14, 6, 1'b0, 5, 1, 27, 1'b1)
  `MULTIPLIER(15, 16, 1'b1, 16, 1, 27, 1'b0)
  `MULTIPLIER(16, 16, 1'b0, 16, 1, 27, 1'b0)
  `MULTIPLIER(17, 5, 1'b0, 7, 2, 27, 1'b0)
  `MULTIPLIER(18, 3, 1'b0, 5, 4, 27, 1'b0)
  `MULTIPLIER(19, 2, 1'b0, 3, 4, 27, 1'b0)
`undef MULTIPLIER

  for (genvar i = 0; i < 16; i++) begin : g_pair
    packed_check #(
        .BITS(8),
        .IN_SIGNED(1'b1),
        .PACK(2)
    ) with_sign (
        .clock,
        .in(operands[7:0]),
        .weights({operands[19:16], 4'(i), operands[15:8]}),
        .wrong(wrong[2*i])
    );
    packed_check #(
        .BITS(8),
        .IN_SIGNED(1'b0),
        .PACK(2)
    ) without_sign (
        .clock,
        .in(operands[7:0]),
        .weights({operands[19:16], 4'(i), operands[15:8]}),
        .wrong(wrong[2*i+1])
    );
  end
  for (genvar i = 0; i < 4; i++) begin : g_four
    packed_check #(
        .BITS(4),
        .IN_SIGNED(i % 2 == 0),
        .PACK(4),
        .MULTIPLIER_BITS(i < 2 ? 27 : 25)
    ) four (
        .clock,
        .in(operands[3:0]),
        .weights(operands[19:4]),
        .wrong(wrong[32+i])
    );
  end

`define SCALE(i, sum_bits, c_bits, out_bits, shift, low, high) \
  logic [out_bits-1:0] code``i; \
  assign codes[i*32+:32] = 32'(code``i); \
  kiln_dataflow_scale #( \
      .SUM_BITS(sum_bits), \
      .C_BITS(c_bits), \
      .OUT_BITS(out_bits), \
      .SHIFT(shift), \
      .LOW(low), \
      .HIGH(high) \
  ) scale``i (.clock, .sum(sum[sum_bits-1:0]), .m, .c(c[c_bits-1:0]), .code(code``i));
  `SCALE(0, 20, 40, 8, 24, -128, 127)
  `SCALE(1, 32, 52, 8, 40, 0, 255)
  `SCALE(2, 6, 12, 8, 1, -128, 127)
  `SCALE(3, 30, 52, 16, 47, -32768, 32767)
  `SCALE(4, 26, 48, 16, 26, 0, 65535)
  `SCALE(5, 5, 3, 16, 0, -32768, 32767)
`undef SCALE
endmodule
