// The operation of one stage on one lane of the vector unit in a short float format: result =
// op(value, a, b), as StageOp of isa.h defines it. kiln_vector_lane describes time and `moves`.
//
//   arguments ─▶ product ─▶ sum ─▶ result        registers: after the arguments with LATENCY >= 3,
//       └──▶ function, quotient ──────▶          after the product with LATENCY >= 2, at the end
//
// Functions need at least four registers before the last (kiln_function). Results that need no sum
// pass beside it. An operation that is no stage_op_t of arithmetic passes
// the value through.
module kiln_vector_short_alu #(
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP16,
    parameter int unsigned LATENCY = 3,
    parameter int unsigned EXTRA = 3,
    parameter bit HAS_FUNCTIONS = 1'b1,
    parameter bit HAS_DIVIDER = 1'b1,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT),
    localparam int FRACTION = kiln_format_pkg::fraction_bits(VECTOR_FORMAT),
    localparam int unsigned CYCLES = LATENCY + EXTRA
) (
    input  logic clock,
    input  logic advance,
    input  logic [CYCLES-1:0] moves,
    input  logic [3:0] op_product,
    input  logic [3:0] op_result,
    input  logic [3:0] kind_product,
    input  logic [NUMBER-1:0] value,
    input  logic [NUMBER-1:0] a,
    input  logic [NUMBER-1:0] b,
    output logic [NUMBER-1:0] result
);
  localparam int unsigned SIGN = NUMBER - 1;
  localparam int unsigned SELECTED = LATENCY >= 3 ? 1 : 0;  // registers after the arguments
  localparam int unsigned MULTIPLIED = LATENCY >= 2 ? 1 : 0;  // registers after the product
  localparam int unsigned WAIT = CYCLES - 1 - SELECTED - MULTIPLIED;  // registers after the sum
  localparam int unsigned LONG = CYCLES - 1 - SELECTED;  // registers of functions and quotients

  // ---- Arguments.
  logic [NUMBER-1:0] value_now, a_now, b_now;
  if (SELECTED == 0) begin : g_arguments
    assign {value_now, a_now, b_now} = {value, a, b};
  end else begin : g_selected
    always_ff @(posedge clock) begin
      if (advance && moves[0]) {value_now, a_now, b_now} <= {value, a, b};
    end
  end

  // ---- Product, and everything else that needs no sum.
  logic squares, adds;
  logic [NUMBER-1:0] product, term, addend, other;
  assign squares = op_product == kiln_systolic_pkg::STAGE_SQUARE;
  kiln_float_multiply #(
      .FORMAT(VECTOR_FORMAT)
  ) multiply (
      .clock,
      .advance,
      .a(value_now),
      .b(squares ? value_now : a_now),
      .product
  );
  logic value_greater, a_greater, is_nan;
  assign value_greater = kiln_fp32_pkg::greater(32'(value_now) << (32 - NUMBER),
      32'(a_now) << (32 - NUMBER));
  assign a_greater     = kiln_fp32_pkg::greater(32'(a_now) << (32 - NUMBER),
      32'(value_now) << (32 - NUMBER));
  assign is_nan        = kiln_fp32_pkg::is_nan(32'(value_now) << (32 - NUMBER));
  always_comb begin
    term   = value_now;
    addend = a_now;
    other  = value_now;
    adds   = 1'b0;
    case (op_product)
      kiln_systolic_pkg::STAGE_ADD: adds = 1'b1;
      kiln_systolic_pkg::STAGE_SUBTRACT: begin
        adds         = 1'b1;
        addend[SIGN] = !a_now[SIGN];
      end
      kiln_systolic_pkg::STAGE_REVERSE_SUBTRACT: begin
        adds       = 1'b1;
        term[SIGN] = !value_now[SIGN];
      end
      kiln_systolic_pkg::STAGE_FMA: begin
        adds   = 1'b1;
        term   = product;
        addend = b_now;
      end
      kiln_systolic_pkg::STAGE_MULTIPLY, kiln_systolic_pkg::STAGE_SQUARE: other = product;
      kiln_systolic_pkg::STAGE_SELECT_NEGATIVE: begin
        if (value_now[SIGN] && value_now[SIGN-1:0] != '0 && !is_nan) other = product;
      end
      kiln_systolic_pkg::STAGE_MAX: other = value_greater ? value_now : a_now;
      kiln_systolic_pkg::STAGE_MIN: other = a_greater ? value_now : a_now;
      kiln_systolic_pkg::STAGE_ABSOLUTE: other[SIGN] = 1'b0;
      default: ;
    endcase
  end

  logic adds_now;
  logic [NUMBER-1:0] term_now, addend_now, other_now;
  if (MULTIPLIED == 0) begin : g_product
    assign {adds_now, term_now, addend_now, other_now} = {adds, term, addend, other};
  end else begin : g_multiplied
    always_ff @(posedge clock) begin
      if (advance && moves[SELECTED])
        {adds_now, term_now, addend_now, other_now} <= {adds, term, addend, other};
    end
  end

  // ---- Sum.
  logic [NUMBER-1:0] sum, quick, waited;
  kiln_float_add #(
      .FORMAT(VECTOR_FORMAT)
  ) add (
      .clock,
      .advance,
      .a(term_now),
      .b(addend_now),
      .sum
  );
  assign quick = adds_now ? sum : other_now;
  if (WAIT == 0) begin : g_no_wait
    assign waited = quick;
  end else begin : g_wait
    logic [WAIT*NUMBER-1:0] line;
    always_ff @(posedge clock) begin
      if (advance && moves[SELECTED+MULTIPLIED]) line[0+:NUMBER] <= quick;
      for (int i = 1; i < WAIT; i++) begin
        if (advance && moves[SELECTED+MULTIPLIED+i])
          line[i*NUMBER+:NUMBER] <= line[(i-1)*NUMBER+:NUMBER];
      end
    end
    assign waited = line[(WAIT-1)*NUMBER+:NUMBER];
  end

  // ---- Functions and quotients.
  logic [NUMBER-1:0] approximation, quotient;
  if (HAS_FUNCTIONS) begin : g_functions
    logic enable;
    logic [3:0] select;  // a function of kiln_spline_pkg
    logic [31:0] exact;
    always_comb begin
      enable = advance && moves[SELECTED];
      select = kind_product;
      case (op_product)
        kiln_systolic_pkg::STAGE_FUNCTION: ;
        kiln_systolic_pkg::STAGE_RECIPROCAL: select = 4'(kiln_spline_pkg::RECIPROCAL);
        kiln_systolic_pkg::STAGE_RECIPROCAL_SQUARE_ROOT:
        select = 4'(kiln_spline_pkg::RECIPROCAL_SQUARE_ROOT);
        default: enable = 1'b0;
      endcase
    end
    kiln_function #(
        .FRACTION_BITS(FRACTION),
        .LATENCY(LONG)
    ) approximate (
        .clock,
        .advance,
        .enable,
        .select,
        .x(32'(value_now) << (32 - NUMBER)),
        .result(exact)
    );
    kiln_fp32_to_float #(
        .FORMAT(VECTOR_FORMAT)
    ) round (
        .value (exact),
        .number(approximation)
    );
  end else begin : g_no_functions
    wire unused_kind = &{1'b0, kind_product};
    assign approximation = '0;
  end
  if (HAS_DIVIDER) begin : g_divider
    kiln_float_divide #(
        .FORMAT(VECTOR_FORMAT),
        .REGISTERS(LONG)
    ) divide (
        .clock,
        .advance,
        .a(value_now),
        .b(a_now),
        .quotient
    );
  end else begin : g_no_divider
    assign quotient = '0;
  end

  // ---- Result.
  logic [NUMBER-1:0] next;
  always_comb begin
    case (op_result)
      kiln_systolic_pkg::STAGE_FUNCTION, kiln_systolic_pkg::STAGE_RECIPROCAL,
      kiln_systolic_pkg::STAGE_RECIPROCAL_SQUARE_ROOT: next = approximation;
      kiln_systolic_pkg::STAGE_DIVIDE: next = quotient;
      default: next = waited;
    endcase
  end
  always_ff @(posedge clock) if (advance && moves[CYCLES-1]) result <= next;
endmodule
