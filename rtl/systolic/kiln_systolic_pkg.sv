// Instructions of the systolic family as the units see them, and the layout of their words.
//
// An instruction is a sequence of words of 16 bytes. A word is a number of 128 bits, little-endian in memory, whose
// fields stand from its most significant bit down:
//
//   [127:120] tag      the section that the word belongs to
//   [119:112] index    the word's place in the section (see below for sections that occur several times)
//   [111:0]   payload  fields of the section in the order of its struct
//
// A section of n words is a packed struct of n * 112 bits: word 0 is its top 112 bits, its first member the top bits of
// word 0. No field crosses a word; unused bits at the end of a word are `reserved...` and 0. So a decoder needs no
// table of fields: word i of a section of n words is the slice [112 * (n - 1 - i) +: 112].
//
// The sections of an instruction stand in this order; its header says which of them it has:
//
//   tag              index                words  present
//   HEADER           0                    1      always; all that `end` has
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
//   STREAM_SCALES    16 * operand + 0..   7      behind its operand: header.operand_blocks
//   WINDOW           0..                  7      header.window
//   PASS             pass                 1      for each pass ...
//   STAGE            32 * pass + stage    1      ... followed by its stages
//   STAGE            32 * pass + 16 + stage 1    ... and its scalar stages
//   STREAM           48 + 0..             4      the output
//   STREAM_SCALES    48 + 0..             7      header.output_blocks
//
// A member is either a field of the instruction (src/kiln/targets/systolic/isa.h tells what it means) or *derived*:
// found by the compiler from those, so that no unit divides or multiplies. The C++ decoder refuses an instruction whose
// derived members are not what they must be; hardware believes them.
//
// Widths. Addresses and strides in bytes have 40 bits and are computed modulo 2^40 (a stride is signed; what derived
// members wrap to is right modulo 2^40 and memory is no larger). Counts have 24 bits, because no loop, image axis,
// kernel, stride or padding may reach 2^24; products of two of them that a unit needs have 32 and are checked to
// fit. Places in a buffer bank and steps between them have 24 bits, modulo 2^24.
//
// What is in a bank where (the same for every pixel tile, also for the smaller ones at the edges):
//   input bank         place (py, px) of group g of a fill: word g * group_pitch + py * row_pitch + px
//   depthwise bank     place (py, px) of column tile t of a fill: word py * row_pitch + px * groups_per_bank + t
//   accumulation bank  pixel (y, x) of column tile c of a block: word c * tile_pixels + y * tile_width + x
// A place that holds tap (ky, kx) of pixel (y, x) is found (the pitches and steps of depthwise instructions count
// the words of all column tiles) at
//   y * output_row_step + x * output_column_step + ky * tap_row_step + kx * tap_column_step.
package kiln_systolic_pkg;

  localparam int WORD_BITS = 128;
  localparam int PAYLOAD_BITS = 112;
  localparam int ADDRESS_BITS = 40;
  localparam int COUNT_BITS = 24;
  localparam int INDEX_BITS = 16;  // an instruction's number in the program, modulo 2^16

  localparam int SCALE_PORT_BYTES = 8;  // width of the ports for block scales, which move a scale a beat

  localparam int MAX_OPERANDS = 3;
  localparam int MAX_PASSES = 4;
  localparam int MAX_STAGES = 12;  // of a pass, and scalar ones likewise

  // -------------------------------------------------------------------------------------------------------------------
  // Enumerations, with the values of isa.h.

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

  // Codes of the array's other precisions follow those of the first: of precision p ELEMENT_INPUT + 2 p, ELEMENT_WEIGHT +
  // 2 p. Bit 0 tells weights from inputs.
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

  // How the elements of a word follow each other; derived from element_stride.
  typedef enum logic [1:0] {
    ACCESS_DENSE = 2'd0,      // one request a word
    ACCESS_BROADCAST = 2'd1,  // element_stride 0: one element for all lanes
    ACCESS_STRIDED = 2'd2     // one request an element
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

  // -------------------------------------------------------------------------------------------------------------------
  // Sections. "last" is of the last tile, block, group or fill of its axis, which may be smaller than the others.

  localparam int HEADER_WORDS = 1;
  typedef struct packed {
    opcode_t opcode;
    logic [7:0] wait_distance;  // 0: waits for none
    logic window;
    logic input_blocks;          // block scales of the array's input,
    logic weight_blocks;         // of its weights,
    logic [2:0] operand_blocks;  // of operands 0 to 2 (bit i of operand i),
    logic output_blocks;         // of the output
    logic [1:0] operands;        // how many
    logic [2:0] passes;          // 1 to 4
    logic [15:0] length;         // words of the instruction, this one included
    logic [31:0] kernel;         // for traces
    logic user_unit;             // depthwise instructions: on the user unit
    logic [1:0] precision;       // matrix: which pair of operand formats; else 0
    logic [32:0] reserved0;
  } header_t;

  // The order of work (walk.h, VisitsOf): for batch; for tile, for block (input outer) or for block, for tile (weight
  // outer); tiles row by row. For every unit.
  localparam int TILING_WORDS = 3;
  typedef struct packed {
    // word 0
    logic [23:0] batch;
    logic [23:0] tiles_y;  // derived
    logic [23:0] tiles_x;  // derived
    logic [23:0] blocks;   // derived
    order_t order;
    packing_t packing;
    logic inputs_resident;      // derived: fetched for the first block of a pixel tile only
    logic weights_resident;     // derived: fetched for the first pixel tile of a block only
    logic parameters_by_batch;  // derived: a batch has channel parameters of its own (else they are fetched anew only
                                // when the block changes)
    logic [10:0] reserved0;
    // word 1
    logic [23:0] tile_height;
    logic [23:0] tile_width;
    logic [23:0] last_tile_height;  // derived
    logic [23:0] last_tile_width;   // derived
    logic [15:0] reserved1;
    // word 2
    logic [23:0] columns_per_block;   // as weight_tiles_per_bank 1 in depthwise instructions
    logic [23:0] last_block_columns;  // derived; that of the only block may be less than columns_per_block, too
    logic [15:0] last_tile_columns;   // derived: channels of the last column tile, 1 to C
    logic [23:0] tile_pixels;         // derived: tile_height * tile_width
    logic [15:0] visits;              // derived: batch * tiles_y * tiles_x * blocks modulo 2^16
    logic [7:0] reserved2;
  } tiling_t;

  // The reduction: row groups in fills, row tiles in a group. For input fetch, weight fetch, weight load, array,
  // depthwise.
  localparam int REDUCTION_WORDS = 2;
  typedef struct packed {
    // word 0
    logic [23:0] groups_per_bank;   // depthwise: column tiles of a fill
    logic [23:0] groups;            // derived
    logic [23:0] fills;             // derived: of a block; depthwise: of a pixel tile
    logic [23:0] last_fill_groups;  // derived
    logic [15:0] last_group_rows;   // derived: codes that count in the last group, 1 to R
    // word 1
    logic [23:0] weight_tiles_per_bank;
    logic [23:0] kernel_y;
    logic [23:0] kernel_x;
    logic [23:0] rows_per_group;  // derived: row tiles of a group: kernel_y * kernel_x, or 1 with tap packing
    logic [15:0] reserved1;
  } reduction_t;

  // Words of a group in an input bank or a depthwise bank (top of this file). With tap packing a place is a pixel; in
  // depthwise instructions whose rows are `joined` places_x and last_places_x count words.
  // For input fetch, array, depthwise.
  localparam int REGION_WORDS = 3;
  typedef struct packed {
    // word 0: all derived
    logic [23:0] places_y;
    logic [23:0] places_x;
    logic [23:0] last_places_y;  // of the last tile of the axis
    logic [23:0] last_places_x;
    // Compact: only the rows (columns) that taps touch are fetched, kernel_y for every row of pixels; else all from the
    // first tap of the first pixel to the last tap of the last. 0 with tap packing.
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
    logic [23:0] tap_row_step;     // from a row of taps to the next
    logic [23:0] tap_column_step;  // from a tap to the next
    logic [23:0] tap_steps;        // depthwise: cycles of a pixel, ceil(taps / multipliers); else 0
    logic [39:0] reserved2;
  } region_t;

  // The input in memory. For input fetch. A place of the image has its coordinates iy, ix (signed, 32 bits, inside when
  // 0 <= iy < height and 0 <= ix < width) and its address; both are walked by the same additions:
  //
  //                                  row      address              column   address
  //   first place of tile 0          -pad_top base + row_origin    -pad_left  column_origin
  //   next pixel tile                tile_rows tile_row_stride     tile_columns tile_column_stride
  //   next pixel                     stride_y output_row_stride    stride_x output_column_stride
  //   next tap                       dilation_y tap_row_stride     dilation_x tap_column_stride
  //   next place, not compact        1        row_stride           1        column_stride
  //   next place, compact            next tap, kernel_y of them, then next pixel
  //   next group, channel packing    R codes (depthwise: next fill, groups_per_bank * C codes)
  //
  // With tap packing entry (ky, kx, c) of pixel (y, x) lies c codes behind tap (ky, kx). Where `joined`, entries of one
  // ky follow each other in memory, and a row of the image is the row_bytes bytes from base + iy * row_stride on,
  // without gaps: a run is cut to the image by comparing addresses.
  localparam int INPUT_WORDS = 8;
  typedef struct packed {
    // word 0
    logic [39:0] base;
    logic signed [39:0] batch_stride;
    logic [31:0] pad_code;
    // word 1
    logic signed [39:0] row_stride;
    logic signed [39:0] column_stride;
    logic [31:0] run_entries;  // derived: entries (ky, kx, c) of one run: (joined ? kernel_x : 1) * channels
    // word 2: derived
    logic signed [39:0] row_origin;     // -pad_top * row_stride
    logic signed [39:0] column_origin;  // -pad_left * column_stride
    logic [31:0] tile_rows;             // tile_height * stride_y
    // word 3: derived
    logic signed [39:0] tile_row_stride;     // tile_rows * row_stride
    logic signed [39:0] tile_column_stride;  // tile_columns * column_stride
    logic [31:0] tile_columns;               // tile_width * stride_x
    // word 4
    logic signed [39:0] output_row_stride;     // derived: stride_y * row_stride
    logic signed [39:0] output_column_stride;  // derived: stride_x * column_stride
    logic [23:0] height;
    logic [7:0] reserved4;
    // word 5
    logic signed [39:0] tap_row_stride;     // derived: dilation_y * row_stride
    logic signed [39:0] tap_column_stride;  // derived: dilation_x * column_stride
    logic [23:0] width;
    logic [7:0] reserved5;
    // word 6
    logic [39:0] row_bytes;  // derived: width * column_stride
    logic [23:0] channels;
    logic [23:0] pad_top;
    logic [23:0] pad_left;
    // word 7
    logic [23:0] stride_y;
    logic [23:0] stride_x;
    logic [23:0] dilation_y;
    logic [23:0] dilation_x;
    logic joined;  // derived: dilation_x is 1 and column_stride the bytes of all channels; depthwise: a row of a region
                   // is one run of words (walk.h, joined_rows)
    logic [14:0] reserved7;
  } input_t;

  // Scales of the input's blocks: walked as the input is, place by place; the scale of a block follows the one before,
  // BLOCK_SIZE / R groups later.
  localparam int INPUT_SCALES_WORDS = 6;
  typedef struct packed {
    // word 0
    logic [39:0] base;
    logic signed [39:0] batch_stride;
    logic [31:0] reserved0;
    // word 1
    logic signed [39:0] row_stride;
    logic signed [39:0] column_stride;
    logic [31:0] reserved1;
    // words 2 to 5: derived, as in input_t
    logic signed [39:0] row_origin;
    logic signed [39:0] column_origin;
    logic [31:0] reserved2;
    logic signed [39:0] tile_row_stride;
    logic signed [39:0] tile_column_stride;
    logic [31:0] reserved3;
    logic signed [39:0] output_row_stride;
    logic signed [39:0] output_column_stride;
    logic [31:0] reserved4;
    logic signed [39:0] tap_row_stride;
    logic signed [39:0] tap_column_stride;
    logic [31:0] reserved5;
  } input_scales_t;

  // Weights in memory. For weight fetch. Row tile `tap` of group g for column tile c (of the whole instruction) begins
  // at
  //   base + b * batch_stride + g * group_stride + c * column_tile_stride + tap * bytes of a tile (strided: one tap only).
  // Tiled: R rows of C codes, dense; depthwise: taps rows of C codes. Strided: element (k, n) lies row_stride * k +
  // column_stride * n further. The first column tile of a block is the one behind the last of the block before.
  localparam int WEIGHTS_WORDS = 3;
  typedef struct packed {
    // word 0
    logic [39:0] base;
    logic signed [39:0] batch_stride;
    weight_layout_t layout;
    logic by_columns;  // derived; strided: one request a column (its rows are dense), else one a row
    logic [29:0] reserved0;
    // word 1: strided only
    logic signed [39:0] row_stride;
    logic signed [39:0] column_stride;
    logic [31:0] reserved1;
    // word 2: derived
    logic signed [39:0] group_stride;
    logic signed [39:0] column_tile_stride;
    logic [31:0] reserved2;
  } weights_t;

  // Scales of the weights. Tiled: C scales for each row tile and column tile, walked as the tiles are. Strided: one for
  // each column of a column tile, column_stride apart; the next block's is one scale further, BLOCK_SIZE / R groups
  // later.
  localparam int WEIGHT_SCALES_WORDS = 3;
  typedef struct packed {
    // word 0
    logic [39:0] base;
    logic signed [39:0] batch_stride;
    logic [31:0] reserved0;
    // word 1
    logic signed [39:0] row_stride;
    logic signed [39:0] column_stride;
    logic [31:0] reserved1;
    // word 2: derived
    logic signed [39:0] group_stride;  // 0 if strided
    logic signed [39:0] column_tile_stride;
    logic [31:0] reserved2;
  } weight_scales_t;

  // Channel parameters: three arrays of out_channels entries of 4 bytes, one after the other. For parameter fetch.
  localparam int PARAMETERS_WORDS = 1;
  typedef struct packed {
    logic [39:0] base;
    logic signed [39:0] batch_stride;
    logic [23:0] out_channels;
    logic [7:0] reserved0;
  } parameters_t;

  // A vector program. Of matrix and depthwise instructions outer is (batch, out_height, out_width, 1), words are the
  // column tiles. For the vector unit, as all that follows.
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
    logic [15:0] rows_in_flight;  // derived: rows that take a pass together (timing.h, RowsInFlight)
    logic [15:0] depth;           // derived: cycles of the pipeline (timing.h, PipelineDepth)
    logic reads_memory;           // derived: some pass reads an operand
    logic [14:0] reserved1;
  } vector_t;

  // A stream of the vector unit: operand or output. Element `index` of a row lies at
  //   base + sum(outer index i * outer_stride i) + index * element_stride.
  localparam int STREAM_WORDS = 4;
  typedef struct packed {
    // word 0
    logic [39:0] base;
    logic signed [39:0] element_stride;
    element_t element;
    access_t access;  // derived
    logic [25:0] reserved0;
    // word 1
    logic signed [39:0] outer_stride0;
    logic signed [39:0] outer_stride1;
    logic [31:0] scale;  // fp32; output: the inverse scale
    // word 2
    logic signed [39:0] outer_stride2;
    logic signed [39:0] outer_stride3;
    logic signed [31:0] zero_point;
    // word 3
    logic signed [39:0] word_stride;  // derived: lanes * element_stride
    logic signed [31:0] low;          // output, integers: where it saturates; operands: 0
    logic signed [31:0] high;
    logic [7:0] reserved3;
  } stream_t;

  // Scales of a stream's blocks. With a window (operand 0) words 3 to 6 stand in place of outer_stride1 and 2.
  localparam int STREAM_SCALES_WORDS = 7;
  typedef struct packed {
    // word 0
    logic [39:0] base;
    logic signed [39:0] outer_stride0;
    logic [31:0] reserved0;
    // word 1
    logic signed [39:0] outer_stride1;
    logic signed [39:0] outer_stride2;
    logic [31:0] reserved1;
    // word 2
    logic signed [39:0] outer_stride3;
    logic [71:0] reserved2;
    // word 3
    logic signed [39:0] row_stride;
    logic signed [39:0] column_stride;
    logic [31:0] reserved3;
    // words 4 to 6: derived, as in window_t
    logic signed [39:0] row_origin;
    logic signed [39:0] column_origin;
    logic [31:0] reserved4;
    logic signed [39:0] output_row_stride;
    logic signed [39:0] output_column_stride;
    logic [31:0] reserved5;
    logic signed [39:0] tap_row_stride;
    logic signed [39:0] tap_column_stride;
    logic [31:0] reserved6;
  } stream_scales_t;

  // Pooling window of operand 0, walked as the input of a convolution: coordinates from -pad in steps of stride (outer
  // loops 1 and 2) and dilation (places of the window), addresses from base + row_origin + column_origin beside them.
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
    logic signed [39:0] row_stride;
    logic signed [39:0] column_stride;
    logic [31:0] reserved3;
    // word 4: derived
    logic signed [39:0] row_origin;     // -pad_top * row_stride
    logic signed [39:0] column_origin;  // -pad_left * column_stride
    logic [31:0] reserved4;
    // word 5: derived
    logic signed [39:0] output_row_stride;     // stride_y * row_stride
    logic signed [39:0] output_column_stride;  // stride_x * column_stride
    logic [31:0] reserved5;
    // word 6: derived
    logic signed [39:0] tap_row_stride;     // dilation_y * row_stride
    logic signed [39:0] tap_column_stride;  // dilation_x * column_stride
    logic [31:0] reserved6;
  } window_t;

  localparam int PASS_WORDS = 1;
  typedef struct packed {
    source_t source;
    reduce_t reduce;
    logic [1:0] into;  // scalar register
    logic to_row_buffer;
    logic to_memory;
    logic [2:0] reads;          // derived: bit i: the pass reads operand i for every word
    logic [3:0] stages;         // how many
    logic [3:0] scalar_stages;  // how many
    logic [15:0] gap;           // derived: cycles a group of rows waits behind the pass (timing.h, PassGap)
    logic [31:0] value;         // fp32, of SOURCE_CONSTANT
    logic [44:0] reserved0;
  } pass_t;

  localparam int STAGE_WORDS = 1;
  typedef struct packed {
    stage_op_t op;
    argument_t a;
    argument_t b;
    function_t kind;           // of STAGE_FUNCTION
    logic [31:0] immediate_a;  // fp32
    logic [31:0] immediate_b;
    logic [31:0] reserved0;
  } stage_t;

  // -------------------------------------------------------------------------------------------------------------------
  // Commands: what the command processor puts into the queue of a unit, one an instruction. Block scales come beside
  // them on a port of their own, which design points without BLOCK_SIZE do not have. `number` counts the instructions
  // of a program from 0 on, modulo 2^16; a command with wait_distance d above 0 waits until
  // number + 1 - d are finished, so that fewer than d before it are not.

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

  // The array sequencer's, and the depthwise unit's. `first_block` counts the blocks (tiling.visits) of all matrix and
  // depthwise instructions before this one, modulo 2^16: block k stands in accumulation bank k modulo the banks, and may
  // begin when block k - banks has been drained, whichever unit works on the blocks between.
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

  // Members that an instruction has not are 0 (a program has fewer operands or passes, no window; a vector instruction
  // no tiling). Stages do not stand in the command: the command processor writes each into stage memories of the vector
  // unit as its word comes by (stage_write_t), at `slot`, which goes round through the slots of these memories:
  // instruction k has slot k modulo SLOTS, and is not decoded before instruction k - SLOTS is finished. With COMMAND_QUEUE_DEPTH
  // + 8 slots or more that never takes time: one being decoded, those in the queue, and the few that fit the pipeline.
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

  // Block scales of a vector program, beside its command.
  typedef struct packed {
    stream_scales_t operand0;
    stream_scales_t operand1;
    stream_scales_t operand2;
    stream_scales_t target;
  } vector_scales_t;

  // Stage `stage` of pass `pass` of the program in `slot`, or scalar stage.
  typedef struct packed {
    logic [SLOT_BITS-1:0] slot;
    logic [1:0] pass;
    logic scalar;
    logic [3:0] stage;
    stage_t value;
  } stage_write_t;

endpackage
