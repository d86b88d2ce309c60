// The first position of a pooling window that operand fetch looks at: with a dilation of 1 the
// first one inside the image, otherwise the window's first (kiln_operand_fetch searches from
// there). A function of its inputs.
//   window_y, window_x      Coordinates of the window's first position, which may be outside.
//   y, x, tap_y, tap_x      Coordinates of the position to begin with, and its place in the window.
//   skips_rows, ..columns   The position is in the image's first row (column) instead of the
//                           window's: addresses begin there, without the window's offset.
module kiln_window_begin (
    input  kiln_systolic_pkg::window_t command_window,
    input  logic signed [31:0]         window_y,
    input  logic signed [31:0]         window_x,
    output logic signed [31:0]         y,
    output logic signed [31:0]         x,
    output logic [23:0]                tap_y,
    output logic [23:0]                tap_x,
    output logic                       skips_rows,
    output logic                       skips_columns
);
  assign skips_rows    = window_y < 0 && command_window.dilation_y == 24'd1;
  assign skips_columns = window_x < 0 && command_window.dilation_x == 24'd1;
  assign y             = skips_rows ? '0 : window_y;
  assign x             = skips_columns ? '0 : window_x;
  assign tap_y         = skips_rows ? 24'(-window_y) : '0;
  assign tap_x         = skips_columns ? 24'(-window_x) : '0;
  wire unused_window = &{1'b0, command_window};
endmodule
