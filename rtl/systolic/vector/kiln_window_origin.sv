// Walks the origin of a pooling window over the outer loops of a vector instruction, in step with
// kiln_vector_address: the coordinates of the window's first position, which may be outside the
// image, and the offsets that they add to addresses.
//   outputs   The values of the current word, functions of registers, `command_window` and `fresh`.
module kiln_window_origin (
    input  logic                                       clock,
    input  kiln_systolic_pkg::window_t                 command_window,
    input  logic                                       fresh,
    input  logic                                       step,
    input  logic [2:0]                                 kind,
    input  logic [1:0]                                 level,
    output logic signed [31:0]                         y,
    output logic signed [31:0]                         x,
    output logic [kiln_systolic_pkg::ADDRESS_BITS-1:0] row_offset,
    output logic [kiln_systolic_pkg::ADDRESS_BITS-1:0] column_offset
);
  localparam int unsigned BITS = kiln_systolic_pkg::ADDRESS_BITS;

  // The values of the current word (`at`) and of the first row of the group (`mark`).
  logic signed [31:0] at_y, at_x, mark_y, mark_x, first_y, first_x, y_next, x_next, mark_y_now,
      mark_x_now;
  logic [BITS-1:0] at_row, at_column, mark_row, mark_column, row_next, column_next, mark_row_now,
      mark_column_now;

  assign first_y         = 32'sd0 - 32'(command_window.pad_top);
  assign first_x         = 32'sd0 - 32'(command_window.pad_left);
  assign y               = fresh ? first_y : at_y;
  assign x               = fresh ? first_x : at_x;
  assign row_offset      = fresh ? command_window.row_origin : at_row;
  assign column_offset   = fresh ? command_window.column_origin : at_column;
  assign mark_y_now      = fresh ? first_y : mark_y;
  assign mark_x_now      = fresh ? first_x : mark_x;
  assign mark_row_now    = fresh ? command_window.row_origin : mark_row;
  assign mark_column_now = fresh ? command_window.column_origin : mark_column;

  always_comb begin
    y_next      = y;
    x_next      = x;
    row_next    = row_offset;
    column_next = column_offset;
    case (kind)
      kiln_vector_pkg::STEP_ROW, kiln_vector_pkg::STEP_GROUP: begin
        if (level == 2'd2) begin
          x_next      = x + 32'(command_window.stride_x);
          column_next = column_offset + command_window.output_column_stride;
        end
        if (level <= 2'd1) begin
          x_next      = first_x;
          column_next = command_window.column_origin;
          y_next      = level == 2'd1 ? y + 32'(command_window.stride_y) : first_y;
          row_next    = level == 2'd1 ? row_offset + command_window.output_row_stride :
              command_window.row_origin;
        end
      end
      kiln_vector_pkg::STEP_PASS: begin
        y_next      = mark_y_now;
        x_next      = mark_x_now;
        row_next    = mark_row_now;
        column_next = mark_column_now;
      end
      default: ;
    endcase
  end

  always_ff @(posedge clock) begin
    if (step) begin
      at_y        <= y_next;
      at_x        <= x_next;
      at_row      <= row_next;
      at_column   <= column_next;
      mark_y      <= kind == kiln_vector_pkg::STEP_GROUP ? y_next : mark_y_now;
      mark_x      <= kind == kiln_vector_pkg::STEP_GROUP ? x_next : mark_x_now;
      mark_row    <= kind == kiln_vector_pkg::STEP_GROUP ? row_next : mark_row_now;
      mark_column <= kind == kiln_vector_pkg::STEP_GROUP ? column_next : mark_column_now;
    end
  end
endmodule
