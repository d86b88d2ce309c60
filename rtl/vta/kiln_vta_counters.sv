// The event counters of a launch (targets/vta/isa/counters.def), 32 bits each.
//   add          increments of this cycle: COUNTERS numbers of INCREMENT_BITS, in the order of the
//                counters
//   clear        sets all counters to zero
//   count        enables counting; while it is low the counters hold their values
//   read_value   the value of counter number read_counter, in the same cycle; 0 if that counter
//                does not exist
module kiln_vta_counters #(
    parameter int unsigned COUNTERS = 30,
    parameter int unsigned INCREMENT_BITS = 13,
    localparam int unsigned NUMBER_BITS = 10
) (
    input  logic                               clock,
    input  logic                               clear,
    input  logic                               count,
    input  logic [COUNTERS*INCREMENT_BITS-1:0] add,
    input  logic [            NUMBER_BITS-1:0] read_counter,
    output logic [                       31:0] read_value
);
  logic [COUNTERS*32-1:0] values;
  for (genvar i = 0; i < COUNTERS; i++) begin : g_counter
    always_ff @(posedge clock) begin
      if (clear) values[i*32+:32] <= '0;
      else if (count)
        values[i*32+:32] <= values[i*32+:32] + 32'(add[i*INCREMENT_BITS+:INCREMENT_BITS]);
    end
  end
  always_comb begin
    read_value = '0;
    for (int i = 0; i < COUNTERS; i++) begin
      if (read_counter == NUMBER_BITS'(i)) read_value = values[i*32+:32];
    end
  end
endmodule
