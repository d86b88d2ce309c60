// module: kiln_bus_turns
// properties: one turn at a time, the bus stays with its owner
// sources: bus/kiln_bus_turns.sv bus/kiln_round_robin.sv
// parameters: MASTERS=1 MASTERS=4
// depth: 10
// induction: 2
module proof #(
    parameter int unsigned MASTERS = 4
) (
    input logic clock,
    input logic reset,
    input logic [MASTERS-1:0] request,
    input logic [MASTERS-1:0] port_free
);
  logic [MASTERS-1:0] turn;
  kiln_bus_turns #(.MASTERS(MASTERS)) dut (.*);

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (!reset) begin
      one_turn : assert ($onehot0(turn));
      // After a turn nobody has one until the port of the turn is free again.
      if (begun && $past(!reset && turn != '0) && ($past(turn) & ~port_free) != '0) begin
        no_turn_while_owner_busy : assert (turn == '0);
      end
    end
  end
endmodule
