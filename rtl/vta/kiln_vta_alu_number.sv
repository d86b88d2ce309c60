// One operation of the ALU on one accumulator: the low bits of what it is in whole numbers. Combinational.
//   shifts   to the right, arithmetic; by a negative amount to the left; by more than 31 as by 31
module kiln_vta_alu_number #(
    parameter int unsigned ACCUMULATOR_BITS = 32,
    // derived, do not set: room for accumulators and for immediates
    localparam int unsigned OPERAND_BITS = ACCUMULATOR_BITS > 16 ? ACCUMULATOR_BITS : 16
) (
    input  logic [                 2:0] operation,
    input  logic [ACCUMULATOR_BITS-1:0] x,
    input  logic [    OPERAND_BITS-1:0] y,
    output logic [ACCUMULATOR_BITS-1:0] result
);
  logic signed [ACCUMULATOR_BITS-1:0] number, shifted;
  logic signed [OPERAND_BITS-1:0] wide, operand;
  assign number = x;
  assign wide = OPERAND_BITS'(number);
  assign operand = y;

  // The amount without its sign; all ones where it is more.
  logic left, far;
  logic [OPERAND_BITS-1:0] size;
  logic [4:0] amount;
  assign left = y[OPERAND_BITS-1];
  assign size = left ? -y : y;
  assign far = size[OPERAND_BITS-1:5] != '0;
  assign amount = far ? '1 : size[4:0];
  assign shifted = number >>> amount;

  logic [ACCUMULATOR_BITS-1:0] product;
  assign product = x * ACCUMULATOR_BITS'(y);

  always_comb begin
    case (operation)
      kiln_vta_pkg::ALU_MIN: result = wide < operand ? x : ACCUMULATOR_BITS'(y);
      kiln_vta_pkg::ALU_MAX: result = wide > operand ? x : ACCUMULATOR_BITS'(y);
      kiln_vta_pkg::ALU_ADD: result = x + ACCUMULATOR_BITS'(y);
      kiln_vta_pkg::ALU_SHIFT_RIGHT: result = left ? x << amount : shifted;
      default: result = product;
    endcase
  end
endmodule
