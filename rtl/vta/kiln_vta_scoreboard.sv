// Tracks the instructions in flight in each unit of the compute stage, for kiln_vta_dispatcher. An
// instruction is in flight from the cycle after its dispatch to its unit's done cycle, inclusive.
//   begin_unit   the unit to which an instruction that uses `begin_resources` is dispatched
//                (one-hot; 0 for none). Each unit completes its instructions in order.
//   done         pulses, one bit per unit
//   busy         the unit has an instruction in flight
//   touched      the resources that each unit's instructions in flight use
module kiln_vta_scoreboard #(
    parameter int unsigned RESOURCES = 5,
    localparam int unsigned UNITS = kiln_vta_pkg::UNITS
) (
    input  logic                       clock,
    input  logic                       reset,
    input  logic [          UNITS-1:0] begin_unit,
    input  logic [      RESOURCES-1:0] begin_resources,
    input  logic [          UNITS-1:0] done,
    output logic [          UNITS-1:0] busy,
    output logic [UNITS*RESOURCES-1:0] touched
);
  // The largest number of instructions that are dispatched and not yet retired.
  localparam int unsigned DEPTH = kiln_vta_pkg::RETIREMENT_DEPTH;
  localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1);
  for (genvar u = 0; u < UNITS; u++) begin : g_unit
    logic [RESOURCES-1:0] done_resources;
    logic unused_ready;
    logic [COUNT_BITS-1:0] unused_count;
    kiln_fifo #(
        .WIDTH(RESOURCES),
        .DEPTH(DEPTH)
    ) under_way (
        .clock,
        .reset,
        .in_valid (begin_unit[u]),
        .in_ready (unused_ready),
        .in_data  (begin_resources),
        .out_valid(busy[u]),
        .out_ready(done[u]),
        .out_data (done_resources),
        .count    (unused_count)
    );
    for (genvar r = 0; r < RESOURCES; r++) begin : g_resource
      logic [COUNT_BITS-1:0] instructions;
      assign touched[u*RESOURCES+r] = instructions != '0;
      always_ff @(posedge clock) begin
        if (reset) instructions <= '0;
        else
          instructions <= instructions + COUNT_BITS'(begin_unit[u] && begin_resources[r]) -
              COUNT_BITS'(done[u] && done_resources[r]);
      end
`ifndef SYNTHESIS
      always_ff @(posedge clock) begin
        if (!reset) begin
          assert (32'(instructions) <= DEPTH);
          assert (instructions == '0 || busy[u]);
          assert (!(done[u] && done_resources[r]) || instructions != '0);
        end
      end
`endif
    end
`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset) begin
        assert (!begin_unit[u] || unused_ready);  // no instruction is lost
        assert (!done[u] || busy[u]);  // only an instruction that has begun is done
      end
    end
`endif
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_unit_begins : assert ($onehot0(begin_unit));
    end
  end
`endif
endmodule
