// Copies the words of a channel to OUTPUTS channels: pops a word when every output has room, and
// pushes it to all in the same cycle.
module kiln_dataflow_fork #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned OUTPUTS = 2
) (
    input  logic                     clock,
    input  logic                     reset,
    input  logic                     in_valid,
    input  logic [        WIDTH-1:0] in_data,
    output logic                     in_pop,
    input  logic [      OUTPUTS-1:0] out_room,
    output logic [      OUTPUTS-1:0] out_reserve,
    output logic [      OUTPUTS-1:0] out_push,
    output logic [OUTPUTS*WIDTH-1:0] out_data
);
  assign in_pop = in_valid && out_room == '1;
  assign out_reserve = {OUTPUTS{in_pop}};
  assign out_push = {OUTPUTS{in_pop}};
  assign out_data = {OUTPUTS{in_data}};
`ifdef SYNTHESIS
  wire unused_clock = &{1'b0, clock, reset};
`else
  always_ff @(posedge clock) begin
    if (!reset) reserved_only_with_room : assert ((out_reserve & ~out_room) == '0);
  end
`endif
endmodule
