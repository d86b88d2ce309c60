// The words of one section of an instruction (kiln_systolic_pkg), with word 0 in the top bits. A
// word written in cycle t is available from t + 1 on.
//   fill   The payload becomes every word: a payload of 0 clears the section.
//   USED   The number of bits of each word that are stored, from the highest on; word 0 is in the
//          top bits. The other bits are 0.
module kiln_section_register #(
    parameter int unsigned WORDS = 2,
    parameter logic [WORDS*kiln_systolic_pkg::USED_BITS-1:0] USED =
        {WORDS{kiln_systolic_pkg::USED_BITS'(kiln_systolic_pkg::PAYLOAD_BITS)}},
    localparam int unsigned BITS = kiln_systolic_pkg::PAYLOAD_BITS
) (
    input  logic                  clock,
    input  logic                  fill,
    input  logic                  write,
    input  logic [           3:0] index,
    input  logic [      BITS-1:0] payload,
    output logic [WORDS*BITS-1:0] section
);
  localparam int unsigned USED_BITS = kiln_systolic_pkg::USED_BITS;
  wire unused_payload = &{1'b0, payload};
  for (genvar w = 0; w < WORDS; w++) begin : g_word
    localparam int unsigned STORED = 32'(USED[(WORDS-1-w)*USED_BITS+:USED_BITS]);
    if (STORED == 0) begin : g_none
      assign section[BITS*(WORDS-1-w)+:BITS] = '0;
    end else begin : g_some
      logic [STORED-1:0] value;
      always_ff @(posedge clock) begin
        if (fill || (write && index == 4'(w))) value <= payload[BITS-1-:STORED];
      end
      assign section[BITS*(WORDS-1-w)+:BITS] = BITS'(value) << (BITS - STORED);
    end
  end
endmodule
