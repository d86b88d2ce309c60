// A small machine of stages and channels, from AXI4-Stream to AXI4-Stream: a convolution of 3 x 3,
// a fork, a pointwise convolution beside a shortcut, their sum, and a maximum pool. Words have one
// lane at the input (4 x 4 x 2 codes of 8 bits) and two lanes behind the first convolution (4
// channels).
//   levels   of the channels in the order of the data, in 8 bits each
module pipeline_bench #(
    localparam int unsigned CHANNELS = 7
) (
    input  logic                  clock,
    input  logic                  reset,
    input  logic                  run,
    input  logic                  in_tvalid,
    output logic                  in_tready,
    input  logic [           7:0] in_tdata,
    output logic                  out_tvalid,
    input  logic                  out_tready,
    output logic [          15:0] out_tdata,
    output logic [CHANNELS*8-1:0] levels
);
`define CHANNEL(name, number, width, depth, memory, reserved) \
  logic name``_room, name``_reserve, name``_push, name``_valid, name``_pop; \
  logic [width-1:0] name``_push_data, name``_data; \
  logic [$clog2(depth + 1)-1:0] name``_level; \
  assign levels[number*8+:8] = 8'(name``_level); \
  kiln_dataflow_channel #( \
      .WIDTH(width), \
      .DEPTH(depth), \
      .MEMORY(memory), \
      .RESERVE(reserved) \
  ) name ( \
      .clock, \
      .reset, \
      .room(name``_room), \
      .reserve(name``_reserve), \
      .push(name``_push), \
      .push_data(name``_push_data), \
      .valid(name``_valid), \
      .data(name``_data), \
      .pop(name``_pop), \
      .clear(1'b0), \
      .level(name``_level), \
      .highest() \
  );
`define IN(name) .in_valid(name``_valid), .in_data(name``_data), .in_pop(name``_pop)
`define OUT(name) \
      .out_room(name``_room), .out_reserve(name``_reserve), .out_push(name``_push), \
      .out_data(name``_push_data)
  `CHANNEL(image, 0, 8, 2, 0, 1)
  `CHANNEL(features, 1, 16, 4, 0, 2)
  `CHANNEL(branch, 2, 16, 2, 0, 1)
  `CHANNEL(shortcut, 3, 16, 24, 1, 1)
  `CHANNEL(mixed, 4, 16, 2, 0, 1)
  `CHANNEL(added, 5, 16, 8, 0, 1)
  `CHANNEL(pooled, 6, 16, 4, 0, 1)
`undef CHANNEL

  kiln_dataflow_source #(
      .WIDTH(8)
  ) source (
      .clock,
      .reset,
      .run,
      .axi_tvalid(in_tvalid),
      .axi_tready(in_tready),
      .axi_tdata(in_tdata),
      `OUT(image)
  );
  kiln_dataflow_convolution #(
      .H(4), .W(4), .OH(4), .OW(4), .KY(3), .KX(3), .PT(1), .PL(1), .LANES(1), .IG(2), .OUTPUTS(4),
      .RESULT_LANES(2), .PACK(2), .SHIFT(25), .WEIGHT_FILE("p0_weights.hex"),
      .CONSTANT_FILE("p0_constants")
  ) extract (
      .clock,
      .reset,
      `IN(image),
      .weights_valid(1'b0),
      .weights_data('0),
      .weights_pop(),
      `OUT(features)
  );
  kiln_dataflow_fork #(
      .WIDTH(16)
  ) copy (
      .clock,
      .reset,
      `IN(features),
      .out_room({shortcut_room, branch_room}),
      .out_reserve({shortcut_reserve, branch_reserve}),
      .out_push({shortcut_push, branch_push}),
      .out_data({shortcut_push_data, branch_push_data})
  );
  kiln_dataflow_convolution #(
      .H(4), .W(4), .OH(4), .OW(4), .KY(1), .KX(1), .PT(0), .PL(0), .LANES(2), .IG(2), .OG(2),
      .OUTPUTS(2), .RESULT_LANES(2), .SHIFT(23), .WEIGHT_FILE("p1_weights.hex"),
      .CONSTANT_FILE("p1_constants")
  ) mix (
      .clock,
      .reset,
      `IN(branch),
      .weights_valid(1'b0),
      .weights_data('0),
      .weights_pop(),
      `OUT(mixed)
  );
  kiln_dataflow_affine #(
      .LANES(2), .INPUTS(2), .M0(3000), .M1(-2500), .C(48'sd2048), .SHIFT(12)
  ) add (
      .clock,
      .reset,
      `IN(mixed),
      .other_valid(shortcut_valid),
      .other_data(shortcut_data),
      .other_pop(shortcut_pop),
      `OUT(added)
  );
  kiln_dataflow_max_pool #(
      .H(4), .W(4), .OH(2), .OW(2), .KY(2), .KX(2), .SY(2), .SX(2), .LANES(2), .CG(2)
  ) pool (
      .clock,
      .reset,
      `IN(added),
      `OUT(pooled)
  );
  kiln_dataflow_sink #(
      .WIDTH(16)
  ) sink (
      .clock,
      .reset,
      `IN(pooled),
      .axi_tvalid(out_tvalid),
      .axi_tready(out_tready),
      .axi_tdata(out_tdata)
  );
`undef IN
`undef OUT
endmodule
