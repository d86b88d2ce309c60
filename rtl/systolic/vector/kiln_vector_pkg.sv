// What travels with a word through the vector unit.
package kiln_vector_pkg;

  // As in kiln_systolic_pkg (a package cannot look into another one everywhere; kiln_vector_unit compares them).
  localparam int SLOT_BITS = 6;
  localparam int ADDRESS_BITS = 40;
  localparam logic [3:0] ELEMENT_INT8 = 4'd0;
  localparam logic [3:0] ELEMENT_UINT8 = 4'd1;
  localparam logic [3:0] ELEMENT_INT16 = 4'd2;
  localparam logic [3:0] ELEMENT_INT32 = 4'd3;
  localparam logic [3:0] ELEMENT_FLOAT32 = 4'd4;
  localparam logic [3:0] ELEMENT_VECTOR = 4'd5;

  localparam int ROW_BITS = 8;  // of a row's number in its group: VECTOR_ROWS_IN_FLIGHT is at most 256
  localparam int SAVED = 2;  // lane values put aside
  localparam int SCALARS = 4;  // of a row

  localparam logic [31:0] FP32_ONE = 32'h3f80_0000;
  localparam logic [31:0] FP32_MINUS_ONE = 32'hbf80_0000;
  localparam logic [31:0] FP32_MINUS_ZERO = 32'h8000_0000;  // what a product adds: it changes no sum, not even a zero
  localparam logic [31:0] FP32_MINUS_INFINITY = 32'hff80_0000;

  // From a word to the next: how the walkers of addresses step. In vector instructions words follow each other in a row (an innermost
  // axis), rows in a group, groups; all passes go over a group before the next one. In drains pixels follow each other in a row of
  // pixels, rows of pixels in a column tile, column tiles in a block, blocks.
  localparam logic [2:0] STEP_WORD = 3'd0;  // in drains: the pixel's next column tile, where those of a scale block leave together
  localparam logic [2:0] STEP_ROW = 3'd1;  // `level`: the outer loop that counts on
  localparam logic [2:0] STEP_GROUP = 3'd2;  // likewise; the next row begins a group
  localparam logic [2:0] STEP_PASS = 3'd3;  // back to the first row of the group
  localparam logic [2:0] STEP_PIXEL = 3'd4;
  localparam logic [2:0] STEP_PIXEL_ROW = 3'd5;
  localparam logic [2:0] STEP_COLUMN = 3'd6;
  localparam logic [2:0] STEP_BLOCK = 3'd7;  // `level`: LEVEL_*

  // What changes from a block to the next.
  localparam logic [1:0] LEVEL_BATCH = 2'd0;
  localparam logic [1:0] LEVEL_TILE_ROW = 2'd1;
  localparam logic [1:0] LEVEL_TILE = 2'd2;
  localparam logic [1:0] LEVEL_BLOCK = 2'd3;  // the column tiles

  // The stages look their configuration up by slot and pass.
  typedef struct packed {
    logic [SLOT_BITS-1:0] slot;
    logic [1:0] pass;
    logic [1:0] into;  // scalar stages: the register that takes the result
    logic [3:0] stages;  // of this pass; stages behind them hand the word on
    logic [3:0] exit;  // stages of the program's longest pass: the word leaves behind as many
    logic [ROW_BITS-1:0] row;  // whose scalars it sees
    logic [2:0] operands;  // which operands come along
    logic [SAVED-1:0] saved;  // which saved values do
  } word_tag_t;
  // Where members stand, for those who cannot name them inside a generate block.
  localparam int TAG_SAVED = 0;
  localparam int TAG_OPERANDS = SAVED;
  localparam int TAG_EXIT = SAVED + 3 + ROW_BITS;
  localparam int WORD_TAG_BITS = SLOT_BITS + 12 + ROW_BITS + 3 + SAVED;

  // A request of the operand port: which lanes of which operand of which word its word is for.
  localparam int PLACE_BITS = 8;  // of a word's place in the queue between operand fetch and lanes
  localparam int LANE_BITS = 8;  // of a lane's number
  typedef struct packed {
    logic [PLACE_BITS-1:0] place;
    logic [1:0] operand;
    logic [1:0] access;  // kiln_systolic_pkg::access_t
    logic [LANE_BITS-1:0] lane;  // ACCESS_STRIDED
    logic first_place;  // of a window; 1 without one
    logic last_of_operand;
    logic last_of_word;
  } operand_tag_t;
  localparam int OPERAND_TAG_BITS = PLACE_BITS + LANE_BITS + 7;

  // A request for a block scale: which of the word's blocks it is for.
  typedef struct packed {
    logic [LANE_BITS-1:0] block;
    logic last;  // of the word
  } scale_tag_t;
  localparam int SCALE_TAG_BITS = LANE_BITS + 1;

  // A word between the sequencer and the lanes.
  typedef struct packed {
    logic [1:0] pass;
    logic [ROW_BITS-1:0] row;
    logic [LANE_BITS-1:0] lanes;  // valid ones
    logic first_of_row;
    logic last_of_row;
    logic last_of_block;
    logic [23:0] row_place;
    logic [23:0] accumulator;
    logic [23:0] column;
    logic [ADDRESS_BITS-1:0] target;
  } word_t;
  localparam int WORD_T_BITS = 2 + ROW_BITS + LANE_BITS + 3 + 3 * 24 + ADDRESS_BITS;

  // What is known of a word when it leaves the lanes.
  typedef struct packed {
    logic [LANE_BITS-1:0] lanes;
    logic to_memory;
    logic to_row_buffer;
    logic [1:0] reduce;  // kiln_systolic_pkg::reduce_t
    logic [3:0] scalar_stages;
    logic first_of_row;
    logic last_of_row;
    logic [23:0] row_place;
    logic [ADDRESS_BITS-1:0] target;
  } departure_t;
  localparam int DEPARTURE_BITS = LANE_BITS + 10 + 24 + ADDRESS_BITS;

  // What an instruction wants of its output.
  typedef struct packed {
    logic [3:0] element;  // kiln_systolic_pkg::element_t
    logic [1:0] access;  // kiln_systolic_pkg::access_t
    logic [ADDRESS_BITS-1:0] element_stride;
    logic [31:0] inverse_scale;
    logic [31:0] zero_point;
    logic [31:0] low;
    logic [31:0] high;
  } target_t;
  localparam int TARGET_BITS = 6 + ADDRESS_BITS + 4 * 32;

  // What a word has beside word_t where the output may have block scales.
  typedef struct packed {
    logic gathered;  // goes to memory in a block
    logic last;  // of its block
    logic [ADDRESS_BITS-1:0] scale_target;
  } mark_t;
  localparam int MARK_BITS = 2 + ADDRESS_BITS;

  // Words of `lanes` lanes that share a scale, and scales of a word: one of the two is 1. Without block scales both are.
  function automatic int words_of_block(input int block_size, input int lanes);
    words_of_block = block_size > lanes ? block_size / lanes : 1;
  endfunction
  function automatic int scales_of_word(input int block_size, input int lanes);
    scales_of_word = block_size > 0 && lanes > block_size ? lanes / block_size : 1;
  endfunction

  // log2 of the bytes of a code of so many bits.
  function automatic logic [1:0] code_shift(input int bits);
    code_shift = bits <= 8 ? 2'd0 : bits <= 16 ? 2'd1 : 2'd2;
  endfunction

  // log2 of the bytes of an element.
  function automatic logic [1:0] element_shift(input logic [3:0] element, input logic [1:0] vector_shift,
                                               input logic [1:0] input_shift, input logic [1:0] weight_shift);
    case (element)
      ELEMENT_INT8, ELEMENT_UINT8: element_shift = 2'd0;
      ELEMENT_INT16: element_shift = 2'd1;
      ELEMENT_INT32, ELEMENT_FLOAT32: element_shift = 2'd2;
      ELEMENT_VECTOR: element_shift = vector_shift;
      default: element_shift = element[0] ? weight_shift : input_shift;  // codes, of whatever precision
    endcase
  endfunction

endpackage
