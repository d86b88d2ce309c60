// The window of a stage with a 1 x 1 kernel (docs/dataflow-machine.md, "Pointwise layers"): walks
// over the pixels of the input and takes each word from the channel when it is first needed. Pixels
// between those of the output are popped and dropped.
//   operands_ready, results_room   as in kiln_dataflow_reader
//   in_pop    the step of this cycle pops the word
//   multiply  a multiplying step happens in this cycle, cycle t. in_pop and multiply are functions
//             of registers, in_valid, operands_ready and results_room.
//   first, last   of a sum; with EVERY_WORD every multiplying step is a sum of its own
//   window    in t + 2: the step's word
// With OG > 1 the words of a group are kept for the steps with og > 0.
module kiln_dataflow_pointwise #(
    parameter int unsigned WORD_WIDTH = 8,  // bits of a word
    parameter int unsigned H = 8,
    parameter int unsigned W = 8,
    parameter int unsigned OH = 8,
    parameter int unsigned OW = 8,
    parameter int unsigned SY = 1,
    parameter int unsigned SX = 1,
    parameter int unsigned G = 1,
    parameter int unsigned OG = 1,
    parameter int unsigned IG = 1,
    parameter bit EVERY_WORD = 1'b0,
    // of the words that are kept: 0 LUT memory, 1 block memory, 2 UltraRAM
    parameter int unsigned MEMORY = 0
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic                  in_valid,
    input  logic [WORD_WIDTH-1:0] in_data,
    output logic                  in_pop,
    input  logic                  operands_ready,
    input  logic                  results_room,
    output logic                  multiply,
    output logic                  first,
    output logic                  last,
    output logic [WORD_WIDTH-1:0] window
);
  localparam int unsigned CG = G * IG;
  localparam int unsigned PART_BITS = IG > 1 ? $clog2(IG) : 1;
  localparam int unsigned X_BITS = W > 1 ? $clog2(W) : 1;
  localparam int unsigned Y_BITS = H > 1 ? $clog2(H) : 1;
  localparam int unsigned X_PHASE_BITS = SX > 1 ? $clog2(SX) : 1;
  localparam int unsigned Y_PHASE_BITS = SY > 1 ? $clog2(SY) : 1;
  localparam logic [X_BITS-1:0] LAST_OUT_X = X_BITS'((OW - 1) * SX);
  localparam logic [Y_BITS-1:0] LAST_OUT_Y = Y_BITS'((OH - 1) * SY);

  if ((OH - 1) * SY > H - 1 || (OW - 1) * SX > W - 1) begin : g_limits
    $error("(OH-1) SY must be at most H-1, and (OW-1) SX at most W-1");
  end

  // ---- Cycle t: the pixel and the step.
  logic [X_BITS-1:0] x;
  logic [Y_BITS-1:0] y;
  logic [X_PHASE_BITS-1:0] x_phase;  // x mod SX
  logic [Y_PHASE_BITS-1:0] y_phase;  // y mod SY
  logic skip, step, sum_first, sum_last, refill, last_word, pixel_end, advance, last_x, last_y;
  logic [PART_BITS-1:0] part;
  logic [(CG > 1 ? $clog2(CG) : 1)-1:0] unused_word;

  assign skip = x_phase != '0 || y_phase != '0 || x > LAST_OUT_X || y > LAST_OUT_Y;
  assign first = sum_first || EVERY_WORD;
  assign last = sum_last || EVERY_WORD;
  assign step = (in_valid || !(skip || refill)) && (skip || (operands_ready &&
      (results_room || !last)));
  assign multiply = step && !skip;
  assign in_pop = step && (skip || refill);
  assign advance = step && (skip ? last_word : pixel_end);
  assign last_x = x == X_BITS'(W - 1);
  assign last_y = y == Y_BITS'(H - 1);

  kiln_dataflow_walk #(
      .G(G),
      .OG(OG),
      .IG(IG)
  ) walk (
      .clock,
      .reset,
      .step,
      .skip,
      .word(unused_word),
      .part,
      .first(sum_first),
      .last(sum_last),
      .refill,
      .last_word,
      .pixel_end
  );

  always_ff @(posedge clock) begin
    if (reset) begin
      x       <= '0;
      y       <= '0;
      x_phase <= '0;
      y_phase <= '0;
    end else if (advance) begin
      x       <= last_x ? '0 : x + 1'b1;
      x_phase <= last_x || x_phase == X_PHASE_BITS'(SX - 1) ? '0 : x_phase + 1'b1;
      if (last_x) begin
        y       <= last_y ? '0 : y + 1'b1;
        y_phase <= last_y || y_phase == Y_PHASE_BITS'(SY - 1) ? '0 : y_phase + 1'b1;
      end
    end
  end

  // ---- Cycle t + 1: the word that was popped, or the one that was kept. Cycle t + 2: the window.
  logic [WORD_WIDTH-1:0] popped_word;
  always_ff @(posedge clock) if (in_pop) popped_word <= in_data;
  if (OG == 1 || IG == 1) begin : g_register
    // The last word that was popped is the one that steps with og > 0 read again.
    wire unused_part = &{1'b0, part};
    always_ff @(posedge clock) window <= popped_word;
  end else begin : g_keep
    logic popped;
    logic [PART_BITS-1:0] place;
    logic [WORD_WIDTH-1:0] kept_word;
    always_ff @(posedge clock) begin
      popped <= in_pop && !skip && !reset;
      if (step) place <= part;
      window <= popped ? popped_word : kept_word;
    end
    if (MEMORY == 0) begin : g_lut
      (* ram_style = "distributed" *) logic [WORD_WIDTH-1:0] words[IG];
      assign kept_word = words[place];
      always_ff @(posedge clock) if (popped) words[place] <= popped_word;
    end else begin : g_block
      kiln_ram_1w #(
          .WIDTH(WORD_WIDTH),
          .WORDS(IG),
          .STYLE(MEMORY + 1)
      ) memory (
          .clock,
          .write_enable(popped),
          .write_address(place),
          .write_data(popped_word),
          .read_enable(step),
          .read_address(part),
          .read_data(kept_word)
      );
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      x_in_range : assert (32'(x) < W && 32'(x_phase) < SX);
      y_in_range : assert (32'(y) < H && 32'(y_phase) < SY);
      popped_only_when_valid : assert (!in_pop || in_valid);
      result_only_with_room : assert (!(multiply && last) || results_room);
    end
  end
`endif
endmodule
