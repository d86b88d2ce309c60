// Whose turn it is to ask, where several read ports (kiln_axi_read_port) share one bus: request by request, before a request enters its port.
// The bus belongs to a request for its beats, so that addresses and data of different ports never meet on it and every word comes as long
// after its request as through a port of its own.
//   request    the port's owner has a request that touches the bus, and the port can take it
//   port_free  the port could take a request. The bus stays with the port that had the last turn until it is free again, which is after the
//              request's beats (later only where a memory holds up addresses)
//   turn       the request goes to the port in this cycle; a function of `request` and `port_free` in the same cycle
//   fairness   round robin: who asks waits for at most MASTERS - 1 requests of others
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
  logic [MASTERS-1:0] last, grant;  // one-hot, `last` zero before the first turn
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
endmodule
