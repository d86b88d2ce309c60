// Channels of several depths, memories and reservations; slot i of the ports belongs to channel i.
`define CHANNEL(i, depth, memory, reserved) \
  logic [$clog2(depth + 1)-1:0] level``i, highest``i; \
  assign level[i*8+:8] = 8'(level``i); \
  assign highest[i*8+:8] = 8'(highest``i); \
  kiln_dataflow_channel #( \
      .WIDTH(8), \
      .DEPTH(depth), \
      .MEMORY(memory), \
      .RESERVE(reserved), \
      .MEASURE(1'b1) \
  ) channel``i ( \
      .clock, \
      .reset, \
      .room(room[i]), \
      .reserve(reserve[i]), \
      .push(push[i]), \
      .push_data(push_data[i*8+:8]), \
      .valid(valid[i]), \
      .data(data[i*8+:8]), \
      .pop(pop[i]), \
      .clear(clear[i]), \
      .level(level``i), \
      .highest(highest``i) \
  );
module channel_bench #(
    localparam int unsigned CHANNELS = 7
) (
    input  logic                  clock,
    input  logic                  reset,
    output logic [  CHANNELS-1:0] room,
    input  logic [  CHANNELS-1:0] reserve,
    input  logic [  CHANNELS-1:0] push,
    input  logic [CHANNELS*8-1:0] push_data,
    output logic [  CHANNELS-1:0] valid,
    output logic [CHANNELS*8-1:0] data,
    input  logic [  CHANNELS-1:0] pop,
    input  logic [  CHANNELS-1:0] clear,
    output logic [CHANNELS*8-1:0] level,
    output logic [CHANNELS*8-1:0] highest
);
  `CHANNEL(0, 1, 0, 1)
  `CHANNEL(1, 2, 0, 1)
  `CHANNEL(2, 3, 0, 2)
  `CHANNEL(3, 2, 1, 1)
  `CHANNEL(4, 5, 1, 3)
  `CHANNEL(5, 7, 0, 7)
  `CHANNEL(6, 16, 2, 4)
endmodule
`undef CHANNEL
