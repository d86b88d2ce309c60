// Divides a wide word into FACTOR narrow words, the lowest lanes first. Pushes a narrow word per
// cycle if the wide word is there and there is room, and pops the wide word with its last part.
module kiln_dataflow_narrow #(
    parameter int unsigned WIDTH = 8,  // bits of a narrow word
    parameter int unsigned FACTOR = 2  // at least 2
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    in_valid,
    input  logic [FACTOR*WIDTH-1:0] in_data,
    output logic                    in_pop,
    input  logic                    out_room,
    output logic                    out_reserve,
    output logic                    out_push,
    output logic [       WIDTH-1:0] out_data
);
  logic [FACTOR-1:0] part;  // one-hot
  assign out_push = in_valid && out_room;
  assign out_reserve = out_push;
  assign in_pop = out_push && part[FACTOR-1];
  always_comb begin
    out_data = '0;
    for (int i = 0; i < FACTOR; i++)
      out_data = out_data | (part[i] ? in_data[i*WIDTH+:WIDTH] : '0);
  end
  always_ff @(posedge clock) begin
    if (reset) part <= FACTOR'(1);
    else if (out_push) part <= {part[FACTOR-2:0], part[FACTOR-1]};
  end
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_part : assert ($onehot(part));
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
