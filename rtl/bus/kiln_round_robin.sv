// Chooses one of several requests, each in its turn: the next one after the last that was taken.
//   time       grant, index: combinational functions of `request`; the turn moves on in a cycle with `taken`
//   fairness   who asks is chosen after at most REQUESTERS - 1 others
module kiln_round_robin #(
    parameter  int unsigned REQUESTERS = 4,
    localparam int unsigned INDEX_BITS = REQUESTERS > 1 ? $clog2(REQUESTERS) : 1  // derived, do not set
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic [REQUESTERS-1:0] request,
    input  logic                  taken,    // the chosen one has been served
    output logic [REQUESTERS-1:0] grant,    // one-hot; zero without a request
    output logic [INDEX_BITS-1:0] index     // of the chosen one; 0 without a request
);
  logic [REQUESTERS-1:0] after_last;  // requesters behind the last one that was served
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
endmodule
