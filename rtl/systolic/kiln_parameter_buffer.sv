// The channel parameters of the block that is being drained: offset, scale and bias of every
// channel, as they are stored in memory (int32, fp32, fp32), with one word of ARRAY_COLUMNS
// channels for each column tile of the block.
//   write       One array (write_array: 0 offset, 1 scale, 2 bias) of one column tile in the cycle
//               of write_enable; readable from the next cycle on.
//   read        Address in cycle t, all three arrays from t + 1 on until the next read.
//
// Lanes beyond a tile's valid channels are undefined. Tokens between parameter fetch and vector
// unit, not this module, decide which of them may write or read.
module kiln_parameter_buffer #(
    parameter int unsigned ARRAY_COLUMNS = 8,
    parameter int unsigned WORDS = 32,  // the most column tiles of a block
    localparam int unsigned ADDRESS_BITS = WORDS > 1 ? $clog2(WORDS) : 1,  // derived, do not set
    localparam int unsigned WORD_BITS = ARRAY_COLUMNS * 32
) (
    input  logic                    clock,
    // From parameter fetch.
    input  logic                    write_enable,
    input  logic [             1:0] write_array,
    input  logic [ADDRESS_BITS-1:0] write_address,
    input  logic [   WORD_BITS-1:0] write_data,
    // To the vector unit.
    input  logic                    read_enable,
    input  logic [ADDRESS_BITS-1:0] read_address,
    output logic [   WORD_BITS-1:0] read_offset,
    output logic [   WORD_BITS-1:0] read_scale,
    output logic [   WORD_BITS-1:0] read_bias
);
  logic [3*WORD_BITS-1:0] read_data;
  assign {read_bias, read_scale, read_offset} = read_data;
  for (genvar i = 0; i < 3; i++) begin : g_array
    kiln_ram_1w #(
        .WIDTH(WORD_BITS),
        .WORDS(WORDS)
    ) memory (
        .clock,
        .write_enable(write_enable && write_array == 2'(i)),
        .write_address,
        .write_data,
        .read_enable,
        .read_address,
        .read_data(read_data[i*WORD_BITS+:WORD_BITS])
    );
  end
endmodule
