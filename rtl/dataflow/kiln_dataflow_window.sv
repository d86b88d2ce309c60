// The window of a convolution, a depthwise convolution or a maximum pool (docs/dataflow-machine.md,
// "Window"): pops the words of the input, and steps through the output pixels. Parameters have the
// document's names; LANES is `a`, and CG = G * IG.
//   in_valid, in_data, in_pop   the consumer's side of the input channel
//   operands_ready   what a multiplying step needs besides the window (a streamed weight)
//   results_room     the output has room for the result of a sum
//   multiply         a multiplying step happens in this cycle, cycle t; a function of registers,
//                    operands_ready and results_room, and in_valid for a 1 x 1 kernel
//   first, last      it is the first, or the last step of a sum. A step that is the last one
//                    reserves the result in this cycle. With EVERY_WORD each step is a sum of its
//                    own.
//   window           in t + 2: the elements of the step; element (ky, kx, lane) has the number
//                    (ky * KX + kx) * LANES + lane
module kiln_dataflow_window #(
    parameter int unsigned LANES = 1,
    parameter int unsigned CODE_BITS = 8,
    parameter int PAD_VALUE = 0,  // of elements outside of the map
    parameter int unsigned H = 8,
    parameter int unsigned W = 8,
    parameter int unsigned OH = 8,
    parameter int unsigned OW = 8,
    parameter int unsigned KY = 3,
    parameter int unsigned KX = 3,
    parameter int unsigned SY = 1,
    parameter int unsigned SX = 1,
    parameter int unsigned PT = 1,
    parameter int unsigned PL = 1,
    parameter int unsigned DY = 1,
    parameter int unsigned DX = 1,
    parameter int unsigned G = 1,
    parameter int unsigned OG = 1,
    parameter int unsigned IG = 1,
    parameter bit EVERY_WORD = 1'b0,
    parameter int unsigned EXTRA_ROWS = 0,  // of the row buffer
    parameter int unsigned ROW_MEMORY = 1,  // 0 LUT memory, 1 block memory, 2 UltraRAM
    // of the columns of a window, or of the words that a 1 x 1 kernel keeps. 1 and 2 need IG > 1,
    // or OG = 1.
    parameter int unsigned COLUMN_MEMORY = 0,
    localparam int unsigned WORD_WIDTH = LANES * CODE_BITS  // derived, do not set
) (
    input  logic                        clock,
    input  logic                        reset,
    input  logic                        in_valid,
    input  logic [      WORD_WIDTH-1:0] in_data,
    output logic                        in_pop,
    input  logic                        operands_ready,
    input  logic                        results_room,
    output logic                        multiply,
    output logic                        first,
    output logic                        last,
    output logic [KY*KX*WORD_WIDTH-1:0] window
);
  localparam int unsigned CG = G * IG;
  localparam int unsigned REACH = (KX - 1) * DX;
  if (ROW_MEMORY > 2 || COLUMN_MEMORY > 2 ||
      (COLUMN_MEMORY > 0 && OG > 1 && IG == 1)) begin : g_memory
    $error("ROW_MEMORY and COLUMN_MEMORY must be 0 to 2, COLUMN_MEMORY 0 with OG > 1 and IG = 1");
  end

  if (KY == 1 && KX == 1) begin : g_pointwise
    if (PT != 0 || PL != 0) begin : g_limits
      $error("PT and PL must be 0 with a 1 x 1 kernel");
    end
    kiln_dataflow_pointwise #(
        .WORD_WIDTH(WORD_WIDTH),
        .H(H),
        .W(W),
        .OH(OH),
        .OW(OW),
        .SY(SY),
        .SX(SX),
        .G(G),
        .OG(OG),
        .IG(IG),
        .EVERY_WORD(EVERY_WORD),
        .MEMORY(COLUMN_MEMORY)
    ) pointwise (
        .clock,
        .reset,
        .in_valid,
        .in_data,
        .in_pop,
        .operands_ready,
        .results_room,
        .multiply,
        .first,
        .last,
        .window
    );
  end else begin : g_buffered
    if (PL > REACH || (OW - 1) * SX > W - 1 ||
        (OW - 1) * SX + REACH > 2 * W - 1 + PL) begin : g_limits
      $error("PL must be at most (KX-1) DX, (OW-1) SX at most W-1, a window end by column 2 W - 1");
    end
    logic insert_ready, step, insert, multiplies, frame_end;
    logic [(CG > 1 ? $clog2(CG) : 1)-1:0] word;
    logic [KX-1:0] columns_inside;
    logic [KY*WORD_WIDTH-1:0] column;
    assign multiply = step && multiplies;
    kiln_dataflow_rows #(
        .LANES(LANES),
        .CODE_BITS(CODE_BITS),
        .PAD_VALUE(PAD_VALUE),
        .H(H),
        .W(W),
        .CG(CG),
        .OH(OH),
        .KY(KY),
        .SY(SY),
        .PT(PT),
        .DY(DY),
        .EXTRA_ROWS(EXTRA_ROWS),
        .MEMORY(ROW_MEMORY)
    ) rows (
        .clock,
        .reset,
        .in_valid,
        .in_data,
        .in_pop,
        .insert_ready,
        .insert(step && insert),
        .frame_end,
        .column
    );
    kiln_dataflow_reader #(
        .W(W),
        .OH(OH),
        .OW(OW),
        .KX(KX),
        .SX(SX),
        .PL(PL),
        .DX(DX),
        .G(G),
        .OG(OG),
        .IG(IG),
        .EVERY_WORD(EVERY_WORD)
    ) reader (
        .clock,
        .reset,
        .insert_ready,
        .operands_ready,
        .results_room,
        .step,
        .insert,
        .multiply(multiplies),
        .word,
        .first,
        .last,
        .frame_end,
        .columns_inside
    );
    kiln_dataflow_columns #(
        .LANES(LANES),
        .CODE_BITS(CODE_BITS),
        .PAD_VALUE(PAD_VALUE),
        .CG(CG),
        .KY(KY),
        .KX(KX),
        .DX(DX),
        .KEEP(OG > 1),
        .MASK(PL > 0 || (OW - 1) * SX + REACH > W - 1 + PL),
        .MEMORY(COLUMN_MEMORY)
    ) taps (
        .clock,
        .reset,
        .step,
        .insert,
        .word,
        .columns_inside,
        .column,
        .window
    );
  end
endmodule
