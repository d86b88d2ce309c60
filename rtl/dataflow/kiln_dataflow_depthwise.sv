// A depthwise convolution, or an average pool with weights of 1 (docs/dataflow-machine.md,
// "Depthwise, maximum pool, global sum"). Parameters have the document's names; LANES is `a`.
//   in_*, out_*  the consumer's side of the input channel and the producer's side of the output
//              channel: a word of LANES codes of OUT_BITS for each word of the window
//   time       the step of a word reserves in cycle t and pushes its result in t + D, with
//              D = 4 + ceil(log2(KY * KX)) + the latency of the requantisation (0 for none, 3 for
//              the multiplication, 2 * LEVELS for thresholds)
//   weights    word cg belongs to word cg of a pixel; weight (ky, kx, lane) has the number
//              (ky * KX + kx) * LANES + lane
//   constants  as kiln_dataflow_requantise describes them, for CG words of LANES channels
module kiln_dataflow_depthwise #(
    // The map and the kernel
    parameter int unsigned H = 8,
    parameter int unsigned W = 8,
    parameter int unsigned OH = 8,
    parameter int unsigned OW = 8,
    parameter int unsigned KY = 3,
    parameter int unsigned KX = 3,
    parameter int unsigned SY = 1,
    parameter int unsigned SX = 1,
    parameter int unsigned PT = 1,
    parameter int unsigned PL = 1,
    parameter int unsigned DY = 1,
    parameter int unsigned DX = 1,
    // Folding
    parameter int unsigned LANES = 1,
    parameter int unsigned CG = 1,  // words of a pixel
    // Numbers
    parameter int unsigned IN_BITS = 8,
    parameter bit IN_SIGNED = 1'b1,
    parameter int PAD_VALUE = 0,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned OUT_BITS = 8,
    // Requantisation: kiln_dataflow_requantise
    parameter int unsigned WAY = 1,
    parameter int unsigned C_BITS = 52,
    parameter int unsigned SHIFT = 16,
    parameter int LOW = -128,
    parameter int HIGH = 127,
    parameter int unsigned LEVELS = 4,
    parameter int unsigned THRESHOLD_BITS = IN_BITS + WEIGHT_BITS + $clog2(KY * KX),
    // Structure
    parameter int unsigned MULTIPLIER_BITS = 27,
    parameter bit LUT_PRODUCTS = 1'b0,
    parameter int unsigned EXTRA_ROWS = 0,  // of the row buffer
    parameter int unsigned ROW_MEMORY = 1,  // 0 LUT memory, 1 block memory, 2 UltraRAM
    parameter int unsigned COLUMN_MEMORY = 0,  // likewise
    parameter int unsigned WEIGHT_MEMORY = 1,  // 0 LUTs, 1 block memory
    parameter int unsigned CONSTANT_MEMORY = 0,  // likewise
    parameter WEIGHT_FILE = "",
    parameter CONSTANT_FILE = "",
    localparam int unsigned IN_WIDTH = LANES * IN_BITS,  // derived, do not set
    localparam int unsigned OUT_WIDTH = LANES * OUT_BITS  // derived, do not set
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 in_valid,
    input  logic [ IN_WIDTH-1:0] in_data,
    output logic                 in_pop,
    input  logic                 out_room,
    output logic                 out_reserve,
    output logic                 out_push,
    output logic [OUT_WIDTH-1:0] out_data
);
  localparam int unsigned TAPS = KY * KX;
  localparam int unsigned L = $clog2(TAPS);
  localparam int unsigned SUM_BITS = IN_BITS + WEIGHT_BITS + L;
  localparam int unsigned PLACE_BITS = CG > 1 ? $clog2(CG) : 1;

  // ---- Cycle t: the step. Cycle t + 1: the weights.
  logic unused_first, unused_last;
  logic [TAPS*IN_WIDTH-1:0] window;  // in t + 2
  logic [TAPS*LANES*WEIGHT_BITS-1:0] weights;
  logic [PLACE_BITS-1:0] place;
  kiln_dataflow_window #(
      .LANES(LANES),
      .CODE_BITS(IN_BITS),
      .PAD_VALUE(PAD_VALUE),
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
      .G(1),
      .OG(1),
      .IG(CG),
      .EVERY_WORD(1'b1),
      .EXTRA_ROWS(EXTRA_ROWS),
      .ROW_MEMORY(ROW_MEMORY),
      .COLUMN_MEMORY(COLUMN_MEMORY)
  ) windows (
      .clock,
      .reset,
      .in_valid,
      .in_data,
      .in_pop,
      .operands_ready(1'b1),
      .results_room(out_room),
      .multiply(out_reserve),
      .first(unused_first),
      .last(unused_last),
      .window
  );
  always_ff @(posedge clock) begin
    if (reset) place <= '0;
    else if (out_reserve) place <= place == PLACE_BITS'(CG - 1) ? '0 : place + 1'b1;
  end
  kiln_dataflow_rom #(
      .WIDTH(TAPS * LANES * WEIGHT_BITS),
      .DEPTH(CG),
      .FILE(WEIGHT_FILE),
      .MEMORY(WEIGHT_MEMORY)
  ) rom (
      .clock,
      .read_enable(out_reserve),
      .read_address(place),
      .read_data(weights)
  );

  // ---- Cycles t + 2 to t + 3 + L: products and their sums, lane by lane.
  logic [LANES*SUM_BITS-1:0] sums;
  logic sums_valid;
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    logic [TAPS*IN_BITS-1:0] lane_window;
    logic [TAPS*WEIGHT_BITS-1:0] lane_weights;
    for (genvar k = 0; k < TAPS; k++) begin : g_tap
      assign lane_window[k*IN_BITS+:IN_BITS] = window[(k*LANES+l)*IN_BITS+:IN_BITS];
      assign lane_weights[k*WEIGHT_BITS+:WEIGHT_BITS] =
          weights[(k*LANES+l)*WEIGHT_BITS+:WEIGHT_BITS];
    end
    kiln_dataflow_products #(
        .ELEMENTS(TAPS),
        .OUTPUTS(1),
        .IN_BITS(IN_BITS),
        .IN_SIGNED(IN_SIGNED),
        .WEIGHT_BITS(WEIGHT_BITS),
        .PACK(1),
        .MULTIPLIER_BITS(MULTIPLIER_BITS),
        .LUT_PRODUCTS(LUT_PRODUCTS)
    ) dot (
        .clock,
        .weights(lane_weights),
        .window(lane_window),
        .sums(sums[l*SUM_BITS+:SUM_BITS])
    );
  end
  kiln_pulse_delay #(
      .CYCLES(3 + L)
  ) valid_delay (
      .clock,
      .reset,
      .in (out_reserve),
      .out(sums_valid)
  );

  kiln_dataflow_requantise #(
      .LANES(LANES),
      .SUM_BITS(SUM_BITS),
      .OUT_BITS(OUT_BITS),
      .WAY(WAY),
      .WORDS(CG),
      .FILE(CONSTANT_FILE),
      .MEMORY(CONSTANT_MEMORY),
      .C_BITS(C_BITS),
      .SHIFT(SHIFT),
      .HIGH(HIGH),
      .MULTIPLIER_BITS(MULTIPLIER_BITS),
      .LOW(LOW),
      .LEVELS(LEVELS),
      .THRESHOLD_BITS(THRESHOLD_BITS)
  ) requantise (
      .clock,
      .reset,
      .in_valid(sums_valid),
      .sums,
      .out_valid(out_push),
      .codes(out_data)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      popped_only_when_valid : assert (!in_pop || in_valid);
      reserved_only_with_room : assert (!out_reserve || out_room);
      place_in_range : assert (32'(place) < CG);
    end
  end
`endif
endmodule
