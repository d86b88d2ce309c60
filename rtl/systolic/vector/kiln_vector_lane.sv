// One lane of one stage of the vector unit: selects the arguments and applies the operation.
// Numbers are the upper NUMBER bits of fp32 numbers (kiln_format_pkg::number_bits).
//   time       A value and its arguments in a cycle with `advance` give the result LATENCY + EXTRA
//              such cycles later; one word per cycle.
//   moves      bit i: register i of the stage takes a word (kiln_vector_registers)
//   short      In a short float format (kiln_format_pkg::is_short_float) the work is divided among
//              the cycles: selection of the arguments, product, sum; from the second of LATENCY
//              cycles on, and with fewer cycles together with the next part. Functions and
//              divisions have all cycles between selection and the last register. In other formats
//              everything is computed in the first cycle, by kiln_vector_alu.
//   op, kind   In short formats, op_product and op_result are those of the word at the product and
//              at the last register.
//   C++ twin   kiln::systolic::ApplyStage (targets/systolic/simulate/arithmetic.h)
module kiln_vector_lane #(
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter kiln_spline_pkg::tables_t SPLINES = kiln_spline_tables_pkg::FP32,
    parameter int unsigned LATENCY = 1,  // cycles, at least 1
    parameter int unsigned EXTRA = 0,  // further cycles, for functions and divisions
    parameter bit HAS_FUNCTIONS = 1'b1,
    parameter bit HAS_DIVIDER   = 1'b1,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT),
    localparam int unsigned CYCLES = LATENCY + EXTRA
) (
    input  logic clock,
    input  logic advance,
    input  logic [CYCLES-1:0] moves,
    input  logic enable,  // 0: the value passes through
    input  logic [3:0] op,  // kiln_systolic_pkg::stage_op_t; with `enable` 0 ignored
    input  logic [3:0] op_product,
    input  logic [3:0] op_result,
    input  logic [3:0] from_a,  // kiln_systolic_pkg::argument_t
    input  logic [3:0] from_b,
    input  logic [3:0] kind,  // kiln_systolic_pkg::function_t
    input  logic [3:0] kind_product,
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

  if (kiln_format_pkg::is_short_float(VECTOR_FORMAT)) begin : g_short
    wire unused_op = &{1'b0, op, kind};
    kiln_vector_short_alu #(
        .VECTOR_FORMAT(VECTOR_FORMAT),
        .LATENCY(LATENCY),
        .EXTRA(EXTRA),
        .HAS_FUNCTIONS(HAS_FUNCTIONS),
        .HAS_DIVIDER(HAS_DIVIDER)
    ) alu (
        .clock,
        .advance,
        .moves,
        .op_product,
        .op_result,
        .kind_product,
        .value,
        .a,
        .b,
        .result
    );
  end else begin : g_whole
    wire unused_ops = &{1'b0, op_product, op_result, kind_product};
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
    wire unused_whole = &{1'b0, whole};  // low bits, which are 0
    logic [CYCLES*NUMBER-1:0] results;
    always_ff @(posedge clock) begin
      if (advance && moves[0]) results[0+:NUMBER] <= enable ? whole[31-:NUMBER] : value;
      for (int i = 1; i < CYCLES; i++) begin
        if (advance && moves[i]) results[i*NUMBER+:NUMBER] <= results[(i-1)*NUMBER+:NUMBER];
      end
    end
    assign result = results[(CYCLES-1)*NUMBER+:NUMBER];
  end
endmodule
