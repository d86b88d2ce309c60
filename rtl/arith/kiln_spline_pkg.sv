// The approximate functions: the numbers of functions and splines, and the tables as a parameter.
//
// The tables of a vector format are ONE constant. src/kiln/hardware/rtl_spline.h prints it;
// kiln_spline_tables_pkg holds the constants of some formats. Its layout:
//   row of segment i of spline s    128 bits at (s * MOST_SEGMENTS + i) * ROW_BITS: c0 lowest, c1,
//                                   c2, knot i
//   end of spline s's domain        32 bits at ENDS + s * 32: the knot after its last segment
//   segments of every spline        4 bits at SEGMENTS, 1 to MOST_SEGMENTS
// All values are fp32. Names, numbers and meanings are those of src/kiln/numerics/nonlinear.h.
package kiln_spline_pkg;

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

  localparam int SPLINES = 11;
  localparam int SPLINE_EXP2 = 0;
  localparam int SPLINE_LOG = 1;
  localparam int SPLINE_RECIPROCAL = 2;
  localparam int SPLINE_RECIPROCAL_SQUARE_ROOT = 3;
  localparam int SPLINE_TANH = 4;
  localparam int SPLINE_ERF = 5;
  localparam int SPLINE_SIGMOID = 6;
  localparam int SPLINE_GELU = 7;
  localparam int SPLINE_GELU_TANH = 8;
  localparam int SPLINE_SILU = 9;
  localparam int SPLINE_SOFTPLUS = 10;

  localparam int MOST_SEGMENTS = 8;
  localparam int ROW_BITS = 128;
  localparam int ENDS = SPLINES * MOST_SEGMENTS * ROW_BITS;
  localparam int SEGMENTS = ENDS + SPLINES * 32;
  localparam int TABLE_BITS = SEGMENTS + 32;

  typedef logic [TABLE_BITS-1:0] tables_t;

endpackage
