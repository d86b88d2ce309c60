// module: kiln_read_share
// properties: each unit gets the words of its requests in order with its tags, no request is lost
// properties: or answered twice, priority
// sources: bus/kiln_read_share.sv memory/kiln_fifo.sv
// probes: pending_list=port.contents a_list=a_requests.contents b_list=b_requests.contents
// depth: 8
// induction: 2
module proof (
    input logic       clock,
    input logic       reset,
    input logic       a_request_valid,
    input logic [1:0] a_request_address,
    input logic       a_request_bytes,
    input logic [1:0] a_request_tag,
    input logic       a_word_ready,
    input logic       b_request_valid,
    input logic [1:0] b_request_address,
    input logic       b_request_bytes,
    input logic       b_request_tag,
    input logic       b_word_ready,
    input logic       accepts,  // the port has room, as far as the queue below has any
    input logic       answers   // the word of the oldest request is there
);
  localparam int unsigned DEPTH = 2;
  logic a_request_ready, a_word_valid, b_request_ready, b_word_valid;
  logic [2:0] a_word_data, b_word_data, word_data;
  logic [1:0] a_word_tag;
  logic b_word_tag;
  logic request_valid, request_ready, word_valid, word_ready, request_bytes;
  logic [1:0] request_address;
  logic [2:0] request_tag, word_tag;
  kiln_read_share #(
      .ADDRESS_BITS(2),
      .BYTES_BITS(1),
      .WORD_BITS(3),
      .A_TAG_BITS(2),
      .B_TAG_BITS(1)
  ) dut (.*);

  // The port answers requests in order; a word is its request's address and length.
  logic port_room, port_valid;
  logic [1:0] pending, a_pending, b_pending;
  logic [DEPTH*6-1:0] pending_list;  // {tag, word}
  logic [DEPTH*5-1:0] a_list;
  logic [DEPTH*4-1:0] b_list;
  assign request_ready = port_room && accepts;
  assign word_valid = port_valid && answers;
  kiln_fifo #(
      .WIDTH(6),
      .DEPTH(DEPTH)
  ) port (
      .clock,
      .reset,
      .in_valid(request_valid && accepts),
      .in_ready(port_room),
      .in_data({request_tag, request_address, request_bytes}),
      .out_valid(port_valid),
      .out_ready(word_ready && answers),
      .out_data({word_tag, word_data}),
      .count(pending)
  );

  // What each unit expects.
  logic a_room, b_room, a_expects, b_expects;
  logic [4:0] a_expected;
  logic [3:0] b_expected;
  kiln_fifo #(
      .WIDTH(5),
      .DEPTH(DEPTH)
  ) a_requests (
      .clock,
      .reset,
      .in_valid(a_request_valid && a_request_ready),
      .in_ready(a_room),
      .in_data({a_request_tag, a_request_address, a_request_bytes}),
      .out_valid(a_expects),
      .out_ready(a_word_valid && a_word_ready),
      .out_data(a_expected),
      .count(a_pending)
  );
  kiln_fifo #(
      .WIDTH(4),
      .DEPTH(DEPTH)
  ) b_requests (
      .clock,
      .reset,
      .in_valid(b_request_valid && b_request_ready),
      .in_ready(b_room),
      .in_data({b_request_tag, b_request_address, b_request_bytes}),
      .out_valid(b_expects),
      .out_ready(b_word_valid && b_word_ready),
      .out_data(b_expected),
      .count(b_pending)
  );

  // Request i of the port is request a_before[i] of unit a or request b_before[i] of unit b.
  logic [DEPTH-1:0] of_a, of_b, alike;
  logic [2*(DEPTH+1)-1:0] a_before, b_before;
  assign a_before[1:0] = '0;
  assign b_before[1:0] = '0;
  for (genvar i = 0; i < DEPTH; i++) begin : g_request
    assign of_a[i] = 32'(pending) > i && !pending_list[i*6+5];
    assign of_b[i] = 32'(pending) > i && pending_list[i*6+5];
    assign a_before[2*i+2+:2] = a_before[2*i+:2] + 2'(of_a[i]);
    assign b_before[2*i+2+:2] = b_before[2*i+:2] + 2'(of_b[i]);
    assign alike[i] = (!of_a[i] ||
            (a_before[2*i+:2] == 2'd0 && pending_list[i*6+:5] == a_list[4:0]) ||
            (a_before[2*i+:2] == 2'd1 && pending_list[i*6+:5] == a_list[9:5])) &&
        (!of_b[i] ||
            (b_before[2*i+:2] == 2'd0 && pending_list[i*6+:5] == {1'b0, b_list[3:0]}) ||
            (b_before[2*i+:2] == 2'd1 && pending_list[i*6+:5] == {1'b0, b_list[7:4]}));
  end

  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    if (!reset) begin
      requests_alike : assert (alike == '1);
      no_request_lost : assert (a_before[2*DEPTH+:2] == a_pending &&
          b_before[2*DEPTH+:2] == b_pending);
      no_request_without_room : assert ((a_room || !a_request_valid || !a_request_ready) &&
          (b_room || !b_request_valid || !b_request_ready));
      a_word_of_request : assert (!a_word_valid ||
          (a_expects && {a_word_tag, a_word_data} == a_expected));
      b_word_of_request : assert (!b_word_valid ||
          (b_expects && {b_word_tag, b_word_data} == b_expected));
      a_goes_first : assert (!a_request_valid || (a_request_ready == request_ready &&
          !b_request_ready));
      b_is_not_held_up : assert (a_request_valid || b_request_ready == request_ready);
    end
  end
endmodule
