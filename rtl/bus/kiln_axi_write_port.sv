// Writes words of any length at any byte address over AXI4, and reports when each word is in
// memory.
//
//   request    (address, bytes, data, tag), bytes >= 1: byte 0 of data goes to `address`. It writes
//              beats = (address + bytes - 1) / DATA_BYTES - address / DATA_BYTES + 1 words of the
//              memory; strobes preserve their other bytes.
//   accept     a request accepted in cycle t (request_valid && request_ready) occupies the port for
//              its beats: the next one is accepted in t + beats at the earliest. request_ready is a
//              function of registers only.
//   time       AW is on the bus in t + 1, beat i of W in t + 1 + i. done_valid, with the request's
//              tag, is a pulse in the cycle after its (last) response; `outstanding` decreases in
//              the cycle after that. With a memory whose response is on the bus M cycles after the
//              handshake of the last beat, and u = t + beats - 1 the last cycle in which the
//              request occupies the port,
//                  done_valid in u + L, outstanding in u + 1 + L,
//                  L = M + kiln_axi_pkg::PORT_LATENCY
//   order      requests complete in order
//   fault      sticky: a response was SLVERR or DECERR; its request is done nevertheless
//   idle       every accepted request is in memory: outstanding == 0
// Bursts follow the rules of kiln_axi_read_port. A memory that never stalls is used at its full
// rate if OUTSTANDING >= L.
module kiln_axi_write_port #(
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned DATA_BYTES = 16,  // bytes of a beat: 8 to 128, a power of two
    // bytes of the longest request, which is the width of `data`
    parameter int unsigned MAX_BYTES = 16,
    parameter int unsigned TAG_BITS = 8,
    parameter int unsigned OUTSTANDING = 32,  // bursts in flight
    localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1),  // derived, do not set
    localparam int unsigned COUNT_BITS = $clog2(OUTSTANDING + 2)  // derived, do not set
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    request_valid,
    output logic                    request_ready,
    input  logic [ADDRESS_BITS-1:0] request_address,
    input  logic [  BYTES_BITS-1:0] request_bytes,
    input  logic [ MAX_BYTES*8-1:0] request_data,
    input  logic [    TAG_BITS-1:0] request_tag,
    output logic                    done_valid,
    output logic [    TAG_BITS-1:0] done_tag,
    output logic [  COUNT_BITS-1:0] outstanding,  // requests accepted and not yet in memory
    output logic                    idle,
    output logic                    fault,
    // AXI4 master, write channels
    output logic                    axi_awvalid,
    input  logic                    axi_awready,
    output logic [ADDRESS_BITS-1:0] axi_awaddr,
    output logic [             7:0] axi_awlen,
    output logic [             2:0] axi_awsize,
    output logic [             1:0] axi_awburst,
    output logic                    axi_wvalid,
    input  logic                    axi_wready,
    output logic [DATA_BYTES*8-1:0] axi_wdata,
    output logic [  DATA_BYTES-1:0] axi_wstrb,
    output logic                    axi_wlast,
    input  logic                    axi_bvalid,
    output logic                    axi_bready,
    input  logic [             1:0] axi_bresp
);
  localparam int unsigned DATA_BITS = DATA_BYTES * 8;
  localparam int unsigned OFFSET_BITS = $clog2(DATA_BYTES);
  // beats of the longest request at the worst offset
  localparam int unsigned MAX_BEATS = (MAX_BYTES + 2 * DATA_BYTES - 2) / DATA_BYTES;
  localparam int unsigned BEATS_BITS = $clog2(MAX_BEATS + 1);
  localparam int unsigned SPAN_BITS = $clog2(MAX_BYTES + 2 * DATA_BYTES);
  localparam int unsigned CHUNKS = (MAX_BYTES + DATA_BYTES - 1) / DATA_BYTES;
  localparam int unsigned PAGE_BEATS = kiln_axi_pkg::PAGE_BYTES / DATA_BYTES <
      kiln_axi_pkg::MAX_BURST_BEATS ? kiln_axi_pkg::PAGE_BYTES / DATA_BYTES :
      kiln_axi_pkg::MAX_BURST_BEATS;
  localparam int unsigned INDEX_BITS = $clog2(PAGE_BEATS);

  if (DATA_BYTES < 8 || DATA_BYTES > 128 ||
      (DATA_BYTES & (DATA_BYTES - 1)) != 0) begin : g_data_bytes
    $error("DATA_BYTES must be 8, 16, 32, 64 or 128");
  end

  // ---- Requests and their bursts.
  logic request_taken, bursts_ready, bursts_pushed, bursts_last, pending_ready, data_ready;
  logic [OFFSET_BITS-1:0] request_offset;
  logic [SPAN_BITS-1:0] request_span;
  logic [BEATS_BITS-1:0] request_beats;
  logic [BEATS_BITS-1:0] busy_beats;  // beats of the last request that are not yet pushed
  logic [TAG_BITS-1:0] last_tag;  // tag of the last request, for its bursts after the first

  assign request_offset = request_address[OFFSET_BITS-1:0];
  assign request_span = SPAN_BITS'(request_offset) + SPAN_BITS'(request_bytes);
  assign request_beats = BEATS_BITS'((request_span + SPAN_BITS'(DATA_BYTES - 1)) >> OFFSET_BITS);
  assign request_ready = busy_beats == '0 && bursts_ready && data_ready;
  assign request_taken = request_valid && request_ready;

  kiln_axi_bursts #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(DATA_BYTES),
      .MAX_BEATS(MAX_BEATS)
  ) bursts (
      .clock,
      .reset,
      .run_valid(request_taken),
      .run_ready(bursts_ready),
      .run_place(request_address[ADDRESS_BITS-1:OFFSET_BITS]),
      .run_beats(request_beats),
      .room(pending_ready),
      .burst_pushed(bursts_pushed),
      .burst_last(bursts_last),
      .axi_valid(axi_awvalid),
      .axi_ready(axi_awready),
      .axi_addr(axi_awaddr),
      .axi_len(axi_awlen)
  );
  assign axi_awsize  = 3'(OFFSET_BITS);
  assign axi_awburst = kiln_axi_pkg::BURST_INCR;

  // ---- Beats. `window` holds the rest of the word, starting one chunk before the next beat's
  // chunk. A beat combines the two lowest chunks; a rotation by the offset aligns their bytes.
  logic beat_pushed, beat_first, beat_last;
  logic [(CHUNKS+1)*DATA_BITS-1:0] window;
  logic [DATA_BITS-1:0] lower, chunk, beat_data;
  logic [DATA_BYTES-1:0] first_strobe, last_strobe, request_last_strobe, beat_strobe;
  logic [OFFSET_BITS-1:0] offset, offset_held;
  logic [DATA_BYTES-1:0] last_strobe_held;
  // index of the beat within its page; the end of a page splits a burst
  logic [INDEX_BITS-1:0] page_index, page_index_held;

  assign beat_first = busy_beats == '0;
  assign beat_last = beat_first ? request_beats == BEATS_BITS'(1) : busy_beats == BEATS_BITS'(1);
  assign beat_pushed = beat_first ? request_taken : data_ready;
  assign offset = beat_first ? request_offset : offset_held;
  assign page_index = beat_first ? request_address[OFFSET_BITS+:INDEX_BITS] : page_index_held;

  assign lower = {DATA_BITS{1'b1}} >> {offset, 3'b000};
  always_comb begin
    if (beat_first) chunk = DATA_BITS'(request_data);
    else chunk = (window[DATA_BITS+:DATA_BITS] & lower) | (window[0+:DATA_BITS] & ~lower);
  end
  assign beat_data = DATA_BITS'(({chunk, chunk} << {offset, 3'b000}) >> DATA_BITS);

  assign first_strobe = beat_first ? {DATA_BYTES{1'b1}} << request_offset : {DATA_BYTES{1'b1}};
  assign request_last_strobe =
      ~({DATA_BYTES{request_span[OFFSET_BITS-1:0] != '0}} << request_span[OFFSET_BITS-1:0]);
  assign last_strobe =
      !beat_last ? {DATA_BYTES{1'b1}} : beat_first ? request_last_strobe : last_strobe_held;
  assign beat_strobe = first_strobe & last_strobe;

  always_ff @(posedge clock) begin
    if (reset) busy_beats <= '0;
    else if (request_taken) busy_beats <= request_beats - 1'b1;
    else if (busy_beats != '0 && data_ready) busy_beats <= busy_beats - 1'b1;
    if (request_taken) begin
      offset_held <= request_offset;
      last_strobe_held <= request_last_strobe;
      last_tag <= request_tag;
      window <= ((CHUNKS + 1) * DATA_BITS)'(request_data);
    end else if (beat_pushed) begin
      window <= window >> DATA_BITS;
    end
    if (beat_pushed) page_index_held <= page_index + 1'b1;
  end

  logic [1:0] unused_data_count;
  kiln_fifo #(
      .WIDTH(DATA_BITS + DATA_BYTES + 1),
      .DEPTH(2)
  ) data (
      .clock,
      .reset,
      .in_valid (beat_pushed),
      .in_ready (data_ready),
      .in_data  ({beat_last || page_index == '1, beat_strobe, beat_data}),
      .out_valid(axi_wvalid),
      .out_ready(axi_wready),
      .out_data ({axi_wlast, axi_wstrb, axi_wdata}),
      .count    (unused_data_count)
  );

  // ---- Responses: one entry per burst. A request is complete when its last burst has a response.
  logic pending_valid, pending_last;
  logic [TAG_BITS-1:0] pending_tag;
  logic [$clog2(OUTSTANDING+1)-1:0] unused_pending_count;
  kiln_fifo #(
      .WIDTH(1 + TAG_BITS),
      .DEPTH(OUTSTANDING)
  ) pending (
      .clock,
      .reset,
      .in_valid (bursts_pushed),
      .in_ready (pending_ready),
      .in_data  ({bursts_last, request_taken ? request_tag : last_tag}),
      .out_valid(pending_valid),
      .out_ready(axi_bvalid),
      .out_data ({pending_last, pending_tag}),
      .count    (unused_pending_count)
  );
  assign axi_bready = 1'b1;

  always_ff @(posedge clock) begin
    if (reset) begin
      done_valid  <= 1'b0;
      outstanding <= '0;
      fault       <= 1'b0;
    end else begin
      done_valid  <= axi_bvalid && pending_valid && pending_last;
      outstanding <= outstanding + COUNT_BITS'(request_taken) - COUNT_BITS'(done_valid);
      if (axi_bvalid && axi_bresp[1]) fault <= 1'b1;
    end
    done_tag <= pending_tag;
  end
  assign idle = outstanding == '0;

  logic unused_signals;  // bit 1 of a response marks an error
  assign unused_signals = &{1'b0, axi_bresp[0]};

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(DATA_BITS + DATA_BYTES + 1)
  ) data_handshake (
      .clock,
      .reset,
      .valid(axi_wvalid),
      .ready(axi_wready),
      .payload({axi_wlast, axi_wstrb, axi_wdata})
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      request_fits_data : assert (!request_valid ||
          (request_bytes != '0 && 32'(request_bytes) <= MAX_BYTES));
      busy_in_range : assert (32'(busy_beats) < MAX_BEATS);
      no_beat_lost : assert (!beat_pushed || data_ready);
      beat_has_bytes : assert (!beat_pushed || beat_strobe != '0);
      burst_for_each_request : assert (!request_taken || bursts_pushed);
      no_unexpected_response : assert (!axi_bvalid || pending_valid);
      outstanding_in_range : assert (32'(outstanding) <= OUTSTANDING + 1);
      no_outstanding_underflow : assert (!done_valid || outstanding != '0);
      idle_means_nothing_pending : assert (!idle || (!pending_valid && !axi_awvalid));
      if ($past(fault && !reset)) fault_sticky : assert (fault);
      if ($past(reset)) begin
        quiet_after_reset : assert (!axi_awvalid && !axi_wvalid && !done_valid);
      end
    end
  end
`endif

`ifdef KILN_AXI_CHECKER
  logic [kiln_axi_pkg::RULES-1:0] unused_violations;
  kiln_axi_checker #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(DATA_BYTES)
  ) checker_of_port (
      .clock,
      .reset,
      .axi_arvalid(1'b0),
      .axi_arready(1'b0),
      .axi_arid(1'b0),
      .axi_araddr('0),
      .axi_arlen('0),
      .axi_arsize('0),
      .axi_arburst('0),
      .axi_rvalid(1'b0),
      .axi_rready(1'b0),
      .axi_rid(1'b0),
      .axi_rdata('0),
      .axi_rresp('0),
      .axi_rlast(1'b0),
      .axi_awvalid,
      .axi_awready,
      .axi_awid(1'b0),
      .axi_awaddr,
      .axi_awlen,
      .axi_awsize,
      .axi_awburst,
      .axi_wvalid,
      .axi_wready,
      .axi_wdata,
      .axi_wstrb,
      .axi_wlast,
      .axi_bvalid,
      .axi_bready,
      .axi_bid(1'b0),
      .axi_bresp,
      .violations(unused_violations)
  );
`endif
endmodule
