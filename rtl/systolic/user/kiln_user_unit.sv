// The slot for a unit of one's own (docs/user-unit.md): the depthwise unit's multipliers and sums with another function. UNIT, the key
// `user_unit` of the design point, says which; each has a branch here and a module of its own with the same ports and parameters,
// but for UNIT.
//   step       in each cycle with `valid` MULTIPLIERS taps come for every lane, those of `present` count; `first` begins a new sum
//   sums       of the taps that came in cycle t and the steps before them stand at `sums` in t + REGISTERS + 1, until the next
// Inputs and weights are signed integers of up to 8 bits, sums integers.
module kiln_user_unit #(
    parameter int unsigned UNIT = 1,
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
  if (UNIT == 1) begin : g_maximum
    kiln_user_maximum #(
        .LANES(LANES),
        .MULTIPLIERS(MULTIPLIERS),
        .REGISTERS(REGISTERS),
        .INPUT_BITS(INPUT_BITS),
        .WEIGHT_BITS(WEIGHT_BITS),
        .PSUM_BITS(PSUM_BITS)
    ) unit (
        .clock,
        .valid,
        .first,
        .present,
        .inputs,
        .weights,
        .sums
    );
  end else begin : g_unknown
    $error("kiln_user_unit: there is no unit of this number");
  end
endmodule
