// The performance counters of all units. They are in a memory, to which each counter's part in the
// unit is added in turn, one counter a cycle (kiln_unit_counters).
//   clear      in cycle t sets all counters to zero in t + 2
//   count      the activity of a cycle t in which it is high is included from t + 2 on, because it
//              passes a register
//   read       The counter `read_counter` of unit `read_unit` is at read_value in a cycle with
//              read_valid, which comes once in a turn of 2^TURN_BITS cycles. It includes what was
//              counted two cycles before. A counter that does not exist is 0.
//   reset      the counters are zero
module kiln_performance_counters #(
    parameter bit PERFORMANCE_COUNTERS = 1'b1  // 0: no counters; all read as zero
) (
    input  logic                                      clock,
    input  logic                                      reset,
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
    output logic                                      read_valid,
    output logic [kiln_control_pkg::COUNTER_BITS-1:0] read_value
);
  localparam int UNITS = kiln_control_pkg::UNITS;
  localparam int BITS = kiln_control_pkg::COUNTER_BITS;
  localparam int BYTES_BITS = kiln_control_pkg::BYTES_BITS;
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

    // ---- A turn: the unit and the counter whose part is taken.
    localparam int TURN_BITS = kiln_control_pkg::TURN_BITS;
    localparam int PART_BITS = kiln_control_pkg::PART_BITS;
    logic [TURN_BITS-1:0] place, taken_place, sum_place;
    logic [UNITS*PART_BITS-1:0] parts;
    logic [PART_BITS-1:0] part, taken_part;
    for (genvar u = 0; u < UNITS; u++) begin : g_unit
      kiln_unit_counters #(
          .THIRD_CAUSE(kiln_control_pkg::COUNTS_THIRD_CAUSE[u]),
          .READS(kiln_control_pkg::COUNTS_READS[u]),
          .WRITES(kiln_control_pkg::COUNTS_WRITES[u])
      ) counters (
          .clock,
          .clear(clears || reset),
          .count(counts),
          .activity(activities[u*ACTIVITY_BITS+:ACTIVITY_BITS]),
          .take(place[5:3] == 3'(u)),
          .take_counter(place[2:0]),
          .part(parts[u*PART_BITS+:PART_BITS])
      );
    end
    always_comb begin
      part = '0;  // all but one are zero
      for (int u = 0; u < UNITS; u++) part = part | parts[u*PART_BITS+:PART_BITS];
    end

    logic [TURN_BITS:0] left;  // words that are still to be set to zero
    logic from_zero;  // the taken part is the whole counter
    logic [BITS-1:0] word, sum;
    always_ff @(posedge clock) begin
      place       <= place + 1'b1;
      taken_place <= place;
      taken_part  <= part;
      from_zero   <= left != '0;
      sum         <= (from_zero ? '0 : word) + BITS'(taken_part);
      sum_place   <= taken_place;
      if (left != '0) left <= left - 1'b1;
      if (clears || reset) left <= {1'b1, {TURN_BITS{1'b0}}};
      if (reset) place <= '0;
    end
    kiln_ram_1w #(
        .WIDTH(BITS),
        .WORDS(1 << TURN_BITS),
        .STYLE(1)
    ) memory (
        .clock,
        .write_enable(1'b1),
        .write_address(sum_place),
        .write_data(sum),
        .read_enable(1'b1),
        .read_address(place),
        .read_data(word)
    );
    assign read_valid = sum_place == {read_unit, read_counter};
    assign read_value = sum;

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
  end else begin : g_no_counters
    assign read_valid = 1'b1;
    assign read_value = '0;
    wire unused = &{1'b0, clock, reset, clear, count, activity_input_fetch, activity_weight_fetch,
        activity_weight_load, activity_array, activity_depthwise, activity_parameter_fetch,
        activity_vector, activity_command, read_unit, read_counter};
  end
endmodule
