// Walks the visits of a matrix or depthwise instruction in their order (walk.h, VisitsOf). A visit
// is one block of one pixel tile.
//   input outer    for batch, for tile row, for tile column, for block
//   weight outer   for batch, for block, for tile row, for tile column
// Every unit that works visit by visit has a walker of its own, at its own position in the program.
//   command_tiling  The tiling of the instruction at the head of the unit's queue; it changes only
//                   after a cycle with `advance && last`.
//   advance         Asserted in the last cycle of the unit's work on a visit: the next cycle has
//                   the next visit or, after the last one, the first visit of the next instruction.
//
// Outputs are functions of `command_tiling` and registers, so that the first visit of an
// instruction is available in the cycle in which the instruction is.
//
// `step` says which loop advances to the next visit (the loops inside it start again), as one bit
// of five, from the innermost loop of either order to the outermost; it is 0 with `last`. With
// kiln_nest_sum a unit walks its addresses by it:
//   step[0]  block, input outer
//   step[1]  tile column
//   step[2]  tile row
//   step[3]  block, weight outer
//   step[4]  batch
module kiln_visit_walker (
    input  logic                                     clock,
    input  logic                                     reset,
    input  kiln_systolic_pkg::tiling_t               command_tiling,
    input  logic                                     advance,
    output logic                                     last,  // last visit of the instruction
    // Number of the visit in the instruction, modulo 2^16.
    output logic [kiln_systolic_pkg::INDEX_BITS-1:0] index,
    output logic [                              4:0] step,
    output logic [kiln_systolic_pkg::COUNT_BITS-1:0] height,  // pixels of the tile
    output logic [kiln_systolic_pkg::COUNT_BITS-1:0] width,
    output logic [kiln_systolic_pkg::COUNT_BITS-1:0] columns,  // column tiles of the block
    // The tile is in the last row of tiles.
    output logic                                     last_row,
    // the tile is in the last column of tiles
    output logic                                     last_column,
    // The block has the instruction's last column tile.
    output logic                                     last_block,
    // Whether inputs, weights or channel parameters are fetched for the visit, and whether the
    // visit is the last one to use them.
    output logic                                     fetch_inputs,
    output logic                                     last_of_inputs,
    output logic                                     fetch_weights,
    output logic                                     last_of_weights,
    output logic                                     fetch_parameters,
    output logic                                     last_of_parameters
);
  localparam int COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam logic [COUNT_BITS-1:0] ONE = COUNT_BITS'(1);

  logic [COUNT_BITS-1:0] batch, tile_y, tile_x, block;
  logic y_first, x_first, first_block, last_batch, last_tile, first_tile;
  assign last_tile = last_row && last_column;
  assign first_tile = y_first && x_first;
  assign last = last_batch && last_tile && last_block;

  assign height = last_row ? command_tiling.last_tile_height : command_tiling.tile_height;
  assign width = last_column ? command_tiling.last_tile_width : command_tiling.tile_width;
  assign columns =
      last_block ? command_tiling.last_block_columns : command_tiling.columns_per_block;

  // Inputs are resident only if blocks are the inner loop, weights only if tiles are.
  assign fetch_inputs = !command_tiling.inputs_resident || first_block;
  assign last_of_inputs = !command_tiling.inputs_resident || last_block;
  assign fetch_weights = !command_tiling.weights_resident || first_tile;
  assign last_of_weights = !command_tiling.weights_resident || last_tile;

  logic input_outer;
  assign input_outer = command_tiling.order == kiln_systolic_pkg::ORDER_INPUT_OUTER;
  always_comb begin
    step = '0;
    if (input_outer && !last_block) step[0] = 1'b1;
    else if (!last_column) step[1] = 1'b1;
    else if (!last_row) step[2] = 1'b1;
    else if (!input_outer && !last_block) step[3] = 1'b1;
    else if (!last_batch) step[4] = 1'b1;
  end

  // The parameters stay as long as the block stays, and the batch if each batch has its own
  // parameters.
  logic block_stays, parameters_stay, parameters_stayed;
  assign block_stays = command_tiling.blocks == ONE || !(input_outer || last_tile);
  assign parameters_stay = !last && block_stays && !(step[4] && command_tiling.parameters_by_batch);
  assign fetch_parameters = !parameters_stayed;
  assign last_of_parameters = !parameters_stay;

  logic done;
  assign done = advance && last;
  kiln_loop_counter batches (
      .clock,
      .reset,
      .rounds (command_tiling.batch),
      .advance(advance && step[4]),
      .restart(done),
      .count  (batch),
      .first  (),
      .last   (last_batch)
  );
  kiln_loop_counter tile_rows (
      .clock,
      .reset,
      .rounds (command_tiling.tiles_y),
      .advance(advance && step[2]),
      .restart(done || (advance && (step[3] || step[4]))),
      .count  (tile_y),
      .first  (y_first),
      .last   (last_row)
  );
  kiln_loop_counter tile_columns (
      .clock,
      .reset,
      .rounds (command_tiling.tiles_x),
      .advance(advance && step[1]),
      .restart(done || (advance && !step[0] && !step[1])),
      .count  (tile_x),
      .first  (x_first),
      .last   (last_column)
  );
  kiln_loop_counter blocks (
      .clock,
      .reset,
      .rounds (command_tiling.blocks),
      .advance(advance && (step[0] || step[3])),
      .restart(done || (advance && !step[0] && !step[3] && (input_outer || step[4]))),
      .count  (block),
      .first  (first_block),
      .last   (last_block)
  );
  wire unused_counts = &{1'b0, batch, tile_y, tile_x, block};  // read by the assertions alone
  always_ff @(posedge clock) begin
    if (reset || done) begin
      index             <= '0;
      parameters_stayed <= 1'b0;
    end else if (advance) begin
      index             <= index + 1'b1;
      parameters_stayed <= parameters_stay;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_loop : assert ($onehot0(step));
      batch_in_range : assert (!advance || batch < command_tiling.batch);
      row_in_range : assert (!advance || tile_y < command_tiling.tiles_y);
      column_in_range : assert (!advance || tile_x < command_tiling.tiles_x);
      block_in_range : assert (!advance || block < command_tiling.blocks);
      last_has_no_next_loop : assert (last == (step == '0));
    end
  end
`endif
endmodule
