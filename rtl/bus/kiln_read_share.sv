// Shares one read port (kiln_axi_read_port) between two units that use it at different times, and
// returns each word to the unit that requested it. Combinational.
//   priority    while both units request, a's requests are accepted and b waits
//   words       in the order of requests. The port's tag is the unit's tag with one more bit on top
//               that selects the unit.
module kiln_read_share #(
    parameter int unsigned ADDRESS_BITS = 40,
    parameter int unsigned BYTES_BITS = 5,
    parameter int unsigned WORD_BITS = 128,
    parameter int unsigned A_TAG_BITS = 8,
    parameter int unsigned B_TAG_BITS = 8,
    // derived, do not set
    localparam int unsigned TAG_BITS = 1 + (A_TAG_BITS > B_TAG_BITS ? A_TAG_BITS : B_TAG_BITS)
) (
    input  logic                    a_request_valid,
    output logic                    a_request_ready,
    input  logic [ADDRESS_BITS-1:0] a_request_address,
    input  logic [  BYTES_BITS-1:0] a_request_bytes,
    input  logic [  A_TAG_BITS-1:0] a_request_tag,
    output logic                    a_word_valid,
    input  logic                    a_word_ready,
    output logic [   WORD_BITS-1:0] a_word_data,
    output logic [  A_TAG_BITS-1:0] a_word_tag,
    input  logic                    b_request_valid,
    output logic                    b_request_ready,
    input  logic [ADDRESS_BITS-1:0] b_request_address,
    input  logic [  BYTES_BITS-1:0] b_request_bytes,
    input  logic [  B_TAG_BITS-1:0] b_request_tag,
    output logic                    b_word_valid,
    input  logic                    b_word_ready,
    output logic [   WORD_BITS-1:0] b_word_data,
    output logic [  B_TAG_BITS-1:0] b_word_tag,
    // The port.
    output logic                    request_valid,
    input  logic                    request_ready,
    output logic [ADDRESS_BITS-1:0] request_address,
    output logic [  BYTES_BITS-1:0] request_bytes,
    output logic [    TAG_BITS-1:0] request_tag,
    input  logic                    word_valid,
    output logic                    word_ready,
    input  logic [   WORD_BITS-1:0] word_data,
    input  logic [    TAG_BITS-1:0] word_tag
);
  assign request_valid = a_request_valid || b_request_valid;
  assign a_request_ready = request_ready;
  assign b_request_ready = request_ready && !a_request_valid;
  assign request_address = a_request_valid ? a_request_address : b_request_address;
  assign request_bytes = a_request_valid ? a_request_bytes : b_request_bytes;
  assign request_tag = a_request_valid ? {1'b0, (TAG_BITS - 1)'(a_request_tag)} :
      {1'b1, (TAG_BITS - 1)'(b_request_tag)};

  logic for_b;
  assign for_b = word_tag[TAG_BITS-1];
  assign a_word_valid = word_valid && !for_b;
  assign b_word_valid = word_valid && for_b;
  assign word_ready = for_b ? b_word_ready : a_word_ready;
  assign a_word_data = word_data;
  assign b_word_data = word_data;
  assign a_word_tag = word_tag[A_TAG_BITS-1:0];
  assign b_word_tag = word_tag[B_TAG_BITS-1:0];

`ifndef SYNTHESIS
  always_comb begin
    one_unit_accepted : assert (!(a_request_valid && a_request_ready && b_request_valid &&
        b_request_ready));
    no_request_lost : assert ((request_valid && request_ready) ==
        ((a_request_valid && a_request_ready) || (b_request_valid && b_request_ready)));
    no_word_lost : assert ((word_valid && word_ready) ==
        ((a_word_valid && a_word_ready) || (b_word_valid && b_word_ready)));
  end
`endif
endmodule
