// VTA's arithmetic: the operation on one accumulator, and a row of the multiply array.
module compute_bench #(
    parameter int unsigned ACCUMULATOR_BITS = 8,
    parameter int unsigned INPUT_BITS = 8,
    parameter int unsigned WEIGHT_BITS = 8,
    localparam int unsigned OPERAND_BITS = ACCUMULATOR_BITS > 16 ? ACCUMULATOR_BITS : 16,
    localparam int unsigned PRODUCT_BITS = INPUT_BITS + WEIGHT_BITS
) (
    input  logic                        clock,
    input  logic [                 2:0] operation,
    input  logic [ACCUMULATOR_BITS-1:0] x,
    input  logic [    OPERAND_BITS-1:0] y,
    output logic [ACCUMULATOR_BITS-1:0] result,
    input  logic [      INPUT_BITS-1:0] in,
    input  logic [     WEIGHT_BITS-1:0] weight_low,
    input  logic [     WEIGHT_BITS-1:0] weight_high,
    output logic [    PRODUCT_BITS-1:0] product_low,
    output logic [    PRODUCT_BITS-1:0] product_high
);
  kiln_vta_alu_number #(.ACCUMULATOR_BITS(ACCUMULATOR_BITS)) alu (.*);
  kiln_vta_product_pair #(
      .INPUT_BITS (INPUT_BITS),
      .WEIGHT_BITS(WEIGHT_BITS)
  ) pair (
      .*
  );
  logic unused_clock;
  assign unused_clock = clock;
endmodule
