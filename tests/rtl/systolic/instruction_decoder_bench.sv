// kiln_instruction_decoder, with every member of its sections selected by number and sign-extended
// to 64 bits. kiln_instruction_decoder_test.cc uses the same numbers and has the corresponding
// member in C++.
module instruction_decoder_bench (
    input  logic         clock,
    input  logic         reset,
    input  logic         clear,
    input  logic         word_valid,
    output logic         word_ready,
    input  logic [127:0] word,
    output logic         begins,
    output logic         complete,
    input  logic         next,
    output logic         error,
    output logic [  7:0] error_code,
    output logic [ 15:0] place,
    output logic         matrix,
    output logic         depthwise,
    output logic         is_end,
    input  logic [  9:0] member,
    output logic [ 63:0] value,
    output logic         stage_valid,
    output logic [  1:0] stage_pass,
    output logic         stage_scalar,
    output logic [  3:0] stage_number,
    input  logic [  2:0] stage_member,
    output logic [ 63:0] stage_value
);
  kiln_control_pkg::error_t code;
  assign error_code = code;
  kiln_systolic_pkg::header_t header;
  kiln_systolic_pkg::tiling_t tiling;
  kiln_systolic_pkg::reduction_t reduction;
  kiln_systolic_pkg::region_t region;
  kiln_systolic_pkg::input_t image;
  kiln_systolic_pkg::input_scales_t input_scales;
  kiln_systolic_pkg::weights_t weights;
  kiln_systolic_pkg::weight_scales_t weight_scales;
  kiln_systolic_pkg::parameters_t parameters;
  kiln_systolic_pkg::vector_t loops;
  kiln_systolic_pkg::window_t window;
  kiln_systolic_pkg::stream_t operand0;
  kiln_systolic_pkg::stream_t operand1;
  kiln_systolic_pkg::stream_t operand2;
  kiln_systolic_pkg::stream_t target;
  kiln_systolic_pkg::stream_scales_t operand0_scales;
  kiln_systolic_pkg::stream_scales_t operand1_scales;
  kiln_systolic_pkg::stream_scales_t operand2_scales;
  kiln_systolic_pkg::stream_scales_t target_scales;
  kiln_systolic_pkg::pass_t pass0;
  kiln_systolic_pkg::pass_t pass1;
  kiln_systolic_pkg::pass_t pass2;
  kiln_systolic_pkg::pass_t pass3;
  kiln_systolic_pkg::stage_t stage;
  kiln_instruction_decoder #(
      .ARRAY_ROWS(8),
      .ARRAY_COLUMNS(8),
      .INPUT_BUFFER_WORDS(256),
      .WEIGHT_BUFFER_WORDS(192),
      .ACCUMULATION_BUFFER_WORDS(64),
      .DEPTHWISE_MULTIPLIERS(9),
      .DEPTHWISE_BUFFER_WORDS(256),
      .VECTOR_STAGES(12),
      .VECTOR_FUNCTION_STAGES(12'hdfa),
      .VECTOR_DIVIDE_STAGES(12'hff4),
      .VECTOR_ROWS_IN_FLIGHT(8),
      .BLOCK_SIZE(8),
      .PRECISIONS(3),
      .MEMORY_BYTES(64'd1 << 30)
  ) decoder (
      .clock,
      .reset,
      .clear,
      .word_valid,
      .word_ready,
      .word,
      .begins,
      .complete,
      .next,
      .error,
      .error_code(code),
      .place,
      .matrix,
      .depthwise,
      .is_end,
      .header,
      .tiling,
      .reduction,
      .region,
      .image,
      .input_scales,
      .weights,
      .weight_scales,
      .parameters,
      .loops,
      .window,
      .operand0,
      .operand1,
      .operand2,
      .target,
      .operand0_scales,
      .operand1_scales,
      .operand2_scales,
      .target_scales,
      .pass0,
      .pass1,
      .pass2,
      .pass3,
      .stage_valid,
      .stage_pass,
      .stage_scalar,
      .stage_number,
      .stage
  );
  always_comb begin
    case (member)
      // header
      0: value = 64'(header.opcode);
      1: value = 64'(header.wait_distance);
      2: value = 64'(header.window);
      3: value = 64'(header.input_blocks);
      4: value = 64'(header.weight_blocks);
      5: value = 64'(header.operand_blocks);
      6: value = 64'(header.output_blocks);
      7: value = 64'(header.operands);
      8: value = 64'(header.passes);
      9: value = 64'(header.length);
      10: value = 64'({header.user_unit, header.kernel});
      // tiling
      11: value = 64'(tiling.batch);
      12: value = 64'(tiling.tiles_y);
      13: value = 64'(tiling.tiles_x);
      14: value = 64'(tiling.blocks);
      15: value = 64'(tiling.order);
      16: value = 64'(tiling.packing);
      17: value = 64'(tiling.inputs_resident);
      18: value = 64'(tiling.weights_resident);
      19: value = 64'(tiling.parameters_by_batch);
      20: value = 64'(tiling.tile_height);
      21: value = 64'(tiling.tile_width);
      22: value = 64'(tiling.last_tile_height);
      23: value = 64'(tiling.last_tile_width);
      24: value = 64'(tiling.columns_per_block);
      25: value = 64'(tiling.last_block_columns);
      26: value = 64'(tiling.last_tile_columns);
      27: value = 64'(tiling.tile_pixels);
      28: value = 64'(tiling.visits);
      // reduction
      29: value = 64'(reduction.groups_per_bank);
      30: value = 64'(reduction.groups);
      31: value = 64'(reduction.fills);
      32: value = 64'(reduction.last_fill_groups);
      33: value = 64'(reduction.last_group_rows);
      34: value = 64'(reduction.weight_tiles_per_bank);
      35: value = 64'(reduction.kernel_y);
      36: value = 64'(reduction.kernel_x);
      37: value = 64'(reduction.rows_per_group);
      // region
      38: value = 64'(region.places_y);
      39: value = 64'(region.places_x);
      40: value = 64'(region.last_places_y);
      41: value = 64'(region.last_places_x);
      42: value = 64'(region.compact_y);
      43: value = 64'(region.compact_x);
      44: value = 64'(region.row_pitch);
      45: value = 64'(region.group_pitch);
      46: value = 64'(region.output_row_step);
      47: value = 64'(region.output_column_step);
      48: value = 64'(region.tap_row_step);
      49: value = 64'(region.tap_column_step);
      50: value = 64'(region.tap_steps);
      // image
      51: value = 64'(image.base);
      52: value = 64'(image.batch_stride);
      53: value = 64'(image.pad_code);
      54: value = 64'(image.row_stride);
      55: value = 64'(image.column_stride);
      56: value = 64'(image.run_entries);
      57: value = 64'(image.row_origin);
      58: value = 64'(image.column_origin);
      59: value = 64'(image.tile_rows);
      60: value = 64'(image.tile_row_stride);
      61: value = 64'(image.tile_column_stride);
      62: value = 64'(image.tile_columns);
      63: value = 64'(image.output_row_stride);
      64: value = 64'(image.output_column_stride);
      65: value = 64'(image.height);
      66: value = 64'(image.tap_row_stride);
      67: value = 64'(image.tap_column_stride);
      68: value = 64'(image.width);
      69: value = 64'(image.row_bytes);
      70: value = 64'(image.channels);
      71: value = 64'(image.pad_top);
      72: value = 64'(image.pad_left);
      73: value = 64'(image.stride_y);
      74: value = 64'(image.stride_x);
      75: value = 64'(image.dilation_y);
      76: value = 64'(image.dilation_x);
      77: value = 64'(image.joined);
      // input_scales
      78: value = 64'(input_scales.base);
      79: value = 64'(input_scales.batch_stride);
      80: value = 64'(input_scales.row_stride);
      81: value = 64'(input_scales.column_stride);
      82: value = 64'(input_scales.row_origin);
      83: value = 64'(input_scales.column_origin);
      84: value = 64'(input_scales.tile_row_stride);
      85: value = 64'(input_scales.tile_column_stride);
      86: value = 64'(input_scales.output_row_stride);
      87: value = 64'(input_scales.output_column_stride);
      88: value = 64'(input_scales.tap_row_stride);
      89: value = 64'(input_scales.tap_column_stride);
      // weights
      90: value = 64'(weights.base);
      91: value = 64'(weights.batch_stride);
      92: value = 64'(weights.layout);
      93: value = 64'(weights.by_columns);
      94: value = 64'(weights.code_bits);
      95: value = 64'(weights.row_stride);
      96: value = 64'(weights.column_stride);
      97: value = 64'(weights.group_stride);
      98: value = 64'(weights.column_tile_stride);
      // weight_scales
      99: value = 64'(weight_scales.base);
      100: value = 64'(weight_scales.batch_stride);
      101: value = 64'(weight_scales.row_stride);
      102: value = 64'(weight_scales.column_stride);
      103: value = 64'(weight_scales.group_stride);
      104: value = 64'(weight_scales.column_tile_stride);
      // parameters
      105: value = 64'(parameters.base);
      106: value = 64'(parameters.batch_stride);
      107: value = 64'(parameters.out_channels);
      // loops
      108: value = 64'(loops.outer0);
      109: value = 64'(loops.outer1);
      110: value = 64'(loops.outer2);
      111: value = 64'(loops.outer3);
      112: value = 64'(loops.length);
      113: value = 64'(loops.words);
      114: value = 64'(loops.last_lanes);
      115: value = 64'(loops.rows_in_flight);
      116: value = 64'(loops.depth);
      117: value = 64'(loops.reads_memory);
      // window
      118: value = 64'(window.window_y);
      119: value = 64'(window.window_x);
      120: value = 64'(window.stride_y);
      121: value = 64'(window.stride_x);
      122: value = 64'(window.combine);
      123: value = 64'(window.average);
      124: value = 64'(window.divide_by_valid);
      125: value = 64'(window.dilation_y);
      126: value = 64'(window.dilation_x);
      127: value = 64'(window.pad_top);
      128: value = 64'(window.pad_left);
      129: value = 64'(window.height);
      130: value = 64'(window.width);
      131: value = 64'(window.factor);
      132: value = 64'(window.row_stride);
      133: value = 64'(window.column_stride);
      134: value = 64'(window.row_origin);
      135: value = 64'(window.column_origin);
      136: value = 64'(window.output_row_stride);
      137: value = 64'(window.output_column_stride);
      138: value = 64'(window.tap_row_stride);
      139: value = 64'(window.tap_column_stride);
      // operand0
      140: value = 64'(operand0.base);
      141: value = 64'(operand0.element_stride);
      142: value = 64'(operand0.element);
      143: value = 64'(operand0.access);
      144: value = 64'(operand0.outer_stride0);
      145: value = 64'(operand0.outer_stride1);
      146: value = 64'(operand0.scale);
      147: value = 64'(operand0.outer_stride2);
      148: value = 64'(operand0.outer_stride3);
      149: value = 64'(operand0.zero_point);
      150: value = 64'(operand0.word_stride);
      151: value = 64'(operand0.low);
      152: value = 64'(operand0.high);
      // operand1
      153: value = 64'(operand1.base);
      154: value = 64'(operand1.element_stride);
      155: value = 64'(operand1.element);
      156: value = 64'(operand1.access);
      157: value = 64'(operand1.outer_stride0);
      158: value = 64'(operand1.outer_stride1);
      159: value = 64'(operand1.scale);
      160: value = 64'(operand1.outer_stride2);
      161: value = 64'(operand1.outer_stride3);
      162: value = 64'(operand1.zero_point);
      163: value = 64'(operand1.word_stride);
      164: value = 64'(operand1.low);
      165: value = 64'(operand1.high);
      // operand2
      166: value = 64'(operand2.base);
      167: value = 64'(operand2.element_stride);
      168: value = 64'(operand2.element);
      169: value = 64'(operand2.access);
      170: value = 64'(operand2.outer_stride0);
      171: value = 64'(operand2.outer_stride1);
      172: value = 64'(operand2.scale);
      173: value = 64'(operand2.outer_stride2);
      174: value = 64'(operand2.outer_stride3);
      175: value = 64'(operand2.zero_point);
      176: value = 64'(operand2.word_stride);
      177: value = 64'(operand2.low);
      178: value = 64'(operand2.high);
      // target
      179: value = 64'(target.base);
      180: value = 64'(target.element_stride);
      181: value = 64'(target.element);
      182: value = 64'(target.access);
      183: value = 64'(target.outer_stride0);
      184: value = 64'(target.outer_stride1);
      185: value = 64'(target.scale);
      186: value = 64'(target.outer_stride2);
      187: value = 64'(target.outer_stride3);
      188: value = 64'(target.zero_point);
      189: value = 64'(target.word_stride);
      190: value = 64'(target.low);
      191: value = 64'(target.high);
      // operand0_scales
      192: value = 64'(operand0_scales.base);
      193: value = 64'(operand0_scales.outer_stride0);
      194: value = 64'(operand0_scales.outer_stride1);
      195: value = 64'(operand0_scales.outer_stride2);
      196: value = 64'(operand0_scales.outer_stride3);
      197: value = 64'(operand0_scales.row_stride);
      198: value = 64'(operand0_scales.column_stride);
      199: value = 64'(operand0_scales.row_origin);
      200: value = 64'(operand0_scales.column_origin);
      201: value = 64'(operand0_scales.output_row_stride);
      202: value = 64'(operand0_scales.output_column_stride);
      203: value = 64'(operand0_scales.tap_row_stride);
      204: value = 64'(operand0_scales.tap_column_stride);
      // operand1_scales
      205: value = 64'(operand1_scales.base);
      206: value = 64'(operand1_scales.outer_stride0);
      207: value = 64'(operand1_scales.outer_stride1);
      208: value = 64'(operand1_scales.outer_stride2);
      209: value = 64'(operand1_scales.outer_stride3);
      210: value = 64'(operand1_scales.row_stride);
      211: value = 64'(operand1_scales.column_stride);
      212: value = 64'(operand1_scales.row_origin);
      213: value = 64'(operand1_scales.column_origin);
      214: value = 64'(operand1_scales.output_row_stride);
      215: value = 64'(operand1_scales.output_column_stride);
      216: value = 64'(operand1_scales.tap_row_stride);
      217: value = 64'(operand1_scales.tap_column_stride);
      // operand2_scales
      218: value = 64'(operand2_scales.base);
      219: value = 64'(operand2_scales.outer_stride0);
      220: value = 64'(operand2_scales.outer_stride1);
      221: value = 64'(operand2_scales.outer_stride2);
      222: value = 64'(operand2_scales.outer_stride3);
      223: value = 64'(operand2_scales.row_stride);
      224: value = 64'(operand2_scales.column_stride);
      225: value = 64'(operand2_scales.row_origin);
      226: value = 64'(operand2_scales.column_origin);
      227: value = 64'(operand2_scales.output_row_stride);
      228: value = 64'(operand2_scales.output_column_stride);
      229: value = 64'(operand2_scales.tap_row_stride);
      230: value = 64'(operand2_scales.tap_column_stride);
      // target_scales
      231: value = 64'(target_scales.base);
      232: value = 64'(target_scales.outer_stride0);
      233: value = 64'(target_scales.outer_stride1);
      234: value = 64'(target_scales.outer_stride2);
      235: value = 64'(target_scales.outer_stride3);
      236: value = 64'(target_scales.row_stride);
      237: value = 64'(target_scales.column_stride);
      238: value = 64'(target_scales.row_origin);
      239: value = 64'(target_scales.column_origin);
      240: value = 64'(target_scales.output_row_stride);
      241: value = 64'(target_scales.output_column_stride);
      242: value = 64'(target_scales.tap_row_stride);
      243: value = 64'(target_scales.tap_column_stride);
      // pass0
      244: value = 64'(pass0.source);
      245: value = 64'(pass0.reduce);
      246: value = 64'(pass0.into);
      247: value = 64'(pass0.to_row_buffer);
      248: value = 64'(pass0.to_memory);
      249: value = 64'(pass0.reads);
      250: value = 64'(pass0.stages);
      251: value = 64'(pass0.scalar_stages);
      252: value = 64'(pass0.gap);
      253: value = 64'(pass0.value);
      // pass1
      254: value = 64'(pass1.source);
      255: value = 64'(pass1.reduce);
      256: value = 64'(pass1.into);
      257: value = 64'(pass1.to_row_buffer);
      258: value = 64'(pass1.to_memory);
      259: value = 64'(pass1.reads);
      260: value = 64'(pass1.stages);
      261: value = 64'(pass1.scalar_stages);
      262: value = 64'(pass1.gap);
      263: value = 64'(pass1.value);
      // pass2
      264: value = 64'(pass2.source);
      265: value = 64'(pass2.reduce);
      266: value = 64'(pass2.into);
      267: value = 64'(pass2.to_row_buffer);
      268: value = 64'(pass2.to_memory);
      269: value = 64'(pass2.reads);
      270: value = 64'(pass2.stages);
      271: value = 64'(pass2.scalar_stages);
      272: value = 64'(pass2.gap);
      273: value = 64'(pass2.value);
      // pass3
      274: value = 64'(pass3.source);
      275: value = 64'(pass3.reduce);
      276: value = 64'(pass3.into);
      277: value = 64'(pass3.to_row_buffer);
      278: value = 64'(pass3.to_memory);
      279: value = 64'(pass3.reads);
      280: value = 64'(pass3.stages);
      281: value = 64'(pass3.scalar_stages);
      282: value = 64'(pass3.gap);
      283: value = 64'(pass3.value);
      // header again
      284: value = 64'(header.precision);
      default: value = '1;
    endcase
  end
  always_comb begin
    case (stage_member)
      0: stage_value = 64'(stage.op);
      1: stage_value = 64'(stage.a);
      2: stage_value = 64'(stage.b);
      3: stage_value = 64'(stage.kind);
      4: stage_value = 64'(stage.immediate_a);
      5: stage_value = 64'(stage.immediate_b);
      default: stage_value = '1;
    endcase
  end
  // Reserved bits.
  wire unused = &{1'b0, header, tiling, reduction, region, image, input_scales, weights,
                  weight_scales, parameters, loops, window, operand0, operand1, operand2, target,
                  operand0_scales, operand1_scales, operand2_scales, target_scales, pass0, pass1,
                  pass2, pass3, stage};
endmodule
