// The words of one section of an instruction (kiln_systolic_pkg), with word 0 in the top bits. A
// word written in cycle t is available from t + 1 on; `clear` sets all words to 0.
module kiln_section_register #(
    parameter int unsigned WORDS = 2,
    localparam int unsigned BITS = kiln_systolic_pkg::PAYLOAD_BITS
) (
    input  logic                  clock,
    input  logic                  clear,
    input  logic                  write,
    input  logic [           3:0] index,
    input  logic [      BITS-1:0] payload,
    output logic [WORDS*BITS-1:0] section
);
  for (genvar w = 0; w < WORDS; w++) begin : g_word
    logic [BITS-1:0] value;
    always_ff @(posedge clock) begin
      if (clear) value <= '0;
      else if (write && index == 4'(w)) value <= payload;
    end
    assign section[BITS*(WORDS-1-w)+:BITS] = value;
  end
endmodule
