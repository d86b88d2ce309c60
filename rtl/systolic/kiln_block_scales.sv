// Multiplies block scales between array and accumulators: the scale of a pixel's scale block times
// the scale of each column's weights, in the cycle in which the pixel's psums arrive at the
// accumulation buffer. Scales are stored in buffers of their own, which are filled and released
// together with those of the codes.
//   input_write   The scale of the word at the same address of the input buffer. input_write_one:
//                 the scale is 1 (padding), whatever the code.
//   weight_write  The scale of one column of a tile.
//   pixel         Issued in cycle s (read_enable with the address that the input buffer receives);
//                 `products` holds fp32(sx * sw) of all columns in s + PRODUCT_LATENCY +
//                 SUM_LATENCY * R + C, as a kiln_format_pkg::power_t if all scales are powers of
//                 two. sx (sw) is 1 if the pixel's (tile's) instruction has no
//                 input_blocks (weight_blocks).
//   load          The scales of a tile are read in the first cycle T of its load (load_start); they
//                 come into use with the pass that swaps the tile in.
//
// All other timing is that of the buffers (kiln_input_buffer, kiln_weight_buffer).
module kiln_block_scales #(
    parameter int unsigned ARRAY_ROWS = 4,
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter int unsigned WEIGHT_ROWS_PER_CYCLE = 1,
    parameter int unsigned PRODUCT_LATENCY = 0,  // see kiln_processing_element
    parameter int unsigned SUM_LATENCY = 1,
    parameter int unsigned INPUT_BUFFER_WORDS = 1024,
    parameter int unsigned WEIGHT_BUFFER_WORDS = 1024,
    parameter kiln_format_pkg::format_t SCALE_FORMAT = kiln_named_formats_pkg::E8M0,
    localparam int SCALE_BITS = kiln_format_pkg::bits(SCALE_FORMAT),  // derived, do not set
    localparam int PRODUCT_BITS = kiln_format_pkg::scale_product_bits(SCALE_FORMAT),
    localparam int unsigned ADDRESS_BITS = INPUT_BUFFER_WORDS > 1 ? $clog2(INPUT_BUFFER_WORDS) : 1,
    localparam int unsigned TILES = WEIGHT_BUFFER_WORDS / ARRAY_ROWS,
    localparam int unsigned TILE_BITS = TILES > 1 ? $clog2(TILES) : 1,
    localparam int unsigned COLUMN_BITS = ARRAY_COLUMNS > 1 ? $clog2(ARRAY_COLUMNS) : 1
) (
    input  logic                        clock,
    input  logic                        reset,
    // Input fetch.
    input  logic                        input_write_enable,
    input  logic                        input_write_bank,
    input  logic [    ADDRESS_BITS-1:0] input_write_address,
    input  logic                        input_write_one,
    input  logic [      SCALE_BITS-1:0] input_write_data,
    // Weight fetch.
    input  logic                        weight_write_enable,
    input  logic                        weight_write_bank,
    input  logic [       TILE_BITS-1:0] weight_write_tile,
    input  logic [     COLUMN_BITS-1:0] weight_write_column,
    input  logic [      SCALE_BITS-1:0] weight_write_data,
    // The weight loader.
    input  logic                        load_start,
    input  logic                        load_bank,
    input  logic [       TILE_BITS-1:0] load_tile,
    input  logic                        load_blocks,  // weight_blocks of the instruction
    // The array sequencer.
    input  logic                        read_enable,
    input  logic                        read_bank,
    input  logic [    ADDRESS_BITS-1:0] read_address,
    input  logic                        read_swap,  // first pixel of a pass
    input  logic                        read_blocks,  // input_blocks of the instruction
    output logic [ARRAY_COLUMNS*PRODUCT_BITS-1:0] products
);
  localparam logic [31:0] ONE = 32'h3f80_0000;  // fp32
  localparam int unsigned PLACES = 2 * TILES;
  localparam int unsigned PLACE_BITS = $clog2(PLACES);
  // A pixel's scales are multiplied in the cycle before the product is used.
  localparam int unsigned LATENCY =
      PRODUCT_LATENCY + SUM_LATENCY * ARRAY_ROWS + ARRAY_COLUMNS - 1;
  // Tiles between their load and their first pixel's product: at most those whose passes began in
  // the last LATENCY cycles, which are at least ROWS / WEIGHT_ROWS_PER_CYCLE cycles apart, and the
  // one in the shadow registers.
  localparam int unsigned DEPTH = LATENCY * WEIGHT_ROWS_PER_CYCLE / ARRAY_ROWS + 3;

  // Returns the memory address of the scales of a tile.
  function automatic [PLACE_BITS-1:0] place(input logic bank, input logic [TILE_BITS-1:0] tile);
    place = (bank ? PLACE_BITS'(TILES) : '0) + PLACE_BITS'(tile);
  endfunction

  // The scale of a pixel, with {blocks, one} beside it.
  logic [SCALE_BITS:0] input_read, input_scale;
  logic blocks, blocks_read;
  kiln_input_buffer #(
      .WORDS(INPUT_BUFFER_WORDS),
      .LANES(1),
      .CODE_BITS(SCALE_BITS + 1)
  ) input_scales (
      .clock,
      .write_enable (input_write_enable),
      .write_bank   (input_write_bank),
      .write_address(input_write_address),
      .write_data   ({input_write_one, input_write_data}),
      .read_enable,
      .read_bank,
      .read_address,
      .read_data    (input_read)
  );
  kiln_delay #(
      .WIDTH (1),
      .CYCLES(1)
  ) delay_blocks (
      .clock,
      .in (read_blocks),
      .out(blocks_read)
  );
  kiln_delay #(
      .WIDTH (2 + SCALE_BITS),
      .CYCLES(LATENCY - 1)
  ) delay_scale (
      .clock,
      .in ({blocks_read, input_read}),
      .out({blocks, input_scale})
  );
  logic input_one;
  assign input_one = !blocks || input_scale[SCALE_BITS];

  // The scales of the weights wait for their pass in a queue of {blocks, codes of all columns}.
  localparam int unsigned TILE_SCALES = 1 + ARRAY_COLUMNS * SCALE_BITS;
  logic loaded, loaded_blocks, swap, follows;
  // The pass of a 1x1 array may begin in the cycle in which its scales come; they pass the queue.
  logic passes;
  assign passes = LATENCY == 1 && swap && loaded && !follows;
  logic [ARRAY_COLUMNS*SCALE_BITS-1:0] loaded_codes;
  logic [TILE_SCALES-1:0] following, present;
  always_ff @(posedge clock) begin
    loaded        <= load_start && !reset;
    loaded_blocks <= load_blocks;
  end
  for (genvar c = 0; c < ARRAY_COLUMNS; c++) begin : g_memory
    kiln_ram_1w #(
        .WIDTH(SCALE_BITS),
        .WORDS(PLACES)
    ) memory (
        .clock,
        .write_enable (weight_write_enable && weight_write_column == COLUMN_BITS'(c)),
        .write_address(place(weight_write_bank, weight_write_tile)),
        .write_data   (weight_write_data),
        .read_enable  (load_start),
        .read_address (place(load_bank, load_tile)),
        .read_data    (loaded_codes[c*SCALE_BITS+:SCALE_BITS])
    );
  end
  kiln_fifo #(
      .WIDTH(TILE_SCALES),
      .DEPTH(DEPTH)
  ) tiles (
      .clock,
      .reset,
      .in_valid (loaded && !passes),
      .in_ready (),
      .in_data  ({loaded_blocks, loaded_codes}),
      .out_valid(follows),
      .out_ready(swap),
      .out_data (following),
      .count    ()
  );
  // In the cycle before the pass's first product.
  kiln_pulse_delay #(
      .CYCLES(LATENCY - 1)
  ) delay_swap (
      .clock,
      .reset,
      .in (read_enable && read_swap),
      .out(swap)
  );
  always_ff @(posedge clock) begin
    if (swap) present <= passes ? {loaded_blocks, loaded_codes} : following;
  end

  for (genvar c = 0; c < ARRAY_COLUMNS; c++) begin : g_column
    logic [PRODUCT_BITS-1:0] product;
    if (kiln_format_pkg::is_power_of_two(SCALE_FORMAT)) begin : g_power
      kiln_power_product #(
          .FORMAT(SCALE_FORMAT)
      ) multiply (
          .a(input_scale[SCALE_BITS-1:0]),
          .b(present[c*SCALE_BITS+:SCALE_BITS]),
          .a_one(input_one),
          .b_one(!present[TILE_SCALES-1]),
          .product
      );
    end else begin : g_any
      logic [31:0] input_value, input_factor, weight_value, weight_factor;
      kiln_decode_to_fp32 #(
          .FORMAT(SCALE_FORMAT)
      ) decode_input (
          .code (input_scale[SCALE_BITS-1:0]),
          .value(input_value)
      );
      kiln_decode_to_fp32 #(
          .FORMAT(SCALE_FORMAT)
      ) decode_weight (
          .code (present[c*SCALE_BITS+:SCALE_BITS]),
          .value(weight_value)
      );
      assign input_factor  = input_one ? ONE : input_value;
      assign weight_factor = present[TILE_SCALES-1] ? weight_value : ONE;
      kiln_fp32_multiply multiply (
          .a     (input_factor),
          .b     (weight_factor),
          .result(product)
      );
    end
    always_ff @(posedge clock) products[c*PRODUCT_BITS+:PRODUCT_BITS] <= product;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) pass_has_scales : assert (!swap || follows || passes);
  end
`endif
endmodule
