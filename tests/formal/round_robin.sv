// module: kiln_round_robin
// properties: one-hot grant of a requester, index, turn
// sources: bus/kiln_round_robin.sv
// parameters: REQUESTERS=1 REQUESTERS=4 REQUESTERS=5
// depth: 10
// induction: 2
module proof #(
    parameter int unsigned REQUESTERS = 4,
    localparam int unsigned INDEX_BITS = REQUESTERS > 1 ? $clog2(REQUESTERS) : 1
) (
    input logic clock,
    input logic reset,
    input logic [REQUESTERS-1:0] request,
    input logic taken
);
  logic [REQUESTERS-1:0] grant;
  logic [INDEX_BITS-1:0] index;
  kiln_round_robin #(.REQUESTERS(REQUESTERS)) dut (.*);

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (!taken || request != '0);
    // A grant that is not taken stays with its requester while no other request changes.
    if (!reset && begun && $past(!reset && !taken) && $stable(request)) begin
      grant_stays : assert ($stable(grant));
    end
    // Two grants in a row to the same requester only if it is the only one.
    if (!reset && begun && $past(!reset && taken) && (request & ~$past(grant)) != '0) begin
      turn_advances : assert (grant != $past(grant));
    end
  end
endmodule
