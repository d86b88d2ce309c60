// module: kiln_command_queue
// properties: room is a credit: no command is lost or made up
// sources: systolic/kiln_command_queue.sv systolic/kiln_command_group.sv
// sources: systolic/kiln_command_slice.sv
// parameters: DEPTH=2 DEPTH=4
// depth: 12
// induction: 2
// probes: count=dut.g_group[0].group.count
module proof #(
    parameter int unsigned DEPTH = 4
) (
    input logic       clock,
    input logic       reset,
    input logic       push,
    input logic [3:0] push_command,
    input logic [1:0] push_scales,
    input logic       command_ready
);
  logic room, command_valid;
  logic [3:0] command;
  logic [1:0] scales;
  kiln_command_queue #(
      .DEPTH(DEPTH),
      .COMMAND_BITS(4),
      .SCALES_BITS(2),
      .SCALES(1'b1)
  ) dut (.*);

  wire [$clog2(DEPTH+1)-1:0] count;
  logic [3:0] commands;  // pushed and not taken
  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (!push || room);
    if (reset) commands <= '0;
    else commands <= commands + 4'(push) - 4'(command_valid && command_ready);
    if (!reset) begin
      count_of_commands : assert (commands == 4'(count));
      within_depth : assert (32'(commands) <= DEPTH);
      if (commands == '0) nothing_without_push : assert (!command_valid);
    end
  end
endmodule
