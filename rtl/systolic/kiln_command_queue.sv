// The queue of commands in front of a unit, with the block scales that accompany them (only in
// design points with block scales). A command pushed in cycle t is available to the unit from t + 1
// on.
//
// A command has up to a thousand bits. It is stored in slices, each a queue with places of its own,
// so that the register that selects a word drives few multiplexers.
module kiln_command_queue #(
    parameter int unsigned DEPTH = 4,
    parameter int unsigned COMMAND_BITS = 8,
    parameter int unsigned SCALES_BITS = 8,
    parameter bit SCALES = 1'b0
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    push,
    output logic                    room,  // a function of registers only
    input  logic [COMMAND_BITS-1:0] push_command,
    input  logic [ SCALES_BITS-1:0] push_scales,
    output logic                    command_valid,
    input  logic                    command_ready,
    output logic [COMMAND_BITS-1:0] command,
    output logic [ SCALES_BITS-1:0] scales
);
  localparam int unsigned WIDTH = COMMAND_BITS + (SCALES ? SCALES_BITS : 0);
  localparam int unsigned SLICE_BITS = 64;
  localparam int unsigned SLICES = (WIDTH + SLICE_BITS - 1) / SLICE_BITS;
  localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1);

  logic [WIDTH-1:0] in_data, out_data;
  logic [SLICES-1:0] in_ready, out_valid;
  if (SCALES) begin : g_scales
    assign in_data = {push_scales, push_command};
    assign {scales, command} = out_data;
  end else begin : g_no_scales
    assign in_data = push_command;
    assign command = out_data;
    assign scales = '0;
    wire unused_scales = &{1'b0, push_scales};
  end

  for (genvar i = 0; i < SLICES; i++) begin : g_slice
    localparam int unsigned BITS = i + 1 < SLICES ? SLICE_BITS : WIDTH - i * SLICE_BITS;
    logic [COUNT_BITS-1:0] unused_count;
    kiln_fifo #(
        .WIDTH(BITS),
        .DEPTH(DEPTH)
    ) queue (
        .clock,
        .reset,
        .in_valid (push),
        .in_ready (in_ready[i]),
        .in_data  (in_data[i*SLICE_BITS+:BITS]),
        .out_valid(out_valid[i]),
        .out_ready(command_ready),
        .out_data (out_data[i*SLICE_BITS+:BITS]),
        .count    (unused_count)
    );
  end
  assign room = in_ready[0];
  assign command_valid = out_valid[0];
  wire unused_copies = &{1'b0, in_ready, out_valid};  // the slices have the same number of words

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      push_into_room : assert (!push || room);
      slices_move_together : assert (in_ready == {SLICES{room}} &&
                                     out_valid == {SLICES{command_valid}});
    end
  end
`endif
endmodule
