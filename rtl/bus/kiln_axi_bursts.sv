// Turns runs of beats into AXI bursts on an address channel (AR or AW), split where AXI wants it.
//   time       a run accepted in cycle t (run_valid && run_ready) has its first burst on the channel in t+1; further bursts follow one a
//              cycle. A run of n beats has at most n bursts, so who takes n cycles for n beats never waits.
//   split      at multiples of min(4 KiB, 256 beats): both limits of AXI by the address alone
//   run_ready, burst_pushed: functions of registers and `room` (run_valid too for burst_pushed); not of axi_ready
// burst_pushed says that a burst enters the channel's queue in this cycle, burst_last that it is its run's last one. `room` low
// holds bursts back (room for their book-keeping elsewhere).
module kiln_axi_bursts #(
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned DATA_BYTES = 16,  // bytes of a beat, a power of two
    parameter int unsigned MAX_BEATS = 2,  // beats of the longest run
    localparam int unsigned BEATS_BITS = $clog2(MAX_BEATS + 1),  // derived, do not set
    localparam int unsigned OFFSET_BITS = $clog2(DATA_BYTES)  // derived, do not set
) (
    input  logic                                clock,
    input  logic                                reset,
    input  logic                                run_valid,
    output logic                                run_ready,
    input  logic [ADDRESS_BITS-1:OFFSET_BITS]   run_place,  // byte address / DATA_BYTES
    input  logic [              BEATS_BITS-1:0] run_beats,  // at least 1
    input  logic                                room,
    output logic                                burst_pushed,
    output logic                                burst_last,
    output logic                                axi_valid,
    input  logic                                axi_ready,
    output logic [            ADDRESS_BITS-1:0] axi_addr,
    output logic [                         7:0] axi_len
);
  localparam int unsigned PAGE_BEATS = kiln_axi_pkg::PAGE_BYTES / DATA_BYTES < kiln_axi_pkg::MAX_BURST_BEATS ?
      kiln_axi_pkg::PAGE_BYTES / DATA_BYTES : kiln_axi_pkg::MAX_BURST_BEATS;
  localparam int unsigned INDEX_BITS = $clog2(PAGE_BEATS);
  localparam int unsigned PAGE_LOW = OFFSET_BITS + INDEX_BITS;  // lowest bit of the page's number
  // Beats of a run and beats up to the end of a page (256 at most), in one width.
  localparam int unsigned LENGTH_BITS = BEATS_BITS > 9 ? BEATS_BITS : 9;

  logic                              rest_valid;  // a part of the run is still to come
  logic [ADDRESS_BITS-1:PAGE_LOW]    rest_page;
  logic [         LENGTH_BITS-1:0]   rest_beats;
  logic [ADDRESS_BITS-1:OFFSET_BITS] place;
  logic [         LENGTH_BITS-1:0]   beats, beats_to_page_end, burst_beats;
  logic                              split, queue_ready;

  assign place = rest_valid ? {rest_page, {INDEX_BITS{1'b0}}} : run_place;
  assign beats = rest_valid ? rest_beats : LENGTH_BITS'(run_beats);
  assign beats_to_page_end = LENGTH_BITS'(PAGE_BEATS) - LENGTH_BITS'(place[PAGE_LOW-1:OFFSET_BITS]);
  assign split = beats > beats_to_page_end;
  assign burst_beats = split ? beats_to_page_end : beats;

  assign run_ready = !rest_valid && queue_ready && room;
  assign burst_pushed = (rest_valid || run_valid) && queue_ready && room;
  assign burst_last = !split;

  always_ff @(posedge clock) begin
    if (reset) rest_valid <= 1'b0;
    else if (burst_pushed) rest_valid <= split;
    if (burst_pushed) begin
      rest_page  <= place[ADDRESS_BITS-1:PAGE_LOW] + 1'b1;
      rest_beats <= beats - beats_to_page_end;
    end
  end

  logic [ADDRESS_BITS-1:OFFSET_BITS] axi_place;
  logic [7:0] burst_length;  // as AXI says it: beats - 1
  assign burst_length = 8'(burst_beats - 1'b1);
  logic [1:0] unused_count;
  kiln_fifo #(
      .WIDTH(ADDRESS_BITS - OFFSET_BITS + 8),
      .DEPTH(2)
  ) queue (
      .clock,
      .reset,
      .in_valid (burst_pushed),
      .in_ready (queue_ready),
      .in_data  ({place, burst_length}),
      .out_valid(axi_valid),
      .out_ready(axi_ready),
      .out_data ({axi_place, axi_len}),
      .count    (unused_count)
  );
  assign axi_addr = {axi_place, {OFFSET_BITS{1'b0}}};
endmodule
