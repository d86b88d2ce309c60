// One lane of one stage of the vector unit: selects the arguments and applies the operation.
// Combinational. Numbers are the upper NUMBER bits of fp32 numbers (kiln_format_pkg::number_bits).
module kiln_vector_lane #(
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter kiln_spline_pkg::tables_t SPLINES = kiln_spline_tables_pkg::FP32,
    parameter bit HAS_FUNCTIONS = 1'b1,
    parameter bit HAS_DIVIDER   = 1'b1,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT)
) (
    input  logic enable,  // 0: the result is not used
    input  logic [3:0] op,  // kiln_systolic_pkg::stage_op_t
    input  logic [3:0] from_a,  // kiln_systolic_pkg::argument_t
    input  logic [3:0] from_b,
    input  logic [3:0] kind,  // kiln_systolic_pkg::function_t
    input  logic [NUMBER-1:0] immediate_a,
    input  logic [NUMBER-1:0] immediate_b,
    input  logic [kiln_vector_pkg::SCALARS*NUMBER-1:0] scalars,  // s0 in the lowest bits
    input  logic [NUMBER-1:0] value,
    input  logic [NUMBER-1:0] saved0,
    input  logic [NUMBER-1:0] saved1,
    input  logic [NUMBER-1:0] operand0,
    input  logic [NUMBER-1:0] operand1,
    input  logic [NUMBER-1:0] operand2,
    output logic [NUMBER-1:0] result
);
  logic [NUMBER-1:0] a, b;

  // ARGUMENT_NONE selects the immediate, too; the operation then ignores the argument.
  always_comb begin
    a = '0;
    b = '0;
    if (enable) begin
      a = immediate_a;
      b = immediate_b;
      case (from_a)
        kiln_systolic_pkg::ARGUMENT_OPERAND0: a = operand0;
        kiln_systolic_pkg::ARGUMENT_OPERAND1: a = operand1;
        kiln_systolic_pkg::ARGUMENT_OPERAND2: a = operand2;
        kiln_systolic_pkg::ARGUMENT_SCALAR0: a = scalars[0+:NUMBER];
        kiln_systolic_pkg::ARGUMENT_SCALAR1: a = scalars[NUMBER+:NUMBER];
        kiln_systolic_pkg::ARGUMENT_SCALAR2: a = scalars[2*NUMBER+:NUMBER];
        kiln_systolic_pkg::ARGUMENT_SCALAR3: a = scalars[3*NUMBER+:NUMBER];
        kiln_systolic_pkg::ARGUMENT_SAVED0: a = saved0;
        kiln_systolic_pkg::ARGUMENT_SAVED1: a = saved1;
        default: ;
      endcase
      case (from_b)
        kiln_systolic_pkg::ARGUMENT_OPERAND0: b = operand0;
        kiln_systolic_pkg::ARGUMENT_OPERAND1: b = operand1;
        kiln_systolic_pkg::ARGUMENT_OPERAND2: b = operand2;
        kiln_systolic_pkg::ARGUMENT_SCALAR0: b = scalars[0+:NUMBER];
        kiln_systolic_pkg::ARGUMENT_SCALAR1: b = scalars[NUMBER+:NUMBER];
        kiln_systolic_pkg::ARGUMENT_SCALAR2: b = scalars[2*NUMBER+:NUMBER];
        kiln_systolic_pkg::ARGUMENT_SCALAR3: b = scalars[3*NUMBER+:NUMBER];
        kiln_systolic_pkg::ARGUMENT_SAVED0: b = saved0;
        kiln_systolic_pkg::ARGUMENT_SAVED1: b = saved1;
        default: ;
      endcase
    end
  end

  logic [31:0] whole;
  kiln_vector_alu #(
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .SPLINES(SPLINES),
      .HAS_FUNCTIONS(HAS_FUNCTIONS),
      .HAS_DIVIDER  (HAS_DIVIDER)
  ) alu (
      .enable,
      .op,
      .kind,
      .value(32'(value) << (32 - NUMBER)),
      .a(32'(a) << (32 - NUMBER)),
      .b(32'(b) << (32 - NUMBER)),
      .result(whole)
  );
  assign result = whole[31-:NUMBER];
  wire unused_whole = &{1'b0, whole};  // low bits, which are 0
endmodule
