// The depthwise unit: computes depthwise convolutions with any kernel, stride and dilation,
// ARRAY_COLUMNS channels at once and DEPTHWISE_MULTIPLIERS taps of each channel per cycle.
//   block             One pixel tile of one column tile takes cycles s .., where s is the first
//                     cycle in which the previous block has ended and an input bank, a weight bank
//                     and an accumulation bank are available. Pixels are taken in row-major order,
//                     and for each pixel its taps, DEPTHWISE_MULTIPLIERS in each of ceil(taps /
//                     DEPTHWISE_MULTIPLIERS) steps. A step takes one cycle; with rounded sums the
//                     steps of a pixel are DEPTHWISE_SUM_LATENCY cycles apart.
//   sums              As kiln_depthwise_lanes defines them. The step issued in cycle t reads its
//                     inputs and weights in t + READ_WAIT; the last step of a pixel sends its
//                     address to the accumulation buffer in t + LATENCY - 1 and its psums in t +
//                     LATENCY.
//   inputs            The words of all column tiles that a fill serves are side by side; the next
//                     block begins one word further.
//   weights_released  Asserted in the last cycle of a block.
//   input_released    Asserted in the last cycle of the last block that the fill serves.
//   block_done        Asserted in cycle e - 2 + LATENCY + ACCUMULATION_LATENCY, where e - 1 is the
//                     last cycle of the block: the block's accumulators can be read from the next
//                     cycle on.
//
// Tokens and command are as in kiln_array_sequencer. LATENCY is ARRAY_COLUMNS with integers and
// quires: the pipeline uses the cycles that it needs, and the others are registers for retiming. A
// design needs ARRAY_COLUMNS >= 2. With rounded sums it is 3 + DEPTHWISE_SUM_LATENCY *
// (DEPTHWISE_MULTIPLIERS + 1).
module kiln_depthwise_unit #(
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter int unsigned DEPTHWISE_MULTIPLIERS = 9,
    parameter int unsigned DEPTHWISE_BUFFER_WORDS = 1024,
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 1024,
    parameter int unsigned ACCUMULATION_BUFFER_BANKS = 2,
    parameter int unsigned ACCUMULATION_LATENCY = 1,  // see kiln_accumulation_buffer
    parameter int unsigned DEPTHWISE_SUM_LATENCY = 1,  // cycles of a rounded sum, 1 or 2
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter bit PRODUCT_ROUNDED = 1'b0,
    parameter int unsigned USER_UNIT = 0,  // number of the unit in kiln_user_unit; 0: none
    localparam int INPUT_BITS = kiln_format_pkg::bits(INPUT_FORMAT),  // derived, do not set
    localparam int WEIGHT_BITS = kiln_format_pkg::bits(WEIGHT_FORMAT),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT),
    localparam int unsigned PLACE_BITS =
        DEPTHWISE_BUFFER_WORDS > 1 ? $clog2(DEPTHWISE_BUFFER_WORDS) : 1,
    localparam int unsigned STEPS =
        (WEIGHT_BUFFER_WORDS + DEPTHWISE_MULTIPLIERS - 1) / DEPTHWISE_MULTIPLIERS,
    localparam int unsigned STEP_BITS = STEPS > 1 ? $clog2(STEPS) : 1,
    localparam int unsigned WORD_BITS =
        ACCUMULATION_BUFFER_WORDS > 1 ? $clog2(ACCUMULATION_BUFFER_WORDS) : 1
) (
    input  logic                                                       clock,
    input  logic                                                       reset,
    input  logic                                                       command_valid,
    output logic                                                       command_ready,
    input  kiln_systolic_pkg::array_command_t                          command,
    // The banks of the depthwise buffers.
    input  logic                                                       input_filled,
    output logic                                                       input_released,
    input  logic                                                       weights_filled,
    output logic                                                       weights_released,
    // The accumulation banks: from and to the vector unit.
    input  logic                                                       accumulation_released,
    output logic                                                       block_done,
    // The depthwise buffers; word (or tap) i of a step is item i.
    output logic [                          DEPTHWISE_MULTIPLIERS-1:0] input_read_enable,
    output logic                                                       input_read_bank,
    output logic [               DEPTHWISE_MULTIPLIERS*PLACE_BITS-1:0] input_read_address,
    input  logic [DEPTHWISE_MULTIPLIERS*ARRAY_COLUMNS*INPUT_BITS-1:0]  input_read_data,
    output logic                                                       weight_read_enable,
    output logic                                                       weight_read_bank,
    output logic [                                      STEP_BITS-1:0] weight_read_step,
    input  logic [DEPTHWISE_MULTIPLIERS*ARRAY_COLUMNS*WEIGHT_BITS-1:0] weight_read_data,
    // The accumulation buffer.
    output logic                                                       accumulate_valid,
    output logic                                                       accumulate_bank,
    output logic [                                      WORD_BITS-1:0] accumulate_address,
    // One cycle after the address.
    output logic [                        ARRAY_COLUMNS*PSUM_BITS-1:0] accumulate_psums,
    // For the performance counters.
    output logic                                                       busy,
    output logic                                                       stalled_input,
    output logic                                                       stalled_weights,
    output logic                                                       stalled_accumulation
);
  localparam int COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam int INDEX_BITS = kiln_systolic_pkg::INDEX_BITS;
  localparam int unsigned MULTIPLIERS = DEPTHWISE_MULTIPLIERS;
  // The pipeline of a step issued in t: addresses in t, read in t + READ_WAIT, multiplied in the
  // cycle after. Exact products are added PRODUCT_WAIT cycles later, with SUM_WAIT registers after
  // the sum.
  localparam bit ROUNDED =
      kiln_format_pkg::kind(PSUM_FORMAT) != kiln_format_pkg::KIND_INTEGER &&
      kiln_format_pkg::kind(PSUM_FORMAT) != kiln_format_pkg::KIND_QUIRE;
  localparam int unsigned LATENCY =
      ROUNDED ? 3 + DEPTHWISE_SUM_LATENCY * (MULTIPLIERS + 1) : ARRAY_COLUMNS;
  localparam int unsigned READ_WAIT = ROUNDED || ARRAY_COLUMNS >= 3 ? 1 : 0;
  localparam int unsigned PRODUCT_WAIT = !ROUNDED && ARRAY_COLUMNS >= 4 ? 1 : 0;
  localparam int unsigned SUM_WAIT = ROUNDED ? 0 : ARRAY_COLUMNS - 2 - READ_WAIT - PRODUCT_WAIT;

  if (ARRAY_COLUMNS < 2) begin : g_too_narrow
    $error("kiln_depthwise_unit: ARRAY_COLUMNS must be 2 at least");
  end

  logic [COUNT_BITS-1:0] height, width;
  logic [INDEX_BITS-1:0] visit_index;
  logic last_visit, last_block, block_end;
  kiln_visit_walker visit (
      .clock,
      .reset,
      .command_tiling    (command.tiling),
      .advance           (block_end),
      .last              (last_visit),
      .index             (visit_index),
      .step              (),
      .height,
      .width,
      .columns           (),
      .last_row          (),
      .last_column       (),
      .last_block,
      .fetch_inputs      (),
      .last_of_inputs    (),
      .fetch_weights     (),
      .last_of_weights   (),
      .fetch_parameters  (),
      .last_of_parameters()
  );

  // The column tiles that a fill serves, the pixels of a block, and the steps of a pixel.
  logic [COUNT_BITS-1:0] tile, y, x, step;
  logic last_y, last_x, last_step, first_step, pixel_end, row_end;
  logic first_of_fill, last_tile, last_of_fill;
  logic issue;  // of a step
  assign pixel_end = issue && last_step;
  assign row_end = pixel_end && last_x;
  assign last_of_fill = last_block || last_tile;
  kiln_loop_counter #(
      .BITS(COUNT_BITS)
  ) tiles (
      .clock,
      .reset,
      .rounds (command.reduction.groups_per_bank),
      .advance(block_end),
      .restart(input_released),
      .count  (tile),
      .first  (first_of_fill),
      .last   (last_tile)
  );
  logic unused_first_y, unused_first_x;
  wire unused_counts = &{1'b0, tile, y, x, step};  // upper bits
  kiln_loop_counter #(
      .BITS(COUNT_BITS)
  ) rows (
      .clock,
      .reset,
      .rounds (height),
      .advance(row_end),
      .restart(block_end),
      .count  (y),
      .first  (unused_first_y),
      .last   (last_y)
  );
  kiln_loop_counter #(
      .BITS(COUNT_BITS)
  ) columns (
      .clock,
      .reset,
      .rounds (width),
      .advance(pixel_end),
      .restart(row_end),
      .count  (x),
      .first  (unused_first_x),
      .last   (last_x)
  );
  kiln_loop_counter #(
      .BITS(COUNT_BITS)
  ) steps (
      .clock,
      .reset,
      .rounds (command.region.tap_steps),
      .advance(issue),
      .restart(pixel_end),
      .count  (step),
      .first  (first_step),
      .last   (last_step)
  );

  // Tokens.
  logic [1:0] inputs, weights;  // banks that are filled and whose block has not started
  logic [INDEX_BITS-1:0] released, lead;
  logic inputs_ready, weights_ready, accumulation_ready;
  assign inputs_ready = inputs != '0 || !first_of_fill;
  assign weights_ready = weights != '0;
  assign lead =
      released - (command.first_block + visit_index) + INDEX_BITS'(ACCUMULATION_BUFFER_BANKS - 1);
  assign accumulation_ready = !lead[INDEX_BITS-1];

  logic running, waiting, start, input_bank, weight_bank;
  assign waiting = command_valid && !running;
  assign start = waiting && inputs_ready && weights_ready && accumulation_ready;
  assign busy = running || start;
  if (ROUNDED && DEPTHWISE_SUM_LATENCY > 1) begin : g_apart
    logic wait_for_sum;
    always_ff @(posedge clock) wait_for_sum <= !reset && issue && !last_step;
    assign issue = busy && !wait_for_sum;
  end else begin : g_back_to_back
    assign issue = busy;
  end
  assign stalled_input = waiting && !inputs_ready;
  assign stalled_weights = waiting && inputs_ready && !weights_ready;
  assign stalled_accumulation = waiting && inputs_ready && weights_ready && !accumulation_ready;
  assign block_end = row_end && last_y;
  assign command_ready = block_end && last_visit;
  assign input_released = block_end && last_of_fill;
  assign weights_released = block_end;

  // addresses of the first tap of the row of pixels and of the pixel
  logic [PLACE_BITS-1:0] row_place, place;
  logic [PLACE_BITS-1:0] first_place;  // the same for the next block
  assign first_place = last_of_fill ? '0 : PLACE_BITS'(tile) + 1'b1;
  logic [WORD_BITS-1:0] row_word, word;  // addresses in the accumulation bank

  // The taps of a step.
  localparam int unsigned TAP_BITS = $clog2(WEIGHT_BUFFER_WORDS + 1);
  logic [MULTIPLIERS-1:0] present;  // bit i: tap i of the step exists
  logic [MULTIPLIERS*PLACE_BITS-1:0] tap_places, places;
  kiln_depthwise_taps #(
      .MULTIPLIERS(MULTIPLIERS),
      .TAP_BITS(TAP_BITS),
      .PLACE_BITS(PLACE_BITS)
  ) taps (
      .clock,
      .reset,
      .kernel_y(TAP_BITS'(command.reduction.kernel_y)),
      .kernel_x(TAP_BITS'(command.reduction.kernel_x)),
      .column_step(PLACE_BITS'(command.region.tap_column_step)),
      .row_step(PLACE_BITS'(command.region.tap_row_step)),
      .advance(issue),
      .restart(pixel_end),
      .present,
      .places(tap_places)
  );
  for (genvar i = 0; i < MULTIPLIERS; i++) begin : g_place
    assign places[i*PLACE_BITS+:PLACE_BITS] = place + tap_places[i*PLACE_BITS+:PLACE_BITS];
  end

  always_ff @(posedge clock) begin
    if (busy) running <= !block_end;
    if (block_end) begin
      row_place <= first_place;
      place     <= first_place;
      row_word  <= '0;
      word      <= '0;
    end else if (row_end) begin
      row_place <= row_place + PLACE_BITS'(command.region.output_row_step);
      place     <= row_place + PLACE_BITS'(command.region.output_row_step);
      row_word  <= row_word + WORD_BITS'(command.tiling.tile_width);
      word      <= row_word + WORD_BITS'(command.tiling.tile_width);
    end else if (pixel_end) begin
      place <= place + PLACE_BITS'(command.region.output_column_step);
      word  <= word + 1'b1;
    end
    if (input_released) input_bank <= !input_bank;
    if (weights_released) weight_bank <= !weight_bank;
    inputs   <= inputs + 2'(input_filled) - 2'(start && first_of_fill);
    weights  <= weights + 2'(weights_filled) - 2'(start);
    released <= released + INDEX_BITS'(accumulation_released);
    if (reset) begin
      running       <= 1'b0;
      input_bank    <= 1'b0;
      weight_bank   <= 1'b0;
      inputs        <= '0;
      weights       <= '0;
      released      <= '0;
      row_place     <= '0;
      place         <= '0;
      row_word      <= '0;
      word          <= '0;
    end
  end

  // The read takes place READ_WAIT cycles after the step was issued.
  logic [STEP_BITS-1:0] weight_step;
  assign weight_step = step[STEP_BITS-1:0];
  logic read, read_first, read_user, multiply, multiply_first, multiply_user;
  logic [MULTIPLIERS-1:0] read_present, multiply_present;
  kiln_pulse_delay #(
      .CYCLES(READ_WAIT)
  ) delay_read (
      .clock,
      .reset,
      .in (issue),
      .out(read)
  );
  kiln_delay #(
      .WIDTH (4 + MULTIPLIERS + STEP_BITS + MULTIPLIERS * PLACE_BITS),
      .CYCLES(READ_WAIT)
  ) delay_places (
      .clock,
      .in ({input_bank, weight_bank, first_step, command.header.user_unit, present, weight_step,
          places}),
      .out({input_read_bank, weight_read_bank, read_first, read_user, read_present,
          weight_read_step, input_read_address})
  );
  assign input_read_enable = read_present & {MULTIPLIERS{read}};
  assign weight_read_enable = read;

  // The control that accompanies the data that were read.
  kiln_pulse_delay #(
      .CYCLES(1)
  ) delay_multiply (
      .clock,
      .reset,
      .in (read),
      .out(multiply)
  );
  kiln_delay #(
      .WIDTH (2 + MULTIPLIERS),
      .CYCLES(1)
  ) delay_present (
      .clock,
      .in ({read_first, read_user, read_present}),
      .out({multiply_first, multiply_user, multiply_present})
  );

  // The user unit has the ports and the timing of the multipliers, and its sums replace theirs for
  // its instructions.
  logic [ARRAY_COLUMNS*PSUM_BITS-1:0] product_sums, sums;
  kiln_depthwise_lanes #(
      .LANES(ARRAY_COLUMNS),
      .MULTIPLIERS(MULTIPLIERS),
      .PRODUCT_REGISTERS(PRODUCT_WAIT),
      .SUM_LATENCY(DEPTHWISE_SUM_LATENCY),
      .INPUT_FORMAT(INPUT_FORMAT),
      .WEIGHT_FORMAT(WEIGHT_FORMAT),
      .PSUM_FORMAT(PSUM_FORMAT),
      .PRODUCT_ROUNDED(PRODUCT_ROUNDED)
  ) lanes (
      .clock,
      .valid  (multiply && !multiply_user),
      .first  (multiply_first),
      .present(multiply_present),
      .inputs (input_read_data),
      .weights(weight_read_data),
      .sums   (product_sums)
  );
  if (USER_UNIT == 0) begin : g_no_user_unit
    assign sums = product_sums;
  end else begin : g_user_unit
    logic [ARRAY_COLUMNS*PSUM_BITS-1:0] user_sums;
    logic summed, summed_user, user;
    kiln_user_unit #(
        .UNIT(USER_UNIT),
        .LANES(ARRAY_COLUMNS),
        .MULTIPLIERS(MULTIPLIERS),
        .REGISTERS(PRODUCT_WAIT),
        .INPUT_BITS(INPUT_BITS),
        .WEIGHT_BITS(WEIGHT_BITS),
        .PSUM_BITS(PSUM_BITS)
    ) unit (
        .clock,
        .valid  (multiply && multiply_user),
        .first  (multiply_first),
        .present(multiply_present),
        .inputs (input_read_data),
        .weights(weight_read_data),
        .sums   (user_sums)
    );
    kiln_delay #(
        .WIDTH (2),
        .CYCLES(PRODUCT_WAIT)
    ) delay_user (
        .clock,
        .in ({multiply, multiply_user}),
        .out({summed, summed_user})
    );
    always_ff @(posedge clock) begin
      if (summed) user <= summed_user;
    end
    assign sums = user ? user_sums : product_sums;
  end
  kiln_delay #(
      .WIDTH (ARRAY_COLUMNS * PSUM_BITS),
      .CYCLES(SUM_WAIT)
  ) delay_sums (
      .clock,
      .in (sums),
      .out(accumulate_psums)
  );

  // The address for the accumulation buffer, one cycle before the psums.
  logic bank_of_block;
  if (ACCUMULATION_BUFFER_BANKS == 1) begin : g_one_bank
    assign bank_of_block = 1'b0;
  end else begin : g_two_banks
    assign bank_of_block = command.first_block[0] ^ visit_index[0];
  end
  kiln_pulse_delay #(
      .CYCLES(LATENCY - 1)
  ) delay_valid (
      .clock,
      .reset,
      .in (pixel_end),
      .out(accumulate_valid)
  );
  kiln_pulse_delay #(
      .CYCLES(LATENCY + ACCUMULATION_LATENCY - 1)
  ) delay_done (
      .clock,
      .reset,
      .in (block_end),
      .out(block_done)
  );
  kiln_delay #(
      .WIDTH (1 + WORD_BITS),
      .CYCLES(LATENCY - 1)
  ) delay_word (
      .clock,
      .in ({bank_of_block, word}),
      .out({accumulate_bank, accumulate_address})
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      input_banks_in_range : assert (inputs <= 2'd2);
      weight_banks_in_range : assert (weights <= 2'd2);
      block_has_command : assert (!running || command_valid);
      pixel_in_tile : assert (!busy || (x < width && y < height));
      first_step_has_a_tap : assert (!(busy && first_step) || present[0]);
      one_activity : assert ($onehot0({busy, stalled_input, stalled_weights,
          stalled_accumulation}));
    end
  end
`endif
endmodule
