// Computes one operation of the VTA machine's ALU on one accumulator: the low bits of the exact
// integer result. Combinational.
//   shifts   are arithmetic and to the right; a negative amount shifts to the left. An amount
//            beyond 31 shifts by 31.
module kiln_vta_alu_number #(
    parameter int unsigned ACCUMULATOR_BITS = 32,
    // derived, do not set: wide enough for accumulators and for immediates
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

  // The magnitude of the shift amount, limited to 31.
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
