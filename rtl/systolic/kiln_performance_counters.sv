// The performance counters of all units. The activity of a cycle t in which `count` is high is
// included from t + 2 on, because it passes a register; `clear` in cycle t sets all counters to
// zero in t + 2.
//   read      Counter `read_counter` of unit `read_unit`, in the same cycle; 0 if it does not
//             exist.
module kiln_performance_counters #(
    parameter bit PERFORMANCE_COUNTERS = 1'b1  // 0: no counters; all read as zero
) (
    input  logic                                      clock,
    input  logic                                      clear,
    input  logic                                      count,
    input  kiln_control_pkg::activity_t               activity_input_fetch,
    input  kiln_control_pkg::activity_t               activity_weight_fetch,
    input  kiln_control_pkg::activity_t               activity_weight_load,
    input  kiln_control_pkg::activity_t               activity_array,
    input  kiln_control_pkg::activity_t               activity_depthwise,
    input  kiln_control_pkg::activity_t               activity_parameter_fetch,
    input  kiln_control_pkg::activity_t               activity_vector,
    input  kiln_control_pkg::activity_t               activity_command,
    input  logic [                               2:0] read_unit,
    input  logic [                               2:0] read_counter,
    output logic [kiln_control_pkg::COUNTER_BITS-1:0] read_value
);
  localparam int UNITS = kiln_control_pkg::UNITS;
  localparam int BITS = kiln_control_pkg::COUNTER_BITS;
  localparam int BYTES_BITS = kiln_control_pkg::BYTES_BITS;
  localparam int COUNTERS = kiln_control_pkg::UNIT_COUNTERS;
  localparam int ACTIVITY_BITS = 1 + kiln_control_pkg::CAUSES + 2 * BYTES_BITS;

  if (PERFORMANCE_COUNTERS) begin : g_counters
    // In the order of UNIT_..., the first unit in the lowest bits.
    logic [UNITS*ACTIVITY_BITS-1:0] activities;
    logic [UNITS*ACTIVITY_BITS-1:0] activities_now;
    logic clears, counts;
    assign activities_now = {
      activity_command,
      activity_vector,
      activity_parameter_fetch,
      activity_depthwise,
      activity_array,
      activity_weight_load,
      activity_weight_fetch,
      activity_input_fetch
    };
    always_ff @(posedge clock) begin
      clears     <= clear;
      counts     <= count;
      activities <= activities_now;
    end
    // Eight entries of 64 bits per unit, so that a counter is read by a multiplexer and not by a
    // shifter; those beyond UNIT_COUNTERS are zero.
    logic [UNITS*8*64-1:0] entries;
    for (genvar u = 0; u < UNITS; u++) begin : g_unit
      logic [COUNTERS*BITS-1:0] values;
      kiln_unit_counters #(
          .THIRD_CAUSE(kiln_control_pkg::COUNTS_THIRD_CAUSE[u]),
          .READS(kiln_control_pkg::COUNTS_READS[u]),
          .WRITES(kiln_control_pkg::COUNTS_WRITES[u])
      ) counters (
          .clock,
          .clear(clears),
          .count(counts),
          .activity(activities[u*ACTIVITY_BITS+:ACTIVITY_BITS]),
          .values
      );
      for (genvar k = 0; k < 8; k++) begin : g_entry
        if (k < COUNTERS) begin : g_counter
          assign entries[(u*8+k)*64+:64] = 64'(values[k*BITS+:BITS]);
        end else begin : g_none
          assign entries[(u*8+k)*64+:64] = '0;
        end
      end
    end

`ifndef SYNTHESIS
    for (genvar u = 0; u < UNITS; u++) begin : g_check
      kiln_control_pkg::activity_t activity;
      wire unused_activity = &{1'b0, activity};
      assign activity = activities_now[u*ACTIVITY_BITS+:ACTIVITY_BITS];
      always_ff @(posedge clock) begin
        if (count) begin
          has_third_cause : assert (kiln_control_pkg::COUNTS_THIRD_CAUSE[u] ||
              !activity.stalled[2]);
          has_reads : assert (kiln_control_pkg::COUNTS_READS[u] || activity.bytes_read == '0);
          has_writes : assert (kiln_control_pkg::COUNTS_WRITES[u] || activity.bytes_written == '0);
        end
      end
    end
`endif
    assign read_value = BITS'(entries[{read_unit, read_counter, 6'd0}+:64]);
  end else begin : g_no_counters
    assign read_value = '0;
    wire unused = &{1'b0, clock, clear, count, activity_input_fetch, activity_weight_fetch,
        activity_weight_load, activity_array, activity_depthwise, activity_parameter_fetch,
        activity_vector, activity_command, read_unit, read_counter};
  end
endmodule
