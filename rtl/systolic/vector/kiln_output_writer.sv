// Writes the words that leave the vector unit's lanes: a dense word with one request, a strided
// word element by element, and of a broadcast word (all elements have one address) only the last
// element.
//   time          A word's first request is offered in the cycle in which the word arrives, each
//                 further one after the port has taken the previous one.
//   word_ready    There is room for a word; a function of registers only. A word that is offered
//                 while word_ready is high is always taken in that cycle.
//   request_tag   1 for the last request of a word.
module kiln_output_writer #(
    parameter int unsigned LANES = 4,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,
    localparam int unsigned LANE_BITS = $clog2(LANES + 1),
    localparam int unsigned BYTES_BITS = $clog2(LANES * 4 + 1)
) (
    input  logic clock,
    input  logic reset,
    input  logic word_valid,
    output logic word_ready,
    input  logic [LANES*32-1:0] word_elements,  // each element in the low bytes of its lane
    input  logic [LANE_BITS-1:0] word_lanes,  // number of valid elements
    input  logic [ADDRESS_BITS-1:0] word_address,
    input  logic [1:0] word_access,  // kiln_systolic_pkg::access_t
    input  logic [1:0] word_shift,  // log2 of an element's bytes
    input  logic [ADDRESS_BITS-1:0] word_stride,  // distance between two elements in bytes
    output logic request_valid,
    input  logic request_ready,
    output logic [ADDRESS_BITS-1:0] request_address,
    output logic [BYTES_BITS-1:0] request_bytes,
    output logic [LANES*32-1:0] request_data,
    output logic request_tag
);
  // The word that still has requests to send.
  logic pending;
  logic [LANES*32-1:0] elements;
  logic [LANE_BITS-1:0] lanes, lane;
  logic [ADDRESS_BITS-1:0] address, stride;
  logic [1:0] access, shift;

  logic [LANES*32-1:0] elements_now;
  logic [LANE_BITS-1:0] lanes_now, lane_now, chosen;
  logic [ADDRESS_BITS-1:0] address_now, stride_now;
  logic [1:0] access_now, shift_now;
  logic last;
  assign elements_now = pending ? elements : word_elements;
  assign lanes_now    = pending ? lanes : word_lanes;
  assign lane_now     = pending ? lane : '0;
  assign address_now  = pending ? address : word_address;
  assign stride_now   = pending ? stride : word_stride;
  assign access_now   = pending ? access : word_access;
  assign shift_now    = pending ? shift : word_shift;

  assign word_ready      = !pending;
  assign last            =
      access_now != kiln_systolic_pkg::ACCESS_STRIDED || lane_now + 1'b1 == lanes_now;
  assign request_valid   = pending || word_valid;
  assign request_address = address_now;
  assign request_bytes   = (access_now == kiln_systolic_pkg::ACCESS_DENSE ? BYTES_BITS'(lanes_now) :
      BYTES_BITS'(1)) << shift_now;
  assign request_tag     = last;
  assign chosen          =
      access_now == kiln_systolic_pkg::ACCESS_BROADCAST ? lanes_now - 1'b1 : lane_now;

  always_comb begin
    request_data = '0;
    if (request_valid) begin
      if (access_now != kiln_systolic_pkg::ACCESS_DENSE) begin
        request_data[31:0] = elements_now[32'(chosen)*32+:32];
      end else if (shift_now == 2'd0) begin
        for (int i = 0; i < LANES; i++) request_data[i*8+:8] = elements_now[i*32+:8];
      end else if (shift_now == 2'd1) begin
        for (int i = 0; i < LANES; i++) request_data[i*16+:16] = elements_now[i*32+:16];
      end else begin
        request_data = elements_now;
      end
    end
  end

  always_ff @(posedge clock) begin
    if (reset) pending <= 1'b0;
    else if (request_valid) pending <= !(request_ready && last);
    if (word_valid && !pending) begin
      elements <= word_elements;
      lanes    <= word_lanes;
      access   <= word_access;
      shift    <= word_shift;
      stride   <= word_stride;
    end
    if (request_valid) begin
      lane    <= request_ready ? lane_now + 1'b1 : lane_now;
      address <= request_ready ? address_now + stride_now : address_now;
    end
  end

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(ADDRESS_BITS + BYTES_BITS + LANES * 32 + 1)
  ) request_handshake (
      .clock,
      .reset,
      .valid(request_valid),
      .ready(request_ready),
      .payload({request_address, request_bytes, request_data, request_tag})
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      word_not_empty : assert (!request_valid || lanes_now != '0);
      lane_in_word : assert (!request_valid || access_now != kiln_systolic_pkg::ACCESS_STRIDED ||
          lane_now < lanes_now);
    end
  end
`endif
endmodule
