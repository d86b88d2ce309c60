// The queue of commands in front of a unit, with the block scales that accompany them (only in
// design points with block scales). A command pushed in cycle t is available to the unit from t + 1
// on.
//
// A command has up to three thousand bits. They are divided into groups (kiln_command_group), so
// that the register that selects a command and the signal that takes it drive few loads each.
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
  localparam int unsigned GROUP_BITS = 512;
  localparam int unsigned GROUPS = (WIDTH + GROUP_BITS - 1) / GROUP_BITS;

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

  logic [GROUPS-1:0] rooms, valids;
  assign room = rooms[0];
  assign command_valid = valids[0];
  wire unused_copies = &{1'b0, rooms, valids};
  for (genvar i = 0; i < GROUPS; i++) begin : g_group
    localparam int unsigned BITS = i + 1 < GROUPS ? GROUP_BITS : WIDTH - i * GROUP_BITS;
    kiln_command_group #(
        .WIDTH(BITS),
        .DEPTH(DEPTH)
    ) group (
        .clock,
        .reset,
        .push,
        .room    (rooms[i]),
        .in_data (in_data[i*GROUP_BITS+:BITS]),
        .valid   (valids[i]),
        .ready   (command_ready),
        .out_data(out_data[i*GROUP_BITS+:BITS])
    );
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      groups_agree : assert (rooms == {GROUPS{room}} && valids == {GROUPS{command_valid}});
    end
  end
`endif
endmodule
