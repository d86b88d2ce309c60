// One axis of the places that an input fill fetches for a pixel tile (walk.h, RegionAxis; the table at input_t of
// kiln_systolic_pkg): where in the image the place lies, and its bytes behind the axis' origin.
//   coordinate, offset, last   of this cycle's place; the members of the command stand as long as the instruction does
// One of these a cycle brings the next one:
//   advance    the next place of the tile
//   rewind     the tile's first place
//   next_tile  the first place of the next tile
//   restart    the first place of the first tile
module kiln_region_axis (
    input  logic        clock,
    input  logic        reset,
    input  logic [23:0] places,  // of this tile
    input  logic        compact,  // a place is a tap of a pixel: `kernel` of them, then the next pixel
    input  logic        pixels,  // not compact: a place is a pixel (else an input row or column)
    input  logic [23:0] kernel,
    // Steps in places of the image, and in bytes.
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
    output logic        last,  // place of the tile
    output logic [ 2:0] walk  // kiln_nest_sum's `advance`, for sums of other steps along this axis: tap, place, tile or rewind
);
  localparam logic [23:0] ONE = 24'd1;

  logic [23:0] place, tap;
  logic last_tap, by_tap, by_place, by_pixel;
  assign last = place == places - ONE;
  assign last_tap = tap == kernel - ONE;
  assign by_tap = advance && compact && !last_tap;
  assign by_place = advance && !by_tap;
  assign by_pixel = compact || pixels;

  always_ff @(posedge clock) begin
    if (reset || rewind || next_tile || restart) begin
      place <= '0;
      tap   <= '0;
    end else if (advance) begin
      place <= place + ONE;
      tap   <= by_tap ? tap + ONE : '0;
    end
  end

  assign walk = {rewind || next_tile, by_place, by_tap};

  logic [31:0] walked;
  kiln_nest_sum #(
      .LEVELS(3),
      .BITS  (32)
  ) coordinates (
      .clock,
      .reset,
      .restart,
      .advance(walk),
      .steps({next_tile ? tile_step : 32'd0, by_pixel ? {8'd0, stride} : 32'd1, {8'd0, dilation}}),
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
      .advance(walk),
      .steps({next_tile ? tile_bytes : 40'd0, by_pixel ? stride_bytes : place_bytes, dilation_bytes}),
      .sum(offset)
  );
endmodule
