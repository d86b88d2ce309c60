// The address walkers of the vector unit, with the same steps: those of one stream of a command,
// and of its scales.
module vector_walk_bench (
    input  logic clock,
    input  kiln_systolic_pkg::vector_command_t command,
    input  kiln_systolic_pkg::vector_scales_t command_scales,
    input  logic [1:0] stream,  // operand 0 to 2, 3: the output
    input  logic windowed,
    input  logic fresh,
    input  logic step,
    input  logic [2:0] kind,
    input  logic [1:0] level,
    input  logic keep_tile,
    input  logic keep_row,
    input  logic keep_block,
    input  logic together,
    input  logic keep_column,
    input  logic same_scale,
    output logic [kiln_systolic_pkg::ADDRESS_BITS-1:0] address,
    output logic [kiln_systolic_pkg::ADDRESS_BITS-1:0] address_blocks,
    output logic [kiln_systolic_pkg::ADDRESS_BITS-1:0] scale_address,
    output logic signed [31:0] y,
    output logic signed [31:0] x,
    output logic [kiln_systolic_pkg::ADDRESS_BITS-1:0] row_offset,
    output logic [kiln_systolic_pkg::ADDRESS_BITS-1:0] column_offset
);
  kiln_systolic_pkg::stream_t walked;
  kiln_systolic_pkg::stream_scales_t walked_scales;
  always_comb begin
    case (stream)
      2'd0: {walked, walked_scales} = {command.operand0, command_scales.operand0};
      2'd1: {walked, walked_scales} = {command.operand1, command_scales.operand1};
      2'd2: {walked, walked_scales} = {command.operand2, command_scales.operand2};
      default: {walked, walked_scales} = {command.target, command_scales.target};
    endcase
  end
  wire unused_command = &{1'b0, command};

  kiln_vector_address plain (
      .clock,
      .command_stream(walked),
      .windowed,
      .fresh,
      .step,
      .kind,
      .level,
      .keep_tile,
      .keep_row,
      .keep_block,
      .together(1'b0),
      .keep_column(1'b0),
      .same_scale(1'b0),
      .address
  );
  kiln_vector_address #(
      .BLOCKS(1'b1)
  ) blocks (
      .clock,
      .command_stream(walked),
      .windowed,
      .fresh,
      .step,
      .kind,
      .level,
      .keep_tile,
      .keep_row,
      .keep_block,
      .together,
      .keep_column,
      .same_scale(1'b0),
      .address(address_blocks)
  );
  kiln_scale_address #(
      .WORD_BYTES(1)
  ) scales (
      .clock,
      .command_scales(walked_scales),
      .windowed,
      .fresh,
      .step,
      .kind,
      .level,
      .keep_tile,
      .keep_row,
      .keep_block,
      .together,
      .keep_column,
      .same_scale,
      .address(scale_address)
  );
  kiln_window_origin origin (
      .clock,
      .command_window(command.window),
      .fresh,
      .step,
      .kind,
      .level,
      .y,
      .x,
      .row_offset,
      .column_offset
  );
endmodule
