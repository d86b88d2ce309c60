// module: kiln_cgra_outputs
// properties: no queue overflows although results come up to two cycles after the last space,
// properties: results leave in order, those of threads before first_sent only are dropped
// sources: cgra/kiln_cgra_outputs.sv memory/kiln_deep_fifo.sv memory/kiln_ram_1w.sv
// sources: bus/kiln_axi_stream_register.sv bus/kiln_handshake_checker.sv
// probes: count0=dut.g_output[0].queue.count count1=dut.g_output[1].queue.count
// probes: pushed0=dut.g_output[0].pushed pushed1=dut.g_output[1].pushed
// probes: words0=dut.g_output[0].queue.storage.contents
// probes: words1=dut.g_output[1].queue.storage.contents
// probes: read0=dut.g_output[0].queue.read_place read1=dut.g_output[1].queue.read_place
// probes: data0=dut.g_output[0].queue.out_data data1=dut.g_output[1].queue.out_data
// probes: followed0=dut.g_output[0].queue.followed followed1=dut.g_output[1].queue.followed
// probes: place0=dut.g_output[0].queue.followed_place place1=dut.g_output[1].queue.followed_place
// probes: word0=dut.g_output[0].queue.followed_word word1=dut.g_output[1].queue.followed_word
// probes: thread=dut.thread place=dut.place skid_valid=dut.sink.skid_valid
// depth: 8
// induction: 2
module proof (
    input logic        clock,
    input logic        reset,
    input logic [ 1:0] result_valid,
    input logic [ 5:0] result_output,
    input logic [63:0] result_data,
    input logic        out_tready
);
  localparam int unsigned DEPTH = 5;
  // One run, of any length.
  (* anyconst *) logic [31:0] threads;
  (* anyconst *) logic [31:0] first_sent;
  (* anyconst *) logic [3:0] outputs;
  logic start, space, collected, out_tvalid;
  logic [31:0] out_tdata;
  kiln_cgra_outputs #(
      .TILES(2),
      .LANES(1),
      .OUTPUTS(2),
      .DEPTH(DEPTH)
  ) dut (.*);

  logic [2:0] count0, count1, place;
  logic pushed0, pushed1, skid_valid;
  logic [31:0] thread;

  // The queues' memories, and the words that the queues' own proofs follow.
  logic [32*DEPTH-1:0] words0, words1;
  logic [2:0] read0, read1, place0, place1;
  logic [31:0] data0, data1, word0, word1;
  logic followed0, followed1;

  // Entries of the queues that are in use in the next cycle, if nothing leaves.
  logic [31:0] used0, used1;
  assign used0 = 32'(count0) + 32'(pushed0);
  assign used1 = 32'(count1) + 32'(pushed1);

  // Results of each output that have come, and beats that have left.
  logic [31:0] come0, come1, beats, rest;
  logic beat_leaves;
  logic [31:0] sent_threads;
  logic space1, space2, started;
  logic come0_now, come1_now;
  assign come0_now = (result_valid[0] && result_output[2:0] == 3'd0) ||
      (result_valid[1] && result_output[5:3] == 3'd0);
  assign come1_now = (result_valid[0] && result_output[2:0] == 3'd1) ||
      (result_valid[1] && result_output[5:3] == 3'd1);
  assign sent_threads = thread >= first_sent ? thread - first_sent : '0;
  // Beats that are sent, if `thread` and `place` are the next result.
  assign rest = thread < first_sent ? '0 :
      outputs == 4'd1 ? sent_threads : (sent_threads << 1) + 32'(place);
  assign beat_leaves = out_tvalid && out_tready;

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (begun) assume (!reset);
    assume (outputs == 4'd1 || outputs == 4'd2);
    // At most one tile has a result for an output, and results are of the run's outputs.
    assume (result_valid != '1 || result_output[2:0] != result_output[5:3]);
    assume (!result_valid[0] || 4'(result_output[2:0]) < outputs);
    assume (!result_valid[1] || 4'(result_output[5:3]) < outputs);
    // In the fabric a result comes two cycles after the cycle that has seen space.
    assume (result_valid == '0 || (started && (space || space1 || space2)));
    assume (!reset || result_valid == '0);
    if (reset) begin
      {space1, space2, started} <= '0;
      {come0, come1, beats} <= '0;
    end else begin
      space1  <= space;
      space2  <= space1;
      started <= 1'b1;
      come0   <= come0 + 32'(come0_now);
      come1   <= come1 + 32'(come1_now);
      beats   <= beats + 32'(beat_leaves);
    end
    if (!reset) begin
      oldest_at_output : assert ((count0 == '0 || data0 == words0[32'(read0)*32+:32]) &&
          (count1 == '0 || data1 == words1[32'(read1)*32+:32]));
      followed_stored : assert ((!followed0 || words0[32'(place0)*32+:32] == word0) &&
          (!followed1 || words1[32'(place1)*32+:32] == word1));
    end
    if (!reset && !started) begin
      empty_after_reset : assert (used0 == 0 && used1 == 0 && !out_tvalid && !skid_valid &&
          {come0, come1, beats} == '0);
    end
    if (!reset && started) begin
      within_depth : assert (used0 <= DEPTH && used1 <= DEPTH);
      after_space : assert (!space1 || (used0 <= DEPTH - 2 && used1 <= DEPTH - 2));
      two_after_space : assert (!space2 || (used0 <= DEPTH - 1 && used1 <= DEPTH - 1));
      space_is_reserved : assert (space == (32'(count0) <= DEPTH - 4 && 32'(count1) <= DEPTH - 4));
      // Results that have come are in the queue or have left in the order of threads and outputs.
      results_of_first : assert (come0 == thread + (place > 3'd0 ? 32'd1 : 32'd0) + used0);
      results_of_second : assert (outputs == 4'd1 || come1 == thread + used1);
      place_of_an_output_too : assert (4'(place) < outputs);
      threads_within : assert (thread <= threads);
      all_are_collected : assert (collected == (thread == threads));
      beats_of_results : assert (beats + 32'(out_tvalid) + 32'(skid_valid) == rest);
    end
  end
  assign start = !reset && !started;
endmodule
