// Sends beats that lie one after the other in memory over an AXI4-Stream.
//   start      a pulse while !busy: sends `beat_count` beats of BEAT_BYTES bytes each, the first
//              one from `address` on, which may be any byte address. The count may be 0.
//   requests   parts of PART_BEATS beats (the last one may be shorter). A part is requested only
//              when there is room for it, so axi_rready is always high while data are due: a stream
//              that stalls does not hold up a bus that it shares.
//   rate       a beat per cycle if BEAT_BYTES <= DATA_BYTES, the address is a multiple of
//              DATA_BYTES, and the memory delivers DATA_BYTES bytes a cycle with a latency of at
//              most PARTS - 1 parts; else as many as the beats of the memory allow (a part at
//              another address takes one more)
//   busy       from the cycle after start until the last beat has been accepted
//   fault      sticky: a response was SLVERR or DECERR; its beats are sent nevertheless
module kiln_axi_stream_reader #(
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned DATA_BYTES = 16,  // of a beat of the memory: 8 to 128, a power of two
    parameter int unsigned BEAT_BYTES = 4,  // of a beat of the stream
    parameter int unsigned PARTS = 8,  // that are requested or stored
    parameter int unsigned COUNT_BITS = 32
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    start,
    input  logic [ADDRESS_BITS-1:0] address,
    input  logic [  COUNT_BITS-1:0] beat_count,
    output logic                    busy,
    output logic                    fault,
    // AXI4-Stream source
    output logic                    out_tvalid,
    input  logic                    out_tready,
    output logic [BEAT_BYTES*8-1:0] out_tdata,
    // AXI4 master, read channels
    output logic                    axi_arvalid,
    input  logic                    axi_arready,
    output logic [ADDRESS_BITS-1:0] axi_araddr,
    output logic [             7:0] axi_arlen,
    output logic [             2:0] axi_arsize,
    output logic [             1:0] axi_arburst,
    input  logic                    axi_rvalid,
    output logic                    axi_rready,
    input  logic [DATA_BYTES*8-1:0] axi_rdata,
    input  logic [             1:0] axi_rresp,
    input  logic                    axi_rlast
);
  localparam int unsigned PART_BEATS =
      4 * DATA_BYTES > BEAT_BYTES ? 4 * DATA_BYTES / BEAT_BYTES : 1;
  localparam int unsigned PART_BYTES = PART_BEATS * BEAT_BYTES;
  localparam int unsigned BYTES_BITS = $clog2(PART_BYTES + 1);
  localparam int unsigned PLACE_BITS = PART_BEATS > 1 ? $clog2(PART_BEATS) : 1;
  localparam int unsigned HELD_BITS = $clog2(PARTS + 1);

  // ---- Requests: the next one is worked out in the cycle before it is offered.
  logic [COUNT_BITS-1:0] rest;  // beats that are not yet in a request
  logic [ADDRESS_BITS-1:0] next_address;
  logic [HELD_BITS-1:0] held;  // parts between their request and the end of the queue of parts
  logic request_valid, request_ready, makes_request, whole_part, part_leaves;
  logic [ADDRESS_BITS-1:0] request_address;
  logic [BYTES_BITS-1:0] request_bytes;
  logic [PLACE_BITS-1:0] request_last;  // number of the request's last beat
  assign whole_part = rest >= COUNT_BITS'(PART_BEATS);
  assign makes_request = rest != '0 && held != HELD_BITS'(PARTS) &&
      (!request_valid || request_ready);
  always_ff @(posedge clock) begin
    if (reset) begin
      rest          <= '0;
      held          <= '0;
      request_valid <= 1'b0;
    end else begin
      if (start) rest <= beat_count;
      else if (makes_request) rest <= whole_part ? rest - COUNT_BITS'(PART_BEATS) : '0;
      held <= held + HELD_BITS'(makes_request) - HELD_BITS'(part_leaves);
      request_valid <= makes_request || (request_valid && !request_ready);
    end
    if (start) next_address <= address;
    else if (makes_request) next_address <= next_address + ADDRESS_BITS'(PART_BYTES);
    if (makes_request) begin
      request_address <= next_address;
      request_bytes <=
          whole_part ? BYTES_BITS'(PART_BYTES) : BYTES_BITS'(32'(rest) * BEAT_BYTES);
      request_last <= whole_part ? PLACE_BITS'(PART_BEATS - 1) : PLACE_BITS'(rest - 1'b1);
    end
  end

  logic part_valid, part_ready;
  logic [PART_BYTES*8-1:0] part_data;
  logic [PLACE_BITS-1:0] part_last;
  logic unused_idle;
  kiln_axi_read_port #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(DATA_BYTES),
      .MAX_BYTES(PART_BYTES),
      .TAG_BITS(PLACE_BITS),
      .OUTSTANDING(PARTS)
  ) port (
      .clock,
      .reset,
      .request_valid,
      .request_ready,
      .request_address,
      .request_bytes,
      .request_tag(request_last),
      .word_valid(part_valid),
      .word_ready(part_ready),
      .word_data(part_data),
      .word_tag(part_last),
      .idle(unused_idle),
      .fault,
      .axi_arvalid,
      .axi_arready,
      .axi_araddr,
      .axi_arlen,
      .axi_arsize,
      .axi_arburst,
      .axi_rvalid,
      .axi_rready,
      .axi_rdata,
      .axi_rresp,
      .axi_rlast
  );

  // ---- Parts wait in a queue, and the one that is being sent is shifted out.
  logic queued_valid;
  logic [PART_BYTES*8-1:0] queued_data, sent_data;
  logic [PLACE_BITS-1:0] queued_last, sent_rest;  // beats after the one that is offered
  logic sent_valid, last_leaves;
  logic [HELD_BITS-1:0] unused_count;
  kiln_fifo #(
      .WIDTH(PART_BYTES * 8 + PLACE_BITS),
      .DEPTH(PARTS)
  ) parts (
      .clock,
      .reset,
      .in_valid (part_valid),
      .in_ready (part_ready),
      .in_data  ({part_last, part_data}),
      .out_valid(queued_valid),
      .out_ready(part_leaves),
      .out_data ({queued_last, queued_data}),
      .count    (unused_count)
  );
  assign last_leaves = sent_valid && out_tready && sent_rest == '0;
  assign part_leaves = queued_valid && (!sent_valid || last_leaves);
  always_ff @(posedge clock) begin
    if (reset) sent_valid <= 1'b0;
    else if (part_leaves) sent_valid <= 1'b1;
    else if (last_leaves) sent_valid <= 1'b0;
    if (part_leaves) begin
      sent_data <= queued_data;
      sent_rest <= queued_last;
    end else if (sent_valid && out_tready) begin
      sent_data <= sent_data >> (BEAT_BYTES * 8);
      sent_rest <= sent_rest - 1'b1;
    end
  end
  assign out_tvalid = sent_valid;
  assign out_tdata = sent_data[BEAT_BYTES*8-1:0];
  assign busy = rest != '0 || held != '0 || sent_valid;

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(BEAT_BYTES * 8)
  ) out_handshake (
      .clock,
      .reset,
      .valid(out_tvalid),
      .ready(out_tready),
      .payload(out_tdata)
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      starts_when_idle : assert (!start || !busy);
      room_for_part : assert (!part_valid || part_ready);
    end
  end
`endif
endmodule
