// Walks the blocks and pixel tiles of a matrix or depthwise instruction in order (walk.h, VisitsOf).
//   advance    in the last cycle of a visit's work: the next cycle sees the next visit, or, after the last one, the first of the next
//              instruction
// All else follows from `command_tiling` and registers in the same cycle.
module kiln_visit_counter (
    input  logic                                    clock,
    input  logic                                    reset,
    input  kiln_systolic_pkg::tiling_t              command_tiling,
    input  logic                                    advance,
    output logic                                    last,  // visit of the instruction
    output logic [kiln_systolic_pkg::INDEX_BITS-1:0] index,  // of the visit in the instruction, modulo 2^16
    output logic [kiln_systolic_pkg::COUNT_BITS-1:0] height,  // pixels of the tile
    output logic [kiln_systolic_pkg::COUNT_BITS-1:0] width,
    output logic [kiln_systolic_pkg::COUNT_BITS-1:0] columns,  // column tiles of the block
    // Whether the visit's inputs or weights are fetched for it, and whether it is the last to use them.
    output logic                                    fetch_inputs,
    output logic                                    last_of_inputs,
    output logic                                    fetch_weights,
    output logic                                    last_of_weights
);
  localparam int COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam logic [COUNT_BITS-1:0] ONE = COUNT_BITS'(1);

  logic [COUNT_BITS-1:0] batch, tile_y, tile_x, block;
  logic last_batch, last_row, last_column, last_tile, last_block, first_tile, first_block;

  assign last_batch = batch == command_tiling.batch - ONE;
  assign last_row = tile_y == command_tiling.tiles_y - ONE;
  assign last_column = tile_x == command_tiling.tiles_x - ONE;
  assign last_tile = last_row && last_column;
  assign last_block = block == command_tiling.blocks - ONE;
  assign first_tile = tile_y == '0 && tile_x == '0;
  assign first_block = block == '0;
  assign last = last_batch && last_tile && last_block;

  assign height = last_row ? command_tiling.last_tile_height : command_tiling.tile_height;
  assign width = last_column ? command_tiling.last_tile_width : command_tiling.tile_width;
  assign columns = last_block ? command_tiling.last_block_columns : command_tiling.columns_per_block;
  // Inputs are resident only where blocks are the inner loop, weights only where tiles are.
  assign fetch_inputs = !command_tiling.inputs_resident || first_block;
  assign last_of_inputs = !command_tiling.inputs_resident || last_block;
  assign fetch_weights = !command_tiling.weights_resident || first_tile;
  assign last_of_weights = !command_tiling.weights_resident || last_tile;

  logic input_outer, next_block, next_tile;
  assign input_outer = command_tiling.order == kiln_systolic_pkg::ORDER_INPUT_OUTER;
  assign next_block = input_outer || last_tile;
  assign next_tile = !input_outer || last_block;

  always_ff @(posedge clock) begin
    if (advance) begin
      index <= last ? '0 : index + 1'b1;
      if (next_block) block <= last_block ? '0 : block + ONE;
      if (next_tile) begin
        tile_x <= last_column ? '0 : tile_x + ONE;
        if (last_column) tile_y <= last_row ? '0 : tile_y + ONE;
      end
      if (last_tile && last_block) batch <= last_batch ? '0 : batch + ONE;
    end
    if (reset) begin
      index  <= '0;
      batch  <= '0;
      tile_y <= '0;
      tile_x <= '0;
      block  <= '0;
    end
  end
endmodule
