// module: kiln_delay, kiln_pulse_delay
// properties: the output is the input of CYCLES cycles before; pulses are 0 after a reset
// sources: memory/kiln_delay.sv memory/kiln_pulse_delay.sv
// parameters: CYCLES=0 CYCLES=1 CYCLES=5
// depth: 14
// induction: 8
module proof #(
    parameter int unsigned CYCLES = 5
) (
    input logic clock,
    input logic reset,
    input logic [2:0] in,
    input logic in_pulse
);
  logic [2:0] out;
  logic out_pulse;
  kiln_delay #(
      .WIDTH (3),
      .CYCLES(CYCLES)
  ) dut (
      .clock,
      .in,
      .out
  );
  kiln_pulse_delay #(
      .CYCLES(CYCLES)
  ) dut_pulse (
      .clock,
      .reset,
      .in (in_pulse),
      .out(out_pulse)
  );

  // Entry i is the input of i cycles before.
  logic [8*3-1:0] history;
  logic [7:0] pulses;
  logic [3:0] cycle = '0;  // stops at 15
  logic begun = 1'b0;
  logic [(8+1)*3-1:0] values;
  logic [8:0] pulse_values;
  assign values = {history, in};
  assign pulse_values = {pulses, in_pulse};
  always_ff @(posedge clock) begin
    begun   <= 1'b1;
    cycle   <= cycle == '1 ? cycle : cycle + 1'b1;
    history <= {history[7*3-1:0], in};
    pulses  <= reset ? '0 : {pulses[6:0], in_pulse};
    if (!begun) assume (reset);
    if (32'(cycle) >= CYCLES) delays : assert (out == values[CYCLES*3+:3]);
    if (begun) delays_pulses : assert (out_pulse == pulse_values[CYCLES]);
  end
endmodule
