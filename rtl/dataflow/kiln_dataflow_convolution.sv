// A convolution stage (docs/dataflow-machine.md, "Convolution"): window, weights, products,
// accumulators, requantisation. Parameters have the document's names; LANES is `a`, OUTPUTS `b`,
// RESULT_LANES `r`. Fully connected layers are convolutions of one pixel.
//   in_*       the consumer's side of the input channel: words of LANES codes of IN_BITS
//   weights_*  with STREAMED, the consumer's side of the channel of weight words; ignored otherwise
//   out_*      the producer's side of the output channel, which reserves R = OUTPUTS / RESULT_LANES
//              words at a time: words of RESULT_LANES codes of OUT_BITS
//   time       the step that completes a result reserves in cycle t, and its word i is pushed in
//              t + D + i, with D = 5 + U + ceil(log2(KY * KX * LANES)) + the latency of the
//              requantisation (0 for none, 3 for the multiplication, 2 * LEVELS for thresholds);
//              U = 1 with PACK > 1
//   weights    word by word in the order g, og, ig; weight (e, ky, kx, lane) has the number
//              ((e * KY + ky) * KX + kx) * LANES + lane in its word
//   constants  as kiln_dataflow_requantise describes them, for G * OG * R words of RESULT_LANES
//              channels
module kiln_dataflow_convolution #(
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
    parameter int unsigned G = 1,
    // Folding
    parameter int unsigned LANES = 1,
    parameter int unsigned IG = 1,
    parameter int unsigned OG = 1,
    parameter int unsigned OUTPUTS = 1,
    parameter int unsigned RESULT_LANES = 1,
    // Numbers
    parameter int unsigned IN_BITS = 8,
    parameter bit IN_SIGNED = 1'b1,
    parameter int PAD_VALUE = 0,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned ACC_BITS = IN_BITS + WEIGHT_BITS + $clog2(KY * KX * LANES * IG),
    parameter int unsigned OUT_BITS = 8,
    // Requantisation: kiln_dataflow_requantise
    parameter int unsigned WAY = 1,
    parameter int unsigned C_BITS = 52,
    parameter int unsigned SHIFT = 16,
    parameter int LOW = -128,
    parameter int HIGH = 127,
    parameter int unsigned LEVELS = 4,
    parameter int unsigned THRESHOLD_BITS = ACC_BITS,
    // Structure
    parameter int unsigned PACK = 1,
    parameter int unsigned MULTIPLIER_BITS = 27,
    parameter bit LUT_PRODUCTS = 1'b0,
    parameter bit STREAMED = 1'b0,
    parameter int unsigned EXTRA_ROWS = 0,  // of the row buffer
    parameter int unsigned ROW_MEMORY = 1,  // 0 LUT memory, 1 block memory, 2 UltraRAM
    parameter int unsigned COLUMN_MEMORY = 0,  // likewise
    parameter int unsigned WEIGHT_MEMORY = 1,  // 0 LUTs, 1 block memory
    parameter int unsigned CONSTANT_MEMORY = 0,  // likewise
    parameter WEIGHT_FILE = "",
    parameter CONSTANT_FILE = "",
    localparam int unsigned IN_WIDTH = LANES * IN_BITS,  // derived, do not set
    localparam int unsigned ELEMENTS = KY * KX * LANES,  // derived, do not set
    localparam int unsigned WEIGHTS_WIDTH = OUTPUTS * ELEMENTS * WEIGHT_BITS,  // derived, likewise
    localparam int unsigned OUT_WIDTH = RESULT_LANES * OUT_BITS  // derived, do not set
) (
    input  logic                     clock,
    input  logic                     reset,
    input  logic                     in_valid,
    input  logic [     IN_WIDTH-1:0] in_data,
    output logic                     in_pop,
    input  logic                     weights_valid,
    input  logic [WEIGHTS_WIDTH-1:0] weights_data,
    output logic                     weights_pop,
    input  logic                     out_room,
    output logic                     out_reserve,
    output logic                     out_push,
    output logic [    OUT_WIDTH-1:0] out_data
);
  localparam int unsigned U = PACK > 1 ? 1 : 0;
  localparam int unsigned L = $clog2(ELEMENTS);
  localparam int unsigned R = OUTPUTS / RESULT_LANES;
  localparam int unsigned SUM_BITS = IN_BITS + WEIGHT_BITS + L;
  localparam int unsigned WEIGHT_WORDS = G * OG * IG;
  localparam int unsigned RESULT_WIDTH = RESULT_LANES * ACC_BITS;
  if (R * RESULT_LANES != OUTPUTS || R > IG) begin : g_results
    $error("RESULT_LANES must divide OUTPUTS, and OUTPUTS / RESULT_LANES be at most IG");
  end

  // ---- Cycle t: the step.
  logic multiply, first, last;
  logic [ELEMENTS*IN_BITS-1:0] window;  // in t + 2
  assign out_reserve = multiply && last;
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
      .G(G),
      .OG(OG),
      .IG(IG),
      .EXTRA_ROWS(EXTRA_ROWS),
      .ROW_MEMORY(ROW_MEMORY),
      .COLUMN_MEMORY(COLUMN_MEMORY)
  ) windows (
      .clock,
      .reset,
      .in_valid,
      .in_data,
      .in_pop,
      .operands_ready(weights_valid || !STREAMED),
      .results_room(out_room),
      .multiply,
      .first,
      .last,
      .window
  );

  // ---- Cycle t + 1: the weights.
  logic [WEIGHTS_WIDTH-1:0] weights;
  if (STREAMED) begin : g_stream
    assign weights_pop = multiply;
    always_ff @(posedge clock) if (multiply) weights <= weights_data;
  end else begin : g_memory
    localparam int unsigned PLACE_BITS = WEIGHT_WORDS > 1 ? $clog2(WEIGHT_WORDS) : 1;
    logic [PLACE_BITS-1:0] place;
    wire unused_stream = &{1'b0, weights_valid, weights_data};
    assign weights_pop = 1'b0;
    always_ff @(posedge clock) begin
      if (reset) place <= '0;
      else if (multiply) place <= place == PLACE_BITS'(WEIGHT_WORDS - 1) ? '0 : place + 1'b1;
    end
    kiln_dataflow_rom #(
        .WIDTH(WEIGHTS_WIDTH),
        .DEPTH(WEIGHT_WORDS),
        .FILE(WEIGHT_FILE),
        .MEMORY(WEIGHT_MEMORY)
    ) rom (
        .clock,
        .read_enable(multiply),
        .read_address(place),
        .read_data(weights)
    );
