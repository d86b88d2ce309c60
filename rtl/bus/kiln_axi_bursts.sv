// Splits runs of beats into the AXI bursts of an address channel (AR or AW).
//   time       the first burst of a run accepted in cycle t (run_valid && run_ready) is on the
//              channel in t + 1; further bursts follow, one per cycle. A run of n beats has at most
//              n bursts, so a caller that spends n cycles on n beats never waits.
//   split      runs are split at multiples of min(4 KiB, 256 beats). This keeps both limits of AXI,
//              and depends on the address alone.
//   run_ready, burst_pushed   functions of registers and `room` (burst_pushed also of run_valid),
//              not of axi_ready
// burst_pushed is high when a burst enters the channel's queue in this cycle; burst_last is high
// when it is the last burst of its run. A low `room` (the caller's tracking queue is full) stops
// bursts.
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
  localparam int unsigned PAGE_BEATS = kiln_axi_pkg::PAGE_BYTES / DATA_BYTES <
      kiln_axi_pkg::MAX_BURST_BEATS ? kiln_axi_pkg::PAGE_BYTES / DATA_BYTES :
      kiln_axi_pkg::MAX_BURST_BEATS;
  localparam int unsigned INDEX_BITS = $clog2(PAGE_BEATS);
  localparam int unsigned PAGE_LOW = OFFSET_BITS + INDEX_BITS;  // lowest bit of the page's number
  // Wide enough for the beats of a run and for the beats up to the end of a page (at most 256).
  localparam int unsigned LENGTH_BITS = BEATS_BITS > 9 ? BEATS_BITS : 9;

  logic                              rest_valid;  // a part of the run is not yet issued
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
  logic [7:0] burst_length;  // in AXI's encoding: beats - 1
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
`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(ADDRESS_BITS - OFFSET_BITS + 8)
  ) address_handshake (
      .clock,
      .reset,
      .valid(axi_valid),
      .ready(axi_ready),
      .payload({axi_place, axi_len})
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      run_not_empty : assert (!(run_valid && run_ready) || run_beats != '0);
      rest_not_empty : assert (!rest_valid || rest_beats != '0);
      pushes_into_room : assert (!burst_pushed || (queue_ready && room));
      burst_within_page : assert (!burst_pushed || (burst_beats != '0 &&
          32'(place[PAGE_LOW-1:OFFSET_BITS]) + 32'(burst_beats) <= PAGE_BEATS));
      no_page_crossed : assert (!axi_valid ||
          32'(axi_place[PAGE_LOW-1:OFFSET_BITS]) + 32'(axi_len) < PAGE_BEATS);
      if ($past(reset)) quiet_after_reset : assert (!axi_valid);
    end
  end
`endif
endmodule
