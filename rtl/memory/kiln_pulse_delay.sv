// `out` is `in` of CYCLES cycles before, and 0 where that lies before the end of the reset; CYCLES = 0 is a wire. For valid bits and
// tokens; what goes beside them takes kiln_delay.
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
endmodule
