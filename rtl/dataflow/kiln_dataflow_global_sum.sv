// The sum of each channel over all pixels of an image, or their average (docs/dataflow-machine.md,
// "Depthwise, maximum pool, global sum").
//   in_*, out_*  the consumer's side of the input channel, words of LANES codes of IN_BITS, and the
//              producer's side of the output channel, words of LANES codes of OUT_BITS
//   time       pops a word in cycle t if there is one; the words of an image's last pixel also need
//              room, reserve, and push their result in t + 3 + the latency of the requantisation (0
//              for none, 3 for the multiplication, 2 * LEVELS for thresholds)
//   constants  as kiln_dataflow_requantise describes them, for CG words of LANES channels
module kiln_dataflow_global_sum #(
    parameter int unsigned PIXELS = 49,  // of an image
    parameter int unsigned LANES = 1,
    parameter int unsigned CG = 1,  // words of a pixel
    parameter int unsigned IN_BITS = 8,
    parameter bit IN_SIGNED = 1'b1,
    parameter int unsigned OUT_BITS = 8,
    // Requantisation: kiln_dataflow_requantise
    parameter int unsigned WAY = 1,
    parameter int unsigned C_BITS = 52,
    parameter int unsigned SHIFT = 16,
    parameter int LOW = -128,
    parameter int HIGH = 127,
    parameter int unsigned LEVELS = 4,
    parameter int unsigned THRESHOLD_BITS = IN_BITS + 1 + $clog2(PIXELS),
    // Structure
    parameter int unsigned MULTIPLIER_BITS = 27,
    parameter int unsigned SUM_MEMORY = 0,  // 0 LUT memory, 1 block memory, 2 UltraRAM
    parameter int unsigned CONSTANT_MEMORY = 0,  // 0 LUTs, 1 block memory
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
  localparam int unsigned SUM_BITS = IN_BITS + 1 + $clog2(PIXELS);
  localparam int unsigned SUMS_WIDTH = LANES * SUM_BITS;
  localparam int unsigned PLACE_BITS = CG > 1 ? $clog2(CG) : 1;
  localparam int unsigned PIXEL_BITS = PIXELS > 1 ? $clog2(PIXELS) : 1;

  // ---- Cycle t: the word.
  logic [PLACE_BITS-1:0] place;
  logic [PIXEL_BITS-1:0] pixel;
  logic last_place, last_pixel;
  assign last_place  = place == PLACE_BITS'(CG - 1);
  assign last_pixel  = pixel == PIXEL_BITS'(PIXELS - 1);
  assign in_pop      = in_valid && (!last_pixel || out_room);
  assign out_reserve = in_pop && last_pixel;
  always_ff @(posedge clock) begin
    if (reset) begin
      place <= '0;
      pixel <= '0;
    end else if (in_pop) begin
      place <= last_place ? '0 : place + 1'b1;
      if (last_place) pixel <= last_pixel ? '0 : pixel + 1'b1;
    end
  end

  // ---- Cycle t + 1: the sum. Cycle t + 2: it is stored and requantised.
  logic popped, starts, sums_valid;
  logic [PLACE_BITS-1:0] sum_place;
  logic [IN_WIDTH-1:0] word;
  logic [SUMS_WIDTH-1:0] stored, sums, sums_held;
  always_ff @(posedge clock) begin
    popped <= in_pop && !reset;
    if (in_pop) begin
      starts    <= pixel == '0;
      sum_place <= place;
      word      <= in_data;
    end
    if (popped) sums_held <= sums;
  end
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    logic signed [IN_BITS:0] code;
    assign code = {IN_SIGNED && word[(l+1)*IN_BITS-1], word[l*IN_BITS+:IN_BITS]};
    assign sums[l*SUM_BITS+:SUM_BITS] =
        SUM_BITS'(code) + (starts ? '0 : stored[l*SUM_BITS+:SUM_BITS]);
  end
  if (CG == 1) begin : g_register
    wire unused_place = &{1'b0, sum_place};
    assign stored = sums_held;
  end else begin : g_memory
    kiln_ram_1w #(
        .WIDTH(SUMS_WIDTH),
        .WORDS(CG),
        .STYLE(SUM_MEMORY + 1)
    ) memory (
        .clock,
        .write_enable(popped),
        .write_address(sum_place),
        .write_data(sums),
        .read_enable(in_pop),
        .read_address(place),
        .read_data(stored)
    );
  end
  kiln_pulse_delay #(
      .CYCLES(2)
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
      .sums(sums_held),
      .out_valid(out_push),
      .codes(out_data)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      place_in_range : assert (32'(place) < CG);
      pixel_in_range : assert (32'(pixel) < PIXELS);
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
