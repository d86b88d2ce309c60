// Dispatch, sequencer and outputs side by side, with their ports: 2 lanes, rings of 4 threads, 3
// tiles, 2 outputs with queues of 8.
module control_bench (
    input  logic         clock,
    input  logic         reset,
    // Dispatch
    input  logic         in_tvalid,
    output logic         in_tready,
    input  logic [ 63:0] in_tdata,
    output logic         write_valid,
    output logic [  3:0] write_target,
    output logic [  7:0] write_tile,
    output logic [ 11:0] write_address,
    output logic [ 63:0] write_data,
    output logic [ 63:0] write_low,
    output logic         dispatch_start,
    output logic [ 31:0] dispatch_threads,
    output logic [ 31:0] dispatch_first_sent,
    output logic [  6:0] dispatch_interval,
    output logic [ 15:0] dispatch_latency,
    output logic [  3:0] dispatch_outputs,
    output logic         dispatch_has_inputs,
    output logic [ 31:0] dispatch_ready,
    input  logic [ 31:0] dispatch_finished,
    input  logic         idle,
    // Sequencer
    input  logic         start,
    input  logic [ 31:0] run_threads,
    input  logic [  6:0] interval,
    input  logic [ 15:0] latency,
    input  logic         has_inputs,
    input  logic [ 31:0] ready,
    input  logic         space,
    output logic         running,
    output logic         fetch,
    output logic         advance,
    output logic [  5:0] last_slot,
    output logic         base_valid,
    output logic [  1:0] base_thread,
    output logic [ 31:0] finished,
    // Outputs
    input  logic [  2:0] result_valid,
    input  logic [  8:0] result_output,
    input  logic [191:0] result_data,
    input  logic         outputs_start,
    input  logic [ 31:0] outputs_threads,
    input  logic [  3:0] outputs,
    input  logic [ 31:0] first_sent,
    output logic         queues_space,
    output logic         collected,
    output logic         out_tvalid,
    input  logic         out_tready,
    output logic [ 63:0] out_tdata
);
  kiln_cgra_dispatch #(
      .LANES(2),
      .RING (4)
  ) dispatch (
      .clock,
      .reset,
      .in_tvalid,
      .in_tready,
      .in_tdata,
      .write_valid,
      .write_target,
      .write_tile,
      .write_address,
      .write_data,
      .write_low,
      .start(dispatch_start),
      .threads(dispatch_threads),
      .first_sent(dispatch_first_sent),
      .interval(dispatch_interval),
      .latency(dispatch_latency),
      .outputs(dispatch_outputs),
      .has_inputs(dispatch_has_inputs),
      .ready(dispatch_ready),
      .finished(dispatch_finished),
      .idle
  );
  kiln_cgra_sequencer #(
      .RING(4)
  ) sequencer (
      .clock,
      .reset,
      .start,
      .threads(run_threads),
      .interval,
      .latency,
      .has_inputs,
      .ready,
      .space,
      .running,
      .fetch,
      .advance,
      .last_slot,
      .base_valid,
      .base_thread,
      .finished
  );
  kiln_cgra_outputs #(
      .TILES(3),
      .LANES(2),
      .OUTPUTS(2),
      .DEPTH(8)
  ) results (
      .clock,
      .reset,
      .result_valid,
      .result_output,
      .result_data,
      .start(outputs_start),
      .threads(outputs_threads),
      .outputs,
      .first_sent,
      .space(queues_space),
      .collected,
      .out_tvalid,
      .out_tready,
      .out_tdata
  );
endmodule
