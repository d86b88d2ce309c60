// The queues of commands in front of the seven units. An instruction is available to a unit in the
// cycle after the one in which it enters the unit's queue.
//   pushes   bit i: the instruction enters queue i, which has room
//   rooms    bit i: queue i has room; a function of registers only
//   resets   one for each queue
//
// A queue stores the members of a command that its unit reads, a third to four fifths of its bits;
// the others are 0 in the commands that leave the queues.
module kiln_command_queues #(
    parameter int unsigned DEPTH = 4,
    parameter bit BLOCKS = 1'b0,  // with block scales
    parameter bit INTEGER_ELEMENTS = 1'b1,  // streams can have integers
    parameter int unsigned SCALE_BITS = 32,  // of a stream's scale
    localparam int unsigned QUEUES = 7,  // in the order of the ports
    localparam int unsigned INDEX_BITS = kiln_systolic_pkg::INDEX_BITS,
    localparam int unsigned SLOT_BITS = kiln_systolic_pkg::SLOT_BITS
) (
    input  logic clock,
    input  logic [QUEUES-1:0] resets,
    input  logic [QUEUES-1:0] pushes,
    output logic [QUEUES-1:0] rooms,
    // The instruction.
    input  logic [INDEX_BITS-1:0] number,
    input  logic [INDEX_BITS-1:0] first_block,
    input  logic [SLOT_BITS-1:0] slot,
    input  kiln_systolic_pkg::header_t header,
    input  kiln_systolic_pkg::tiling_t tiling,
    input  kiln_systolic_pkg::reduction_t reduction,
    input  kiln_systolic_pkg::region_t region,
    input  kiln_systolic_pkg::input_t image,
    input  kiln_systolic_pkg::input_scales_t input_scales,
    input  kiln_systolic_pkg::weights_t weights,
    input  kiln_systolic_pkg::weight_scales_t weight_scales,
    input  kiln_systolic_pkg::parameters_t parameters,
    input  kiln_systolic_pkg::vector_t loops,
    input  kiln_systolic_pkg::window_t window,
    input  kiln_systolic_pkg::stream_t operand0,
    input  kiln_systolic_pkg::stream_t operand1,
    input  kiln_systolic_pkg::stream_t operand2,
    input  kiln_systolic_pkg::stream_t target,
    input  kiln_systolic_pkg::stream_scales_t operand0_scales,
    input  kiln_systolic_pkg::stream_scales_t operand1_scales,
    input  kiln_systolic_pkg::stream_scales_t operand2_scales,
    input  kiln_systolic_pkg::stream_scales_t target_scales,
    input  kiln_systolic_pkg::pass_t pass0,
    input  kiln_systolic_pkg::pass_t pass1,
    input  kiln_systolic_pkg::pass_t pass2,
    input  kiln_systolic_pkg::pass_t pass3,
    // The units.
    output logic input_fetch_command_valid,
    input  logic input_fetch_command_ready,
    output kiln_systolic_pkg::input_fetch_command_t input_fetch_command,
    output kiln_systolic_pkg::input_scales_t input_fetch_scales,
    output logic weight_fetch_command_valid,
    input  logic weight_fetch_command_ready,
    output kiln_systolic_pkg::weight_fetch_command_t weight_fetch_command,
    output kiln_systolic_pkg::weight_scales_t weight_fetch_scales,
    output logic weight_load_command_valid,
    input  logic weight_load_command_ready,
    output kiln_systolic_pkg::weight_load_command_t weight_load_command,
    output logic array_command_valid,
    input  logic array_command_ready,
    output kiln_systolic_pkg::array_command_t array_command,
    output logic depthwise_command_valid,
    input  logic depthwise_command_ready,
    output kiln_systolic_pkg::array_command_t depthwise_command,
    output logic parameter_fetch_command_valid,
    input  logic parameter_fetch_command_ready,
    output kiln_systolic_pkg::parameter_fetch_command_t parameter_fetch_command,
    output logic vector_command_valid,
    input  logic vector_command_ready,
    output kiln_systolic_pkg::vector_command_t vector_command,
    output kiln_systolic_pkg::vector_scales_t vector_scales
);
  // members that no queue stores
  wire unused_members = &{1'b0, header, tiling, reduction, region, image, weights, parameters,
      loops, window, operand0, operand1, operand2, target, pass0, pass1, pass2, pass3, input_scales,
      weight_scales, operand0_scales, operand1_scales, operand2_scales, target_scales};

  logic [QUEUES-1:0] unused_scales;
  logic [1190:0] input_fetch_members;
  logic [383:0] input_fetch_scale_members;
  kiln_command_queue #(
      .DEPTH(DEPTH),
      .COMMAND_BITS(1191),
      .SCALES_BITS(384),
      .SCALES(BLOCKS)
  ) input_fetch_queue (
      .clock,
      .reset(resets[0]),
      .push(pushes[0]),
      .room(rooms[0]),
      .push_command({
        number, header.opcode, header.wait_distance, header.input_blocks, tiling.batch,
        tiling.tiles_y, tiling.tiles_x, tiling.blocks, tiling.order, tiling.packing,
        tiling.inputs_resident, tiling.last_tile_columns, reduction.groups_per_bank,
        reduction.groups, reduction.fills, reduction.last_fill_groups, reduction.last_group_rows,
        reduction.kernel_y, reduction.kernel_x, region.places_y, region.places_x,
        region.last_places_y, region.last_places_x, region.compact_y, region.compact_x,
        region.row_pitch, region.group_pitch, image.base, image.batch_stride, image.pad_code,
        image.row_stride, image.column_stride, image.run_entries, image.row_origin,
        image.column_origin, image.tile_rows, image.tile_row_stride, image.tile_column_stride,
        image.tile_columns, image.output_row_stride, image.output_column_stride, image.height,
        image.tap_row_stride, image.tap_column_stride, image.width, image.row_bytes, image.pad_top,
        image.pad_left, image.stride_y, image.stride_x, image.dilation_y, image.dilation_x,
        image.joined
      }),
      .push_scales({
        input_scales.base, input_scales.batch_stride, input_scales.row_stride,
        input_scales.column_stride, input_scales.row_origin, input_scales.column_origin,
        input_scales.tile_row_stride, input_scales.tile_column_stride,
        input_scales.output_row_stride, input_scales.output_column_stride,
        input_scales.tap_row_stride, input_scales.tap_column_stride
      }),
      .command_valid(input_fetch_command_valid),
      .command_ready(input_fetch_command_ready),
      .command(input_fetch_members),
      .scales(input_fetch_scale_members)
  );
  always_comb begin
    input_fetch_scales = '0;
    {
      input_fetch_scales.base, input_fetch_scales.batch_stride, input_fetch_scales.row_stride,
      input_fetch_scales.column_stride, input_fetch_scales.row_origin,
      input_fetch_scales.column_origin, input_fetch_scales.tile_row_stride,
      input_fetch_scales.tile_column_stride, input_fetch_scales.output_row_stride,
      input_fetch_scales.output_column_stride, input_fetch_scales.tap_row_stride,
      input_fetch_scales.tap_column_stride
    } = input_fetch_scale_members;
    input_fetch_command = '0;
    {
      input_fetch_command.number, input_fetch_command.header.opcode,
      input_fetch_command.header.wait_distance, input_fetch_command.header.input_blocks,
      input_fetch_command.tiling.batch, input_fetch_command.tiling.tiles_y,
      input_fetch_command.tiling.tiles_x, input_fetch_command.tiling.blocks,
      input_fetch_command.tiling.order, input_fetch_command.tiling.packing,
      input_fetch_command.tiling.inputs_resident, input_fetch_command.tiling.last_tile_columns,
      input_fetch_command.reduction.groups_per_bank, input_fetch_command.reduction.groups,
      input_fetch_command.reduction.fills, input_fetch_command.reduction.last_fill_groups,
      input_fetch_command.reduction.last_group_rows, input_fetch_command.reduction.kernel_y,
      input_fetch_command.reduction.kernel_x, input_fetch_command.region.places_y,
      input_fetch_command.region.places_x, input_fetch_command.region.last_places_y,
      input_fetch_command.region.last_places_x, input_fetch_command.region.compact_y,
      input_fetch_command.region.compact_x, input_fetch_command.region.row_pitch,
      input_fetch_command.region.group_pitch, input_fetch_command.image.base,
      input_fetch_command.image.batch_stride, input_fetch_command.image.pad_code,
      input_fetch_command.image.row_stride, input_fetch_command.image.column_stride,
      input_fetch_command.image.run_entries, input_fetch_command.image.row_origin,
      input_fetch_command.image.column_origin, input_fetch_command.image.tile_rows,
      input_fetch_command.image.tile_row_stride, input_fetch_command.image.tile_column_stride,
      input_fetch_command.image.tile_columns, input_fetch_command.image.output_row_stride,
      input_fetch_command.image.output_column_stride, input_fetch_command.image.height,
      input_fetch_command.image.tap_row_stride, input_fetch_command.image.tap_column_stride,
      input_fetch_command.image.width, input_fetch_command.image.row_bytes,
      input_fetch_command.image.pad_top, input_fetch_command.image.pad_left,
      input_fetch_command.image.stride_y, input_fetch_command.image.stride_x,
      input_fetch_command.image.dilation_y, input_fetch_command.image.dilation_x,
      input_fetch_command.image.joined
    } = input_fetch_members;
  end
  logic [479:0] weight_fetch_members;
  logic [191:0] weight_fetch_scale_members;
  kiln_command_queue #(
      .DEPTH(DEPTH),
      .COMMAND_BITS(480),
      .SCALES_BITS(192),
      .SCALES(BLOCKS)
  ) weight_fetch_queue (
      .clock,
      .reset(resets[1]),
      .push(pushes[1]),
      .room(rooms[1]),
      .push_command({
        number, header.opcode, header.wait_distance, header.weight_blocks, tiling.batch,
        tiling.tiles_y, tiling.tiles_x, tiling.blocks, tiling.order, tiling.weights_resident,
        tiling.columns_per_block, tiling.last_block_columns, tiling.last_tile_columns,
        reduction.groups, reduction.last_group_rows, reduction.weight_tiles_per_bank,
        reduction.rows_per_group, weights.base, weights.batch_stride, weights.layout,
        weights.by_columns, weights.code_bits, weights.row_stride, weights.column_stride,
        weights.group_stride, weights.column_tile_stride
      }),
      .push_scales({
        weight_scales.base, weight_scales.batch_stride, weight_scales.row_stride,
        weight_scales.column_stride, weight_scales.group_stride, weight_scales.column_tile_stride
      }),
      .command_valid(weight_fetch_command_valid),
      .command_ready(weight_fetch_command_ready),
      .command(weight_fetch_members),
      .scales(weight_fetch_scale_members)
  );
  always_comb begin
    weight_fetch_scales = '0;
    {
      weight_fetch_scales.base, weight_fetch_scales.batch_stride, weight_fetch_scales.row_stride,
      weight_fetch_scales.column_stride, weight_fetch_scales.group_stride,
      weight_fetch_scales.column_tile_stride
    } = weight_fetch_scale_members;
    weight_fetch_command = '0;
    {
      weight_fetch_command.number, weight_fetch_command.header.opcode,
      weight_fetch_command.header.wait_distance, weight_fetch_command.header.weight_blocks,
      weight_fetch_command.tiling.batch, weight_fetch_command.tiling.tiles_y,
      weight_fetch_command.tiling.tiles_x, weight_fetch_command.tiling.blocks,
      weight_fetch_command.tiling.order, weight_fetch_command.tiling.weights_resident,
      weight_fetch_command.tiling.columns_per_block, weight_fetch_command.tiling.last_block_columns,
      weight_fetch_command.tiling.last_tile_columns, weight_fetch_command.reduction.groups,
      weight_fetch_command.reduction.last_group_rows,
      weight_fetch_command.reduction.weight_tiles_per_bank,
      weight_fetch_command.reduction.rows_per_group, weight_fetch_command.weights.base,
      weight_fetch_command.weights.batch_stride, weight_fetch_command.weights.layout,
      weight_fetch_command.weights.by_columns, weight_fetch_command.weights.code_bits,
      weight_fetch_command.weights.row_stride, weight_fetch_command.weights.column_stride,
      weight_fetch_command.weights.group_stride, weight_fetch_command.weights.column_tile_stride
    } = weight_fetch_members;
  end
  logic [218:0] weight_load_members;
  kiln_command_queue #(
      .DEPTH(DEPTH),
      .COMMAND_BITS(219),
      .SCALES_BITS(1),
      .SCALES(1'b0)
  ) weight_load_queue (
      .clock,
      .reset(resets[2]),
      .push(pushes[2]),
      .room(rooms[2]),
      .push_command({
        header.weight_blocks, tiling.batch, tiling.tiles_y, tiling.tiles_x, tiling.blocks,
        tiling.order, tiling.weights_resident, tiling.columns_per_block, tiling.last_block_columns,
        reduction.groups, reduction.weight_tiles_per_bank, reduction.rows_per_group
      }),
      .push_scales(1'b0),
      .command_valid(weight_load_command_valid),
      .command_ready(weight_load_command_ready),
      .command(weight_load_members),
      .scales(unused_scales[2])
  );
  always_comb begin
    weight_load_command = '0;
    {
      weight_load_command.header.weight_blocks, weight_load_command.tiling.batch,
      weight_load_command.tiling.tiles_y, weight_load_command.tiling.tiles_x,
      weight_load_command.tiling.blocks, weight_load_command.tiling.order,
      weight_load_command.tiling.weights_resident, weight_load_command.tiling.columns_per_block,
      weight_load_command.tiling.last_block_columns, weight_load_command.reduction.groups,
      weight_load_command.reduction.weight_tiles_per_bank,
      weight_load_command.reduction.rows_per_group
    } = weight_load_members;
  end
  logic [540:0] array_members;
  kiln_command_queue #(
      .DEPTH(DEPTH),
      .COMMAND_BITS(541),
      .SCALES_BITS(1),
      .SCALES(1'b0)
  ) array_queue (
      .clock,
      .reset(resets[3]),
      .push(pushes[3]),
      .room(rooms[3]),
      .push_command({
        first_block, header.input_blocks, header.precision, tiling.batch, tiling.tiles_y,
        tiling.tiles_x, tiling.blocks, tiling.order, tiling.inputs_resident, tiling.tile_height,
        tiling.tile_width, tiling.last_tile_height, tiling.last_tile_width,
        tiling.columns_per_block, tiling.last_block_columns, tiling.tile_pixels,
        reduction.groups_per_bank, reduction.fills, reduction.last_fill_groups,
        reduction.last_group_rows, reduction.kernel_x, reduction.rows_per_group, region.group_pitch,
        region.output_row_step, region.output_column_step, region.tap_row_step,
        region.tap_column_step
      }),
      .push_scales(1'b0),
      .command_valid(array_command_valid),
      .command_ready(array_command_ready),
      .command(array_members),
      .scales(unused_scales[3])
  );
  always_comb begin
    array_command = '0;
    {
      array_command.first_block, array_command.header.input_blocks, array_command.header.precision,
      array_command.tiling.batch, array_command.tiling.tiles_y, array_command.tiling.tiles_x,
      array_command.tiling.blocks, array_command.tiling.order, array_command.tiling.inputs_resident,
      array_command.tiling.tile_height, array_command.tiling.tile_width,
      array_command.tiling.last_tile_height, array_command.tiling.last_tile_width,
      array_command.tiling.columns_per_block, array_command.tiling.last_block_columns,
      array_command.tiling.tile_pixels, array_command.reduction.groups_per_bank,
      array_command.reduction.fills, array_command.reduction.last_fill_groups,
      array_command.reduction.last_group_rows, array_command.reduction.kernel_x,
      array_command.reduction.rows_per_group, array_command.region.group_pitch,
      array_command.region.output_row_step, array_command.region.output_column_step,
      array_command.region.tap_row_step, array_command.region.tap_column_step
    } = array_members;
  end
  logic [401:0] depthwise_members;
  kiln_command_queue #(
      .DEPTH(DEPTH),
      .COMMAND_BITS(402),
      .SCALES_BITS(1),
      .SCALES(1'b0)
  ) depthwise_queue (
      .clock,
      .reset(resets[4]),
      .push(pushes[4]),
      .room(rooms[4]),
      .push_command({
        first_block, header.user_unit, tiling.batch, tiling.tiles_y, tiling.tiles_x, tiling.blocks,
        tiling.order, tiling.tile_height, tiling.tile_width, tiling.last_tile_height,
        tiling.last_tile_width, reduction.groups_per_bank, reduction.kernel_y, reduction.kernel_x,
        region.output_row_step, region.output_column_step, region.tap_row_step,
        region.tap_column_step, region.tap_steps
      }),
      .push_scales(1'b0),
      .command_valid(depthwise_command_valid),
      .command_ready(depthwise_command_ready),
      .command(depthwise_members),
      .scales(unused_scales[4])
  );
  always_comb begin
    depthwise_command = '0;
    {
      depthwise_command.first_block, depthwise_command.header.user_unit,
      depthwise_command.tiling.batch, depthwise_command.tiling.tiles_y,
      depthwise_command.tiling.tiles_x, depthwise_command.tiling.blocks,
      depthwise_command.tiling.order, depthwise_command.tiling.tile_height,
      depthwise_command.tiling.tile_width, depthwise_command.tiling.last_tile_height,
      depthwise_command.tiling.last_tile_width, depthwise_command.reduction.groups_per_bank,
      depthwise_command.reduction.kernel_y, depthwise_command.reduction.kernel_x,
      depthwise_command.region.output_row_step, depthwise_command.region.output_column_step,
      depthwise_command.region.tap_row_step, depthwise_command.region.tap_column_step,
      depthwise_command.region.tap_steps
    } = depthwise_members;
  end
  logic [265:0] parameter_fetch_members;
  kiln_command_queue #(
      .DEPTH(DEPTH),
      .COMMAND_BITS(266),
      .SCALES_BITS(1),
      .SCALES(1'b0)
  ) parameter_fetch_queue (
      .clock,
      .reset(resets[5]),
      .push(pushes[5]),
      .room(rooms[5]),
      .push_command({
        number, tiling.batch, tiling.tiles_y, tiling.tiles_x, tiling.blocks, tiling.order,
        tiling.parameters_by_batch, tiling.columns_per_block, tiling.last_block_columns,
        tiling.last_tile_columns, parameters.base, parameters.batch_stride, parameters.out_channels
      }),
      .push_scales(1'b0),
      .command_valid(parameter_fetch_command_valid),
      .command_ready(parameter_fetch_command_ready),
      .command(parameter_fetch_members),
      .scales(unused_scales[5])
  );
  always_comb begin
    parameter_fetch_command = '0;
    {
      parameter_fetch_command.number, parameter_fetch_command.tiling.batch,
      parameter_fetch_command.tiling.tiles_y, parameter_fetch_command.tiling.tiles_x,
      parameter_fetch_command.tiling.blocks, parameter_fetch_command.tiling.order,
      parameter_fetch_command.tiling.parameters_by_batch,
      parameter_fetch_command.tiling.columns_per_block,
      parameter_fetch_command.tiling.last_block_columns,
      parameter_fetch_command.tiling.last_tile_columns, parameter_fetch_command.parameters.base,
      parameter_fetch_command.parameters.batch_stride,
      parameter_fetch_command.parameters.out_channels
    } = parameter_fetch_members;
  end
  // The scales of the streams have SCALE_BITS bits. Zero points and bounds exist with integer
  // elements only.
  localparam int unsigned INTEGER_BITS = 6 * 32;
  localparam int unsigned MEMBER_BITS = 2152 + 4 * SCALE_BITS;
  localparam int unsigned VECTOR_BITS = MEMBER_BITS + (INTEGER_ELEMENTS ? INTEGER_BITS : 0);
  logic [MEMBER_BITS-1:0] vector_in, vector_members;
  logic [INTEGER_BITS-1:0] integers_in, integer_members;
  logic [VECTOR_BITS-1:0] vector_push, vector_head;
  assign vector_in = {
    number, slot, header.opcode, header.wait_distance, header.window, header.operand_blocks,
    header.output_blocks, header.passes, tiling.batch, tiling.tiles_y, tiling.tiles_x,
    tiling.blocks, tiling.order, tiling.parameters_by_batch, tiling.tile_height, tiling.tile_width,
    tiling.last_tile_height, tiling.last_tile_width, tiling.columns_per_block,
    tiling.last_block_columns, tiling.last_tile_columns, tiling.tile_pixels, loops.outer0,
    loops.outer1, loops.outer2, loops.outer3, loops.words, loops.last_lanes, loops.rows_in_flight,
    loops.depth, window.window_y, window.window_x, window.stride_y, window.stride_x, window.combine,
    window.average, window.divide_by_valid, window.dilation_y, window.dilation_x, window.pad_top,
    window.pad_left, window.height, window.width, window.factor, window.row_origin,
    window.column_origin, window.output_row_stride, window.output_column_stride,
    window.tap_row_stride, window.tap_column_stride, operand0.base, operand0.element_stride,
    operand0.element, operand0.access, operand0.outer_stride0, operand0.outer_stride1,
    operand0.outer_stride2, operand0.outer_stride3, operand0.word_stride, operand1.base,
    operand1.element_stride, operand1.element, operand1.access, operand1.outer_stride0,
    operand1.outer_stride1, operand1.outer_stride2, operand1.outer_stride3, operand1.word_stride,
    operand2.base, operand2.element_stride, operand2.element, operand2.access,
    operand2.outer_stride0, operand2.outer_stride1, operand2.outer_stride2, operand2.outer_stride3,
    operand2.word_stride, target.base, target.element_stride, target.element, target.access,
    target.outer_stride0, target.outer_stride1, target.outer_stride2, target.outer_stride3,
    target.word_stride, pass0.source, pass0.reduce, pass0.into, pass0.to_row_buffer,
    pass0.to_memory, pass0.reads, pass0.stages, pass0.scalar_stages, pass0.gap, pass0.value,
    pass1.source, pass1.reduce, pass1.into, pass1.to_row_buffer, pass1.to_memory, pass1.reads,
    pass1.stages, pass1.scalar_stages, pass1.gap, pass1.value, pass2.source, pass2.reduce,
    pass2.into, pass2.to_row_buffer, pass2.to_memory, pass2.reads, pass2.stages,
    pass2.scalar_stages, pass2.gap, pass2.value, pass3.source, pass3.reduce, pass3.into,
    pass3.to_row_buffer, pass3.to_memory, pass3.reads, pass3.stages, pass3.scalar_stages, pass3.gap,
    pass3.value, operand0.scale[31-:SCALE_BITS], operand1.scale[31-:SCALE_BITS],
    operand2.scale[31-:SCALE_BITS], target.scale[31-:SCALE_BITS]
  };
  assign integers_in = {
    operand0.zero_point, operand1.zero_point, operand2.zero_point, target.zero_point, target.low,
    target.high
  };
  if (INTEGER_ELEMENTS) begin : g_integers
    assign vector_push = {integers_in, vector_in};
    assign {integer_members, vector_members} = vector_head;
  end else begin : g_no_integers
    wire unused_integers = &{1'b0, integers_in};
    assign vector_push = vector_in;
    assign vector_members = vector_head;
    assign integer_members = '0;
  end
  localparam int unsigned VECTOR_SCALES_BITS = 832;
  logic [VECTOR_SCALES_BITS-1:0] vector_scale_members;
  kiln_command_queue #(
      .DEPTH(DEPTH),
      .COMMAND_BITS(VECTOR_BITS),
      .SCALES_BITS(VECTOR_SCALES_BITS),
      .SCALES(BLOCKS)
  ) vector_queue (
      .clock,
      .reset(resets[6]),
      .push(pushes[6]),
      .room(rooms[6]),
      .push_command(vector_push),
      .push_scales({
        operand0_scales.base, operand0_scales.outer_stride0, operand0_scales.outer_stride1,
        operand0_scales.outer_stride2, operand0_scales.outer_stride3, operand0_scales.row_origin,
        operand0_scales.column_origin, operand0_scales.output_row_stride,
        operand0_scales.output_column_stride, operand0_scales.tap_row_stride,
        operand0_scales.tap_column_stride, operand1_scales.base, operand1_scales.outer_stride0,
        operand1_scales.outer_stride1, operand1_scales.outer_stride2, operand1_scales.outer_stride3,
        operand2_scales.base, operand2_scales.outer_stride0, operand2_scales.outer_stride1,
        operand2_scales.outer_stride2, operand2_scales.outer_stride3, target_scales.base,
        target_scales.outer_stride0, target_scales.outer_stride1, target_scales.outer_stride2,
        target_scales.outer_stride3
      }),
      .command_valid(vector_command_valid),
      .command_ready(vector_command_ready),
      .command(vector_head),
      .scales(vector_scale_members)
  );
  logic [SCALE_BITS-1:0] operand0_scale, operand1_scale, operand2_scale, target_scale;
  always_comb begin
    vector_command = '0;
    {
      vector_command.number, vector_command.slot, vector_command.header.opcode,
      vector_command.header.wait_distance, vector_command.header.window,
      vector_command.header.operand_blocks, vector_command.header.output_blocks,
      vector_command.header.passes, vector_command.tiling.batch, vector_command.tiling.tiles_y,
      vector_command.tiling.tiles_x, vector_command.tiling.blocks, vector_command.tiling.order,
      vector_command.tiling.parameters_by_batch, vector_command.tiling.tile_height,
      vector_command.tiling.tile_width, vector_command.tiling.last_tile_height,
      vector_command.tiling.last_tile_width, vector_command.tiling.columns_per_block,
      vector_command.tiling.last_block_columns, vector_command.tiling.last_tile_columns,
      vector_command.tiling.tile_pixels, vector_command.loops.outer0, vector_command.loops.outer1,
      vector_command.loops.outer2, vector_command.loops.outer3, vector_command.loops.words,
      vector_command.loops.last_lanes, vector_command.loops.rows_in_flight,
      vector_command.loops.depth, vector_command.window.window_y, vector_command.window.window_x,
      vector_command.window.stride_y, vector_command.window.stride_x, vector_command.window.combine,
      vector_command.window.average, vector_command.window.divide_by_valid,
      vector_command.window.dilation_y, vector_command.window.dilation_x,
      vector_command.window.pad_top, vector_command.window.pad_left, vector_command.window.height,
      vector_command.window.width, vector_command.window.factor, vector_command.window.row_origin,
      vector_command.window.column_origin, vector_command.window.output_row_stride,
      vector_command.window.output_column_stride, vector_command.window.tap_row_stride,
      vector_command.window.tap_column_stride, vector_command.operand0.base,
      vector_command.operand0.element_stride, vector_command.operand0.element,
      vector_command.operand0.access, vector_command.operand0.outer_stride0,
      vector_command.operand0.outer_stride1, vector_command.operand0.outer_stride2,
      vector_command.operand0.outer_stride3, vector_command.operand0.word_stride,
      vector_command.operand1.base, vector_command.operand1.element_stride,
      vector_command.operand1.element, vector_command.operand1.access,
      vector_command.operand1.outer_stride0, vector_command.operand1.outer_stride1,
      vector_command.operand1.outer_stride2, vector_command.operand1.outer_stride3,
      vector_command.operand1.word_stride, vector_command.operand2.base,
      vector_command.operand2.element_stride, vector_command.operand2.element,
      vector_command.operand2.access, vector_command.operand2.outer_stride0,
      vector_command.operand2.outer_stride1, vector_command.operand2.outer_stride2,
      vector_command.operand2.outer_stride3, vector_command.operand2.word_stride,
      vector_command.target.base, vector_command.target.element_stride,
      vector_command.target.element, vector_command.target.access,
      vector_command.target.outer_stride0, vector_command.target.outer_stride1,
      vector_command.target.outer_stride2, vector_command.target.outer_stride3,
      vector_command.target.word_stride, vector_command.pass0.source, vector_command.pass0.reduce,
      vector_command.pass0.into, vector_command.pass0.to_row_buffer, vector_command.pass0.to_memory,
      vector_command.pass0.reads, vector_command.pass0.stages, vector_command.pass0.scalar_stages,
      vector_command.pass0.gap, vector_command.pass0.value, vector_command.pass1.source,
      vector_command.pass1.reduce, vector_command.pass1.into, vector_command.pass1.to_row_buffer,
      vector_command.pass1.to_memory, vector_command.pass1.reads, vector_command.pass1.stages,
      vector_command.pass1.scalar_stages, vector_command.pass1.gap, vector_command.pass1.value,
      vector_command.pass2.source, vector_command.pass2.reduce, vector_command.pass2.into,
      vector_command.pass2.to_row_buffer, vector_command.pass2.to_memory,
      vector_command.pass2.reads, vector_command.pass2.stages, vector_command.pass2.scalar_stages,
      vector_command.pass2.gap, vector_command.pass2.value, vector_command.pass3.source,
      vector_command.pass3.reduce, vector_command.pass3.into, vector_command.pass3.to_row_buffer,
      vector_command.pass3.to_memory, vector_command.pass3.reads, vector_command.pass3.stages,
      vector_command.pass3.scalar_stages, vector_command.pass3.gap, vector_command.pass3.value,
      operand0_scale, operand1_scale, operand2_scale, target_scale
    } = vector_members;
    vector_command.operand0.scale = 32'(operand0_scale) << (32 - SCALE_BITS);
    vector_command.operand1.scale = 32'(operand1_scale) << (32 - SCALE_BITS);
    vector_command.operand2.scale = 32'(operand2_scale) << (32 - SCALE_BITS);
    vector_command.target.scale   = 32'(target_scale) << (32 - SCALE_BITS);
    {
      vector_command.operand0.zero_point, vector_command.operand1.zero_point,
      vector_command.operand2.zero_point, vector_command.target.zero_point,
      vector_command.target.low, vector_command.target.high
    } = integer_members;
    vector_scales = '0;
    {
      vector_scales.operand0.base, vector_scales.operand0.outer_stride0,
      vector_scales.operand0.outer_stride1, vector_scales.operand0.outer_stride2,
      vector_scales.operand0.outer_stride3, vector_scales.operand0.row_origin,
      vector_scales.operand0.column_origin, vector_scales.operand0.output_row_stride,
      vector_scales.operand0.output_column_stride, vector_scales.operand0.tap_row_stride,
      vector_scales.operand0.tap_column_stride, vector_scales.operand1.base,
      vector_scales.operand1.outer_stride0, vector_scales.operand1.outer_stride1,
      vector_scales.operand1.outer_stride2, vector_scales.operand1.outer_stride3,
      vector_scales.operand2.base, vector_scales.operand2.outer_stride0,
      vector_scales.operand2.outer_stride1, vector_scales.operand2.outer_stride2,
      vector_scales.operand2.outer_stride3, vector_scales.target.base,
      vector_scales.target.outer_stride0, vector_scales.target.outer_stride1,
      vector_scales.target.outer_stride2, vector_scales.target.outer_stride3
    } = vector_scale_members;
  end
endmodule
