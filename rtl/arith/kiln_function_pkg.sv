// The fixed-point function unit: the widths of its numbers, and the places of rows in its table
// (kiln_function_tables_pkg). Names, numbers and meanings are those of
// src/kiln/numerics/function_unit.h. The functions have the numbers of kiln_spline_pkg.
package kiln_function_pkg;

  localparam int OFFSET_BITS = 10;
  localparam int VALUE_BITS = 14;  // after the binary point of c0 and of sums
  localparam int LOG2_E = 1512775;  // 20 bits after the binary point
  localparam int LN_2 = 726817;     // the same
  // Exponents below which a line through zero is used.
  localparam int NEAR_ZERO = -6;
  localparam int NEAR_ZERO_OF_ODD = -4;

  // Coefficients, two's complement. A row of the table: c0 lowest, c1 with three more bits of sign,
  // c2.
  localparam int C0_BITS = 16;
  localparam int C1_BITS = 13;
  localparam int C2_BITS = 8;
  localparam int C1_PLACE = 16;
  localparam int C2_PLACE = 32;
  localparam int ROW_BITS = 40;

  // The table: slots of 16 rows.
  localparam int ROWS = 192;
  localparam int SLOT_GELU = 0;
  localparam int SLOT_GELU_TANH = 1;
  localparam int SLOT_SILU = 2;
  localparam int SLOT_HARD_SWISH = 3;
  localparam int SLOT_SIGMOID = 4;
  localparam int SLOT_HARD_SIGMOID = 5;
  localparam int SLOT_SOFTPLUS = 6;
  localparam int SLOT_ELU = 7;
  localparam int SLOT_ERF = 8;
  localparam int SLOT_RECIPROCAL = 9;  // and log from row 8 on
  // exp; erf near zero from row 4 on; from row 8 on two rows each of sigmoid, softplus, silu and
  // elu for arguments in [8, 16)
  localparam int SLOT_EXP = 10;
  localparam int SLOT_ROOT = 11;  // 1 / sqrt, and sqrt from row 8 on

endpackage
