// The fixed-point function unit: the numbers of functions, the widths of its numbers, and the layout
// of its table. Names, numbers and meanings are those of src/kiln/numerics/function_unit.h.
package kiln_function_pkg;

  localparam int FUNCTIONS = 15;
  localparam int EXP = 0;
  localparam int SIGMOID = 1;
  localparam int TANH = 2;
  localparam int GELU = 3;
  localparam int GELU_TANH = 4;
  localparam int ERF = 5;
  localparam int SOFTPLUS = 6;
  localparam int SILU = 7;
  localparam int HARD_SIGMOID = 8;
  localparam int HARD_SWISH = 9;
  localparam int LOG = 10;
  localparam int SQRT = 11;
  localparam int ELU = 12;
  localparam int RECIPROCAL = 13;
  localparam int RECIPROCAL_SQUARE_ROOT = 14;

  localparam int ARGUMENT_BITS = 12;  // after the binary point of an argument
  localparam int OFFSET_BITS = 10;    // of the place in a segment
  localparam int SQUARE_BITS = 8;     // its upper bits, which the curvature is multiplied by
  localparam int VALUE_BITS = 14;     // after the binary point of a value
  localparam int LOG2_E = 1512775;    // log2(e) 2^20
  localparam int LN_2 = 726817;       // ln(2) 2^20
  localparam int SMALL_ODD = -4;
  localparam int SMALL = -6;

  // Coefficients, two's complement; the table holds a column of each.
  localparam int ROWS_OF_FUNCTION = 16;
  localparam int ROWS = FUNCTIONS * ROWS_OF_FUNCTION;
  localparam int C0_BITS = 16;
  localparam int C1_BITS = 14;
  localparam int C2_BITS = 9;

endpackage
