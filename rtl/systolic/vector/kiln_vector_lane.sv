// One lane of one stage: picks the arguments and applies the operation. Combinational.
module kiln_vector_lane #(
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter kiln_spline_pkg::tables_t SPLINES = kiln_spline_tables_pkg::FP32,
    parameter bit HAS_FUNCTIONS = 1'b1,
    parameter bit HAS_DIVIDER   = 1'b1
) (
    input  logic         enable,       // 0: the result is nobody's business
    input  logic [  3:0] op,           // kiln_systolic_pkg::stage_op_t
    input  logic [  3:0] from_a,       // kiln_systolic_pkg::argument_t
    input  logic [  3:0] from_b,
    input  logic [  3:0] kind,         // kiln_systolic_pkg::function_t
    input  logic [ 31:0] immediate_a,
    input  logic [ 31:0] immediate_b,
    input  logic [127:0] scalars,      // s0 lowest
    input  logic [ 31:0] value,
    input  logic [ 31:0] saved0,
    input  logic [ 31:0] saved1,
    input  logic [ 31:0] operand0,
    input  logic [ 31:0] operand1,
    input  logic [ 31:0] operand2,
    output logic [ 31:0] result
);
  logic [31:0] a, b;

  // ARGUMENT_NONE takes the immediate, too; nobody looks at it.
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
        kiln_systolic_pkg::ARGUMENT_SCALAR0: a = scalars[0+:32];
        kiln_systolic_pkg::ARGUMENT_SCALAR1: a = scalars[32+:32];
        kiln_systolic_pkg::ARGUMENT_SCALAR2: a = scalars[64+:32];
        kiln_systolic_pkg::ARGUMENT_SCALAR3: a = scalars[96+:32];
        kiln_systolic_pkg::ARGUMENT_SAVED0: a = saved0;
        kiln_systolic_pkg::ARGUMENT_SAVED1: a = saved1;
        default: ;
      endcase
      case (from_b)
        kiln_systolic_pkg::ARGUMENT_OPERAND0: b = operand0;
        kiln_systolic_pkg::ARGUMENT_OPERAND1: b = operand1;
        kiln_systolic_pkg::ARGUMENT_OPERAND2: b = operand2;
        kiln_systolic_pkg::ARGUMENT_SCALAR0: b = scalars[0+:32];
        kiln_systolic_pkg::ARGUMENT_SCALAR1: b = scalars[32+:32];
        kiln_systolic_pkg::ARGUMENT_SCALAR2: b = scalars[64+:32];
        kiln_systolic_pkg::ARGUMENT_SCALAR3: b = scalars[96+:32];
        kiln_systolic_pkg::ARGUMENT_SAVED0: b = saved0;
        kiln_systolic_pkg::ARGUMENT_SAVED1: b = saved1;
        default: ;
      endcase
    end
  end

  kiln_vector_alu #(
      .VECTOR_FORMAT(VECTOR_FORMAT),
      .SPLINES(SPLINES),
      .HAS_FUNCTIONS(HAS_FUNCTIONS),
      .HAS_DIVIDER  (HAS_DIVIDER)
  ) alu (
      .enable,
      .op,
      .kind,
      .value,
      .a,
      .b,
      .result
  );
endmodule
