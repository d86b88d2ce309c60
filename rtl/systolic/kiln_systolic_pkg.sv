// The instructions of the systolic family as the units receive them, and the layout of their words.
//
// An instruction is a sequence of instruction words of 16 bytes, called words in this file. A word
// is a number of 128 bits, little-endian in memory. Its fields are, from the most significant bit
// down:
//
//   [127:120] tag      the section that the word belongs to
//   [119:112] index    the number of the word in its section (see below for sections that occur
//                      several times)
//   [111:0]   payload  fields of the section in the order of its struct
//
// A section of n words is a packed struct of n * 112 bits: word 0 is its top 112 bits, and its
// first member the top bits of word 0. No field crosses a word boundary; unused bits at the end of
// a word are `reserved...` and 0. A decoder therefore needs no table of fields: word i of a section
// of n words is the slice [112 * (n - 1 - i) +: 112].
//
// The sections of an instruction have this order; the header says which of them are present:
//
//   tag              index                words  present
//   HEADER           0                    1      always; the only section of `end`
//   TILING           0..                  3      matrix, depthwise
//   REDUCTION        0..                  2      matrix, depthwise
//   REGION           0..                  3      matrix, depthwise
//   INPUT            0..                  8      matrix, depthwise
//   INPUT_SCALES     0..                  6      header.input_blocks
//   WEIGHTS          0..                  3      matrix, depthwise
//   WEIGHT_SCALES    0..                  3      header.weight_blocks
//   PARAMETERS       0                    1      matrix, depthwise
//   VECTOR           0..                  2      matrix, depthwise, vector
//   STREAM           16 * operand + 0..   4      for each operand
//   STREAM_SCALES    16 * operand + 0..   7      after its operand: header.operand_blocks
//   WINDOW           0..                  7      header.window
//   PASS             pass                 1      for each pass ...
//   STAGE            32 * pass + stage    1      ... followed by its stages
//   STAGE            32 * pass + 16 + stage 1    ... and its scalar stages
//   STREAM           48 + 0..             4      the output
//   STREAM_SCALES    48 + 0..             7      header.output_blocks
//
// A member is either a field of the instruction (src/kiln/targets/systolic/isa/isa.h defines it) or
// *derived*: computed by the compiler from the fields, so that no unit divides or multiplies. The
// C++ decoder refuses an instruction with wrong derived members; the hardware trusts them.
//
// Widths. Addresses and strides in bytes have 32 bits and are computed modulo 2^32. Strides are
// signed; derived members may wrap, because addresses are correct modulo 2^32 and memory is not
// larger. Positions in a row of pixels, in bytes, have 31 bits and a sign where taps or a region's
// rows are read in joined runs, which may be partly outside the image.
// Counts have 24 bits, because no loop, image axis, kernel, stride or padding may reach 2^24.
// Products of two counts that a unit needs have 32 bits and are checked to fit. Addresses in a
// buffer bank and the steps between them have 24 bits, modulo 2^24.
//
// Layout of the banks (the same for every pixel tile, including the smaller ones at the edges):
//   input bank         position (py, px) of group g of a fill: word
//                      g * group_pitch + py * row_pitch + px
//   depthwise bank     position (py, px) of column tile t of a fill: word
//                      py * row_pitch + px * groups_per_bank + t
//   accumulation bank  pixel (y, x) of column tile c of a block: word
//                      c * tile_pixels + y * tile_width + x
// The position that holds tap (ky, kx) of pixel (y, x) is at the following address (the pitches and
// steps of depthwise instructions count the words of all column tiles):
//   y * output_row_step + x * output_column_step +
//   ky * (tap_row_step + (kernel_x - 1) * tap_column_step) + kx * tap_column_step
package kiln_systolic_pkg;

  localparam int WORD_BITS = 128;
  localparam int PAYLOAD_BITS = 112;
  localparam int ADDRESS_BITS = 32;
  localparam int COUNT_BITS = 24;
  localparam int INDEX_BITS = 16;  // bits of an instruction's number in the program, modulo 2^16

  // Width of the ports for block scales, which transfer one scale per beat.
  localparam int SCALE_PORT_BYTES = 8;

  localparam int MAX_OPERANDS = 3;
  localparam int MAX_PASSES = 4;
  localparam int MAX_STAGES = 12;  // stages of a pass, and scalar stages of a pass

  // -----------------------------------------------------------------------------------------------
  // Enumerations. Their values are those of isa.h.

  typedef enum logic [7:0] {
    TAG_HEADER = 8'h00,
    TAG_TILING = 8'h01,
    TAG_REDUCTION = 8'h02,
    TAG_REGION = 8'h03,
    TAG_INPUT = 8'h04,
    TAG_INPUT_SCALES = 8'h05,
    TAG_WEIGHTS = 8'h06,
    TAG_WEIGHT_SCALES = 8'h07,
    TAG_PARAMETERS = 8'h08,
    TAG_VECTOR = 8'h09,
    TAG_STREAM = 8'h0a,
    TAG_STREAM_SCALES = 8'h0b,
    TAG_WINDOW = 8'h0c,
    TAG_PASS = 8'h0d,
    TAG_STAGE = 8'h0e
  } tag_t;

  typedef enum logic [7:0] {
    OPCODE_END = 8'd0,
    OPCODE_MATRIX = 8'd1,
    OPCODE_DEPTHWISE = 8'd2,
    OPCODE_VECTOR = 8'd3
  } opcode_t;

  // The codes of the array's further precisions follow those of the first: precision p has
  // ELEMENT_INPUT + 2 p and ELEMENT_WEIGHT + 2 p. Bit 0 distinguishes weights from inputs.
  typedef enum logic [3:0] {
    ELEMENT_INT8 = 4'd0,
    ELEMENT_UINT8 = 4'd1,
    ELEMENT_INT16 = 4'd2,
    ELEMENT_INT32 = 4'd3,
    ELEMENT_FLOAT32 = 4'd4,
    ELEMENT_VECTOR = 4'd5,
    ELEMENT_INPUT = 4'd6,
    ELEMENT_WEIGHT = 4'd7
  } element_t;

  // How the elements of a word are stored; derived from element_stride.
  typedef enum logic [1:0] {
    ACCESS_DENSE = 2'd0,      // one request per word
    ACCESS_BROADCAST = 2'd1,  // element_stride 0: one element for all lanes
    ACCESS_STRIDED = 2'd2     // one request per element
  } access_t;

  typedef enum logic [1:0] {
    COMBINE_NONE = 2'd0,
    COMBINE_MAX = 2'd1,
    COMBINE_SUM = 2'd2
  } combine_t;

  typedef enum logic [1:0] {
    SOURCE_ACCUMULATOR = 2'd0,
    SOURCE_OPERAND0 = 2'd1,
    SOURCE_ROW_BUFFER = 2'd2,
    SOURCE_CONSTANT = 2'd3
  } source_t;

  typedef enum logic [3:0] {
    ARGUMENT_NONE = 4'd0,
    ARGUMENT_IMMEDIATE = 4'd1,
    ARGUMENT_OPERAND0 = 4'd2,
    ARGUMENT_OPERAND1 = 4'd3,
    ARGUMENT_OPERAND2 = 4'd4,
    ARGUMENT_SCALAR0 = 4'd5,
    ARGUMENT_SCALAR1 = 4'd6,
    ARGUMENT_SCALAR2 = 4'd7,
    ARGUMENT_SCALAR3 = 4'd8,
    ARGUMENT_SAVED0 = 4'd9,
    ARGUMENT_SAVED1 = 4'd10
  } argument_t;

  typedef enum logic [3:0] {
    STAGE_ADD = 4'd0,
    STAGE_SUBTRACT = 4'd1,
    STAGE_REVERSE_SUBTRACT = 4'd2,
    STAGE_MULTIPLY = 4'd3,
    STAGE_FMA = 4'd4,
    STAGE_MAX = 4'd5,
    STAGE_MIN = 4'd6,
    STAGE_ABSOLUTE = 4'd7,
    STAGE_SQUARE = 4'd8,
    STAGE_SAVE0 = 4'd9,
    STAGE_SAVE1 = 4'd10,
    STAGE_FUNCTION = 4'd11,
    STAGE_RECIPROCAL = 4'd12,
    STAGE_RECIPROCAL_SQUARE_ROOT = 4'd13,
    STAGE_SELECT_NEGATIVE = 4'd14,
    STAGE_DIVIDE = 4'd15
  } stage_op_t;

  typedef enum logic [3:0] {
    FUNCTION_EXP = 4'd0,
    FUNCTION_SIGMOID = 4'd1,
    FUNCTION_TANH = 4'd2,
    FUNCTION_GELU = 4'd3,
    FUNCTION_GELU_TANH = 4'd4,
    FUNCTION_ERF = 4'd5,
    FUNCTION_SOFTPLUS = 4'd6,
    FUNCTION_SILU = 4'd7,
    FUNCTION_HARD_SIGMOID = 4'd8,
    FUNCTION_HARD_SWISH = 4'd9,
    FUNCTION_LOG = 4'd10,
    FUNCTION_SQRT = 4'd11,
    FUNCTION_ELU = 4'd12
  } function_t;

  typedef enum logic [1:0] {
    REDUCE_NONE = 2'd0,
    REDUCE_SUM = 2'd1,
    REDUCE_MAX = 2'd2
  } reduce_t;

  typedef enum logic {
    PACKING_CHANNELS = 1'b0,
    PACKING_TAPS = 1'b1
  } packing_t;

  typedef enum logic {
    LAYOUT_TILED = 1'b0,
    LAYOUT_STRIDED = 1'b1
  } weight_layout_t;

  typedef enum logic {
    ORDER_INPUT_OUTER = 1'b0,
    ORDER_WEIGHT_OUTER = 1'b1
  } order_t;

  // -----------------------------------------------------------------------------------------------
  // Sections. "last" refers to the last tile, block, group or fill of its axis, which may be
  // smaller than the others.

  localparam int HEADER_WORDS = 1;
  typedef struct packed {
    opcode_t opcode;
    logic [7:0] wait_distance;  // 0: does not wait for an earlier instruction
    logic window;
    logic input_blocks;          // the array's input has block scales
    logic weight_blocks;         // its weights have block scales
    logic [2:0] operand_blocks;  // bit i: operand i has block scales
    logic output_blocks;         // the output has block scales
    logic [1:0] operands;        // number of operands
    logic [2:0] passes;          // 1 to 4
    logic [15:0] length;         // length of the instruction in words, this one included
    logic [31:0] kernel;         // number of the kernel, for traces
    logic user_unit;             // depthwise instructions: runs on the user unit
    logic [1:0] precision;       // matrix: number of the pair of operand formats; otherwise 0
    logic [32:0] reserved0;
  } header_t;

  // The order of work (walk.h, VisitsOf): for batch; for tile, for block (input outer) or for
  // block, for tile (weight outer). Tiles are taken row by row. Used by every unit.
  localparam int TILING_WORDS = 3;
  typedef struct packed {
    // word 0
    logic [23:0] batch;
    logic [23:0] tiles_y;  // derived
    logic [23:0] tiles_x;  // derived
    logic [23:0] blocks;   // derived
    order_t order;
    packing_t packing;
    logic inputs_resident;      // derived: fetched only for the first block of a pixel tile
    logic weights_resident;     // derived: fetched only for the first pixel tile of a block
    // Derived: each batch has its own channel parameters (otherwise they are fetched again only
    // when the block changes).
    logic parameters_by_batch;
    logic [10:0] reserved0;
    // word 1
    logic [23:0] tile_height;
    logic [23:0] tile_width;
    logic [23:0] last_tile_height;  // derived
    logic [23:0] last_tile_width;   // derived
    logic [15:0] reserved1;
    // word 2
    logic [23:0] columns_per_block;   // depthwise: 1, like weight_tiles_per_bank
    // Derived; it may be less than columns_per_block for an only block, too.
    logic [23:0] last_block_columns;
    logic [15:0] last_tile_columns;   // derived: channels of the last column tile, 1 to C
    logic [23:0] tile_pixels;         // derived: tile_height * tile_width
    logic [15:0] visits;              // derived: batch * tiles_y * tiles_x * blocks modulo 2^16
    logic [7:0] reserved2;
  } tiling_t;

  // The reduction: row groups in fills, row tiles in a group. Used by input fetch, weight fetch,
  // weight load, array and depthwise unit.
  localparam int REDUCTION_WORDS = 2;
  typedef struct packed {
    // word 0
    logic [23:0] groups_per_bank;   // depthwise: column tiles of a fill
    logic [23:0] groups;            // derived
    logic [23:0] fills;             // derived: fills of a block; depthwise: of a pixel tile
    logic [23:0] last_fill_groups;  // derived
    logic [15:0] last_group_rows;   // derived: valid codes in the last group, 1 to R
    // word 1
    logic [23:0] weight_tiles_per_bank;
    logic [23:0] kernel_y;
    logic [23:0] kernel_x;
    // Derived: row tiles of a group: kernel_y * kernel_x, or 1 with tap packing.
    logic [23:0] rows_per_group;
    logic [15:0] reserved1;
  } reduction_t;

  // The words of a group in an input bank or a depthwise bank (see the top of this file). With tap
  // packing a position is a pixel; in depthwise instructions whose rows are `joined`, places_x and
  // last_places_x count words. Used by input fetch, array and depthwise unit.
  localparam int REGION_WORDS = 3;
  typedef struct packed {
    // word 0: all derived
    logic [23:0] places_y;
    logic [23:0] places_x;
    logic [23:0] last_places_y;  // of the last tile of the axis
    logic [23:0] last_places_x;
    // Compact: only the rows (columns) that taps touch are fetched, kernel_y of them for every row
    // of pixels; otherwise all rows from the first tap of the first pixel to the last tap of the
    // last pixel. 0 with tap packing.
    logic compact_y;
    logic compact_x;
    logic [13:0] reserved0;
    // word 1: all derived, in words of the bank
    logic [23:0] row_pitch;
    logic [23:0] group_pitch;
    logic [23:0] output_row_step;     // from a row of pixels to the next
    logic [23:0] output_column_step;  // from a pixel to the next
    logic [15:0] reserved1;
    // word 2: all derived
    logic [23:0] tap_row_step;     // from the last tap of a row to the next row's first
    logic [23:0] tap_column_step;  // from a tap to the next one of its row
    // depthwise: cycles per pixel, ceil(taps / multipliers); otherwise 0
    logic [23:0] tap_steps;
    logic [39:0] reserved2;
  } region_t;

  // The input in memory. Used by input fetch. A position of the image has coordinates iy, ix
  // (signed, 32 bits, inside the image if 0 <= iy < height and 0 <= ix < width) and an address; the
  // walk updates both by the same additions:
  //
  //                                  row      address              column   address
  //   first position of tile 0       -pad_top base + row_origin    -pad_left  column_origin
  //   next pixel tile                tile_rows tile_row_stride     tile_columns tile_column_stride
  //   next pixel                     stride_y output_row_stride    stride_x output_column_stride
  //   next tap                       dilation_y tap_row_stride     dilation_x tap_column_stride
  //   next position, not compact     1        row_stride           1        column_stride
  //   next position, compact         next tap, kernel_y of them, then next pixel
  //   next group, channel packing    R codes (depthwise: next fill, groups_per_bank * C codes)
  //
  // With tap packing, entry (ky, kx, c) of pixel (y, x) is stored c codes after tap (ky, kx). If
  // `joined`, the entries of one ky are consecutive in memory, and a row of the image is the
  // row_bytes bytes from base + iy * row_stride on, without gaps, so that a run is cut to the image
  // by comparing addresses.
  localparam int INPUT_WORDS = 8;
  typedef struct packed {
    // word 0
    logic [ADDRESS_BITS-1:0] base;
    logic signed [ADDRESS_BITS-1:0] batch_stride;
    logic [31:0] pad_code;
    logic [15:0] reserved0;
    // word 1
    logic signed [ADDRESS_BITS-1:0] row_stride;
    logic signed [ADDRESS_BITS-1:0] column_stride;
    // derived: entries (ky, kx, c) of one run: (joined ? kernel_x : 1) * channels
    logic [31:0] run_entries;
    logic [15:0] reserved1;
    // word 2: derived
    logic signed [ADDRESS_BITS-1:0] row_origin;     // -pad_top * row_stride
    logic signed [ADDRESS_BITS-1:0] column_origin;  // -pad_left * column_stride
    logic [31:0] tile_rows;             // tile_height * stride_y
    logic [15:0] reserved2;
    // word 3: derived
    logic signed [ADDRESS_BITS-1:0] tile_row_stride;     // tile_rows * row_stride
    logic signed [ADDRESS_BITS-1:0] tile_column_stride;  // tile_columns * column_stride
    logic [31:0] tile_columns;               // tile_width * stride_x
    logic [15:0] reserved3;
    // word 4
    logic signed [ADDRESS_BITS-1:0] output_row_stride;     // derived: stride_y * row_stride
    logic signed [ADDRESS_BITS-1:0] output_column_stride;  // derived: stride_x * column_stride
    logic [23:0] height;
    logic [23:0] reserved4;
    // word 5
    logic signed [ADDRESS_BITS-1:0] tap_row_stride;     // derived: dilation_y * row_stride
    logic signed [ADDRESS_BITS-1:0] tap_column_stride;  // derived: dilation_x * column_stride
    logic [23:0] width;
    logic [23:0] reserved5;
    // word 6
    logic [ADDRESS_BITS-1:0] row_bytes;  // derived: width * column_stride
    logic [23:0] channels;
    logic [23:0] pad_top;
    logic [23:0] pad_left;
    logic [7:0] reserved6;
    // word 7
    logic [23:0] stride_y;
    logic [23:0] stride_x;
    logic [23:0] dilation_y;
    logic [23:0] dilation_x;
    // Derived: dilation_x is 1 and column_stride is the bytes of all channels; depthwise: a row of
    // a region is one run of words (walk.h, joined_rows).
    logic joined;
    logic [14:0] reserved7;
  } input_t;

  // The scales of the input's blocks. Their addresses are walked like those of the input, position
  // by position; the next block's scale follows the current one and is used BLOCK_SIZE / R groups
  // later.
  localparam int INPUT_SCALES_WORDS = 6;
  typedef struct packed {
    // word 0
    logic [ADDRESS_BITS-1:0] base;
    logic signed [ADDRESS_BITS-1:0] batch_stride;
    logic [47:0] reserved0;
    // word 1
    logic signed [ADDRESS_BITS-1:0] row_stride;
    logic signed [ADDRESS_BITS-1:0] column_stride;
    logic [47:0] reserved1;
    // words 2 to 5: derived, as in input_t
    logic signed [ADDRESS_BITS-1:0] row_origin;
    logic signed [ADDRESS_BITS-1:0] column_origin;
    logic [47:0] reserved2;
    logic signed [ADDRESS_BITS-1:0] tile_row_stride;
    logic signed [ADDRESS_BITS-1:0] tile_column_stride;
    logic [47:0] reserved3;
    logic signed [ADDRESS_BITS-1:0] output_row_stride;
    logic signed [ADDRESS_BITS-1:0] output_column_stride;
    logic [47:0] reserved4;
    logic signed [ADDRESS_BITS-1:0] tap_row_stride;
    logic signed [ADDRESS_BITS-1:0] tap_column_stride;
    logic [47:0] reserved5;
  } input_scales_t;

  // The weights in memory. Used by weight fetch. Row tile `tap` of group g for column tile c (of
  // the whole instruction) begins at
  //   base + b * batch_stride + g * group_stride + c * column_tile_stride + tap * bytes of a tile
  //   (strided: one tap only).
  // Tiled: R rows of C codes, dense; depthwise: taps rows of C codes. A code takes whole bytes, or
  // `code_bits` bits from the lowest bit of the row on; the row ends with a byte.
  // Strided: element (k, n) is row_stride * k + column_stride * n bytes after the tile's first
  // element. The first column tile of a block follows the last one of the previous block.
  localparam int WEIGHTS_WORDS = 3;
  typedef struct packed {
    // word 0
    logic [ADDRESS_BITS-1:0] base;
    logic signed [ADDRESS_BITS-1:0] batch_stride;
    weight_layout_t layout;
    // Derived; strided: one request per column (its rows are dense), otherwise one per row.
    logic by_columns;
    logic [2:0] code_bits;  // tiled only; 0: whole bytes
    logic [42:0] reserved0;
    // word 1: strided only
    logic signed [ADDRESS_BITS-1:0] row_stride;
    logic signed [ADDRESS_BITS-1:0] column_stride;
    logic [47:0] reserved1;
    // word 2: derived
    logic signed [ADDRESS_BITS-1:0] group_stride;
    logic signed [ADDRESS_BITS-1:0] column_tile_stride;
    logic [47:0] reserved2;
  } weights_t;

  // The scales of the weights. Tiled: C scales for each row tile and column tile, walked like the
  // tiles. Strided: one scale for each column of a column tile, column_stride apart; the next
  // block's scale is one scale further and is used BLOCK_SIZE / R groups later.
  localparam int WEIGHT_SCALES_WORDS = 3;
  typedef struct packed {
    // word 0
    logic [ADDRESS_BITS-1:0] base;
    logic signed [ADDRESS_BITS-1:0] batch_stride;
    logic [47:0] reserved0;
    // word 1
    logic signed [ADDRESS_BITS-1:0] row_stride;
    logic signed [ADDRESS_BITS-1:0] column_stride;
    logic [47:0] reserved1;
    // word 2: derived
    logic signed [ADDRESS_BITS-1:0] group_stride;  // 0 if strided
    logic signed [ADDRESS_BITS-1:0] column_tile_stride;
    logic [47:0] reserved2;
  } weight_scales_t;

  // Channel parameters: three arrays of out_channels entries of 4 bytes, one after the other. Used
  // by parameter fetch.
  localparam int PARAMETERS_WORDS = 1;
  typedef struct packed {
    logic [ADDRESS_BITS-1:0] base;
    logic signed [ADDRESS_BITS-1:0] batch_stride;
    logic [23:0] out_channels;
    logic [23:0] reserved0;
  } parameters_t;

  // A vector program. In matrix and depthwise instructions, the outer loops are (batch, out_height,
  // out_width, 1), and words are the column tiles. This section and all that follow are used by the
  // vector unit.
  localparam int VECTOR_WORDS = 2;
  typedef struct packed {
    // word 0: loop counts, outermost first
    logic [23:0] outer0;
    logic [23:0] outer1;
    logic [23:0] outer2;
    logic [23:0] outer3;
    logic [15:0] reserved0;
    // word 1
    logic [23:0] length;          // elements of the innermost axis
    logic [23:0] words;           // derived: ceil(length / lanes)
    logic [15:0] last_lanes;      // derived: valid lanes of a row's last word, 1 to lanes
    // Derived: rows that go through a pass as a group (timing.h, RowsInFlight).
    logic [15:0] rows_in_flight;
    logic [15:0] depth;           // derived: cycles of the pipeline (timing.h, PipelineDepth)
    logic reads_memory;           // derived: some pass reads an operand
    logic [14:0] reserved1;
  } vector_t;

  // A stream of the vector unit: an operand or the output. Element `index` of a row is stored at
  //   base + sum(outer index i * outer_stride i) + index * element_stride.
  localparam int STREAM_WORDS = 4;
  typedef struct packed {
    // word 0
    logic [ADDRESS_BITS-1:0] base;
    logic signed [ADDRESS_BITS-1:0] element_stride;
    element_t element;
    access_t access;  // derived
    logic [41:0] reserved0;
    // word 1
    logic signed [ADDRESS_BITS-1:0] outer_stride0;
    logic signed [ADDRESS_BITS-1:0] outer_stride1;
    logic [31:0] scale;  // fp32; output: the inverse scale
    logic [15:0] reserved1;
    // word 2
    logic signed [ADDRESS_BITS-1:0] outer_stride2;
    logic signed [ADDRESS_BITS-1:0] outer_stride3;
    logic signed [31:0] zero_point;
    logic [15:0] reserved2;
    // word 3
    logic signed [ADDRESS_BITS-1:0] word_stride;  // derived: lanes * element_stride
    logic signed [31:0] low;          // output of integers: the saturation bounds; operands: 0
    logic signed [31:0] high;
    logic [15:0] reserved3;
  } stream_t;

  // The scales of a stream's blocks. With a window (operand 0), words 3 to 6 replace outer_stride1
  // and outer_stride2.
  localparam int STREAM_SCALES_WORDS = 7;
  typedef struct packed {
    // word 0
    logic [ADDRESS_BITS-1:0] base;
    logic signed [ADDRESS_BITS-1:0] outer_stride0;
    logic [47:0] reserved0;
    // word 1
    logic signed [ADDRESS_BITS-1:0] outer_stride1;
    logic signed [ADDRESS_BITS-1:0] outer_stride2;
    logic [47:0] reserved1;
    // word 2
    logic signed [ADDRESS_BITS-1:0] outer_stride3;
    logic [79:0] reserved2;
    // word 3
    logic signed [ADDRESS_BITS-1:0] row_stride;
    logic signed [ADDRESS_BITS-1:0] column_stride;
    logic [47:0] reserved3;
    // words 4 to 6: derived, as in window_t
    logic signed [ADDRESS_BITS-1:0] row_origin;
    logic signed [ADDRESS_BITS-1:0] column_origin;
    logic [47:0] reserved4;
    logic signed [ADDRESS_BITS-1:0] output_row_stride;
    logic signed [ADDRESS_BITS-1:0] output_column_stride;
    logic [47:0] reserved5;
    logic signed [ADDRESS_BITS-1:0] tap_row_stride;
    logic signed [ADDRESS_BITS-1:0] tap_column_stride;
    logic [47:0] reserved6;
  } stream_scales_t;

  // The pooling window of operand 0. It is walked like the input of a convolution: coordinates
  // begin at -pad and advance by stride (outer loops 1 and 2) and dilation (positions of the
  // window); addresses begin at base + row_origin + column_origin and advance beside them.
  localparam int WINDOW_WORDS = 7;
  typedef struct packed {
    // word 0
    logic [23:0] window_y;
    logic [23:0] window_x;
    logic [23:0] stride_y;
    logic [23:0] stride_x;
    combine_t combine;
    logic average;
    logic divide_by_valid;
    logic [11:0] reserved0;
    // word 1
    logic [23:0] dilation_y;
    logic [23:0] dilation_x;
    logic [23:0] pad_top;
    logic [23:0] pad_left;
    logic [15:0] reserved1;
    // word 2
    logic [23:0] height;
    logic [23:0] width;
    logic [31:0] factor;  // derived: fp32(1) / fp32(window_y * window_x)
    logic [31:0] reserved2;
    // word 3
    logic signed [ADDRESS_BITS-1:0] row_stride;
    logic signed [ADDRESS_BITS-1:0] column_stride;
    logic [47:0] reserved3;
    // word 4: derived
    logic signed [ADDRESS_BITS-1:0] row_origin;     // -pad_top * row_stride
    logic signed [ADDRESS_BITS-1:0] column_origin;  // -pad_left * column_stride
    logic [47:0] reserved4;
    // word 5: derived
    logic signed [ADDRESS_BITS-1:0] output_row_stride;     // stride_y * row_stride
    logic signed [ADDRESS_BITS-1:0] output_column_stride;  // stride_x * column_stride
    logic [47:0] reserved5;
    // word 6: derived
    logic signed [ADDRESS_BITS-1:0] tap_row_stride;     // dilation_y * row_stride
    logic signed [ADDRESS_BITS-1:0] tap_column_stride;  // dilation_x * column_stride
    logic [47:0] reserved6;
  } window_t;

  localparam int PASS_WORDS = 1;
  typedef struct packed {
    source_t source;
    reduce_t reduce;
    logic [1:0] into;  // scalar register that receives the reduction's result
    logic to_row_buffer;
    logic to_memory;
    logic [2:0] reads;          // derived: bit i: the pass reads operand i for each word
    logic [3:0] stages;         // number of stages
    logic [3:0] scalar_stages;  // number of scalar stages
    // Derived: cycles for which a group of rows waits after the pass (timing.h, PassGap).
    logic [15:0] gap;
    logic [31:0] value;         // fp32, for SOURCE_CONSTANT
    logic [44:0] reserved0;
  } pass_t;

  localparam int STAGE_WORDS = 1;
  typedef struct packed {
    stage_op_t op;
    argument_t a;
    argument_t b;
    function_t kind;           // for STAGE_FUNCTION
    logic [31:0] immediate_a;  // fp32
    logic [31:0] immediate_b;
    logic [31:0] reserved0;
  } stage_t;

  // The bits of each word of a section that some unit reads, counted from the highest; word 0 comes
  // first. The others are checked, at most, and not stored.
  localparam int USED_BITS = 7;  // of a number of bits
  localparam int HEADER_USED = 79;
  localparam logic [TILING_WORDS*USED_BITS-1:0] TILING_USED = {7'd101, 7'd96, 7'd104};
  localparam logic [REDUCTION_WORDS*USED_BITS-1:0] REDUCTION_USED = {7'd112, 7'd96};
  localparam logic [REGION_WORDS*USED_BITS-1:0] REGION_USED = {7'd98, 7'd96, 7'd72};
  localparam logic [INPUT_WORDS*USED_BITS-1:0] INPUT_USED = {
    {4{7'd96}}, 7'd88, 7'd88, 7'd104, 7'd97
  };
  localparam logic [INPUT_SCALES_WORDS*USED_BITS-1:0] INPUT_SCALES_USED = {6{7'd64}};
  localparam logic [WEIGHTS_WORDS*USED_BITS-1:0] WEIGHTS_USED = {7'd69, 7'd64, 7'd64};
  localparam logic [WEIGHT_SCALES_WORDS*USED_BITS-1:0] WEIGHT_SCALES_USED = {3{7'd64}};
  localparam logic [VECTOR_WORDS*USED_BITS-1:0] VECTOR_USED = {7'd96, 7'd97};
  localparam logic [WINDOW_WORDS*USED_BITS-1:0] WINDOW_USED = {
    7'd100, 7'd96, 7'd80, 7'd0, {3{7'd64}}
  };
  localparam logic [MAX_PASSES*USED_BITS-1:0] PASSES_USED = {MAX_PASSES{7'd67}};
  // Only operand 0 can have a window.
  localparam logic [STREAM_SCALES_WORDS*USED_BITS-1:0] OPERAND0_SCALES_USED = {
    7'd64, 7'd64, 7'd32, 7'd0, {3{7'd64}}
  };
  localparam logic [STREAM_SCALES_WORDS*USED_BITS-1:0] STREAM_SCALES_USED = {
    7'd64, 7'd64, 7'd32, {4{7'd0}}
  };
  // A stream, whose scale has `scale` bits; without integer elements it has no zero point, and no
  // stream but the output of integers has bounds.
  function automatic logic [STREAM_WORDS*USED_BITS-1:0] stream_used(input logic [5:0] scale,
      input bit integers, input bit output_stream);
    stream_used = {
      7'd70,
      7'd64 + 7'(scale),
      integers ? 7'd96 : 7'd64,
      integers && output_stream ? 7'd96 : 7'd32
    };
  endfunction

  // Returns whether index + 1 is `count`, without a chain of carries: the bits of an index that
  // change are its lowest zero and the ones below it.
  function automatic bit is_last(input logic [COUNT_BITS-1:0] index,
      input logic [COUNT_BITS-1:0] count);
    is_last = (index ^ count) == (((index & ~count) << 1) | COUNT_BITS'(1));
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Commands: the records that the command processor puts into the queue of a unit, one per
  // instruction. Block scales come beside them on a separate port, which design points without
  // BLOCK_SIZE do not have. `number` counts the instructions of a program from 0, modulo 2^16. A
  // command with wait_distance d > 0 waits until number + 1 - d instructions are finished, so that
  // fewer than d instructions before it are unfinished.

  typedef struct packed {
    logic [INDEX_BITS-1:0] number;
    header_t header;
    tiling_t tiling;
    reduction_t reduction;
    region_t region;
    input_t image;
  } input_fetch_command_t;

  typedef struct packed {
    logic [INDEX_BITS-1:0] number;
    header_t header;
    tiling_t tiling;
    reduction_t reduction;
    weights_t weights;
  } weight_fetch_command_t;

  typedef struct packed {
    logic [INDEX_BITS-1:0] number;
    header_t header;
    tiling_t tiling;
    reduction_t reduction;
  } weight_load_command_t;

  // The command of the array sequencer and of the depthwise unit. `first_block` counts the blocks
  // (tiling.visits) of all earlier matrix and depthwise instructions, modulo 2^16. Block k is
  // stored in accumulation bank k modulo the number of banks. It may begin when block k - banks has
  // been drained, whichever unit works on the blocks between.
  typedef struct packed {
    logic [INDEX_BITS-1:0] number;
    logic [INDEX_BITS-1:0] first_block;
    header_t header;
    tiling_t tiling;
    reduction_t reduction;
    region_t region;
  } array_command_t;

  typedef struct packed {
    logic [INDEX_BITS-1:0] number;
    header_t header;
    tiling_t tiling;
    parameters_t parameters;
  } parameter_fetch_command_t;

  // Members that an instruction does not use are 0 (unused operands and passes, the window, the
  // tiling of a vector instruction). Stages are not part of the command: the command processor
  // writes each stage into the vector unit's stage memories when its word is decoded
  // (stage_write_t). Instruction k uses `slot` k modulo SLOTS of these memories, and is not decoded
  // before instruction k - SLOTS is finished. With at least COMMAND_QUEUE_DEPTH + 8 slots this
  // never costs time: they hold the instruction that is being decoded, those in the queue, and the
  // few that fit the pipeline.
  localparam int SLOT_BITS = 6;  // COMMAND_QUEUE_DEPTH is at most 32
  typedef struct packed {
    logic [INDEX_BITS-1:0] number;
    logic [SLOT_BITS-1:0] slot;
    header_t header;
    tiling_t tiling;
    vector_t loops;
    window_t window;
    stream_t operand0;
    stream_t operand1;
    stream_t operand2;
    stream_t target;
    pass_t pass0;
    pass_t pass1;
    pass_t pass2;
    pass_t pass3;
  } vector_command_t;

  // The block scales of a vector program, beside its command.
  typedef struct packed {
    stream_scales_t operand0;
    stream_scales_t operand1;
    stream_scales_t operand2;
    stream_scales_t target;
  } vector_scales_t;

  // A stage (or scalar stage) `stage` of pass `pass` of the program in `slot`.
  typedef struct packed {
    logic [SLOT_BITS-1:0] slot;
    logic [1:0] pass;
    logic scalar;
    logic [3:0] stage;
    stage_t value;
  } stage_write_t;

endpackage
