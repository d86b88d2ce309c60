// Convolution stages for the netlist that Yosys makes. Their weights are streamed and their other
// constants zero, because a netlist holds the files of constants that were there when it was made.
module window_netlist_bench #(
    localparam int unsigned STAGES = 2,
    localparam int unsigned PARAMETERS = 34
) (
    input  logic                            clock,
    input  logic                            reset,
    input  logic [              STAGES-1:0] in_valid,
    input  logic [           STAGES*64-1:0] in_data,
    output logic [              STAGES-1:0] in_pop,
    input  logic [              STAGES-1:0] weights_valid,
    input  logic [          STAGES*320-1:0] weights_data,
    output logic [              STAGES-1:0] weights_pop,
    input  logic [              STAGES-1:0] out_room,
    output logic [              STAGES-1:0] out_reserve,
    output logic [              STAGES-1:0] out_push,
    output logic [           STAGES*64-1:0] out_data,
    output logic [STAGES*PARAMETERS*32-1:0] parameters
);
  window_case #(
      .FILES(1'b0), .NUMBER(0), .H(5), .W(6), .OH(3), .OW(5), .SY(2), .PT(1), .PL(2), .DX(2), .G(2),
      .LANES(2), .IG(2), .OG(2), .OUTPUTS(2), .RESULT_LANES(1), .PACK(2), .WAY(0), .OUT_BITS(24),
      .WEIGHT_BITS(7), .STREAMED(1'b1)
  ) stage0 (
      .clock,
      .reset,
      .in_valid(in_valid[0]),
      .in_data(in_data[63:0]),
      .in_pop(in_pop[0]),
      .weights_valid(weights_valid[0]),
      .weights_data(weights_data[319:0]),
      .weights_pop(weights_pop[0]),
      .out_room(out_room[0]),
      .out_reserve(out_reserve[0]),
      .out_push(out_push[0]),
      .out_data(out_data[63:0]),
      .parameters(parameters[PARAMETERS*32-1:0])
  );
  window_case #(
      .FILES(1'b0), .NUMBER(1), .H(3), .W(3), .OH(2), .OW(2), .KY(1), .KX(1), .SY(2), .SX(2),
      .IG(3), .OG(2), .OUTPUTS(4), .RESULT_LANES(2), .IN_BITS(4), .IN_SIGNED(1'b0),
      .WEIGHT_BITS(4), .PACK(4), .WAY(0), .OUT_BITS(16), .STREAMED(1'b1)
  ) stage1 (
      .clock,
      .reset,
      .in_valid(in_valid[1]),
      .in_data(in_data[127:64]),
      .in_pop(in_pop[1]),
      .weights_valid(weights_valid[1]),
      .weights_data(weights_data[639:320]),
      .weights_pop(weights_pop[1]),
      .out_room(out_room[1]),
      .out_reserve(out_reserve[1]),
      .out_push(out_push[1]),
      .out_data(out_data[127:64]),
      .parameters(parameters[2*PARAMETERS*32-1:PARAMETERS*32])
  );
endmodule
