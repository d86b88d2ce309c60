// The fields of VTA's instructions, and the decoder.
module decode_bench #(
    parameter int unsigned UOP_INDEX_BITS = 13,
    parameter int unsigned INPUT_INDEX_BITS = 11,
    parameter int unsigned WEIGHT_INDEX_BITS = 10,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 11,
    localparam int unsigned SOURCE_INDEX_BITS =
        INPUT_INDEX_BITS > ACCUMULATOR_INDEX_BITS ? INPUT_INDEX_BITS : ACCUMULATOR_INDEX_BITS
) (
    input  logic                              clock,
    input  logic [                     127:0] instruction,
    output logic [                       1:0] stage,
    output logic [                       3:0] fault,
    output logic [                       3:0] banks,
    output logic                              clear,
    output logic [        UOP_INDEX_BITS-1:0] uop_begin,
    output logic [          UOP_INDEX_BITS:0] uop_end,
    output logic [                      13:0] outer,
    output logic [                      13:0] inner,
    output logic [ACCUMULATOR_INDEX_BITS-1:0] dst_outer,
    output logic [ACCUMULATOR_INDEX_BITS-1:0] dst_inner,
    output logic [     SOURCE_INDEX_BITS-1:0] src_outer,
    output logic [     SOURCE_INDEX_BITS-1:0] src_inner,
    output logic [     WEIGHT_INDEX_BITS-1:0] weight_outer,
    output logic [     WEIGHT_INDEX_BITS-1:0] weight_inner,
    output logic [                       2:0] operation,
    output logic                              use_immediate,
    output logic [                      15:0] immediate
);
  kiln_vta_decoder #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) decoder (
      .*
  );
  kiln_vta_fields #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) fields (
      .*
  );
  logic unused_clock;
  assign unused_clock = clock;
endmodule
