// The multipliers and sums of the depthwise unit. Each cycle with `valid` brings MULTIPLIERS taps
// for every lane; `first` begins a new sum.
//   sums        The sums of the taps of cycle t and of the earlier steps are at `sums` in t +
//               PRODUCT_REGISTERS + 1, until the next sums.
//   order       Integer sums wrap, so that their order does not matter: products (registered if
//               PRODUCT_REGISTERS is 1) are added by a tree. Other formats round every sum, tap by
//               tap in order, in one cycle; the next step continues from the sum.
module kiln_depthwise_lanes #(
    parameter int unsigned LANES = 4,
    parameter int unsigned MULTIPLIERS = 9,
    parameter int unsigned PRODUCT_REGISTERS = 1,  // 0 or 1; integer sums only
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
  localparam bit INTEGER = kiln_format_pkg::kind(PSUM_FORMAT) == kiln_format_pkg::KIND_INTEGER;

  if (INTEGER) begin : g_tree
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
      logic [PSUM_BITS-1:0] sum, total;
      always_comb begin
        total = add_first ? '0 : sum;
        for (int i = 0; i < MULTIPLIERS; i++) total = total + addends[i*PSUM_BITS+:PSUM_BITS];
      end
      always_ff @(posedge clock) begin
        if (add) sum <= total;
      end
      assign sums[c*PSUM_BITS+:PSUM_BITS] = sum;
    end
  end else begin : g_chain
    if (PRODUCT_REGISTERS != 0) begin : g_no_products
      $error("kiln_depthwise_lanes: rounded sums take no registers before them");
    end
    for (genvar c = 0; c < LANES; c++) begin : g_lane
      logic [PSUM_BITS-1:0] sum;
      for (genvar i = 0; i < MULTIPLIERS; i++) begin : g_tap
        logic [PSUM_BITS-1:0] before_tap, with_tap, behind_tap;
        if (i == 0) begin : g_first
          assign before_tap = first ? '0 : sum;  // zero in every psum format
        end else begin : g_next
          assign before_tap = g_lane[c].g_tap[i-1].behind_tap;
        end
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
            .psum_in(before_tap),
            .psum_out(with_tap)
        );
        assign behind_tap = present[i] ? with_tap : before_tap;
      end
      always_ff @(posedge clock) begin
        if (valid) sum <= g_tap[MULTIPLIERS-1].behind_tap;
      end
      assign sums[c*PSUM_BITS+:PSUM_BITS] = sum;
    end
  end
endmodule
