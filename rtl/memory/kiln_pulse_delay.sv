// Delays `in` by CYCLES cycles; `out` is 0 until a value accepted after the reset reaches it.
// CYCLES = 0 is a wire. Use it for valid bits and tokens, and kiln_delay for the data that
// accompany them.
module kiln_pulse_delay #(
    parameter int unsigned CYCLES = 1
) (
    input  logic clock,
    input  logic reset,
    input  logic in,
    output logic out
);
  if (CYCLES == 0) begin : g_wire
    wire unused_clock = &{1'b0, clock, reset};
    assign out = in;
  end else if (CYCLES == 1) begin : g_register
    always_ff @(posedge clock) out <= !reset && in;
  end else begin : g_line
    logic [CYCLES-2:0] line;
    always_ff @(posedge clock) {out, line} <= reset ? '0 : {line, in};
  end
`ifndef SYNTHESIS
  if (CYCLES > 0) begin : g_assert
    always_ff @(posedge clock) begin
      if (!reset && $past(reset)) quiet_after_reset : assert (!out);
    end
  end
`endif
endmodule
