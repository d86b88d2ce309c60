// Writes the words of a map into the row memories of a stage, and says how far it is.
//
// Words come row by row, all words of a pixel after each other. Word `chunk` of a pixel goes to the
// row memory (slot + chunk) mod GROUP, where slot is the row's number in the memories, a row modulo
// their rows. A word overwrites the row that lies a whole turn before it, so it waits until no
// window needs that any more: until the windows that are left begin behind it (limit_y, limit_x).
//   written_*  the place behind the last word that is visible to reads, with the sum of its digits
module kiln_binary_writer #(
    parameter  int unsigned CHANNELS        = 6,
    parameter  int unsigned GROUP           = 3,
    parameter  int unsigned ACTIVATION_BITS = 8,
    parameter  int unsigned ROW_WORDS       = 16,
    // Derived, do not set
    localparam int unsigned WORD_BITS       = CHANNELS * ACTIVATION_BITS,
    localparam int unsigned DIGITS          = ACTIVATION_BITS / kiln_binary_pkg::DIGIT_BITS,
    localparam int unsigned TREE_CYCLES     = ($clog2(CHANNELS) + 1) / 2,
    localparam int unsigned SUM_BITS        = 5 + $clog2(CHANNELS),
    localparam int unsigned ADDRESS_BITS    = $clog2(ROW_WORDS),
    localparam int unsigned PLACE_BITS      = kiln_binary_pkg::PLACE_BITS
) (
    input  logic                                clock,
    input  logic                                reset,
    input  logic                                start,
    output logic                                finished,
    // Settings
    input  logic        [                 13:0] width,
    input  logic        [                 13:0] height,
    input  logic        [                  7:0] chunks,
    input  logic        [                 17:0] row_pitch,
    input  logic        [                  3:0] blocks,
    input  logic        [                  4:0] row_slots,
    input  logic                                signed_codes,
    input  logic        [                  1:0] top_digit,
    // Words
    input  logic                                in_valid,
    output logic                                in_ready,
    input  logic        [        WORD_BITS-1:0] in_data,
    // The windows that are left
    input  logic                                unlimited,
    input  logic signed [       PLACE_BITS-1:0] limit_y,
    input  logic        [                 13:0] limit_x,
    // Writes
    output logic        [            GROUP-1:0] word_enable,
    output logic        [     ADDRESS_BITS-1:0] word_address,
    output logic        [        WORD_BITS-1:0] word_data,
    output logic        [            GROUP-1:0] sums_enable,
    output logic        [     ADDRESS_BITS-1:0] sums_address,
    output logic        [DIGITS*SUM_BITS-1:0]   sums_data,
    output logic        [                 14:0] written_y,
    output logic        [                 13:0] written_x
);
  logic active, take, room, pixel_end, row_end;
  logic [14:0] y;
  logic [13:0] x;
  logic [7:0] chunk;
  logic [17:0] at, block_at;  // word in the row, first word of the row
  logic [3:0] block;
  logic [2:0] phase, turn;  // of the row, of the word
  logic signed [PLACE_BITS-1:0] end_y;
  logic [13:0] end_x;

  assign room = unlimited || PLACE_BITS'(y) < end_y || (PLACE_BITS'(y) == end_y && x < end_x);
  assign in_ready = active && room;
  assign take = in_valid && in_ready;
  assign pixel_end = chunk == chunks - 1'b1;
  assign row_end = pixel_end && x == width - 1'b1;
  assign finished = !active;

  function automatic logic [2:0] next_phase(input logic [2:0] value);
    next_phase = value == 3'(GROUP - 1) ? 3'd0 : value + 3'd1;
  endfunction

  // The sums of the word that was taken TREE_CYCLES + 1 cycles before.
  logic [WORD_BITS-1:0] word;
  for (genvar d = 0; d < DIGITS; d++) begin : g_digit
    logic [CHANNELS*5-1:0] terms;
    for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
      logic [3:0] digit;
      assign digit = word[c*ACTIVATION_BITS+d*4+:4];
      assign terms[c*5+:5] = {2'(d) == top_digit && signed_codes && digit[3], digit};
    end
    kiln_sum_tree #(
        .TERMS              (CHANNELS),
        .BITS               (5),
        .LEVELS_PER_REGISTER(2)
    ) tree (
        .clock,
        .terms,
        .sum(sums_data[d*SUM_BITS+:SUM_BITS])
    );
  end
  assign word_data = word;

  kiln_delay #(
      .WIDTH (ADDRESS_BITS),
      .CYCLES(TREE_CYCLES)
  ) delay_address (
      .clock,
      .in (word_address),
      .out(sums_address)
  );
  // Places and enables of the words whose sums are done.
  logic pixel_taken, row_taken, pixel_written, row_written;
  logic [GROUP+1:0] pulses, late_pulses;
  assign pulses = {row_taken, pixel_taken, word_enable};
  assign {row_written, pixel_written, sums_enable} = late_pulses;
  for (genvar i = 0; i < GROUP + 2; i++) begin : g_pulse
    kiln_pulse_delay #(
        .CYCLES(TREE_CYCLES)
    ) delay (
        .clock,
        .reset,
        .in (pulses[i]),
        .out(late_pulses[i])
    );
  end

  always_ff @(posedge clock) begin
    word <= in_data;
    word_address <= ADDRESS_BITS'(block_at + at);
    end_y <= limit_y + PLACE_BITS'(row_slots);
    end_x <= limit_x;
    if (reset) begin
      word_enable <= '0;
      pixel_taken <= 1'b0;
      row_taken   <= 1'b0;
      active      <= 1'b0;
    end else begin
      for (int b = 0; b < GROUP; b++) word_enable[b] <= take && turn == 3'(b);
      pixel_taken <= take && pixel_end;
      row_taken   <= take && row_end;
      if (start) active <= 1'b1;
      else if (take && row_end && y == 15'(height) - 1'b1) active <= 1'b0;
    end
    if (start) begin
      y <= '0;
      x <= '0;
      chunk <= '0;
      at <= '0;
      block_at <= '0;
      block <= '0;
      phase <= '0;
      turn <= '0;
    end else if (take) begin
      chunk <= pixel_end ? '0 : chunk + 1'b1;
      at <= row_end ? '0 : at + 1'b1;
      turn <= pixel_end ? phase : next_phase(turn);
      if (pixel_end) x <= row_end ? '0 : x + 1'b1;
      if (row_end) begin
        y <= y + 1'b1;
        phase <= next_phase(phase);
        turn <= next_phase(phase);
        if (phase == 3'(GROUP - 1)) begin
          block <= block == blocks - 1'b1 ? '0 : block + 1'b1;
          block_at <= block == blocks - 1'b1 ? '0 : block_at + row_pitch;
        end
      end
    end
    if (start) begin
      written_y <= '0;
      written_x <= '0;
    end else if (pixel_written) begin
      written_x <= row_written ? '0 : written_x + 1'b1;
      if (row_written) written_y <= written_y + 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_memory_written : assert ($onehot0(word_enable));
      memories_exist : assert (!active || (32'(phase) < GROUP && 32'(turn) < GROUP));
      inside_the_map : assert (!active ||
          (x < width && y < 15'(height) && chunk < chunks && block < blocks));
      inside_the_memory : assert (!take || 32'(block_at) + 32'(at) < ROW_WORDS);
    end
  end
`endif
endmodule
