// The multiply array of the GEMM unit: multiplies a BATCH x BLOCK_IN matrix of inputs by the
// transpose of a BLOCK_OUT x BLOCK_IN matrix of weights.
//   layout   numbers are packed, low bits first: input (b, i) at b * BLOCK_IN + i, weight (o, i) at
//            o * BLOCK_IN + i, sum (b, o) at b * BLOCK_OUT + o
//   time     the sums of the inputs of cycle t are at the output in t + 2; they are exact
module kiln_vta_multiply #(
    parameter int unsigned INPUT_BITS = 8,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned BATCH = 1,
    parameter int unsigned BLOCK_IN = 16,
    parameter int unsigned BLOCK_OUT = 16,
    localparam int unsigned SUM_BITS = INPUT_BITS + WEIGHT_BITS + $clog2(BLOCK_IN)
) (
    input  logic                                      clock,
    input  logic [     BATCH*BLOCK_IN*INPUT_BITS-1:0] inputs,
    input  logic [BLOCK_OUT*BLOCK_IN*WEIGHT_BITS-1:0] weights,
    output logic [      BATCH*BLOCK_OUT*SUM_BITS-1:0] sums
);
  localparam int unsigned ROW_BITS = BLOCK_IN * INPUT_BITS;
  localparam int unsigned WEIGHTS_BITS = BLOCK_IN * WEIGHT_BITS;
  // Outputs are computed in pairs; with an odd BLOCK_OUT half of the last pair is unused.
  for (genvar b = 0; b < BATCH; b++) begin : g_row
    for (genvar o = 0; o < BLOCK_OUT; o += 2) begin : g_pair
      localparam int unsigned HIGH = o + 1 < BLOCK_OUT ? o + 1 : o;
      logic [SUM_BITS-1:0] low, high;
      kiln_vta_dot #(
          .INPUT_BITS(INPUT_BITS),
          .WEIGHT_BITS(WEIGHT_BITS),
          .BLOCK_IN(BLOCK_IN)
      ) dot (
          .clock,
          .in(inputs[b*ROW_BITS+:ROW_BITS]),
          .weights_low(weights[o*WEIGHTS_BITS+:WEIGHTS_BITS]),
          .weights_high(weights[HIGH*WEIGHTS_BITS+:WEIGHTS_BITS]),
          .sum_low(low),
          .sum_high(high)
      );
      assign sums[(b*BLOCK_OUT+o)*SUM_BITS+:SUM_BITS] = low;
      if (HIGH != o) begin : g_high
        assign sums[(b*BLOCK_OUT+HIGH)*SUM_BITS+:SUM_BITS] = high;
      end else begin : g_single
        wire unused_high = &{1'b0, high};
      end
    end
  end
endmodule
