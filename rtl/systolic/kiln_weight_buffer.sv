// The double buffer between weight fetch and the array: two banks of TILES weight tiles, each ARRAY_ROWS x ARRAY_COLUMNS codes.
//   write      one row (write_transposed = 0: index = row, lane = column) or one column (1: index = column, lane = row) of a tile in the
//              cycle of write_enable; readable from the next cycle on. Lanes beyond the tile's other axis are ignored; whoever writes
//              rows fills lanes beyond the valid columns with code 0. What is beyond the valid rows or columns need not be
//              written at all: the array neither multiplies such rows nor does anybody read such columns.
//   read       WEIGHT_ROWS_PER_CYCLE rows, those from step * WEIGHT_ROWS_PER_CYCLE on; address in cycle t, data from t+1 on until the next read
//
// Rows and columns both go through in one cycle because neighbours on either axis stand in different memories: of the rows
// whose number is j modulo WEIGHT_ROWS_PER_CYCLE, row q and column c stand in memory (q + c) modulo MEMORIES of set j.
module kiln_weight_buffer #(
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,  // rows of a bank
    parameter int unsigned ARRAY_ROWS = 8,  // a power of two
    parameter int unsigned ARRAY_COLUMNS = 8,  // a power of two
    parameter int unsigned WEIGHT_ROWS_PER_CYCLE = 1,  // divides ARRAY_ROWS
    parameter int unsigned CODE_BITS = 8,  // of the weight format
    localparam int unsigned LONGEST = ARRAY_ROWS > ARRAY_COLUMNS ? ARRAY_ROWS : ARRAY_COLUMNS,  // derived, do not set
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
    // To the weight loader: row step * WEIGHT_ROWS_PER_CYCLE + j, column c in lane j * ARRAY_COLUMNS + c.
    input  logic                                                     read_enable,
    input  logic                                                     read_bank,
    input  logic [                                    TILE_BITS-1:0] read_tile,
    input  logic [                                    STEP_BITS-1:0] read_step,
    output logic [WEIGHT_ROWS_PER_CYCLE*ARRAY_COLUMNS*CODE_BITS-1:0] read_data
);
  localparam int unsigned MEMORIES = STEPS > ARRAY_COLUMNS ? STEPS : ARRAY_COLUMNS;  // of a set
  localparam int unsigned DEPTH = STEPS > ARRAY_COLUMNS ? ARRAY_COLUMNS : STEPS;  // codes of a tile in a memory
  localparam int unsigned PLACE_BITS = 2 * TILES * DEPTH > 1 ? $clog2(2 * TILES * DEPTH) : 1;
  localparam int unsigned WIDE = 16;  // more than any number of rows or columns has bits

  // Where the code of row q and column c of a tile stands in its memory.
  function automatic [PLACE_BITS-1:0] place(input logic bank, input logic [TILE_BITS-1:0] tile, input logic [WIDE-1:0] q,
                                            input logic [WIDE-1:0] c);
    place = PLACE_BITS'(bank ? TILES * DEPTH : 0) + PLACE_BITS'(tile) * PLACE_BITS'(DEPTH) +
        PLACE_BITS'(STEPS > ARRAY_COLUMNS ? c : q);
  endfunction
  // (memory - index) modulo MEMORIES: the other index of what stands there.
  function automatic [WIDE-1:0] other(input logic [WIDE-1:0] memory, input logic [WIDE-1:0] index);
    other = (memory - index) & WIDE'(MEMORIES - 1);
  endfunction

  logic [WIDE-1:0] index, step;
  assign index = WIDE'(write_index);
  assign step  = WIDE'(read_step);

  logic [WIDE-1:0] read_step_q;  // of the data that stand at the memories' outputs
  always_ff @(posedge clock) begin
    if (read_enable) read_step_q <= step;
  end

  for (genvar j = 0; j < WEIGHT_ROWS_PER_CYCLE; j++) begin : g_set
    logic [MEMORIES*CODE_BITS-1:0] codes;  // read, by memory
    for (genvar m = 0; m < MEMORIES; m++) begin : g_memory
      logic [WIDE-1:0] write_q, write_c;
      logic enable;
      logic [CODE_BITS-1:0] code;
      always_comb begin
        if (write_transposed) begin
          write_c = index;
          write_q = other(WIDE'(m), index);
          enable  = write_q < WIDE'(STEPS);
          code    = CODE_BITS'(write_data >> ((write_q * WIDE'(WEIGHT_ROWS_PER_CYCLE) + WIDE'(j)) * WIDE'(CODE_BITS)));
        end else begin
          write_q = index / WIDE'(WEIGHT_ROWS_PER_CYCLE);
          write_c = other(WIDE'(m), write_q);
          enable  = write_c < WIDE'(ARRAY_COLUMNS) && index % WIDE'(WEIGHT_ROWS_PER_CYCLE) == WIDE'(j);
          code    = CODE_BITS'(write_data >> (write_c * WIDE'(CODE_BITS)));
        end
      end
      kiln_ram_1w #(
          .WIDTH(CODE_BITS),
          .WORDS(2 * TILES * DEPTH)
      ) memory (
          .clock,
          .write_enable (write_enable && enable),
          .write_address(place(write_bank, write_tile, write_q, write_c)),
          .write_data   (code),
          .read_enable,
          .read_address (place(read_bank, read_tile, step, other(WIDE'(m), step))),
          .read_data    (codes[m*CODE_BITS+:CODE_BITS])
      );
    end
    // Column c stands at the output of memory (q + c) modulo MEMORIES.
    assign read_data[j*ARRAY_COLUMNS*CODE_BITS+:ARRAY_COLUMNS*CODE_BITS] = (ARRAY_COLUMNS * CODE_BITS)'(
        {codes, codes} >> ((read_step_q & WIDE'(MEMORIES - 1)) * WIDE'(CODE_BITS)));
  end
endmodule
