// The arithmetic/logic unit of one lane, for integers: result = g(m, in3), with in2 for selections.
//   time        combinational
//   operations  kiln_cgra_pkg::LOGIC_*; for all others the result is m
//   in3_zero    in3 == 0, which the cycle before can find
module kiln_cgra_logic_lane (
    input  logic [kiln_cgra_pkg::LOGIC_BITS-1:0] operation,
    input  logic [                         31:0] m,
    input  logic [                         31:0] in2,
    input  logic [                         31:0] in3,
    input  logic                                 in3_zero,
    output logic [                         31:0] result
);
  // One adder does sums, differences and comparisons: first + (invert ? ~second : second) + invert.
  logic subtracts, swaps, less, equal;
  logic [31:0] first, second, sum;
  logic [32:0] wide;
  assign subtracts = operation != kiln_cgra_pkg::LOGIC_ADD;
  assign swaps = operation == kiln_cgra_pkg::LOGIC_SUBTRACT_M ||
      operation == kiln_cgra_pkg::LOGIC_GREATER;
  assign first = swaps ? in3 : m;
  assign second = (swaps ? m : in3) ^ {32{subtracts}};
  assign wide = {first[31], first} + {second[31], second} + 33'(subtracts);
  assign sum = wide[31:0];
  assign less = wide[32];  // first < second, signed, if the adder subtracts
  assign equal = m == in3;

  always_comb begin
    case (operation)
      kiln_cgra_pkg::LOGIC_ADD, kiln_cgra_pkg::LOGIC_SUBTRACT, kiln_cgra_pkg::LOGIC_SUBTRACT_M:
      result = sum;
      kiln_cgra_pkg::LOGIC_AND: result = m & in3;
      kiln_cgra_pkg::LOGIC_OR: result = m | in3;
      kiln_cgra_pkg::LOGIC_XOR: result = m ^ in3;
      kiln_cgra_pkg::LOGIC_LEAST: result = less ? m : in3;
      kiln_cgra_pkg::LOGIC_GREATEST: result = less ? in3 : m;
      kiln_cgra_pkg::LOGIC_LESS, kiln_cgra_pkg::LOGIC_GREATER: result = {31'd0, less};
      kiln_cgra_pkg::LOGIC_EQUAL: result = {31'd0, equal};
      kiln_cgra_pkg::LOGIC_SELECT: result = m != '0 ? in2 : in3;
      kiln_cgra_pkg::LOGIC_PREDICATE: result = in3_zero ? '0 : m;
      default: result = m;
    endcase
  end

`ifndef SYNTHESIS
  // The adder's comparison.
  always_comb begin
    if (operation == kiln_cgra_pkg::LOGIC_LEAST)
      least_of_both : assert (signed'(result) <= signed'(m) && signed'(result) <= signed'(in3));
    if (operation == kiln_cgra_pkg::LOGIC_GREATEST)
      greatest_of_both : assert (signed'(result) >= signed'(m) && signed'(result) >= signed'(in3));
  end
`endif
endmodule
