// The windows of a stage with a row buffer: for each word number cg of a pixel, the columns that
// were inserted last (docs/dataflow-machine.md, "Row buffer").
//   step           a step for word `word` happens in cycle t; with `insert`, it inserts the column
//                  that kiln_dataflow_rows delivers at `column` in t + 1
//   columns_inside in cycle t; bit kx: column kx of the window is inside the map
//   window         in t + 2: element (ky, kx, lane) has the number (ky * KX + kx) * LANES + lane.
//                  Tap kx is the column (KX - 1 - kx) * DX columns before the last one, the column
//                  of this step included, or PAD_VALUE where the column is outside of the map.
// With KEEP, steps that do not insert see the columns again; without, every step inserts, and the
// last column of a word is not stored.
module kiln_dataflow_columns #(
    parameter int unsigned LANES = 1,
    parameter int unsigned CODE_BITS = 8,
    parameter int PAD_VALUE = 0,
    parameter int unsigned CG = 1,  // words of a pixel
    parameter int unsigned KY = 3,
    parameter int unsigned KX = 3,
    parameter int unsigned DX = 1,
    parameter bit KEEP = 1'b0,
    parameter bit MASK = 1'b1,  // 0: no column is ever outside of the map
    // of the columns: 0 LUT memory, 1 block memory, 2 UltraRAM; 1 and 2 need two cycles between the
    // steps of a word
    parameter int unsigned MEMORY = 0,
    localparam int unsigned WORD_WIDTH = LANES * CODE_BITS,  // derived, do not set
    localparam int unsigned WORD_BITS = CG > 1 ? $clog2(CG) : 1  // derived, do not set
) (
    input  logic                        clock,
    input  logic                        reset,
    input  logic                        step,
    input  logic                        insert,
    input  logic [       WORD_BITS-1:0] word,
    input  logic [              KX-1:0] columns_inside,
    input  logic [   KY*WORD_WIDTH-1:0] column,
    output logic [KY*KX*WORD_WIDTH-1:0] window
);
  localparam int unsigned COLUMN_WIDTH = KY * WORD_WIDTH;
  localparam int unsigned BEFORE = (KX - 1) * DX;  // columns before the last one
  localparam int unsigned STORED = BEFORE + (KEEP ? 1 : 0);

  // Cycle t + 1.
  logic stepped, inserted;
  logic [KX-1:0] is_inside;
  logic [(BEFORE+1)*COLUMN_WIDTH-1:0] columns;  // the last one first
  always_ff @(posedge clock) begin
    stepped  <= step && !reset;
    inserted <= insert;
  end
  if (MASK) begin : g_mask
    always_ff @(posedge clock) if (step) is_inside <= columns_inside;
  end else begin : g_no_mask
    wire unused_inside = &{1'b0, columns_inside};
    assign is_inside = '1;
  end

  if (STORED == 0) begin : g_wire
    wire unused_word = &{1'b0, word, inserted};
    assign columns = column;
  end else begin : g_store
    localparam int unsigned STORED_WIDTH = STORED * COLUMN_WIDTH;
    logic [STORED_WIDTH-1:0] stored;
    if (!KEEP) begin : g_shift
      assign columns = {stored, column};
    end else if (BEFORE == 0) begin : g_one
      assign columns = inserted ? column : stored;
    end else begin : g_keep
      assign columns = inserted ? {stored[BEFORE*COLUMN_WIDTH-1:0], column} : stored;
    end

    if (CG == 1) begin : g_register
      wire unused_word = &{1'b0, word};
      always_ff @(posedge clock) if (stepped && inserted) stored <= columns[STORED_WIDTH-1:0];
    end else if (MEMORY == 0) begin : g_lut
      (* ram_style = "distributed" *) logic [STORED_WIDTH-1:0] words[CG];
      logic [WORD_BITS-1:0] place;
      assign stored = words[place];
      always_ff @(posedge clock) begin
        if (step) place <= word;
        if (stepped && inserted) words[place] <= columns[STORED_WIDTH-1:0];
      end
    end else begin : g_block
      logic [WORD_BITS-1:0] place;
      always_ff @(posedge clock) if (step) place <= word;
      kiln_ram_1w #(
          .WIDTH(STORED_WIDTH),
          .WORDS(CG),
          .STYLE(MEMORY + 1)
      ) memory (
          .clock,
          .write_enable(stepped && inserted),
          .write_address(place),
          .write_data(columns[STORED_WIDTH-1:0]),
          .read_enable(step),
          .read_address(word),
          .read_data(stored)
      );
`ifndef SYNTHESIS
      always_ff @(posedge clock) begin
        if (!reset) begin
          steps_of_a_word_apart : assert (!(step && stepped && inserted && word == place));
        end
      end
`endif
    end
  end

  // Cycle t + 2.
  for (genvar kx = 0; kx < KX; kx++) begin : g_tap
    localparam int unsigned BACK = (KX - 1 - kx) * DX;
    for (genvar ky = 0; ky < KY; ky++) begin : g_word
      always_ff @(posedge clock) begin
        if (stepped)
          window[(ky*KX+kx)*WORD_WIDTH+:WORD_WIDTH] <= is_inside[kx] ?
              columns[BACK*COLUMN_WIDTH+ky*WORD_WIDTH+:WORD_WIDTH] :
              {LANES{CODE_BITS'(PAD_VALUE)}};
      end
    end
  end
  if (DX > 1) begin : g_between
    wire unused_between = &{1'b0, columns};
  end
endmodule