`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset) place_in_range : assert (32'(place) < WEIGHT_WORDS);
    end
`endif
  end

  // ---- Cycles t + 2 to t + 3 + U + L: products and their sums.
  logic [OUTPUTS*SUM_BITS-1:0] sums;
  logic sums_valid, sums_first, done;
  kiln_dataflow_products #(
      .ELEMENTS(ELEMENTS),
      .OUTPUTS(OUTPUTS),
      .IN_BITS(IN_BITS),
      .IN_SIGNED(IN_SIGNED),
      .WEIGHT_BITS(WEIGHT_BITS),
      .PACK(PACK),
      .MULTIPLIER_BITS(MULTIPLIER_BITS),
      .LUT_PRODUCTS(LUT_PRODUCTS)
  ) dot (
      .clock,
      .weights,
      .window,
      .sums
  );
  kiln_pulse_delay #(
      .CYCLES(3 + U + L)
  ) valid_delay (
      .clock,
      .reset,
      .in (multiply),
      .out(sums_valid)
  );
  kiln_delay #(
      .WIDTH (1),
      .CYCLES(3 + U + L)
  ) first_delay (
      .clock,
      .in (first),
      .out(sums_first)
  );
  kiln_pulse_delay #(
      .CYCLES(4 + U + L)
  ) done_delay (
      .clock,
      .reset,
      .in (out_reserve),
      .out(done)
  );

  // ---- Cycle t + 4 + U + L: the accumulators. `done`: they hold a result.
  logic [OUTPUTS*ACC_BITS-1:0] accumulators;
  for (genvar e = 0; e < OUTPUTS; e++) begin : g_accumulator
    logic signed [SUM_BITS-1:0] sum;
    assign sum = sums[e*SUM_BITS+:SUM_BITS];
    always_ff @(posedge clock) begin
      if (sums_valid)
        accumulators[e*ACC_BITS+:ACC_BITS] <= ACC_BITS'(sum) +
            (IG == 1 || sums_first ? '0 : accumulators[e*ACC_BITS+:ACC_BITS]);
    end
  end

  // ---- The words of a result: the first from the accumulators, the others from a shift register.
  logic result_valid;
  logic [RESULT_WIDTH-1:0] result;
  if (R == 1) begin : g_one_word
    assign result_valid = done;
    assign result = accumulators;
  end else begin : g_words
    localparam int unsigned COUNT_BITS = $clog2(R);
    localparam int unsigned HELD_WIDTH = (R - 1) * RESULT_WIDTH;
    logic [COUNT_BITS-1:0] words_left;
    logic [HELD_WIDTH-1:0] held;
    assign result_valid = done || words_left != '0;
    assign result = done ? accumulators[RESULT_WIDTH-1:0] : held[RESULT_WIDTH-1:0];
    always_ff @(posedge clock) begin
      if (reset) words_left <= '0;
      else if (done) words_left <= COUNT_BITS'(R - 1);
      else if (words_left != '0) words_left <= words_left - 1'b1;
      if (done) held <= accumulators[R*RESULT_WIDTH-1:RESULT_WIDTH];
      else held <= held >> RESULT_WIDTH;
    end
`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset) begin
        words_left_in_range : assert (32'(words_left) < R);
        results_apart : assert (!done || words_left == '0);
      end
    end
`endif
  end

  kiln_dataflow_requantise #(
      .LANES(RESULT_LANES),
      .SUM_BITS(ACC_BITS),
      .OUT_BITS(OUT_BITS),
      .WAY(WAY),
      .WORDS(G * OG * R),
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
      .in_valid(result_valid),
      .sums(result),
      .out_valid(out_push),
      .codes(out_data)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      popped_only_when_valid : assert (!in_pop || in_valid);
      weights_popped_only_when_valid : assert (!weights_pop || weights_valid);
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
