// What an FPGA must build in a certain way: seven multipliers of one DSP each, five of LUTs, a
// memory of constants in block memory and one in LUTs, and channels in block memory and UltraRAM.
module synthesis_bench #(
    parameter int unsigned MULTIPLIER_BITS = 27,
    parameter int unsigned LARGE_MEMORY = 2
) (
    input  logic         clock,
    input  logic         reset,
    input  logic [ 15:0] in,
    input  logic [ 31:0] weights,
    output logic [383:0] products,
    input  logic [  8:0] address,
    output logic [ 15:0] block_constant,
    output logic [  7:0] lut_constant,
    input  logic [ 71:0] word,
    input  logic         push,
    input  logic         pop,
    output logic [143:0] words
);
`define MULTIPLIER(i, x, is_signed, w, pack, luts) \
  kiln_dataflow_multiplier #( \
      .IN_BITS(x), \
      .IN_SIGNED(is_signed), \
      .WEIGHT_BITS(w), \
      .PACK(pack), \
      .MULTIPLIER_BITS(MULTIPLIER_BITS), \
      .LUT_PRODUCTS(luts) \
  ) multiplier``i ( \
      .clock, \
      .weights(weights[pack*w-1:0]), \
      .in(in[x-1:0]), \
      .products(products[i*32+:pack*(x+w)]) \
  );
  // With a DSP each.
  `MULTIPLIER(0, 8, 1'b1, 8, 1, 1'b0)
  `MULTIPLIER(1, 8, 1'b1, 8, 2, 1'b0)
  `MULTIPLIER(2, 8, 1'b0, 8, 2, 1'b0)
  `MULTIPLIER(3, 4, 1'b1, 4, 4, 1'b0)
  `MULTIPLIER(4, 4, 1'b0, 4, 4, 1'b0)
  `MULTIPLIER(5, 16, 1'b0, 16, 1, 1'b0)
  `MULTIPLIER(6, 7, 1'b0, 6, 1, 1'b0)
  // Without.
  `MULTIPLIER(7, 8, 1'b1, 1, 1, 1'b0)
  `MULTIPLIER(8, 8, 1'b0, 2, 1, 1'b0)
  `MULTIPLIER(9, 1, 1'b0, 8, 1, 1'b0)
  `MULTIPLIER(10, 2, 1'b1, 8, 1, 1'b0)
  `MULTIPLIER(11, 6, 1'b0, 6, 1, 1'b1)
`undef MULTIPLIER

  kiln_dataflow_rom #(
      .WIDTH(16),
      .DEPTH(512),
      .FILE("block.hex"),
      .MEMORY(1)
  ) block_rom (
      .clock,
      .read_enable(1'b1),
      .read_address(address),
      .read_data(block_constant)
  );
  kiln_dataflow_rom #(
      .WIDTH(8),
      .DEPTH(64),
      .FILE("lut.hex"),
      .MEMORY(0)
  ) lut_rom (
      .clock,
      .read_enable(1'b1),
      .read_address(address[5:0]),
      .read_data(lut_constant)
  );
  for (genvar i = 0; i < 2; i++) begin : g_channel
    kiln_dataflow_channel #(
        .WIDTH(72),
        .DEPTH(i == 0 ? 512 : 2048),
        .MEMORY(i == 0 ? 1 : LARGE_MEMORY)
    ) channel (
        .clock,
        .reset,
        .room(),
        .reserve(push),
        .push,
        .push_data(word),
        .valid(),
        .data(words[i*72+:72]),
        .pop,
        .clear(1'b0),
        .level(),
        .highest()
    );
  end
endmodule
