// module: kiln_binary_stage
// properties: the queues of results never overflow, a free entry belongs to every result in flight,
// properties: nothing is read before its pixel is complete, an idle stage holds nothing
// sources: binary/kiln_binary_pkg.sv binary/kiln_binary_stage.sv binary/kiln_binary_writer.sv
// sources: binary/kiln_binary_walk.sv binary/kiln_binary_tables.sv binary/kiln_binary_column.sv
// sources: binary/kiln_binary_requantise.sv memory/kiln_fifo.sv memory/kiln_delay.sv
// sources: memory/kiln_pulse_delay.sv memory/kiln_ram_1w.sv arith/kiln_sum_tree.sv
// free: kiln_binary_writer kiln_binary_walk kiln_binary_tables kiln_binary_column
// free: kiln_binary_requantise
// parameters: SHARE=1 SHARE=2 SHARE=4
// probes: take=dut.take next_round=dut.next_round
// probes: ends_pixel=dut.ends_pixel busy=dut.busy buffer=dut.buffer turn=dut.turn
// probes: reading=dut.reading finished=dut.finished ends_late=dut.ends_late
// probes: ends=dut.delay_end.genblk1.g_line.line forwards=dut.forwards emits=dut.emits
// probes: read_line=dut.read_line active=dut.active
// depth: 12
// induction: 2
// All columns share the only requantiser.
module proof #(
    parameter int unsigned SHARE = 1
) (
    input logic        clock,
    input logic        reset,
    input logic        start,
    input logic        message_valid,
    input logic [ 3:0] message_target,
    input logic [ 7:0] message_column,
    input logic [15:0] message_address,
    input logic [63:0] message_data,
    input logic [ 1:0] message_codes,
    input logic        in_valid,
    input logic [ 7:0] in_data,
    input logic        skip_valid,
    input logic [15:0] skip_data,
    input logic        forward_ready,
    input logic        emit_ready
);
  logic idle, in_ready, skips, skip_ready, forward_valid, forward_last, emit_valid;
  logic [11:0] skip_first, skip_last;
  logic [4*SHARE-1:0] forward_data, emit_data;
  kiln_binary_stage #(
      .CHANNELS(2),
      .COLUMNS(SHARE),
      .COLUMNS_PER_REQUANTISER(SHARE),
      .GROUP(1),
      .STEPS(1),
      .ACTIVATION_BITS(4),
      .ACCUMULATOR_BITS(8),
      .COLUMN_DEPTH(2),
      .ROW_WORDS(2),
      .WEIGHT_WORDS(2),
      .BEAT_BITS(16)
  ) dut (.*);

  logic take, ends_pixel, reading, ends_late, forwards, emits;
  logic [1:0] buffer, turn;
  logic [kiln_binary_pkg::ROUND_BITS-1:0] next_round;
  logic [3:0] busy;
  logic [2:0] finished;
  logic [4:0] ends;  // DRAIN - 1 of them
  logic [7+SHARE:0] read_line;
  logic active;

  // Pixels that have a buffer: one whose rounds are under way, those whose last sums are under way,
  // those that can be read, and the one that is read.
  logic in_rounds, takes_first;
  logic [3:0] pixels, drains;
  assign takes_first = take && next_round[kiln_binary_pkg::ROUND_FIRST];
  assign drains = 4'(ends[0]) + 4'(ends[1]) + 4'(ends[2]) + 4'(ends[3]) + 4'(ends[4]) +
      4'(ends_late);
  assign pixels = 4'(in_rounds) + drains + 4'(finished) + 4'(reading);

  logic [3:0] used;
  always_comb begin
    used = '0;
    for (int i = 0; i < 4; i++) if (4'(i) < pixels) used[turn+2'(i)] = 1'b1;
  end

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (begun) assume (!reset);
    // One run with any settings.
    assume (start == (begun && $past(reset)));
    assume (!message_valid || message_target != kiln_binary_pkg::TARGET_SETTINGS);
    // A pixel's rounds begin with a first one and end with a last one.
    assume (!take || next_round[kiln_binary_pkg::ROUND_FIRST] == (!in_rounds || ends_pixel));
    assume (!start || !take);
    if (reset) in_rounds <= 1'b0;
    else in_rounds <= takes_first || (in_rounds && !ends_pixel);
    if (!reset) rounds_of_a_pixel : assert (!active || in_rounds);
    if (!reset) begin
      unused_queues_empty : assert ((forwards || !forward_valid) && (emits || !emit_valid));
    end
    if (!reset && start) quiet_at_start : assert (pixels == '0);
    if (!reset && !start) begin
      // Buffers are in use one after the other: from `turn` on, the last one is `buffer`.
      buffer_of_each_pixel : assert (busy == used);
      last_is_filled : assert (2'(turn + pixels[1:0]) == 2'(buffer + 2'd1));
      most_pixels : assert (pixels <= 4'd4);
    end
    if (!reset && idle && (forwards || emits)) begin
      idle_holds_nothing : assert (!forward_valid && !emit_valid && read_line == '0);
    end
  end
endmodule
