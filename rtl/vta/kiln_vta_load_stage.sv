// The load stage of the VTA machine: executes the loads of inputs and weights in order. A load
// starts when its token is available and all requests of the previous load are accepted. The tag of
// a word selects the buffer that it is written to (kiln_vta_compute_stage); a load is done when its
// last word arrives.
//   time     an instruction that starts in c (queue_ready) has its first request in c + 1. If its
//            last request is accepted in a, the next instruction may start in a + 1.
module kiln_vta_load_stage #(
    parameter int unsigned INPUT_BYTES = 16,
    parameter int unsigned WEIGHT_BYTES = 256,
    parameter int unsigned BYTES_BITS = 9
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic                                      queue_valid,
    output logic                                      queue_ready,
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] queue_instruction,
    input  logic [     kiln_vta_pkg::NUMBER_BITS-1:0] queue_number,
    input  logic                                      token_there,  // from the compute stage
    output logic                                      token_take,
    input  logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] input_base,
    input  logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] weight_base,
    output logic                                      busy,
    output logic                                      request_valid,
    input  logic                                      request_ready,
    output logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] request_address,
    output logic [                    BYTES_BITS-1:0] request_bytes,
    output kiln_vta_pkg::read_tag_t                   request_tag
);
  kiln_vta_pkg::common_t common;
  assign common = queue_instruction[kiln_vta_pkg::COMMON_BITS-1:0];
  assign queue_ready = queue_valid && !busy && (!common.pop_next || token_there);
  assign token_take = queue_ready && common.pop_next;

  kiln_vta_element_reader #(
      .INPUT_BYTES(INPUT_BYTES),
      .WEIGHT_BYTES(WEIGHT_BYTES),
      .BYTES_BITS(BYTES_BITS),
      .SOURCE(kiln_vta_pkg::SOURCE_LOAD_STAGE)
  ) reader (
      .clock,
      .reset,
      .start(queue_ready),
      .instruction(queue_instruction),
      .number(queue_number),
      .uop_base('0),
      .input_base,
      .weight_base,
      .accumulator_base('0),
      .busy,
      .request_valid,
      .request_ready,
      .request_address,
      .request_bytes,
      .request_tag
  );

  logic unused_tokens;
  assign unused_tokens = &{1'b0, common};

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      token_exists : assert (!token_take || token_there);
      starts_when_idle : assert (!queue_ready || !busy);
    end
  end
`endif
endmodule
