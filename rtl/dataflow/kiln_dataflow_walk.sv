// Counts the steps of a window stage within one pixel, for kiln_dataflow_reader and
// kiln_dataflow_pointwise. A pixel has CG = G * IG words. Its multiplying steps are: for g < G, for
// og < OG, for ig < IG, the word g * IG + ig. A skipped step (`skip`) does not multiply; skipped
// steps visit the words of a pixel once, in order, and always all CG of them.
//   time       outputs describe the step of this cycle and are functions of registers; `step` ends
//              the step at the end of the cycle
//   word       the number of the step's word in its pixel
//   part       ig; 0 in skipped steps
//   first, last, refill   ig = 0, ig = IG - 1, og = 0
//   last_word  word = CG - 1. A skipped step with last_word is the last one of its pixel.
//   pixel_end  the step is the last multiplying step of its pixel
module kiln_dataflow_walk #(
    parameter int unsigned G = 1,
    parameter int unsigned OG = 1,
    parameter int unsigned IG = 1,
    localparam int unsigned CG = G * IG,  // derived, do not set
    localparam int unsigned WORD_BITS = CG > 1 ? $clog2(CG) : 1,  // derived, do not set
    localparam int unsigned PART_BITS = IG > 1 ? $clog2(IG) : 1  // derived, do not set
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 step,
    input  logic                 skip,
    output logic [WORD_BITS-1:0] word,
    output logic [PART_BITS-1:0] part,
    output logic                 first,
    output logic                 last,
    output logic                 refill,
    output logic                 last_word,
    output logic                 pixel_end
);
  localparam int unsigned PASS_BITS = OG > 1 ? $clog2(OG) : 1;
  localparam logic [WORD_BITS-1:0] LAST_WORD = WORD_BITS'(CG - 1);
  localparam logic [PART_BITS-1:0] LAST_PART = PART_BITS'(IG - 1);
  localparam logic [PASS_BITS-1:0] LAST_PASS = PASS_BITS'(OG - 1);

  logic [WORD_BITS-1:0] next_word, group_start;  // group_start: the first word of the group
  logic [PASS_BITS-1:0] pass;
  logic last_pass;

  assign first = part == '0;
  assign last = part == LAST_PART;
  assign refill = pass == '0;
  assign last_pass = pass == LAST_PASS;
  assign last_word = word == LAST_WORD;
  assign pixel_end = last && last_pass && last_word;
  assign next_word = last_word ? '0 : word + 1'b1;

  always_ff @(posedge clock) begin
    if (reset) begin
      word        <= '0;
      part        <= '0;
      pass        <= '0;
      group_start <= '0;
    end else if (step && skip) begin
      word <= next_word;
    end else if (step) begin
      part <= last ? '0 : part + 1'b1;
      if (last) pass <= last_pass ? '0 : pass + 1'b1;
      if (last && !last_pass) word <= group_start;
      else word <= next_word;
      // With one group it never leaves 0.
      if (G > 1 && last && last_pass) group_start <= next_word;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      word_in_range : assert (32'(word) < CG);
      part_in_range : assert (32'(part) < IG);
      pass_in_range : assert (32'(pass) < OG);
      word_in_group : assert (skip || 32'(word) == 32'(group_start) + 32'(part));
      skips_between_pixels : assert (!skip || (part == '0 && pass == '0 && group_start == '0));
      if ($past(step && skip && !last_word && !reset)) pixel_skipped_as_a_whole : assert (skip);
    end
  end
`endif
endmodule
