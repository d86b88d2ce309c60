// What is under way in the units of the compute stage: from the cycle after an instruction's dispatch to its unit's done cycle, included.
//   begin_unit   an instruction that touches `begin_resources` is dispatched to it (one-hot; 0: none); every unit is done in order
//   done         pulses, by unit
//   touched      resources of each unit's instructions under way; `busy`: whether it has any
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
  // As many as may be dispatched and not retired.
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
        else instructions <= instructions + COUNT_BITS'(begin_unit[u] && begin_resources[r]) - COUNT_BITS'(done[u] && done_resources[r]);
      end
    end
  end
endmodule
