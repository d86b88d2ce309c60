// Joins FACTOR narrow words to one wide word, the first one in the lowest lanes. Pops a narrow word
// per cycle; the last one of a wide word needs room, and pushes the wide word in the same cycle.
module kiln_dataflow_widen #(
    parameter int unsigned WIDTH = 8,  // bits of a narrow word
    parameter int unsigned FACTOR = 2  // at least 2
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    in_valid,
    input  logic [       WIDTH-1:0] in_data,
    output logic                    in_pop,
    input  logic                    out_room,
    output logic                    out_reserve,
    output logic                    out_push,
    output logic [FACTOR*WIDTH-1:0] out_data
);
  localparam int unsigned COUNT_BITS = $clog2(FACTOR);
  localparam int unsigned HELD_WIDTH = (FACTOR - 1) * WIDTH;
  logic [COUNT_BITS-1:0] count;
  logic [HELD_WIDTH-1:0] held;
  logic last;
  assign last = count == COUNT_BITS'(FACTOR - 1);
  assign in_pop = in_valid && (!last || out_room);
  assign out_push = in_pop && last;
  assign out_reserve = out_push;
  assign out_data = {in_data, held};
  always_ff @(posedge clock) begin
    if (reset) count <= '0;
    else if (in_pop) count <= last ? '0 : count + 1'b1;
    if (in_pop) held <= out_data[FACTOR*WIDTH-1:WIDTH];
  end
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      count_in_range : assert (32'(count) < FACTOR);
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
