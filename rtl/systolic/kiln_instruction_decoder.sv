// Decodes the instruction words of a program one by one: checks each word and gathers the sections
// of an instruction (kiln_systolic_pkg).
//
//   word        At most one per cycle.
//   complete    High from the cycle after an instruction's last word until `next`: the sections are
//               valid, and no further word is taken.
//   next        Pulse while `complete`: the sections have been used.
//   stage       A stage is passed on in the cycle in which its word is taken.
//   error       High from the cycle after a wrong word, with its error code; no further word is
//               taken until `clear`.
//   place       Number of the last word taken, in its instruction.
//   matrix, depthwise, is_end   The instruction's kind, from its header on; registers of their own,
//               because dispatch depends on them.
//   clear       Pulse: the decoder waits for the first word of a program.
//
// Sections that an instruction does not have keep their old content, except the tiling and the
// streams, window and passes of a vector program, which are 0. Bits that no unit reads are 0
// (kiln_systolic_pkg::TILING_USED and the like).
//
// The decoder checks that every word is the expected one: its tag and index follow from the header
// and the earlier words. It also checks all values that a unit could not handle: counts are not 0
// and not larger than what they index, enumerators are defined, stages have the hardware of their
// operations, base addresses are in memory. It does not check that derived members follow from the
// others (the decoder of the compiler does).
module kiln_instruction_decoder #(
    parameter int unsigned ARRAY_ROWS = 16,
    parameter int unsigned ARRAY_COLUMNS = 16,
    parameter int unsigned INPUT_BUFFER_WORDS = 1024,
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 1024,
    parameter int unsigned DEPTHWISE_MULTIPLIERS = 9,  // 0: no depthwise unit
    parameter int unsigned DEPTHWISE_BUFFER_WORDS = 1024,
    parameter int unsigned USER_UNIT = 0,  // 0: no user unit
    parameter int unsigned VECTOR_STAGES = 12,
    // Bit i: stage i has the approximate functions, or a divider; the lanes and the scalar stages
    // alike. (The default is not '1, of which Yosys keeps the lowest bit.)
    parameter logic [VECTOR_STAGES-1:0] VECTOR_FUNCTION_STAGES = {VECTOR_STAGES{1'b1}},
    parameter logic [VECTOR_STAGES-1:0] VECTOR_DIVIDE_STAGES = {VECTOR_STAGES{1'b1}},
    parameter int unsigned VECTOR_ROWS_IN_FLIGHT = 8,
    parameter int unsigned BLOCK_SIZE = 0,  // 0: no block scales
    parameter int unsigned PRECISIONS = 1,  // pairs of operand formats of the array
    parameter bit INTEGER_ELEMENTS = 1'b1,  // streams can have integers
    parameter int unsigned SCALE_BITS = 32,  // of a stream's scale
    parameter longint unsigned MEMORY_BYTES = 64'd1 << 30
) (
    input  logic                                    clock,
    input  logic                                    reset,
    input  logic                                    clear,
    input  logic                                    word_valid,
    output logic                                    word_ready,
    input  logic [kiln_systolic_pkg::WORD_BITS-1:0] word,
    // The next word is a header.
    output logic                                    begins,
    output logic                                    complete,
    input  logic                                    next,
    output logic                                    error,
    output kiln_control_pkg::error_t                error_code,
    output logic [                            15:0] place,
    output logic                                    matrix,
    output logic                                    depthwise,
    output logic                                    is_end,
    // Sections
    output kiln_systolic_pkg::header_t              header,
    output kiln_systolic_pkg::tiling_t              tiling,
    output kiln_systolic_pkg::reduction_t           reduction,
    output kiln_systolic_pkg::region_t              region,
    output kiln_systolic_pkg::input_t               image,
    output kiln_systolic_pkg::input_scales_t        input_scales,
    output kiln_systolic_pkg::weights_t             weights,
    output kiln_systolic_pkg::weight_scales_t       weight_scales,
    output kiln_systolic_pkg::parameters_t          parameters,
    output kiln_systolic_pkg::vector_t              loops,
    output kiln_systolic_pkg::window_t              window,
    output kiln_systolic_pkg::stream_t              operand0,
    output kiln_systolic_pkg::stream_t              operand1,
    output kiln_systolic_pkg::stream_t              operand2,
    output kiln_systolic_pkg::stream_t              target,
    output kiln_systolic_pkg::stream_scales_t       operand0_scales,
    output kiln_systolic_pkg::stream_scales_t       operand1_scales,
    output kiln_systolic_pkg::stream_scales_t       operand2_scales,
    output kiln_systolic_pkg::stream_scales_t       target_scales,
    output kiln_systolic_pkg::pass_t                pass0,
    output kiln_systolic_pkg::pass_t                pass1,
    output kiln_systolic_pkg::pass_t                pass2,
    output kiln_systolic_pkg::pass_t                pass3,
    output logic                                    stage_valid,
    output logic [                             1:0] stage_pass,
    output logic                                    stage_scalar,
    output logic [                             3:0] stage_number,
    output kiln_systolic_pkg::stage_t               stage
);
  localparam int BITS = kiln_systolic_pkg::PAYLOAD_BITS;
  localparam int COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam int ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS;
  localparam logic BLOCKS = BLOCK_SIZE != 0;
  localparam logic DEPTHWISE = DEPTHWISE_MULTIPLIERS != 0;
  localparam logic USER = USER_UNIT != 0;
  localparam logic [1:0] OUTPUT = 2'd3;  // the number of the output among the streams

  // ---- The word, and its payload seen as a word of every section. Every word of view v is the
  // payload, so that member m of v has the value that it would have in this word.
  logic [7:0] tag;  // a kiln_systolic_pkg::tag_t, or an undefined value
  logic [7:0] index;
  logic [BITS-1:0] payload;
  assign tag = word[127:120];
  assign index = word[119:112];
  assign payload = word[111:0];

  kiln_systolic_pkg::header_t header_view;
  kiln_systolic_pkg::tiling_t tiling_view;
  kiln_systolic_pkg::reduction_t reduction_view;
  kiln_systolic_pkg::region_t region_view;
  kiln_systolic_pkg::input_t input_view;
  kiln_systolic_pkg::weights_t weights_view;
  kiln_systolic_pkg::parameters_t parameters_view;
  kiln_systolic_pkg::vector_t vector_view;
  kiln_systolic_pkg::stream_t stream_view;
  kiln_systolic_pkg::window_t window_view;
  kiln_systolic_pkg::pass_t pass_view;
  kiln_systolic_pkg::stage_t stage_view;
  assign header_view = payload;
  assign tiling_view = {kiln_systolic_pkg::TILING_WORDS{payload}};
  assign reduction_view = {kiln_systolic_pkg::REDUCTION_WORDS{payload}};
  assign region_view = {kiln_systolic_pkg::REGION_WORDS{payload}};
  assign input_view = {kiln_systolic_pkg::INPUT_WORDS{payload}};
  assign weights_view = {kiln_systolic_pkg::WEIGHTS_WORDS{payload}};
  assign parameters_view = payload;
  assign vector_view = {kiln_systolic_pkg::VECTOR_WORDS{payload}};
  assign stream_view = {kiln_systolic_pkg::STREAM_WORDS{payload}};
  assign window_view = {kiln_systolic_pkg::WINDOW_WORDS{payload}};
  assign pass_view = payload;
  assign stage_view = payload;

  // ---- The expected next word.
  logic [7:0] expected_tag, next_tag;
  logic [7:0] expected_index, next_index;
  logic [15:0] words;  // words of the instruction that have been taken
  logic [3:0] stages, scalar_stages;  // of the current pass
  logic [1:0] pass;  // number of the current pass
  logic ends;  // the word is the last of its instruction
  logic taken;
  assign begins = expected_tag == kiln_systolic_pkg::TAG_HEADER;
  assign word_ready = !complete && !error;
  assign taken = word_valid && word_ready;

  logic stream_ends, pass_ends;  // the stream and its scales end; the pass and its stages end
  logic [1:0] stream;
  logic stream_blocks;
  assign stream = index[5:4];
  always_comb begin
    unique case (stream)
      2'd0: stream_blocks = header.operand_blocks[0];
      2'd1: stream_blocks = header.operand_blocks[1];
      2'd2: stream_blocks = header.operand_blocks[2];
      default: stream_blocks = header.output_blocks;
    endcase
  end

  logic [3:0] pass_stages, pass_scalar_stages;  // of the pass that the word belongs to
  always_comb begin
    pass_stages = tag == kiln_systolic_pkg::TAG_PASS ? pass_view.stages : stages;
    pass_scalar_stages =
        tag == kiln_systolic_pkg::TAG_PASS ? pass_view.scalar_stages : scalar_stages;
  end

  always_comb begin
    next_tag = tag;
    next_index = index + 8'd1;
    ends = 1'b0;
    stream_ends = 1'b0;
    pass_ends = 1'b0;
    case (tag)
      kiln_systolic_pkg::TAG_HEADER: begin
        next_index = '0;
        next_tag = header_view.opcode == kiln_systolic_pkg::OPCODE_VECTOR ?
            kiln_systolic_pkg::TAG_VECTOR : kiln_systolic_pkg::TAG_TILING;
        ends = header_view.opcode == kiln_systolic_pkg::OPCODE_END;
      end
      kiln_systolic_pkg::TAG_TILING:
      if (index == 8'(kiln_systolic_pkg::TILING_WORDS - 1)) begin
        next_tag = kiln_systolic_pkg::TAG_REDUCTION;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_REDUCTION:
      if (index == 8'(kiln_systolic_pkg::REDUCTION_WORDS - 1)) begin
        next_tag = kiln_systolic_pkg::TAG_REGION;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_REGION:
      if (index == 8'(kiln_systolic_pkg::REGION_WORDS - 1)) begin
        next_tag = kiln_systolic_pkg::TAG_INPUT;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_INPUT:
      if (index == 8'(kiln_systolic_pkg::INPUT_WORDS - 1)) begin
        next_tag = header.input_blocks ? kiln_systolic_pkg::TAG_INPUT_SCALES :
            kiln_systolic_pkg::TAG_WEIGHTS;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_INPUT_SCALES:
      if (index == 8'(kiln_systolic_pkg::INPUT_SCALES_WORDS - 1)) begin
        next_tag = kiln_systolic_pkg::TAG_WEIGHTS;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_WEIGHTS:
      if (index == 8'(kiln_systolic_pkg::WEIGHTS_WORDS - 1)) begin
        next_tag = header.weight_blocks ? kiln_systolic_pkg::TAG_WEIGHT_SCALES :
            kiln_systolic_pkg::TAG_PARAMETERS;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_WEIGHT_SCALES:
      if (index == 8'(kiln_systolic_pkg::WEIGHT_SCALES_WORDS - 1)) begin
        next_tag = kiln_systolic_pkg::TAG_PARAMETERS;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_PARAMETERS: begin
        next_tag = kiln_systolic_pkg::TAG_VECTOR;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_VECTOR:
      if (index == 8'(kiln_systolic_pkg::VECTOR_WORDS - 1)) begin
        next_tag = header.operands != '0 ? kiln_systolic_pkg::TAG_STREAM :
            header.window ? kiln_systolic_pkg::TAG_WINDOW : kiln_systolic_pkg::TAG_PASS;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_STREAM:
      if (index[3:0] == 4'(kiln_systolic_pkg::STREAM_WORDS - 1)) begin
        next_tag = kiln_systolic_pkg::TAG_STREAM_SCALES;
        next_index = {index[7:4], 4'd0};
        stream_ends = !stream_blocks;
      end
      kiln_systolic_pkg::TAG_STREAM_SCALES: stream_ends =
          index[3:0] == 4'(kiln_systolic_pkg::STREAM_SCALES_WORDS - 1);
      kiln_systolic_pkg::TAG_WINDOW:
      if (index == 8'(kiln_systolic_pkg::WINDOW_WORDS - 1)) begin
        next_tag = kiln_systolic_pkg::TAG_PASS;
        next_index = '0;
      end
      kiln_systolic_pkg::TAG_PASS: begin
        next_tag = kiln_systolic_pkg::TAG_STAGE;
        next_index = {1'b0, index[1:0], pass_stages == '0, 4'd0};
        pass_ends = pass_stages == '0 && pass_scalar_stages == '0;
      end
      kiln_systolic_pkg::TAG_STAGE:
      if (index[4]) begin
        pass_ends = index[3:0] == pass_scalar_stages - 4'd1;
      end else if (index[3:0] == pass_stages - 4'd1) begin
        next_index = {index[7:5], 5'b1_0000};
        pass_ends  = pass_scalar_stages == '0;
      end
      default: ;
    endcase
    if (stream_ends) begin
      next_index = '0;
      next_tag = header.window ? kiln_systolic_pkg::TAG_WINDOW : kiln_systolic_pkg::TAG_PASS;
      if (stream == OUTPUT) ends = 1'b1;
      else if (stream + 2'd1 != header.operands) begin
        next_tag   = kiln_systolic_pkg::TAG_STREAM;
        next_index = {2'b00, stream + 2'd1, 4'd0};
      end
    end
    if (pass_ends) begin
      // `pass` is the pass of the stages; a PASS word has the number of its own pass.
      if ({1'b0, tag == kiln_systolic_pkg::TAG_PASS ? index[1:0] : pass} + 3'd1 ==
          header.passes) begin
        next_tag   = kiln_systolic_pkg::TAG_STREAM;
        next_index = {2'b00, OUTPUT, 4'd0};
      end else begin
        next_tag   = kiln_systolic_pkg::TAG_PASS;
        next_index = {6'd0, (tag == kiln_systolic_pkg::TAG_PASS ? index[1:0] : pass) + 2'd1};
      end
    end
  end

  // ---- The checks of the word.
  // Returns whether a count is 0 or larger than `most`.
  function automatic logic bad(input logic [COUNT_BITS-1:0] count, input int unsigned most);
    bad = count == '0 || {8'd0, count} > most;
  endfunction
  // Returns whether an address is outside the memory.
  function automatic logic outside(input logic [ADDRESS_BITS-1:0] address);
    outside = 64'(address) >= MEMORY_BYTES;
  endfunction
  // Returns whether a stage's argument is undefined, an operand that the program does not have, or
  // (in a scalar stage) an argument that only lanes have.
  function automatic logic meaningless(input logic [3:0] argument, input logic scalar,
      input logic [1:0] operands);
    logic operand;
    operand = argument >= kiln_systolic_pkg::ARGUMENT_OPERAND0 &&
        argument <= kiln_systolic_pkg::ARGUMENT_OPERAND2;
    meaningless = argument > kiln_systolic_pkg::ARGUMENT_SAVED1 ||
        operand &&
            (scalar || argument - kiln_systolic_pkg::ARGUMENT_OPERAND0 >= {2'b00, operands}) ||
        scalar && argument >= kiln_systolic_pkg::ARGUMENT_SAVED0;
  endfunction
  localparam int unsigned MOST = 32'h00ff_ffff;  // of any count

  // The class of a stage's operation, and the stages that have the hardware for it.
  localparam logic [15:0] stage_functions =
      16'(VECTOR_FUNCTION_STAGES), stage_dividers = 16'(VECTOR_DIVIDE_STAGES);
  logic is_function, is_division;
  assign is_function = stage_view.op == kiln_systolic_pkg::STAGE_FUNCTION ||
      stage_view.op == kiln_systolic_pkg::STAGE_RECIPROCAL ||
      stage_view.op == kiln_systolic_pkg::STAGE_RECIPROCAL_SQUARE_ROOT;
  assign is_division = stage_view.op == kiln_systolic_pkg::STAGE_DIVIDE;

  logic bad_opcode, bad_count, bad_address, bad_enumerator;
  always_comb begin
    bad_opcode = 1'b0;
    bad_count = 1'b0;
    bad_address = 1'b0;
    bad_enumerator = 1'b0;
    case (tag)
      kiln_systolic_pkg::TAG_HEADER: begin
        bad_opcode = header_view.opcode > kiln_systolic_pkg::OPCODE_VECTOR ||
            header_view.opcode == kiln_systolic_pkg::OPCODE_DEPTHWISE && !DEPTHWISE ||
            header_view.user_unit && !(USER &&
                header_view.opcode == kiln_systolic_pkg::OPCODE_DEPTHWISE) ||
            !BLOCKS && {header_view.input_blocks, header_view.weight_blocks,
                header_view.operand_blocks,
                        header_view.output_blocks} != '0;
        bad_count = header_view.opcode != kiln_systolic_pkg::OPCODE_END &&
            (bad(COUNT_BITS'(header_view.passes),
                header_view.opcode == kiln_systolic_pkg::OPCODE_VECTOR ?
                kiln_systolic_pkg::MAX_PASSES : 1) ||
             header_view.window && header_view.operands == '0);
        // Only the array has further precisions, and these have no block scales.
        bad_enumerator = header_view.window &&
            header_view.opcode != kiln_systolic_pkg::OPCODE_VECTOR ||
            32'(header_view.precision) >= PRECISIONS ||
            header_view.precision != '0 &&
            (header_view.opcode != kiln_systolic_pkg::OPCODE_MATRIX || header_view.input_blocks ||
            header_view.weight_blocks);
      end
      kiln_systolic_pkg::TAG_TILING:
      case (index[1:0])
        2'd0:
          bad_count = bad(tiling_view.batch, MOST) || bad(tiling_view.tiles_y, MOST) ||
              bad(tiling_view.tiles_x, MOST) || bad(tiling_view.blocks, MOST);
        2'd1: bad_count = bad(tiling_view.tile_height, MOST) || bad(tiling_view.tile_width, MOST) ||
            tiling_view.last_tile_height == '0 ||
                tiling_view.last_tile_height > tiling_view.tile_height ||
            tiling_view.last_tile_width == '0 ||
                tiling_view.last_tile_width > tiling_view.tile_width;
        default:
          bad_count = bad(tiling_view.columns_per_block, MOST) ||
              tiling_view.last_block_columns == '0 ||
              tiling_view.last_block_columns > tiling_view.columns_per_block ||
              bad(COUNT_BITS'(tiling_view.last_tile_columns), ARRAY_COLUMNS) ||
              bad(tiling_view.tile_pixels, ACCUMULATION_BUFFER_WORDS);
      endcase
      kiln_systolic_pkg::TAG_REDUCTION:
      if (index == '0) begin
        bad_count = bad(reduction_view.groups_per_bank, MOST) || bad(reduction_view.groups, MOST) ||
            bad(reduction_view.fills, MOST) || reduction_view.last_fill_groups == '0 ||
            reduction_view.last_fill_groups > reduction_view.groups_per_bank ||
            bad(COUNT_BITS'(reduction_view.last_group_rows), ARRAY_ROWS);
      end else begin
        bad_count = bad(reduction_view.weight_tiles_per_bank, WEIGHT_BUFFER_WORDS / ARRAY_ROWS) ||
            bad(reduction_view.kernel_y, MOST) || bad(reduction_view.kernel_x, MOST) ||
            bad(reduction_view.rows_per_group, depthwise ? WEIGHT_BUFFER_WORDS : MOST);
      end
      kiln_systolic_pkg::TAG_REGION:
      case (index[1:0])
        2'd0: bad_count = bad(region_view.places_y, MOST) || bad(region_view.places_x, MOST) ||
            region_view.last_places_y == '0 || region_view.last_places_y > region_view.places_y ||
            region_view.last_places_x == '0 || region_view.last_places_x > region_view.places_x;
        2'd1:
          bad_count = bad(region_view.group_pitch, depthwise ? DEPTHWISE_BUFFER_WORDS :
              INPUT_BUFFER_WORDS) || bad(region_view.row_pitch, depthwise ? DEPTHWISE_BUFFER_WORDS :
              INPUT_BUFFER_WORDS);
        default: bad_count = depthwise && region_view.tap_steps == '0;
      endcase
      kiln_systolic_pkg::TAG_INPUT:
      case (index[2:0])
        3'd0: bad_address = outside(input_view.base);
        3'd1: bad_count = input_view.run_entries == '0;
        3'd4: bad_count = input_view.height == '0;
        3'd5: bad_count = input_view.width == '0;
        3'd6: bad_count = input_view.channels == '0;
        3'd7: bad_count = bad(input_view.stride_y, MOST) || bad(input_view.stride_x, MOST) ||
            bad(input_view.dilation_y, MOST) || bad(input_view.dilation_x, MOST);
        default: ;
      endcase
      kiln_systolic_pkg::TAG_WEIGHTS: begin
        bad_address = index == '0 && outside(weights_view.base);
        // Only matrix products have strided weights.
        bad_enumerator =
            index == '0 && weights_view.layout == kiln_systolic_pkg::LAYOUT_STRIDED && !matrix;
      end
      kiln_systolic_pkg::TAG_PARAMETERS: begin
        bad_address = outside(parameters_view.base);
        bad_count   = parameters_view.out_channels == '0;
      end
      kiln_systolic_pkg::TAG_VECTOR:
      if (index == '0) begin
        bad_count = bad(vector_view.outer0, MOST) || bad(vector_view.outer1, MOST) ||
            bad(vector_view.outer2, MOST) || bad(vector_view.outer3, MOST);
      end else begin
        bad_count = bad(vector_view.length, MOST) || bad(vector_view.words, MOST) ||
            bad(COUNT_BITS'(vector_view.last_lanes), ARRAY_COLUMNS) ||
            bad(COUNT_BITS'(vector_view.rows_in_flight), VECTOR_ROWS_IN_FLIGHT) ||
                vector_view.depth == '0;
      end
      kiln_systolic_pkg::TAG_STREAM: begin
        bad_address = index[3:0] == '0 && outside(stream_view.base);
        bad_enumerator = index[3:0] == '0 &&
            (stream_view.access > kiln_systolic_pkg::ACCESS_STRIDED ||
            !INTEGER_ELEMENTS && stream_view.element <= kiln_systolic_pkg::ELEMENT_INT32 ||
            32'(stream_view.element) >= 32'(kiln_systolic_pkg::ELEMENT_INPUT) + 2 * PRECISIONS);
      end
      kiln_systolic_pkg::TAG_WINDOW:
      case (index[2:0])
        3'd0: begin
          bad_count = bad(window_view.window_y, MOST) || bad(window_view.window_x, MOST) ||
              bad(window_view.stride_y, MOST) || bad(window_view.stride_x, MOST);
          bad_enumerator = window_view.combine != kiln_systolic_pkg::COMBINE_MAX &&
              window_view.combine != kiln_systolic_pkg::COMBINE_SUM;
        end
        3'd1: bad_count = bad(window_view.dilation_y, MOST) || bad(window_view.dilation_x, MOST);
        3'd2: bad_count = bad(window_view.height, MOST) || bad(window_view.width, MOST);
        default: ;
      endcase
      kiln_systolic_pkg::TAG_PASS: begin
        bad_count = COUNT_BITS'(pass_view.stages) > COUNT_BITS'(VECTOR_STAGES) ||
            COUNT_BITS'(pass_view.scalar_stages) > COUNT_BITS'(VECTOR_STAGES);
        // Accumulators pass through once: nothing on chip is kept of them.
        bad_enumerator = pass_view.reduce > kiln_systolic_pkg::REDUCE_MAX ||
            (matrix || depthwise) != (pass_view.source == kiln_systolic_pkg::SOURCE_ACCUMULATOR) ||
            (matrix || depthwise) && (pass_view.reduce != kiln_systolic_pkg::REDUCE_NONE ||
                pass_view.to_row_buffer) ||
            pass_view.source == kiln_systolic_pkg::SOURCE_OPERAND0 && header.operands == '0;
      end
      kiln_systolic_pkg::TAG_STAGE: begin
        bad_opcode = is_function && !stage_functions[index[3:0]] ||
            is_division && !stage_dividers[index[3:0]];
        bad_enumerator = meaningless(stage_view.a, index[4], header.operands) ||
            meaningless(stage_view.b, index[4], header.operands) ||
                stage_view.kind > kiln_systolic_pkg::FUNCTION_ELU;
      end
      default: ;
    endcase
  end

  logic [15:0] length;
  kiln_control_pkg::error_t found;
  assign length = begins ? header_view.length : header.length;
  always_comb begin
    found = kiln_control_pkg::ERROR_NONE;
    if (tag != expected_tag || index != expected_index) found = kiln_control_pkg::ERROR_ORDER;
    else if (bad_opcode) found = kiln_control_pkg::ERROR_OPCODE;
    else if (bad_enumerator) found = kiln_control_pkg::ERROR_ENUMERATOR;
    else if (bad_count) found = kiln_control_pkg::ERROR_COUNT;
    else if (bad_address) found = kiln_control_pkg::ERROR_ADDRESS;
    else if (ends != (words + 16'd1 == length)) found = kiln_control_pkg::ERROR_LENGTH;
  end

  always_ff @(posedge clock) begin
    if (reset || clear) begin
      expected_tag   <= kiln_systolic_pkg::TAG_HEADER;
      expected_index <= '0;
      words          <= '0;
      complete       <= 1'b0;
      error          <= 1'b0;
      error_code     <= kiln_control_pkg::ERROR_NONE;
      place          <= '0;
    end else begin
      if (next) complete <= 1'b0;
      if (taken) begin
        place <= words;
        if (found != kiln_control_pkg::ERROR_NONE) begin
          error      <= 1'b1;
          error_code <= found;
        end else if (ends) begin
          complete       <= 1'b1;
          expected_tag   <= kiln_systolic_pkg::TAG_HEADER;
          expected_index <= '0;
          words          <= '0;
        end else begin
          expected_tag   <= next_tag;
          expected_index <= next_index;
          words          <= words + 16'd1;
        end
      end
    end
  end

  // ---- Sections.
  // With the header, sections that an instruction may omit are set to 0.
  logic clears;
  logic [BITS-1:0] section_payload;
  assign clears = taken && tag == kiln_systolic_pkg::TAG_HEADER;
  assign section_payload = tag == kiln_systolic_pkg::TAG_HEADER ? '0 : payload;
  always_ff @(posedge clock) begin
    if (taken) begin
      case (tag)
        kiln_systolic_pkg::TAG_HEADER: begin
          header    <= {
            payload[BITS-1-:kiln_systolic_pkg::HEADER_USED],
            {(BITS - kiln_systolic_pkg::HEADER_USED) {1'b0}}
          };
          matrix    <= header_view.opcode == kiln_systolic_pkg::OPCODE_MATRIX;
          depthwise <= header_view.opcode == kiln_systolic_pkg::OPCODE_DEPTHWISE;
          is_end    <= header_view.opcode == kiln_systolic_pkg::OPCODE_END;
        end
        kiln_systolic_pkg::TAG_PARAMETERS: parameters <= payload;
        kiln_systolic_pkg::TAG_PASS: begin
          pass          <= index[1:0];
          stages        <= pass_view.stages;
          scalar_stages <= pass_view.scalar_stages;
        end
        default: ;
      endcase
    end
  end

  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::TILING_WORDS),
      .USED (kiln_systolic_pkg::TILING_USED)
  ) tiling_words (
      .clock,
      .fill(clears),
      .write(taken && tag == kiln_systolic_pkg::TAG_TILING),
      .index(index[3:0]),
      .payload(section_payload),
      .section(tiling)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::REDUCTION_WORDS),
      .USED (kiln_systolic_pkg::REDUCTION_USED)
  ) reduction_words (
      .clock,
      .fill(1'b0),
      .write(taken && tag == kiln_systolic_pkg::TAG_REDUCTION),
      .index(index[3:0]),
      .payload(section_payload),
      .section(reduction)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::REGION_WORDS),
      .USED (kiln_systolic_pkg::REGION_USED)
  ) region_words (
      .clock,
      .fill(1'b0),
      .write(taken && tag == kiln_systolic_pkg::TAG_REGION),
      .index(index[3:0]),
      .payload(section_payload),
      .section(region)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::INPUT_WORDS),
      .USED (kiln_systolic_pkg::INPUT_USED)
  ) input_words (
      .clock,
      .fill(1'b0),
      .write(taken && tag == kiln_systolic_pkg::TAG_INPUT),
      .index(index[3:0]),
      .payload(section_payload),
      .section(image)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::WEIGHTS_WORDS),
      .USED (kiln_systolic_pkg::WEIGHTS_USED)
  ) weights_words (
      .clock,
      .fill(1'b0),
      .write(taken && tag == kiln_systolic_pkg::TAG_WEIGHTS),
      .index(index[3:0]),
      .payload(section_payload),
      .section(weights)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::VECTOR_WORDS),
      .USED (kiln_systolic_pkg::VECTOR_USED)
  ) vector_words (
      .clock,
      .fill(1'b0),
      .write(taken && tag == kiln_systolic_pkg::TAG_VECTOR),
      .index(index[3:0]),
      .payload(section_payload),
      .section(loops)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::WINDOW_WORDS),
      .USED (kiln_systolic_pkg::WINDOW_USED)
  ) window_words (
      .clock,
      .fill(clears),
      .write(taken && tag == kiln_systolic_pkg::TAG_WINDOW),
      .index(index[3:0]),
      .payload(section_payload),
      .section(window)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::MAX_PASSES),
      .USED (kiln_systolic_pkg::PASSES_USED)
  ) pass_words (
      .clock,
      .fill(clears),
      .write(taken && tag == kiln_systolic_pkg::TAG_PASS),
      .index({2'b00, index[1:0]}),
      .payload(section_payload),
      .section({pass0, pass1, pass2, pass3})
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::STREAM_WORDS),
      .USED (kiln_systolic_pkg::stream_used(6'(SCALE_BITS), INTEGER_ELEMENTS, 1'b0))
  ) operand0_words (
      .clock,
      .fill(clears),
      .write(taken && tag == kiln_systolic_pkg::TAG_STREAM && stream == 2'd0),
      .index(index[3:0]),
      .payload(section_payload),
      .section(operand0)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::STREAM_WORDS),
      .USED (kiln_systolic_pkg::stream_used(6'(SCALE_BITS), INTEGER_ELEMENTS, 1'b0))
  ) operand1_words (
      .clock,
      .fill(clears),
      .write(taken && tag == kiln_systolic_pkg::TAG_STREAM && stream == 2'd1),
      .index(index[3:0]),
      .payload(section_payload),
      .section(operand1)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::STREAM_WORDS),
      .USED (kiln_systolic_pkg::stream_used(6'(SCALE_BITS), INTEGER_ELEMENTS, 1'b0))
  ) operand2_words (
      .clock,
      .fill(clears),
      .write(taken && tag == kiln_systolic_pkg::TAG_STREAM && stream == 2'd2),
      .index(index[3:0]),
      .payload(section_payload),
      .section(operand2)
  );
  kiln_section_register #(
      .WORDS(kiln_systolic_pkg::STREAM_WORDS),
      .USED (kiln_systolic_pkg::stream_used(6'(SCALE_BITS), INTEGER_ELEMENTS, 1'b1))
  ) target_words (
      .clock,
      .fill(clears),
      .write(taken && tag == kiln_systolic_pkg::TAG_STREAM && stream == 2'd3),
      .index(index[3:0]),
      .payload(section_payload),
      .section(target)
  );

  if (BLOCKS) begin : g_scales
    kiln_section_register #(
        .WORDS(kiln_systolic_pkg::INPUT_SCALES_WORDS),
        .USED (kiln_systolic_pkg::INPUT_SCALES_USED)
    ) input_words (
        .clock,
        .fill(1'b0),
        .write(taken && tag == kiln_systolic_pkg::TAG_INPUT_SCALES),
        .index(index[3:0]),
        .payload(section_payload),
        .section(input_scales)
    );
    kiln_section_register #(
        .WORDS(kiln_systolic_pkg::WEIGHT_SCALES_WORDS),
        .USED (kiln_systolic_pkg::WEIGHT_SCALES_USED)
    ) weight_words (
        .clock,
        .fill(1'b0),
        .write(taken && tag == kiln_systolic_pkg::TAG_WEIGHT_SCALES),
        .index(index[3:0]),
        .payload(section_payload),
        .section(weight_scales)
    );
    kiln_section_register #(
        .WORDS(kiln_systolic_pkg::STREAM_SCALES_WORDS),
        .USED (kiln_systolic_pkg::OPERAND0_SCALES_USED)
    ) operand0_words (
        .clock,
        .fill(1'b0),
        .write(taken && tag == kiln_systolic_pkg::TAG_STREAM_SCALES && stream == 2'd0),
        .index(index[3:0]),
        .payload(section_payload),
        .section(operand0_scales)
    );
    kiln_section_register #(
        .WORDS(kiln_systolic_pkg::STREAM_SCALES_WORDS),
        .USED (kiln_systolic_pkg::STREAM_SCALES_USED)
    ) operand1_words (
        .clock,
        .fill(1'b0),
        .write(taken && tag == kiln_systolic_pkg::TAG_STREAM_SCALES && stream == 2'd1),
        .index(index[3:0]),
        .payload(section_payload),
        .section(operand1_scales)
    );
    kiln_section_register #(
        .WORDS(kiln_systolic_pkg::STREAM_SCALES_WORDS),
        .USED (kiln_systolic_pkg::STREAM_SCALES_USED)
    ) operand2_words (
        .clock,
        .fill(1'b0),
        .write(taken && tag == kiln_systolic_pkg::TAG_STREAM_SCALES && stream == 2'd2),
        .index(index[3:0]),
        .payload(section_payload),
        .section(operand2_scales)
    );
    kiln_section_register #(
        .WORDS(kiln_systolic_pkg::STREAM_SCALES_WORDS),
        .USED (kiln_systolic_pkg::STREAM_SCALES_USED)
    ) target_words (
        .clock,
        .fill(1'b0),
        .write(taken && tag == kiln_systolic_pkg::TAG_STREAM_SCALES && stream == 2'd3),
        .index(index[3:0]),
        .payload(section_payload),
        .section(target_scales)
    );
  end else begin : g_no_scales
    assign input_scales = '0;
    assign weight_scales = '0;
    assign {operand0_scales, operand1_scales, operand2_scales, target_scales} = '0;
  end

  assign stage_valid = taken && tag == kiln_systolic_pkg::TAG_STAGE;
  assign stage_pass = index[6:5];
  assign stage_scalar = index[4];
  assign stage_number = index[3:0];
  assign stage = stage_view;

  // Members whose values need no check, and members of words other than the current one.
  wire unused_views = &{1'b0, header_view, tiling_view, reduction_view, region_view, input_view,
      weights_view, parameters_view, vector_view, stream_view, window_view, pass_view};
endmodule
