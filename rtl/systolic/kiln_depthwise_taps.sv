// Lists the taps of a depthwise kernel, MULTIPLIERS of them at a time, in row-major order.
//   kernel_y, kernel_x        Rows and columns of the kernel.
//   column_step, row_step     Words of the bank from a tap to the next one of its row, and from the
//                             last tap of a row to the first one of the next row.
//   present                   Bit i: tap i of the step exists; the others follow the last tap.
//   places                    Words from the pixel's first tap to each tap of the step.
//   advance                   The next cycle has the next step.
//   restart                   The next cycle has the first step; it overrules `advance`.
//
// The taps of a step do not follow from each other. Tap i of a step is i columns further than its
// first tap, and as many times by row_step instead of column_step as it is rows further, which
// depends only on the taps that are left in the first tap's row, and on kernel_x.
module kiln_depthwise_taps #(
    parameter int unsigned MULTIPLIERS = 9,
    parameter int unsigned TAP_BITS = 9,  // of the number of taps
    parameter int unsigned PLACE_BITS = 8
) (
    input  logic                              clock,
    input  logic                              reset,
    input  logic [              TAP_BITS-1:0] kernel_y,
    input  logic [              TAP_BITS-1:0] kernel_x,
    input  logic [            PLACE_BITS-1:0] column_step,
    input  logic [            PLACE_BITS-1:0] row_step,
    input  logic                              advance,
    input  logic                              restart,
    output logic [           MULTIPLIERS-1:0] present,
    output logic [MULTIPLIERS*PLACE_BITS-1:0] places
);
  localparam int unsigned M = MULTIPLIERS;
  // Numbers of taps above M are alike for the taps of a step.
  localparam int unsigned FEW_BITS = $clog2(M + 2);
  localparam int unsigned SUM_BITS = $clog2((M + 1) * M + 1);
  function automatic logic [FEW_BITS-1:0] few(input logic [TAP_BITS-1:0] number);
    few = 32'(number) > 32'(M) ? FEW_BITS'(M + 1) : FEW_BITS'(number);
  endfunction

  // Of the step's first tap: its place, its row and those after it, and it and the taps after it in
  // its row.
  logic first;  // the step is the pixel's first
  logic [PLACE_BITS-1:0] place, place_now;
  logic [TAP_BITS-1:0] rows, rows_now, left, left_now;
  assign place_now = first ? '0 : place;
  assign rows_now  = first ? kernel_y : rows;
  assign left_now  = first ? kernel_x : left;

  // Row k after the first tap's begins with tap begins[k].
  logic [(M+1)*SUM_BITS-1:0] begins;
  logic [(M+1)*PLACE_BITS-1:0] turns;  // what k rows add to a place
  // `rows` and `left` of tap M, if it is k rows further.
  logic [(M+1)*TAP_BITS-1:0] rows_behind, left_behind;
  logic [M-1:0] row_there;  // row k exists
  logic [FEW_BITS-1:0] few_left, few_columns;
  logic [PLACE_BITS-1:0] turn;
  assign few_left    = few(left_now);
  assign few_columns = few(kernel_x);
  assign turn        = row_step - column_step;
  for (genvar k = 0; k <= M; k++) begin : g_row
    if (k == 0) begin : g_first
      assign begins[0+:SUM_BITS] = '0;
    end else begin : g_later
      assign begins[k*SUM_BITS+:SUM_BITS] =
          SUM_BITS'(few_left) + SUM_BITS'(k - 1) * SUM_BITS'(few_columns);
    end
    assign turns[k*PLACE_BITS+:PLACE_BITS] = PLACE_BITS'(k) * turn;
    assign rows_behind[k*TAP_BITS+:TAP_BITS] = rows_now - TAP_BITS'(k);
    assign left_behind[k*TAP_BITS+:TAP_BITS] = left_now + TAP_BITS'(k) * kernel_x - TAP_BITS'(M);
    if (k < M) begin : g_there
      assign row_there[k] = rows_now > TAP_BITS'(k);
    end
  end

  // Tap M is the first one of the next step.
  logic [(M+1)*PLACE_BITS-1:0] tap_places;
  logic [M:0] behind;  // tap M is k rows further
  for (genvar i = 0; i <= M; i++) begin : g_tap
    logic [i:0] reaches, rows_further;  // at least k rows further, and exactly
    logic [PLACE_BITS-1:0] turned;
    for (genvar k = 0; k <= i; k++) begin : g_reaches
      assign reaches[k] = begins[k*SUM_BITS+:SUM_BITS] <= SUM_BITS'(i);
      if (k < i) begin : g_not_last
        assign rows_further[k] = reaches[k] && !reaches[k+1];
      end else begin : g_last
        assign rows_further[k] = reaches[k];
      end
    end
    always_comb begin
      turned = '0;
      for (int k = 0; k <= i; k++)
        turned = turned | (turns[k*PLACE_BITS+:PLACE_BITS] & {PLACE_BITS{rows_further[k]}});
    end
    assign tap_places[i*PLACE_BITS+:PLACE_BITS] = place_now + PLACE_BITS'(i) * column_step + turned;
    if (i < M) begin : g_of_step
      assign present[i] = (rows_further & ~row_there[i:0]) == '0;
      assign places[i*PLACE_BITS+:PLACE_BITS] = tap_places[i*PLACE_BITS+:PLACE_BITS];
    end else begin : g_behind
      assign behind = rows_further;
    end
  end

  logic [TAP_BITS-1:0] rows_next, left_next;
  always_comb begin
    rows_next = '0;
    left_next = '0;
    for (int k = 0; k <= M; k++) begin
      rows_next = rows_next | (rows_behind[k*TAP_BITS+:TAP_BITS] & {TAP_BITS{behind[k]}});
      left_next = left_next | (left_behind[k*TAP_BITS+:TAP_BITS] & {TAP_BITS{behind[k]}});
    end
  end
  always_ff @(posedge clock) begin
    if (reset || restart) begin
      first <= 1'b1;
    end else if (advance) begin
      first <= 1'b0;
      place <= tap_places[M*PLACE_BITS+:PLACE_BITS];
      rows  <= rows_next;
      left  <= left_next;
    end
  end
endmodule
