// module: kiln_axi_write_port
// properties: a response and a pulse of done for every request in order, as many beats and LASTs
// properties: as bursts have, stable addresses and data, no overflow, counters
// sources: bus/kiln_axi_write_port.sv bus/kiln_axi_bursts.sv memory/kiln_fifo.sv
// sources: bus/kiln_handshake_checker.sv
// probes: unanswered=dut.pending.count answer_list=dut.pending.contents
// probes: stored=dut.data.count data_list=dut.data.contents busy=dut.busy_beats
// probes: last_tag=dut.last_tag last_strobe_held=dut.last_strobe_held
// probes: rest_valid=dut.bursts.rest_valid rest_beats=dut.bursts.rest_beats
// probes: queued=dut.bursts.queue.count queue_list=dut.bursts.queue.contents
// probes: pushed=dut.bursts.burst_pushed pushed_beats=dut.bursts.burst_beats
// depth: 7
// induction: 2
module proof (
    input logic        clock,
    input logic        reset,
    input logic        request_valid,
    input logic [11:0] request_address,
    input logic [ 3:0] request_bytes,
    input logic [63:0] request_data,
    input logic [ 1:0] request_tag,
    input logic        axi_awready,
    input logic        axi_wready,
    input logic        axi_bvalid,
    input logic [ 1:0] axi_bresp
);
  logic request_ready, done_valid, idle, fault, axi_awvalid, axi_wvalid, axi_wlast, axi_bready;
  logic [1:0] done_tag, axi_awburst;
  logic [1:0] outstanding;
  logic [11:0] axi_awaddr;
  logic [7:0] axi_awlen, axi_wstrb;
  logic [2:0] axi_awsize;
  logic [63:0] axi_wdata;
  kiln_axi_write_port #(
      .ADDRESS_BITS(12),
      .DATA_BYTES(8),
      .MAX_BYTES(8),
      .TAG_BITS(2),
      .OUTSTANDING(2)
  ) dut (.*);

  // The port's queues: {last of its request, tag} of bursts without an answer; {LAST, strobe, data}
  // of beats; {place, length - 1} of bursts that are not on the bus. `busy` beats follow.
  logic [1:0] unanswered, stored, busy, last_tag, queued;
  logic [2*3-1:0] answer_list;
  logic [2*73-1:0] data_list;
  logic [2*17-1:0] queue_list;
  logic [7:0] last_strobe_held;
  logic rest_valid, pushed;
  logic [8:0] rest_beats, pushed_beats;

  // The memory answers a burst when its address and its last beat have come, in order: addresses
  // and ends of bursts without an answer.
  logic [2:0] addresses, ends;
  logic address_taken, beat_taken, answered;
  assign address_taken = axi_awvalid && axi_awready;
  assign beat_taken = axi_wvalid && axi_wready;
  assign answered = axi_bvalid && axi_bready;

  // Beats as lists of bits, the next one lowest, 1 for the last beat of a burst: those that the
  // bursts so far still have to send, by their lengths, and those that the port has.
  logic [3:0] due, port_beats;  // lengths of the lists
  logic [7:0] due_ends, port_ends;
  assign port_beats = 4'(stored) + 4'(busy);
  assign port_ends = 8'(stored > 2'd0 && data_list[72]) | 8'(stored > 2'd1 && data_list[145]) << 1 |
      8'(busy != '0) << stored;
  logic [3:0] due_left;
  logic [7:0] due_ends_left;
  assign due_left = due - 4'(beat_taken);
  assign due_ends_left = beat_taken ? due_ends >> 1 : due_ends;

  // Tags of the requests that are not done, the oldest lowest: of the last bursts of requests.
  logic [7:0] tags;
  logic [2:0] t1, t2, t3, tag_count;
  logic first_last, second_last;
  assign first_last = unanswered > 2'd0 && answer_list[2];
  assign second_last = unanswered > 2'd1 && answer_list[5];
  assign t1 = 3'(done_valid);
  assign t2 = t1 + 3'(first_last);
  assign t3 = t2 + 3'(second_last);
  assign tag_count = t3 + 3'(rest_valid);
  assign tags = (done_valid ? 8'(done_tag) : 8'd0) |
      (first_last ? 8'(answer_list[1:0]) << 2 * t1 : 8'd0) |
      (second_last ? 8'(answer_list[4:3]) << 2 * t2 : 8'd0) |
      (rest_valid ? 8'(last_tag) << 2 * t3 : 8'd0);

  // One request, any, is followed until it is done.
  (* anyseq *) logic choose;
  logic followed;
  logic [2:0] in_flight, ahead;
  logic [1:0] followed_tag;
  logic accepted;
  assign accepted = request_valid && request_ready;

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (request_bytes != '0 && request_bytes <= 4'd8);
    assume (32'(request_address) + 32'(request_bytes) <= 4096);
    assume (!axi_bvalid || (!reset && addresses != '0 && ends != '0));
    if (reset) begin
      {addresses, ends, in_flight, due, due_ends} <= '0;
      followed <= 1'b0;
    end else begin
      addresses <= addresses + 3'(address_taken) - 3'(answered);
      ends      <= ends + 3'(beat_taken && axi_wlast) - 3'(answered);
      // A burst of one beat, or of two.
      due       <= due_left + (pushed ? 4'(pushed_beats) : 4'd0);
      due_ends  <= due_ends_left |
          (pushed ? (pushed_beats == 9'd2 ? 8'd2 : 8'd1) << due_left : 8'd0);
      in_flight <= in_flight + 3'(accepted) - 3'(done_valid);
      if (!followed && accepted && choose) begin
        followed     <= 1'b1;
        ahead        <= in_flight - 3'(done_valid);
        followed_tag <= request_tag;
      end else if (followed && done_valid) begin
        ahead <= ahead - 1'b1;
        if (ahead == '0) followed <= 1'b0;
      end
    end
    if (!reset) begin
      // No beat without a burst, no burst without its beats, and LAST at its end. The second burst
      // of a request that crosses a page may come after its beat.
      beats_of_bursts : assert (port_beats == due + 4'(rest_valid) && port_beats <= 4'd3);
      last_ends_burst : assert (port_ends == (due_ends | 8'(rest_valid) << due));
      ends_with_last : assert (port_beats == '0 || port_ends[3'(port_beats - 4'd1)]);
      no_beat_without_request : assert (!axi_wvalid || outstanding != '0);
      no_address_without_request : assert (!axi_awvalid || outstanding != '0);
      bursts_of_two_at_most : assert (!pushed || (pushed_beats != '0 && pushed_beats <= 9'd2));
      one_beat_in_rest : assert (!rest_valid || rest_beats == 9'd1);
      one_beat_waits : assert (busy <= 2'd1);
      waiting_beat_has_bytes : assert (busy == '0 || last_strobe_held[0]);
      first_within_page : assert (queued == 2'd0 ||
          32'(queue_list[15:8]) + 32'(queue_list[7:0]) < 256);
      second_within_page : assert (queued < 2'd2 ||
          32'(queue_list[32:25]) + 32'(queue_list[24:17]) < 256);

      // Every burst has its address and its end on the bus or in the port until it is answered.
      addresses_of_bursts : assert (4'(unanswered) == 4'(queued) + 4'(addresses));
      ends_of_bursts : assert (4'(unanswered) + 4'(rest_valid) == 4'(ends) +
          4'(port_ends[0]) + 4'(port_ends[1]) + 4'(port_ends[2]));
      answers_have_bursts : assert (!axi_bvalid || unanswered != '0);

      // A request has one burst or two.
      newest_is_last : assert (unanswered == '0 ||
          (unanswered == 2'd1 ? first_last : second_last) == !rest_valid);
      one_of_two_is_last : assert (unanswered != 2'd2 || first_last || second_last);
      tags_of_requests : assert (tag_count == in_flight);
      outstanding_counts_requests : assert (3'(outstanding) == in_flight);
      idle_exactly_without_requests : assert (idle == (in_flight == '0));
      answered_when_idle : assert (!idle || (addresses == '0 && ends == '0));
      if (followed) begin
        followed_in_flight : assert (ahead < in_flight);
        right_tag_in_queue : assert (tags[2*ahead[1:0]+:2] == followed_tag);
        if (ahead == '0 && done_valid) right_tag : assert (done_tag == followed_tag);
      end
      if (begun && $past(!reset && answered && axi_bresp[1])) errors_are_reported : assert (fault);
      if (begun && fault && $past(!fault && !reset)) begin
        no_fault_without_error : assert ($past(answered && axi_bresp[1]));
      end
    end
  end
endmodule
