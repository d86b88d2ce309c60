// The interface to a unit of the user's own (docs/user-unit.md): it takes the place of the
// depthwise unit's multipliers and sums and computes another function. UNIT, the key `user_unit` of
// the design point, selects the unit; each unit has a branch here and a module of its own with the
// same ports and parameters, except UNIT.
//   step        Each cycle with `valid` brings MULTIPLIERS taps for every lane, of which those in
//               `present` count; `first` begins a new sum.
//   sums        The result of the taps of cycle t and of the earlier steps is at `sums` in t +
//               REGISTERS + 1, until the next result.
//
// Inputs and weights are signed integers of up to 8 bits; sums are integers.
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
