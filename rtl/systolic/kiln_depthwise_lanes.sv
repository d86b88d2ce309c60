// The multipliers and sums of the depthwise unit. Each cycle with `valid` brings MULTIPLIERS taps
// for every lane; `first` begins a new sum.
//   exact       Integers wrap and quires hold every sum, so that the order of sums does not matter:
//               products (registered if PRODUCT_REGISTERS is 1) are added by a tree. The sums of
//               the taps of cycle t and of the earlier steps are at `sums` in t +
//               PRODUCT_REGISTERS + 1, until the next sums.
//   rounded     Other formats round every sum. A step's psum begins at 0 and adds its taps in
//               order; a total, which begins at 0, adds the psums of the steps in order. An
//               addition takes SUM_LATENCY cycles, and so much later than the tap before it each
//               tap is multiplied. The sums of the taps of cycle t are at `sums` in t +
//               (MULTIPLIERS + 1) * SUM_LATENCY + 1, until the next sums. Steps of one sum are
//               SUM_LATENCY cycles apart at least.
//   C++ twin    kiln::PsumStep and kiln::AccumulationStep (numerics/mac.h) with psum_format for
//               accumulations
module kiln_depthwise_lanes #(
    parameter int unsigned LANES = 4,
    parameter int unsigned MULTIPLIERS = 9,
    parameter int unsigned PRODUCT_REGISTERS = 1,  // 0 or 1; exact sums only
    parameter int unsigned SUM_LATENCY = 1,  // 1 or 2; rounded sums only
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter bit PRODUCT_ROUNDED = 1'b0,
    localparam int INPUT_BITS = kiln_format_pkg::bits(INPUT_FORMAT),  // derived, do not set
    localparam int WEIGHT_BITS = kiln_format_pkg::bits(WEIGHT_FORMAT),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT)
) (
    input  logic                                     clock,
    input  logic                                     valid,
    input  logic                                     first,
    input  logic [                  MULTIPLIERS-1:0] present,  // taps that count
    input  logic [ MULTIPLIERS*LANES*INPUT_BITS-1:0] inputs,   // [tap][lane]
    input  logic [MULTIPLIERS*LANES*WEIGHT_BITS-1:0] weights,
    output logic [              LANES*PSUM_BITS-1:0] sums
);
  localparam bit QUIRE = kiln_format_pkg::kind(PSUM_FORMAT) == kiln_format_pkg::KIND_QUIRE;
  localparam bit EXACT =
      QUIRE || kiln_format_pkg::kind(PSUM_FORMAT) == kiln_format_pkg::KIND_INTEGER;

  if (EXACT) begin : g_tree
    // A quire's uppermost bits are flags, which a sum inherits from its terms.
    localparam logic [PSUM_BITS-1:0] NUMBER =
        QUIRE ? {PSUM_BITS{1'b1}} >> kiln_format_pkg::QUIRE_FLAGS : {PSUM_BITS{1'b1}};
    logic add, add_first;
    if (PRODUCT_REGISTERS == 0) begin : g_now
      assign add = valid;
      assign add_first = first;
    end else begin : g_later
      // No reset is needed: sums are only read after a step with `valid`.
      always_ff @(posedge clock) {add, add_first} <= {valid, first};
    end
    for (genvar c = 0; c < LANES; c++) begin : g_lane
      logic [MULTIPLIERS*PSUM_BITS-1:0] products, addends;
      for (genvar i = 0; i < MULTIPLIERS; i++) begin : g_tap
        kiln_multiply_accumulate #(
            .INPUT_FORMAT(INPUT_FORMAT),
            .WEIGHT_FORMAT(WEIGHT_FORMAT),
            .PSUM_FORMAT(PSUM_FORMAT),
            .PRODUCT_ROUNDED(PRODUCT_ROUNDED)
        ) multiply (
            .clock(1'b0),
            .product_advance(1'b0),
            .sum_advance(1'b0),
            .counts(1'b1),
            .x(inputs[(i*LANES+c)*INPUT_BITS+:INPUT_BITS]),
            .w(weights[(i*LANES+c)*WEIGHT_BITS+:WEIGHT_BITS]),
            .psum_in('0),
            .psum_out(products[i*PSUM_BITS+:PSUM_BITS])
        );
        if (PRODUCT_REGISTERS == 0) begin : g_now
          assign addends[i*PSUM_BITS+:PSUM_BITS] =
              present[i] ? products[i*PSUM_BITS+:PSUM_BITS] : '0;
        end else begin : g_later
          always_ff @(posedge clock) begin
            if (valid)
              addends[i*PSUM_BITS+:PSUM_BITS] <= present[i] ? products[i*PSUM_BITS+:PSUM_BITS] : '0;
          end
        end
      end
      logic [PSUM_BITS-1:0] sum, total, flags;
      always_comb begin
        total = add_first ? '0 : sum;
        flags = total & ~NUMBER;
        for (int i = 0; i < MULTIPLIERS; i++) begin
          total = total + (addends[i*PSUM_BITS+:PSUM_BITS] & NUMBER);
          flags = flags | (addends[i*PSUM_BITS+:PSUM_BITS] & ~NUMBER);
        end
      end
      always_ff @(posedge clock) begin
        if (add) sum <= (total & NUMBER) | flags;
      end
      assign sums[c*PSUM_BITS+:PSUM_BITS] = sum;
    end
  end else begin : g_chain
    localparam int unsigned STEP = SUM_LATENCY;
    localparam int unsigned LAST = (MULTIPLIERS + 1) * STEP;
    // Bit k is 1 k cycles after a step. No reset is needed: sums are only read after a step.
    logic [LAST:0] active;
    logic [LAST-1:0] was_active;
    assign active = {was_active, valid};
    always_ff @(posedge clock) was_active <= active[LAST-1:0];
    logic add_first;  // with a step's psum
    kiln_delay #(
        .WIDTH (1),
        .CYCLES(MULTIPLIERS * STEP + 1)
    ) delay_first (
        .clock,
        .in (first),
        .out(add_first)
    );

    logic [MULTIPLIERS*LANES*PSUM_BITS-1:0] psums;  // with the taps up to each one
    for (genvar i = 0; i < MULTIPLIERS; i++) begin : g_tap
      logic [LANES*INPUT_BITS-1:0] x;
      logic [LANES*WEIGHT_BITS-1:0] w;
      logic counts, sum_counts;
      kiln_delay #(
          .WIDTH (1 + LANES * (INPUT_BITS + WEIGHT_BITS)),
          .CYCLES(i * STEP)
      ) delay_operands (
          .clock,
          .in ({present[i], inputs[i*LANES*INPUT_BITS+:LANES*INPUT_BITS],
              weights[i*LANES*WEIGHT_BITS+:LANES*WEIGHT_BITS]}),
          .out({counts, x, w})
      );
      always_ff @(posedge clock) sum_counts <= counts;
      for (genvar c = 0; c < LANES; c++) begin : g_lane
        logic [PSUM_BITS-1:0] before_tap, with_tap, behind_tap, psum;
        if (i == 0) begin : g_first
          assign before_tap = '0;  // zero in every psum format
        end else begin : g_next
          assign before_tap = psums[((i-1)*LANES+c)*PSUM_BITS+:PSUM_BITS];
        end
        kiln_multiply_accumulate #(
            .INPUT_FORMAT(INPUT_FORMAT),
            .WEIGHT_FORMAT(WEIGHT_FORMAT),
            .PSUM_FORMAT(PSUM_FORMAT),
            .PRODUCT_ROUNDED(PRODUCT_ROUNDED),
            .PRODUCT_REGISTERS(1),
            .SUM_REGISTERS(STEP - 1)
        ) multiply (
            .clock,
            .product_advance(active[i*STEP]),
            .sum_advance(active[i*STEP+1]),
            .counts,
            .x(x[c*INPUT_BITS+:INPUT_BITS]),
            .w(w[c*WEIGHT_BITS+:WEIGHT_BITS]),
            .psum_in(before_tap),
            .psum_out(with_tap)
        );
        if (STEP == 1) begin : g_one_cycle
          assign behind_tap = sum_counts ? with_tap : before_tap;
        end else begin : g_two_cycles
          wire unused_counts = sum_counts;
          assign behind_tap = with_tap;
        end
        always_ff @(posedge clock) if (active[(i+1)*STEP]) psum <= behind_tap;
        assign psums[(i*LANES+c)*PSUM_BITS+:PSUM_BITS] = psum;
      end
    end

    for (genvar c = 0; c < LANES; c++) begin : g_total
      logic [PSUM_BITS-1:0] total, next;
      kiln_accumulate #(
          .PSUM_FORMAT(PSUM_FORMAT),
          .ACCUMULATION_FORMAT(PSUM_FORMAT),
          .LATENCY(STEP)
      ) accumulate (
          .clock,
          .advance(active[MULTIPLIERS*STEP+1]),
          .psum(psums[((MULTIPLIERS-1)*LANES+c)*PSUM_BITS+:PSUM_BITS]),
          .scale('0),
          .accumulation_in(add_first ? '0 : total),
          .accumulation_out(next)
      );
      always_ff @(posedge clock) if (active[LAST]) total <= next;
      assign sums[c*PSUM_BITS+:PSUM_BITS] = total;
    end
  end
endmodule
