// Walks the addresses of one stream of the vector unit, word by word, without a multiplier.
//   address    The address of the current word's first element: a function of registers, the stream
//              and `fresh`.
//   step       The current word is done; kind and level say which word is next, from the next cycle
//              on.
//   fresh      The current word is the instruction's first, and every register's value is the
//              stream's base.
//
// Vector instructions: a register per outer loop holds the address at which the loop's current
// iteration began. Copies of these registers hold the addresses at which the group of rows began,
// to which the next pass returns.
//
// Drains: the walk over a block yields the addresses at which later blocks begin. The tile to the
// right begins at the end of the block's first row of pixels, the tile below at the end of its last
// row, and the next block at the end of its last column tile; `keep_*` say which of these addresses
// the order of work will need (at the step that ends that row, column tile or block). If the column
// tiles of a scale block leave together, pixel by pixel (BLOCKS, `together`), the last of them at
// the first pixel yields the address at which the next ones begin (keep_column).
//
// The walk along the scales of a stream is the same, except that the address stays the same after a
// word whose successor has the same scale (same_scale).
module kiln_vector_address #(
    parameter bit BLOCKS = 1'b0
) (
    input  logic                                                clock,
    input  kiln_systolic_pkg::stream_t                          command_stream,
    // Outer loops 1 and 2 belong to the window.
    input  logic                                                windowed,
    input  logic                                                fresh,
    input  logic                                                step,
    // One of kiln_vector_pkg::STEP_*.
    input  logic                       [                   2:0] kind,
    input  logic                       [                   1:0] level,
    input  logic                                                keep_tile,
    input  logic                                                keep_row,
    input  logic                                                keep_block,
    // Used if BLOCKS.
    input  logic                                                together,
    input  logic                                                keep_column,
    input  logic                                                same_scale,
    output logic                       [kiln_systolic_pkg::ADDRESS_BITS-1:0] address
);
  localparam int unsigned BITS = kiln_systolic_pkg::ADDRESS_BITS;

  // `word`: the current word. `loop`: the addresses at which the current iterations of the outer
  // loops began (drain: 0: the batch; 1: the pixel, if together; 2: the column tile; 3: the row of
  // pixels). `mark`: those of the group's first row (drain: 0: the next column tiles, if together;
  // 1: the tile row below; 2: the tile to the right; 3: the next block).
  logic [BITS-1:0] word, loop0, loop1, loop2, loop3, mark0, mark1, mark2, mark3;
  logic [BITS-1:0] word_now, loop0_now, loop1_now, loop2_now, loop3_now, mark0_now, mark1_now,
      mark2_now, mark3_now;
  logic [BITS-1:0] word_next, loop0_next, loop1_next, loop2_next, loop3_next, mark0_next,
      mark1_next, mark2_next, mark3_next;

  assign word_now  = fresh ? command_stream.base : word;
  assign loop0_now = fresh ? command_stream.base : loop0;
  assign loop1_now = fresh ? command_stream.base : loop1;
  assign loop2_now = fresh ? command_stream.base : loop2;
  assign loop3_now = fresh ? command_stream.base : loop3;
  assign mark0_now = fresh ? command_stream.base : mark0;
  assign mark1_now = fresh ? command_stream.base : mark1;
  assign mark2_now = fresh ? command_stream.base : mark2;
  assign mark3_now = fresh ? command_stream.base : mark3;
  assign address   = word_now;

  logic joined;
  logic [BITS-1:0] word_stride, pixel_now;
  assign joined      = BLOCKS && together;
  assign word_stride = BLOCKS && same_scale ? '0 : command_stream.word_stride;
  assign pixel_now   = joined ? loop1_now : word_now;
  wire unused_blocks = &{1'b0, together, keep_column, same_scale};

  always_comb begin
    word_next  = word_now;
    loop0_next = loop0_now;
    loop1_next = loop1_now;
    loop2_next = loop2_now;
    loop3_next = loop3_now;
    mark0_next = mark0_now;
    mark1_next = mark1_now;
    mark2_next = mark2_now;
    mark3_next = mark3_now;
    if (step) begin
      if (BLOCKS && keep_column) mark0_next = word_now + word_stride;
      if (keep_tile) mark2_next = pixel_now + command_stream.outer_stride2;
      if (keep_row) mark1_next = loop3_now + command_stream.outer_stride1;
      if (keep_block) mark3_next = joined ? mark0_next : loop2_now + word_stride;
      case (kind)
        kiln_vector_pkg::STEP_WORD: word_next = word_now + word_stride;
        kiln_vector_pkg::STEP_ROW, kiln_vector_pkg::STEP_GROUP: begin
          case (level)
            2'd0: word_next = loop0_now + command_stream.outer_stride0;
            2'd1: word_next = windowed ? loop1_now : loop1_now + command_stream.outer_stride1;
            2'd2: word_next = windowed ? loop2_now : loop2_now + command_stream.outer_stride2;
            default: word_next = loop3_now + command_stream.outer_stride3;
          endcase
          if (level == 2'd0) loop0_next = word_next;
          if (level <= 2'd1) loop1_next = word_next;
          if (level <= 2'd2) loop2_next = word_next;
          loop3_next = word_next;
          if (kind == kiln_vector_pkg::STEP_GROUP) begin
            mark0_next = loop0_next;
            mark1_next = loop1_next;
            mark2_next = loop2_next;
            mark3_next = loop3_next;
          end
        end
        kiln_vector_pkg::STEP_PASS: begin
          word_next  = mark3_now;
          loop0_next = mark0_now;
          loop1_next = mark1_now;
          loop2_next = mark2_now;
          loop3_next = mark3_now;
        end
        kiln_vector_pkg::STEP_PIXEL: begin
          word_next = pixel_now + command_stream.outer_stride2;
          if (BLOCKS) loop1_next = word_next;
        end
        kiln_vector_pkg::STEP_PIXEL_ROW: begin
          word_next  = loop3_now + command_stream.outer_stride1;
          loop3_next = word_next;
          if (BLOCKS) loop1_next = word_next;
        end
        kiln_vector_pkg::STEP_COLUMN: begin
          word_next  = joined ? mark0_next : loop2_now + word_stride;
          loop2_next = word_next;
          loop3_next = word_next;
          if (BLOCKS) loop1_next = word_next;
        end
        default: begin
          case (level)
            kiln_vector_pkg::LEVEL_BATCH: begin
              word_next  = loop0_now + command_stream.outer_stride0;
              loop0_next = word_next;
            end
            kiln_vector_pkg::LEVEL_TILE_ROW: word_next = mark1_next;
            kiln_vector_pkg::LEVEL_TILE: word_next = mark2_next;
            default: word_next = mark3_next;
          endcase
          loop2_next = word_next;
          loop3_next = word_next;
          if (BLOCKS) loop1_next = word_next;
        end
      endcase
    end
  end

  always_ff @(posedge clock) begin
    if (step) begin
      word  <= word_next;
      loop0 <= loop0_next;
      loop1 <= loop1_next;
      loop2 <= loop2_next;
      loop3 <= loop3_next;
      mark0 <= mark0_next;
      mark1 <= mark1_next;
      mark2 <= mark2_next;
      mark3 <= mark3_next;
    end
  end
endmodule
