// Walks the addresses of one stream of the vector unit, word by word, without a multiplier.
//   address    The address of the current word's first element: a function of registers, the stream
//              and `fresh`.
//   step       The current word is done; kind and level say which word is next, from the next cycle
//              on.
//   fresh      The current word is the instruction's first, and every register counts as the
//              stream's base until it is written.
//
// Vector instructions: a register per outer loop holds the address at which the loop's current
// iteration began. Copies of these registers hold the addresses at which the group of rows began,
// to which the next pass returns.
//
// Drains: the walk over a block yields the addresses at which later blocks begin. The tile to the
// right begins a stride after the last pixel of the block's first row, the tile below a stride
// after its last row, and the next block a stride after its last column tile; `keep_*` say which of
// these addresses the order of work will need (at the step that ends that row, column tile or
// block). If the column tiles of a scale block leave together, pixel by pixel (BLOCKS, `together`),
// the next ones begin a stride after the last of them at the first pixel (keep_column).
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
  // pixels). `mark`: those of the group's first row (drain: the addresses to which a stride is
  // added when the order of work comes back to them: 0: the last of the column tiles that leave
  // together; 1: the tile's last row of pixels; 2: the last pixel of the tile's first row; 3: the
  // block's last column tile).
  logic [BITS-1:0] word, loop0, loop1, loop2, loop3, mark0, mark1, mark2, mark3;
  // Whether they have been written since the instruction's first word: until then their value is
  // the stream's base.
  logic loop0_set, loop1_set, loop2_set, loop3_set, mark0_set, mark1_set, mark2_set, mark3_set;
  assign address = fresh ? command_stream.base : word;

  logic joined, word_set;
  logic [BITS-1:0] word_stride;
  assign joined      = BLOCKS && together;
  assign word_set    = !fresh;
  assign word_stride = BLOCKS && same_scale ? '0 : command_stream.word_stride;
  wire unused_blocks = &{1'b0, together, keep_column, same_scale};
  // The addresses that a drain adds a stride to, which this cycle may be the one to keep.
  localparam int unsigned PLACE = BITS + 1;  // an address, and above it whether it is set
  logic [PLACE-1:0] pixel, columns, tile_row, tile, block;
  assign pixel    = joined ? {loop1_set, loop1} : {word_set, word};
  assign columns  = !joined ? {loop2_set, loop2} : keep_column ? {word_set, word} :
      {mark0_set, mark0};
  assign tile_row = keep_row ? {loop3_set, loop3} : {mark1_set, mark1};
  assign tile     = keep_tile ? pixel : {mark2_set, mark2};
  assign block    = keep_block ? columns : {mark3_set, mark3};

  // The next word's address is one sum for all kinds of steps.
  logic [PLACE-1:0] place;
  logic [BITS-1:0] from, stride, next;
  always_comb begin
    place  = {word_set, word};
    stride = word_stride;
    case (kind)
      kiln_vector_pkg::STEP_WORD: ;
      kiln_vector_pkg::STEP_ROW, kiln_vector_pkg::STEP_GROUP: begin
        case (level)
          2'd0: place = {loop0_set, loop0};
          2'd1: place = {loop1_set, loop1};
          2'd2: place = {loop2_set, loop2};
          default: place = {loop3_set, loop3};
        endcase
        case (level)
          2'd0: stride = command_stream.outer_stride0;
          2'd1: stride = windowed ? '0 : command_stream.outer_stride1;
          2'd2: stride = windowed ? '0 : command_stream.outer_stride2;
          default: stride = command_stream.outer_stride3;
        endcase
      end
      kiln_vector_pkg::STEP_PASS: begin
        place  = {mark3_set, mark3};
        stride = '0;
      end
      kiln_vector_pkg::STEP_PIXEL: begin
        place  = pixel;
        stride = command_stream.outer_stride2;
      end
      kiln_vector_pkg::STEP_PIXEL_ROW: begin
        place  = {loop3_set, loop3};
        stride = command_stream.outer_stride1;
      end
      kiln_vector_pkg::STEP_COLUMN: place = columns;
      default: begin
        case (level)
          kiln_vector_pkg::LEVEL_BATCH: begin
            place  = {loop0_set, loop0};
            stride = command_stream.outer_stride0;
          end
          kiln_vector_pkg::LEVEL_TILE_ROW: begin
            place  = tile_row;
            stride = command_stream.outer_stride1;
          end
          kiln_vector_pkg::LEVEL_TILE: begin
            place  = tile;
            stride = command_stream.outer_stride2;
          end
          default: place = block;
        endcase
      end
    endcase
  end
  assign from = place[BITS] && !fresh ? place[BITS-1:0] : command_stream.base;
  assign next = from + stride;

  // Which registers take the next word's address.
  logic rows, groups, passes, begins_block, begins_column, begins_row;
  logic to_loop0, to_loop1, to_loop2, to_loop3;
  assign groups        = kind == kiln_vector_pkg::STEP_GROUP;
  assign rows          = groups || kind == kiln_vector_pkg::STEP_ROW;
  assign passes        = kind == kiln_vector_pkg::STEP_PASS;
  assign begins_block  = kind == kiln_vector_pkg::STEP_BLOCK;
  assign begins_column = begins_block || kind == kiln_vector_pkg::STEP_COLUMN;
  assign begins_row    = begins_column || kind == kiln_vector_pkg::STEP_PIXEL_ROW;
  assign to_loop0      = rows ? level == 2'd0 :
      begins_block && level == kiln_vector_pkg::LEVEL_BATCH;
  assign to_loop1      = rows ? level <= 2'd1 :
      BLOCKS && (begins_row || kind == kiln_vector_pkg::STEP_PIXEL);
  assign to_loop2      = rows ? level <= 2'd2 : begins_column;
  assign to_loop3      = rows || passes || begins_row;

  always_ff @(posedge clock) begin
    if (step) begin
      word <= next;
      if (fresh) begin
        {loop0_set, loop1_set, loop2_set, loop3_set} <= '0;
        {mark0_set, mark1_set, mark2_set, mark3_set} <= '0;
      end else begin
        if (passes) begin
          {loop0_set, loop0} <= {mark0_set, mark0};
          {loop1_set, loop1} <= {mark1_set, mark1};
          {loop2_set, loop2} <= {mark2_set, mark2};
        end
        if (groups) begin
          {mark0_set, mark0} <= {loop0_set, loop0};
          {mark1_set, mark1} <= {loop1_set, loop1};
          {mark2_set, mark2} <= {loop2_set, loop2};
        end
        if (BLOCKS && keep_column) {mark0_set, mark0} <= {word_set, word};
        if (keep_row) {mark1_set, mark1} <= {loop3_set, loop3};
        if (keep_tile) {mark2_set, mark2} <= pixel;
        if (keep_block) {mark3_set, mark3} <= columns;
      end
      if (to_loop0) {loop0_set, loop0} <= {1'b1, next};
      if (to_loop1) {loop1_set, loop1} <= {1'b1, next};
      if (to_loop2) {loop2_set, loop2} <= {1'b1, next};
      if (to_loop3) {loop3_set, loop3} <= {1'b1, next};
      if (groups) begin
        if (to_loop0) {mark0_set, mark0} <= {1'b1, next};
        if (to_loop1) {mark1_set, mark1} <= {1'b1, next};
        if (to_loop2) {mark2_set, mark2} <= {1'b1, next};
        {mark3_set, mark3} <= {1'b1, next};
      end
    end
  end
endmodule
