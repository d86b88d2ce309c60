// Walks the addresses of the block scales of one stream of the vector unit, in step with its
// elements. Uses kiln_vector_address with the strides of the scales: the address stays the same for
// words that share a scale (same_scale), and otherwise advances by WORD_BYTES from word to word.
// The ports are those of kiln_vector_address.
module kiln_scale_address #(
    parameter int unsigned WORD_BYTES = 1  // bytes of the scales of a word
) (
    input  logic clock,
    input  kiln_systolic_pkg::stream_scales_t command_scales,
    input  logic windowed,
    input  logic fresh,
    input  logic step,
    input  logic [2:0] kind,
    input  logic [1:0] level,
    input  logic keep_tile,
    input  logic keep_row,
    input  logic keep_block,
    input  logic together,
    input  logic keep_column,
    input  logic same_scale,
    output logic [kiln_systolic_pkg::ADDRESS_BITS-1:0] address
);
  kiln_systolic_pkg::stream_t stream;
  always_comb begin
    stream               = '0;
    stream.base          = command_scales.base;
    stream.outer_stride0 = command_scales.outer_stride0;
    stream.outer_stride1 = command_scales.outer_stride1;
    stream.outer_stride2 = command_scales.outer_stride2;
    stream.outer_stride3 = command_scales.outer_stride3;
    stream.word_stride   = kiln_systolic_pkg::ADDRESS_BITS'(WORD_BYTES);
  end
  wire unused_scales = &{1'b0, command_scales};  // the members of windows

  kiln_vector_address #(
      .BLOCKS(1'b1)
  ) walk (
      .clock,
      .command_stream(stream),
      .windowed,
      .fresh,
      .step,
      .kind,
      .level,
      .keep_tile,
      .keep_row,
      .keep_block,
      .together,
      .keep_column,
      .same_scale,
      .address
  );
endmodule
