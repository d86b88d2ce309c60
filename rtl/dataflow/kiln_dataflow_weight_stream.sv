// Reads the weights of a stage from memory again and again, into the stage's weight channel, as far
// ahead as the channel has room. A weight word of WIDTH bits takes BYTES = ceil(WIDTH / 8) bytes of
// memory; WORDS words are stored one after the other from base_address on.
//   run            words are requested while it is high
//   base_address   of the next pass over the words; it must be stable from the cycle before a
//                  pass's first request on
//   out_*          the producer's side of the weight channel: a word is reserved when it is
//                  requested and pushed when it has arrived
//   requests       word k of a pass has the address A = base_address + k * BYTES and takes
//                  beats(k) = floor((A mod DATA_BYTES + BYTES - 1) / DATA_BYTES) + 1 beats. With a
//                  memory that always accepts addresses and delivers the first beat M cycles after
//                  the address and then one beat per cycle, and OUTSTANDING >= M + 2 or as many as
//                  the channel has words: the first request is accepted in the first cycle
//                  outside the reset with run and room; a request after one that was accepted in
//                  cycle t, in the first cycle from t + beats on with run and room.
//   time           with that memory, a word that is requested in cycle t is pushed in
//                  t + beats + M + 1
//   fault          sticky: a response was SLVERR or DECERR; its word is pushed nevertheless
module kiln_dataflow_weight_stream #(
    parameter int unsigned WIDTH = 72,  // bits of a word
    parameter int unsigned WORDS = 16,  // of a pass
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned DATA_BYTES = 16,  // bytes of a beat: 8 to 128, a power of two
    parameter int unsigned OUTSTANDING = 32  // words in flight
) (
    input  logic                    clock,
    input  logic                    reset,
    input  logic                    run,
    input  logic [ADDRESS_BITS-1:0] base_address,
    output logic                    fault,
    input  logic                    out_room,
    output logic                    out_reserve,
    output logic                    out_push,
    output logic [       WIDTH-1:0] out_data,
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
  if (DATA_BYTES < 8 || DATA_BYTES > 128 ||
      (DATA_BYTES & (DATA_BYTES - 1)) != 0) begin : g_parameters
    $error("DATA_BYTES must be a power of two between 8 and 128");
  end
  localparam int unsigned BYTES = (WIDTH + 7) / 8;
  localparam int unsigned BYTES_BITS = $clog2(BYTES + 1);
  localparam int unsigned WORD_BITS = WORDS > 1 ? $clog2(WORDS) : 1;

  logic [ADDRESS_BITS-1:0] address;
  logic [WORD_BITS-1:0] word;
  logic request_valid, request_ready, last_word;
  assign request_valid = run && out_room && !reset;
  assign out_reserve = request_valid && request_ready;
  assign last_word = word == WORD_BITS'(WORDS - 1);
  always_ff @(posedge clock) begin
    if (reset) word <= '0;
    else if (out_reserve) word <= last_word ? '0 : word + 1'b1;
    if (out_reserve ? last_word : word == '0) address <= base_address;
    else if (out_reserve) address <= address + ADDRESS_BITS'(BYTES);
  end

  logic unused_idle, unused_tag;
  logic [BYTES*8-1:0] word_data;
  kiln_axi_read_port #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(DATA_BYTES),
      .MAX_BYTES(BYTES),
      .TAG_BITS(1),
      .OUTSTANDING(OUTSTANDING)
  ) port (
      .clock,
      .reset,
      .request_valid,
      .request_ready,
      .request_address(address),
      .request_bytes(BYTES_BITS'(BYTES)),
      .request_tag(1'b0),
      .word_valid(out_push),
      .word_ready(1'b1),
      .word_data,
      .word_tag(unused_tag),
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
  assign out_data = word_data[WIDTH-1:0];
  if (BYTES * 8 > WIDTH) begin : g_padding
    wire unused_padding = &{1'b0, word_data};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      word_in_range : assert (32'(word) < WORDS);
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
