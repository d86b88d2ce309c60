// Stages without a window. Stage i has three inputs and three outputs in slots 3 i to 3 i + 2 of
// the ports; words are in the lowest bits of their slots, unused bits are zero.
module streams_bench #(
    localparam int unsigned STAGES = 21,
    localparam int unsigned SLOTS = 3 * STAGES
) (
    input  logic                clock,
    input  logic                reset,
    input  logic [   SLOTS-1:0] in_valid,
    input  logic [SLOTS*64-1:0] in_data,
    output logic [   SLOTS-1:0] in_pop,
    input  logic [   SLOTS-1:0] out_room,
    output logic [   SLOTS-1:0] out_reserve,
    output logic [   SLOTS-1:0] out_push,
    output logic [SLOTS*64-1:0] out_data
);
  wire unused_inputs = &{1'b0, in_valid, in_data, out_room};

  // ---- 0
  assign out_data[63:7] = '0;
  assign out_data[127:71] = '0;
  assign out_data[191:135] = '0;
  assign in_pop[1] = 1'b0;
  assign in_pop[2] = 1'b0;
  kiln_dataflow_fork #(
      .WIDTH(7), .OUTPUTS(3)
  ) stage0 (
      .clock,
      .reset,
      .in_valid(in_valid[0]),
      .in_data(in_data[6:0]),
      .in_pop(in_pop[0]),
      .out_room(out_room[2:0]),
      .out_reserve(out_reserve[2:0]),
      .out_push(out_push[2:0]),
      .out_data({out_data[134:128], out_data[70:64], out_data[6:0]})
  );
  // ---- 1
  assign out_data[255:201] = '0;
  assign out_data[319:256] = '0;
  assign out_data[383:320] = '0;
  assign out_reserve[4] = 1'b0;
  assign out_push[4] = 1'b0;
  assign out_reserve[5] = 1'b0;
  assign out_push[5] = 1'b0;
  kiln_dataflow_concat #(
      .WIDTH(9), .INPUTS(3), .PIXEL_WORDS({32'd3, 32'd1, 32'd2})
  ) stage1 (
      .clock,
      .reset,
      .in_valid(in_valid[5:3]),
      .in_data({in_data[328:320], in_data[264:256], in_data[200:192]}),
      .in_pop(in_pop[5:3]),
      .out_room(out_room[3]),
      .out_reserve(out_reserve[3]),
      .out_push(out_push[3]),
      .out_data(out_data[200:192])
  );
  // ---- 2
  assign out_data[447:394] = '0;
  assign out_data[511:448] = '0;
  assign out_data[575:512] = '0;
  assign in_pop[7] = 1'b0;
  assign in_pop[8] = 1'b0;
  assign out_reserve[7] = 1'b0;
  assign out_push[7] = 1'b0;
  assign out_reserve[8] = 1'b0;
  assign out_push[8] = 1'b0;
  kiln_dataflow_widen #(
      .WIDTH(5), .FACTOR(2)
  ) stage2 (
      .clock,
      .reset,
      .in_valid(in_valid[6]),
      .in_data(in_data[388:384]),
      .in_pop(in_pop[6]),
      .out_room(out_room[6]),
      .out_reserve(out_reserve[6]),
      .out_push(out_push[6]),
      .out_data(out_data[393:384])
  );
  // ---- 3
  assign out_data[639:616] = '0;
  assign out_data[703:640] = '0;
  assign out_data[767:704] = '0;
  assign in_pop[10] = 1'b0;
  assign in_pop[11] = 1'b0;
  assign out_reserve[10] = 1'b0;
  assign out_push[10] = 1'b0;
  assign out_reserve[11] = 1'b0;
  assign out_push[11] = 1'b0;
  kiln_dataflow_widen #(
      .WIDTH(8), .FACTOR(5)
  ) stage3 (
      .clock,
      .reset,
      .in_valid(in_valid[9]),
      .in_data(in_data[583:576]),
      .in_pop(in_pop[9]),
      .out_room(out_room[9]),
      .out_reserve(out_reserve[9]),
      .out_push(out_push[9]),
      .out_data(out_data[615:576])
  );
  // ---- 4
  assign out_data[831:774] = '0;
  assign out_data[895:832] = '0;
  assign out_data[959:896] = '0;
  assign in_pop[13] = 1'b0;
  assign in_pop[14] = 1'b0;
  assign out_reserve[13] = 1'b0;
  assign out_push[13] = 1'b0;
  assign out_reserve[14] = 1'b0;
  assign out_push[14] = 1'b0;
  kiln_dataflow_narrow #(
      .WIDTH(6), .FACTOR(2)
  ) stage4 (
      .clock,
      .reset,
      .in_valid(in_valid[12]),
      .in_data(in_data[779:768]),
      .in_pop(in_pop[12]),
      .out_room(out_room[12]),
      .out_reserve(out_reserve[12]),
      .out_push(out_push[12]),
      .out_data(out_data[773:768])
  );
  // ---- 5
  assign out_data[1023:968] = '0;
  assign out_data[1087:1024] = '0;
  assign out_data[1151:1088] = '0;
  assign in_pop[16] = 1'b0;
  assign in_pop[17] = 1'b0;
  assign out_reserve[16] = 1'b0;
  assign out_push[16] = 1'b0;
  assign out_reserve[17] = 1'b0;
  assign out_push[17] = 1'b0;
  kiln_dataflow_narrow #(
      .WIDTH(8), .FACTOR(3)
  ) stage5 (
      .clock,
      .reset,
      .in_valid(in_valid[15]),
      .in_data(in_data[983:960]),
      .in_pop(in_pop[15]),
      .out_room(out_room[15]),
      .out_reserve(out_reserve[15]),
      .out_push(out_push[15]),
      .out_data(out_data[967:960])
  );
  // ---- 6
  assign out_data[1215:1164] = '0;
  assign out_data[1279:1216] = '0;
  assign out_data[1343:1280] = '0;
  assign in_pop[19] = 1'b0;
  assign in_pop[20] = 1'b0;
  assign out_reserve[19] = 1'b0;
  assign out_push[19] = 1'b0;
  assign out_reserve[20] = 1'b0;
  assign out_push[20] = 1'b0;
  kiln_dataflow_pad #(
      .LANES(2), .CODE_BITS(6), .PAD_VALUE(-5), .H(3), .W(2), .CG(2), .PT(2), .PB(1), .PL(0),
      .PR(3), .PAD_FRONT(1), .PAD_BACK(2)
  ) stage6 (
      .clock,
      .reset,
      .in_valid(in_valid[18]),
      .in_data(in_data[1163:1152]),
      .in_pop(in_pop[18]),
      .out_room(out_room[18]),
      .out_reserve(out_reserve[18]),
      .out_push(out_push[18]),
      .out_data(out_data[1163:1152])
  );
  // ---- 7
  assign out_data[1407:1348] = '0;
  assign out_data[1471:1408] = '0;
  assign out_data[1535:1472] = '0;
  assign in_pop[22] = 1'b0;
  assign in_pop[23] = 1'b0;
  assign out_reserve[22] = 1'b0;
  assign out_push[22] = 1'b0;
  assign out_reserve[23] = 1'b0;
  assign out_push[23] = 1'b0;
  kiln_dataflow_pad #(
      .LANES(1), .CODE_BITS(4), .PAD_VALUE(9), .H(1), .W(1), .CG(1), .PT(0), .PB(0), .PL(2),
      .PR(0)
  ) stage7 (
      .clock,
      .reset,
      .in_valid(in_valid[21]),
      .in_data(in_data[1347:1344]),
      .in_pop(in_pop[21]),
      .out_room(out_room[21]),
      .out_reserve(out_reserve[21]),
      .out_push(out_push[21]),
      .out_data(out_data[1347:1344])
  );
  // ---- 8
  assign out_data[1599:1557] = '0;
  assign out_data[1663:1600] = '0;
  assign out_data[1727:1664] = '0;
  assign in_pop[25] = 1'b0;
  assign in_pop[26] = 1'b0;
  assign out_reserve[25] = 1'b0;
  assign out_push[25] = 1'b0;
  assign out_reserve[26] = 1'b0;
  assign out_push[26] = 1'b0;
  kiln_dataflow_table #(
      .LANES(3), .IN_BITS(5), .OUT_BITS(7), .FILE("table5.hex")
  ) stage8 (
      .clock,
      .reset,
      .in_valid(in_valid[24]),
      .in_data(in_data[1550:1536]),
      .in_pop(in_pop[24]),
      .out_room(out_room[24]),
      .out_reserve(out_reserve[24]),
      .out_push(out_push[24]),
      .out_data(out_data[1556:1536])
  );
  // ---- 9
  assign out_data[1791:1744] = '0;
  assign out_data[1855:1792] = '0;
  assign out_data[1919:1856] = '0;
  assign in_pop[28] = 1'b0;
  assign in_pop[29] = 1'b0;
  assign out_reserve[28] = 1'b0;
  assign out_push[28] = 1'b0;
  assign out_reserve[29] = 1'b0;
  assign out_push[29] = 1'b0;
  kiln_dataflow_affine #(
      .LANES(2), .INPUTS(1), .IN_BITS(8), .IN_SIGNED(1'b0), .OUT_BITS(8), .M0(-1234),
      .C(48'sd200000), .SHIFT(11), .LOW(-100), .HIGH(120)
  ) stage9 (
      .clock,
      .reset,
      .in_valid(in_valid[27]),
      .in_data(in_data[1743:1728]),
      .in_pop(in_pop[27]),
      .other_valid(1'b0),
      .other_data('0),
      .other_pop(),
      .out_room(out_room[27]),
      .out_reserve(out_reserve[27]),
      .out_push(out_push[27]),
      .out_data(out_data[1743:1728])
  );
  // ---- 10
  assign out_data[1983:1936] = '0;
  assign out_data[2047:1984] = '0;
  assign out_data[2111:2048] = '0;
  assign in_pop[32] = 1'b0;
  assign out_reserve[31] = 1'b0;
  assign out_push[31] = 1'b0;
  assign out_reserve[32] = 1'b0;
  assign out_push[32] = 1'b0;
  kiln_dataflow_affine #(
      .LANES(1), .INPUTS(2), .IN_BITS(16), .OTHER_BITS(5), .OTHER_SIGNED(1'b0), .OUT_BITS(16),
      .M0(131071), .M1(-131072), .C(-48'sd7000000), .SHIFT(17), .LOW(0), .HIGH(65535)
  ) stage10 (
      .clock,
      .reset,
      .in_valid(in_valid[30]),
      .in_data(in_data[1935:1920]),
      .in_pop(in_pop[30]),
      .other_valid(in_valid[31]),
      .other_data(in_data[1988:1984]),
      .other_pop(in_pop[31]),
      .out_room(out_room[30]),
      .out_reserve(out_reserve[30]),
      .out_push(out_push[30]),
      .out_data(out_data[1935:1920])
  );
  // ---- 11
  assign out_data[2175:2117] = '0;
  assign out_data[2239:2176] = '0;
  assign out_data[2303:2240] = '0;
  assign in_pop[35] = 1'b0;
  assign out_reserve[34] = 1'b0;
  assign out_push[34] = 1'b0;
  assign out_reserve[35] = 1'b0;
  assign out_push[35] = 1'b0;
  kiln_dataflow_affine #(
      .LANES(1), .INPUTS(2), .IN_BITS(3), .OTHER_BITS(3), .OUT_BITS(5), .M0(1), .M1(1), .SHIFT(0),
      .LOW(-16), .HIGH(15)
  ) stage11 (
      .clock,
      .reset,
      .in_valid(in_valid[33]),
      .in_data(in_data[2114:2112]),
      .in_pop(in_pop[33]),
      .other_valid(in_valid[34]),
      .other_data(in_data[2178:2176]),
      .other_pop(in_pop[34]),
      .out_room(out_room[33]),
      .out_reserve(out_reserve[33]),
      .out_push(out_push[33]),
      .out_data(out_data[2116:2112])
  );
  // ---- 12
  assign out_data[2367:2312] = '0;
  assign out_data[2431:2368] = '0;
  assign out_data[2495:2432] = '0;
  assign in_pop[37] = 1'b0;
  assign in_pop[38] = 1'b0;
  assign out_reserve[37] = 1'b0;
  assign out_push[37] = 1'b0;
  assign out_reserve[38] = 1'b0;
  assign out_push[38] = 1'b0;
  kiln_dataflow_rearrange #(
      .WIDTH(8), .W(3), .CG(2), .FY(2), .FX(2), .MEMORY(0)
  ) stage12 (
      .clock,
      .reset,
      .in_valid(in_valid[36]),
      .in_data(in_data[2311:2304]),
      .in_pop(in_pop[36]),
      .out_room(out_room[36]),
      .out_reserve(out_reserve[36]),
      .out_push(out_push[36]),
      .out_data(out_data[2311:2304])
  );
  // ---- 13
  assign out_data[2559:2504] = '0;
  assign out_data[2623:2560] = '0;
  assign out_data[2687:2624] = '0;
  assign in_pop[40] = 1'b0;
  assign in_pop[41] = 1'b0;
  assign out_reserve[40] = 1'b0;
  assign out_push[40] = 1'b0;
  assign out_reserve[41] = 1'b0;
  assign out_push[41] = 1'b0;
  kiln_dataflow_rearrange #(
      .WIDTH(8), .W(4), .CG(1), .FY(1), .FX(3)
  ) stage13 (
      .clock,
      .reset,
      .in_valid(in_valid[39]),
      .in_data(in_data[2503:2496]),
      .in_pop(in_pop[39]),
      .out_room(out_room[39]),
      .out_reserve(out_reserve[39]),
      .out_push(out_push[39]),
      .out_data(out_data[2503:2496])
  );
  // ---- 14
  assign out_data[2751:2696] = '0;
  assign out_data[2815:2752] = '0;
  assign out_data[2879:2816] = '0;
  assign in_pop[43] = 1'b0;
  assign in_pop[44] = 1'b0;
  assign out_reserve[43] = 1'b0;
  assign out_push[43] = 1'b0;
  assign out_reserve[44] = 1'b0;
  assign out_push[44] = 1'b0;
  kiln_dataflow_rearrange #(
      .WIDTH(8), .W(3), .CG(4), .FY(2), .FX(2), .SPACE(1'b1)
  ) stage14 (
      .clock,
      .reset,
      .in_valid(in_valid[42]),
      .in_data(in_data[2695:2688]),
      .in_pop(in_pop[42]),
      .out_room(out_room[42]),
      .out_reserve(out_reserve[42]),
      .out_push(out_push[42]),
      .out_data(out_data[2695:2688])
  );
  // ---- 15
  assign out_data[2943:2888] = '0;
  assign out_data[3007:2944] = '0;
  assign out_data[3071:3008] = '0;
  assign in_pop[46] = 1'b0;
  assign in_pop[47] = 1'b0;
  assign out_reserve[46] = 1'b0;
  assign out_push[46] = 1'b0;
  assign out_reserve[47] = 1'b0;
  assign out_push[47] = 1'b0;
  kiln_dataflow_rearrange #(
      .WIDTH(8), .W(2), .CG(12), .FY(3), .FX(2), .SPACE(1'b1)
  ) stage15 (
      .clock,
      .reset,
      .in_valid(in_valid[45]),
      .in_data(in_data[2887:2880]),
      .in_pop(in_pop[45]),
      .out_room(out_room[45]),
      .out_reserve(out_reserve[45]),
      .out_push(out_push[45]),
      .out_data(out_data[2887:2880])
  );
  // ---- 16
  assign out_data[3135:3080] = '0;
  assign out_data[3199:3136] = '0;
  assign out_data[3263:3200] = '0;
  assign in_pop[49] = 1'b0;
  assign in_pop[50] = 1'b0;
  assign out_reserve[49] = 1'b0;
  assign out_push[49] = 1'b0;
  assign out_reserve[50] = 1'b0;
  assign out_push[50] = 1'b0;
  kiln_dataflow_rearrange #(
      .WIDTH(8), .W(1), .CG(1), .FY(2), .FX(1)
  ) stage16 (
      .clock,
      .reset,
      .in_valid(in_valid[48]),
      .in_data(in_data[3079:3072]),
      .in_pop(in_pop[48]),
      .out_room(out_room[48]),
      .out_reserve(out_reserve[48]),
      .out_push(out_push[48]),
      .out_data(out_data[3079:3072])
  );
  // ---- 17
  assign out_data[3327:3296] = '0;
  assign out_data[3391:3328] = '0;
  assign out_data[3455:3392] = '0;
  assign in_pop[52] = 1'b0;
  assign in_pop[53] = 1'b0;
  assign out_reserve[52] = 1'b0;
  assign out_push[52] = 1'b0;
  assign out_reserve[53] = 1'b0;
  assign out_push[53] = 1'b0;
  kiln_dataflow_global_sum #(
      .PIXELS(6), .LANES(2), .CG(1), .IN_BITS(8), .OUT_BITS(16), .WAY(0)
  ) stage17 (
      .clock,
      .reset,
      .in_valid(in_valid[51]),
      .in_data(in_data[3279:3264]),
      .in_pop(in_pop[51]),
      .out_room(out_room[51]),
      .out_reserve(out_reserve[51]),
      .out_push(out_push[51]),
      .out_data(out_data[3295:3264])
  );
  // ---- 18
  assign out_data[3519:3464] = '0;
  assign out_data[3583:3520] = '0;
  assign out_data[3647:3584] = '0;
  assign in_pop[55] = 1'b0;
  assign in_pop[56] = 1'b0;
  assign out_reserve[55] = 1'b0;
  assign out_push[55] = 1'b0;
  assign out_reserve[56] = 1'b0;
  assign out_push[56] = 1'b0;
  kiln_dataflow_global_sum #(
      .PIXELS(4), .LANES(1), .CG(3), .IN_BITS(6), .IN_SIGNED(1'b0), .OUT_BITS(8), .WAY(1),
      .SHIFT(18), .C_BITS(40), .CONSTANT_FILE("sum1")
  ) stage18 (
      .clock,
      .reset,
      .in_valid(in_valid[54]),
      .in_data(in_data[3461:3456]),
      .in_pop(in_pop[54]),
      .out_room(out_room[54]),
      .out_reserve(out_reserve[54]),
      .out_push(out_push[54]),
      .out_data(out_data[3463:3456])
  );
  // ---- 19
  assign out_data[3711:3651] = '0;
  assign out_data[3775:3712] = '0;
  assign out_data[3839:3776] = '0;
  assign in_pop[58] = 1'b0;
  assign in_pop[59] = 1'b0;
  assign out_reserve[58] = 1'b0;
  assign out_push[58] = 1'b0;
  assign out_reserve[59] = 1'b0;
  assign out_push[59] = 1'b0;
  kiln_dataflow_global_sum #(
      .PIXELS(1), .LANES(1), .CG(2), .IN_BITS(4), .OUT_BITS(3), .WAY(2), .LEVELS(3), .LOW(-4),
      .THRESHOLD_BITS(7), .CONSTANT_FILE("sum2")
  ) stage19 (
      .clock,
      .reset,
      .in_valid(in_valid[57]),
      .in_data(in_data[3651:3648]),
      .in_pop(in_pop[57]),
      .out_room(out_room[57]),
      .out_reserve(out_reserve[57]),
      .out_push(out_push[57]),
      .out_data(out_data[3650:3648])
  );
  // ---- 20
  assign out_data[3903:3847] = '0;
  assign out_data[3967:3904] = '0;
  assign out_data[4031:3968] = '0;
  assign in_pop[61] = 1'b0;
  assign in_pop[62] = 1'b0;
  assign out_reserve[61] = 1'b0;
  assign out_push[61] = 1'b0;
  assign out_reserve[62] = 1'b0;
  assign out_push[62] = 1'b0;
  kiln_dataflow_crop #(
      .WIDTH(7), .CG(5), .KEEP(3)
  ) stage20 (
      .clock,
      .reset,
      .in_valid(in_valid[60]),
      .in_data(in_data[3846:3840]),
      .in_pop(in_pop[60]),
      .out_room(out_room[60]),
      .out_reserve(out_reserve[60]),
      .out_push(out_push[60]),
      .out_data(out_data[3846:3840])
  );
endmodule
