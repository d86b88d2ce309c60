// Reads words of any length at any byte address over AXI4: one word per request, in order.
//
//   request    (address, bytes, tag) reads beats = (address + bytes - 1) / DATA_BYTES - address /
//              DATA_BYTES + 1 words of the memory. bytes = 0 is a null request: it uses the port
//              for one cycle without bus traffic, and returns a word of undefined content.
//   word       bytes `address` to `address + bytes - 1`, the first one as byte 0; the bytes above
//              are undefined
//   accept     a request accepted in cycle t (request_valid && request_ready) occupies the port for
//              its beats: the next one is accepted in t + beats at the earliest (null: t + 1).
//              request_ready is a function of registers only.
//   time       AR is on the bus in t + 1. The word is at the output in the cycle after its last
//              beat was accepted. With a memory that delivers the first beat M cycles after the AR
//              handshake and then one beat per cycle, this is cycle
//                  t + beats - 1 + L,  L = M + kiln_axi_pkg::PORT_LATENCY
//              A null word follows the previous word by one cycle, at t + 2 at the earliest.
//   stalls     the word is held while !word_ready; axi_rready depends on word_ready in the same
//              cycle
//   bursts     incrementing, full width, aligned, within 4 KiB, at most 256 beats; one burst per
//              request where these limits allow it. All bursts have the same ID, so data return in
//              order.
//   fault      sticky: a response was SLVERR or DECERR; its word is delivered nevertheless
//   idle       every accepted request has delivered its word
// A memory that never stalls is used at its full rate if OUTSTANDING >= L.
module kiln_axi_read_port #(
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned DATA_BYTES = 16,  // bytes of a beat: 8 to 128, a power of two
    // bytes of the longest request, which is the width of a word
    parameter int unsigned MAX_BYTES = 16,
    parameter int unsigned TAG_BITS = 8,
    parameter int unsigned OUTSTANDING = 32,  // requests in flight
    parameter bit IN_MEMORY = 1'b0,  // requests in flight are in a memory, not in registers
    localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1)  // derived, do not set
) (
    input  logic                      clock,
    input  logic                      reset,
    input  logic                      request_valid,
    output logic                      request_ready,
    input  logic [  ADDRESS_BITS-1:0] request_address,
    input  logic [    BYTES_BITS-1:0] request_bytes,
    input  logic [      TAG_BITS-1:0] request_tag,
    output logic                      word_valid,
    input  logic                      word_ready,
    output logic [   MAX_BYTES*8-1:0] word_data,
    output logic [      TAG_BITS-1:0] word_tag,
    output logic                      idle,
    output logic                      fault,
    // AXI4 master, read channels
    output logic                      axi_arvalid,
    input  logic                      axi_arready,
    output logic [  ADDRESS_BITS-1:0] axi_araddr,
    output logic [               7:0] axi_arlen,
    output logic [               2:0] axi_arsize,
    output logic [               1:0] axi_arburst,
    input  logic                      axi_rvalid,
    output logic                      axi_rready,
    input  logic [  DATA_BYTES*8-1:0] axi_rdata,
    input  logic [               1:0] axi_rresp,
    input  logic                      axi_rlast
);
  localparam int unsigned DATA_BITS = DATA_BYTES * 8;
  localparam int unsigned OFFSET_BITS = $clog2(DATA_BYTES);
  // beats of the longest request at the worst offset
  localparam int unsigned MAX_BEATS = (MAX_BYTES + 2 * DATA_BYTES - 2) / DATA_BYTES;
  localparam int unsigned BEATS_BITS = $clog2(MAX_BEATS + 1);
  localparam int unsigned SPAN_BITS = $clog2(MAX_BYTES + 2 * DATA_BYTES);
  // beat-wide chunks of a word
  localparam int unsigned CHUNKS = (MAX_BYTES + DATA_BYTES - 1) / DATA_BYTES;

  if (DATA_BYTES < 8 || DATA_BYTES > 128 ||
      (DATA_BYTES & (DATA_BYTES - 1)) != 0) begin : g_data_bytes
    $error("DATA_BYTES must be 8, 16, 32, 64 or 128");
  end

  // ---- Requests: bursts to the bus, and one entry per request in the queue of pending words.
  logic request_null, request_taken, bursts_ready, pending_ready, bursts_pushed, bursts_last;
  logic [OFFSET_BITS-1:0] request_offset;
  logic [ BEATS_BITS-1:0] request_beats;
  logic [ BEATS_BITS-1:0] busy_beats;  // cycles for which the last request still occupies the port

  assign request_null = request_bytes == '0;
  assign request_offset = request_address[OFFSET_BITS-1:0];
  assign request_beats =
      BEATS_BITS'((SPAN_BITS'(request_offset) + SPAN_BITS'(request_bytes) +
      SPAN_BITS'(DATA_BYTES - 1)) >> OFFSET_BITS);
  assign request_ready = busy_beats == '0 && bursts_ready && pending_ready;
  assign request_taken = request_valid && request_ready;

  always_ff @(posedge clock) begin
    if (reset) busy_beats <= '0;
    else if (request_taken) busy_beats <= request_null ? '0 : request_beats - 1'b1;
    else if (busy_beats != '0) busy_beats <= busy_beats - 1'b1;
  end

  kiln_axi_bursts #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(DATA_BYTES),
      .MAX_BEATS(MAX_BEATS)
  ) bursts (
      .clock,
      .reset,
      .run_valid(request_taken && !request_null),
      .run_ready(bursts_ready),
      .run_place(request_address[ADDRESS_BITS-1:OFFSET_BITS]),
      .run_beats(request_beats),
      .room(1'b1),
      .burst_pushed(bursts_pushed),
      .burst_last(bursts_last),
      .axi_valid(axi_arvalid),
      .axi_ready(axi_arready),
      .axi_addr(axi_araddr),
      .axi_len(axi_arlen)
  );
  assign axi_arsize  = 3'(OFFSET_BITS);
  assign axi_arburst = kiln_axi_pkg::BURST_INCR;

  logic pending_valid, pending_null, pending_pop;
  logic [OFFSET_BITS-1:0] pending_offset;
  logic [ BEATS_BITS-1:0] pending_last;  // index of its last beat, from 0
  logic [   TAG_BITS-1:0] pending_tag;
  logic [$clog2(OUTSTANDING+1)-1:0] unused_count;
  localparam int unsigned PENDING = 1 + OFFSET_BITS + BEATS_BITS + TAG_BITS;
  logic [PENDING-1:0] request_pending, pending_now;
  assign request_pending = {request_null, request_offset, request_beats - 1'b1, request_tag};
  assign {pending_null, pending_offset, pending_last, pending_tag} = pending_now;
  if (IN_MEMORY) begin : g_memory
    kiln_deep_fifo #(
        .WIDTH(PENDING),
        .DEPTH(OUTSTANDING),
        .STYLE(1)
    ) pending (
        .clock,
        .reset,
        .in_valid (request_taken),
        .in_ready (pending_ready),
        .in_data  (request_pending),
        .out_valid(pending_valid),
        .out_ready(pending_pop),
        .out_data (pending_now),
        .count    (unused_count)
    );
  end else begin : g_registers
    kiln_fifo #(
        .WIDTH(PENDING),
        .DEPTH(OUTSTANDING)
    ) pending (
        .clock,
        .reset,
        .in_valid (request_taken),
        .in_ready (pending_ready),
        .in_data  (request_pending),
        .out_valid(pending_valid),
        .out_ready(pending_pop),
        .out_data (pending_now),
        .count    (unused_count)
    );
  end

  // ---- Words: each beat is rotated by the request's offset, which aligns its bytes with a chunk:
  // the lower bytes start chunk `beat`, the upper ones end the previous chunk.
  logic output_free, beat_taken;
  logic [BEATS_BITS-1:0] beat;
  logic [DATA_BITS-1:0] rotated, lower;
  logic [CHUNKS*DATA_BITS-1:0] chunks;

  assign output_free = !word_valid || word_ready;
  assign axi_rready = pending_valid && !pending_null && output_free;
  assign beat_taken = axi_rvalid && axi_rready;
  assign pending_pop = pending_null ? output_free : beat_taken && beat == pending_last;
  assign rotated = DATA_BITS'({axi_rdata, axi_rdata} >> {pending_offset, 3'b000});
  assign lower = {DATA_BITS{1'b1}} >> {pending_offset, 3'b000};

  always_ff @(posedge clock) begin
    if (reset) begin
      beat       <= '0;
      word_valid <= 1'b0;
      fault      <= 1'b0;
    end else begin
      if (beat_taken) beat <= beat == pending_last ? '0 : beat + 1'b1;
      if (output_free) word_valid <= pending_valid && pending_pop;
      if (beat_taken && axi_rresp[1]) fault <= 1'b1;
    end
    if (output_free) word_tag <= pending_tag;
  end

  for (genvar c = 0; c < CHUNKS; c = c + 1) begin : g_chunk
    always_ff @(posedge clock) begin
      if (beat_taken && beat == BEATS_BITS'(c)) chunks[c*DATA_BITS+:DATA_BITS] <= rotated;
      else if (beat_taken && beat == BEATS_BITS'(c + 1))
        chunks[c*DATA_BITS+:DATA_BITS] <=
            (chunks[c*DATA_BITS+:DATA_BITS] & lower) | (rotated & ~lower);
    end
  end
  assign word_data = chunks[MAX_BYTES*8-1:0];
  assign idle = !pending_valid && !word_valid;

  // rlast is not needed, because the number of beats is known; bit 1 of a response marks an error.
  logic unused_signals;
  assign unused_signals = &{1'b0, axi_rlast, axi_rresp[0], bursts_pushed, bursts_last};

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(MAX_BYTES * 8 + TAG_BITS)
  ) word_handshake (
      .clock,
      .reset,
      .valid(word_valid),
      .ready(word_ready),
      .payload({word_data, word_tag})
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      request_fits_word : assert (!request_valid || 32'(request_bytes) <= MAX_BYTES);
      beats_in_range : assert (32'(request_beats) <= MAX_BEATS || !request_taken);
      busy_in_range : assert (32'(busy_beats) < MAX_BEATS);
      beat_in_range : assert (!pending_valid || beat <= pending_last);
      no_partial_word_when_idle : assert (pending_valid || beat == '0);
      no_unexpected_data : assert (!axi_rvalid || pending_valid);
      last_beat_ends_burst : assert (!(beat_taken && beat == pending_last) || axi_rlast);
      // The queue of addresses never refuses a burst that the queue of words has accepted.
      burst_for_each_request : assert (!(request_taken && !request_null) || bursts_pushed);
      if ($past(fault && !reset)) fault_sticky : assert (fault);
      if ($past(reset)) quiet_after_reset : assert (!word_valid && !axi_arvalid && idle);
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
      .axi_arvalid,
      .axi_arready,
      .axi_arid(1'b0),
      .axi_araddr,
      .axi_arlen,
      .axi_arsize,
      .axi_arburst,
      .axi_rvalid,
      .axi_rready,
      .axi_rid(1'b0),
      .axi_rdata,
      .axi_rresp,
      .axi_rlast,
      .axi_awvalid(1'b0),
      .axi_awready(1'b0),
      .axi_awid(1'b0),
      .axi_awaddr('0),
      .axi_awlen('0),
      .axi_awsize('0),
      .axi_awburst('0),
      .axi_wvalid(1'b0),
      .axi_wready(1'b0),
      .axi_wdata('0),
      .axi_wstrb('0),
      .axi_wlast(1'b0),
      .axi_bvalid(1'b0),
      .axi_bready(1'b0),
      .axi_bid(1'b0),
      .axi_bresp('0),
      .violations(unused_violations)
  );
`endif
endmodule
