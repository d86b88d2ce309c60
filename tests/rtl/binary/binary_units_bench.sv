// The small modules of the binary machine, side by side with their ports.
module binary_units_bench (
    input  logic               clock,
    input  logic               reset,
    // Requantisation, to codes of 8 bits
    input  logic        [27:0] sum,
    input  logic               alive,
    input  logic        [63:0] parameters,
    input  logic        [ 7:0] added,
    input  logic        [ 5:0] shift,
    input  logic signed [16:0] low,
    input  logic signed [16:0] high,
    input  logic               added_signed,
    input  logic signed [16:0] result_factor,
    input  logic signed [16:0] added_factor,
    input  logic signed [39:0] skip_addend,
    input  logic        [ 4:0] skip_shift,
    input  logic signed [16:0] skip_low,
    input  logic signed [16:0] skip_high,
    output logic        [ 7:0] result,
    output logic        [ 7:0] total,
    // Words of three
    input  logic               pack_valid,
    output logic               pack_ready,
    input  logic        [ 9:0] pack_data,
    input  logic               pack_last,
    output logic               packed_valid,
    input  logic               packed_ready,
    output logic        [29:0] packed_data,
    // Words of one
    input  logic               copy_valid,
    output logic               copy_ready,
    input  logic        [ 9:0] copy_data,
    output logic               copied_valid,
    input  logic               copied_ready,
    output logic        [ 9:0] copied_data,
    // The stream in, of three stages
    input  logic               in_tvalid,
    output logic               in_tready,
    input  logic        [63:0] in_tdata,
    output logic               message_valid,
    output logic        [ 3:0] message_target,
    output logic        [ 3:0] message_stage,
    output logic        [ 7:0] message_column,
    output logic        [15:0] message_address,
    output logic        [63:0] message_data,
    output logic       [149:0] message_codes,
    output logic               start,
    output logic        [ 2:0] enabled,
    output logic               beat_valid,
    input  logic               beat_ready,
    output logic        [11:0] beat_number,
    output logic               beat_is_input,
    input  logic               idle
);
  kiln_binary_requantise requantise (
      .clock,
      .sum,
      .alive,
      .parameters,
      .added,
      .shift,
      .low,
      .high,
      .added_signed,
      .result_factor,
      .added_factor,
      .skip_addend,
      .skip_shift,
      .skip_low,
      .skip_high,
      .result,
      .total
  );

  kiln_binary_pack #(
      .WIDTH(10),
      .RATIO(3)
  ) pack (
      .clock,
      .reset,
      .in_valid(pack_valid),
      .in_ready(pack_ready),
      .in_data(pack_data),
      .in_last(pack_last),
      .out_valid(packed_valid),
      .out_ready(packed_ready),
      .out_data(packed_data)
  );
  kiln_binary_pack #(
      .WIDTH(10),
      .RATIO(1)
  ) copy (
      .clock,
      .reset,
      .in_valid(copy_valid),
      .in_ready(copy_ready),
      .in_data(copy_data),
      .in_last(1'b0),
      .out_valid(copied_valid),
      .out_ready(copied_ready),
      .out_data(copied_data)
  );

  kiln_binary_dispatch #(
      .STAGES(3),
      .BEAT_BITS(64),
      .CODE_BITS(150),
      .WORD_BEATS_0(3),
      .WORD_BEATS_1(1),
      .WORD_BEATS_2(2)
  ) dispatch (
      .clock,
      .reset,
      .in_tvalid,
      .in_tready,
      .in_tdata,
      .message_valid,
      .message_target,
      .message_stage,
      .message_column,
      .message_address,
      .message_data,
      .message_codes,
      .start,
      .enabled,
      .beat_valid,
      .beat_ready,
      .beat_number,
      .beat_is_input,
      .idle
  );
endmodule
