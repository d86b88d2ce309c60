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
module kiln_region_axis #(
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic [            23:0] places,  // positions of this tile
    // A position is a tap of a pixel: `kernel` taps, then the next pixel.
    input  logic                    compact,
    // not compact: a position is a pixel (otherwise an input row or column)
    input  logic                    pixels,
    input  logic [            23:0] kernel,
    // Steps in positions of the image, and in bytes.
    input  logic [            23:0] pad,
    input  logic [            23:0] stride,
    input  logic [            23:0] dilation,
    input  logic [            31:0] tile_step,
    input  logic [ADDRESS_BITS-1:0] place_bytes,
    input  logic [ADDRESS_BITS-1:0] stride_bytes,
    input  logic [ADDRESS_BITS-1:0] dilation_bytes,
    input  logic [ADDRESS_BITS-1:0] tile_bytes,
    input  logic                    advance,
    input  logic                    rewind,
    input  logic                    next_tile,
    input  logic                    restart,
    output logic [            31:0] coordinate,  // two's complement
    output logic [ADDRESS_BITS-1:0] offset,
    output logic                    last,  // last position of the tile
    // The `advance` of kiln_nest_sum, for sums of other steps along this axis: tap, position, tile
    // or rewind.
    output logic [             2:0] walk
);
  logic last_tap, by_tap, by_place, by_pixel, begins;
  assign by_tap = advance && compact && !last_tap;
  assign by_place = advance && !by_tap;
  assign by_pixel = compact || pixels;
  assign begins = rewind || next_tile || restart;
  kiln_loop_counter place (
      .clock,
      .reset,
      .rounds (places),
      .advance(advance),
      .restart(begins),
      .count  (),
      .first  (),
      .last   (last)
  );
  kiln_loop_counter tap (
      .clock,
      .reset,
      .rounds (kernel),
      .advance(by_tap),
      .restart(begins || by_place),
      .count  (),
      .first  (),
      .last   (last_tap)
  );

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
      .BITS  (ADDRESS_BITS)
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
