// A function of one code by a table: each lane looks up its code in a memory of its own.
//   in_*, out_*  the consumer's side of the input channel and the producer's side of the output
//              channel
//   time       pops a word in cycle t if there is one and there is room, and pushes the result in
//              t + 1
//   contents   FILE has 2^IN_BITS codes of OUT_BITS; the code's bits, as an unsigned number, are
//              the address
module kiln_dataflow_table #(
    parameter int unsigned LANES = 1,
    parameter int unsigned IN_BITS = 8,
    parameter int unsigned OUT_BITS = 8,
    parameter FILE = "",
    parameter int unsigned MEMORY = 0,  // 0 LUTs, 1 block memory
    localparam int unsigned IN_WIDTH = LANES * IN_BITS,  // derived, do not set
    localparam int unsigned OUT_WIDTH = LANES * OUT_BITS  // derived, do not set
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 in_valid,
    input  logic [ IN_WIDTH-1:0] in_data,
    output logic                 in_pop,
    input  logic                 out_room,
    output logic                 out_reserve,
    output logic                 out_push,
    output logic [OUT_WIDTH-1:0] out_data
);
  assign in_pop = in_valid && out_room;
  assign out_reserve = in_pop;
  for (genvar l = 0; l < LANES; l++) begin : g_lane
    kiln_dataflow_rom #(
        .WIDTH(OUT_BITS),
        .DEPTH(1 << IN_BITS),
        .FILE(FILE),
        .MEMORY(MEMORY)
    ) rom (
        .clock,
        .read_enable(in_pop),
        .read_address(in_data[l*IN_BITS+:IN_BITS]),
        .read_data(out_data[l*OUT_BITS+:OUT_BITS])
    );
  end
  always_ff @(posedge clock) out_push <= in_pop && !reset;
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) reserved_only_with_room : assert (!out_reserve || out_room);
  end
`endif
endmodule
