// The row buffer of a window stage with its writer and its inserter (docs/dataflow-machine.md, "Row
// buffer"): NB = (KY - 1) * DY + 1 + EXTRA_ROWS row memories of W * CG words. The inserter visits
// the words of a row set's columns in order: for each column, its CG words. One insertion reads the
// same word of KY rows, DY rows apart.
//   in_pop         the writer pops a word and writes it: the word is valid, and its place does not
//                  hold a word that a later insertion reads. A function of registers and in_valid.
//   insert_ready   the next insertion's lowest row inside the map is written at its word, or its
//                  column is empty; a function of registers
//   insert         the insertion happens in this cycle; only with insert_ready
//   frame_end      this insertion is the frame's last one; the next one begins a frame
//   column         in the cycle after an insertion: its KY words, top row first in the least
//                  significant bits; PAD_VALUE in all lanes for rows outside of the map and empty
//                  columns
//   time           a word that is popped in cycle t can be inserted in t + 1
// Row number r of the stream (frame * H + y) is held in memory r mod NB.
module kiln_dataflow_rows #(
    parameter int unsigned LANES = 1,
    parameter int unsigned CODE_BITS = 8,
    parameter int PAD_VALUE = 0,
    parameter int unsigned H = 8,
    parameter int unsigned W = 8,
    parameter int unsigned CG = 1,
    parameter int unsigned OH = 8,
    parameter int unsigned KY = 3,
    parameter int unsigned SY = 1,
    parameter int unsigned PT = 1,
    parameter int unsigned DY = 1,
    parameter int unsigned EXTRA_ROWS = 0,
    parameter int unsigned MEMORY = 1,  // of the rows: 0 LUT memory, 1 block memory, 2 UltraRAM
    localparam int unsigned WORD_WIDTH = LANES * CODE_BITS  // derived, do not set
) (
    input  logic                     clock,
    input  logic                     reset,
    input  logic                     in_valid,
    input  logic [   WORD_WIDTH-1:0] in_data,
    output logic                     in_pop,
    output logic                     insert_ready,
    input  logic                     insert,
    input  logic                     frame_end,
    output logic [KY*WORD_WIDTH-1:0] column
);
  localparam int unsigned REACH = (KY - 1) * DY;  // from the top row of a set to the lowest one
  localparam int unsigned NB = REACH + 1 + EXTRA_ROWS;
  localparam int unsigned ROW_WORDS = W * CG;
  localparam int unsigned PLACE_BITS = ROW_WORDS > 1 ? $clog2(ROW_WORDS) : 1;
  localparam logic [PLACE_BITS-1:0] LAST_PLACE = PLACE_BITS'(ROW_WORDS - 1);
  localparam int unsigned BANK_BITS = NB > 1 ? $clog2(NB) : 1;
  localparam int unsigned SET_BITS = OH > 1 ? $clog2(OH) : 1;
  // Differences of row numbers within two frames, signed.
  localparam int unsigned ROW_BITS = $clog2(2 * H + NB + SY + 1) + 2;

  if (PT > REACH || (OH - 1) * SY > H - 1) begin : g_limits
    $error("PT must be at most (KY-1) DY, and (OH-1) SY at most H-1");
  end

  // Row sets. Rows are counted within the frame. Row set i has its top row at i * SY - PT; its base
  // is its first row inside the map, and `need` the lowest one.
  localparam logic signed [ROW_BITS-1:0] HEIGHT = ROW_BITS'(H);
  localparam logic signed [ROW_BITS-1:0] LAST_ROW = ROW_BITS'(H - 1);
  localparam logic signed [ROW_BITS-1:0] LOWEST = ROW_BITS'(REACH);
  localparam logic signed [ROW_BITS-1:0] ROWS = ROW_BITS'(NB);
  localparam logic signed [ROW_BITS-1:0] ONE_ROW = ROW_BITS'(1);
  localparam logic signed [ROW_BITS-1:0] STRIDE = ROW_BITS'(SY);
  localparam logic signed [ROW_BITS-1:0] FIRST_TOP = ROW_BITS'(0 - PT);
  localparam int unsigned FIRST_NEED = REACH - PT < H - 1 ? REACH - PT : H - 1;
  localparam int unsigned SECOND_BASE = OH == 1 ? H : SY > PT ? SY - PT : 0;
  localparam int unsigned SECOND_NEED = OH == 1 ? H + FIRST_NEED :
      SY + REACH - PT < H - 1 ? SY + REACH - PT : H - 1;
  localparam int unsigned BANK_STEP = SY % NB;
  localparam int unsigned BANK_STEP_FRAME = (H - (OH - 1) * SY) % NB;

  // ---- The inserter's position: word `insert_place` of the rows of a row set, or of an empty
  // column. `next_*` belong to the row set after the inserter's.
  logic [PLACE_BITS-1:0] insert_place;
  logic empty, last_set, next_last, set_end;
  logic [SET_BITS-1:0] next_set;
  logic [BANK_BITS-1:0] bank;  // the memory of the top row
  logic [KY-1:0] rows_inside;
  logic signed [ROW_BITS-1:0] next_top, next_base, next_need, after_top, after_base, after_need;
  logic signed [ROW_BITS-1:0] base_step, need_step;  // to the next row set

  assign next_last = next_set == SET_BITS'(OH - 1);
  assign after_top = next_top + STRIDE;
  assign next_base = next_top < 0 ? '0 : next_top;
  assign next_need = next_top + LOWEST > LAST_ROW ? LAST_ROW : next_top + LOWEST;
  always_comb begin
    if (next_last) begin
      after_base = HEIGHT;
      after_need = ROW_BITS'(H + FIRST_NEED);
    end else begin
      after_base = after_top < 0 ? '0 : after_top;
      after_need = after_top + LOWEST > LAST_ROW ? LAST_ROW : after_top + LOWEST;
    end
  end
  assign set_end = insert && (frame_end || (insert_place == LAST_PLACE && !last_set));

  function automatic logic [BANK_BITS-1:0] add_bank(input logic [BANK_BITS-1:0] from,
                                                    input int unsigned step);
    add_bank = BANK_BITS'(32'(from) + step >= NB ? 32'(from) + step - NB : 32'(from) + step);
  endfunction

  always_ff @(posedge clock) begin
    if (reset) begin
      insert_place <= '0;
      empty        <= 1'b0;
      last_set     <= OH == 1;
      bank         <= BANK_BITS'(PT == 0 ? 0 : NB - PT);
      base_step    <= ROW_BITS'(SECOND_BASE);
      need_step    <= ROW_BITS'(SECOND_NEED - FIRST_NEED);
      next_set     <= SET_BITS'(OH == 1 ? 0 : 1);
      next_top     <= OH == 1 ? FIRST_TOP : FIRST_TOP + STRIDE;
    end else if (insert) begin
      insert_place <= set_end || insert_place == LAST_PLACE ? '0 : insert_place + 1'b1;
      empty <= !set_end && (empty || insert_place == LAST_PLACE);
      if (set_end) begin
        last_set  <= next_last;
        bank      <= add_bank(bank, last_set ? BANK_STEP_FRAME : BANK_STEP);
        base_step <= after_base - next_base;
        need_step <= after_need - next_need;
        next_set  <= next_last ? '0 : next_set + 1'b1;
        next_top  <= next_last ? FIRST_TOP : after_top;
      end
    end
  end
  for (genvar ky = 0; ky < KY; ky++) begin : g_inside
    logic signed [ROW_BITS-1:0] next_row;
    assign next_row = next_top + ROW_BITS'(ky * DY);
    always_ff @(posedge clock) begin
      if (reset) rows_inside[ky] <= ky * DY >= PT && ky * DY - PT < H;
      else if (set_end) rows_inside[ky] <= next_row >= 0 && next_row < HEIGHT;
    end
  end

  // ---- The writer's position, and its distance from the inserter's rows.
  logic [PLACE_BITS-1:0] write_place;
  logic [ BANK_BITS-1:0] write_bank;
  logic row_end, behind;  // behind: the inserter has passed the writer's place of the row
  logic signed [ROW_BITS-1:0] above_base, above_need;  // the writer's row less base, and less need

  assign behind = empty || write_place < insert_place;
  assign in_pop = in_valid && (above_base < ROWS ||
      (above_base < ROWS + base_step && behind));
  assign insert_ready = empty || above_need > 0 || (above_need == 0 && write_place > insert_place);
  assign row_end = in_pop && write_place == LAST_PLACE;

  always_ff @(posedge clock) begin
    if (reset) begin
      write_place <= '0;
      write_bank  <= '0;
      above_base  <= '0;
      above_need  <= ROW_BITS'(0 - FIRST_NEED);
    end else begin
      if (in_pop) write_place <= row_end ? '0 : write_place + 1'b1;
      if (row_end) write_bank <= add_bank(write_bank, NB > 1 ? 1 : 0);
      above_base <= above_base - (set_end ? base_step : '0) + (row_end ? ONE_ROW : '0);
      above_need <= above_need - (set_end ? need_step : '0) + (row_end ? ONE_ROW : '0);
    end
  end

  // ---- Memories, and the selection of rows in the cycle after the insertion.
  logic [NB*WORD_WIDTH-1:0] read_words;
  for (genvar n = 0; n < NB; n++) begin : g_row
    kiln_ram_1w #(
        .WIDTH(WORD_WIDTH),
        .WORDS(ROW_WORDS),
        .STYLE(MEMORY + 1)
    ) row (
        .clock,
        .write_enable(in_pop && write_bank == BANK_BITS'(n)),
        .write_address(write_place),
        .write_data(in_data),
        .read_enable(insert),
        .read_address(insert_place),
        .read_data(read_words[n*WORD_WIDTH+:WORD_WIDTH])
    );
  end
  for (genvar ky = 0; ky < KY; ky++) begin : g_column
    logic is_inside;
    logic [NB-1:0] from;  // one-hot: the memory of row ky, if that is inside the map
    logic [WORD_WIDTH-1:0] word;
    always_ff @(posedge clock) if (insert) is_inside <= rows_inside[ky] && !empty;
    for (genvar n = 0; n < NB; n++) begin : g_from
      always_ff @(posedge clock) begin
        if (insert)
          from[n] <= bank == BANK_BITS'((n + NB - ky * DY) % NB) && rows_inside[ky] && !empty;
      end
    end
    always_comb begin
      word = is_inside ? '0 : {LANES{CODE_BITS'(PAD_VALUE)}};
      for (int n = 0; n < NB; n++)
        word = word | (from[n] ? read_words[n*WORD_WIDTH+:WORD_WIDTH] : '0);
    end
    assign column[ky*WORD_WIDTH+:WORD_WIDTH] = word;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      inserted_only_when_ready : assert (!insert || insert_ready);
      insert_place_in_range : assert (32'(insert_place) < ROW_WORDS);
      write_place_in_range : assert (32'(write_place) < ROW_WORDS);
      banks_in_range : assert (32'(bank) < NB && 32'(write_bank) < NB);
      empty_only_in_last_set : assert (!empty || last_set);
      frame_ends_in_last_set : assert (!(insert && frame_end) || last_set);
      need_is_not_above_base : assert (above_need <= above_base);
      // A place is overwritten only after the last insertion that reads it.
      no_row_too_many : assert (above_base < ROWS + base_step ||
          (above_base == ROWS + base_step && write_place == '0));
      nothing_unread_overwritten : assert (!in_pop || above_base < ROWS ||
          empty || write_place < insert_place);
    end
  end
`endif
endmodule
