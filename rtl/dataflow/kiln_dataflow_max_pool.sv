// A maximum pool (docs/dataflow-machine.md, "Depthwise, maximum pool, global sum"). Parameters have
// the document's names; LANES is `a`. Elements outside of the map are the least code, so that they
// never win.
//   in_*, out_*  the consumer's side of the input channel and the producer's side of the output
//              channel: words of LANES codes of CODE_BITS
//   time       the step of a word reserves in cycle t and pushes its result in
//              t + 2 + ceil(log2(KY * KX))
module kiln_dataflow_max_pool #(
    parameter int unsigned H = 8,
    parameter int unsigned W = 8,
    parameter int unsigned OH = 4,
    parameter int unsigned OW = 4,
    parameter int unsigned KY = 2,
    parameter int unsigned KX = 2,
    parameter int unsigned SY = 2,
    parameter int unsigned SX = 2,
    parameter int unsigned PT = 0,
    parameter int unsigned PL = 0,
    parameter int unsigned DY = 1,
    parameter int unsigned DX = 1,
    parameter int unsigned LANES = 1,
    parameter int unsigned CG = 1,  // words of a pixel
    parameter int unsigned CODE_BITS = 8,
    parameter bit IS_SIGNED = 1'b1,
    parameter int unsigned EXTRA_ROWS = 0,  // of the row buffer
    parameter int unsigned ROW_MEMORY = 1,  // 0 LUT memory, 1 block memory, 2 UltraRAM
    parameter int unsigned COLUMN_MEMORY = 0,  // likewise
    localparam int unsigned WORD_WIDTH = LANES * CODE_BITS  // derived, do not set
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic                  in_valid,
    input  logic [WORD_WIDTH-1:0] in_data,
    output logic                  in_pop,
    input  logic                  out_room,
    output logic                  out_reserve,
    output logic                  out_push,
    output logic [WORD_WIDTH-1:0] out_data
);
  localparam int unsigned TAPS = KY * KX;
  logic unused_first, unused_last;
  logic [TAPS*WORD_WIDTH-1:0] window;
  kiln_dataflow_window #(
      .LANES(LANES),
      .CODE_BITS(CODE_BITS),
      .PAD_VALUE(IS_SIGNED ? -(1 << (CODE_BITS - 1)) : 0),
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
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    logic [TAPS*CODE_BITS-1:0] lane_window;
    for (genvar k = 0; k < TAPS; k++) begin : g_tap
      assign lane_window[k*CODE_BITS+:CODE_BITS] = window[(k*LANES+l)*CODE_BITS+:CODE_BITS];
    end
    kiln_dataflow_max_tree #(
        .TERMS(TAPS),
        .BITS(CODE_BITS),
        .IS_SIGNED(IS_SIGNED)
    ) tree (
        .clock,
        .terms(lane_window),
        .greatest(out_data[l*CODE_BITS+:CODE_BITS])
    );
  end
  kiln_pulse_delay #(
      .CYCLES(2 + $clog2(TAPS))
  ) push_delay (
      .clock,
      .reset,
      .in (out_reserve),
      .out(out_push)
  );
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      popped_only_when_valid : assert (!in_pop || in_valid);
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
