// Requantises sums, of one column or of several in turn: two results per sum.
//   result = clamp((sum * multiplier + addend) >> shift, low, high), or low if a test decided it
//   total  = clamp((result * result_factor + added * added_factor + skip_addend) >> skip_shift,
//                  skip_low, skip_high)
// `sum` and `parameters` {addend, multiplier} are of cycle t, `added` of cycle t - 1; both results
// are there in t + 8. One sum per cycle.
module kiln_binary_requantise #(
    parameter int unsigned ACCUMULATOR_BITS = 28,
    parameter int unsigned ACTIVATION_BITS  = 8
) (
    input  logic                                              clock,
    input  logic        [               ACCUMULATOR_BITS-1:0] sum,
    input  logic                                              alive,
    input  logic        [kiln_binary_pkg::PARAMETER_BITS-1:0] parameters,
    input  logic        [                ACTIVATION_BITS-1:0] added,
    input  logic        [                                5:0] shift,
    input  logic signed [                               16:0] low,
    input  logic signed [                               16:0] high,
    input  logic                                              added_signed,
    input  logic signed [                               16:0] result_factor,
    input  logic signed [                               16:0] added_factor,
    input  logic signed [                               39:0] skip_addend,
    input  logic        [                                4:0] skip_shift,
    input  logic signed [                               16:0] skip_low,
    input  logic signed [                               16:0] skip_high,
    output logic        [                ACTIVATION_BITS-1:0] result,
    output logic        [                ACTIVATION_BITS-1:0] total
);
  localparam int unsigned PRODUCT_BITS = ACCUMULATOR_BITS + 17;
  localparam int unsigned WIDTH = (PRODUCT_BITS > 47 ? PRODUCT_BITS : 47) + 1;
  localparam int unsigned CODE_BITS = ACTIVATION_BITS + 1;  // of a code with its sign
  localparam int unsigned PART_BITS = CODE_BITS + 17;

  // Cycle t + k: registers with the suffix k.
  logic signed [ACCUMULATOR_BITS-1:0] sum1;
  logic signed [16:0] multiplier1;
  logic signed [46:0] addend1, addend2;
  logic signed [PRODUCT_BITS-1:0] product2;
  logic signed [WIDTH-1:0] value3, value4;
  logic [3:0] alive_line;
  logic signed [CODE_BITS-1:0] result5, added6;
  logic signed [PART_BITS-1:0] result_part6, added_part6;
  logic signed [40:0] total7, shifted7;
  logic [6*ACTIVATION_BITS-1:0] added_line;
  logic [3*ACTIVATION_BITS-1:0] result_line;
  logic [ACTIVATION_BITS-1:0] added5;

  assign added5 = added_line[5*ACTIVATION_BITS+:ACTIVATION_BITS];
  assign added6 = {added_signed && added5[ACTIVATION_BITS-1], added5};
  assign shifted7 = total7 >>> skip_shift;
  assign result = result_line[2*ACTIVATION_BITS+:ACTIVATION_BITS];

  always_ff @(posedge clock) begin
    sum1 <= sum;
    {addend1, multiplier1} <= parameters;
    alive_line <= {alive_line[2:0], alive};
    product2 <= PRODUCT_BITS'(sum1) * PRODUCT_BITS'(multiplier1);
    addend2 <= addend1;
    value3 <= WIDTH'(product2) + WIDTH'(addend2);
    value4 <= value3 >>> shift;
    if (!alive_line[3] || value4 < WIDTH'(low)) result5 <= low[CODE_BITS-1:0];
    else if (value4 > WIDTH'(high)) result5 <= high[CODE_BITS-1:0];
    else result5 <= value4[CODE_BITS-1:0];
    added_line <= {added_line[5*ACTIVATION_BITS-1:0], added};
    result_part6 <= PART_BITS'(result5) * PART_BITS'(result_factor);
    added_part6 <= PART_BITS'(added6) * PART_BITS'(added_factor);
    total7 <= 41'(result_part6) + 41'(added_part6) + 41'(skip_addend);
    if (shifted7 < 41'(skip_low)) total <= skip_low[ACTIVATION_BITS-1:0];
    else if (shifted7 > 41'(skip_high)) total <= skip_high[ACTIVATION_BITS-1:0];
    else total <= shifted7[ACTIVATION_BITS-1:0];
    result_line <= {result_line[2*ACTIVATION_BITS-1:0], result5[ACTIVATION_BITS-1:0]};
  end

`ifndef SYNTHESIS
  logic begun = 1'b0;
  logic signed [16:0] low5, high5;  // the bounds of result5
  // The bounds that the machine has before its first run may be anything.
  logic bounds_are_codes;
  assign bounds_are_codes = low5 == 17'(signed'(low5[CODE_BITS-1:0])) &&
      high5 == 17'(signed'(high5[CODE_BITS-1:0]));
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    low5  <= low;
    high5 <= high;
    if (begun) begin
      result_within_bounds : assert (!bounds_are_codes || low5 > high5 ||
          (17'(result5) >= low5 && 17'(result5) <= high5));
    end
  end
`endif
endmodule
