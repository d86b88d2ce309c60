// The links that leave a tile: the registers between its result and the tiles that receive it.
//   valid, thread  of the tile's result in this fabric cycle; bit i of `valid`: the result drives
//                  link i. Links are in the order of their offsets, -REACH to -1 and 1 to REACH
//   out_valid      bit i: the message that arrives at the far end of link i in this fabric cycle. A
//                  link of distance h takes h fabric cycles.
//   out_thread     word h - 1: the threads of messages that arrive over the links of distance h
//   out_next       word h - 1: the data of messages that arrive over them in the next fabric cycle
//                  (the delay line at the far end stores them one cycle ahead)
//   advance        a fabric cycle; registers keep their values in other cycles
// All links carry the same result, so they share its registers; only the valid bits differ.
module kiln_cgra_link #(
    parameter int unsigned WIDTH = 64,  // bits of a message's data
    parameter int unsigned THREAD_BITS = 5,
    parameter int unsigned REACH = 2
) (
    input  logic                         clock,
    input  logic                         advance,
    input  logic                         clear,
    input  logic [          2*REACH-1:0] valid,
    input  logic [      THREAD_BITS-1:0] thread,
    input  logic [            WIDTH-1:0] data,
    output logic [          2*REACH-1:0] out_valid,
    output logic [REACH*THREAD_BITS-1:0] out_thread,
    output logic [      REACH*WIDTH-1:0] out_next
);
  assign out_next[WIDTH-1:0] = data;
  for (genvar h = 1; h <= REACH; h++) begin : g_distance
    logic [THREAD_BITS-1:0] thread_before, thread_now;
    if (h == 1) begin : g_first
      assign thread_before = thread;
    end else begin : g_later
      logic [WIDTH-1:0] data_now;
      assign thread_before = out_thread[(h-2)*THREAD_BITS+:THREAD_BITS];
      always_ff @(posedge clock) begin
        if (advance) data_now <= out_next[(h-2)*WIDTH+:WIDTH];
      end
      assign out_next[(h-1)*WIDTH+:WIDTH] = data_now;
    end
    always_ff @(posedge clock) begin
      if (advance) thread_now <= thread_before;
    end
    assign out_thread[(h-1)*THREAD_BITS+:THREAD_BITS] = thread_now;

    // The links to the left and to the right of this distance.
    logic [2*h-1:0] line, line_next;
    if (h == 1) begin : g_short
      assign line_next = {valid[REACH], valid[REACH-1]};
    end else begin : g_long
      assign line_next = {line[2*h-3:0], valid[REACH+h-1], valid[REACH-h]};
    end
    always_ff @(posedge clock) begin
      if (clear) line <= '0;
      else if (advance) line <= line_next;
    end
    assign out_valid[REACH-h] = line[2*h-2];
    assign out_valid[REACH+h-1] = line[2*h-1];
  end

`ifndef SYNTHESIS
  logic was_clear = 1'b0;
  always_ff @(posedge clock) begin
    was_clear <= clear;
    if (was_clear) quiet_after_clear : assert (out_valid == '0);
  end
`endif
endmodule
