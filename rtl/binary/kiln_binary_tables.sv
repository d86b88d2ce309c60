// The tables of a stage: reads groups from the row memories, builds a table of signed sums for each
// channel of a group, and keeps the tables of two rounds, those in use and the next ones.
//
// Entry `selected` of a table is x_0 + sum over j of (selected[j - 1] ? -x_j : x_j), of the digits
// x of a group; it is built by doubling, two additions for each entry pair and digit.
//
// A group that the walk offers in cycle t:
//   t       lanes get the addresses of their words
//   t + 1   the row memories are read
//   t + 2   lanes take their words and the round's digit
//   t + 3   the tables are built, and are in `next_full`'s tables from t + 4 on
// All stops (advance) while the group in t + 3 finds the next round's tables full.
//   limit_*    Windows that are not yet read begin there, or behind it.
//   take       uses the next round's tables: from the cycle after the next on
//   sums       of the digits of the pixel's window, complete with the last round of the first step
module kiln_binary_tables #(
    parameter  int unsigned CHANNELS        = 6,
    parameter  int unsigned GROUP           = 3,
    parameter  int unsigned STEPS           = 3,
    parameter  int unsigned ACTIVATION_BITS = 8,
    parameter  int unsigned ROW_WORDS       = 16,
    // Derived, do not set
    localparam int unsigned WORD_BITS       = CHANNELS * ACTIVATION_BITS,
    localparam int unsigned DIGITS          = ACTIVATION_BITS / kiln_binary_pkg::DIGIT_BITS,
    localparam int unsigned WORD_SUM_BITS   = 5 + $clog2(CHANNELS),
    localparam int unsigned WINDOW_SUM_BITS = WORD_SUM_BITS + 12,
    localparam int unsigned ADDRESS_BITS    = $clog2(ROW_WORDS),
    localparam int unsigned PLACE_BITS      = kiln_binary_pkg::PLACE_BITS,
    localparam int unsigned ROUND_BITS      = kiln_binary_pkg::ROUND_BITS,
    localparam int unsigned STEP_BITS       = STEPS > 1 ? $clog2(STEPS) : 1,
    localparam int unsigned ENTRIES         = 1 << (GROUP - 1),
    localparam int unsigned ENTRY_BITS      = $clog2(15 * GROUP + 1) + 1,
    localparam int unsigned TABLES          = CHANNELS * STEPS
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic                                      start,
    output logic                                      advance,
    // Settings
    input  logic        [                       13:0] width,
    input  logic        [                       13:0] height,
    input  logic        [                        7:0] chunks,
    input  logic        [                       17:0] row_pitch,
    input  logic        [                        3:0] blocks,
    input  logic        [                        3:0] kernel_height,
    input  logic        [                        3:0] pad_top,
    input  logic                                      chunk_groups,
    input  logic                                      signed_codes,
    input  logic        [                        1:0] top_digit,
    // Groups
    input  logic                                      group_valid,
    input  logic                                      group_none,
    input  logic        [              STEP_BITS-1:0] group_place,
    input  logic        [                        3:0] group_block,
    input  logic        [                        2:0] group_phase,
    input  logic        [                        2:0] group_turn,
    input  logic signed [             PLACE_BITS-1:0] group_y,
    input  logic signed [             PLACE_BITS-1:0] group_x,
    input  logic        [                        3:0] group_row,
    input  logic        [                        7:0] group_chunk,
    input  logic signed [                       19:0] group_offset,
    input  logic signed [             PLACE_BITS-1:0] group_top,
    input  logic signed [             PLACE_BITS-1:0] group_left,
    input  logic                                      group_sums,
    input  logic                                      group_sums_first,
    input  logic        [             ROUND_BITS-1:0] group_round,
    // Writes to the row memories
    input  logic        [                  GROUP-1:0] word_enable,
    input  logic        [           ADDRESS_BITS-1:0] word_address,
    input  logic        [              WORD_BITS-1:0] word_data,
    input  logic        [                  GROUP-1:0] sums_enable,
    input  logic        [           ADDRESS_BITS-1:0] sums_address,
    input  logic        [   DIGITS*WORD_SUM_BITS-1:0] sums_data,
    output logic signed [             PLACE_BITS-1:0] limit_y,
    output logic        [                       13:0] limit_x,
    output logic                                      empty,        // no group is under way
    // Rounds
    output logic                                      next_full,
    output logic        [             ROUND_BITS-1:0] next_round,
    input  logic                                      take,
    output logic        [ DIGITS*WINDOW_SUM_BITS-1:0] sums,
    output logic [TABLES*ENTRIES*ENTRY_BITS-1:0]      tables
);
  // -----------------------------------------------------------------------------------------------
  // t: addresses

  logic valid1, none1, sums1, sums_first1;
  logic [STEP_BITS-1:0] place1;
  logic [ROUND_BITS-1:0] round1;
  logic [2:0] turn1;
  logic signed [PLACE_BITS-1:0] top1, left1;
  logic [GROUP-1:0] lane_exists, exists1;
  logic [GROUP*ADDRESS_BITS-1:0] lane_address, address1;
  logic x_exists;
  assign x_exists = !group_none && group_x >= 0 && group_x < PLACE_BITS'(width);
  for (genvar l = 0; l < GROUP; l++) begin : g_lane
    logic wraps;
    logic [4:0] block_sum;
    logic [3:0] block;
    logic signed [PLACE_BITS-1:0] y;
    logic [19:0] address;
    assign wraps = 4'(group_phase) + 4'(l) >= 4'(GROUP);
    assign block_sum = 5'(group_block) + 5'(wraps && !chunk_groups);
    assign block = 4'(block_sum >= 5'(blocks) ? block_sum - 5'(blocks) : block_sum);
    assign y = group_y + (chunk_groups ? '0 : PLACE_BITS'(l));
    assign address = 20'(4'(block)) * 20'(row_pitch) + 20'(group_offset) +
        (chunk_groups ? 20'(l) : 20'd0);
    assign lane_exists[l] = x_exists && y >= 0 && y < PLACE_BITS'(height) &&
        (chunk_groups ? 9'(group_chunk) + 9'(l) < 9'(chunks) :
         5'(group_row) + 5'(l) < 5'(kernel_height));
    assign lane_address[l*ADDRESS_BITS+:ADDRESS_BITS] = address[ADDRESS_BITS-1:0];
    wire unused = &{1'b0, address};
  end

  // -----------------------------------------------------------------------------------------------
  // t + 1: the row memories. Memory (turn + lane) mod GROUP has the lane's word.

  logic valid2, none2, sums2, sums_first2;
  logic [STEP_BITS-1:0] place2;
  logic [ROUND_BITS-1:0] round2;
  logic [2:0] turn2;
  logic [GROUP-1:0] exists2;
  logic [GROUP*WORD_BITS-1:0] words2;
  logic [GROUP*DIGITS*WORD_SUM_BITS-1:0] word_sums2;

  function automatic logic [2:0] lane_of(input logic [2:0] number, input logic [2:0] turn);
    lane_of = number >= turn ? number - turn : number + 3'(GROUP) - turn;
  endfunction
  function automatic logic [2:0] memory_of(input logic [2:0] lane, input logic [2:0] turn);
    logic [3:0] sum;
    sum = 4'(lane) + 4'(turn);
    memory_of = 3'(sum >= 4'(GROUP) ? sum - 4'(GROUP) : sum);
  endfunction

  for (genvar b = 0; b < GROUP; b++) begin : g_memory
    logic [ADDRESS_BITS-1:0] address;
    logic [31:0] lane;
    assign lane = 32'(lane_of(3'(b), turn1));
    assign address = address1[lane*ADDRESS_BITS+:ADDRESS_BITS];
    kiln_ram_1w #(
        .WIDTH(WORD_BITS),
        .WORDS(ROW_WORDS)
    ) row_words (
        .clock,
        .write_enable(word_enable[b]),
        .write_address(word_address),
        .write_data(word_data),
        .read_enable(advance && valid1 && exists1[lane[GROUP > 1 ? $clog2(GROUP) - 1 : 0:0]]),
        .read_address(address),
        .read_data(words2[b*WORD_BITS+:WORD_BITS])
    );
    kiln_ram_1w #(
        .WIDTH(DIGITS * WORD_SUM_BITS),
        .WORDS(ROW_WORDS)
    ) row_sums (
        .clock,
        .write_enable(sums_enable[b]),
        .write_address(sums_address),
        .write_data(sums_data),
        .read_enable(advance && valid1 && exists1[lane[GROUP > 1 ? $clog2(GROUP) - 1 : 0:0]]),
        .read_address(address),
        .read_data(word_sums2[b*DIGITS*WORD_SUM_BITS+:DIGITS*WORD_SUM_BITS])
    );
  end

  // -----------------------------------------------------------------------------------------------
  // t + 2: digits

  logic valid3, sums3, sums_first3;
  logic [STEP_BITS-1:0] place3;
  logic [ROUND_BITS-1:0] round3;
  logic [CHANNELS*GROUP*5-1:0] digits2, digits3;  // [channel][lane]
  logic [DIGITS*WINDOW_SUM_BITS-1:0] group_sums2, group_sums3;
  logic [1:0] digit2;
  logic top_digit2;
  assign digit2 = round2[kiln_binary_pkg::ROUND_DIGIT+:2];
  assign top_digit2 = signed_codes && digit2 == top_digit;
  for (genvar l = 0; l < GROUP; l++) begin : g_digits
    logic [WORD_BITS-1:0] word;
    assign word = words2[32'(memory_of(3'(l), turn2))*WORD_BITS+:WORD_BITS];
    for (genvar c = 0; c < CHANNELS; c++) begin : g_channel
      logic [ACTIVATION_BITS-1:0] code;
      logic [3:0] digit;
      assign code = word[c*ACTIVATION_BITS+:ACTIVATION_BITS];
      assign digit = exists2[l] ? code[32'(digit2)*4+:4] : '0;
      assign digits2[(c*GROUP+l)*5+:5] = {top_digit2 && digit[3], digit};
    end
  end
  // The sums of the lanes' words.
  for (genvar d = 0; d < DIGITS; d++) begin : g_sums
    for (genvar l = 0; l < GROUP; l++) begin : g_lane
      logic signed [WORD_SUM_BITS-1:0] lane;
      logic signed [WINDOW_SUM_BITS-1:0] sum;
      assign lane = exists2[l] ? word_sums2[
          (32'(memory_of(3'(l), turn2))*DIGITS+d)*WORD_SUM_BITS+:WORD_SUM_BITS] : '0;
      if (l == 0) begin : g_first
        assign sum = WINDOW_SUM_BITS'(lane);
      end else begin : g_next
        assign sum = g_lane[l-1].sum + WINDOW_SUM_BITS'(lane);
      end
    end
    assign group_sums2[d*WINDOW_SUM_BITS+:WINDOW_SUM_BITS] = g_lane[GROUP-1].sum;
  end

  // -----------------------------------------------------------------------------------------------
  // t + 3: tables

  logic [CHANNELS*ENTRIES*ENTRY_BITS-1:0] built;  // [channel][entry]
  for (genvar c = 0; c < CHANNELS; c++) begin : g_table
    for (genvar j = 0; j < GROUP; j++) begin : g_digit
      logic signed [ENTRY_BITS-1:0] digit;
      logic signed [4:0] short_digit;
      logic [(ENTRY_BITS<<j)-1:0] entries;
      assign short_digit = digits3[(c*GROUP+j)*5+:5];
      assign digit = ENTRY_BITS'(short_digit);
      if (j == 0) begin : g_first
        assign entries = digit;
      end else begin : g_doubled
        for (genvar k = 0; k < 1 << (j - 1); k++) begin : g_entry
          logic signed [ENTRY_BITS-1:0] half;
          assign half = g_digit[j-1].entries[k*ENTRY_BITS+:ENTRY_BITS];
          assign entries[k*ENTRY_BITS+:ENTRY_BITS] = half + digit;
          assign entries[(k+(1<<(j-1)))*ENTRY_BITS+:ENTRY_BITS] = half - digit;
        end
      end
    end
    assign built[c*ENTRIES*ENTRY_BITS+:ENTRIES*ENTRY_BITS] = g_digit[GROUP-1].entries;
  end

  logic completes, take_late;
  logic [TABLES*ENTRIES*ENTRY_BITS-1:0] next_tables;
  assign advance = !(valid3 && next_full);
  assign completes = valid3 && advance && place3 == STEP_BITS'(STEPS - 1);
  assign empty = !(group_valid || valid1 || valid2 || valid3 || next_full);

  always_ff @(posedge clock) begin
    if (advance) begin
      none1 <= group_none;
      place1 <= group_place;
      round1 <= group_round;
      turn1 <= group_turn;
      top1 <= group_top;
      left1 <= group_left;
      exists1 <= lane_exists;
      address1 <= lane_address;
      sums1 <= group_sums;
      sums_first1 <= group_sums_first;
      none2 <= none1;
      place2 <= place1;
      round2 <= round1;
      turn2 <= turn1;
      exists2 <= exists1;
      sums2 <= sums1;
      sums_first2 <= sums_first1;
      place3 <= place2;
      round3 <= round2;
      digits3 <= digits2;
      group_sums3 <= group_sums2;
      sums3 <= sums2;
      sums_first3 <= sums_first2;
    end
    if (start) begin
      limit_y <= 16'sd0 - PLACE_BITS'(pad_top);
      limit_x <= '0;
    end else if (advance && valid1) begin
      limit_y <= top1;
      limit_x <= left1 < 0 ? '0 : left1[13:0];
    end else if (!valid1 && !group_valid) begin
      limit_y <= group_top;
      limit_x <= group_left < 0 ? '0 : group_left[13:0];
    end
    if (valid3 && advance) begin
      next_tables[32'(place3)*CHANNELS*ENTRIES*ENTRY_BITS+:CHANNELS*ENTRIES*ENTRY_BITS] <= built;
      if (sums3) begin
        for (int d = 0; d < DIGITS; d++)
          sums[d*WINDOW_SUM_BITS+:WINDOW_SUM_BITS] <=
              (sums_first3 ? '0 : sums[d*WINDOW_SUM_BITS+:WINDOW_SUM_BITS]) +
              group_sums3[d*WINDOW_SUM_BITS+:WINDOW_SUM_BITS];
      end
    end
    if (completes) next_round <= round3;
    if (take_late) tables <= next_tables;
    if (reset) begin
      valid1    <= 1'b0;
      valid2    <= 1'b0;
      valid3    <= 1'b0;
      next_full <= 1'b0;
      take_late <= 1'b0;
    end else begin
      if (advance) begin
        valid1 <= group_valid;
        valid2 <= valid1;
        valid3 <= valid2;
      end
      if (completes) next_full <= 1'b1;
      else if (take) next_full <= 1'b0;
      take_late <= take;
    end
  end
  wire unused = &{1'b0, none1, none2};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      only_full_tables_are_taken : assert (!take || next_full);
      steps_exist : assert (!valid3 || 32'(place3) < STEPS);
    end
  end
`endif
endmodule
