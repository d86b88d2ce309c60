// The systolic array: ARRAY_ROWS x ARRAY_COLUMNS processing elements, in which the weights stay in
// place, with the skew registers at its edges.
//   pixels      A word given in cycle t (active) is in row r, column c in cycle t + S * r + c, S =
//               SUM_LATENCY; its sums of all columns are at `psums` in cycle t + PRODUCT_LATENCY +
//               S * ROWS + COLUMNS - 1.
//   weights     WEIGHT_ROWS_PER_CYCLE rows per cycle, step 0 first. The load of a step given in
//               cycle t began at T = t - step. A row of the step, with r the row's number in the
//               array, is in the shadow register of row r, column c from T + S * r + c + 1 on.
//   swap        Given with the first word of a pass: the pass uses the weights whose load began at
//               least ROWS / WEIGHT_ROWS_PER_CYCLE cycles earlier; the next load may begin together
//               with the pass.
//   precision   The pair of formats of every pixel of a pass, given with its word; weights of
//               another precision may be loaded meanwhile.
//
// The two diagonals, of pixels and of weights, have the same slope. Therefore a load may directly
// follow the pass that frees the shadow registers.
module kiln_systolic_array #(
    parameter int unsigned ARRAY_ROWS = 4,
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter int unsigned WEIGHT_ROWS_PER_CYCLE = 1,  // divides ARRAY_ROWS
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,  // see kiln_processing_element
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter bit PRODUCT_ROUNDED = 1'b0,
    parameter int unsigned PRODUCT_LATENCY = 0,  // see kiln_processing_element
    parameter int unsigned SUM_LATENCY = 1,
    // derived, do not set
    localparam int unsigned STAGES = PRODUCT_LATENCY + SUM_LATENCY,
    localparam int INPUT_BITS =
        kiln_format_pkg::most_bits(INPUT_FORMAT, OTHER_INPUT_FORMATS, PRECISIONS),
    localparam int WEIGHT_BITS =
        kiln_format_pkg::most_bits(WEIGHT_FORMAT, OTHER_WEIGHT_FORMATS, PRECISIONS),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT),
    localparam int PRECISION_BITS = PRECISIONS > 1 ? $clog2(PRECISIONS) : 1,
    localparam int unsigned STEPS = ARRAY_ROWS / WEIGHT_ROWS_PER_CYCLE,
    localparam int unsigned STEP_BITS = STEPS > 1 ? $clog2(STEPS) : 1
) (
    input  logic                                                       clock,
    input  logic                                                       reset,
    // A pixel's input word: row r in lane r.
    input  logic                                                       active,
    input  logic                                                       swap,
    input  logic [                                     ARRAY_ROWS-1:0] multiply,  // valid rows
    input  logic [                                 PRECISION_BITS-1:0] precision,
    input  logic [                          ARRAY_ROWS*INPUT_BITS-1:0] word,
    // A step of a weight tile: row step * WEIGHT_ROWS_PER_CYCLE + j, column c in lane j *
    // ARRAY_COLUMNS + c.
    input  logic                                                       load,
    input  logic [                                      STEP_BITS-1:0] load_step,
    input  logic [WEIGHT_ROWS_PER_CYCLE*ARRAY_COLUMNS*WEIGHT_BITS-1:0] weights,
    output logic [                        ARRAY_COLUMNS*PSUM_BITS-1:0] psums
);
  // Weights move down one bus for each column and each row of a step. The rows of a step arrive
  // together but are needed SUM_LATENCY cycles after each other: bus j starts as many cycles late
  // for each row before it, and waits between the rows that it serves.
  localparam int unsigned BUS_WAIT = SUM_LATENCY * WEIGHT_ROWS_PER_CYCLE - 1;

  for (genvar j = 0; j < WEIGHT_ROWS_PER_CYCLE; j++) begin : g_bus
    for (genvar s = 0; s < STEPS; s++) begin : g_step
      logic present, present_in;
      logic [STEP_BITS-1:0] step, step_in;
      if (s == 0) begin : g_first
        assign present_in = load;
        assign step_in = load_step;
      end else begin : g_next
        assign present_in = g_bus[j].g_step[s-1].present;
        assign step_in = g_bus[j].g_step[s-1].step;
      end
      kiln_pulse_delay #(
          .CYCLES(s == 0 ? SUM_LATENCY * j : BUS_WAIT)
      ) wait_present (
          .clock,
          .reset,
          .in (present_in),
          .out(present)
      );
      kiln_delay #(
          .WIDTH (STEP_BITS),
          .CYCLES(s == 0 ? SUM_LATENCY * j : BUS_WAIT)
      ) wait_step (
          .clock,
          .in (step_in),
          .out(step)
      );
    end

    for (genvar c = 0; c < ARRAY_COLUMNS; c++) begin : g_column
      for (genvar s = 0; s < STEPS; s++) begin : g_step
        logic [WEIGHT_BITS-1:0] weight, weight_in;
        if (s == 0) begin : g_first
          assign weight_in = weights[(j*ARRAY_COLUMNS+c)*WEIGHT_BITS+:WEIGHT_BITS];
        end else begin : g_next
          assign weight_in = g_bus[j].g_column[c].g_step[s-1].weight;
        end
        kiln_delay #(
            .WIDTH (WEIGHT_BITS),
            .CYCLES(s == 0 ? SUM_LATENCY * j + c : BUS_WAIT)
        ) wait_weight (
            .clock,
            .in (weight_in),
            .out(weight)
        );
      end
    end
  end

  // Columns whose control a row has: those of its elements, and those behind the last one.
  localparam int unsigned LINE = ARRAY_COLUMNS + STAGES - 1;

  if (PRECISIONS == 1) begin : g_one_precision
    wire unused_precision = &{1'b0, precision};
  end

  for (genvar r = 0; r < ARRAY_ROWS; r++) begin : g_row
    // The input of row r is delayed by S * r cycles, and by one more cycle in every column.
    logic [INPUT_BITS-1:0] activation;
    kiln_delay #(
        .WIDTH (INPUT_BITS),
        .CYCLES(SUM_LATENCY * r)
    ) skew (
        .clock,
        .in (word[r*INPUT_BITS+:INPUT_BITS]),
        .out(activation)
    );
    // {active, swap, multiply} at the left edge, and for all columns, with column c in bit c. The
    // later stages of an element take the control that is in the columns to the right by then. For
    // the last column there are further registers.
    logic edge_active, edge_swap, edge_multiply, edge_load;
    logic [LINE-1:0] actives, multiplies;
    logic [ARRAY_COLUMNS-1:0] swaps, loads;
    kiln_pulse_delay #(
        .CYCLES(SUM_LATENCY * r)
    ) skew_active (
        .clock,
        .reset,
        .in (active),
        .out(edge_active)
    );
    kiln_delay #(
        .WIDTH (2),
        .CYCLES(SUM_LATENCY * r)
    ) skew_pixel (
        .clock,
        .in ({swap, multiply[r]}),
        .out({edge_swap, edge_multiply})
    );
    assign edge_load = g_bus[r%WEIGHT_ROWS_PER_CYCLE].g_step[r/WEIGHT_ROWS_PER_CYCLE].present &&
        g_bus[r%WEIGHT_ROWS_PER_CYCLE].g_step[r/WEIGHT_ROWS_PER_CYCLE].step ==
            STEP_BITS'(r / WEIGHT_ROWS_PER_CYCLE);
    // The pixels' precisions, with column c at index c.
    logic [LINE*PRECISION_BITS-1:0] precisions;
    if (PRECISIONS == 1) begin : g_one_precision
      assign precisions = '0;
    end else begin : g_precisions
      logic [PRECISION_BITS-1:0] edge_precision;
      kiln_delay #(
          .WIDTH (PRECISION_BITS),
          .CYCLES(SUM_LATENCY * r)
      ) skew_precision (
          .clock,
          .in (precision),
          .out(edge_precision)
      );
      if (LINE == 1) begin : g_edge
        assign precisions = edge_precision;
      end else begin : g_line
        logic [(LINE-1)*PRECISION_BITS-1:0] line;
        assign precisions = {line, edge_precision};
        always_ff @(posedge clock) line <= precisions[(LINE-1)*PRECISION_BITS-1:0];
      end
    end
    if (LINE == 1) begin : g_one_stage
      assign {actives, multiplies} = {edge_active, edge_multiply};
    end else begin : g_stages
      logic [LINE-2:0] active_line, multiply_line;
      assign actives = {active_line, edge_active};
      assign multiplies = {multiply_line, edge_multiply};
      always_ff @(posedge clock) begin
        active_line   <= reset ? '0 : actives[LINE-2:0];
        multiply_line <= multiplies[LINE-2:0];
      end
    end
    if (ARRAY_COLUMNS == 1) begin : g_one_column
      assign {swaps, loads} = {edge_swap, edge_load};
    end else begin : g_columns
      logic [ARRAY_COLUMNS-2:0] swap_line, load_line;
      assign swaps = {swap_line, edge_swap};
      assign loads = {load_line, edge_load};
      always_ff @(posedge clock) begin
        load_line <= reset ? '0 : loads[ARRAY_COLUMNS-2:0];
        swap_line <= swaps[ARRAY_COLUMNS-2:0];
      end
    end

    for (genvar c = 0; c < ARRAY_COLUMNS; c++) begin : g_column
      logic [INPUT_BITS-1:0] left, right;
      logic [PSUM_BITS-1:0] above, psum;
      if (c == 0) begin : g_left_edge
        assign left = activation;
      end else begin : g_left
        assign left = g_row[r].g_column[c-1].right;
      end
      if (r == 0) begin : g_top_edge
        assign above = '0;  // zero in every psum format
      end else begin : g_above
        assign above = g_row[r-1].g_column[c].psum;
      end
      kiln_processing_element #(
          .INPUT_FORMAT(INPUT_FORMAT),
          .WEIGHT_FORMAT(WEIGHT_FORMAT),
          .PSUM_FORMAT(PSUM_FORMAT),
          .PRODUCT_ROUNDED(PRODUCT_ROUNDED),
          .PRODUCT_LATENCY(PRODUCT_LATENCY),
          .SUM_LATENCY(SUM_LATENCY),
          .PRECISIONS(PRECISIONS),
          .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
          .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS)
      ) element (
          .clock,
          .active        (actives[c+:STAGES]),
          .swap          (swaps[c]),
          .multiply      (multiplies[c+:STAGES]),
          .precision     (precisions[c*PRECISION_BITS+:STAGES*PRECISION_BITS]),
          .load          (loads[c]),
          .activation_in (left),
          .activation_out(right),
          .weight        (
              g_bus[r%WEIGHT_ROWS_PER_CYCLE].g_column[c].g_step[r/WEIGHT_ROWS_PER_CYCLE].weight),
          .psum_in       (above),
          .psum_out      (psum)
      );
      if (c == ARRAY_COLUMNS - 1) begin : g_right_edge
        wire unused_right = &{1'b0, right};
      end
    end
  end

  for (genvar c = 0; c < ARRAY_COLUMNS; c++) begin : g_deskew
    kiln_delay #(
        .WIDTH (PSUM_BITS),
        .CYCLES(ARRAY_COLUMNS - 1 - c)
    ) deskew (
        .clock,
        .in (g_row[ARRAY_ROWS-1].g_column[c].psum),
        .out(psums[c*PSUM_BITS+:PSUM_BITS])
    );
  end
endmodule
