// Stores the beats of an AXI4-Stream in memory, one after the other.
//   start      a pulse while !busy: takes `beat_count` beats of BEAT_BYTES bytes each and stores
//              the first one from `address` on, which may be any byte address. The count may be 0.
//              Without a start the stream stalls.
//   requests   parts of PART_BEATS beats (the last one may be shorter). A part is written when all
//              of its beats have come, so a stream that stalls does not hold up a bus that it shares
//   rate       a beat per cycle if BEAT_BYTES <= DATA_BYTES, the address is a multiple of
//              DATA_BYTES, and the memory takes DATA_BYTES bytes a cycle and answers within
//              OUTSTANDING parts;
//              else as many as the beats of the memory allow (a part at another address takes one
//              more)
//   busy       from the cycle after start until the last part is in memory
//   fault      sticky: a response was SLVERR or DECERR
module kiln_axi_stream_writer #(
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned DATA_BYTES = 16,  // of a beat of the memory: 8 to 128, a power of two
    parameter int unsigned BEAT_BYTES = 4,  // of a beat of the stream
    parameter int unsigned OUTSTANDING = 8,  // bursts in flight
    parameter int unsigned COUNT_BITS = 32
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    start,
    input  logic [ADDRESS_BITS-1:0] address,
    input  logic [  COUNT_BITS-1:0] beat_count,
    output logic                    busy,
    output logic                    fault,
    // AXI4-Stream sink
    input  logic                    in_tvalid,
    output logic                    in_tready,
    input  logic [BEAT_BYTES*8-1:0] in_tdata,
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
  localparam int unsigned PART_BEATS =
      4 * DATA_BYTES > BEAT_BYTES ? 4 * DATA_BYTES / BEAT_BYTES : 1;
  localparam int unsigned PART_BYTES = PART_BEATS * BEAT_BYTES;
  localparam int unsigned BYTES_BITS = $clog2(PART_BYTES + 1);
  localparam int unsigned PLACE_BITS = PART_BEATS > 1 ? $clog2(PART_BEATS) : 1;

  // ---- A part is collected: its beats are stored at their places.
  logic [COUNT_BITS-1:0] rest;  // beats that are not yet accepted
  logic [PART_BYTES*8-1:0] collected;
  logic [PLACE_BITS-1:0] place;  // of the next beat
  logic full, taken, ends_part, hands_over;  // `full`: a part waits to be handed over
  assign in_tready = rest != '0 && (!full || hands_over);
  assign taken = in_tvalid && in_tready;
  assign ends_part = place == PLACE_BITS'(PART_BEATS - 1) || rest == COUNT_BITS'(1);
  always_ff @(posedge clock) begin
    if (reset) begin
      rest  <= '0;
      place <= '0;
      full  <= 1'b0;
    end else begin
      if (start) rest <= beat_count;
      else if (taken) rest <= rest - 1'b1;
      if (taken) place <= ends_part ? '0 : place + 1'b1;
      full <= (taken && ends_part) || (full && !hands_over);
    end
  end
  for (genvar i = 0; i < PART_BEATS; i++) begin : g_place
    always_ff @(posedge clock) begin
      if (taken && place == PLACE_BITS'(i)) collected[i*BEAT_BYTES*8+:BEAT_BYTES*8] <= in_tdata;
    end
  end

  // ---- The part that is written.
  logic [BYTES_BITS-1:0] collected_bytes;
  always_ff @(posedge clock) begin
    if (taken && ends_part)
      collected_bytes <= BYTES_BITS'((32'(place) + 32'd1) * BEAT_BYTES);
  end
  logic [ADDRESS_BITS-1:0] next_address, request_address;
  logic request_valid, request_ready;
  logic [PART_BYTES*8-1:0] request_data;
  logic [BYTES_BITS-1:0] request_bytes;
  assign hands_over = full && (!request_valid || request_ready);
  always_ff @(posedge clock) begin
    if (reset) request_valid <= 1'b0;
    else request_valid <= hands_over || (request_valid && !request_ready);
    if (start) next_address <= address;
    else if (hands_over) next_address <= next_address + ADDRESS_BITS'(PART_BYTES);
    if (hands_over) begin
      request_address <= next_address;
      request_data    <= collected;
      request_bytes   <= collected_bytes;
    end
  end

  logic idle, unused_done, unused_tag;
  logic [$clog2(OUTSTANDING+2)-1:0] unused_outstanding;
  kiln_axi_write_port #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(DATA_BYTES),
      .MAX_BYTES(PART_BYTES),
      .TAG_BITS(1),
      .OUTSTANDING(OUTSTANDING)
  ) port (
      .clock,
      .reset,
      .request_valid,
      .request_ready,
      .request_address,
      .request_bytes,
      .request_data,
      .request_tag(1'b0),
      .done_valid(unused_done),
      .done_tag(unused_tag),
      .outstanding(unused_outstanding),
      .idle,
      .fault,
      .axi_awvalid,
      .axi_awready,
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
      .axi_bresp
  );
  assign busy = rest != '0 || full || request_valid || !idle;

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      starts_when_idle : assert (!start || !busy);
      part_not_overwritten : assert (!taken || !full || hands_over);
    end
  end
`endif
endmodule
