// What the performance counters of one unit have counted since they were last taken. A counter is
// taken once in a turn (kiln_performance_counters), so that few bits are enough.
//   count     The activity of this cycle is counted.
//   take      The part of counter `take_counter` (kiln_control_pkg::COUNTER_...) is at `part`, and
//             begins at zero again; it is zero if the unit does not have that counter.
//   clear     All parts begin at zero; the activity of this cycle is not counted.
module kiln_unit_counters #(
    parameter bit THIRD_CAUSE = 1'b1,
    parameter bit READS = 1'b1,
    parameter bit WRITES = 1'b1,
    localparam int PART_BITS = kiln_control_pkg::PART_BITS  // derived, do not set
) (
    input  logic                        clock,
    input  logic                        clear,
    input  logic                        count,
    input  kiln_control_pkg::activity_t activity,
    input  logic                        take,
    input  logic [                 2:0] take_counter,
    output logic [       PART_BITS-1:0] part
);
  localparam int COUNTERS = kiln_control_pkg::UNIT_COUNTERS;
  localparam int STEP_BITS = kiln_control_pkg::BYTES_BITS;
  localparam logic [STEP_BITS-2:0] NONE = '0;
  logic [COUNTERS*STEP_BITS-1:0] steps;
  assign steps = {
    activity.bytes_written,
    activity.bytes_read,
    {NONE, activity.stalled[2]},
    {NONE, activity.stalled[1]},
    {NONE, activity.stalled[0]},
    {NONE, activity.busy}
  };
  localparam logic [COUNTERS-1:0] EXISTS = {WRITES, READS, THIRD_CAUSE, 3'b111};
  logic [COUNTERS*PART_BITS-1:0] parts;
  for (genvar k = 0; k < COUNTERS; k++) begin : g_counter
    // A turn of cycles, or of bytes.
    localparam int BITS = kiln_control_pkg::TURN_BITS +
        (k == kiln_control_pkg::COUNTER_READ || k == kiln_control_pkg::COUNTER_WRITTEN ?
            STEP_BITS : 1);
    if (EXISTS[k]) begin : g_exists
      logic taken;
      logic [BITS-1:0] value, step;
      assign taken = take && take_counter == 3'(k);
      assign step  = count ? BITS'(steps[k*STEP_BITS+:STEP_BITS]) : '0;
      always_ff @(posedge clock) begin
        if (clear) value <= '0;
        else if (count || taken) value <= (taken ? '0 : value) + step;
      end
      assign parts[k*PART_BITS+:PART_BITS] = PART_BITS'(value);
    end else begin : g_absent
      assign parts[k*PART_BITS+:PART_BITS] = '0;
      wire unused = &{1'b0, steps[k*STEP_BITS+:STEP_BITS]};
    end
  end
  always_comb begin
    part = '0;
    for (int k = 0; k < COUNTERS; k++) begin
      if (take && take_counter == 3'(k)) part = parts[k*PART_BITS+:PART_BITS];
    end
  end
endmodule
