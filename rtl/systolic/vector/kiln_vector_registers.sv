// A chain of LATENCY registers for a word of the vector unit: its value, its tag, and the saved
// values and operands that it carries.
//   time      Inputs in a cycle with `advance` are at the outputs LATENCY such cycles later.
//   moves     Bit i: register i takes a word, if the lanes advance.
//   value     Without CARRIES_VALUE, the value travels elsewhere (kiln_vector_lane).
//   next      The slot and the pass of the word that is at the outputs after the next cycle with
//             `advance`, if next_valid.
//
// Only valid is reset; the other registers change only when a word arrives, so that a stage without
// words does not toggle.
module kiln_vector_registers #(
    parameter int unsigned LANES   = 4,
    parameter int unsigned LATENCY = 1,  // at least 1
    parameter int unsigned NUMBER  = 32,  // bits of a number
    parameter bit CARRIES_VALUE = 1'b1
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
  localparam int unsigned OPERANDS = kiln_systolic_pkg::MAX_OPERANDS * WORD;
  logic [LATENCY-1:0] valids;
  logic [LATENCY*TAG-1:0] tags;
  logic [LATENCY*SAVED-1:0] saved;
  logic [LATENCY*OPERANDS-1:0] operands;

  for (genvar i = 0; i < LATENCY; i++) begin : g_register
    logic former_valid;
    logic [TAG-1:0] former_tag;
    logic [kiln_vector_pkg::SAVED-1:0] has_saved;
    logic [kiln_systolic_pkg::MAX_OPERANDS-1:0] has_operands;
    assign has_saved    = former_tag[kiln_vector_pkg::TAG_SAVED+:kiln_vector_pkg::SAVED];
    assign has_operands =
        former_tag[kiln_vector_pkg::TAG_OPERANDS+:kiln_systolic_pkg::MAX_OPERANDS];
    logic [SAVED-1:0] former_saved;
    logic [OPERANDS-1:0] former_operands;
    if (i == 0) begin : g_first
      assign former_valid    = in_valid;
      assign former_tag      = in_tag;
      assign former_saved    = in_saved;
      assign former_operands = in_operands;
    end else begin : g_next
      assign former_valid    = valids[i-1];
      assign former_tag      = tags[(i-1)*TAG+:TAG];
      assign former_saved    = saved[(i-1)*SAVED+:SAVED];
      assign former_operands = operands[(i-1)*OPERANDS+:OPERANDS];
    end
    assign moves[i] = former_valid;
    if (i + 1 == LATENCY) begin : g_last
      assign next_program = former_tag[kiln_vector_pkg::TAG_PROGRAM+:kiln_vector_pkg::PROGRAM_BITS];
    end
    always_ff @(posedge clock) begin
      if (reset) valids[i] <= 1'b0;
      else if (advance) valids[i] <= former_valid;
      if (advance && former_valid) begin
        tags[i*TAG+:TAG] <= former_tag;
        if (has_saved[0]) saved[i*SAVED+:WORD] <= former_saved[0+:WORD];
        if (has_saved[1]) saved[i*SAVED+WORD+:WORD] <= former_saved[WORD+:WORD];
        if (has_operands[0]) operands[i*OPERANDS+:WORD] <= former_operands[0+:WORD];
        if (has_operands[1]) operands[i*OPERANDS+WORD+:WORD] <= former_operands[WORD+:WORD];
        if (has_operands[2]) operands[i*OPERANDS+2*WORD+:WORD] <= former_operands[2*WORD+:WORD];
      end
    end
  end

  assign next_valid   = moves[LATENCY-1];
  assign out_valid    = valids[LATENCY-1];
  assign out_tag      = tags[(LATENCY-1)*TAG+:TAG];
  assign out_saved    = saved[(LATENCY-1)*SAVED+:SAVED];
  assign out_operands = operands[(LATENCY-1)*OPERANDS+:OPERANDS];

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
