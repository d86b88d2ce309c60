// Walks over the windows of a convolution: all pixels, all steps of a pixel, all groups of a
// window. One group per cycle in which `advance` is high.
//
// A group has GROUP lanes. Its lanes are consecutive rows of one word column (`chunk_groups` low)
// or consecutive words of one place (high). Groups that complete the last round of a step exist
// only by `none`.
//   ready      A window's first group waits until the words of the window are written: those before
//              (written_y, written_x), row by row.
//   group_*    the group, in the cycle after it was taken; group_valid is low if there was none
//   round      describes the group's round (kiln_binary_pkg), for ROUND_BITS
module kiln_binary_walk #(
    parameter  int unsigned GROUP       = 3,
    parameter  int unsigned STEPS       = 3,
    localparam int unsigned PLACE_BITS  = kiln_binary_pkg::PLACE_BITS,
    localparam int unsigned ROUND_BITS  = kiln_binary_pkg::ROUND_BITS,
    localparam int unsigned STEP_BITS   = STEPS > 1 ? $clog2(STEPS) : 1,
    localparam int unsigned STEP_ENTRY  = 32
) (
    input  logic                         clock,
    input  logic                         reset,
    input  logic                         start,
    input  logic                         advance,
    output logic                         finished,  // all windows are walked
    // Settings
    input  logic        [          13:0] width,
    input  logic        [          13:0] height,
    input  logic        [           7:0] chunks,
    input  logic        [           3:0] kernel_height,
    input  logic        [           3:0] kernel_width,
    input  logic        [           3:0] stride,
    input  logic        [           3:0] pad_top,
    input  logic        [           3:0] pad_left,
    input  logic        [           3:0] blocks,
    input  logic        [           3:0] first_block,
    input  logic        [           2:0] first_phase,
    input  logic        [           3:0] stride_blocks,
    input  logic        [           2:0] stride_phases,
    input  logic                         chunk_groups,
    input  logic        [           7:0] outer_count,
    input  logic        [           3:0] inner_count,
    input  logic        [          13:0] out_width,
    input  logic        [          13:0] out_height,
    input  logic        [           6:0] list_length,
    input  logic        [           6:0] step_count,
    // The table of steps
    input  logic                         write_step,
    input  logic        [           5:0] write_address,
    input  logic        [STEP_ENTRY-1:0] write_data,
    // The writer's place
    input  logic        [          14:0] written_y,
    input  logic        [          13:0] written_x,
    // Groups
    output logic                         group_valid,
    output logic                         group_none,
    output logic        [ STEP_BITS-1:0] group_place,      // in the round
    output logic        [           3:0] group_block,      // of the first lane's row, below 2 * blocks
    output logic        [           2:0] group_phase,
    output logic        [           2:0] group_turn,       // row memory of the first lane
    output logic signed [PLACE_BITS-1:0] group_y,          // of the first lane
    output logic signed [PLACE_BITS-1:0] group_x,
    output logic        [           3:0] group_row,        // of the window, of the first lane
    output logic        [           7:0] group_chunk,      // of the first lane
    output logic signed [          19:0] group_offset,     // of the word in its row, of lane 0
    output logic signed [PLACE_BITS-1:0] group_top,        // of the window; also without a group
    output logic signed [PLACE_BITS-1:0] group_left,
    output logic                         group_sums,       // of the first step
    output logic                         group_sums_first, // of a pixel
    output logic        [ROUND_BITS-1:0] round
);
  localparam int unsigned ROUND_SHIFT = kiln_binary_pkg::ROUND_SHIFT;

  function automatic logic [2:0] add_phase(input logic [2:0] a, input logic [2:0] b);
    logic [3:0] sum;
    sum = 4'(a) + 4'(b);
    add_phase = 3'(sum >= 4'(GROUP) ? sum - 4'(GROUP) : sum);
  endfunction
  function automatic logic [3:0] wrap_block(input logic [5:0] block, input logic [3:0] count);
    wrap_block = 4'(block >= 6'(count) ? block - 6'(count) : block);
  endfunction

  // -----------------------------------------------------------------------------------------------
  // The pixel

  logic active, bounds_known, ready;
  logic [13:0] out_x, out_y;
  logic signed [PLACE_BITS-1:0] top, left, bottom, right, low_edge, right_edge;
  logic signed [19:0] left_offset;  // left * chunks
  logic [3:0] top_block;
  logic [2:0] top_phase;
  assign low_edge = top + PLACE_BITS'(kernel_height) - 1'b1;
  assign right_edge = left + PLACE_BITS'(kernel_width) - 1'b1;

  // -----------------------------------------------------------------------------------------------
  // The group

  logic [6:0] step, next_step;
  logic [7:0] outer;
  logic [3:0] column, inner, row;
  logic [7:0] chunk;
  logic [2:0] chunk_phase;
  logic signed [19:0] column_offset;  // column * chunks
  logic [STEP_BITS-1:0] place;
  logic [15:0] round_offset;
  logic rest_of_round, first_round, take;
  logic inner_end, column_end, outer_end, window_end, round_end, step_end, pixel_end;
  assign take = advance && active && ready;
  assign inner_end = inner == inner_count - 1'b1;
  assign column_end = column == kernel_width - 1'b1;
  assign outer_end = outer == outer_count - 1'b1;
  assign window_end = inner_end && column_end && outer_end;
  assign round_end = place == STEP_BITS'(STEPS - 1);
  assign step_end = round_end && (rest_of_round || window_end);
  assign pixel_end = step_end && step == step_count - 1'b1;

  always_comb begin
    next_step = step;
    if (take && step_end) next_step = pixel_end ? '0 : step + 1'b1;
    if (start) next_step = '0;
  end
  logic [STEP_ENTRY-1:0] entry;
  kiln_ram_1w #(
      .WIDTH(STEP_ENTRY),
      .WORDS(kiln_binary_pkg::STEP_ENTRIES)
  ) table_of_steps (
      .clock,
      .write_enable(write_step),
      .write_address,
      .write_data,
      .read_enable(1'b1),
      .read_address(next_step[5:0]),
      .read_data(entry)
  );

  logic row_end;
  logic [2:0] next_phase;
  logic [3:0] next_block;
  assign row_end = out_x == out_width - 1'b1;
  assign next_phase = add_phase(top_phase, stride_phases);
  assign next_block = wrap_block(
      6'(top_block) + 6'(stride_blocks) +
      6'(4'(top_phase) + 4'(stride_phases) >= 4'(GROUP)), blocks);

  always_ff @(posedge clock) begin
    step <= next_step;
    if (start) begin
      out_x <= '0;
      out_y <= '0;
      top <= 16'sd0 - PLACE_BITS'(pad_top);
      left <= 16'sd0 - PLACE_BITS'(pad_left);
      left_offset <= 20'sd0 - 20'(pad_left) * 20'(chunks);
      top_block <= first_block;
      top_phase <= first_phase;
    end else if (take && pixel_end) begin
      out_x <= row_end ? '0 : out_x + 1'b1;
      left <= row_end ? 16'sd0 - PLACE_BITS'(pad_left) : left + PLACE_BITS'(stride);
      left_offset <= row_end ? 20'sd0 - 20'(pad_left) * 20'(chunks) :
          left_offset + 20'(12'(stride) * 12'(chunks));
      if (row_end) begin
        out_y <= out_y + 1'b1;
        top <= top + PLACE_BITS'(stride);
        top_block <= next_block;
        top_phase <= next_phase;
      end
    end

    // The window's last row and column, then whether they are written.
    bottom <= low_edge < PLACE_BITS'(height) ? low_edge : PLACE_BITS'(height) - 1'b1;
    right <= right_edge < PLACE_BITS'(width) ? right_edge : PLACE_BITS'(width) - 1'b1;
    if (start || (take && pixel_end)) begin
      bounds_known <= 1'b0;
      ready <= 1'b0;
    end else begin
      bounds_known <= 1'b1;
      if (bounds_known && (PLACE_BITS'(written_y) > bottom ||
          (PLACE_BITS'(written_y) == bottom && PLACE_BITS'(written_x) > right)))
        ready <= 1'b1;
    end

    if (start || (take && step_end)) begin
      outer <= '0;
      column <= '0;
      inner <= '0;
      row <= '0;
      chunk <= '0;
      chunk_phase <= '0;
      column_offset <= '0;
      place <= '0;
      round_offset <= '0;
      rest_of_round <= 1'b0;
      first_round <= 1'b1;
    end else if (take) begin
      place <= round_end ? '0 : place + 1'b1;
      if (round_end) begin
        round_offset <= round_offset + 16'(list_length);
        first_round <= 1'b0;
      end
      if (window_end) rest_of_round <= 1'b1;
      inner <= inner_end ? '0 : inner + 1'b1;
      row <= inner_end ? '0 : row + 4'(GROUP);
      if (inner_end) begin
        column <= column_end ? '0 : column + 1'b1;
        column_offset <= column_end ? '0 : column_offset + 20'(chunks);
        if (column_end) begin
          outer <= outer + 1'b1;
          chunk <= chunk + (chunk_groups ? 8'(GROUP) : 8'd1);
          if (!chunk_groups) chunk_phase <= add_phase(chunk_phase, 3'(GROUP == 1 ? 0 : 1));
        end
      end
    end
    if (reset) active <= 1'b0;
    else if (start) active <= 1'b1;
    else if (take && pixel_end && row_end && out_y == out_height - 1'b1) active <= 1'b0;
  end
  assign finished = !active;

  // -----------------------------------------------------------------------------------------------
  // The register of groups

  // Rounds of the step's last groups know it at their last group; the tables take it from there.
  always_ff @(posedge clock) begin
    if (advance) begin
      group_none <= rest_of_round;
      group_place <= place;
      group_block <= wrap_block(6'(top_block) + 6'(inner), blocks);
      group_phase <= top_phase;
      group_turn <= add_phase(top_phase, chunk_phase);
      group_y <= top + PLACE_BITS'(row);
      group_x <= left + PLACE_BITS'(column);
      group_row <= row;
      group_chunk <= chunk;
      group_offset <= left_offset + column_offset + 20'(chunk);
      group_sums <= step == '0 && !rest_of_round;
      group_sums_first <= step == '0 && first_round && place == '0;
      round[ROUND_SHIFT+:5] <= entry[20:16];
      round[kiln_binary_pkg::ROUND_WEIGHTS+:16] <= entry[15:0] + round_offset;
      round[kiln_binary_pkg::ROUND_TESTS+:8] <= entry[31:24];
      round[kiln_binary_pkg::ROUND_DIGIT+:2] <= entry[22:21];
      round[kiln_binary_pkg::ROUND_TEST] <= entry[23] && step_end;
      round[kiln_binary_pkg::ROUND_FRESH] <= step == '0 && first_round;
      round[kiln_binary_pkg::ROUND_BASE] <= step == '0 && step_end;
      round[kiln_binary_pkg::ROUND_FIRST] <= step == '0 && first_round;
      round[kiln_binary_pkg::ROUND_LAST] <= pixel_end;
    end
    if (start) begin
      group_top <= 16'sd0 - PLACE_BITS'(pad_top);
      group_left <= 16'sd0 - PLACE_BITS'(pad_left);
    end else if (advance) begin
      group_top <= top;
      group_left <= left;
    end
    if (reset) group_valid <= 1'b0;
    else if (advance) group_valid <= active && ready;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset && active) begin
      inside_the_map : assert (out_x < out_width && out_y < out_height);
      steps_exist : assert (step < step_count);
      groups_exist : assert (outer < outer_count || rest_of_round);
    end
  end
`endif
endmodule
