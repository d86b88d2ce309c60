// Fetches a program word by word (16 bytes), ahead of the decoder.
//   start       Pulse in cycle t, with the address of the first word (a multiple of 16); the first
//               request is sent in t + 1. Only if `idle`.
//   stop        Pulse: no further request is sent, and words in flight are discarded when they
//               arrive.
//   word        In order. With an ideal memory of latency L behind a port of 16 bytes, the first
//               word is available in t + 1 + L, and then one per cycle.
//   exhausted   The end of memory has been reached, and every word before it has been passed on.
//   fault       Sticky until port_reset: the memory answered a request with an error.
//   turn        as in kiln_read_channel
//   port_reset  Resets the port; only if `idle`.
//   idle        Not between start and stop, and nothing in flight.
//
// Up to PREFETCH_WORDS words are in flight or waiting. The memory never waits if this is at least L
// + 2.
module kiln_program_fetch #(
    parameter int unsigned INSTRUCTION_BYTES_PER_CYCLE = 16,  // width of the port: 8 to 128
    parameter int unsigned PREFETCH_WORDS = 32,
    parameter longint unsigned MEMORY_BYTES = 64'd1 << 30,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,
    localparam int unsigned WORD_BITS = kiln_systolic_pkg::WORD_BITS,
    localparam int unsigned DATA_BITS = INSTRUCTION_BYTES_PER_CYCLE * 8
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    port_reset,
    input  logic                    start,
    input  logic [ADDRESS_BITS-1:0] start_address,
    input  logic                    stop,
    output logic                    word_valid,
    input  logic                    word_ready,
    output logic [   WORD_BITS-1:0] word,
    output logic                    turn_request,
    output logic                    port_free,
    input  logic                    turn,
    output logic                    exhausted,
    output logic                    fault,
    output logic                    idle,
    // AXI4 master, read channels
    output logic                    axi_arvalid,
    input  logic                    axi_arready,
    output logic [ADDRESS_BITS-1:0] axi_araddr,
    output logic [             7:0] axi_arlen,
    output logic [             2:0] axi_arsize,
    output logic [             1:0] axi_arburst,
    input  logic                    axi_rvalid,
    output logic                    axi_rready,
    input  logic [   DATA_BITS-1:0] axi_rdata,
    input  logic [             1:0] axi_rresp,
    input  logic                    axi_rlast
);
  localparam int unsigned WORD_BYTES = 16;
  localparam int unsigned COUNT_BITS = $clog2(PREFETCH_WORDS + 1);
  localparam logic [ADDRESS_BITS:0] END = (ADDRESS_BITS + 1)'(MEMORY_BYTES & ~64'd15);

  logic running;
  logic [ADDRESS_BITS:0] address;  // of the next request; one more bit, for the end of memory
  logic [COUNT_BITS-1:0] ahead;  // words requested and not yet taken
  logic request_valid, request_taken, taken;
  logic fetched_valid, port_idle;
  logic [WORD_BITS-1:0] fetched;
  logic unused_tag;

  assign request_valid = running && address != END && ahead != COUNT_BITS'(PREFETCH_WORDS);
  assign turn_request  = request_valid && port_free;
  assign request_taken = turn_request && turn;

  kiln_axi_read_port #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(INSTRUCTION_BYTES_PER_CYCLE),
      .MAX_BYTES(WORD_BYTES),
      .TAG_BITS(1),
      .OUTSTANDING(PREFETCH_WORDS)
  ) port (
      .clock,
      .reset(reset || port_reset),
      .request_valid(request_taken),
      .request_ready(port_free),
      .request_address(address[ADDRESS_BITS-1:0]),
      .request_bytes(5'(WORD_BYTES)),
      .request_tag(1'b0),
      .word_valid(fetched_valid),
      .word_ready(1'b1),  // `ahead` keeps room for the word
      .word_data(fetched),
      .word_tag(unused_tag),
      .idle(port_idle),
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

  // Words wait in a queue; a word bypasses the queue if it is empty.
  logic waiting_valid, unused_ready;
  logic [WORD_BITS-1:0] waiting;
  logic [COUNT_BITS-1:0] unused_count;
  assign word_valid = running && (waiting_valid || fetched_valid);
  assign word = waiting_valid ? waiting : fetched;
  assign taken = word_valid && word_ready;
  kiln_deep_fifo #(
      .WIDTH(WORD_BITS),
      .DEPTH(PREFETCH_WORDS),
      .STYLE(1)
  ) queue (
      .clock,
      .reset(reset || !running),
      .in_valid(running && fetched_valid && (waiting_valid || !word_ready)),
      .in_ready(unused_ready),
      .in_data(fetched),
      .out_valid(waiting_valid),
      .out_ready(word_ready),
      .out_data(waiting),
      .count(unused_count)
  );

  assign exhausted = running && address == END && ahead == '0;
  assign idle = !running && port_idle;

  always_ff @(posedge clock) begin
    if (reset) begin
      running <= 1'b0;
      ahead   <= '0;
    end else if (start) begin
      running <= 1'b1;
      ahead   <= '0;
    end else begin
      if (stop) running <= 1'b0;
      ahead <= ahead + COUNT_BITS'(request_taken) - COUNT_BITS'(taken);
    end
    if (start) address <= {1'b0, start_address};
    else if (request_taken) address <= address + (ADDRESS_BITS + 1)'(WORD_BYTES);
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      starts_when_idle : assert (!start || idle);
      ahead_within_depth : assert (32'(ahead) <= PREFETCH_WORDS);
      word_was_requested : assert (!taken || ahead != '0);
      word_finds_room : assert (!(running && fetched_valid && (waiting_valid || !word_ready)) ||
          unused_ready);
      address_aligned : assert (!running || address[3:0] == '0);
      address_in_memory : assert (!running || address <= END);
    end
  end
`endif
endmodule
