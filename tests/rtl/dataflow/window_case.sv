// One stage with a window, with ports of fixed widths so that a bench can hold many: words are in
// the lowest bits, unused bits are zero. `parameters` reports the stage's parameters in the order
// of stage_model.h. Files of constants are named after NUMBER: w07_weights.hex.
module window_case #(
    parameter int unsigned NUMBER = 0,
    parameter int unsigned KIND = 0,  // 0 convolution, 1 depthwise, 2 maximum pool
    parameter int unsigned H = 5,
    parameter int unsigned W = 5,
    parameter int unsigned OH = 5,
    parameter int unsigned OW = 5,
    parameter int unsigned KY = 3,
    parameter int unsigned KX = 3,
    parameter int unsigned SY = 1,
    parameter int unsigned SX = 1,
    parameter int unsigned PT = 0,
    parameter int unsigned PL = 0,
    parameter int unsigned DY = 1,
    parameter int unsigned DX = 1,
    parameter int unsigned G = 1,
    parameter int unsigned LANES = 1,
    parameter int unsigned IG = 1,
    parameter int unsigned OG = 1,
    parameter int unsigned OUTPUTS = 1,
    parameter int unsigned RESULT_LANES = 1,
    parameter int unsigned IN_BITS = 8,
    parameter bit IN_SIGNED = 1'b1,
    parameter int PAD_VALUE = 0,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned OUT_BITS = 8,
    parameter int unsigned WAY = 1,
    parameter int unsigned C_BITS = 52,
    parameter int unsigned SHIFT = 24,
    parameter int LOW = -128,
    parameter int HIGH = 127,
    parameter int unsigned LEVELS = 1,
    parameter int unsigned THRESHOLD_BITS = 12,
    parameter int unsigned PACK = 1,
    parameter int unsigned MULTIPLIER_BITS = 27,
    parameter bit LUT_PRODUCTS = 1'b0,
    parameter bit STREAMED = 1'b0,
    parameter int unsigned EXTRA_ROWS = 0,
    parameter int unsigned ROW_MEMORY = 1,
    parameter int unsigned COLUMN_MEMORY = 0,
    parameter int unsigned WEIGHT_MEMORY = 1,
    parameter int unsigned CONSTANT_MEMORY = 0,
    parameter bit FILES = 1'b1,
    localparam int unsigned PARAMETERS = 34
) (
    input  logic                     clock,
    input  logic                     reset,
    input  logic                     in_valid,
    input  logic [             63:0] in_data,
    output logic                     in_pop,
    input  logic                     weights_valid,
    input  logic [            319:0] weights_data,
    output logic                     weights_pop,
    input  logic                     out_room,
    output logic                     out_reserve,
    output logic                     out_push,
    output logic [             63:0] out_data,
    output logic [PARAMETERS*32-1:0] parameters
);
  localparam logic [7:0] TENS = 8'(48 + NUMBER / 10);
  localparam logic [7:0] ONES = 8'(48 + NUMBER % 10);
  localparam WEIGHT_FILE = {"w", TENS, ONES, "_weights.hex"};
  localparam CONSTANT_FILE = {"w", TENS, ONES, "_constants"};
  localparam int unsigned OUT_WIDTH = (KIND == 0 ? RESULT_LANES : LANES) * OUT_BITS;
  localparam int unsigned WEIGHTS_WIDTH = OUTPUTS * KY * KX * LANES * WEIGHT_BITS;

  logic [31:0] values[PARAMETERS];
  always_comb begin
    values[0]  = KIND;
    values[1]  = H;
    values[2]  = W;
    values[3]  = OH;
    values[4]  = OW;
    values[5]  = KY;
    values[6]  = KX;
    values[7]  = SY;
    values[8]  = SX;
    values[9]  = PT;
    values[10] = PL;
    values[11] = DY;
    values[12] = DX;
    values[13] = G;
    values[14] = OG;
    values[15] = IG;
    values[16] = LANES;
    values[17] = OUTPUTS;
    values[18] = RESULT_LANES;
    values[19] = IN_BITS;
    values[20] = 32'(IN_SIGNED);
    values[21] = 32'(PAD_VALUE);
    values[22] = WEIGHT_BITS;
    values[23] = PACK;
    values[24] = 32'(STREAMED);
    values[25] = WAY;
    values[26] = OUT_BITS;
    values[27] = C_BITS;
    values[28] = SHIFT;
    values[29] = 32'(LOW);
    values[30] = 32'(HIGH);
    values[31] = LEVELS;
    values[32] = THRESHOLD_BITS;
    values[33] = EXTRA_ROWS;
  end
  for (genvar i = 0; i < PARAMETERS; i++) begin : g_parameter
    assign parameters[i*32+:32] = values[i];
  end

  // Bits above the words, and what a stage does not have.
  wire unused_ports = &{1'b0, in_data, weights_valid, weights_data};

  logic [OUT_WIDTH-1:0] word;
  assign out_data = 64'(word);
  if (KIND == 0) begin : g_convolution
    kiln_dataflow_convolution #(
        .H(H),
        .W(W),
        .OH(OH),
        .OW(OW),
        .KY(KY),
        .KX(KX),
        .SY(SY),
        .SX(SX),
        .PT(PT),
        .PL(PL),
        .DY(DY),
        .DX(DX),
        .G(G),
        .LANES(LANES),
        .IG(IG),
        .OG(OG),
        .OUTPUTS(OUTPUTS),
        .RESULT_LANES(RESULT_LANES),
        .IN_BITS(IN_BITS),
        .IN_SIGNED(IN_SIGNED),
        .PAD_VALUE(PAD_VALUE),
        .WEIGHT_BITS(WEIGHT_BITS),
        .OUT_BITS(OUT_BITS),
        .WAY(WAY),
        .C_BITS(C_BITS),
        .SHIFT(SHIFT),
        .LOW(LOW),
        .HIGH(HIGH),
        .LEVELS(LEVELS),
        .THRESHOLD_BITS(THRESHOLD_BITS),
        .PACK(PACK),
        .MULTIPLIER_BITS(MULTIPLIER_BITS),
        .LUT_PRODUCTS(LUT_PRODUCTS),
        .STREAMED(STREAMED),
        .EXTRA_ROWS(EXTRA_ROWS),
        .ROW_MEMORY(ROW_MEMORY),
        .COLUMN_MEMORY(COLUMN_MEMORY),
        .WEIGHT_MEMORY(WEIGHT_MEMORY),
        .CONSTANT_MEMORY(CONSTANT_MEMORY),
        .WEIGHT_FILE(FILES && !STREAMED ? WEIGHT_FILE : ""),
        .CONSTANT_FILE(FILES ? CONSTANT_FILE : "")
    ) stage (
        .clock,
        .reset,
        .in_valid,
        .in_data(in_data[LANES*IN_BITS-1:0]),
        .in_pop,
        .weights_valid,
        .weights_data(weights_data[WEIGHTS_WIDTH-1:0]),
        .weights_pop,
        .out_room,
        .out_reserve,
        .out_push,
        .out_data(word)
    );
  end else if (KIND == 1) begin : g_depthwise
    assign weights_pop = 1'b0;
    kiln_dataflow_depthwise #(
        .H(H),
        .W(W),
        .OH(OH),
        .OW(OW),
        .KY(KY),
        .KX(KX),
        .SY(SY),
        .SX(SX),
        .PT(PT),
        .PL(PL),
        .DY(DY),
        .DX(DX),
        .LANES(LANES),
        .CG(IG),
        .IN_BITS(IN_BITS),
        .IN_SIGNED(IN_SIGNED),
        .PAD_VALUE(PAD_VALUE),
        .WEIGHT_BITS(WEIGHT_BITS),
        .OUT_BITS(OUT_BITS),
        .WAY(WAY),
        .C_BITS(C_BITS),
        .SHIFT(SHIFT),
        .LOW(LOW),
        .HIGH(HIGH),
        .LEVELS(LEVELS),
        .THRESHOLD_BITS(THRESHOLD_BITS),
        .MULTIPLIER_BITS(MULTIPLIER_BITS),
        .LUT_PRODUCTS(LUT_PRODUCTS),
        .EXTRA_ROWS(EXTRA_ROWS),
        .ROW_MEMORY(ROW_MEMORY),
        .COLUMN_MEMORY(COLUMN_MEMORY),
        .WEIGHT_MEMORY(WEIGHT_MEMORY),
        .CONSTANT_MEMORY(CONSTANT_MEMORY),
        .WEIGHT_FILE(WEIGHT_FILE),
        .CONSTANT_FILE(CONSTANT_FILE)
    ) stage (
        .clock,
        .reset,
        .in_valid,
        .in_data(in_data[LANES*IN_BITS-1:0]),
        .in_pop,
        .out_room,
        .out_reserve,
        .out_push,
        .out_data(word)
    );
  end else begin : g_pool
    assign weights_pop = 1'b0;
    kiln_dataflow_max_pool #(
        .H(H),
        .W(W),
        .OH(OH),
        .OW(OW),
        .KY(KY),
        .KX(KX),
        .SY(SY),
        .SX(SX),
        .PT(PT),
        .PL(PL),
        .DY(DY),
        .DX(DX),
        .LANES(LANES),
        .CG(IG),
        .CODE_BITS(IN_BITS),
        .IS_SIGNED(IN_SIGNED),
        .EXTRA_ROWS(EXTRA_ROWS),
        .ROW_MEMORY(ROW_MEMORY),
        .COLUMN_MEMORY(COLUMN_MEMORY)
    ) stage (
        .clock,
        .reset,
        .in_valid,
        .in_data(in_data[LANES*IN_BITS-1:0]),
        .in_pop,
        .out_room,
        .out_reserve,
        .out_push,
        .out_data(word)
    );
  end
endmodule
