// The double buffer between weight fetch and the array: two banks of TILES weight tiles, each of
// ARRAY_ROWS x ARRAY_COLUMNS codes.
//   write       One row (write_transposed = 0: index = row, lane = column) or one column (1: index
//               = column, lane = row) of a tile, in the cycle of write_enable; readable from the
//               next cycle on. Lanes beyond the tile's other axis are ignored. A writer of rows
//               sets lanes beyond the valid columns to code 0. Rows or columns beyond the valid
//               ones need not be written at all: the array does not multiply such rows, and the
//               results of such columns are not read.
//   read        WEIGHT_ROWS_PER_CYCLE rows from step * WEIGHT_ROWS_PER_CYCLE on; address in cycle
//               t, data from t + 1 on until the next read.
//
// Rows and columns can both be written in one cycle, because neighbours on either axis are stored
// in different memories. Of the rows whose number is j modulo WEIGHT_ROWS_PER_CYCLE, row q and
// column c are in memory (q + c) modulo MEMORIES of set j.
module kiln_weight_buffer #(
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,  // rows of a bank
    parameter int unsigned ARRAY_ROWS = 8,  // a power of two
    parameter int unsigned ARRAY_COLUMNS = 8,  // a power of two
    parameter int unsigned WEIGHT_ROWS_PER_CYCLE = 1,  // divides ARRAY_ROWS
    parameter int unsigned CODE_BITS = 8,  // bits of a code of the weight format
    // derived, do not set
    localparam int unsigned LONGEST = ARRAY_ROWS > ARRAY_COLUMNS ? ARRAY_ROWS : ARRAY_COLUMNS,
    localparam int unsigned TILES = WEIGHT_BUFFER_WORDS / ARRAY_ROWS,
    localparam int unsigned TILE_BITS = TILES > 1 ? $clog2(TILES) : 1,
    localparam int unsigned INDEX_BITS = LONGEST > 1 ? $clog2(LONGEST) : 1,
    localparam int unsigned STEPS = ARRAY_ROWS / WEIGHT_ROWS_PER_CYCLE,
    localparam int unsigned STEP_BITS = STEPS > 1 ? $clog2(STEPS) : 1
) (
    input  logic                                                     clock,
    // From weight fetch.
    input  logic                                                     write_enable,
    input  logic                                                     write_bank,
    input  logic [                                    TILE_BITS-1:0] write_tile,
    input  logic                                                     write_transposed,
    input  logic [                                   INDEX_BITS-1:0] write_index,
    input  logic [                            LONGEST*CODE_BITS-1:0] write_data,
    // To the weight loader: row step * WEIGHT_ROWS_PER_CYCLE + j, column c in lane j *
    // ARRAY_COLUMNS + c.
    input  logic                                                     read_enable,
    input  logic                                                     read_bank,
    input  logic [                                    TILE_BITS-1:0] read_tile,
    input  logic [                                    STEP_BITS-1:0] read_step,
    output logic [WEIGHT_ROWS_PER_CYCLE*ARRAY_COLUMNS*CODE_BITS-1:0] read_data
);
  // memories of a set
  localparam int unsigned MEMORIES = STEPS > ARRAY_COLUMNS ? STEPS : ARRAY_COLUMNS;
  // Codes of a tile in a memory.
  localparam int unsigned DEPTH = STEPS > ARRAY_COLUMNS ? ARRAY_COLUMNS : STEPS;
  localparam int unsigned PLACE_BITS = 2 * TILES * DEPTH > 1 ? $clog2(2 * TILES * DEPTH) : 1;
  localparam int unsigned SET_BITS = MEMORIES * CODE_BITS;
  localparam int unsigned MEMORY_BITS = MEMORIES > 1 ? $clog2(MEMORIES) : 1;
  // 1: the address of a code in its memory is its column; 0: its row.
  localparam bit BY_COLUMN = STEPS > ARRAY_COLUMNS;

  // Returns the address of a tile's first code, which is the same in each memory.
  function automatic [PLACE_BITS-1:0] place(input logic bank, input logic [TILE_BITS-1:0] tile);
    place = PLACE_BITS'(bank ? TILES * DEPTH : 0) + PLACE_BITS'(tile) * PLACE_BITS'(DEPTH);
  endfunction

  // A row is written to the memories from q on, a column c to those from c on, that is, rotated by
  // `turn` memories.
  logic [MEMORY_BITS-1:0] write_turn, read_turn, read_turn_q;
  logic [PLACE_BITS-1:0] write_place, read_place;
  logic [31:0] index;
  assign index = 32'(write_index);
  assign write_turn = MEMORY_BITS'(write_transposed ? index : index / WEIGHT_ROWS_PER_CYCLE);
  assign write_place = place(write_bank, write_tile);
  assign read_turn = MEMORY_BITS'(read_step);
  assign read_place = place(read_bank, read_tile);
  always_ff @(posedge clock) begin
    if (read_enable) read_turn_q <= read_turn;  // of the data at the memories' outputs
  end

  for (genvar j = 0; j < WEIGHT_ROWS_PER_CYCLE; j++) begin : g_set
    logic here;  // the row belongs to this set
    logic [SET_BITS-1:0] row, column, turned, codes;
    assign here = write_transposed || index % WEIGHT_ROWS_PER_CYCLE == j;
    for (genvar m = 0; m < MEMORIES; m++) begin : g_lane
      if (m < ARRAY_COLUMNS) begin : g_row
        assign row[m*CODE_BITS+:CODE_BITS] = write_data[m*CODE_BITS+:CODE_BITS];
      end else begin : g_no_row
        assign row[m*CODE_BITS+:CODE_BITS] = '0;
      end
      if (m < STEPS) begin : g_column
        assign column[m*CODE_BITS+:CODE_BITS] =
            write_data[(m*WEIGHT_ROWS_PER_CYCLE+j)*CODE_BITS+:CODE_BITS];
      end else begin : g_no_column
        assign column[m*CODE_BITS+:CODE_BITS] = '0;
      end
    end
    logic [SET_BITS-1:0] lanes;
    assign lanes = write_transposed ? column : row;
    // Rotated by write_turn memories.
    assign turned = SET_BITS'({lanes, lanes} >> ((MEMORIES - 32'(write_turn)) * CODE_BITS));

    for (genvar m = 0; m < MEMORIES; m++) begin : g_memory
      // The index on the other axis of the code in this memory.
      logic [MEMORY_BITS-1:0] write_other, read_other;
      logic [MEMORY_BITS-1:0] write_part, read_part;  // offset in the tile
      logic counts;
      assign write_other = MEMORY_BITS'(m) - write_turn;
      assign read_other = MEMORY_BITS'(m) - read_turn;
      assign write_part = write_transposed == BY_COLUMN ? write_turn : write_other;
      assign read_part = BY_COLUMN ? read_other : read_turn;
      assign counts = 32'(write_other) < (write_transposed ? STEPS : ARRAY_COLUMNS);
      kiln_ram_1w #(
          .WIDTH(CODE_BITS),
          .WORDS(2 * TILES * DEPTH)
      ) memory (
          .clock,
          .write_enable (write_enable && here && counts),
          .write_address(write_place + PLACE_BITS'(write_part)),
          .write_data   (turned[m*CODE_BITS+:CODE_BITS]),
          .read_enable,
          .read_address (read_place + PLACE_BITS'(read_part)),
          .read_data    (codes[m*CODE_BITS+:CODE_BITS])
      );
    end
    // Column c is at the output of memory (q + c) modulo MEMORIES.
    assign read_data[j*ARRAY_COLUMNS*CODE_BITS+:ARRAY_COLUMNS*CODE_BITS] =
        (ARRAY_COLUMNS * CODE_BITS)'({codes, codes} >> (32'(read_turn_q) * CODE_BITS));
  end
endmodule
