// Asserts the rule of a valid/ready handshake: an offer (valid without ready) persists, with its
// payload unchanged, until it is accepted. Used in simulation and proofs only; instances are inside
// `ifndef SYNTHESIS.
module kiln_handshake_checker #(
    parameter int unsigned WIDTH = 8  // bits of the payload
) (
    input logic             clock,
    input logic             reset,
    input logic             valid,
    input logic             ready,
    input logic [WIDTH-1:0] payload
);
  logic held;
  logic [WIDTH-1:0] last_payload;
  always_ff @(posedge clock) begin
    held <= valid && !ready && !reset;
    if (valid) last_payload <= payload;
`ifndef SYNTHESIS
    if (!reset && held) begin
      valid_stays : assert (valid);
      payload_stays : assert (!valid || payload == last_payload);
    end
`endif
  end
`ifdef SYNTHESIS
  wire unused_state = &{1'b0, held, last_payload};
`endif
endmodule
