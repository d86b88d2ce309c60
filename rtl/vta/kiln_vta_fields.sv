// Extracts the fields of a GEMM or ALU instruction. Wires only: bit positions and widths follow
// from the sizes of the buffers (docs/vta.md).
//   src    factors of the input index (GEMM) or of the second accumulator index (ALU). The narrower
//          of the two kinds is zero-extended.
module kiln_vta_fields #(
    parameter int unsigned UOP_INDEX_BITS = 13,
    parameter int unsigned INPUT_INDEX_BITS = 11,
    parameter int unsigned WEIGHT_INDEX_BITS = 10,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 11,
    // derived, do not set
    localparam int unsigned SOURCE_INDEX_BITS =
        INPUT_INDEX_BITS > ACCUMULATOR_INDEX_BITS ? INPUT_INDEX_BITS : ACCUMULATOR_INDEX_BITS
) (
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] instruction,
    output logic                                      clear,  // GEMM: sets accumulators to zero
    output logic [                UOP_INDEX_BITS-1:0] uop_begin,
    output logic [                  UOP_INDEX_BITS:0] uop_end,
    output logic [       kiln_vta_pkg::LOOP_BITS-1:0] outer,
    output logic [       kiln_vta_pkg::LOOP_BITS-1:0] inner,
    output logic [        ACCUMULATOR_INDEX_BITS-1:0] dst_outer,
    output logic [        ACCUMULATOR_INDEX_BITS-1:0] dst_inner,
    output logic [             SOURCE_INDEX_BITS-1:0] src_outer,
    output logic [             SOURCE_INDEX_BITS-1:0] src_inner,
    output logic [             WEIGHT_INDEX_BITS-1:0] weight_outer,
    output logic [             WEIGHT_INDEX_BITS-1:0] weight_inner,
    output logic [                               2:0] operation,  // ALU only
    output logic                                      use_immediate,
    output logic [                              15:0] immediate
);
  localparam int unsigned U = UOP_INDEX_BITS;
  localparam int unsigned I = INPUT_INDEX_BITS;
  localparam int unsigned W = WEIGHT_INDEX_BITS;
  localparam int unsigned A = ACCUMULATOR_INDEX_BITS;
  localparam int unsigned L = kiln_vta_pkg::LOOP_BITS;

  localparam int unsigned CLEAR = 7;
  localparam int unsigned UOP_BEGIN = kiln_vta_pkg::field_place(CLEAR + 1, U);
  localparam int unsigned UOP_END = kiln_vta_pkg::field_place(UOP_BEGIN + U, U + 1);
  localparam int unsigned OUTER = kiln_vta_pkg::field_place(UOP_END + U + 1, L);
  localparam int unsigned INNER = kiln_vta_pkg::field_place(OUTER + L, L);
  localparam int unsigned DST_OUTER = kiln_vta_pkg::field_place(INNER + L, A);
  localparam int unsigned DST_INNER = kiln_vta_pkg::field_place(DST_OUTER + A, A);
  // Fields of GEMM
  localparam int unsigned INPUT_OUTER = kiln_vta_pkg::field_place(DST_INNER + A, I);
  localparam int unsigned INPUT_INNER = kiln_vta_pkg::field_place(INPUT_OUTER + I, I);
  localparam int unsigned WEIGHT_OUTER = kiln_vta_pkg::field_place(INPUT_INNER + I, W);
  localparam int unsigned WEIGHT_INNER = kiln_vta_pkg::field_place(WEIGHT_OUTER + W, W);
  // Fields of ALU
  localparam int unsigned SOURCE_OUTER = kiln_vta_pkg::field_place(DST_INNER + A, A);
  localparam int unsigned SOURCE_INNER = kiln_vta_pkg::field_place(SOURCE_OUTER + A, A);
  localparam int unsigned OPERATION = kiln_vta_pkg::field_place(SOURCE_INNER + A, 3);
  localparam int unsigned USE_IMMEDIATE = kiln_vta_pkg::field_place(OPERATION + 3, 1);
  localparam int unsigned IMMEDIATE = kiln_vta_pkg::field_place(USE_IMMEDIATE + 1, 16);

  if (WEIGHT_INNER + W > kiln_vta_pkg::INSTRUCTION_BITS ||
      IMMEDIATE + 16 > kiln_vta_pkg::INSTRUCTION_BITS) begin : g_width
    $error("instructions of more than 128 bits: smaller buffers or larger blocks");
  end

  logic alu;
  assign alu = instruction[2:0] == kiln_vta_pkg::OPCODE_ALU;
  assign clear = instruction[CLEAR] && !alu;
  assign uop_begin = instruction[UOP_BEGIN+:U];
  assign uop_end = instruction[UOP_END+:U+1];
  assign outer = instruction[OUTER+:L];
  assign inner = instruction[INNER+:L];
  assign dst_outer = instruction[DST_OUTER+:A];
  assign dst_inner = instruction[DST_INNER+:A];
  assign src_outer = alu ? SOURCE_INDEX_BITS'(instruction[SOURCE_OUTER+:A]) :
      SOURCE_INDEX_BITS'(instruction[INPUT_OUTER+:I]);
  assign src_inner = alu ? SOURCE_INDEX_BITS'(instruction[SOURCE_INNER+:A]) :
      SOURCE_INDEX_BITS'(instruction[INPUT_INNER+:I]);
  assign weight_outer = instruction[WEIGHT_OUTER+:W];
  assign weight_inner = instruction[WEIGHT_INNER+:W];
  assign operation = instruction[OPERATION+:3];
  assign use_immediate = alu && instruction[USE_IMMEDIATE];
  assign immediate = instruction[IMMEDIATE+:16];

  logic unused_bits;  // gaps between fields, and fields of other kinds of instructions
  assign unused_bits = &{1'b0, instruction};
endmodule
