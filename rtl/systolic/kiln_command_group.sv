// A part of a kiln_command_queue: the commands' bits in slices, controlled by a counter of its own.
// A queue's groups have the same number of commands. A signal to all of a queue's slices would be a
// net of hundreds of loads: it goes to the groups, and from a gate in each to the group's slices.
module kiln_command_group #(
    parameter int unsigned WIDTH = 512,
    parameter int unsigned DEPTH = 4
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             push,
    output logic             room,
    input  logic [WIDTH-1:0] in_data,
    output logic             valid,
    input  logic             ready,
    output logic [WIDTH-1:0] out_data
);
  localparam int unsigned SLICE_BITS = 64;
  localparam int unsigned SLICES = (WIDTH + SLICE_BITS - 1) / SLICE_BITS;
  localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1);

  logic [COUNT_BITS-1:0] count;
  logic pop;
  assign room  = count != COUNT_BITS'(DEPTH);
  assign valid = count != '0;
  assign pop   = valid && ready;
  always_ff @(posedge clock) begin
    if (reset) count <= '0;
    else count <= count + COUNT_BITS'(push) - COUNT_BITS'(pop);
  end
  for (genvar i = 0; i < SLICES; i++) begin : g_slice
    localparam int unsigned BITS = i + 1 < SLICES ? SLICE_BITS : WIDTH - i * SLICE_BITS;
    kiln_command_slice #(
        .WIDTH(BITS),
        .DEPTH(DEPTH)
    ) slice (
        .clock,
        .reset,
        .push,
        .pop,
        .in_data (in_data[i*SLICE_BITS+:BITS]),
        .out_data(out_data[i*SLICE_BITS+:BITS])
    );
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      push_into_room : assert (!push || room);
      count_within_depth : assert (32'(count) <= DEPTH);
    end
  end
`endif
endmodule
