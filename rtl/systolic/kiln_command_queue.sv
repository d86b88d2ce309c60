// The queue of commands in front of a unit, with the block scales that accompany them (only in
// design points with block scales). A command pushed in cycle t is available to the unit from t + 1
// on.
//
// A command has up to three thousand bits. It is stored in slices, each with places of its own, so
// that the register that selects a word drives few multiplexers.
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
  if (SCALES) begin : g_scales
    assign in_data = {push_scales, push_command};
    assign {scales, command} = out_data;
  end else begin : g_no_scales
    assign in_data = push_command;
    assign command = out_data;
    assign scales = '0;
    wire unused_scales = &{1'b0, push_scales};
  end

  logic [COUNT_BITS-1:0] count;
  logic pop;
  assign room          = count != COUNT_BITS'(DEPTH);
  assign command_valid = count != '0;
  assign pop           = command_valid && command_ready;
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
