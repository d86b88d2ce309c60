// A user unit that computes maximum pools: the greatest of the taps' codes, lane by lane; it
// ignores the weights. Ports and timing are those of kiln_user_unit.
module kiln_user_maximum #(
    parameter int unsigned LANES = 4,
    parameter int unsigned MULTIPLIERS = 9,
    parameter int unsigned REGISTERS = 1,  // 0 or 1
    parameter int unsigned INPUT_BITS = 8,
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned PSUM_BITS = 32
) (
    input  logic                                     clock,
    input  logic                                     valid,
    input  logic                                     first,
    input  logic [                  MULTIPLIERS-1:0] present,
    input  logic [ MULTIPLIERS*LANES*INPUT_BITS-1:0] inputs,   // [tap][lane]
    input  logic [MULTIPLIERS*LANES*WEIGHT_BITS-1:0] weights,
    output logic [              LANES*PSUM_BITS-1:0] sums
);
  // The least code of 8 bits, whatever INPUT_BITS.
  localparam logic signed [7:0] NO_TAPS = -8'sd128;

  logic fold, fold_first;
  if (REGISTERS == 0) begin : g_now
    assign {fold, fold_first} = {valid, first};
  end else begin : g_later
    // No reset is needed: sums are only read after a step with `valid`.
    always_ff @(posedge clock) {fold, fold_first} <= {valid, first};
  end
  for (genvar c = 0; c < LANES; c++) begin : g_lane
    // The greatest code of this step's taps, of the registered step's taps, and of all taps so far.
    logic signed [7:0] step, taken, sum;
    logic signed [7:0] code;
    always_comb begin
      step = NO_TAPS;
      code = '0;
      for (int i = 0; i < MULTIPLIERS; i++) begin
        code = 8'($signed(inputs[(i*LANES+c)*INPUT_BITS+:INPUT_BITS]));
        if (present[i] && code > step) step = code;
      end
    end
    if (REGISTERS == 0) begin : g_now
      assign taken = step;
    end else begin : g_later
      always_ff @(posedge clock) begin
        if (valid) taken <= step;
      end
    end
    always_ff @(posedge clock) begin
      if (fold) sum <= fold_first || taken > sum ? taken : sum;
    end
    assign sums[c*PSUM_BITS+:PSUM_BITS] = PSUM_BITS'(sum);
  end
  wire unused_weights = &{1'b0, weights};
endmodule
