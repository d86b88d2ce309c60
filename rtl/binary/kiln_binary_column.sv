// A column of a stage: looks up one output channel in all tables of the stage per cycle, adds what
// it finds, and keeps the sums of its output channels for BUFFERS pixels.
//
// A look-up that is issued in cycle t, with T the cycles of the tree:
//   t            chooses the lowest output channel of the round that is not yet done; channels that
//                a test decided are passed over, and the column waits for one whose test is under
//                way or that was looked up in one of the two cycles before
//   t + 1        the codes are there; each table's entry with its sign goes to a register
//   t + 2 + T    the sum of the tree is there, and is shifted; the old sum is read
//   t + 3 + T    both are added
//   t + 4 + T    the sum is written, and tested
// The stage delays the round of each cycle: shift_* are of the look-up that is shifted, add_* of
// the one that is added, write_* of the one that is written.
module kiln_binary_column #(
    parameter int unsigned TABLES = 9,  // of the stage
    parameter int unsigned GROUP = 3,
    parameter int unsigned ACCUMULATOR_BITS = 28,
    parameter int unsigned COLUMN_DEPTH = 4,
    parameter int unsigned WEIGHT_WORDS = 8,
    // Derived, do not set
    localparam int unsigned ENTRIES = 1 << (GROUP - 1),
    localparam int unsigned ENTRY_BITS = $clog2(15 * GROUP + 1) + 1,
    localparam int unsigned CODE_BITS = TABLES * GROUP,
    localparam int unsigned INDEX_BITS = $clog2(COLUMN_DEPTH)
) (
    input  logic                                              clock,
    input  logic                                              reset,
    // Rounds
    input  logic                                              new_round,
    input  logic                                              new_pixel,
    input  logic        [   kiln_binary_pkg::BUFFER_BITS-1:0] next_buffer,
    input  logic                                              active,
    input  logic        [   kiln_binary_pkg::BUFFER_BITS-1:0] buffer,
    input  logic                                              tested,
    input  logic        [                               15:0] weights_address,
    input  logic        [                       INDEX_BITS:0] list_length,
    output logic                                              done,
    // Tables: [table][entry]
    input  logic        [      TABLES*ENTRIES*ENTRY_BITS-1:0] tables,
    // Delayed
    input  logic        [                                4:0] shift,
    input  logic        [   kiln_binary_pkg::BUFFER_BITS-1:0] shift_buffer,
    input  logic                                              add_fresh,
    input  logic signed [               ACCUMULATOR_BITS-1:0] add_base,
    input  logic        [                                7:0] add_tests_address,
    input  logic                                              write_tested,
    input  logic        [   kiln_binary_pkg::BUFFER_BITS-1:0] write_buffer,
    input  logic                                              write_by_sum,
    input  logic signed [               ACCUMULATOR_BITS-1:0] write_rest,
    // Results, in the cycle after `read`
    input  logic                                              read,
    input  logic        [   kiln_binary_pkg::BUFFER_BITS-1:0] read_buffer,
    input  logic        [                     INDEX_BITS-1:0] read_index,
    output logic        [               ACCUMULATOR_BITS-1:0] read_sum,
    output logic                                              read_alive,
    output logic        [kiln_binary_pkg::PARAMETER_BITS-1:0] read_parameters,
    // Messages
    input  logic                                              message_weights,
    input  logic                                              message_parameters,
    input  logic                                              message_thresholds,
    input  logic                                              message_limits,
    input  logic        [                               15:0] message_address,
    input  logic        [                      CODE_BITS-1:0] message_codes,
    input  logic        [                               63:0] message_data
);
  localparam int unsigned DEPTH = COLUMN_DEPTH;
  localparam int unsigned TREE_CYCLES = ($clog2(TABLES) + 1) / 2;
  localparam int unsigned SUM_BITS = ENTRY_BITS + $clog2(TABLES);
  localparam int unsigned TEST_WORDS = kiln_binary_pkg::TESTS * COLUMN_DEPTH;
  localparam int unsigned WEIGHT_BITS = $clog2(WEIGHT_WORDS);
  localparam int unsigned TEST_BITS = $clog2(TEST_WORDS);

  // -----------------------------------------------------------------------------------------------
  // Choice of the next channel

  logic [DEPTH-1:0] alive[kiln_binary_pkg::BUFFERS], pending, ahead;
  logic [INDEX_BITS:0] cursor;
  logic [INDEX_BITS-1:0] candidate;
  logic exists, waits, issue, more;
  // The channels of the last two cycles.
  logic recent_valid, earlier_valid;
  logic [INDEX_BITS-1:0] recent, earlier;

  always_comb begin
    for (int i = 0; i < DEPTH; i++)
      ahead[i] = alive[buffer][i] && (INDEX_BITS + 1)'(i) >= cursor;
    candidate = '0;
    for (int i = DEPTH - 1; i >= 0; i--) if (ahead[i]) candidate = INDEX_BITS'(i);
    more = 1'b0;
    for (int i = 0; i < DEPTH; i++) if (ahead[i] && INDEX_BITS'(i) != candidate) more = 1'b1;
  end
  assign exists = ahead != '0;
  assign waits = pending[candidate] || (recent_valid && recent == candidate) ||
      (earlier_valid && earlier == candidate);
  assign issue = active && exists && !waits;
  assign done = !exists || (issue && !more);

  // -----------------------------------------------------------------------------------------------
  // Look-up

  // valid[k] and place k are of the look-up that was issued k + 1 cycles before.
  localparam int unsigned SHIFT = 1 + TREE_CYCLES;
  localparam int unsigned ADD = SHIFT + 1;
  localparam int unsigned WRITE = ADD + 1;
  logic [WRITE:0] valid;
  logic [(WRITE+1)*INDEX_BITS-1:0] places;
  logic [CODE_BITS-1:0] codes;
  logic [TABLES*ENTRY_BITS-1:0] found;
  logic signed [SUM_BITS-1:0] sum;
  logic [15:0] address;

  assign address = weights_address + 16'(candidate);
  kiln_ram_1w #(
      .WIDTH(CODE_BITS),
      .WORDS(WEIGHT_WORDS)
  ) weights (
      .clock,
      .write_enable(message_weights),
      .write_address(message_address[WEIGHT_BITS-1:0]),
      .write_data(message_codes),
      .read_enable(issue),
      .read_address(address[WEIGHT_BITS-1:0]),
      .read_data(codes)
  );

  for (genvar i = 0; i < TABLES; i++) begin : g_table
    logic signed [ENTRY_BITS-1:0] entry;
    if (GROUP == 1) begin : g_one
      assign entry = tables[i*ENTRY_BITS+:ENTRY_BITS];
    end else begin : g_several
      logic [ENTRIES*ENTRY_BITS-1:0] entries;
      assign entries = tables[i*ENTRIES*ENTRY_BITS+:ENTRIES*ENTRY_BITS];
      assign entry = entries[32'(codes[i*GROUP+1+:GROUP-1])*ENTRY_BITS+:ENTRY_BITS];
    end
    always_ff @(posedge clock)
      found[i*ENTRY_BITS+:ENTRY_BITS] <= codes[i*GROUP] ? entry : -entry;
  end
  kiln_sum_tree #(
      .TERMS              (TABLES),
      .BITS               (ENTRY_BITS),
      .LEVELS_PER_REGISTER(2)
  ) tree (
      .clock,
      .terms(found),
      .sum
  );

  // -----------------------------------------------------------------------------------------------
  // Sums

  logic [INDEX_BITS-1:0] shift_place, add_place, write_place;
  logic signed [ACCUMULATOR_BITS-1:0] shifted, old_sum, new_sum, threshold, limit, most;
  logic [TEST_BITS-1:0] test_address;
  logic decided;
  assign shift_place = places[SHIFT*INDEX_BITS+:INDEX_BITS];
  assign add_place = places[ADD*INDEX_BITS+:INDEX_BITS];
  assign write_place = places[WRITE*INDEX_BITS+:INDEX_BITS];
  assign test_address = TEST_BITS'(add_tests_address) + TEST_BITS'(add_place);
  assign most = new_sum + write_rest;
  assign decided = valid[WRITE] && write_tested &&
      (new_sum < threshold || (write_by_sum && most < limit));

  logic [2*ACCUMULATOR_BITS-1:0] sums_read;
  kiln_ram_1w #(
      .WIDTH(ACCUMULATOR_BITS),
      .WORDS(kiln_binary_pkg::BUFFERS * DEPTH),
      .READS(2)
  ) sums (
      .clock,
      .write_enable(valid[WRITE]),
      .write_address({write_buffer, write_place}),
      .write_data(new_sum),
      .read_enable({read, valid[SHIFT]}),
      .read_address({read_buffer, read_index, shift_buffer, shift_place}),
      .read_data(sums_read)
  );
  assign {read_sum, old_sum} = sums_read;
  kiln_ram_1w #(
      .WIDTH(ACCUMULATOR_BITS),
      .WORDS(TEST_WORDS)
  ) thresholds (
      .clock,
      .write_enable(message_thresholds),
      .write_address(message_address[TEST_BITS-1:0]),
      .write_data(message_data[ACCUMULATOR_BITS-1:0]),
      .read_enable(valid[ADD]),
      .read_address(test_address),
      .read_data(threshold)
  );
  kiln_ram_1w #(
      .WIDTH(ACCUMULATOR_BITS),
      .WORDS(DEPTH)
  ) limits (
      .clock,
      .write_enable(message_limits),
      .write_address(message_address[INDEX_BITS-1:0]),
      .write_data(message_data[ACCUMULATOR_BITS-1:0]),
      .read_enable(valid[ADD]),
      .read_address(add_place),
      .read_data(limit)
  );
  kiln_ram_1w #(
      .WIDTH(kiln_binary_pkg::PARAMETER_BITS),
      .WORDS(DEPTH)
  ) parameters (
      .clock,
      .write_enable(message_parameters),
      .write_address(message_address[INDEX_BITS-1:0]),
      .write_data(message_data),
      .read_enable(read),
      .read_address(read_index),
      .read_data(read_parameters)
  );

  always_ff @(posedge clock) begin
    places <= {places[WRITE*INDEX_BITS-1:0], candidate};
    shifted <= ACCUMULATOR_BITS'(sum) <<< shift;
    new_sum <= (add_fresh ? '0 : old_sum) + shifted - add_base;
    if (read) read_alive <= alive[read_buffer][read_index];
    recent <= candidate;
    earlier <= recent;

    if (new_round) cursor <= '0;
    else if (issue) cursor <= (INDEX_BITS + 1)'(candidate) + 1'b1;
    if (decided) alive[write_buffer][write_place] <= 1'b0;
    if (valid[WRITE] && write_tested) pending[write_place] <= 1'b0;
    if (issue && tested) pending[candidate] <= 1'b1;
    if (new_round && new_pixel) begin
      for (int i = 0; i < DEPTH; i++)
        alive[next_buffer][i] <= (INDEX_BITS + 1)'(i) < list_length;
    end

    if (reset) begin
      valid        <= '0;
      pending      <= '0;
      recent_valid <= 1'b0;
      earlier_valid <= 1'b0;
    end else begin
      valid        <= {valid[WRITE-1:0], issue};
      recent_valid <= issue;
      earlier_valid <= recent_valid;
    end
  end

  wire unused = &{1'b0, add_tests_address, message_address, message_data};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      addresses_exist : assert (!issue || 32'(address) < WEIGHT_WORDS);
      sums_are_of_other_pixels : assert (!(valid[WRITE] && read) || write_buffer != read_buffer);
      channels_exist : assert (!issue || (INDEX_BITS + 1)'(candidate) < list_length);
    end
  end
`endif
endmodule
