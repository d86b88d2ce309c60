// Gathers the words of an output with block scales: each word waits until its scale block is
// complete and the scale is known (kiln_block_scale, numerics/microscaling.h). A scale block is
// several whole words, or a word holds several scale blocks.
//   in         A word; in_last says that it ends its scale block. It is always taken in a cycle
//              with `advance`.
//   out        The words in their order, in cycles with `advance`. The first word of a scale block
//              leaves LATENCY * (ceil(log2(lanes of a tree)) + 1) such cycles after the last one
//              arrived, but not before the earlier words have had their beats on the output port.
//              The others follow, each after the beats of the previous word.
//   inverse    The factor of each lane's value on its way to a code: the upper INVERSE bits of an
//              fp32 number.
//   scales     With the first word of a scale block: the codes of its scales, `out_scale_count` of
//              them, to be written from address out_scale_target on.
//
// The queues hold as many words as can be in flight if words arrive no faster than their beats
// leave, counted in cycles with `advance`.
module kiln_vector_blocks #(
    parameter int unsigned LANES = 4,
    parameter int unsigned LATENCY = 1,
    parameter int unsigned NUMBER = 32,  // bits of a value: the upper bits of an fp32 number
    parameter int unsigned INVERSE = 32,  // kiln_vector_pkg::inverse_bits
    parameter int unsigned BLOCK_SIZE = 8,  // a multiple of LANES, or a divisor of it
    parameter kiln_format_pkg::format_t ELEMENT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t SCALE_FORMAT = kiln_named_formats_pkg::E8M0,
    parameter int unsigned OUTPUT_PORT_BYTES = 16,
    parameter int unsigned ABOUT_BITS = 3,  // what else travels with a word
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,  // derived, do not set
    localparam int unsigned LANE_BITS = $clog2(LANES + 1),
    localparam int SCALE_BITS = kiln_format_pkg::bits(SCALE_FORMAT),
    localparam int unsigned SCALES = kiln_vector_pkg::scales_of_word(BLOCK_SIZE, LANES),
    localparam int unsigned SCALE_COUNT_BITS = $clog2(SCALES + 1)
) (
    input  logic clock,
    input  logic reset,
    input  logic advance,
    input  logic in_valid,
    input  logic in_last,
    input  logic [LANES*NUMBER-1:0] in_value,
    input  logic [LANE_BITS-1:0] in_lanes,  // number of valid lanes
    input  logic [ADDRESS_BITS-1:0] in_target,
    input  logic [ADDRESS_BITS-1:0] in_scale_target,
    input  logic [ABOUT_BITS-1:0] in_about,
    output logic out_valid,
    output logic [LANES*NUMBER-1:0] out_value,
    output logic [LANES*INVERSE-1:0] out_inverse,
    output logic [LANE_BITS-1:0] out_lanes,
    output logic [ADDRESS_BITS-1:0] out_target,
    output logic [ABOUT_BITS-1:0] out_about,
    output logic out_scales,
    output logic [SCALES*SCALE_BITS-1:0] out_scale_codes,
    output logic [SCALE_COUNT_BITS-1:0] out_scale_count,
    output logic [ADDRESS_BITS-1:0] out_scale_target
);
  localparam int unsigned SHARING = kiln_vector_pkg::words_of_block(BLOCK_SIZE, LANES);
  localparam int unsigned TREE_LANES = LANES / SCALES;
  localparam int unsigned LEVELS = $clog2(TREE_LANES);
  localparam int unsigned LEAVES = 2 ** LEVELS;
  localparam int unsigned CODE_BYTES =
      1 << kiln_vector_pkg::code_shift(kiln_format_pkg::bits(ELEMENT_FORMAT));
  // The most beats of a word on the output port.
  localparam int unsigned WORD_BEATS =
      (LANES * CODE_BYTES + OUTPUT_PORT_BYTES - 1) / OUTPUT_PORT_BYTES + 1;
  localparam int unsigned MOST_BEATS = WORD_BEATS > SCALES ? WORD_BEATS : SCALES;
  // Words that arrive while a scale block waits for earlier ones. WORDS adds the block's own words
  // and those that arrive while its scale is computed.
  localparam int unsigned WAITING = (SHARING - 1) * MOST_BEATS + 2;
  localparam int unsigned WORDS = SHARING + LATENCY * (LEVELS + 1) + WAITING;
  // Bits of a number without its sign. As integers they are ordered by magnitude, with NaN above
  // all.
  localparam int unsigned MAGNITUDE = NUMBER - 1;

  // ---- The greatest magnitude of each tree; a level takes LATENCY cycles.
  // The nodes of a tree: those of a level follow those of the level below.
  localparam int unsigned NODES = 2 * LEAVES - 1;
  logic [SCALES*NODES*MAGNITUDE-1:0] nodes;
  logic [LEVELS:0] valids, lasts;
  assign valids[0] = in_valid;
  assign lasts[0]  = in_last;
  for (genvar tree = 0; tree < SCALES; tree++) begin : g_leaves
    for (genvar i = 0; i < LEAVES; i++) begin : g_leaf
      if (i < TREE_LANES) begin : g_lane
        localparam int unsigned LANE = tree * TREE_LANES + i;
        assign nodes[(tree*NODES+i)*MAGNITUDE+:MAGNITUDE] =
            in_valid && LANE_BITS'(LANE) < in_lanes ? in_value[LANE*NUMBER+:MAGNITUDE] : '0;
      end else begin : g_missing
        assign nodes[(tree*NODES+i)*MAGNITUDE+:MAGNITUDE] = '0;
      end
    end
  end
  for (genvar level = 1; level <= LEVELS; level++) begin : g_level
    localparam int unsigned HERE = LEAVES >> level;  // nodes of the level
    localparam int unsigned FROM = 2 * LEAVES - 4 * HERE;  // first node of the level below
    localparam int unsigned LEVEL_BITS = SCALES * HERE * MAGNITUDE;
    logic [LEVEL_BITS-1:0] joined, registered;
    kiln_vector_delay #(
        .WIDTH (1 + LEVEL_BITS),
        .CYCLES(LATENCY)
    ) registers (
        .clock,
        .reset,
        .advance,
        .in_valid (valids[level-1]),
        .in_data  ({lasts[level-1], joined}),
        .out_valid(valids[level]),
        .out_data ({lasts[level], registered})
    );
    for (genvar tree = 0; tree < SCALES; tree++) begin : g_tree
      for (genvar i = 0; i < HERE; i++) begin : g_node
        logic [MAGNITUDE-1:0] a, b;
        assign a = nodes[(tree*NODES+FROM+i)*MAGNITUDE+:MAGNITUDE];
        assign b = nodes[(tree*NODES+FROM+i+HERE)*MAGNITUDE+:MAGNITUDE];
        assign joined[(tree*HERE+i)*MAGNITUDE+:MAGNITUDE] = a > b ? a : b;
        assign nodes[(tree*NODES+FROM+2*HERE+i)*MAGNITUDE+:MAGNITUDE] =
            registered[(tree*HERE+i)*MAGNITUDE+:MAGNITUDE];
      end
    end
  end

  // ---- The scales, LATENCY cycles after the magnitudes of the last word.
  // bits of a result: the codes above the inverses
  localparam int unsigned FOUND = SCALES * (SCALE_BITS + INVERSE);
  logic [FOUND-1:0] found, delayed, known;
  logic delayed_valid, known_valid, out_last, unused_ready;
  logic [$clog2(WAITING+1)-1:0] unused_known;
  for (genvar tree = 0; tree < SCALES; tree++) begin : g_scale
    logic [MAGNITUDE-1:0] word, greatest;
    logic [31:0] inverse;
    assign word = nodes[(tree*NODES+NODES-1)*MAGNITUDE+:MAGNITUDE];
    if (SHARING == 1) begin : g_word
      assign greatest = word;
    end else begin : g_words
      logic begun;  // the scale block has earlier words
      logic [MAGNITUDE-1:0] former;
      assign greatest = begun && former > word ? former : word;
      always_ff @(posedge clock) begin
        if (reset) begun <= 1'b0;
        else if (advance && valids[LEVELS]) begun <= !lasts[LEVELS];
        if (advance && valids[LEVELS]) former <= greatest;
      end
    end
    kiln_block_scale #(
        .ELEMENT_FORMAT(ELEMENT_FORMAT),
        .SCALE_FORMAT  (SCALE_FORMAT)
    ) find (
        .greatest(31'(greatest) << (32 - NUMBER)),
        .code(found[SCALES*INVERSE+tree*SCALE_BITS+:SCALE_BITS]),
        .inverse
    );
    assign found[tree*INVERSE+:INVERSE] = inverse[31-:INVERSE];
    wire unused_inverse = &{1'b0, inverse};  // bits that are zero
  end
  kiln_vector_delay #(
      .WIDTH (FOUND),
      .CYCLES(LATENCY - 1)
  ) registers (
      .clock,
      .reset,
      .advance,
      .in_valid (valids[LEVELS] && lasts[LEVELS]),
      .in_data  (found),
      .out_valid(delayed_valid),
      .out_data (delayed)
  );
  kiln_fifo #(
      .WIDTH(FOUND),
      .DEPTH(WAITING)
  ) found_scales (
      .clock,
      .reset,
      .in_valid (delayed_valid && advance),
      .in_ready (unused_ready),
      .in_data  (delayed),
      .out_valid(known_valid),
      .out_ready(out_valid && out_last && advance),
      .out_data (known),
      .count    (unused_known)
  );

  // ---- The words.
  logic [$clog2(WORDS+1)-1:0] unused_count;
  logic word_valid, word_ready;
  kiln_deep_fifo #(
      .WIDTH(1 + LANES * NUMBER + LANE_BITS + 2 * ADDRESS_BITS + ABOUT_BITS),
      .DEPTH(WORDS),
      .STYLE(1)
  ) waiting (
      .clock,
      .reset,
      .in_valid (in_valid && advance),
      .in_ready (word_ready),
      .in_data  ({in_last, in_value, in_lanes, in_target, in_scale_target, in_about}),
      .out_valid(word_valid),
      .out_ready(out_valid && advance),
      .out_data ({out_last, out_value, out_lanes, out_target, out_scale_target, out_about}),
      .count    (unused_count)
  );
  wire unused_word = &{1'b0, word_valid};  // a scale block's words arrive before its scale
`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset && in_valid && advance && !word_ready) $error("kiln_vector_blocks: no room");
    if (!reset && delayed_valid && advance && !unused_ready)
      $error("kiln_vector_blocks: no room for scales");
  end
`endif

  // ---- The output: each word follows after the beats of the previous one.
  localparam int unsigned OFFSET_BITS = $clog2(OUTPUT_PORT_BYTES);
  localparam int unsigned SPAN_BITS = $clog2(LANES * CODE_BYTES + OUTPUT_PORT_BYTES);
  localparam int unsigned PACE_BITS = $clog2(MOST_BEATS + 1);
  logic first;  // the next word is the first of its scale block
  logic [PACE_BITS-1:0] pace, beats_behind;
  assign out_valid       = known_valid && pace == '0;
  assign out_scales      = out_valid && first;
  assign out_scale_codes = known[SCALES*INVERSE+:SCALES*SCALE_BITS];
  always_comb begin
    out_scale_count = '0;
    for (int i = 0; i < SCALES; i++) begin
      if (out_lanes > LANE_BITS'(i * TREE_LANES)) out_scale_count = SCALE_COUNT_BITS'(i + 1);
    end
    beats_behind =
        PACE_BITS'((SPAN_BITS'(out_target[OFFSET_BITS-1:0]) + SPAN_BITS'(out_lanes) *
        SPAN_BITS'(CODE_BYTES) - 1'b1) >> OFFSET_BITS);
    if (beats_behind + 1'b1 < PACE_BITS'(out_scale_count))
      beats_behind = PACE_BITS'(out_scale_count) - 1'b1;
  end
  for (genvar lane = 0; lane < LANES; lane++) begin : g_inverse
    assign out_inverse[lane*INVERSE+:INVERSE] = known[lane/TREE_LANES*INVERSE+:INVERSE];
  end
  always_ff @(posedge clock) begin
    if (reset) begin
      first <= 1'b1;
      pace  <= '0;
    end else if (advance) begin
      if (out_valid) first <= out_last;
      pace <= out_valid ? beats_behind : pace == '0 ? '0 : pace - 1'b1;
    end
  end
endmodule
