// Converts the elements that the operand port delivers to numbers, combines the positions of a
// window, and stores the operands of each word until the lanes read them.
//   time        Data that arrive in cycle t are at the outputs from t + 2 + CONVERT on if they
//               belong to operand 0, and one cycle later otherwise; `complete` says in t that all
//               operands of word `complete_place` have arrived.
//   scales      (BLOCK_SIZE > 0) Data of an operand with block scales are taken together with the
//               last of their scales, in whichever order the two ports deliver them; a scale that
//               is not the last of its word is taken at once.
//   read        Operand 0 of the word at `read_place` in a cycle with `read`, its factor and
//               read_empty are at the outputs from the next cycle on, until the cycle after the
//               next `read`. The word's operands are written in the cycle of the read at the latest.
//   late_read   Likewise for the other operands of the word at late_place, which have been written
//               in earlier cycles.
//   nothing     The window of the word at nothing_place has no position in the image (a pulse from
//               kiln_operand_fetch).
//
// The positions of a window are combined in the order in which they arrive. The factor of an
// average is 1 / n for n positions inside the image if the instruction asks for it
// (divide_by_valid), otherwise the instruction's factor. All outputs are numbers of VECTOR_FORMAT,
// as the upper NUMBER bits of fp32 numbers (kiln_format_pkg::number_bits).
module kiln_operand_buffer #(
    parameter int unsigned LANES = 4,
    parameter int unsigned WORDS = 32,  // words that the buffer holds
    parameter int unsigned CONVERT = 0,  // registers of the conversion (kiln_operand_decoder)
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,  // this and the next three: see kiln_operand_decoder
    parameter bit INTEGER_ELEMENTS = 1'b1,
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter int unsigned BLOCK_SIZE = 0,  // elements that share a scale; 0: no block scales
    parameter kiln_format_pkg::format_t SCALE_FORMAT = kiln_named_formats_pkg::E8M0,
    localparam int SCALE_BITS = kiln_format_pkg::bits(SCALE_FORMAT),
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT),
    localparam int unsigned SCALE = kiln_vector_pkg::scale_bits(VECTOR_FORMAT),
    localparam int unsigned OPERANDS = kiln_systolic_pkg::MAX_OPERANDS,
    localparam int unsigned PLACE_BITS = kiln_vector_pkg::PLACE_BITS
) (
    input  logic clock,
    input  logic reset,
    input  kiln_systolic_pkg::vector_command_t command,
    input  logic in_valid,
    output logic in_ready,
    input  logic [LANES*32-1:0] in_data,
    input  kiln_vector_pkg::operand_tag_t in_tag,
    input  logic scale_valid,
    output logic scale_ready,
    input  logic [SCALE_BITS-1:0] scale_code,
    input  kiln_vector_pkg::scale_tag_t scale_tag,
    input  logic nothing,
    input  logic [PLACE_BITS-1:0] nothing_place,
    output logic complete,
    output logic [PLACE_BITS-1:0] complete_place,
    input  logic read,
    input  logic [PLACE_BITS-1:0] read_place,
    input  logic late_read,
    input  logic [PLACE_BITS-1:0] late_place,
    output logic [OPERANDS*LANES*NUMBER-1:0] read_operands,
    output logic [NUMBER-1:0] read_factor,  // factor of a window, unless read_empty
    output logic read_empty  // the window has no position in the image: operand 0 is neutral
);
  localparam int unsigned WORD = LANES * NUMBER;  // bits of a word of numbers
  localparam logic [1:0] INPUT_SHIFT =
      kiln_vector_pkg::code_shift(kiln_format_pkg::bits(INPUT_FORMAT));
  localparam logic [1:0] WEIGHT_SHIFT =
      kiln_vector_pkg::code_shift(kiln_format_pkg::bits(WEIGHT_FORMAT));
  localparam logic [1:0] VECTOR_SHIFT =
      kiln_vector_pkg::code_shift(kiln_format_pkg::bits(VECTOR_FORMAT));
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);
  localparam int unsigned INDEX_BITS = WORDS > 1 ? $clog2(WORDS) : 1;

  logic take;  // data are taken
  assign take           = in_valid && in_ready;
  assign complete       = take && in_tag.last_of_word;
  assign complete_place = in_tag.place;

  // ---- First cycles: conversion to numbers. Each group of lanes has its own copy of the operands'
  // formats.
  localparam int unsigned GROUP = kiln_vector_pkg::lanes_of_copy(LANES);
  localparam int unsigned GROUPS = (LANES + GROUP - 1) / GROUP;
  logic [GROUPS*4-1:0] elements;  // of each group
  logic [GROUPS*SCALE-1:0] scales;
  logic [GROUPS*32-1:0] zero_points;
  logic dense;
  assign dense = in_tag.access == kiln_systolic_pkg::ACCESS_DENSE;
  for (genvar i = 0; i < GROUPS; i++) begin : g_format
    kiln_operand_format #(
        .STORED(GROUPS > 1),
        .SCALE (SCALE)
    ) format (
        .clock,
        .elements({command.operand2.element, command.operand1.element, command.operand0.element}),
        .scales({
          command.operand2.scale[31-:SCALE],
          command.operand1.scale[31-:SCALE],
          command.operand0.scale[31-:SCALE]
        }),
        .zero_points({
          command.operand2.zero_point, command.operand1.zero_point, command.operand0.zero_point
        }),
        .operand(in_tag.operand),
        .element(elements[i*4+:4]),
        .scale(scales[i*SCALE+:SCALE]),
        .zero_point(zero_points[i*32+:32])
    );
  end

  // The factor of each lane: the stream's scale, times the block scale. kiln_operand_decoder takes
  // it with the element, or one cycle later.
  localparam bit LATE_FACTOR = kiln_format_pkg::is_short_float(VECTOR_FORMAT) && CONVERT >= 3;
  logic [LANES*SCALE-1:0] factors_of_lanes;
  logic [GROUPS*SCALE-1:0] scales_now;
  if (LATE_FACTOR) begin : g_late_scale
    always_ff @(posedge clock) if (take) scales_now <= scales;
  end else begin : g_scale_at_once
    assign scales_now = scales;
  end
  if (BLOCK_SIZE == 0) begin : g_no_scales
    assign in_ready         = 1'b1;
    assign scale_ready      = 1'b1;
    for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
      assign factors_of_lanes[lane*SCALE+:SCALE] = scales_now[lane/GROUP*SCALE+:SCALE];
    end
    wire unused_scales = &{1'b0, scale_valid, scale_code, scale_tag};
  end else begin : g_scales
    localparam int unsigned SCALES = kiln_vector_pkg::scales_of_word(BLOCK_SIZE, LANES);
    logic scaled, last;
    logic [SCALES*SCALE_BITS-1:0] codes;
    assign scaled      = command.header.operand_blocks[in_tag.operand];
    assign last        = scale_valid && scale_tag.last;
    assign in_ready    = !scaled || last;
    assign scale_ready = !scale_tag.last || (in_valid && scaled);
    for (genvar i = 0; i < SCALES; i++) begin : g_scale
      logic here, multiplies;
      logic [SCALE_BITS-1:0] kept;
      logic [31:0] block_scale, block_scale_now, scale_now, product;
      logic [SCALE-1:0] factor;
      assign here = scale_tag.block == kiln_vector_pkg::LANE_BITS'(i);
      always_ff @(posedge clock) if (scale_valid && here) kept <= scale_code;
      assign codes[i*SCALE_BITS+:SCALE_BITS] = here ? scale_code : kept;
      kiln_decode_to_fp32 #(
          .FORMAT(SCALE_FORMAT)
      ) decode (
          .code (codes[i*SCALE_BITS+:SCALE_BITS]),
          .value(block_scale)
      );
      if (LATE_FACTOR) begin : g_later
        always_ff @(posedge clock) begin
          if (take) {multiplies, block_scale_now} <= {scaled, block_scale};
        end
      end else begin : g_at_once
        assign {multiplies, block_scale_now} = {take && scaled, block_scale};
      end
      assign scale_now = 32'(scales_now[SCALE-1:0]) << (32 - SCALE);
      if (kiln_format_pkg::is_power_of_two(SCALE_FORMAT)) begin : g_power
        kiln_fp32_times_power times_power (
            .value(scale_now),
            .power(block_scale_now),
            .product
        );
      end else begin : g_product
        always_comb begin
          product = '0;
          if (multiplies) product = kiln_fp32_pkg::multiply(scale_now, block_scale_now);
        end
      end
      if (kiln_format_pkg::is_short_float(VECTOR_FORMAT)) begin : g_short
        kiln_fp32_to_float #(
            .FORMAT(kiln_format_pkg::long_range(VECTOR_FORMAT))
        ) round (
            .value (product),
            .number(factor)
        );
      end else begin : g_whole
        assign factor = product;
      end
      for (genvar lane = i * BLOCK_SIZE; lane < (SCALES == 1 ? LANES : (i + 1) * BLOCK_SIZE);
          lane++) begin : g_lane
        assign factors_of_lanes[lane*SCALE+:SCALE] =
            multiplies ? factor : scales_now[lane/GROUP*SCALE+:SCALE];
      end
    end
  end

  // The bytes of an element begin at `lane` times the element's size.
  localparam int unsigned MOVES = CONVERT > 0 ? CONVERT : 1;
  logic [MOVES-1:0] moves;  // bit i: register i of the conversion takes data
  logic converted;  // the conversion ends
  logic [WORD-1:0] decoded;
  for (genvar lane = 0; lane < LANES; lane++) begin : g_decode
    logic [3:0] element;
    logic [1:0] shift;
    logic [31:0] bits;
    assign element = elements[lane/GROUP*4+:4];
    assign shift = kiln_vector_pkg::element_shift(element, VECTOR_SHIFT, INPUT_SHIFT, WEIGHT_SHIFT);
    always_comb begin
      bits = in_data[lane*32+:32];
      if (shift == 2'd0) bits = {24'd0, in_data[lane*8+:8]};
      if (shift == 2'd1) bits = {16'd0, in_data[lane*16+:16]};
    end
    kiln_operand_decoder #(
        .INPUT_FORMAT (INPUT_FORMAT),
        .WEIGHT_FORMAT(WEIGHT_FORMAT),
        .PRECISIONS(PRECISIONS),
        .INTEGER_ELEMENTS(INTEGER_ELEMENTS),
        .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
        .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
        .VECTOR_FORMAT(VECTOR_FORMAT),
        .REGISTERS(CONVERT)
    ) decoder (
        .clock,
        .moves,
        .enable(take && (dense || lane == 0)),
        .element,
        .bits,
        .zero_point(zero_points[lane/GROUP*32+:32]),
        .scale(factors_of_lanes[lane*SCALE+:SCALE]),
        .number(decoded[lane*NUMBER+:NUMBER])
    );
  end

  // The window of the instruction, whose command may be gone when the data have been converted, and
  // the number of its positions that have arrived.
  logic windowed_in, sums_in, divides_in;
  logic [23:0] places, places_in;
  logic [NUMBER-1:0] factor_in;  // of an average over all positions
  assign windowed_in = command.header.window && in_tag.operand == 2'd0;
  assign sums_in     = command.window.combine == kiln_systolic_pkg::COMBINE_SUM;
  assign divides_in  = command.window.divide_by_valid;
  always_comb begin
    places_in = places;
    if (in_tag.access != kiln_systolic_pkg::ACCESS_STRIDED || in_tag.lane == '0) begin
      places_in = in_tag.first_place ? 24'd1 : places + 1'b1;
    end
  end
  always_ff @(posedge clock) if (take && windowed_in) places <= places_in;

  // The data's tag and window travel beside the conversion.
  localparam int unsigned ABOUT = kiln_vector_pkg::OPERAND_TAG_BITS + 4 + NUMBER;
  logic [ABOUT-1:0] about_in, about_converted;
  assign about_in = {in_tag, dense, windowed_in, sums_in, divides_in, factor_in};
  if (CONVERT == 0) begin : g_at_once
    assign moves           = take;
    assign converted       = take;
    assign about_converted = about_in;
  end else begin : g_converts
    logic [CONVERT-1:0] valids;
    logic [CONVERT*ABOUT-1:0] line;
    assign moves           = CONVERT'({valids, take});
    assign converted       = valids[CONVERT-1];
    assign about_converted = line[(CONVERT-1)*ABOUT+:ABOUT];
    always_ff @(posedge clock) begin
      valids <= reset ? '0 : moves;
      if (moves[0]) line[0+:ABOUT] <= about_in;
      for (int i = 1; i < CONVERT; i++) begin
        if (moves[i]) line[i*ABOUT+:ABOUT] <= line[(i-1)*ABOUT+:ABOUT];
      end
    end
  end

  // ---- Second cycle: the word is assembled. An element of a strided stream belongs to one lane.
  logic valid, dense_converted, windowed, sums, divides, unused_dense;
  kiln_vector_pkg::operand_tag_t tag;
  logic [NUMBER-1:0] factor_of_all;
  logic [WORD-1:0] numbers;
  assign dense_converted = about_converted[NUMBER+3];
  always_ff @(posedge clock) begin
    if (reset) valid <= 1'b0;
    else valid <= converted;
    if (converted) begin
      {tag, unused_dense, windowed, sums, divides, factor_of_all} <= about_converted;
      numbers <= dense_converted ? decoded : {LANES{decoded[NUMBER-1:0]}};
    end
  end
  wire unused_about = unused_dense;

  logic [WORD-1:0] assembled, assembled_next;
  for (genvar lane = 0; lane < LANES; lane++) begin : g_join
    logic here;
    logic [NUMBER-1:0] number, partial, sum, greatest, joined;
    assign here    = valid && (tag.access != kiln_systolic_pkg::ACCESS_STRIDED ||
        tag.lane == kiln_vector_pkg::LANE_BITS'(lane));
    assign number  = numbers[lane*NUMBER+:NUMBER];
    assign partial = assembled[lane*NUMBER+:NUMBER];
    kiln_vector_join #(
        .VECTOR_FORMAT(VECTOR_FORMAT)
    ) add (
        .enable(here && windowed && sums),
        .maximum(1'b0),
        .a(tag.first_place ? '0 : partial),
        .b(number),
        .result(sum)
    );
    kiln_vector_join #(
        .VECTOR_FORMAT(VECTOR_FORMAT)
    ) compare (
        .enable(here && windowed && !sums),
        .maximum(1'b1),
        .a(partial),
        .b(number),
        .result(greatest)
    );
    always_comb begin
      joined = partial;
      if (here) begin
        joined = number;
        if (windowed && sums) joined = sum;
        else if (windowed && !tag.first_place) joined = greatest;
      end
    end
    assign assembled_next[lane*NUMBER+:NUMBER] = joined;
  end
  always_ff @(posedge clock) begin
    if (valid) assembled <= assembled_next;
  end

  // The factor of an average over the positions that have arrived.
  logic [NUMBER-1:0] factor_of_places, factor;
  if (kiln_format_pkg::is_short_float(VECTOR_FORMAT)) begin : g_short
    localparam int unsigned CONVERTED = CONVERT > 0 ? 1 : 0;
    localparam logic [NUMBER-1:0] ONE = NUMBER'(kiln_vector_pkg::FP32_ONE >> (32 - NUMBER));
    logic [23:0] places_now;
    logic [NUMBER-1:0] count, count_now;
    always_ff @(posedge clock) places_now <= places_in;
    kiln_fp32_to_float #(
        .FORMAT(VECTOR_FORMAT)
    ) round_factor (
        .value (command.window.factor),
        .number(factor_in)
    );
    kiln_integer_to_float #(
        .FORMAT(kiln_format_pkg::long_range(VECTOR_FORMAT))
    ) convert (
        .value ({8'd0, places_now}),
        .number(count)
    );
    if (CONVERTED == 0) begin : g_count
      assign count_now = count;
    end else begin : g_converted
      always_ff @(posedge clock) count_now <= count;
    end
    kiln_float_divide #(
        .FORMAT(VECTOR_FORMAT),
        .REGISTERS(CONVERT - CONVERTED)
    ) divide (
        .clock,
        .advance(1'b1),
        .a(ONE),
        .b(count_now),
        .quotient(factor_of_places)
    );
  end else begin : g_whole
    logic [31:0] instruction_factor, whole;
    logic [(CONVERT+1)*24-1:0] line;
    wire unused_factor = &{1'b0, instruction_factor, whole};  // low bits, which are 0
    always_ff @(posedge clock) begin
      line[0+:24] <= places_in;
      for (int i = 1; i <= CONVERT; i++) line[i*24+:24] <= line[(i-1)*24+:24];
    end
    always_comb begin
      instruction_factor = command.window.factor;
      if (NARROW) instruction_factor = kiln_fp32_pkg::round_to(command.window.factor, ROUNDING);
      whole = '0;
      if (valid && windowed && divides && tag.last_of_operand) begin
        whole = kiln_fp32_pkg::from_int32(32'(line[CONVERT*24+:24]));
        whole = kiln_fp32_pkg::divide(kiln_vector_pkg::FP32_ONE, whole);
        if (NARROW) whole = kiln_fp32_pkg::round_to(whole, ROUNDING);
      end
    end
    assign factor_in        = instruction_factor[31-:NUMBER];
    assign factor_of_places = whole[31-:NUMBER];
  end
  assign factor = divides ? factor_of_places : factor_of_all;

  // ---- The stored words, a memory for each operand. Beside operand 0 is the factor of its window;
  // when it is written in the cycle of its read, it passes the memory by.
  logic [WORDS-1:0] empty;  // windows without a position in the image
  logic write;
  logic [INDEX_BITS-1:0] write_index, read_index, index;  // `index` is of the word at the outputs
  logic passes;
  logic [NUMBER+WORD-1:0] written, passed, stored;
  wire unused_places = &{1'b0, nothing_place, read_place, late_place, tag};  // upper bits
  assign write       = valid && tag.last_of_operand;
  assign write_index = INDEX_BITS'(tag.place);
  assign read_index  = INDEX_BITS'(read_place);
  assign written     = {factor, assembled_next};
  always_ff @(posedge clock) begin
    if (read) begin
      index  <= read_index;
      passed <= written;
      passes <= write && tag.operand == 2'd0 && write_index == read_index;
    end
    if (write && tag.operand == 2'd0) empty[write_index] <= 1'b0;
    if (nothing) empty[INDEX_BITS'(nothing_place)] <= 1'b1;
  end
  kiln_ram_1w #(
      .WIDTH(NUMBER + WORD),
      .WORDS(WORDS)
  ) first (
      .clock,
      .write_enable(write && tag.operand == 2'd0),
      .write_address(write_index),
      .write_data(written),
      .read_enable(read),
      .read_address(read_index),
      .read_data(stored)
  );
  assign {read_factor, read_operands[0+:WORD]} = passes ? passed : stored;
  for (genvar i = 1; i < OPERANDS; i++) begin : g_operand
    kiln_ram_1w #(
        .WIDTH(WORD),
        .WORDS(WORDS)
    ) memory (
        .clock,
        .write_enable(write && tag.operand == 2'(i)),
        .write_address(write_index),
        .write_data(assembled_next),
        .read_enable(late_read),
        .read_address(INDEX_BITS'(late_place)),
        .read_data(read_operands[i*WORD+:WORD])
    );
  end
  assign read_empty  = empty[index];

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      operand_in_range : assert (!take || 32'(in_tag.operand) < OPERANDS);
      written_before_late_read : assert (!late_read || !write || tag.operand == 2'd0 ||
          write_index != INDEX_BITS'(late_place));
      lane_in_range : assert (!valid || tag.access != kiln_systolic_pkg::ACCESS_STRIDED ||
          32'(tag.lane) < LANES);
    end
  end
`endif
endmodule
