// Converts the values of a word to elements on their way to memory: a quantiser for each lane, and
// what they share (kiln_quantiser).
//   time       A word in a cycle with `advance` is at the outputs REGISTERS such cycles later; one
//              word per cycle.
//   in_block   The word belongs to a scale block; each lane has the inverse of its block's scale.
module kiln_word_quantiser #(
    parameter int unsigned LANES = 4,
    parameter int unsigned REGISTERS = 0,
    parameter kiln_format_pkg::format_t INPUT_FORMAT  = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter int unsigned PRECISIONS = 1,
    parameter bit INTEGER_ELEMENTS = 1'b1,  // integers can be written
    parameter kiln_format_pkg::formats_t OTHER_INPUT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::formats_t OTHER_WEIGHT_FORMATS = kiln_format_pkg::NO_OTHERS,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter bit BLOCKS = 1'b0,  // in_block is used
    parameter int unsigned SCALE = 32,  // bits of a scale
    parameter int unsigned ELEMENT = 32,  // kiln_vector_pkg::element_bits
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT)
) (
    input  logic clock,
    input  logic reset,
    input  logic advance,
    input  logic in_valid,
    input  logic in_block,
    input  logic [3:0] element,  // kiln_systolic_pkg::element_t
    input  logic [LANES*NUMBER-1:0] values,
    input  logic [LANES*SCALE-1:0] inverse_scales,  // the upper bits of fp32 numbers
    input  logic signed [31:0] zero_point,
    input  logic signed [31:0] low,
    input  logic signed [31:0] high,
    output logic out_valid,
    // An element of n bytes is in the lowest n of its lane. If a lane has only 16 bits, it has the
    // upper half of an fp32 element.
    output logic [LANES*ELEMENT-1:0] elements
);
  localparam int unsigned MOVES = REGISTERS > 0 ? REGISTERS : 1;
  logic [MOVES-1:0] moves;  // bit i: register i takes a word
  if (REGISTERS == 0) begin : g_at_once
    wire unused_clock = &{1'b0, clock, reset, advance};
    assign moves     = in_valid;
    assign out_valid = in_valid;
  end else begin : g_valids
    logic [REGISTERS-1:0] valids;
    assign moves     = REGISTERS'({valids, in_valid});
    assign out_valid = valids[REGISTERS-1];
    always_ff @(posedge clock) begin
      if (reset) valids <= '0;
      else if (advance) valids <= moves;
    end
  end

  if (kiln_format_pkg::is_short_float(VECTOR_FORMAT)) begin : g_short
    localparam int unsigned SCALED = REGISTERS >= 3 ? 2 : REGISTERS >= 1 ? 1 : 0;
    localparam int unsigned CONVERTED = REGISTERS >= 2 ? 1 : 0;
    localparam int CODES = 2 * PRECISIONS;
    localparam int unsigned SHARED = 5 + 3 * 32;

    // A code of a plain integer format has the format's limits.
    logic signed [31:0] zero_point_in, low_in, high_in;
    logic [CODES*32-1:0] lowest, highest;
    logic [CODES-1:0] plain;
    logic [3:0] chosen;
    assign chosen = element - kiln_systolic_pkg::ELEMENT_INPUT;
    for (genvar c = 0; c < CODES; c++) begin : g_code
      localparam kiln_format_pkg::format_t FORMAT =
          kiln_format_pkg::code_format(INPUT_FORMAT, OTHER_INPUT_FORMATS, WEIGHT_FORMAT,
              OTHER_WEIGHT_FORMATS, c);
      assign plain[c]           = chosen == 4'(c) && kiln_format_pkg::is_plain_integer(FORMAT);
      assign lowest[c*32+:32]   = kiln_format_pkg::least_integer(FORMAT);
      assign highest[c*32+:32]  = kiln_format_pkg::greatest_integer(FORMAT);
    end
    always_comb begin
      zero_point_in = zero_point;
      low_in        = low;
      high_in       = high;
      if (!INTEGER_ELEMENTS || element >= kiln_systolic_pkg::ELEMENT_INPUT && plain != '0) begin
        zero_point_in = '0;
        low_in        = lowest[32'(chosen)*32+:32];
        high_in       = highest[32'(chosen)*32+:32];
      end
    end

    logic [SHARED-1:0] shared_in, shared_scaled, shared_converted;
    assign shared_in = {in_block, element, zero_point_in, low_in, high_in};
    if (SCALED == 0) begin : g_scaled
      assign shared_scaled = shared_in;
    end else begin : g_scales
      logic [SCALED*SHARED-1:0] line;
      always_ff @(posedge clock) begin
        if (advance && moves[0]) line[0+:SHARED] <= shared_in;
        for (int i = 1; i < SCALED; i++) begin
          if (advance && moves[i]) line[i*SHARED+:SHARED] <= line[(i-1)*SHARED+:SHARED];
        end
      end
      assign shared_scaled = line[(SCALED-1)*SHARED+:SHARED];
    end
    if (CONVERTED == 0) begin : g_converted
      assign shared_converted = shared_scaled;
    end else begin : g_converts
      always_ff @(posedge clock) if (advance && moves[SCALED]) shared_converted <= shared_scaled;
    end
    logic scaled_in_block;
    assign scaled_in_block = shared_scaled[SHARED-1];
    wire unused_in_block = shared_converted[SHARED-1];

    for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
      kiln_short_quantiser #(
          .INPUT_FORMAT (INPUT_FORMAT),
          .WEIGHT_FORMAT(WEIGHT_FORMAT),
          .PRECISIONS(PRECISIONS),
          .INTEGER_ELEMENTS(INTEGER_ELEMENTS),
          .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
          .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
          .VECTOR_FORMAT(VECTOR_FORMAT),
          .BLOCKS(BLOCKS),
          .SCALE(SCALE),
          .ELEMENT(ELEMENT),
          .REGISTERS(REGISTERS)
      ) quantise (
          .clock,
          .advance,
          .moves,
          .value(values[lane*NUMBER+:NUMBER]),
          .inverse_scale(inverse_scales[lane*SCALE+:SCALE]),
          .scaled_in_block,
          .converted_element(shared_converted[96+:4]),
          .converted_zero_point(shared_converted[64+:32]),
          .converted_low(shared_converted[32+:32]),
          .converted_high(shared_converted[0+:32]),
          .bits(elements[lane*ELEMENT+:ELEMENT])
      );
    end
  end else begin : g_whole
    logic [LANES*32-1:0] converted;
    for (genvar lane = 0; lane < LANES; lane++) begin : g_lane
      kiln_quantiser #(
          .INPUT_FORMAT (INPUT_FORMAT),
          .WEIGHT_FORMAT(WEIGHT_FORMAT),
          .PRECISIONS(PRECISIONS),
          .INTEGER_ELEMENTS(INTEGER_ELEMENTS),
          .OTHER_INPUT_FORMATS(OTHER_INPUT_FORMATS),
          .OTHER_WEIGHT_FORMATS(OTHER_WEIGHT_FORMATS),
          .VECTOR_FORMAT(VECTOR_FORMAT),
          .BLOCKS(BLOCKS)
      ) quantise (
          .enable(in_valid),
          .in_block,
          .element,
          .value(32'(values[lane*NUMBER+:NUMBER]) << (32 - NUMBER)),
          .inverse_scale(32'(inverse_scales[lane*SCALE+:SCALE]) << (32 - SCALE)),
          .zero_point,
          .low,
          .high,
          .bits(converted[lane*32+:32])
      );
    end
    if (REGISTERS == 0) begin : g_now
      wire unused_moves = moves[0];
      assign elements = converted;
    end else begin : g_line
      logic [REGISTERS*LANES*32-1:0] line;
      always_ff @(posedge clock) begin
        if (advance && moves[0]) line[0+:LANES*32] <= converted;
        for (int i = 1; i < REGISTERS; i++) begin
          if (advance && moves[i]) line[i*LANES*32+:LANES*32] <= line[(i-1)*LANES*32+:LANES*32];
        end
      end
      assign elements = line[(REGISTERS-1)*LANES*32+:LANES*32];
    end
  end
endmodule
