// Reduces the lane values of rows to scalars: a partial result per lane over the words of a row, a
// tree over the lanes (isa.h, Reduce), then the pass's scalar stages. Stores the scalars of the
// rows in flight.
//   time       If a row's last word is at the inputs in a cycle with `advance`, its scalar is in
//              `scalars` 2 + LATENCY * (ceil(log2 LANES) + scalar stages) such cycles later, and
//              FUNCTION_LATENCY more for each of these stages with functions or a divider; one
//              word, and so at most one row, per cycle.
//   in_first, in_last  The first and the last word of the row.
//   numbers    Values are numbers of VECTOR_FORMAT, as the upper NUMBER bits of fp32 numbers
//              (kiln_format_pkg::number_bits).
module kiln_reduction #(
    parameter int unsigned LANES = 4,
    parameter int unsigned LATENCY = 1,
    parameter int unsigned FUNCTION_LATENCY = 0,
    parameter int unsigned SCALAR_STAGES = 12,
    parameter int unsigned SLOTS = 7,
    parameter int unsigned ROWS = 8,
    // Bit i: scalar stage i has functions and reciprocals.
    parameter logic [SCALAR_STAGES-1:0] FUNCTION_STAGES = {SCALAR_STAGES{1'b1}},
    // bit i: it has a divider
    parameter logic [SCALAR_STAGES-1:0] DIVIDE_STAGES = {SCALAR_STAGES{1'b1}},
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    // The spline tables of VECTOR_FORMAT.
    parameter kiln_spline_pkg::tables_t SPLINES = kiln_spline_tables_pkg::FP32,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT),
    localparam int unsigned SCALAR_BITS = kiln_vector_pkg::SCALARS * NUMBER
) (
    input  logic clock,
    input  logic reset,
    input  logic stage_write_valid,
    input  kiln_systolic_pkg::stage_write_t stage_write,
    input  logic advance,
    input  logic in_valid,
    input  kiln_vector_pkg::word_tag_t in_tag,  // stages and exit hold the number of scalar stages
    input  logic in_maximum,  // 1: maximum, 0: sum
    input  logic in_first,
    input  logic in_last,
    input  logic [LANES-1:0] in_lanes,  // valid lanes
    input  logic [LANES*NUMBER-1:0] in_value,
    // row 0 in the lowest bits; in each row, s0 in the lowest bits
    output logic [ROWS*SCALAR_BITS-1:0] scalars
);
  localparam int unsigned LEVELS = $clog2(LANES);
  localparam int unsigned LEAVES = 2 ** LEVELS;

  // The initial value of a maximum: minus infinity, or the least number of a format without
  // infinity.
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);
  logic [31:0] whole_least;
  logic [NUMBER-1:0] least;
  assign whole_least = NARROW ?
      kiln_fp32_pkg::round_to(kiln_vector_pkg::FP32_MINUS_INFINITY, ROUNDING) :
      kiln_vector_pkg::FP32_MINUS_INFINITY;
  assign least = whole_least[31-:NUMBER];
  wire unused_least = &{1'b0, whole_least};  // low bits, which are 0

  // ---- Lane partials.
  logic partial_valid, maximum;
  kiln_vector_pkg::word_tag_t partial_tag;
  logic [LANES*NUMBER-1:0] partials;
  logic [NUMBER-1:0] neutral;
  assign neutral = in_maximum ? least : '0;
  for (genvar lane = 0; lane < LANES; lane++) begin : g_partial
    logic [NUMBER-1:0] joined, former;
    assign former = in_first ? neutral : partials[lane*NUMBER+:NUMBER];
    kiln_vector_join #(
        .VECTOR_FORMAT(VECTOR_FORMAT)
    ) join_partial (
        .enable(in_valid && in_lanes[lane]),
        .maximum(in_maximum),
        .a(former),
        .b(in_value[lane*NUMBER+:NUMBER]),
        .result(joined)
    );
    always_ff @(posedge clock) begin
      if (advance && in_valid) partials[lane*NUMBER+:NUMBER] <= in_lanes[lane] ? joined : former;
    end
  end
  always_ff @(posedge clock) begin
    if (reset) partial_valid <= 1'b0;
    else if (advance) partial_valid <= in_valid && in_last;
    if (advance && in_valid && in_last) begin
      partial_tag <= in_tag;
      maximum     <= in_maximum;
    end
  end

  // ---- The tree, level by level from the leaves. A pass has one reduction, and the next pass
  // follows after the pass's gap, so `maximum` stays valid.
  localparam int unsigned TAG = kiln_vector_pkg::WORD_TAG_BITS;
  localparam int unsigned PROGRAM = kiln_vector_pkg::PROGRAM_BITS;
  logic [LEVELS:0] level_valids, next_valids;
  logic [(LEVELS+1)*PROGRAM-1:0] next_programs;  // as in kiln_vector_registers
  logic [(LEVELS+1)*TAG-1:0] level_tags;
  logic [(2*LEAVES-1)*NUMBER-1:0] nodes;  // the nodes of a level follow those of the level below
  if (LEVELS == 0) begin : g_one_lane
    wire unused_maximum = maximum;
  end
  assign next_valids[0]      = in_valid && in_last;
  assign next_programs[0+:PROGRAM] = {in_tag.slot, in_tag.pass};
  assign level_valids[0]     = partial_valid;
  assign level_tags[0+:TAG]  = partial_tag;
  for (genvar i = 0; i < LEAVES; i++) begin : g_leaf
    if (i < LANES) begin : g_lane
      assign nodes[i*NUMBER+:NUMBER] = partials[i*NUMBER+:NUMBER];
    end else begin : g_missing
      assign nodes[i*NUMBER+:NUMBER] = maximum ? least : '0;
    end
  end
  for (genvar level = 1; level <= LEVELS; level++) begin : g_level
    localparam int unsigned NODES = LEAVES >> level;
    localparam int unsigned FROM = 2 * LEAVES - 4 * NODES;  // first node of the level below
    logic [NODES*NUMBER-1:0] joined;
    logic [kiln_vector_pkg::SAVED*NODES*NUMBER-1:0] unused_saved;
    logic [kiln_systolic_pkg::MAX_OPERANDS*NODES*NUMBER-1:0] unused_operands;
    for (genvar i = 0; i < NODES; i++) begin : g_node
      kiln_vector_join #(
          .VECTOR_FORMAT(VECTOR_FORMAT)
      ) join_nodes (
          .enable(level_valids[level-1]),
          .maximum,
          .a(nodes[(FROM+i)*NUMBER+:NUMBER]),
          .b(nodes[(FROM+i+NODES)*NUMBER+:NUMBER]),
          .result(joined[i*NUMBER+:NUMBER])
      );
    end
    logic [LATENCY-1:0] unused_moves;
    kiln_vector_registers #(
        .LANES(NODES),
        .LATENCY(LATENCY),
        .NUMBER(NUMBER),
        .CARRIES_SAVED(1'b0),
        .CARRIES_OPERANDS(3'b000)
    ) registers (
        .clock,
        .reset,
        .advance,
        .in_valid(level_valids[level-1]),
        .in_tag(level_tags[(level-1)*TAG+:TAG]),
        .in_value(joined),
        .in_saved('0),
        .in_operands('0),
        .moves(unused_moves),
        .next_valid(next_valids[level]),
        .next_program(next_programs[level*PROGRAM+:PROGRAM]),
        .out_valid(level_valids[level]),
        .out_tag(level_tags[level*TAG+:TAG]),
        .out_value(nodes[(FROM+2*NODES)*NUMBER+:NODES*NUMBER]),
        .out_saved(unused_saved),
        .out_operands(unused_operands)
    );
  end

  // ---- Scalar stages: the stages of one lane. Link i is the output of i stages.
  logic [SCALAR_STAGES:0] valids, exits, leaving;
  logic [(SCALAR_STAGES+1)*TAG-1:0] tags;
  logic [(SCALAR_STAGES+1)*NUMBER-1:0] values;
  logic [SCALAR_STAGES:0] announced;
  logic [(SCALAR_STAGES+1)*PROGRAM-1:0] programs;
  wire unused_announced = &{1'b0, next_valids, next_programs, announced, programs};
  assign announced[0]   = next_valids[LEVELS];
  assign programs[0+:PROGRAM] = next_programs[LEVELS*PROGRAM+:PROGRAM];
  assign valids[0]      = level_valids[LEVELS];
  assign tags[0+:TAG]   = level_tags[LEVELS*TAG+:TAG];
  assign values[0+:NUMBER]  = nodes[(2*LEAVES-2)*NUMBER+:NUMBER];
  for (genvar i = 0; i <= SCALAR_STAGES; i++) begin : g_link
    assign exits[i]   = tags[i*TAG+kiln_vector_pkg::TAG_EXIT+:4] == 4'(i);
    assign leaving[i] = valids[i] && exits[i];
  end
  for (genvar i = 1; i <= SCALAR_STAGES; i++) begin : g_stage
    logic [kiln_vector_pkg::SAVED*NUMBER-1:0] unused_saved;
    logic [kiln_systolic_pkg::MAX_OPERANDS*NUMBER-1:0] unused_operands;
    kiln_vector_stage #(
        .LANES(1),
        .LATENCY(LATENCY),
        .EXTRA(FUNCTION_STAGES[i-1] || DIVIDE_STAGES[i-1] ? FUNCTION_LATENCY : 0),
        .SCALAR(1'b1),
        .SLOTS(SLOTS),
        .ROWS(ROWS),
        .HAS_FUNCTIONS(FUNCTION_STAGES[i-1]),
        .HAS_DIVIDER(DIVIDE_STAGES[i-1]),
        .CARRIES_SAVED(1'b0),
        .CARRIES_OPERANDS(3'b000),
        .VECTOR_FORMAT(VECTOR_FORMAT),
        .SPLINES(SPLINES)
    ) compute (
        .clock,
        .reset,
        .place(4'(i - 1)),
        .stage_write_valid,
        .stage_write,
        .advance,
        .scalars,
        .in_next_valid(announced[i-1]),
        .in_next_program(programs[(i-1)*PROGRAM+:PROGRAM]),
        .in_valid(valids[i-1] && !exits[i-1]),
        .in_tag(tags[(i-1)*TAG+:TAG]),
        .in_value(values[(i-1)*NUMBER+:NUMBER]),
        .in_saved('0),
        .in_operands('0),
        .out_next_valid(announced[i]),
        .out_next_program(programs[i*PROGRAM+:PROGRAM]),
        .out_valid(valids[i]),
        .out_tag(tags[i*TAG+:TAG]),
        .out_value(values[i*NUMBER+:NUMBER]),
        .out_saved(unused_saved),
        .out_operands(unused_operands)
    );
  end

  // ---- The scalars. All rows of a pass leave after the same stage, at most one per cycle.
  kiln_vector_pkg::word_tag_t leaving_tag;
  logic [NUMBER-1:0] scalar;
  always_comb begin
    scalar      = '0;
    leaving_tag = '0;
    for (int i = 0; i <= SCALAR_STAGES; i++) begin
      if (leaving[i]) begin
        scalar      = values[i*NUMBER+:NUMBER];
        leaving_tag = tags[i*TAG+:TAG];
      end
    end
  end
  wire unused_leaving = &{1'b0, leaving_tag};
  for (genvar r = 0; r < ROWS; r++) begin : g_row
    for (genvar s = 0; s < kiln_vector_pkg::SCALARS; s++) begin : g_scalar
      always_ff @(posedge clock) begin
        if (advance && leaving != '0 && leaving_tag.row == kiln_vector_pkg::ROW_BITS'(r) &&
            leaving_tag.into == 2'(s)) begin
          scalars[r*SCALAR_BITS+s*NUMBER+:NUMBER] <= scalar;
        end
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_row_leaves : assert (!advance || $onehot0(leaving));
    end
  end
`endif
endmodule
