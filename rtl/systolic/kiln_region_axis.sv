// One axis of the positions that an input fill fetches for a pixel tile (walk.h, RegionAxis; the
// table at input_t of kiln_systolic_pkg): the coordinate of the position in the image, and its
// distance from the axis' origin in bytes.
//   coordinate, offset, last    Of this cycle's position. The members of the command are constant
//                               while the instruction is current.
//
// At most one of these inputs per cycle moves to another position:
//   advance    the next position of the tile
//   rewind     the tile's first position
//   next_tile  the first position of the next tile
//   restart    the first position of the first tile
module kiln_region_axis (
    input  logic        clock,
    input  logic        reset,
    input  logic [23:0] places,  // positions of this tile
    // A position is a tap of a pixel: `kernel` taps, then the next pixel.
    input  logic        compact,
    // not compact: a position is a pixel (otherwise an input row or column)
    input  logic        pixels,
    input  logic [23:0] kernel,
    // Steps in positions of the image, and in bytes.
    input  logic [23:0] pad,
    input  logic [23:0] stride,
    input  logic [23:0] dilation,
    input  logic [31:0] tile_step,
    input  logic [39:0] place_bytes,
    input  logic [39:0] stride_bytes,
    input  logic [39:0] dilation_bytes,
    input  logic [39:0] tile_bytes,
    input  logic        advance,
    input  logic        rewind,
    input  logic        next_tile,
    input  logic        restart,
    output logic [31:0] coordinate,  // two's complement
    output logic [39:0] offset,
    output logic        last,  // last position of the tile
    // The `advance` of kiln_nest_sum, for sums of other steps along this axis: tap, position, tile
    // or rewind.
    output logic [ 2:0] walk
);
  localparam logic [23:0] ONE = 24'd1;
  localparam logic [23:0] TWO = 24'd2;

  logic [23:0] place, tap;
  // The last position and the last tap are known from a register, or from their number in the first
  // one: the counters are not in the paths of the outputs.
  logic place_first, tap_first;  // the counter is 0
  logic place_ends, tap_ends;  // at a later one: it is the last one
  logic last_tap, by_tap, by_place, by_pixel;
  assign last = place_first ? places == ONE : place_ends;
  assign last_tap = tap_first ? kernel == ONE : tap_ends;
  assign by_tap = advance && compact && !last_tap;
  assign by_place = advance && !by_tap;
  assign by_pixel = compact || pixels;

  always_ff @(posedge clock) begin
    if (reset || rewind || next_tile || restart) begin
      place       <= '0;
      tap         <= '0;
      place_first <= 1'b1;
      tap_first   <= 1'b1;
    end else if (advance) begin
      place       <= place + ONE;
      place_first <= 1'b0;
      place_ends  <= place + TWO == places;
      tap         <= by_tap ? tap + ONE : '0;
      tap_first   <= !by_tap;
      tap_ends    <= tap + TWO == kernel;
    end
  end

  assign walk = {rewind || next_tile, by_place, by_tap};

  logic [2:0] walk_sums;
  assign walk_sums = {next_tile, by_place, by_tap};
  logic [31:0] walked;
  kiln_nest_sum #(
      .LEVELS(3),
      .BITS  (32)
  ) coordinates (
      .clock,
      .reset,
      .restart,
      .rewind,
      .advance(walk_sums),
      .steps({tile_step, by_pixel ? {8'd0, stride} : 32'd1, {8'd0, dilation}}),
      .sum(walked)
  );
  assign coordinate = walked - {8'd0, pad};

  kiln_nest_sum #(
      .LEVELS(3),
      .BITS  (40)
  ) offsets (
      .clock,
      .reset,
      .restart,
      .rewind,
      .advance(walk_sums),
      .steps({tile_bytes, by_pixel ? stride_bytes : place_bytes, dilation_bytes}),
      .sum(offset)
  );
endmodule
