// The approximate functions of a vector unit: piecewise quadratics, with what the function needs before and after.
//
//   result     fp32, not yet rounded to a narrower vector format (kiln_fp32_round does that)
//   time       combinational; the longest path is that of reciprocal square roots
//   C++ twin   kiln::Approximate (numerics/nonlinear.h, nonlinear_body.h), to the bit
//
// One datapath serves all functions; names of its values are those of the twin:
//
//   prepare    t, the spline's argument                exp: f = x log2 e - n    log, roots, reciprocal: the significand
//                                                      others: |x|
//   spline     s = (c2 t + c1) t + c0
//   refine     a Newton step of roots and reciprocal;  log: e ln 2 + t s
//   scale      times a power of two, rounded once      exp, roots, reciprocal
//   finish     one multiply-add: 1 - tail, max(x, 0) + s, x times the root, ...
//
// Functions that FUNCTIONS leaves out cost nothing; what comes out for them then means nothing.
module kiln_spline #(
    parameter kiln_spline_pkg::tables_t TABLES = kiln_spline_tables_pkg::FP32,
    parameter logic [kiln_spline_pkg::FUNCTIONS-1:0] FUNCTIONS = {kiln_spline_pkg::FUNCTIONS{1'b1}}  // of each: is it there
) (
    input  logic [ 3:0] select,  // a function of kiln_spline_pkg
    input  logic [31:0] x,
    output logic [31:0] result
);

  localparam logic [31:0] ZERO = 32'h0000_0000;
  localparam logic [31:0] MINUS_ZERO = 32'h8000_0000;
  localparam logic [31:0] ONE = 32'h3f80_0000;
  localparam logic [31:0] MINUS_ONE = 32'hbf80_0000;
  localparam logic [31:0] HALF = 32'h3f00_0000;
  localparam logic [31:0] SIXTH = 32'h3e2a_aaab;
  localparam logic [31:0] LOG2_E = 32'h3fb8_aa3b;
  localparam logic [31:0] LN_2 = 32'h3f31_7218;
  localparam logic [31:0] INFINITY = 32'h7f80_0000;
  localparam logic [31:0] MINUS_INFINITY = 32'hff80_0000;
  // Beyond these exp has long been 0 or infinity.
  localparam logic [31:0] LEAST_EXPONENT = 32'hc2d2_0000;    // -105
  localparam logic [31:0] GREATEST_EXPONENT = 32'h42b4_0000;  // 90
  localparam logic [31:0] SWISH_BEGIN = 32'hc040_0000;        // -3

  // Kinds of functions, by what they share.
  logic is_exp, is_elu, is_log, is_reciprocal, is_root, is_square_root;
  logic is_odd, is_rectified, is_sigmoid, is_hard_sigmoid, is_hard_swish;
  logic [15:0] is;  // function by function
  assign is = {1'b0, FUNCTIONS} & (16'd1 << select);
  assign is_elu = is[kiln_spline_pkg::ELU];
  assign is_exp = is[kiln_spline_pkg::EXP] || is_elu;
  assign is_log = is[kiln_spline_pkg::LOG];
  assign is_reciprocal = is[kiln_spline_pkg::RECIPROCAL];
  assign is_square_root = is[kiln_spline_pkg::SQRT];
  assign is_root = is[kiln_spline_pkg::RECIPROCAL_SQUARE_ROOT] || is_square_root;
  assign is_odd = is[kiln_spline_pkg::TANH] || is[kiln_spline_pkg::ERF];
  assign is_rectified = is[kiln_spline_pkg::GELU] || is[kiln_spline_pkg::GELU_TANH] || is[kiln_spline_pkg::SILU] ||
      is[kiln_spline_pkg::SOFTPLUS];
  assign is_sigmoid = is[kiln_spline_pkg::SIGMOID];
  assign is_hard_sigmoid = is[kiln_spline_pkg::HARD_SIGMOID];
  assign is_hard_swish = is[kiln_spline_pkg::HARD_SWISH];

  // The argument and its parts.
  logic x_nan, x_infinite, x_negative, x_zero;
  logic signed [8:0] x_exponent;
  logic [23:0] x_significand;
  kiln_decode #(.FORMAT(kiln_format_pkg::FP32)) decode_x (
      .code(x),
      .nan(x_nan),
      .infinite(x_infinite),
      .negative(x_negative),
      .exponent(x_exponent),
      .significand(x_significand)
  );
  assign x_zero = x_significand == '0;
  logic below_zero, above_zero;
  assign below_zero = x_negative && !x_zero && !x_nan;
  assign above_zero = !x_negative && !x_zero && !x_nan;

  // |x| = m 2^e with m in [1, 2). Zero counts as 2^-151, of which reciprocals become infinite; so does infinity as 2^128.
  logic signed [8:0] e;
  logic [31:0] m;
  assign e = x_zero ? -9'sd151 : x_exponent;
  assign m = {9'd127, x_significand[22:0]};

  // exp: x = (n + f) ln 2.
  logic [31:0] y_above, y, y_log2_e, minus_n_value, first;
  logic signed [9:0] n;
  kiln_fp32_maximum limit_below (.a(x), .b(LEAST_EXPONENT), .result(y_above));
  kiln_fp32_minimum limit_above (.a(y_above), .b(GREATEST_EXPONENT), .result(y));
  kiln_fp32_multiply multiply_log2_e (.a(y), .b(LOG2_E), .result(y_log2_e));
  kiln_encode_from_fp32 #(
      .FORMAT(kiln_format_pkg::integer_format(10, 4'(kiln_format_pkg::ROUND_DOWN)))
  ) floor (
      .value(y_log2_e),
      .random('0),
      .code(n)
  );
  kiln_decode_to_fp32 #(
      .FORMAT(kiln_format_pkg::integer_format(10, 4'(kiln_format_pkg::ROUND_DOWN)))
  ) convert_n (
      .code(-n),
      .value(minus_n_value)
  );
  // exp: f; hard sigmoid: the line x / 6 + 1 / 2.
  kiln_fp32_multiply_add prepare (
      .a(is_exp ? y : x),
      .b(is_exp ? LOG2_E : SIXTH),
      .c(is_exp ? minus_n_value : HALF),
      .result(first)
  );

  // log: x = m' 2^e' with m' in [3/4, 3/2), t = m' - 1.
  logic upper;
  logic signed [8:0] log_exponent;
  logic [31:0] log_exponent_value, log_argument;
  assign upper = x_significand[22];
  assign log_exponent = e + 9'(signed'({1'b0, upper}));
  kiln_fp32_add subtract_one (
      .a({upper ? 9'd126 : 9'd127, x_significand[22:0]}),
      .b(MINUS_ONE),
      .result(log_argument)
  );
  kiln_decode_to_fp32 #(
      .FORMAT(kiln_format_pkg::integer_format(9, 4'(kiln_format_pkg::ROUND_NEAREST_EVEN)))
  ) convert_e (
      .code(log_exponent),
      .value(log_exponent_value)
  );

  // Roots: |x| = m 4^k with m in [1, 4).
  logic [31:0] root_argument;
  assign root_argument = {e[0] ? 9'd128 : 9'd127, x_significand[22:0]};

  // The spline of the function, and the segment of t.
  logic [3:0] spline;
  logic [31:0] t;
  always_comb begin
    case (32'(select))
      kiln_spline_pkg::LOG: spline = 4'(kiln_spline_pkg::SPLINE_LOG);
      kiln_spline_pkg::RECIPROCAL: spline = 4'(kiln_spline_pkg::SPLINE_RECIPROCAL);
      kiln_spline_pkg::SQRT, kiln_spline_pkg::RECIPROCAL_SQUARE_ROOT:
      spline = 4'(kiln_spline_pkg::SPLINE_RECIPROCAL_SQUARE_ROOT);
      kiln_spline_pkg::TANH: spline = 4'(kiln_spline_pkg::SPLINE_TANH);
      kiln_spline_pkg::ERF: spline = 4'(kiln_spline_pkg::SPLINE_ERF);
      kiln_spline_pkg::SIGMOID: spline = 4'(kiln_spline_pkg::SPLINE_SIGMOID);
      kiln_spline_pkg::GELU: spline = 4'(kiln_spline_pkg::SPLINE_GELU);
      kiln_spline_pkg::GELU_TANH: spline = 4'(kiln_spline_pkg::SPLINE_GELU_TANH);
      kiln_spline_pkg::SILU: spline = 4'(kiln_spline_pkg::SPLINE_SILU);
      kiln_spline_pkg::SOFTPLUS: spline = 4'(kiln_spline_pkg::SPLINE_SOFTPLUS);
      default: spline = 4'(kiln_spline_pkg::SPLINE_EXP2);
    endcase
    if (is_exp) t = first;
    else if (is_log) t = log_argument;
    else if (is_reciprocal) t = m;
    else if (is_root) t = root_argument;
    else t = {1'b0, x[30:0]};
  end
  logic [31:0] s;
  logic in_domain;
  kiln_spline_evaluate #(.TABLES(TABLES)) evaluate (
      .spline(spline),
      .t(t),
      .value(s),
      .in_domain(in_domain)
  );

  // refine: log t s; roots -m r.
  logic [31:0] second, third, refined, halved;
  kiln_fp32_multiply multiply_second (
      .a(is_log ? t : {1'b1, t[30:0]}),
      .b(s),
      .result(second)
  );
  // log: e ln 2 + t s; reciprocal: 1 - m r; roots: 1 - (m r) r.
  kiln_fp32_multiply_add refine_third (
      .a(is_log ? log_exponent_value : is_reciprocal ? {1'b1, t[30:0]} : second),
      .b(is_log ? LN_2 : s),
      .c(is_log ? second : ONE),
      .result(third)
  );
  // r lies near 1, so that halving it is taking one off its exponent.
  assign halved = {s[31], s[30:23] - 8'd1, s[22:0]};
  kiln_fp32_multiply_add refine_last (
      .a(is_root ? halved : s),
      .b(third),
      .c(s),
      .result(refined)
  );

  // scale. What comes in is near 1, so that its exponent and the power are all there is to add.
  logic scale_nan, scale_infinite, scale_negative;
  logic signed [8:0] scale_exponent;
  logic [23:0] scale_significand;
  logic signed [10:0] wide_e, power;
  logic [31:0] scaled;
  kiln_decode #(.FORMAT(kiln_format_pkg::FP32)) decode_scale (
      .code(is_exp ? s : refined),
      .nan(scale_nan),
      .infinite(scale_infinite),
      .negative(scale_negative),
      .exponent(scale_exponent),
      .significand(scale_significand)
  );
  assign wide_e = 11'(e);
  assign power = is_exp ? 11'(n) : is_reciprocal ? -wide_e : -(wide_e >>> 1);
  kiln_encode #(
      .FORMAT(kiln_format_pkg::FP32),
      .SIGNIFICAND_BITS(24),
      .EXPONENT_BITS(11)
  ) encode_scale (
      .nan(scale_nan),
      .infinite(scale_infinite),
      .negative(scale_negative),
      .exponent(11'(scale_exponent) + power),
      .significand(scale_significand),
      .random('0),
      .code(scaled)
  );

  // What the limits of the functions are.
  logic [31:0] root, up_to, tail, hard_below, hard;
  assign root = x_zero ? INFINITY : x_infinite ? ZERO : scaled;
  assign up_to = in_domain ? s : is_odd ? ONE : ZERO;
  kiln_fp32_maximum limit_tail (.a(up_to), .b(ZERO), .result(tail));
  kiln_fp32_minimum limit_line (.a(first), .b(ONE), .result(hard_below));
  kiln_fp32_maximum limit_hard (.a(hard_below), .b(ZERO), .result(hard));

  // finish.
  logic [31:0] finish_a, finish_b, finish_c, finished, odd_magnitude;
  always_comb begin
    finish_a = x;
    finish_b = root;
    finish_c = MINUS_ZERO;  // which adds nothing to a product, not even to one of zero
    if (is_elu) begin
      finish_a = scaled;
      finish_b = ONE;
      finish_c = MINUS_ONE;
    end
    if (is_sigmoid) begin
      finish_a = tail;
      finish_b = MINUS_ONE;
      finish_c = ONE;
    end
    if (is_rectified) begin
      finish_a = up_to;
      finish_b = ONE;
      finish_c = above_zero ? x : ZERO;
    end
    if (is_hard_swish) finish_b = hard;
  end
  kiln_fp32_multiply_add finish (
      .a(finish_a),
      .b(finish_b),
      .c(finish_c),
      .result(finished)
  );
  kiln_fp32_minimum limit_odd (.a(up_to), .b(ONE), .result(odd_magnitude));

  logic before_swish;
  kiln_fp32_greater compare_swish (.a(SWISH_BEGIN), .b(x), .greater(before_swish));

  always_comb begin
    result = finished;
    if (is_exp && !is_elu) result = scaled;
    if (is_elu && above_zero) result = x;
    if (is_log) result = below_zero ? kiln_format_pkg::FP32_NAN : x_zero ? MINUS_INFINITY : x_infinite ? x : third;
    if (is_reciprocal) result = (x_infinite ? ZERO : scaled) | {x_negative, 31'd0};
    if (is_root) begin
      if (below_zero) result = kiln_format_pkg::FP32_NAN;
      else if (!is_square_root) result = root;
      else if (x_zero || x_infinite) result = x;
    end
    if (is_odd) result = odd_magnitude | {x_negative, 31'd0};
    if (is_sigmoid && below_zero) result = tail;
    if (is_hard_sigmoid) result = hard;
    if (is_hard_swish && before_swish) result = ZERO;
    if (x_nan) result = kiln_format_pkg::FP32_NAN;
  end

endmodule
