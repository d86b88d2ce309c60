// The outputs: a queue each, and the stream out.
//   result_*   of every tile: a result for an output. At most one tile has one for the same output
//              in a cycle. A result in cycle t is in its queue from t + 2 on.
//   start      a run begins; `threads`, `outputs` and `first_sent` have its numbers from the next
//              cycle on
//   space      every queue has at least RESERVE free entries
//   collected  all results of the run have left their queues
// Results leave in the order of threads and, of a thread, of outputs. Those of threads before
// first_sent are dropped.
module kiln_cgra_outputs #(
    parameter  int unsigned TILES   = 4,
    parameter  int unsigned LANES   = 2,
    parameter  int unsigned OUTPUTS = 4,
    parameter  int unsigned DEPTH   = 16,  // entries of a queue
    parameter  int unsigned RESERVE = 4,
    localparam int unsigned WIDTH   = 32 * LANES  // derived, do not set
) (
    input  logic                   clock,
    input  logic                   reset,
    input  logic [      TILES-1:0] result_valid,
    input  logic [    3*TILES-1:0] result_output,
    input  logic [TILES*WIDTH-1:0] result_data,
    input  logic                   start,
    input  logic [           31:0] threads,
    input  logic [            3:0] outputs,
    input  logic [           31:0] first_sent,
    output logic                   space,
    output logic                   collected,
    output logic                   out_tvalid,
    input  logic                   out_tready,
    output logic [      WIDTH-1:0] out_tdata
);
  localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1);

  logic [OUTPUTS-1:0] queue_valid, queue_pop, queue_space;
  logic [OUTPUTS*WIDTH-1:0] queue_data;
  logic [31:0] thread;
  logic [2:0] place;  // the output of `thread` whose result is next
  logic sent, leaves;

  for (genvar o = 0; o < OUTPUTS; o++) begin : g_output
    logic [TILES-1:0] chosen;
    logic [WIDTH-1:0] data, pushed_data;
    logic pushed, unused_ready;
    logic [COUNT_BITS-1:0] count;
    for (genvar t = 0; t < TILES; t++) begin : g_tile
      assign chosen[t] = result_valid[t] && result_output[3*t+:3] == 3'(o);
    end
    always_comb begin
      data = '0;
      for (int t = 0; t < TILES; t++)
        data = data | (result_data[t*WIDTH+:WIDTH] & {WIDTH{chosen[t]}});
    end
    always_ff @(posedge clock) begin
      pushed <= chosen != '0 && !reset;
      pushed_data <= data;
    end
    kiln_deep_fifo #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH)
    ) queue (
        .clock,
        .reset,
        .in_valid (pushed),
        .in_ready (unused_ready),
        .in_data  (pushed_data),
        .out_valid(queue_valid[o]),
        .out_ready(queue_pop[o]),
        .out_data (queue_data[o*WIDTH+:WIDTH]),
        .count
    );
    assign queue_space[o] = 32'(count) <= DEPTH - RESERVE;
`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset) begin
        assert ($onehot0(chosen));
        assert (!pushed || unused_ready);
      end
    end
`endif
  end
  assign space = &queue_space;

  // Collects the results of a thread, one in a cycle.
  logic sink_ready;
  logic [WIDTH-1:0] head;
  logic head_valid;
  always_comb begin
    head = '0;
    head_valid = 1'b0;
    for (int o = 0; o < OUTPUTS; o++) begin
      head = head | (queue_data[o*WIDTH+:WIDTH] & {WIDTH{place == 3'(o)}});
      head_valid = head_valid || (queue_valid[o] && place == 3'(o));
      queue_pop[o] = leaves && place == 3'(o);
    end
  end
  assign sent = thread >= first_sent;
  assign collected = thread == threads || outputs == '0;
  assign leaves = head_valid && !collected && sink_ready;
  always_ff @(posedge clock) begin
    if (start) begin
      thread <= '0;
      place  <= '0;
    end else if (leaves) begin
      place <= {1'b0, place} == outputs - 1'b1 ? '0 : place + 1'b1;
      if ({1'b0, place} == outputs - 1'b1) thread <= thread + 1'b1;
    end
  end

  logic unused_last;
  logic [4*LANES-1:0] unused_keep;
  kiln_axi_stream_register #(
      .DATA_BYTES(4 * LANES)
  ) sink (
      .clock,
      .reset,
      .in_tvalid(head_valid && !collected && sent),
      .in_tready(sink_ready),
      .in_tdata(head),
      .in_tkeep('1),
      .in_tlast(1'b0),
      .out_tvalid,
      .out_tready,
      .out_tdata,
      .out_tkeep(unused_keep),
      .out_tlast(unused_last)
  );

`ifndef SYNTHESIS
  for (genvar t = 0; t < TILES; t++) begin : g_assert
    always_ff @(posedge clock) begin
      if (!reset && result_valid[t]) assert (32'(result_output[3*t+:3]) < OUTPUTS);
    end
  end
  logic started;  // a run has begun since the reset
  always_ff @(posedge clock) begin
    started <= !reset && (started || start);
    if (!reset && started && !start && outputs != '0) begin
      place_of_an_output : assert ({1'b0, place} < outputs);
      threads_within_run : assert (thread <= threads);
      whole_threads_collected : assert (!collected || place == '0);
    end
  end
`endif
endmodule
