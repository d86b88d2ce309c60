// module: kiln_axi_read_port
// properties: a word for every request in order, as many beats and bursts' ends as requests have,
// properties: stable addresses and words, no overflow
// sources: bus/kiln_axi_read_port.sv bus/kiln_axi_bursts.sv memory/kiln_fifo.sv
// sources: bus/kiln_handshake_checker.sv
// probes: words=dut.g_registers.pending.count word_list=dut.g_registers.pending.contents beat=dut.beat
// probes: rest_valid=dut.bursts.rest_valid rest_beats=dut.bursts.rest_beats
// probes: queued=dut.bursts.queue.count queue_list=dut.bursts.queue.contents
// depth: 7
// induction: 2
module proof (
    input logic        clock,
    input logic        reset,
    input logic        request_valid,
    input logic [11:0] request_address,
    input logic [ 3:0] request_bytes,
    input logic [ 1:0] request_tag,
    input logic        word_ready,
    input logic        axi_arready,
    input logic        axi_rvalid,
    input logic [63:0] axi_rdata,
    input logic [ 1:0] axi_rresp
);
  logic request_ready, word_valid, idle, fault, axi_arvalid, axi_rready, axi_rlast;
  logic [63:0] word_data;
  logic [1:0] word_tag, axi_arburst;
  logic [11:0] axi_araddr;
  logic [7:0] axi_arlen;
  logic [2:0] axi_arsize;
  kiln_axi_read_port #(
      .ADDRESS_BITS(12),
      .DATA_BYTES(8),
      .MAX_BYTES(8),
      .TAG_BITS(2),
      .OUTSTANDING(2)
  ) dut (.*);

  // The port's queues: {null, offset, last beat, tag} of pending words; {place, length - 1} of
  // bursts that are not on the bus.
  logic [1:0] words, beat, queued;
  logic [2*8-1:0] word_list;
  logic [2*17-1:0] queue_list;
  logic rest_valid;
  logic [8:0] rest_beats;

  // A memory that answers bursts in order, with stalls: beats left - 1 of up to four bursts, the
  // oldest lowest.
  logic [3:0] bursts, bursts_left;
  logic [2:0] count, count_left;
  logic taken, burst_ends, address_taken;
  assign taken = axi_rvalid && axi_rready;
  assign axi_rlast = !bursts[0];
  assign burst_ends = taken && axi_rlast;
  assign bursts_left = burst_ends ? bursts >> 1 : taken ? {bursts[3:1], 1'b0} : bursts;
  assign count_left = count - 3'(burst_ends);
  assign address_taken = axi_arvalid && axi_arready;

  // Beats as lists of bits, the next beat lowest: 1 for the last beat of a request or of a burst.
  // One list is that of the pending words, the other that of the bursts of the memory, of the queue
  // and of the rest of a run.
  logic [1:0] beats0, beats1;  // of the pending words
  assign beats0 = words == 2'd0 || word_list[7] ? 2'd0 : word_list[3:2] + 2'd1 - beat;
  assign beats1 = words < 2'd2 || word_list[15] ? 2'd0 : word_list[11:10] + 2'd1;
  function automatic logic [7:0] ends(input logic [1:0] beats);
    ends = beats == 2'd0 ? 8'd0 : beats == 2'd1 ? 8'd1 : 8'd2;
  endfunction
  logic [7:0] request_ends;
  logic [3:0] request_beats;
  assign request_ends = ends(beats0) | ends(beats1) << beats0;
  assign request_beats = 4'(beats0) + 4'(beats1);

  logic [1:0] b0, b1, b2, b3, b4, b5;  // beats of the memory's bursts and of the queue's
  assign b0 = count > 3'd0 ? 2'd1 + 2'(bursts[0]) : 2'd0;
  assign b1 = count > 3'd1 ? 2'd1 + 2'(bursts[1]) : 2'd0;
  assign b2 = count > 3'd2 ? 2'd1 + 2'(bursts[2]) : 2'd0;
  assign b3 = count > 3'd3 ? 2'd1 + 2'(bursts[3]) : 2'd0;
  assign b4 = queued > 2'd0 ? 2'd1 + 2'(queue_list[0]) : 2'd0;
  assign b5 = queued > 2'd1 ? 2'd1 + 2'(queue_list[17]) : 2'd0;
  logic [3:0] s1, s2, s3, s4, s5, s6, burst_beats;
  assign s1 = 4'(b0);
  assign s2 = s1 + 4'(b1);
  assign s3 = s2 + 4'(b2);
  assign s4 = s3 + 4'(b3);
  assign s5 = s4 + 4'(b4);
  assign s6 = s5 + 4'(b5);
  assign burst_beats = s6 + 4'(rest_valid);
  logic [7:0] burst_end_list;
  assign burst_end_list = ends(b0) | ends(b1) << s1 | ends(b2) << s2 | ends(b3) << s3 |
      ends(b4) << s4 | ends(b5) << s5 | 8'(rest_valid) << s6;

  // One request, any, is followed to its word.
  (* anyseq *) logic choose;
  logic followed;
  logic [2:0] in_flight, ahead;
  logic [1:0] followed_tag, place;
  logic accepted, delivered;
  assign accepted = request_valid && request_ready;
  assign delivered = word_valid && word_ready;
  assign place = 2'(ahead - 3'(word_valid));  // among the pending words

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (request_bytes <= 4'd8);
    assume (32'(request_address) + 32'(request_bytes) <= 4096);
    assume (!axi_rvalid || (count != '0 && !reset));
    if (begun && $past(!reset && axi_rvalid && !axi_rready)) begin
      assume (axi_rvalid && $stable(axi_rdata) && $stable(axi_rresp));
    end

    if (reset) begin
      count     <= '0;
      followed  <= 1'b0;
      in_flight <= '0;
    end else begin
      count  <= count_left + 3'(address_taken);
      bursts <= bursts_left;
      if (address_taken) bursts[count_left[1:0]] <= axi_arlen[0];
      in_flight <= in_flight + 3'(accepted) - 3'(delivered);
      if (!followed && accepted && choose) begin
        followed     <= 1'b1;
        ahead        <= in_flight - 3'(delivered);
        followed_tag <= request_tag;
      end else if (followed && delivered) begin
        ahead <= ahead - 1'b1;
        if (ahead == '0) followed <= 1'b0;
      end
    end

    if (!reset) begin
      // Neither a beat without a request nor a request without its beats; requests end with bursts.
      beats_of_requests : assert (burst_beats == request_beats && request_beats <= 4'd4);
      requests_end_with_bursts : assert ((request_ends & ~burst_end_list) == '0);
      memory_holds_bursts : assert (count <= 3'd4);
      short_bursts : assert (!axi_arvalid || axi_arlen <= 8'd1);
      first_length : assert (queued == 2'd0 || queue_list[7:0] <= 8'd1);
      second_length : assert (queued < 2'd2 || queue_list[24:17] <= 8'd1);
      first_within_page : assert (queued == 2'd0 ||
          32'(queue_list[15:8]) + 32'(queue_list[7:0]) < 256);
      second_within_page : assert (queued < 2'd2 ||
          32'(queue_list[32:25]) + 32'(queue_list[24:17]) < 256);
      one_beat_in_rest : assert (!rest_valid || rest_beats == 9'd1);
      first_beats : assert (words == 2'd0 || word_list[7] || word_list[3:2] <= 2'd1);
      second_beats : assert (words < 2'd2 || word_list[15] || word_list[11:10] <= 2'd1);
      no_beat_of_a_null_word : assert (beat == '0 || (words != '0 && !word_list[7] &&
          beat <= word_list[3:2]));
      data_for_a_request : assert (!axi_rvalid || request_beats != '0);

      in_flight_is_in_the_queue : assert (in_flight == 3'(words) + 3'(word_valid));
      idle_exactly_without_requests : assert (idle == (in_flight == '0));
      if (followed) begin
        followed_in_flight : assert (ahead < in_flight);
        if (ahead == '0 && word_valid) right_tag : assert (word_tag == followed_tag);
        else right_tag_in_queue : assert (word_list[8*place+:2] == followed_tag);
      end
      if (begun && $past(!reset && taken && axi_rresp[1])) begin
        errors_are_reported : assert (fault);
      end
      if (begun && fault && $past(!fault && !reset)) begin
        no_fault_without_error : assert ($past(taken && axi_rresp[1]));
      end
    end
  end
endmodule
