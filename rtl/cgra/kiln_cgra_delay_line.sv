// A delay line: the last WAIT_LIMIT + 1 messages of one line into a tile.
//   control   In fabric cycle c, bit d of `valids` and word d of `threads` are those of the message
//             that arrives (in_valid, in_thread) in c - d. `clear` makes all messages invalid.
//   data      written one fabric cycle before the message arrives: next_data in c is that of the
//             message of c + 1. A read of the message of c - d (read_delay = d, 0 to WAIT_LIMIT) is
//             issued in c by read_enable; read_data has it from c + 1 until the next read.
//   advance   a fabric cycle; nothing changes in other cycles
// The data are in a memory with READS read ports. A shift register would move every word in every
// cycle, and each port would need a multiplexer of WAIT_LIMIT + 1 words.
module kiln_cgra_delay_line #(
    parameter int unsigned WIDTH = 64,  // bits of a message's data
    parameter int unsigned THREAD_BITS = 5,
    parameter int unsigned WAIT_LIMIT = 7,
    parameter int unsigned READS = 3
) (
    input  logic                                       clock,
    input  logic                                       advance,
    input  logic                                       clear,
    input  logic                                       in_valid,
    input  logic [                    THREAD_BITS-1:0] in_thread,
    input  logic [                          WIDTH-1:0] next_data,
    output logic [                       WAIT_LIMIT:0] valids,
    output logic [     (WAIT_LIMIT+1)*THREAD_BITS-1:0] threads,
    input  logic [                          READS-1:0] read_enable,
    input  logic [READS*kiln_cgra_pkg::DELAY_BITS-1:0] read_delay,
    output logic [                    READS*WIDTH-1:0] read_data
);
  localparam int unsigned WORDS = WAIT_LIMIT + 1;
  localparam int unsigned PLACE_BITS = WORDS > 1 ? $clog2(WORDS) : 1;

  assign valids[0] = in_valid;
  assign threads[THREAD_BITS-1:0] = in_thread;
  if (WAIT_LIMIT > 0) begin : g_control
    logic [WAIT_LIMIT-1:0] earlier_valids;
    logic [WAIT_LIMIT*THREAD_BITS-1:0] earlier_threads;
    assign valids[WAIT_LIMIT:1] = earlier_valids;
    assign threads[WORDS*THREAD_BITS-1:THREAD_BITS] = earlier_threads;
    always_ff @(posedge clock) begin
      if (clear) earlier_valids <= '0;
      else if (advance) earlier_valids <= valids[WAIT_LIMIT-1:0];
      if (advance) earlier_threads <= threads[WAIT_LIMIT*THREAD_BITS-1:0];
    end
  end

  // `place` is where the message of this cycle is; the next one goes behind it, where the oldest
  // is. A read of the oldest in the same cycle still gets it.
  logic [PLACE_BITS-1:0] place, next_place;
  assign next_place = 32'(place) == WORDS - 1 ? '0 : place + 1'b1;
  always_ff @(posedge clock) begin
    if (clear) place <= '0;
    else if (advance) place <= next_place;
  end

  logic [READS*PLACE_BITS-1:0] read_place;
  for (genvar i = 0; i < READS; i++) begin : g_read
    logic [PLACE_BITS-1:0] delay, distance;
    assign delay = read_delay[i*kiln_cgra_pkg::DELAY_BITS+:PLACE_BITS];
    assign distance = place - delay;
    assign read_place[i*PLACE_BITS+:PLACE_BITS] =
        delay > place ? distance + PLACE_BITS'(WORDS) : distance;
  end
  if (PLACE_BITS < kiln_cgra_pkg::DELAY_BITS) begin : g_unused
    logic [READS*kiln_cgra_pkg::DELAY_BITS-1:0] unused_delay;
    assign unused_delay = read_delay;
  end

  kiln_ram_1w #(
      .WIDTH(WIDTH),
      .WORDS(WORDS),
      .READS(READS)
  ) messages (
      .clock,
      .write_enable(advance),
      .write_address(next_place),
      .write_data(next_data),
      .read_enable(advance ? read_enable : '0),
      .read_address(read_place),
      .read_data
  );

`ifndef SYNTHESIS
  logic cleared = 1'b0;
  always_ff @(posedge clock) begin
    cleared <= cleared || clear;
    if (cleared) place_in_range : assert (32'(place) < WORDS);
  end
  for (genvar i = 0; i < READS; i++) begin : g_assert
    always_ff @(posedge clock) begin
      if (cleared && !clear && advance && read_enable[i])
        assert (32'(read_delay[i*kiln_cgra_pkg::DELAY_BITS+:kiln_cgra_pkg::DELAY_BITS]) < WORDS);
    end
  end
`endif
endmodule
