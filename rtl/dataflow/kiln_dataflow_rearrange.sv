// Repeats pixels FY x FX times (nearest neighbour), or with SPACE turns channels into blocks of
// FY x FX pixels (depth to space); docs/dataflow-machine.md, "Rearrange".
//   in_*, out_*  the consumer's side of the input channel and the producer's side of the output
//              channel, words of WIDTH bits
//   time       the writer pops a word if its row is at most one below the row that the reader
//              emits. The reader reserves in cycle t, if there is room and the word was popped
//              before t, and pushes the word in t + 1.
module kiln_dataflow_rearrange #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned W = 8,  // columns of the input
    parameter int unsigned CG = 1,  // words of a pixel of the input; SPACE: a multiple of FY * FX
    parameter int unsigned FY = 2,
    parameter int unsigned FX = 2,
    parameter bit SPACE = 1'b0,
    parameter int unsigned MEMORY = 1  // of two rows: 0 LUT memory, 1 block memory, 2 UltraRAM
) (
    input  logic             clock,
    input  logic             reset,
    input  logic             in_valid,
    input  logic [WIDTH-1:0] in_data,
    output logic             in_pop,
    input  logic             out_room,
    output logic             out_reserve,
    output logic             out_push,
    output logic [WIDTH-1:0] out_data
);
  localparam int unsigned ROW_WORDS = W * CG;
  localparam int unsigned PLACE_BITS = $clog2(2 * ROW_WORDS);
  // For each row of a block and each pixel of the input the reader emits RUN adjacent words REPEATS
  // times.
  localparam int unsigned RUN = SPACE ? CG / FY : CG;
  localparam int unsigned REPEATS = SPACE ? 1 : FX;
  localparam int unsigned RUN_BITS = RUN > 1 ? $clog2(RUN) : 1;
  localparam int unsigned REPEAT_BITS = REPEATS > 1 ? $clog2(REPEATS) : 1;
  localparam int unsigned X_BITS = W > 1 ? $clog2(W) : 1;
  localparam int unsigned Y_BITS = FY > 1 ? $clog2(FY) : 1;
  if (SPACE && CG % (FY * FX) != 0) begin : g_parameters
    $error("CG must be a multiple of FY * FX");
  end

  // ---- The writer: its place in the memory of two rows.
  logic [PLACE_BITS-1:0] write_place;
  logic [1:0] rows_above;  // the writer's row less the reader's
  logic row_written, row_emitted;
  assign in_pop = in_valid && rows_above <= 2'd1;
  assign row_written = in_pop && (write_place == PLACE_BITS'(ROW_WORDS - 1) ||
      write_place == PLACE_BITS'(2 * ROW_WORDS - 1));

  // ---- The reader.
  logic [PLACE_BITS-1:0] read_place, row_start, block_start;
  logic [RUN_BITS-1:0] word;
  logic [REPEAT_BITS-1:0] repeats;
  logic [X_BITS-1:0] x;
  logic [Y_BITS-1:0] y;
  logic step, last_word, last_repeat, last_x, last_y;
  assign step = out_room && (rows_above != '0 || write_place > read_place);
  assign last_word = word == RUN_BITS'(RUN - 1);
  assign last_repeat = repeats == REPEAT_BITS'(REPEATS - 1);
  assign last_x = x == X_BITS'(W - 1);
  assign last_y = y == Y_BITS'(FY - 1);
  assign row_emitted = step && last_word && last_repeat && last_x && last_y;
  assign out_reserve = step;

  always_ff @(posedge clock) begin
    if (reset) begin
      write_place <= '0;
      rows_above  <= '0;
      read_place  <= '0;
      row_start   <= '0;
      block_start <= '0;
      word        <= '0;
      repeats     <= '0;
      x           <= '0;
      y           <= '0;
      out_push    <= 1'b0;
    end else begin
      if (in_pop)
        write_place <= write_place == PLACE_BITS'(2 * ROW_WORDS - 1) ? '0 : write_place + 1'b1;
      rows_above <= rows_above + 2'(row_written) - 2'(row_emitted);
      out_push   <= step;
      if (step) begin
        word <= last_word ? '0 : word + 1'b1;
        if (last_word) repeats <= last_repeat ? '0 : repeats + 1'b1;
        if (last_word && last_repeat) x <= last_x ? '0 : x + 1'b1;
        if (last_word && last_repeat && last_x) y <= last_y ? '0 : y + 1'b1;
        if (!last_word) begin
          read_place <= read_place + 1'b1;
        end else if (!last_repeat) begin
          read_place <= read_place - PLACE_BITS'(RUN - 1);
        end else if (!last_x) begin
          read_place <= read_place + PLACE_BITS'(SPACE ? CG - RUN + 1 : 1);
        end else if (!last_y) begin
          // The next row of the blocks: the next RUN channels, or the same pixels again.
          read_place  <= block_start + PLACE_BITS'(SPACE ? RUN : 0);
          block_start <= block_start + PLACE_BITS'(SPACE ? RUN : 0);
        end else begin
          read_place  <= row_start == '0 ? PLACE_BITS'(ROW_WORDS) : '0;
          block_start <= row_start == '0 ? PLACE_BITS'(ROW_WORDS) : '0;
          row_start   <= row_start == '0 ? PLACE_BITS'(ROW_WORDS) : '0;
        end
      end
    end
  end

  kiln_ram_1w #(
      .WIDTH(WIDTH),
      .WORDS(2 * ROW_WORDS),
      .STYLE(MEMORY + 1)
  ) rows (
      .clock,
      .write_enable(in_pop),
      .write_address(write_place),
      .write_data(in_data),
      .read_enable(step),
      .read_address(read_place),
      .read_data(out_data)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      writer_near_reader : assert (rows_above <= 2'd2);
      writer_keeps_unread_rows : assert (rows_above != 2'd2 ||
          write_place == row_start);
      write_place_in_range : assert (32'(write_place) < 2 * ROW_WORDS);
      read_place_in_range : assert (32'(read_place) < 2 * ROW_WORDS);
      word_in_range : assert (32'(word) < RUN && 32'(repeats) < REPEATS);
      position_in_range : assert (32'(x) < W && 32'(y) < FY);
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
