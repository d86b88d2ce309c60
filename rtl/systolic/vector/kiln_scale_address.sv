// Walks the block scales of one stream of the vector unit beside its elements: kiln_vector_address over the scales' strides, with words that stay
// where they share a scale (same_scale) and go on by WORD_BYTES where they do not. Ports as there.
module kiln_scale_address #(
    parameter int unsigned WORD_BYTES = 1  // scales of a word
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
    stream.word_stride   = 40'(WORD_BYTES);
  end
  wire unused_scales = &{1'b0, command_scales};  // those of windows

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
