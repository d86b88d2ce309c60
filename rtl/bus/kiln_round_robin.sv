// Round-robin arbiter: grants the next requester after the last one that was taken.
//   time       grant and index are combinational functions of `request`; the turn advances in a
//              cycle with `taken`
//   fairness   a requester waits for at most REQUESTERS - 1 others
module kiln_round_robin #(
    parameter  int unsigned REQUESTERS = 4,
    // derived, do not set
    localparam int unsigned INDEX_BITS = REQUESTERS > 1 ? $clog2(REQUESTERS) : 1
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic [REQUESTERS-1:0] request,
    input  logic                  taken,    // the granted requester is served in this cycle
    output logic [REQUESTERS-1:0] grant,    // one-hot; zero without a request
    output logic [INDEX_BITS-1:0] index     // index of the granted requester; 0 without a request
);
  logic [REQUESTERS-1:0] after_last;  // requesters after the last one that was served
  logic [REQUESTERS-1:0] first_choice, candidates;

  assign first_choice = request & after_last;
  assign candidates = first_choice != '0 ? first_choice : request;
  assign grant = candidates & (~candidates + 1'b1);
  always_comb begin
    index = '0;
    for (int i = 0; i < REQUESTERS; i++) if (grant[i]) index = index | INDEX_BITS'(i);
  end

  always_ff @(posedge clock) begin
    if (reset) after_last <= '0;
    else if (taken) after_last <= ~((grant - 1'b1) | grant);
  end
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      grant_one_hot : assert ($onehot0(grant));
      grant_requested : assert ((grant & ~request) == '0);
      grant_whenever_requested : assert ((grant != '0) == (request != '0));
      index_matches_grant : assert (request == '0 ? index == '0 : grant[index]);
      taken_only_with_request : assert (!taken || request != '0);
      turn_is_suffix : assert ((~after_last & (~after_last + 1'b1)) == '0);
    end
  end
`endif
endmodule
