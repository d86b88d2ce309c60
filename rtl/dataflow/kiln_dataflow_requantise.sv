// Turns the sums of a result word into codes (docs/dataflow-machine.md, "Requantisation"), with
// constants of each channel. Results come in cyclic order of the channels: WORDS words of LANES
// channels make a pixel.
//   WAY        0: none, code = sum (sign-extended or cut to OUT_BITS)
//              1: multiplication (kiln_dataflow_scale)
//              2: thresholds (kiln_dataflow_thresholds)
//   time       sums with in_valid in cycle t give codes with out_valid in t + 1, t + 4 or
//              t + 1 + 2 * LEVELS; one word per cycle. in_valid is low in the first cycle after a
//              reset.
//   constants  WAY 1: FILE has WORDS words; lane l holds {c, m}, C_BITS signed and 17 bits
//              unsigned, at l * (C_BITS + 17). WAY 2: FILE is the beginning of the names of the
//              files that kiln_dataflow_thresholds describes. WAY 0 has none.
module kiln_dataflow_requantise #(
    parameter int unsigned LANES = 1,
    parameter int unsigned SUM_BITS = 32,  // signed
    parameter int unsigned OUT_BITS = 8,
    parameter int unsigned WAY = 1,
    parameter int unsigned WORDS = 1,
    parameter FILE = "",  // without one all constants are zero
    parameter int unsigned MEMORY = 0,  // of the constants: 0 LUTs, 1 block memory
    // WAY 1
    parameter int unsigned C_BITS = 52,
    parameter int unsigned SHIFT = 16,
    parameter int HIGH = 127,
    parameter int unsigned MULTIPLIER_BITS = 27,
    // WAY 1 and 2
    parameter int LOW = -128,
    // WAY 2
    parameter int unsigned LEVELS = 4,
    parameter int unsigned THRESHOLD_BITS = SUM_BITS
) (
    input  logic                      clock,
    input  logic                      reset,
    input  logic                      in_valid,
    input  logic [LANES*SUM_BITS-1:0] sums,
    output logic                      out_valid,
    output logic [LANES*OUT_BITS-1:0] codes
);
  localparam int unsigned LATENCY = WAY == 0 ? 1 : WAY == 1 ? 4 : 1 + 2 * LEVELS;
  if (WAY > 2) begin : g_parameters
    $error("WAY must be 0, 1 or 2");
  end

  kiln_pulse_delay #(
      .CYCLES(LATENCY)
  ) valid_delay (
      .clock,
      .reset,
      .in (in_valid),
      .out(out_valid)
  );

  if (WAY == 2) begin : g_thresholds
    localparam int unsigned PLACE_BITS = WORDS > 1 ? $clog2(WORDS) : 1;
    logic [PLACE_BITS-1:0] next_place, place;
    logic [LANES*SUM_BITS-1:0] held_sums;
    always_ff @(posedge clock) begin
      held_sums <= sums;
      place     <= next_place;
      if (reset) next_place <= '0;
      else if (in_valid)
        next_place <= next_place == PLACE_BITS'(WORDS - 1) ? '0 : next_place + 1'b1;
    end
    for (genvar l = 0; l < LANES; l++) begin : g_lane
      kiln_dataflow_thresholds #(
          .SUM_BITS(SUM_BITS),
          .THRESHOLD_BITS(THRESHOLD_BITS),
          .OUT_BITS(OUT_BITS),
          .LOW(LOW),
          .LEVELS(LEVELS),
          .WORDS(WORDS),
          .FILE(FILE),
          .LANE(l),
          .MEMORY(MEMORY)
      ) lane (
          .clock,
          .sum (held_sums[l*SUM_BITS+:SUM_BITS]),
          .place,
          .code(codes[l*OUT_BITS+:OUT_BITS])
      );
    end
`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset) place_in_range : assert (32'(next_place) < WORDS);
    end
`endif
  end else if (WAY == 1) begin : g_scale
    localparam int unsigned CONSTANT_BITS = C_BITS + 17;
    logic [LANES*CONSTANT_BITS-1:0] constants;
    kiln_dataflow_constants #(
        .WIDTH(LANES * CONSTANT_BITS),
        .WORDS(WORDS),
        .FILE(FILE),
        .MEMORY(MEMORY)
    ) sequence_of_constants (
        .clock,
        .reset,
        .take(in_valid),
        .word(constants)
    );
    for (genvar l = 0; l < LANES; l++) begin : g_lane
      kiln_dataflow_scale #(
          .SUM_BITS(SUM_BITS),
          .C_BITS(C_BITS),
          .OUT_BITS(OUT_BITS),
          .SHIFT(SHIFT),
          .LOW(LOW),
          .HIGH(HIGH),
          .MULTIPLIER_BITS(MULTIPLIER_BITS)
      ) lane (
          .clock,
          .sum(sums[l*SUM_BITS+:SUM_BITS]),
          .m(constants[l*CONSTANT_BITS+:17]),
          .c(constants[l*CONSTANT_BITS+17+:C_BITS]),
          .code(codes[l*OUT_BITS+:OUT_BITS])
      );
    end
  end else begin : g_none
    for (genvar l = 0; l < LANES; l++) begin : g_lane
      logic signed [SUM_BITS-1:0] sum;
      assign sum = sums[l*SUM_BITS+:SUM_BITS];
      always_ff @(posedge clock) codes[l*OUT_BITS+:OUT_BITS] <= OUT_BITS'(sum);
      if (SUM_BITS > OUT_BITS) begin : g_cut
        wire unused_bits = &{1'b0, sum};
      end
    end
  end
endmodule
