// module: kiln_round_robin
// properties: a requester waits for at most REQUESTERS - 1 others
// sources: bus/kiln_round_robin.sv
// parameters: REQUESTERS=2 REQUESTERS=4
// depth: 14
// induction: 6
module proof #(
    parameter int unsigned REQUESTERS = 4,
    localparam int unsigned INDEX_BITS = REQUESTERS > 1 ? $clog2(REQUESTERS) : 1
) (
    input logic clock,
    input logic reset,
    input logic [REQUESTERS-1:0] request
);
  // A cycle without `taken` changes neither the arbiter's state nor the wait that is counted, so
  // the proof leaves such cycles out.
  logic taken;
  assign taken = request != '0;
  logic [REQUESTERS-1:0] grant;
  logic [INDEX_BITS-1:0] index;
  kiln_round_robin #(.REQUESTERS(REQUESTERS)) dut (.*);

  (* anyconst *) logic [INDEX_BITS-1:0] who;
  logic [7:0] others;  // served since `who` began to ask
  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (32'(who) < REQUESTERS);
    if (reset || !request[who] || grant[who]) others <= '0;
    else others <= others + 1'b1;
    if (!reset) waits_in_turn : assert (32'(others) < REQUESTERS);
  end
endmodule
