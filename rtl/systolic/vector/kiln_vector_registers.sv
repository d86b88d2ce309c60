// A chain of LATENCY registers for a word of the vector unit: its value, its tag, and the saved
// values and operands that it carries.
//   time      Inputs in a cycle with `advance` are at the outputs LATENCY such cycles later.
//   moves     Bit i: register i takes a word, if the lanes advance.
//   carries   Without CARRIES_VALUE, the value travels elsewhere (kiln_vector_lane). Without
//             CARRIES_SAVED nobody reads the saved values behind the chain, and without bit i of
//             CARRIES_OPERANDS nobody reads operand i: they have no registers, and are 0 there.
//   next      The slot and the pass of the word that is at the outputs after the next cycle with
//             `advance`, if next_valid.
//
// Only valid is reset; the other registers change only when a word arrives, so that a stage without
// words does not toggle.
module kiln_vector_registers #(
    parameter int unsigned LANES   = 4,
    parameter int unsigned LATENCY = 1,  // at least 1
    parameter int unsigned NUMBER  = 32,  // bits of a number
    parameter bit CARRIES_VALUE = 1'b1,
    parameter bit CARRIES_SAVED = 1'b1,
    parameter logic [kiln_systolic_pkg::MAX_OPERANDS-1:0] CARRIES_OPERANDS = 3'b111
) (
    input  logic clock,
    input  logic reset,
    input  logic advance,
    input  logic in_valid,
    input  kiln_vector_pkg::word_tag_t in_tag,
    input  logic [LANES*NUMBER-1:0] in_value,
    input  logic [kiln_vector_pkg::SAVED*LANES*NUMBER-1:0] in_saved,
    input  logic [kiln_systolic_pkg::MAX_OPERANDS*LANES*NUMBER-1:0] in_operands,
    output logic [LATENCY-1:0] moves,
    output logic next_valid,
    output logic [kiln_vector_pkg::PROGRAM_BITS-1:0] next_program,
    output logic out_valid,
    output kiln_vector_pkg::word_tag_t out_tag,
    output logic [LANES*NUMBER-1:0] out_value,
    output logic [kiln_vector_pkg::SAVED*LANES*NUMBER-1:0] out_saved,
    output logic [kiln_systolic_pkg::MAX_OPERANDS*LANES*NUMBER-1:0] out_operands
);
  localparam int unsigned WORD = LANES * NUMBER;

  if (LATENCY == 0) begin : g_check
    $error("kiln_vector_registers: LATENCY is at least 1");
  end

  localparam int unsigned TAG = kiln_vector_pkg::WORD_TAG_BITS;
  localparam int unsigned SAVED = kiln_vector_pkg::SAVED * WORD;
  // Register i takes what `former` has at i, which is the input or register i - 1.
  logic [LATENCY-1:0] valids;
  logic [LATENCY*TAG-1:0] tags, former_tags;
  assign moves        = LATENCY'({valids, in_valid});
  assign former_tags  = (LATENCY * TAG)'({tags, in_tag});
  assign next_valid   = moves[LATENCY-1];
  assign next_program =
      former_tags[(LATENCY-1)*TAG+kiln_vector_pkg::TAG_PROGRAM+:kiln_vector_pkg::PROGRAM_BITS];
  assign out_valid    = valids[LATENCY-1];
  assign out_tag      = tags[(LATENCY-1)*TAG+:TAG];
  for (genvar i = 0; i < LATENCY; i++) begin : g_register
    always_ff @(posedge clock) begin
      if (reset) valids[i] <= 1'b0;
      else if (advance) valids[i] <= moves[i];
      if (advance && moves[i]) tags[i*TAG+:TAG] <= former_tags[i*TAG+:TAG];
    end
  end

  if (CARRIES_SAVED) begin : g_saved
    logic [LATENCY*SAVED-1:0] saved, former;
    assign former    = (LATENCY * SAVED)'({saved, in_saved});
    assign out_saved = saved[(LATENCY-1)*SAVED+:SAVED];
    for (genvar i = 0; i < LATENCY; i++) begin : g_register
      for (genvar w = 0; w < kiln_vector_pkg::SAVED; w++) begin : g_word
        always_ff @(posedge clock) begin
          if (advance && moves[i] && former_tags[i*TAG+kiln_vector_pkg::TAG_SAVED+w])
            saved[i*SAVED+w*WORD+:WORD] <= former[i*SAVED+w*WORD+:WORD];
        end
      end
    end
  end else begin : g_no_saved
    wire unused_saved = &{1'b0, in_saved};
    assign out_saved = '0;
  end

  for (genvar w = 0; w < kiln_systolic_pkg::MAX_OPERANDS; w++) begin : g_operand
    if (CARRIES_OPERANDS[w]) begin : g_carried
      logic [LATENCY*WORD-1:0] operands, former;
      assign former = (LATENCY * WORD)'({operands, in_operands[w*WORD+:WORD]});
      assign out_operands[w*WORD+:WORD] = operands[(LATENCY-1)*WORD+:WORD];
      for (genvar i = 0; i < LATENCY; i++) begin : g_register
        always_ff @(posedge clock) begin
          if (advance && moves[i] && former_tags[i*TAG+kiln_vector_pkg::TAG_OPERANDS+w])
            operands[i*WORD+:WORD] <= former[i*WORD+:WORD];
        end
      end
    end else begin : g_absent
      wire unused_operand = &{1'b0, in_operands[w*WORD+:WORD]};
      assign out_operands[w*WORD+:WORD] = '0;
    end
  end

  if (CARRIES_VALUE) begin : g_value
    logic [LATENCY*WORD-1:0] values;
    always_ff @(posedge clock) begin
      if (advance && moves[0]) values[0+:WORD] <= in_value;
      for (int i = 1; i < LATENCY; i++) begin
        if (advance && moves[i]) values[i*WORD+:WORD] <= values[(i-1)*WORD+:WORD];
      end
    end
    assign out_value = values[(LATENCY-1)*WORD+:WORD];
  end else begin : g_no_value
    wire unused_value = &{1'b0, in_value};
    assign out_value = '0;
  end
endmodule
