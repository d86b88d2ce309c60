// Decides which clock cycles are fabric cycles, and counts periods and threads
// (docs/cgra-machine.md, "Time").
//   start      the run's parameter beat. `latency` has its value in this cycle; `threads`,
//              `interval` and `has_inputs` keep theirs from the next cycle on, until the next start
//   running    from the cycle after `start` to the one after the last fabric cycle
//   fetch      cycles in which tiles fetch: the first two of a run, then the fabric cycles
//   advance    fabric cycles
//   base_*     whether the period has a thread, and its number modulo RING
//   ready      threads that have all their inputs in the tile memories, from thread 0 on
//   space      every output queue has space for the results of a period
//   finished   threads of the run whose instructions have all been issued and computed
module kiln_cgra_sequencer #(
    parameter  int unsigned RING        = 16,
    localparam int unsigned THREAD_BITS = $clog2(RING)  // derived, do not set
) (
    input  logic                   clock,
    input  logic                   reset,
    input  logic                   start,
    input  logic [           31:0] threads,
    input  logic [            6:0] interval,
    input  logic [           15:0] latency,
    input  logic                   has_inputs,
    input  logic [           31:0] ready,
    input  logic                   space,
    output logic                   running,
    output logic                   fetch,
    output logic                   advance,
    output logic [            5:0] last_slot,
    output logic                   base_valid,
    output logic [THREAD_BITS-1:0] base_thread,
    output logic [           31:0] finished
);
  logic [1:0] filling;  // cycles of fetching before the first fabric cycle
  logic [5:0] slot;
  logic [31:0] period;
  logic [15:0] until_finish;  // fabric cycles until the next thread finishes, with this one
  logic begins, waits, ends;

  assign last_slot = 6'(interval - 1'b1);
  assign base_valid = period < threads;
  assign base_thread = period[THREAD_BITS-1:0];
  assign begins = slot == '0;
  assign waits = begins && ((base_valid && has_inputs && ready == period) || !space);
  assign ends = finished == threads;
  assign advance = running && filling == '0 && !waits && !ends;
  assign fetch = running && (filling != '0 || advance);

  always_ff @(posedge clock) begin
    if (reset) running <= 1'b0;
    else running <= start || (running && !ends);
    if (start) begin
      filling      <= 2'd2;
      slot         <= '0;
      period       <= '0;
      finished     <= '0;
      until_finish <= latency;
    end else if (running) begin
      if (filling != '0) filling <= filling - 1'b1;
      if (advance) begin
        slot <= slot == last_slot ? '0 : slot + 1'b1;
        if (slot == last_slot) period <= period + 1'b1;
        until_finish <= until_finish == 16'd1 ? 16'(interval) : until_finish - 1'b1;
        if (until_finish == 16'd1) finished <= finished + 1'b1;
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      starts_when_idle : assert (!(start && running));
      if (running) begin
        finishes_within_threads : assert (finished <= threads);
        inputs_before_periods : assert (!has_inputs || !base_valid || ready >= period);
        stops_at_begin_of_period : assert (advance || filling != '0 || ends || slot == '0);
      end
    end
  end
`endif
endmodule
