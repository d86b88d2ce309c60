// Reads the stream in: commands, and the inputs of threads (docs/cgra-machine.md, "Streams").
//   stream     One beat or delivery in a clock cycle.
//   write_*    a message of the asynchronous fabric, in the cycle after its beat or delivery: to
//              the memory or RAM `write_target` of a tile. write_low: bits 63:0 of a word of the
//              instruction RAM, whose bits 127:64 are in write_data
//   start      the parameter beat is taken; numbers of the run are there from the next cycle on
//   ready      threads whose inputs are all written
//   finished   threads that no longer need theirs
//   idle       the run's results have left, and its fabric cycles have ended: the next command may
//              be executed
module kiln_cgra_dispatch #(
    parameter  int unsigned LANES = 2,
    parameter  int unsigned RING  = 16,
    localparam int unsigned WIDTH = 32 * LANES  // derived, do not set
) (
    input  logic                                   clock,
    input  logic                                   reset,
    input  logic                                   in_tvalid,
    output logic                                   in_tready,
    input  logic [                      WIDTH-1:0] in_tdata,
    output logic                                   write_valid,
    output logic [                            3:0] write_target,
    output logic [                            7:0] write_tile,
    output logic [kiln_cgra_pkg::ADDRESS_BITS-1:0] write_address,
    output logic [                      WIDTH-1:0] write_data,
    output logic [                           63:0] write_low,
    output logic                                   start,
    output logic [                           31:0] threads,
    output logic [                           31:0] first_sent,
    output logic [                            6:0] interval,
    output logic [                           15:0] latency,
    output logic [                            3:0] outputs,
    output logic                                   has_inputs,
    output logic [                           31:0] ready,
    input  logic [                           31:0] finished,
    input  logic                                   idle
);
  localparam int unsigned ENTRIES = 256;  // of the delivery table
  localparam int unsigned AHEAD_BITS = $clog2(RING);

  localparam logic [2:0] HEADER = 3'd0;
  localparam logic [2:0] WRITE = 3'd1;
  localparam logic [2:0] PARAMETERS = 3'd2;
  localparam logic [2:0] DELIVER = 3'd3;
  localparam logic [2:0] FINISH = 3'd4;
  logic [2:0] state;

  // A write: where the next beat goes, and how many follow.
  logic [3:0] target;
  logic [7:0] tile;
  logic [15:0] address;
  logic [31:0] left;
  logic high_half;  // of a word of the instruction RAM

  // Deliveries: the entry of the table for the next one.
  logic [7:0] deliveries, index, next_index;
  logic [31:0] thread;
  logic [31:0] ahead;  // threads that are delivered or begun and not finished
  logic [kiln_cgra_pkg::ENTRY_BITS-1:0] entry;
  logic [kiln_cgra_pkg::ADDRESS_BITS-1:0] entry_base;
  logic shares, room, delivers, last_delivery, thread_written;

  assign ahead = thread - finished;
  assign room = ahead[31:AHEAD_BITS] == '0;
  assign entry_base = entry[19:8];
  assign shares = entry[21];
  assign delivers = state == DELIVER && room && (shares || in_tvalid);
  assign last_delivery = index == deliveries - 1'b1;
  always_comb begin
    next_index = index;
    if (delivers) next_index = last_delivery ? '0 : index + 1'b1;
    if (state != DELIVER) next_index = '0;
  end
  always_comb begin
    case (state)
      HEADER, WRITE, PARAMETERS: in_tready = 1'b1;
      DELIVER: in_tready = room && !shares;
      default: in_tready = 1'b0;
    endcase
  end
  assign start = state == PARAMETERS && in_tvalid;

  logic takes_write, writes_table;
  assign takes_write = state == WRITE && in_tvalid;
  assign writes_table = takes_write && target == kiln_cgra_pkg::TARGET_DELIVERIES;
  kiln_ram_1w #(
      .WIDTH(kiln_cgra_pkg::ENTRY_BITS),
      .WORDS(ENTRIES)
  ) table_of_deliveries (
      .clock,
      .write_enable(writes_table),
      .write_address(address[7:0]),
      .write_data(in_tdata[kiln_cgra_pkg::ENTRY_BITS-1:0]),
      .read_enable(1'b1),
      .read_address(next_index),
      .read_data(entry)
  );

  always_ff @(posedge clock) begin
    if (reset) begin
      state <= HEADER;
    end else begin
      case (state)
        HEADER:
        if (in_tvalid) begin
          if (in_tdata[3:0] == kiln_cgra_pkg::COMMAND_WRITE && in_tdata[63:32] != '0)
            state <= WRITE;
          if (in_tdata[3:0] == kiln_cgra_pkg::COMMAND_RUN) state <= PARAMETERS;
        end
        WRITE: if (in_tvalid && left == 32'd1) state <= HEADER;
        PARAMETERS:
        if (in_tvalid)
          state <= deliveries == '0 || in_tdata[31:0] == '0 ? FINISH : DELIVER;
        DELIVER: if (delivers && last_delivery && thread == threads - 1'b1) state <= FINISH;
        default: if (idle) state <= HEADER;
      endcase
    end
    // The numbers of a header, those of a run in case it is one.
    if (state == HEADER && in_tvalid) begin
      target    <= in_tdata[7:4];
      tile      <= in_tdata[15:8];
      address   <= in_tdata[31:16];
      left      <= in_tdata[63:32];
      high_half <= 1'b0;
      if (in_tdata[3:0] == kiln_cgra_pkg::COMMAND_RUN) begin
        interval   <= in_tdata[22:16];
        latency    <= in_tdata[47:32];
        deliveries <= in_tdata[55:48];
        outputs    <= in_tdata[59:56];
        has_inputs <= in_tdata[55:48] != '0;
      end
    end
    if (takes_write) begin
      left <= left - 1'b1;
      high_half <= !high_half && target == kiln_cgra_pkg::TARGET_INSTRUCTIONS;
      if (high_half || target != kiln_cgra_pkg::TARGET_INSTRUCTIONS) address <= address + 1'b1;
      if (!high_half) write_low <= in_tdata[63:0];
    end
    if (start) {first_sent, threads} <= in_tdata[63:0];
    index <= next_index;
    if (state != DELIVER) thread <= '0;
    else if (delivers && last_delivery) thread <= thread + 1'b1;
  end

  // Messages.
  always_ff @(posedge clock) begin
    if (reset) begin
      write_valid    <= 1'b0;
      thread_written <= 1'b0;
    end else begin
      write_valid <= delivers || (takes_write && !writes_table &&
          (high_half || target != kiln_cgra_pkg::TARGET_INSTRUCTIONS));
      thread_written <= delivers && last_delivery;
    end
    if (in_tvalid && in_tready) write_data <= in_tdata;
    if (state == DELIVER) begin
      write_target  <= {3'd0, entry[20]};
      write_tile    <= entry[7:0];
      write_address <= entry_base + kiln_cgra_pkg::ADDRESS_BITS'(thread[AHEAD_BITS-1:0]);
    end else begin
      write_target  <= target;
      write_tile    <= tile;
      write_address <= address[kiln_cgra_pkg::ADDRESS_BITS-1:0];
    end
    if (start) ready <= '0;
    else if (thread_written) ready <= ready + 1'b1;
  end
  wire unused = &{1'b0, in_tdata, address};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      state_known : assert (state <= FINISH);
      if (state == DELIVER) begin
        within_the_ring : assert (ahead <= RING);
        index_within_table : assert (index < deliveries);
      end
      messages_go_somewhere : assert (!write_valid ||
          write_target <= kiln_cgra_pkg::TARGET_INSTRUCTIONS || write_target >
          kiln_cgra_pkg::TARGET_DELIVERIES);
    end
  end
`endif
endmodule
