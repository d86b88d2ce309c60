// A channel between two stages of a dataflow machine: a queue of words with credits
// (docs/dataflow-machine.md, "Words and channels").
//   reserve    The producer may assert it in a cycle in which `room` is high. It takes RESERVE
//              words of space at the end of the cycle.
//   push       The producer may assert it once for each word that it has reserved in this cycle or
//              earlier. A push never waits.
//   pop        The consumer may assert it in a cycle in which `valid` is high; `data` is the oldest
//              word.
//   time       A word that is pushed in cycle t can be popped from t + 1 on. The space of a word
//              that is popped in cycle t can be reserved from t + 1 on. `room` and `valid` are
//              functions of registers.
//   level      words that are stored or reserved at the start of the cycle, at most DEPTH
//   highest    with MEASURE, the greatest level at the start of any cycle before this one, since
//              the reset or the last `clear`; otherwise 0
module kiln_dataflow_channel #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned DEPTH = 4,  // words, any number from 1
    parameter int unsigned MEMORY = 0,  // 0 registers or LUT memory, 1 block memory, 2 UltraRAM
    parameter int unsigned RESERVE = 1,  // words of a reservation, at most DEPTH
    parameter bit MEASURE = 1'b0,
    localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1)  // derived, do not set
) (
    input  logic                  clock,
    input  logic                  reset,
    // The producer's side
    output logic                  room,
    input  logic                  reserve,
    input  logic                  push,
    input  logic [     WIDTH-1:0] push_data,
    // The consumer's side
    output logic                  valid,
    output logic [     WIDTH-1:0] data,
    input  logic                  pop,
    // Measurements
    input  logic                  clear,
    output logic [COUNT_BITS-1:0] level,
    output logic [COUNT_BITS-1:0] highest
);
  if (DEPTH < 1 || RESERVE < 1 || RESERVE > DEPTH || MEMORY > 2) begin : g_parameters
    $error("DEPTH must be 1 at least, RESERVE between 1 and DEPTH, MEMORY 0, 1 or 2");
  end

  logic queue_ready;
  logic [COUNT_BITS-1:0] stored;
  if (MEMORY == 0 || DEPTH < 2) begin : g_registers
    kiln_fifo #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH)
    ) queue (
        .clock,
        .reset,
        .in_valid (push),
        .in_ready (queue_ready),
        .in_data  (push_data),
        .out_valid(valid),
        .out_ready(pop),
        .out_data (data),
        .count    (stored)
    );
  end else begin : g_memory
    kiln_deep_fifo #(
        .WIDTH(WIDTH),
        .DEPTH(DEPTH),
        .STYLE(MEMORY + 1)
    ) queue (
        .clock,
        .reset,
        .in_valid (push),
        .in_ready (queue_ready),
        .in_data  (push_data),
        .out_valid(valid),
        .out_ready(pop),
        .out_data (data),
        .count    (stored)
    );
  end

  assign room = level <= COUNT_BITS'(DEPTH - RESERVE);
  always_ff @(posedge clock) begin
    if (reset) level <= '0;
    else level <= level + (reserve ? COUNT_BITS'(RESERVE) : '0) - COUNT_BITS'(pop);
  end

  if (MEASURE) begin : g_measure
    always_ff @(posedge clock) begin
      if (reset) highest <= '0;
      else if (clear || level > highest) highest <= level;
    end
  end else begin : g_no_measure
    wire unused_clear = clear;
    assign highest = '0;
  end

  // The credits keep the queue from being full when a word is pushed.
  wire unused_state = &{1'b0, queue_ready, stored};

`ifndef SYNTHESIS
  logic [COUNT_BITS-1:0] owed;  // words that are reserved and not pushed
  always_ff @(posedge clock) begin
    if (reset) owed <= '0;
    else owed <= owed + (reserve ? COUNT_BITS'(RESERVE) : '0) - COUNT_BITS'(push);
    if (!reset) begin
`ifdef FORMAL
      // A proof lets producer and consumer do whatever the rules allow.
      assume (!reserve || room);
      assume (!push || reserve || owed != '0);
      assume (!pop || valid);
`else
      reserved_only_with_room : assert (!reserve || room);
      pushed_only_when_reserved : assert (!push || reserve || owed != '0);
      popped_only_when_valid : assert (!pop || valid);
`endif
      no_word_lost : assert (!push || queue_ready);
      level_within_depth : assert (32'(level) <= DEPTH);
      owed_within_level : assert (owed <= level);
      level_counts_stored_and_owed : assert (stored == level - owed);
    end
  end
  if (MEASURE) begin : g_assert
    always_ff @(posedge clock) begin
      if (!reset) begin
        highest_within_depth : assert (32'(highest) <= DEPTH);
        if ($past(!reset && !clear)) highest_grows : assert (highest >= $past(highest));
      end
    end
  end
`endif
endmodule
