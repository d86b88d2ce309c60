// The performance counters of one unit, in the order of kiln_control_pkg::COUNTER_..., the first
// one in the lowest bits. The activity of a cycle in which `count` is high is included from the
// next cycle on; `clear` sets all counters to zero. Those that a unit does not have are zero.
module kiln_unit_counters #(
    parameter bit THIRD_CAUSE = 1'b1,
    parameter bit READS = 1'b1,
    parameter bit WRITES = 1'b1
) (
    input  logic                                                                       clock,
    input  logic                                                                       clear,
    input  logic                                                                       count,
    input  kiln_control_pkg::activity_t                                                activity,
    output logic [kiln_control_pkg::UNIT_COUNTERS*kiln_control_pkg::COUNTER_BITS-1:0] values
);
  localparam int BITS = kiln_control_pkg::COUNTER_BITS;
  localparam int STEP_BITS = kiln_control_pkg::BYTES_BITS;
  localparam logic [STEP_BITS-2:0] NONE = '0;
  logic [kiln_control_pkg::UNIT_COUNTERS*STEP_BITS-1:0] steps;
  assign steps = {
    activity.bytes_written,
    activity.bytes_read,
    {NONE, activity.stalled[2]},
    {NONE, activity.stalled[1]},
    {NONE, activity.stalled[0]},
    {NONE, activity.busy}
  };
  localparam logic [kiln_control_pkg::UNIT_COUNTERS-1:0] EXISTS =
      {WRITES, READS, THIRD_CAUSE, 3'b111};
  for (genvar k = 0; k < kiln_control_pkg::UNIT_COUNTERS; k++) begin : g_counter
    if (EXISTS[k]) begin : g_exists
      logic [BITS-1:0] value;
      always_ff @(posedge clock) begin
        if (clear) value <= '0;
        else if (count) value <= value + BITS'(steps[k*STEP_BITS+:STEP_BITS]);
      end
      assign values[k*BITS+:BITS] = value;
    end else begin : g_absent
      assign values[k*BITS+:BITS] = '0;
      wire unused = &{1'b0, steps[k*STEP_BITS+:STEP_BITS]};
    end
  end
endmodule
