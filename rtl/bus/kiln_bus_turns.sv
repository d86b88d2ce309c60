// Round-robin arbiter of the read requests of several kiln_axi_read_ports on one bus. It grants
// request by request, before a request enters its port. A request owns the bus for its beats, so
// that addresses and data of different ports never compete, and every word has the same latency as
// through a port on a bus of its own.
//   request    the port's owner has a request that uses the bus, and the port can accept it
//   port_free  the port can accept a request. The bus stays with the port of the last turn until
//              that port is free again, which is after the request's beats (later only if the
//              memory stalls addresses)
//   turn       the request enters the port in this cycle; a combinational function of `request` and
//              `port_free`
//   fairness   round robin: a requester waits for at most MASTERS - 1 requests of others
module kiln_bus_turns #(
    parameter int unsigned MASTERS = 4,
    localparam int unsigned INDEX_BITS = MASTERS > 1 ? $clog2(MASTERS) : 1  // derived, do not set
) (
    input  logic               clock,
    input  logic               reset,
    input  logic [MASTERS-1:0] request,
    input  logic [MASTERS-1:0] port_free,
    output logic [MASTERS-1:0] turn
);
  logic [MASTERS-1:0] last, grant;  // one-hot; `last` is zero before the first turn
  logic held, taken;
  logic [INDEX_BITS-1:0] unused_index;
  assign held  = (last & ~port_free) != '0;
  assign taken = !held && request != '0;
  assign turn  = held ? '0 : grant;
  kiln_round_robin #(
      .REQUESTERS(MASTERS)
  ) choose (
      .clock,
      .reset,
      .request,
      .taken,
      .grant,
      .index(unused_index)
  );
  always_ff @(posedge clock) begin
    if (reset) last <= '0;
    else if (taken) last <= grant;
  end
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      turn_one_hot : assert ($onehot0(turn));
      turn_requested : assert ((turn & ~request) == '0);
      owner_one_hot : assert ($onehot0(last));
      // The bus changes hands only after the owner's beats.
      owner_keeps_bus : assert (turn == '0 || (last & ~port_free) == '0);
      no_idle_bus : assert (held || request == '0 || turn != '0);
    end
  end
`endif
endmodule
