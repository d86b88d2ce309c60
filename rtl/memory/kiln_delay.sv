// Delays `in` by CYCLES cycles; CYCLES = 0 is a wire. A shift register without a reset: use
// kiln_pulse_delay for signals that must have a known value from the reset on.
module kiln_delay #(
    parameter int unsigned WIDTH  = 8,  // bits
    parameter int unsigned CYCLES = 1
) (
    input  logic             clock,
    input  logic [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);
  if (CYCLES == 0) begin : g_wire
    wire unused_clock = clock;
    assign out = in;
  end else if (CYCLES == 1) begin : g_register
    always_ff @(posedge clock) out <= in;
  end else begin : g_line
    logic [(CYCLES-1)*WIDTH-1:0] line;
    always_ff @(posedge clock) {out, line} <= {line, in};
  end
endmodule
