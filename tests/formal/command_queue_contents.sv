// module: kiln_command_queue
// properties: order and contents
// sources: systolic/kiln_command_queue.sv systolic/kiln_command_group.sv
// sources: systolic/kiln_command_slice.sv
// parameters: DEPTH=1 DEPTH=2 DEPTH=4
// depth: 14
// induction: no, the words of the memory are not visible outside the module
//
// The solver chooses one pushed command, whose bits and scales are followed to the output.
module proof #(
    parameter int unsigned DEPTH = 4
) (
    input logic       clock,
    input logic       reset,
    input logic       push,
    input logic [3:0] push_command,
    input logic [1:0] push_scales,
    input logic       command_ready,
    input logic       choose
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

  logic [3:0] commands;  // pushed and not taken
  logic following;
  logic [3:0] ahead;  // commands that leave before the one that is followed
  logic [5:0] followed;
  logic begun = 1'b0;
  logic taken;
  assign taken = command_valid && command_ready;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (!begun) assume (reset);
    assume (!push || room);
    if (reset) begin
      commands  <= '0;
      following <= 1'b0;
    end else begin
      commands <= commands + 4'(push) - 4'(taken);
      if (following) begin
        if (taken) ahead <= ahead - 4'd1;
        if (taken && ahead == '0) following <= 1'b0;
      end else if (push && choose) begin
        following <= 1'b1;
        ahead <= commands - 4'(taken);
        followed <= {push_scales, push_command};
      end
      if (following && ahead == '0) begin
        is_not_lost : assert (command_valid);
        comes_out_in_order : assert ({scales, command} == followed);
      end
    end
  end
endmodule
