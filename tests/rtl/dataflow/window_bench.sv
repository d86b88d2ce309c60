// Stages with a window that differ in every parameter (window_case.sv); slot i of the ports belongs
// to stage i.
`define PORTS(i) \
    .clock, \
    .reset, \
    .in_valid(in_valid[i]), \
    .in_data(in_data[i*64+:64]), \
    .in_pop(in_pop[i]), \
    .weights_valid(weights_valid[i]), \
    .weights_data(weights_data[i*320+:320]), \
    .weights_pop(weights_pop[i]), \
    .out_room(out_room[i]), \
    .out_reserve(out_reserve[i]), \
    .out_push(out_push[i]), \
    .out_data(out_data[i*64+:64]), \
    .parameters(parameters[i*PARAMETERS*32+:PARAMETERS*32])
module window_bench #(
    localparam int unsigned STAGES = 28,
    localparam int unsigned PARAMETERS = 34
) (
    input  logic                            clock,
    input  logic                            reset,
    input  logic [              STAGES-1:0] in_valid,
    input  logic [           STAGES*64-1:0] in_data,
    output logic [              STAGES-1:0] in_pop,
    input  logic [              STAGES-1:0] weights_valid,
    input  logic [          STAGES*320-1:0] weights_data,
    output logic [              STAGES-1:0] weights_pop,
    input  logic [              STAGES-1:0] out_room,
    output logic [              STAGES-1:0] out_reserve,
    output logic [              STAGES-1:0] out_push,
    output logic [           STAGES*64-1:0] out_data,
    output logic [STAGES*PARAMETERS*32-1:0] parameters
);

  // ---- Convolution.
  // 3 x 3, OG and IG > 1, R = 2.
  window_case #(
      .NUMBER(0), .H(5), .W(5), .OH(5), .OW(5), .PT(1), .PL(1), .LANES(2), .IG(2), .OG(2),
      .OUTPUTS(2), .RESULT_LANES(1), .PAD_VALUE(-3), .SHIFT(25)
  ) stage0 (`PORTS(0));
  // No padding; PACK 4, odd OUTPUTS.
  window_case #(
      .NUMBER(1), .H(6), .W(7), .OH(4), .OW(5), .OUTPUTS(3), .RESULT_LANES(3), .IN_BITS(4),
      .IN_SIGNED(1'b0), .WEIGHT_BITS(4), .PACK(4), .WAY(2), .LEVELS(4), .OUT_BITS(4), .LOW(0),
      .THRESHOLD_BITS(12)
  ) stage1 (`PORTS(1));
  // 5 x 5, stride 2, IG = 1, OG > 1.
  window_case #(
      .NUMBER(2), .H(7), .W(6), .OH(4), .OW(3), .KY(5), .KX(5), .SY(2), .SX(2), .PT(2), .PL(2),
      .OG(3), .OUTPUTS(1), .IN_SIGNED(1'b0), .PAD_VALUE(7), .WAY(0), .OUT_BITS(24)
  ) stage2 (`PORTS(2));
  // Dilation, asymmetric padding, R = IG; two spare rows.
  window_case #(
      .NUMBER(3), .H(8), .W(9), .OH(5), .OW(8), .SY(1), .SX(1), .PT(1), .PL(3), .DY(2), .DX(2),
      .IG(4), .OUTPUTS(4), .RESULT_LANES(1), .PACK(2), .SHIFT(25), .EXTRA_ROWS(2)
  ) stage3 (`PORTS(3));
  // One row, groups, IG = 1.
  window_case #(
      .NUMBER(4), .H(1), .W(9), .OH(1), .OW(9), .KY(1), .KX(3), .PL(1), .G(2), .OG(2), .LANES(2),
      .OUTPUTS(1), .WEIGHT_BITS(5)
  ) stage4 (`PORTS(4));
  // One column.
  window_case #(
      .NUMBER(5), .H(6), .W(1), .OH(6), .OW(1), .KY(3), .KX(1), .PT(1), .OG(2), .IG(2),
      .OUTPUTS(2), .RESULT_LANES(2), .COLUMN_MEMORY(1)
  ) stage5 (`PORTS(5));
  // Pointwise, 2 bits.
  window_case #(
      .NUMBER(6), .H(3), .W(4), .OH(3), .OW(4), .KY(1), .KX(1), .OG(2), .IG(3), .LANES(3),
      .OUTPUTS(2), .RESULT_LANES(1), .IN_BITS(2), .IN_SIGNED(1'b0), .WEIGHT_BITS(2), .WAY(2),
      .LEVELS(2), .OUT_BITS(2), .LOW(-2), .THRESHOLD_BITS(7)
  ) stage6 (`PORTS(6));
  // Pointwise with strides and groups.
  window_case #(
      .NUMBER(7), .H(5), .W(8), .OH(2), .OW(3), .KY(1), .KX(1), .SY(2), .SX(3), .G(3), .IG(2),
      .OUTPUTS(2), .RESULT_LANES(1), .SHIFT(22)
  ) stage7 (`PORTS(7));
  // Pointwise, 1 bit.
  window_case #(
      .NUMBER(8), .H(2), .W(3), .OH(2), .OW(3), .KY(1), .KX(1), .G(2), .OG(3), .LANES(4),
      .OUTPUTS(1), .IN_BITS(1), .IN_SIGNED(1'b0), .WEIGHT_BITS(1), .WAY(2), .LEVELS(1),
      .OUT_BITS(1), .LOW(0), .THRESHOLD_BITS(4)
  ) stage8 (`PORTS(8));
  // Fully connected, weights streamed.
  window_case #(
      .NUMBER(9), .H(1), .W(1), .OH(1), .OW(1), .KY(1), .KX(1), .OG(4), .IG(6), .OUTPUTS(2),
      .RESULT_LANES(1), .COLUMN_MEMORY(1), .STREAMED(1'b1), .SHIFT(24)
  ) stage9 (`PORTS(9));
  // Weights streamed.
  window_case #(
      .NUMBER(10), .H(4), .W(4), .OH(4), .OW(4), .PT(1), .PL(1), .IG(2), .OUTPUTS(2),
      .RESULT_LANES(1), .STREAMED(1'b1), .PACK(2), .SHIFT(25)
  ) stage10 (`PORTS(10));
  // Map smaller than the kernel.
  window_case #(
      .NUMBER(11), .H(2), .W(3), .OH(2), .OW(3), .KY(5), .KX(5), .PT(2), .PL(2), .LANES(1), .OG(1),
      .OUTPUTS(1), .WEIGHT_BITS(6), .SHIFT(23)
  ) stage11 (`PORTS(11));
  // 4 x 4, stride 3.
  window_case #(
      .NUMBER(12), .H(7), .W(8), .OH(3), .OW(3), .KY(4), .KX(4), .SY(3), .SX(3), .PT(1), .PL(1),
      .IG(2), .OUTPUTS(1), .IN_BITS(3), .WEIGHT_BITS(3), .LUT_PRODUCTS(1'b1), .WAY(2), .LEVELS(3),
      .OUT_BITS(3), .LOW(-4), .THRESHOLD_BITS(9)
  ) stage12 (`PORTS(12));
  // Stride greater than the kernel, rows and columns left over.
  window_case #(
      .NUMBER(13), .H(7), .W(7), .OH(2), .OW(2), .KY(2), .KX(2), .SY(3), .SX(3), .LANES(2),
      .OUTPUTS(1)
  ) stage13 (`PORTS(13));
  // 16 bits.
  window_case #(
      .NUMBER(14), .H(3), .W(4), .OH(2), .OW(4), .KY(2), .KX(2), .PL(1), .LANES(1), .IN_BITS(16),
      .WEIGHT_BITS(16), .OUTPUTS(1), .OUT_BITS(16), .SHIFT(33), .LOW(-32768), .HIGH(32767),
      .PAD_VALUE(-77)
  ) stage14 (`PORTS(14));
  // Groups, PACK 2, odd OUTPUTS.
  window_case #(
      .NUMBER(15), .H(4), .W(5), .OH(4), .OW(5), .PT(1), .PL(1), .G(2), .IG(2), .OG(2), .LANES(1),
      .OUTPUTS(3), .RESULT_LANES(3), .IN_BITS(7), .IN_SIGNED(1'b0), .WEIGHT_BITS(6), .PACK(2),
      .PAD_VALUE(64), .SHIFT(23)
  ) stage15 (`PORTS(15));
  // Two columns; 255 thresholds.
  window_case #(
      .NUMBER(16), .H(4), .W(2), .OH(4), .OW(2), .PT(1), .PL(1), .OUTPUTS(1), .IN_BITS(3),
      .IN_SIGNED(1'b0), .WEIGHT_BITS(7), .WAY(2), .LEVELS(8), .OUT_BITS(8), .LOW(-128),
      .THRESHOLD_BITS(14)
  ) stage16 (`PORTS(16));
  // One row of windows; PACK 4 in 25 bits.
  window_case #(
      .NUMBER(17), .H(3), .W(6), .OH(1), .OW(4), .KY(3), .KX(3), .IG(3), .OG(2), .LANES(1),
      .OUTPUTS(6), .RESULT_LANES(2), .IN_BITS(4), .WEIGHT_BITS(4), .PACK(4), .MULTIPLIER_BITS(25),
      .SHIFT(20)
  ) stage17 (`PORTS(17));
  // Kept columns of groups, 1 bit; a spare row.
  window_case #(
      .NUMBER(18), .H(4), .W(4), .OH(3), .OW(2), .KY(2), .KX(3), .SX(1), .G(3), .OG(2), .IG(1),
      .LANES(1), .OUTPUTS(2), .RESULT_LANES(2), .IN_BITS(1), .IN_SIGNED(1'b1), .WEIGHT_BITS(1),
      .WAY(0), .OUT_BITS(14), .EXTRA_ROWS(1)
  ) stage18 (`PORTS(18));
  // Columns in block memory.
  window_case #(
      .NUMBER(19), .H(5), .W(4), .OH(5), .OW(4), .KY(3), .KX(3), .PT(1), .PL(1), .IG(4), .OG(2),
      .LANES(1), .OUTPUTS(2), .RESULT_LANES(1), .COLUMN_MEMORY(1), .ROW_MEMORY(0), .SHIFT(25),
      .C_BITS(30)
  ) stage19 (`PORTS(19));

  // ---- Depthwise.
  // 3 x 3.
  window_case #(
      .NUMBER(20), .KIND(1), .H(5), .W(6), .OH(5), .OW(6), .PT(1), .PL(1), .LANES(2), .IG(2),
      .PAD_VALUE(9), .SHIFT(23)
  ) stage20 (`PORTS(20));
  // 2 x 2, as average pools are.
  window_case #(
      .NUMBER(21), .KIND(1), .H(4), .W(6), .OH(2), .OW(3), .KY(2), .KX(2), .SY(2), .SX(2),
      .LANES(1), .IG(1), .IN_SIGNED(1'b0), .WEIGHT_BITS(2), .WAY(0), .OUT_BITS(16)
  ) stage21 (`PORTS(21));
  // 1 x 1.
  window_case #(
      .NUMBER(22), .KIND(1), .H(3), .W(3), .OH(3), .OW(3), .KY(1), .KX(1), .LANES(2), .IG(3),
      .WAY(2), .LEVELS(3), .OUT_BITS(3), .LOW(0), .THRESHOLD_BITS(15)
  ) stage22 (`PORTS(22));
  // Strides, dilation.
  window_case #(
      .NUMBER(23), .KIND(1), .H(7), .W(6), .OH(3), .OW(2), .SY(2), .SX(3), .PT(1), .PL(2), .DY(1),
      .DX(2), .LANES(1), .IG(3), .IN_BITS(4), .IN_SIGNED(1'b0), .COLUMN_MEMORY(1), .OUT_BITS(5),
      .HIGH(15), .LOW(-16), .SHIFT(21)
  ) stage23 (`PORTS(23));

  // ---- Maximum pool.
  // 2 x 2.
  window_case #(
      .NUMBER(24), .KIND(2), .H(4), .W(6), .OH(2), .OW(3), .KY(2), .KX(2), .SY(2), .SX(2),
      .LANES(1), .IG(2), .OUT_BITS(8)
  ) stage24 (`PORTS(24));
  // 3 x 3 with padding, unsigned.
  window_case #(
      .NUMBER(25), .KIND(2), .H(5), .W(5), .OH(3), .OW(3), .SY(2), .SX(2), .PT(1), .PL(1),
      .LANES(3), .IN_BITS(5), .OUT_BITS(5), .IN_SIGNED(1'b0)
  ) stage25 (`PORTS(25));
  // 1 x 1.
  window_case #(
      .NUMBER(26), .KIND(2), .H(4), .W(5), .OH(2), .OW(3), .KY(1), .KX(1), .SY(2), .SX(2),
      .LANES(2), .IG(2), .OUT_BITS(8)
  ) stage26 (`PORTS(26));
  // One row.
  window_case #(
      .NUMBER(27), .KIND(2), .H(2), .W(6), .OH(2), .OW(6), .KY(1), .KX(4), .PL(2), .LANES(1),
      .IN_BITS(6), .OUT_BITS(6)
  ) stage27 (`PORTS(27));
endmodule
`undef PORTS
