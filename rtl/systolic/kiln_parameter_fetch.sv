// Parameter fetch: reads the channel parameters of a block over the vector unit's operand port into
// the parameter buffer. One set serves all consecutive visits with the same block (and the same
// batch, if each batch has its own parameters).
//   command     Stays at its port until command_ready, which comes with its last request.
//   request     Three for each column tile of the block: offsets, scales and biases of its valid
//               channels, one request per cycle if the port takes them. The first request of an
//               instruction comes in the cycle in which the command is available and the vector
//               unit has issued all earlier instructions (vector_done: it then does not use the
//               port). The first request of a set also waits until the buffer is free.
//   write       In the cycle of the word.
//   filled      Asserted with the last write of a set.
//   released    The buffer is free from the cycle after the pulse on, and initially.
module kiln_parameter_fetch #(
    parameter int unsigned ARRAY_COLUMNS = 8,
    parameter int unsigned PARAMETER_BUFFER_WORDS = 32,  // the most column tiles of a block
    localparam int unsigned LANE_BITS = $clog2(ARRAY_COLUMNS + 1),  // derived, do not set
    localparam int unsigned MAX_BYTES = ARRAY_COLUMNS * 4,
    localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1),
    localparam int unsigned ADDRESS_BITS =
        PARAMETER_BUFFER_WORDS > 1 ? $clog2(PARAMETER_BUFFER_WORDS) : 1,
    localparam int unsigned TAG_BITS = 3 + ADDRESS_BITS
) (
    input  logic                                        clock,
    input  logic                                        reset,
    input  logic                                        command_valid,
    output logic                                        command_ready,
    input  kiln_systolic_pkg::parameter_fetch_command_t command,
    // Instructions whose words the vector unit has all issued.
    input  logic [   kiln_systolic_pkg::INDEX_BITS-1:0] vector_done,
    // The operand port: requests of up to MAX_BYTES, and words with their tags, which are always
    // taken.
    output logic                                        request_valid,
    input  logic                                        request_ready,
    output logic [ kiln_systolic_pkg::ADDRESS_BITS-1:0] request_address,
    output logic [                      BYTES_BITS-1:0] request_bytes,
    output logic [                        TAG_BITS-1:0] request_tag,
    input  logic                                        word_valid,
    input  logic [                     MAX_BYTES*8-1:0] word_data,
    input  logic [                        TAG_BITS-1:0] word_tag,
    // The parameter buffer.
    output logic                                        write_enable,
    output logic [                                 1:0] write_array,
    output logic [                    ADDRESS_BITS-1:0] write_address,
    output logic [                     MAX_BYTES*8-1:0] write_data,
    output logic                                        filled,
    input  logic                                        released,
    // For the performance counters.
    output logic                                        busy,
    output logic [                       BYTES_BITS-1:0] bytes_read,
    output logic                                        stalled_port,  // operand port in use
    output logic                                        stalled_buffer  // parameter buffer full
);
  localparam int COUNT_BITS = kiln_systolic_pkg::COUNT_BITS;
  localparam int MEMORY_BITS = kiln_systolic_pkg::ADDRESS_BITS;  // of an address in memory
  localparam logic [COUNT_BITS-1:0] ONE = COUNT_BITS'(1);
  localparam logic [LANE_BITS-1:0] COLUMN_LANES = LANE_BITS'(ARRAY_COLUMNS);

  logic fire;
  assign fire = request_valid && request_ready;

  // ---- The visits that fetch parameters: one for all consecutive pixel tiles with the same block,
  // and one for all batches that share the parameters of their only block.
  kiln_systolic_pkg::tiling_t command_visits;
  logic only_block;
  assign only_block = command.tiling.blocks == ONE;
  always_comb begin
    command_visits = command.tiling;
    if (only_block || command.tiling.order == kiln_systolic_pkg::ORDER_WEIGHT_OUTER) begin
      command_visits.tiles_y = ONE;
      command_visits.tiles_x = ONE;
    end
    if (only_block && !command.tiling.parameters_by_batch) command_visits.batch = ONE;
  end
  logic last_visit, visit_end, last_block;
  logic [4:0] step;
  logic [COUNT_BITS-1:0] columns;
  kiln_visit_walker visit (
      .clock,
      .reset,
      .command_tiling(command_visits),
      .advance(visit_end),
      .last(last_visit),
      .index(),
      .step,
      .height(),
      .width(),
      .columns,
      .last_row(),
      .last_column(),
      .last_block,
      .fetch_inputs(),
      .last_of_inputs(),
      .fetch_weights(),
      .last_of_weights(),
      .fetch_parameters(),
      .last_of_parameters()
  );

  // ---- The column tiles of the block, and the arrays of a tile.
  logic [COUNT_BITS-1:0] column;
  logic [1:0] array;
  logic last_column, last_array, tile_end;
  kiln_loop_counter columns_of_block (
      .clock,
      .reset,
      .rounds (columns),
      .advance(tile_end),
      .restart(visit_end),
      .count  (column),
      .first  (),
      .last   (last_column)
  );
  wire unused_column = &{1'b0, column};  // upper bits
  assign last_array = array == 2'd2;
  assign tile_end = fire && last_array;
  assign visit_end = tile_end && last_column;
  always_ff @(posedge clock) begin
    if (reset) array <= '0;
    else if (fire) array <= last_array ? '0 : array + 2'd1;
  end

  // ---- Addresses. Column tiles are consecutive from block to block; the walk returns to the first
  // block with the next tile or batch.
  logic [MEMORY_BITS-1:0] array_offset, tile_offset, batch_offset;
  logic next_block;
  assign next_block = step[0] || step[3];
  wire unused_step = &{1'b0, step[2:1]};
  always_ff @(posedge clock) begin
    if (reset) begin
      array_offset <= '0;
      tile_offset  <= '0;
      batch_offset <= '0;
    end else if (fire) begin
      array_offset <=
          last_array ? '0 : array_offset + {6'd0, command.parameters.out_channels, 2'd0};
      if (tile_end) begin
        tile_offset <= last_column && !next_block ? '0 : tile_offset + MEMORY_BITS'(MAX_BYTES);
      end
      if (visit_end && last_visit) batch_offset <= '0;
      else if (visit_end && step[4]) batch_offset <= batch_offset + command.parameters.batch_stride;
    end
  end

  logic [LANE_BITS-1:0] channels;
  assign channels =
      last_block && last_column ? LANE_BITS'(command.tiling.last_tile_columns) : COLUMN_LANES;
  assign request_address = command.parameters.base + batch_offset + tile_offset + array_offset;
  // Without a command the address is undefined, and the address guard must not report it.
  assign request_bytes = command_valid ? {channels, 2'd0} : '0;
  assign request_tag = {last_array && last_column, array, column[ADDRESS_BITS-1:0]};

  // ---- The conditions for a request.
  logic buffer_free, in_set, asked, port_done, earlier_issued, buffer_there;
  assign earlier_issued = vector_done == command.number;
  assign buffer_there = in_set || buffer_free;
  assign request_valid = command_valid && earlier_issued && buffer_there;
  assign command_ready = visit_end && last_visit;
  assign port_done = !asked || request_ready;
  always_ff @(posedge clock) begin
    if (reset) begin
      buffer_free <= 1'b1;
      in_set      <= 1'b0;
      asked       <= 1'b0;
    end else begin
      if (released) buffer_free <= 1'b1;
      else if (fire) buffer_free <= 1'b0;
      if (fire) in_set <= !visit_end;
      asked <= fire || (asked && !request_ready);
    end
  end
  assign busy = request_valid || (asked && !request_ready);
  assign bytes_read = fire ? request_bytes : '0;
  assign stalled_port = command_valid && port_done && !earlier_issued;
  assign stalled_buffer = command_valid && port_done && earlier_issued && !buffer_there;

  // ---- The words that the port returns.
  logic word_set_ends;
  assign {word_set_ends, write_array, write_address} = word_tag;
  assign write_enable = word_valid;
  assign write_data = word_data;
  assign filled = word_valid && word_set_ends;

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      buffer_was_free : assert (!(request_valid && !in_set) || buffer_free);
      request_has_command : assert (!request_valid || command_valid);
      array_in_range : assert (array <= 2'd2);
    end
  end
`endif
endmodule
