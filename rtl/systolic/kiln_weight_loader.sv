// Loads the weight tiles one after the other from the weight buffer into the array's shadow
// registers, in the order of the passes.
//   load              Takes ARRAY_ROWS / WEIGHT_ROWS_PER_CYCLE cycles from T on. T is the first
//                     cycle in which the command is available, a bank is filled (if the tile is the
//                     first of its fill), and the shadow registers are free: never loaded, or a
//                     pass starts in T or has started since the last load. In cycle T + i the
//                     loader reads step i from the buffer; in T + i + 1 it passes the step to the
//                     array.
//   shadow_full       High from the cycle after a load until the pass that takes it has started.
//   weights_released  Asserted in the last cycle of the load that uses a fill for the last time.
//
// The command stays at its port until command_ready, in the last cycle of its last load.
module kiln_weight_loader #(
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,
    parameter int unsigned ARRAY_ROWS = 4,
    parameter int unsigned WEIGHT_ROWS_PER_CYCLE = 1,
    localparam int unsigned TILES = WEIGHT_BUFFER_WORDS / ARRAY_ROWS,  // derived, do not set
    localparam int unsigned TILE_BITS = TILES > 1 ? $clog2(TILES) : 1,
    localparam int unsigned STEPS = ARRAY_ROWS / WEIGHT_ROWS_PER_CYCLE,
    localparam int unsigned STEP_BITS = STEPS > 1 ? $clog2(STEPS) : 1
) (
    input  logic                                    clock,
    input  logic                                    reset,
    input  logic                                    command_valid,
    output logic                                    command_ready,
    input  kiln_systolic_pkg::weight_load_command_t command,
    // The banks of the weight buffer.
    input  logic                                    weights_filled,
    output logic                                    weights_released,
    // The array sequencer.
    output logic                                    shadow_full,
    input  logic                                    pass_start,
    // The weight buffer.
    output logic                                    read_enable,
    output logic                                    read_bank,
    output logic [                   TILE_BITS-1:0] read_tile,
    output logic [                   STEP_BITS-1:0] read_step,
    output logic                                    load_start,     // in cycle T
    // The array, beside the data from the weight buffer.
    output logic                                    load,
    output logic [                   STEP_BITS-1:0] load_step,
    // For the performance counters.
    output logic                                    busy,
    output logic                                    stalled_empty,  // weight bank empty
    output logic                                    stalled_full    // shadow registers full
);
  localparam int COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam logic [COUNT_BITS-1:0] ONE = COUNT_BITS'(1);
  localparam logic [STEP_BITS-1:0] LAST_STEP = STEP_BITS'(STEPS - 1);

  logic [COUNT_BITS-1:0] columns;
  logic last_visit, fetch_weights, last_of_weights, last_tile_of_visit, tile_end;
  kiln_visit_walker visit (
      .clock,
      .reset,
      .command_tiling    (command.tiling),
      .advance           (tile_end && last_tile_of_visit),
      .last              (last_visit),
      .index             (),
      .step              (),
      .height            (),
      .width             (),
      .columns,
      .last_row          (),
      .last_column       (),
      .last_block        (),
      .fetch_inputs      (),
      .last_of_inputs    (),
      .fetch_weights,
      .last_of_weights,
      .fetch_parameters  (),
      .last_of_parameters()
  );

  // The current tile of the block: row tile `tap` of group `group`, and the column tile; and the
  // tile's number in its fill.
  logic [COUNT_BITS-1:0] group, column, tap, in_fill;
  logic last_tap, last_column, last_group, last_of_fill, needs_fill;
  assign last_tap = tap == command.reduction.rows_per_group - ONE;
  assign last_column = column == columns - ONE;
  assign last_group = group == command.reduction.groups - ONE;
  assign last_tile_of_visit = last_tap && last_column && last_group;
  assign last_of_fill =
      last_tile_of_visit || in_fill == command.reduction.weight_tiles_per_bank - ONE;
  assign needs_fill = in_fill == '0 && fetch_weights;

  logic running;  // the load began in an earlier cycle
  logic bank;
  logic [1:0] filled;  // banks that are filled and whose first load has not started
  logic [STEP_BITS-1:0] step;
  logic filled_ready, shadow_free;
  assign filled_ready = !needs_fill || filled != '0;
  assign shadow_free = !shadow_full || pass_start;
  assign load_start = command_valid && !running && filled_ready && shadow_free;
  assign busy = running || load_start;
  assign tile_end = busy && step == LAST_STEP;
  assign stalled_empty = command_valid && !running && !filled_ready;
  assign stalled_full = command_valid && !running && filled_ready && !shadow_free;

  assign read_enable = busy;
  assign read_bank = bank ^ (load_start && needs_fill);  // fills alternate
  assign read_tile = in_fill[TILE_BITS-1:0];
  assign read_step = step;
  assign command_ready = tile_end && last_tile_of_visit && last_visit;
  assign weights_released = tile_end && last_of_fill && last_of_weights;

  always_ff @(posedge clock) begin
    load      <= busy && !reset;
    load_step <= step;
    bank      <= read_bank;
    filled    <= filled + 2'(weights_filled) - 2'(load_start && needs_fill);
    if (tile_end || pass_start) shadow_full <= tile_end;
    if (busy) begin
      running <= !tile_end;
      step    <= tile_end ? '0 : step + 1'b1;
    end
    if (tile_end) begin
      in_fill <= last_of_fill ? '0 : in_fill + ONE;
      tap     <= last_tap ? '0 : tap + ONE;
      if (last_tap) begin
        column <= last_column ? '0 : column + ONE;
        if (last_column) group <= last_group ? '0 : group + ONE;
      end
    end
    if (reset) begin
      bank        <= 1'b1;
      filled      <= '0;
      shadow_full <= 1'b0;
      running     <= 1'b0;
      step        <= '0;
      in_fill     <= '0;
      tap         <= '0;
      column      <= '0;
      group       <= '0;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      banks_in_range : assert (filled <= 2'd2);
      load_has_command : assert (!running || command_valid);
      step_in_range : assert (32'(step) < STEPS);
      tile_in_range : assert (!busy || 32'(read_tile) < TILES);
      pass_takes_loaded_tile : assert (!pass_start || shadow_full);
      one_activity : assert ($onehot0({busy, stalled_empty, stalled_full}));
    end
  end
`endif
endmodule
