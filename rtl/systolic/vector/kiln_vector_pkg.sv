// Types and constants that the modules of the vector unit share: the records that accompany a
// vector word from the sequencer through the lanes to memory, and the steps of the address walkers.
package kiln_vector_pkg;

  // These values equal those of kiln_systolic_pkg, because not every tool lets a package refer to
  // another one. kiln_vector_unit compares SLOT_BITS and ADDRESS_BITS.
  localparam int SLOT_BITS = 6;
  localparam int ADDRESS_BITS = 32;
  localparam logic [3:0] ELEMENT_INT8 = 4'd0;
  localparam logic [3:0] ELEMENT_UINT8 = 4'd1;
  localparam logic [3:0] ELEMENT_INT16 = 4'd2;
  localparam logic [3:0] ELEMENT_INT32 = 4'd3;
  localparam logic [3:0] ELEMENT_FLOAT32 = 4'd4;
  localparam logic [3:0] ELEMENT_VECTOR = 4'd5;

  // Bits of a vector row's number among the rows in flight; VECTOR_ROWS_IN_FLIGHT is at most 256.
  localparam int ROW_BITS = 8;
  localparam int SAVED = 2;  // lane values that SAVE stages keep
  localparam int SCALARS = 4;  // scalar registers of a row

  localparam logic [31:0] FP32_ONE = 32'h3f80_0000;
  localparam logic [31:0] FP32_MINUS_ONE = 32'hbf80_0000;
  // The addend of a product: adding it changes no value, not even the sign of a zero.
  localparam logic [31:0] FP32_MINUS_ZERO = 32'h8000_0000;
  localparam logic [31:0] FP32_MINUS_INFINITY = 32'hff80_0000;

  // The step from a word to the next, as the address walkers see it. In a vector instruction, words
  // follow each other in a row (an innermost axis), rows in a group of rows in flight, and groups
  // in the instruction; all passes process a group before the next group begins. In a drain, pixels
  // follow each other in a row of pixels, rows of pixels in a column tile, column tiles in a block,
  // and blocks in the instruction.
  //
  // STEP_WORD in a drain: the next column tile of the same pixel, if the column tiles of a scale
  // block leave together.
  localparam logic [2:0] STEP_WORD = 3'd0;
  localparam logic [2:0] STEP_ROW = 3'd1;  // `level`: the outer loop that advances
  localparam logic [2:0] STEP_GROUP = 3'd2;  // likewise; the next row begins a group
  localparam logic [2:0] STEP_PASS = 3'd3;  // back to the first row of the group
  localparam logic [2:0] STEP_PIXEL = 3'd4;
  localparam logic [2:0] STEP_PIXEL_ROW = 3'd5;
  localparam logic [2:0] STEP_COLUMN = 3'd6;
  localparam logic [2:0] STEP_BLOCK = 3'd7;  // `level`: LEVEL_*

  // The loop of the order of work that advances between two blocks.
  localparam logic [1:0] LEVEL_BATCH = 2'd0;
  localparam logic [1:0] LEVEL_TILE_ROW = 2'd1;
  localparam logic [1:0] LEVEL_TILE = 2'd2;
  localparam logic [1:0] LEVEL_BLOCK = 2'd3;  // the column tiles

  // The tag that a word carries through the lanes. The stages look up their configuration by slot
  // and pass.
  typedef struct packed {
    logic [SLOT_BITS-1:0] slot;
    logic [1:0] pass;
    logic [1:0] into;  // scalar stages: the register that receives the result
    logic [3:0] stages;  // stages of this pass; later stages pass the word on unchanged
    // stages of the program's longest pass; the word leaves the lanes after as many
    logic [3:0] exit;
    logic [ROW_BITS-1:0] row;  // the row whose scalars the word reads
    logic [2:0] operands;  // bit i: the word carries operand i
    logic [SAVED-1:0] saved;  // bit i: the word carries saved value i
  } word_tag_t;
  // Bit positions of members, for use inside generate blocks, where they cannot be named.
  localparam int TAG_SAVED = 0;
  localparam int TAG_OPERANDS = SAVED;
  localparam int TAG_EXIT = SAVED + 3 + ROW_BITS;
  localparam int WORD_TAG_BITS = SLOT_BITS + 12 + ROW_BITS + 3 + SAVED;
  localparam int PROGRAM_BITS = SLOT_BITS + 2;  // slot and pass
  localparam int TAG_PROGRAM = WORD_TAG_BITS - PROGRAM_BITS;

  // The tag of a request on the operand port: the word, operand and lanes that its data belong to.
  // bits of a word's index in the queue between operand fetch and lanes
  localparam int PLACE_BITS = 8;
  localparam int LANE_BITS = 8;  // bits of a lane's number
  typedef struct packed {
    logic [PLACE_BITS-1:0] place;
    logic [1:0] operand;
    logic [1:0] access;  // kiln_systolic_pkg::access_t
    logic [LANE_BITS-1:0] lane;  // with ACCESS_STRIDED: the element's lane
    logic first_place;  // the first position of a window; 1 without a window
    logic last_of_operand;
    logic last_of_word;
  } operand_tag_t;
  localparam int OPERAND_TAG_BITS = PLACE_BITS + LANE_BITS + 7;

  // The tag of a request for a block scale: the scale block of the word that it belongs to.
  typedef struct packed {
    logic [LANE_BITS-1:0] block;
    logic last;  // the word's last scale
  } scale_tag_t;
  localparam int SCALE_TAG_BITS = LANE_BITS + 1;

  // A word on its way from the sequencer to the lanes.
  typedef struct packed {
    logic [1:0] pass;
    logic [ROW_BITS-1:0] row;
    logic [LANE_BITS-1:0] lanes;  // number of valid lanes
    logic first_of_row;
    logic last_of_row;
    logic last_of_block;
    logic [23:0] row_place;
    logic [23:0] accumulator;
    logic [23:0] column;
    logic [ADDRESS_BITS-1:0] target;
  } word_t;
  localparam int WORD_T_BITS = 2 + ROW_BITS + LANE_BITS + 3 + 3 * 24 + ADDRESS_BITS;

  // The part of a word's description that is needed when it leaves the lanes.
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
    logic [SLOT_BITS-1:0] slot;  // of the instruction
  } departure_t;
  localparam int DEPARTURE_BITS = LANE_BITS + 10 + 24 + ADDRESS_BITS + SLOT_BITS;

  // The output stream of an instruction, without the distance of its elements and without their
  // scale.
  typedef struct packed {
    logic [3:0] element;  // kiln_systolic_pkg::element_t
    logic [1:0] access;  // kiln_systolic_pkg::access_t
    logic [31:0] zero_point;
    logic [31:0] low;
    logic [31:0] high;
  } target_t;
  localparam int TARGET_BITS = 6 + 3 * 32;
  // Returns its upper bits that a unit with or without integer elements needs.
  function automatic int target_bits(input bit integers);
    target_bits = integers ? TARGET_BITS : TARGET_BITS - 3 * 32;
  endfunction

  // The additional description of a word if the output may have block scales.
  typedef struct packed {
    logic gathered;  // the word is written together with its scale block
    logic last;  // the last word of its scale block
    logic [ADDRESS_BITS-1:0] scale_target;
  } mark_t;
  localparam int MARK_BITS = 2 + ADDRESS_BITS;

  // Return the number of words that share a scale, and the number of scales of a word. One of the
  // two is 1; both are 1 without block scales (`block_size` 0).
  function automatic int words_of_block(input int block_size, input int lanes);
    words_of_block = block_size > lanes ? block_size / lanes : 1;
  endfunction
  function automatic int scales_of_word(input int block_size, input int lanes);
    scales_of_word = block_size > 0 && lanes > block_size ? lanes / block_size : 1;
  endfunction

  // Returns the bits of an element on its way to memory. If numbers have 16 bits and there are no
  // integers, an fp32 element is the upper half of its word, and a code of up to 16 bits the lower.
  function automatic int element_bits(input kiln_format_pkg::format_t vector_format,
      input bit integers, input int code_bits);
    element_bits = kiln_format_pkg::is_short_float(vector_format) &&
        kiln_format_pkg::number_bits(vector_format) <= 16 &&
        kiln_format_pkg::bits(vector_format) <= 16 && code_bits <= 16 && !integers ? 16 : 32;
  endfunction
  // Return the bits of an element's scale and of an inverse scale, the upper bits of fp32 numbers.
  // In a short float they are those of a number, but an inverse of a block's scale may have more.
  function automatic int scale_bits(input kiln_format_pkg::format_t vector_format);
    scale_bits = kiln_format_pkg::is_short_float(vector_format) ?
        kiln_format_pkg::number_bits(vector_format) : 32;
  endfunction
  function automatic int inverse_bits(input kiln_format_pkg::format_t vector_format,
      input int block_size, input kiln_format_pkg::format_t scale_format);
    inverse_bits = block_size == 0 || (kiln_format_pkg::is_power_of_two(scale_format) &&
        kiln_format_pkg::bias(scale_format) <= 127) ? scale_bits(vector_format) : 32;
  endfunction

  // Returns the lanes that share a copy of a value which all lanes read: all lanes, or eight beyond
  // sixteen, because a register that drives more is slow.
  function automatic int lanes_of_copy(input int lanes);
    lanes_of_copy = lanes > 16 ? 8 : lanes;
  endfunction

  // Returns log2 of the bytes that a code of `bits` bits occupies in memory.
  function automatic logic [1:0] code_shift(input int bits);
    code_shift = bits <= 8 ? 2'd0 : bits <= 16 ? 2'd1 : 2'd2;
  endfunction

  // Returns log2 of the bytes of an element in memory. The shifts are those of the vector format
  // and of the array's operand formats.
  function automatic logic [1:0] element_shift(input logic [3:0] element,
      input logic [1:0] vector_shift,
                                               input logic [1:0] input_shift,
                                                   input logic [1:0] weight_shift);
    case (element)
      ELEMENT_INT8, ELEMENT_UINT8: element_shift = 2'd0;
      ELEMENT_INT16: element_shift = 2'd1;
      ELEMENT_INT32, ELEMENT_FLOAT32: element_shift = 2'd2;
      ELEMENT_VECTOR: element_shift = vector_shift;
      // Codes of all precisions take equally many bytes (docs/systolic-numbers.md).
      default: element_shift = element[0] ? weight_shift : input_shift;
    endcase
  endfunction

endpackage
