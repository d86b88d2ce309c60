// Two units that share one read port through kiln_read_share.
module read_share_bench (
    input  logic         clock,
    input  logic         reset,
    input  logic         a_request_valid,
    output logic         a_request_ready,
    input  logic [ 39:0] a_request_address,
    input  logic [  4:0] a_request_bytes,
    input  logic [ 11:0] a_request_tag,
    output logic         a_word_valid,
    input  logic         a_word_ready,
    output logic [127:0] a_word_data,
    output logic [ 11:0] a_word_tag,
    input  logic         b_request_valid,
    output logic         b_request_ready,
    input  logic [ 39:0] b_request_address,
    input  logic [  4:0] b_request_bytes,
    input  logic [  8:0] b_request_tag,
    output logic         b_word_valid,
    input  logic         b_word_ready,
    output logic [127:0] b_word_data,
    output logic [  8:0] b_word_tag,
    output logic         idle,
    output logic         fault,
    output logic         axi_arvalid,
    input  logic         axi_arready,
    output logic [ 39:0] axi_araddr,
    output logic [  7:0] axi_arlen,
    output logic [  2:0] axi_arsize,
    output logic [  1:0] axi_arburst,
    input  logic         axi_rvalid,
    output logic         axi_rready,
    input  logic [ 63:0] axi_rdata,
    input  logic [  1:0] axi_rresp,
    input  logic         axi_rlast
);
  logic request_valid, request_ready, word_valid, word_ready;
  logic [39:0] request_address;
  logic [4:0] request_bytes;
  logic [12:0] request_tag, word_tag;
  logic [127:0] word_data;
  kiln_read_share #(
      .BYTES_BITS(5),
      .WORD_BITS (128),
      .A_TAG_BITS(12),
      .B_TAG_BITS(9)
  ) share (
      .*
  );
  kiln_axi_read_port #(
      .DATA_BYTES(8),
      .MAX_BYTES(16),
      .TAG_BITS(13),
      .OUTSTANDING(16)
  ) port (
      .*
  );
endmodule
