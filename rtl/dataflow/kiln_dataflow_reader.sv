// The reader of a stage with a row buffer (docs/dataflow-machine.md, "Row buffer"): decides in each
// cycle whether a step happens, and which. For each output pixel it first only inserts columns,
// then it multiplies, and inserts one more column in the steps with og = 0.
//   insert_ready     the next word of the column is written or empty (kiln_dataflow_rows)
//   operands_ready   what a multiplying step needs besides (a streamed weight)
//   results_room     the output has room for the result that this step completes
//   step             a step happens in this cycle; a function of registers and the three inputs.
//                    The other outputs describe it, and are functions of registers.
//   insert, multiply what the step does
//   word             cg
//   first, last      the first and the last step of a sum. With EVERY_WORD every multiplying step
//                    is a sum of its own.
//   frame_end        the last insertion of a frame
//   columns_inside   bit kx: the column ox * SX - PL + kx * DX is inside the map
module kiln_dataflow_reader #(
    parameter int unsigned W = 8,
    parameter int unsigned OH = 8,
    parameter int unsigned OW = 8,
    parameter int unsigned KX = 3,
    parameter int unsigned SX = 1,
    parameter int unsigned PL = 1,
    parameter int unsigned DX = 1,
    parameter int unsigned G = 1,
    parameter int unsigned OG = 1,
    parameter int unsigned IG = 1,
    parameter bit EVERY_WORD = 1'b0,
    localparam int unsigned CG = G * IG,  // derived, do not set
    localparam int unsigned WORD_BITS = CG > 1 ? $clog2(CG) : 1  // derived, do not set
) (
    input  logic                 clock,
    input  logic                 reset,
    input  logic                 insert_ready,
    input  logic                 operands_ready,
    input  logic                 results_room,
    output logic                 step,
    output logic                 insert,
    output logic                 multiply,
    output logic [WORD_BITS-1:0] word,
    output logic                 first,
    output logic                 last,
    output logic                 frame_end,
    output logic [       KX-1:0] columns_inside
);
  // Steps that only insert, before the first pixel of a frame, the first pixel of another row, and
  // all other pixels.
  localparam int unsigned SKIPS_FRAME = ((KX - 1) * DX - PL) * CG;
  localparam int unsigned SKIPS_ROW = (W - (OW - 1) * SX - 1) * CG;
  localparam int unsigned SKIPS_PIXEL = (SX - 1) * CG;
  localparam int unsigned MOST_SKIPS = SKIPS_FRAME > SKIPS_ROW ?
      (SKIPS_FRAME > SKIPS_PIXEL ? SKIPS_FRAME : SKIPS_PIXEL) :
      (SKIPS_ROW > SKIPS_PIXEL ? SKIPS_ROW : SKIPS_PIXEL);
  localparam int unsigned SKIP_BITS = MOST_SKIPS > 0 ? $clog2(MOST_SKIPS + 1) : 1;
  localparam int unsigned X_BITS = OW > 1 ? $clog2(OW) : 1;
  localparam int unsigned Y_BITS = OH > 1 ? $clog2(OH) : 1;
  // A column's number relative to the map, from -PL on, below 2 W.
  localparam int unsigned COLUMN_BITS = $clog2((W > PL ? W : PL) + 1) + 2;
  localparam logic signed [COLUMN_BITS-1:0] FIRST_COLUMN = COLUMN_BITS'(0 - PL);
  localparam logic signed [COLUMN_BITS-1:0] COLUMNS = COLUMN_BITS'(W);

  logic [SKIP_BITS-1:0] skips;
  logic [X_BITS-1:0] x;
  logic [Y_BITS-1:0] y;
  logic signed [COLUMN_BITS-1:0] left;  // the window's leftmost column
  logic skip, sum_first, sum_last, refill, last_word, pixel_end, last_x, last_y;
  logic [(IG > 1 ? $clog2(IG) : 1)-1:0] unused_part;

  assign skip = skips != '0;
  assign multiply = !skip;
  assign insert = skip || refill;
  assign first = sum_first || EVERY_WORD;
  assign last = multiply && (sum_last || EVERY_WORD);
  assign step = (!insert || insert_ready) && (!multiply || operands_ready) &&
      (!last || results_room);
  assign last_x = x == X_BITS'(OW - 1);
  assign last_y = y == Y_BITS'(OH - 1);
  assign frame_end = multiply && refill && last_word && last_x && last_y;

  kiln_dataflow_walk #(
      .G(G),
      .OG(OG),
      .IG(IG)
  ) walk (
      .clock,
      .reset,
      .step,
      .skip,
      .word,
      .part(unused_part),
      .first(sum_first),
      .last(sum_last),
      .refill,
      .last_word,
      .pixel_end
  );

  always_ff @(posedge clock) begin
    if (reset) begin
      skips <= SKIP_BITS'(SKIPS_FRAME);
      x     <= '0;
      y     <= '0;
      left  <= FIRST_COLUMN;
    end else if (step && skip) begin
      skips <= skips - 1'b1;
    end else if (step && pixel_end) begin
      x    <= last_x ? '0 : x + 1'b1;
      left <= last_x ? FIRST_COLUMN : left + COLUMN_BITS'(SX);
      if (last_x) y <= last_y ? '0 : y + 1'b1;
      if (last_x && last_y) skips <= SKIP_BITS'(SKIPS_FRAME);
      else if (last_x) skips <= SKIP_BITS'(SKIPS_ROW);
      else skips <= SKIP_BITS'(SKIPS_PIXEL);
    end
  end

  for (genvar kx = 0; kx < KX; kx++) begin : g_inside
    logic signed [COLUMN_BITS-1:0] column;
    assign column = left + COLUMN_BITS'(kx * DX);
    assign columns_inside[kx] = column >= 0 && column < COLUMNS;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      x_in_range : assert (32'(x) < OW);
      y_in_range : assert (32'(y) < OH);
      skips_in_range : assert (32'(skips) <= MOST_SKIPS);
      left_follows_x : assert (32'(left) == 32'(x) * SX - PL);
      frame_ends_with_insertion : assert (!frame_end || insert);
    end
  end
`endif
endmodule
