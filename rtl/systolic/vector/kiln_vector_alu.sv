// The operation of one stage on one lane of the vector unit: result = op(value, a, b), as StageOp
// of isa.h defines it. One multiply-add computes sums, differences and products; splines and a
// divider exist if the parameters ask for them.
//   numbers  fp32 numbers; with a narrower VECTOR_FORMAT, operands and result are numbers of that
//            format. Its multiply-add is a product and a sum, each rounded to the format; every
//            other operation is an fp32 operation followed by one rounding.
//   time     combinational
//   enable   0: the result is not used, and nothing toggles
//   C++ twin kiln::systolic::ApplyStage (targets/systolic/simulate/arithmetic.h)
module kiln_vector_alu #(
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    // The spline tables of VECTOR_FORMAT.
    parameter kiln_spline_pkg::tables_t SPLINES = kiln_spline_tables_pkg::FP32,
    parameter bit HAS_FUNCTIONS = 1'b1,  // nonlinear functions, reciprocal, reciprocal square root
    parameter bit HAS_DIVIDER = 1'b1
) (
    input  logic        enable,
    input  logic [ 3:0] op,     // kiln_systolic_pkg::stage_op_t
    input  logic [ 3:0] kind,   // kiln_systolic_pkg::function_t, for STAGE_FUNCTION
    input  logic [31:0] value,
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);

  logic [31:0] approximation;
  if (HAS_FUNCTIONS) begin : g_functions
    logic [3:0] select;  // function of kiln_spline; 15: none
    always_comb begin
      select = '1;
      if (enable && op == kiln_systolic_pkg::STAGE_FUNCTION) select = kind;
      if (enable && op == kiln_systolic_pkg::STAGE_RECIPROCAL)
        select = 4'(kiln_spline_pkg::RECIPROCAL);
      if (enable && op == kiln_systolic_pkg::STAGE_RECIPROCAL_SQUARE_ROOT) begin
        select = 4'(kiln_spline_pkg::RECIPROCAL_SQUARE_ROOT);
      end
    end
    kiln_spline #(
        .TABLES(SPLINES)
    ) approximate (
        .select,
        .x(value),
        .result(approximation)
    );
  end else begin : g_no_functions
    wire unused_kind = &{1'b0, kind};
    assign approximation = kiln_fp32_pkg::NAN;
  end

  // The inputs of the multiply-add: value * factor + addend.
  logic multiplies;
  logic [31:0] factor, addend;
  always_comb begin
    multiplies = enable;
    factor     = kiln_vector_pkg::FP32_ONE;
    addend     = a;
    case (op)
      kiln_systolic_pkg::STAGE_ADD: ;
      kiln_systolic_pkg::STAGE_SUBTRACT: addend = {!a[31], a[30:0]};
      kiln_systolic_pkg::STAGE_REVERSE_SUBTRACT: factor = kiln_vector_pkg::FP32_MINUS_ONE;
      kiln_systolic_pkg::STAGE_MULTIPLY, kiln_systolic_pkg::STAGE_SELECT_NEGATIVE: begin
        factor = a;
        addend = kiln_vector_pkg::FP32_MINUS_ZERO;
      end
      kiln_systolic_pkg::STAGE_FMA: begin
        factor = a;
        addend = b;
      end
      kiln_systolic_pkg::STAGE_SQUARE: begin
        factor = value;
        addend = kiln_vector_pkg::FP32_MINUS_ZERO;
      end
      default: multiplies = 1'b0;
    endcase
  end

  logic [31:0] sum, quotient;
  // In a narrow format, a sum without a product multiplies the value by 1 or -1, and a product adds
  // a minus zero; neither changes a bit.
  always_comb begin
    sum = '0;
    if (multiplies && !NARROW) sum = kiln_fp32_pkg::multiply_add(value, factor, addend);
    if (multiplies && NARROW) begin
      sum = kiln_fp32_pkg::add(kiln_fp32_pkg::round_to(kiln_fp32_pkg::multiply(value, factor),
          ROUNDING), addend);
    end
  end
  always_comb begin
    quotient = kiln_fp32_pkg::NAN;
    if (HAS_DIVIDER && enable && op == kiln_systolic_pkg::STAGE_DIVIDE)
      quotient = kiln_fp32_pkg::divide(value, a);
  end

  logic [31:0] exact;  // the result before it is rounded to VECTOR_FORMAT
  always_comb begin
    exact = '0;
    if (enable) begin
      case (op)
        kiln_systolic_pkg::STAGE_MAX: exact = kiln_fp32_pkg::maximum(value, a);
        kiln_systolic_pkg::STAGE_MIN: exact = kiln_fp32_pkg::minimum(value, a);
        kiln_systolic_pkg::STAGE_ABSOLUTE: exact = {1'b0, value[30:0]};
        kiln_systolic_pkg::STAGE_SAVE0, kiln_systolic_pkg::STAGE_SAVE1: exact = value;
        kiln_systolic_pkg::STAGE_FUNCTION,
        kiln_systolic_pkg::STAGE_RECIPROCAL,
        kiln_systolic_pkg::STAGE_RECIPROCAL_SQUARE_ROOT: exact = approximation;
        kiln_systolic_pkg::STAGE_SELECT_NEGATIVE: exact =
            kiln_fp32_pkg::greater('0, value) ? sum : value;
        kiln_systolic_pkg::STAGE_DIVIDE: exact = quotient;
        default: exact = sum;
      endcase
    end
  end
  always_comb begin
    result = exact;
    if (enable && NARROW) result = kiln_fp32_pkg::round_to(exact, ROUNDING);
  end
endmodule
