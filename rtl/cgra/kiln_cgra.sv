// The cgra machine: a row of tiles behind one AXI4-Stream in and one out (docs/cgra-machine.md).
// Beats have 4 * LANES bytes.
module kiln_cgra #(
    parameter  int unsigned TILES             = 4,
    parameter  int unsigned REACH             = 2,    // 1 to 4
    parameter  int unsigned LANES             = 4,    // 2 or more
    parameter  int unsigned MEMORY_DEPTH      = 32,
    parameter  int unsigned INSTRUCTION_DEPTH = 16,
    parameter  int unsigned SPOKE_DEPTH       = 16,
    parameter  int unsigned RING              = 16,
    parameter  int unsigned OUTPUT_DEPTH      = 16,   // at least 4
    parameter  int unsigned OUTPUTS           = 4,    // 1 to 8
    parameter  bit          FLOATS            = 1'b0,
    parameter  int unsigned WAIT_LIMIT        = 7,
    localparam int unsigned WIDTH             = 32 * LANES  // derived, do not set
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             in_tvalid,
    output logic             in_tready,
    input  logic [WIDTH-1:0] in_tdata,
    output logic             out_tvalid,
    input  logic             out_tready,
    output logic [WIDTH-1:0] out_tdata
);
  localparam int unsigned THREAD_BITS = $clog2(RING);

  if (TILES > 256 || LANES < 2 || OUTPUTS > kiln_cgra_pkg::MOST_OUTPUTS || OUTPUT_DEPTH < 4)
    begin : g_parameters
    $error("TILES at most 256, LANES at least 2, OUTPUTS at most 8, OUTPUT_DEPTH at least 4");
  end

  logic beat_valid, beat_ready, unused_last;
  logic [WIDTH-1:0] beat;
  logic [4*LANES-1:0] unused_keep;
  kiln_axi_stream_register #(
      .DATA_BYTES(4 * LANES)
  ) source (
      .clock,
      .reset,
      .in_tvalid,
      .in_tready,
      .in_tdata,
      .in_tkeep('1),
      .in_tlast(1'b0),
      .out_tvalid(beat_valid),
      .out_tready(beat_ready),
      .out_tdata(beat),
      .out_tkeep(unused_keep),
      .out_tlast(unused_last)
  );

  logic start, running, fetch, advance, has_inputs, space, collected, base_valid, write_valid;
  logic [3:0] write_target, outputs;
  logic [7:0] write_tile;
  logic [kiln_cgra_pkg::ADDRESS_BITS-1:0] write_address;
  logic [WIDTH-1:0] write_data;
  logic [63:0] write_low;
  logic [31:0] threads, first_sent, ready, finished;
  logic [6:0] interval;
  logic [5:0] last_slot;
  logic [15:0] latency;
  logic [THREAD_BITS-1:0] base_thread;
  logic [TILES-1:0] result_valid;
  logic [3*TILES-1:0] result_output;
  logic [TILES*WIDTH-1:0] result_data;

  kiln_cgra_dispatch #(
      .LANES(LANES),
      .RING (RING)
  ) dispatch (
      .clock,
      .reset,
      .in_tvalid(beat_valid),
      .in_tready(beat_ready),
      .in_tdata(beat),
      .write_valid,
      .write_target,
      .write_tile,
      .write_address,
      .write_data,
      .write_low,
      .start,
      .threads,
      .first_sent,
      .interval,
      .latency,
      .outputs,
      .has_inputs,
      .ready,
      .finished,
      .idle(finished == threads && collected)
  );
  kiln_cgra_sequencer #(
      .RING(RING)
  ) sequencer (
      .clock,
      .reset,
      .start,
      .threads,
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
  kiln_cgra_fabric #(
      .TILES(TILES),
      .LANES(LANES),
      .REACH(REACH),
      .MEMORY_DEPTH(MEMORY_DEPTH),
      .INSTRUCTION_DEPTH(INSTRUCTION_DEPTH),
      .SPOKE_DEPTH(SPOKE_DEPTH),
      .RING(RING),
      .WAIT_LIMIT(WAIT_LIMIT),
      .FLOATS(FLOATS)
  ) fabric (
      .clock,
      .clear(!running || reset),
      .fetch,
      .advance,
      .last_slot,
      .base_valid,
      .base_thread,
      .result_valid,
      .result_output,
      .result_data,
      .write_valid,
      .write_target,
      .write_tile,
      .write_address,
      .write_data,
      .write_low
  );
  kiln_cgra_outputs #(
      .TILES(TILES),
      .LANES(LANES),
      .OUTPUTS(OUTPUTS),
      .DEPTH(OUTPUT_DEPTH)
  ) results (
      .clock,
      .reset,
      .result_valid,
      .result_output,
      .result_data,
      .start,
      .threads,
      .outputs,
      .first_sent,
      .space,
      .collected,
      .out_tvalid,
      .out_tready,
      .out_tdata
  );

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(WIDTH)
  ) input_handshake (
      .clock,
      .reset,
      .valid(in_tvalid),
      .ready(in_tready),
      .payload(in_tdata)
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      tiles_exist : assert (!write_valid || 32'(write_tile) < TILES);
      // During a run only inputs of threads are written.
      programs_between_runs : assert (!(write_valid && running) ||
          write_target <= kiln_cgra_pkg::TARGET_MEMORY_1);
      interval_within_spokes : assert (!fetch || 32'(last_slot) < SPOKE_DEPTH);
      outputs_exist : assert (!running || 32'(outputs) <= OUTPUTS);
      results_only_in_runs : assert (result_valid == '0 || !collected);
    end
  end
`endif
endmodule
