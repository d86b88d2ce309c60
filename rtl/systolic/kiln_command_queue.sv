// The queue of commands in front of a unit, with the block scales that accompany them (only in
// design points with block scales). A command pushed in cycle t is available to the unit from t + 1
// on.
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
  localparam int unsigned COUNT_BITS = $clog2(DEPTH + 1);
  logic [COUNT_BITS-1:0] unused_count;
  if (SCALES) begin : g_scales
    kiln_fifo #(
        .WIDTH(COMMAND_BITS + SCALES_BITS),
        .DEPTH(DEPTH)
    ) queue (
        .clock,
        .reset,
        .in_valid (push),
        .in_ready (room),
        .in_data  ({push_command, push_scales}),
        .out_valid(command_valid),
        .out_ready(command_ready),
        .out_data ({command, scales}),
        .count    (unused_count)
    );
  end else begin : g_no_scales
    kiln_fifo #(
        .WIDTH(COMMAND_BITS),
        .DEPTH(DEPTH)
    ) queue (
        .clock,
        .reset,
        .in_valid (push),
        .in_ready (room),
        .in_data  (push_command),
        .out_valid(command_valid),
        .out_ready(command_ready),
        .out_data (command),
        .count    (unused_count)
    );
    assign scales = '0;
    wire unused_scales = &{1'b0, push_scales};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      push_into_room : assert (!push || room);
    end
  end
`endif
endmodule
