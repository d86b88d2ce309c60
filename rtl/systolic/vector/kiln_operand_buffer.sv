// Converts the elements that the operand port delivers to numbers, combines the positions of a
// window, and stores the operands of each word until the lanes read them.
//   time        Data that arrive in cycle t can be read from t + 2 on; `complete` says in t that
//               all operands of word `complete_place` have arrived.
//   scales      (BLOCK_SIZE > 0) Data of an operand with block scales are taken together with the
//               last of their scales, in whichever order the two ports deliver them; a scale that
//               is not the last of its word is taken at once.
//   read        Asynchronous: the outputs are those of the word at `read_place`.
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
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,  // this and the next two: see kiln_operand_decoder
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter int unsigned BLOCK_SIZE = 0,  // elements that share a scale; 0: no block scales
    parameter kiln_format_pkg::format_t SCALE_FORMAT = kiln_named_formats_pkg::E8M0,
    localparam int SCALE_BITS = kiln_format_pkg::bits(SCALE_FORMAT),
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT),
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
    input  logic [PLACE_BITS-1:0] read_place,
    output logic [OPERANDS*LANES*NUMBER-1:0] read_operands,
    output logic [NUMBER-1:0] read_factor,  // factor of an average, unless read_empty
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

  // ---- First cycle: conversion to numbers.
  logic [3:0] element;
  logic [31:0] scale, zero_point;
  logic dense;
  always_comb begin
    element    = command.operand0.element;
    scale      = command.operand0.scale;
    zero_point = command.operand0.zero_point;
    if (in_tag.operand == 2'd1) begin
      element    = command.operand1.element;
      scale      = command.operand1.scale;
      zero_point = command.operand1.zero_point;
    end
    if (in_tag.operand == 2'd2) begin
      element    = command.operand2.element;
      scale      = command.operand2.scale;
      zero_point = command.operand2.zero_point;
    end
    dense = in_tag.access == kiln_systolic_pkg::ACCESS_DENSE;
  end

  // The factor of each lane: the stream's scale, times the block scale.
  logic [LANES*32-1:0] factors_of_lanes;
  if (BLOCK_SIZE == 0) begin : g_no_scales
    assign in_ready         = 1'b1;
    assign scale_ready      = 1'b1;
    assign factors_of_lanes = {LANES{scale}};
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
      logic here;
      logic [SCALE_BITS-1:0] kept;
      logic [31:0] block_scale, factor;
      assign here = scale_tag.block == kiln_vector_pkg::LANE_BITS'(i);
      always_ff @(posedge clock) if (scale_valid && here) kept <= scale_code;
      assign codes[i*SCALE_BITS+:SCALE_BITS] = here ? scale_code : kept;
      kiln_decode_to_fp32 #(
          .FORMAT(SCALE_FORMAT)
      ) decode (
          .code (codes[i*SCALE_BITS+:SCALE_BITS]),
          .value(block_scale)
      );
      always_comb begin
        factor = scale;
        if (take && scaled) factor = kiln_fp32_pkg::multiply(scale, block_scale);
      end
      for (genvar lane = i * BLOCK_SIZE; lane < (SCALES == 1 ? LANES : (i + 1) * BLOCK_SIZE);
          lane++) begin : g_lane
        assign factors_of_lanes[lane*32+:32] = factor;
      end
    end
  end

  // The bytes of an element begin at `lane` times the element's size.
  logic [WORD-1:0] decoded, numbers;
  logic [1:0] shift;
  assign shift = kiln_vector_pkg::element_shift(element, VECTOR_SHIFT, INPUT_SHIFT, WEIGHT_SHIFT);
  for (genvar lane = 0; lane < LANES; lane++) begin : g_decode
    logic [31:0] bits, whole;
    always_comb begin
      bits = in_data[lane*32+:32];
      if (shift == 2'd0) bits = {24'd0, in_data[lane*8+:8]};
      if (shift == 2'd1) bits = {16'd0, in_data[lane*16+:16]};
    end
    kiln_operand_decoder #(
        .INPUT_FORMAT (INPUT_FORMAT),
        .WEIGHT_FORMAT(WEIGHT_FORMAT),
        .PRECISIONS(PRECISIONS),
        .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
        .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
        .VECTOR_FORMAT(VECTOR_FORMAT)
    ) decoder (
        .enable(take && (dense || lane == 0)),
        .element,
        .bits,
        .zero_point,
        .scale(factors_of_lanes[lane*32+:32]),
        .value(whole)
    );
    assign decoded[lane*NUMBER+:NUMBER] = whole[31-:NUMBER];
    wire unused_whole = &{1'b0, whole};  // low bits, which are 0
  end

  logic valid;
  kiln_vector_pkg::operand_tag_t tag;
  always_ff @(posedge clock) begin
    if (reset) valid <= 1'b0;
    else valid <= take;
    if (take) begin
      tag     <= in_tag;
      numbers <= dense ? decoded : {LANES{decoded[NUMBER-1:0]}};
    end
  end

  // ---- Second cycle: the word is assembled. An element of a strided stream belongs to one lane.
  logic [WORD-1:0] assembled, assembled_next;
  logic windowed, sums;
  assign windowed = command.header.window && tag.operand == 2'd0;
  assign sums     = command.window.combine == kiln_systolic_pkg::COMBINE_SUM;
  for (genvar lane = 0; lane < LANES; lane++) begin : g_join
    logic here;
    logic [31:0] number, partial, sum, joined;
    assign here    = valid && (tag.access != kiln_systolic_pkg::ACCESS_STRIDED ||
        tag.lane == kiln_vector_pkg::LANE_BITS'(lane));
    assign number  = 32'(numbers[lane*NUMBER+:NUMBER]) << (32 - NUMBER);
    assign partial = 32'(assembled[lane*NUMBER+:NUMBER]) << (32 - NUMBER);
    always_comb begin
      sum = '0;
      if (here && windowed && sums) begin
        sum = kiln_fp32_pkg::add(tag.first_place ? '0 : partial, number);
        if (NARROW) sum = kiln_fp32_pkg::round_to(sum, ROUNDING);
      end
      joined = partial;
      if (here) begin
        joined = number;
        if (windowed && sums) begin
          joined = sum;
        end else if (windowed && !tag.first_place) begin
          joined = kiln_fp32_pkg::maximum(partial, number);
        end
      end
    end
    assign assembled_next[lane*NUMBER+:NUMBER] = joined[31-:NUMBER];
    wire unused_joined = &{1'b0, joined};  // low bits, which are 0
  end
  always_ff @(posedge clock) begin
    if (valid) assembled <= assembled_next;
  end

  // The number of the window's positions that have arrived.
  logic [23:0] places, places_now;
  logic averages_valid;
  logic [31:0] factor;
  wire unused_factor = &{1'b0, factor};  // low bits, which are 0
  always_comb begin
    places_now = places;
    if (tag.access != kiln_systolic_pkg::ACCESS_STRIDED || tag.lane == '0) begin
      places_now = tag.first_place ? 24'd1 : places + 1'b1;
    end
  end
  assign averages_valid =
      valid && windowed && command.window.divide_by_valid && tag.last_of_operand;
  always_ff @(posedge clock) begin
    if (valid && windowed) places <= places_now;
  end
  always_comb begin
    factor = command.window.factor;
    if (averages_valid) begin
      factor = kiln_fp32_pkg::divide(kiln_vector_pkg::FP32_ONE,
          kiln_fp32_pkg::from_int32(32'(places_now)));
    end
    if (NARROW && valid && windowed) factor = kiln_fp32_pkg::round_to(factor, ROUNDING);
  end

  // ---- The stored words.
  logic [WORD-1:0] words0[WORDS];
  logic [WORD-1:0] words1[WORDS];
  logic [WORD-1:0] words2[WORDS];
  logic [NUMBER-1:0] factors[WORDS];
  logic [WORDS-1:0] empty;  // windows without a position in the image
  logic write;
  logic [INDEX_BITS-1:0] write_index, read_index;
  wire unused_places = &{1'b0, nothing_place, read_place, tag};  // upper bits
  assign write       = valid && tag.last_of_operand;
  assign write_index = INDEX_BITS'(tag.place);
  assign read_index  = INDEX_BITS'(read_place);
  always_ff @(posedge clock) begin
    if (write && tag.operand == 2'd0) words0[write_index] <= assembled_next;
    if (write && tag.operand == 2'd1) words1[write_index] <= assembled_next;
    if (write && tag.operand == 2'd2) words2[write_index] <= assembled_next;
    if (write && windowed) factors[write_index] <= factor[31-:NUMBER];
    if (write && tag.operand == 2'd0) empty[write_index] <= 1'b0;
    if (nothing) empty[INDEX_BITS'(nothing_place)] <= 1'b1;
  end

  assign read_operands = {words2[read_index], words1[read_index], words0[read_index]};
  assign read_factor   = factors[read_index];
  assign read_empty    = empty[read_index];
endmodule
