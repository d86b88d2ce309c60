// The approximate functions of a vector unit: piecewise quadratic splines, with argument reduction
// before and reconstruction after them.
//
//   result     fp32, not yet rounded to a narrower vector format (kiln_vector_alu does that)
//   time       combinational; the longest path is that of reciprocal square roots
//   C++ twin   kiln::Approximate (numerics/nonlinear.h, nonlinear_body.h), to the bit
//
// One datapath computes all functions. Its stages and values have the names of the C++ twin:
//
//   prepare    t, the argument of the spline: f = x log2 e - n for exp; the significand for log,
//              roots and reciprocal; |x| for the others
//   spline     s = (c2 t + c1) t + c0
//   refine     a Newton step for roots and reciprocal; e ln 2 + t s for log
//   scale      multiplies by a power of two, rounded once, for exp, roots and reciprocal
//   finish     one multiply-add: 1 - tail, max(x, 0) + s, x times the root, ...
//
// A function that is not in FUNCTIONS takes no area, and its result is undefined.
module kiln_spline #(
    parameter kiln_spline_pkg::tables_t TABLES = kiln_spline_tables_pkg::FP32,
    // bit i enables function i of kiln_spline_pkg
    parameter logic [kiln_spline_pkg::FUNCTIONS-1:0] FUNCTIONS = {kiln_spline_pkg::FUNCTIONS{1'b1}}
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
  // Beyond these arguments exp is 0 or infinity.
  localparam logic [31:0] LEAST_EXPONENT = 32'hc2d2_0000;    // -105
  localparam logic [31:0] GREATEST_EXPONENT = 32'h42b4_0000;  // 90
  localparam logic [31:0] SWISH_BEGIN = 32'hc040_0000;        // -3

  // Returns the floor of a number between -2^9 and 2^9.
  function automatic logic signed [9:0] floor(input logic [31:0] number);
    logic [32:0] magnitude;
    // The lowest 23 bits are those after the binary point.
    magnitude = 33'({1'b1, number[22:0]});
    if (number[30:23] >= 8'd127) magnitude = magnitude << (number[30:23] - 8'd127);
    else magnitude = 33'(number[30:0] != '0);
    floor = signed'(magnitude[32:23]);
    if (number[31]) floor = -floor - signed'({9'd0, magnitude[22:0] != '0});
  endfunction

  // Kinds of functions that share hardware. A simulation computes only if a function is selected.
  logic is_exp, is_elu, is_log, is_reciprocal, is_root, is_square_root;
  logic is_odd, is_rectified, is_sigmoid, is_hard_sigmoid, is_hard_swish;
  logic asked, powers;  // powers: functions that split |x| into m 2^e
  logic [15:0] is;  // one-hot, by function
  assign is = {1'b0, FUNCTIONS} & (16'd1 << select);
  assign asked = is != '0;
  assign is_elu = is[kiln_spline_pkg::ELU];
  assign is_exp = is[kiln_spline_pkg::EXP] || is_elu;
  assign is_log = is[kiln_spline_pkg::LOG];
  assign is_reciprocal = is[kiln_spline_pkg::RECIPROCAL];
  assign is_square_root = is[kiln_spline_pkg::SQRT];
  assign is_root = is[kiln_spline_pkg::RECIPROCAL_SQUARE_ROOT] || is_square_root;
  assign is_odd = is[kiln_spline_pkg::TANH] || is[kiln_spline_pkg::ERF];
  assign is_rectified = is[kiln_spline_pkg::GELU] || is[kiln_spline_pkg::GELU_TANH] ||
      is[kiln_spline_pkg::SILU] || is[kiln_spline_pkg::SOFTPLUS];
  assign is_sigmoid = is[kiln_spline_pkg::SIGMOID];
  assign is_hard_sigmoid = is[kiln_spline_pkg::HARD_SIGMOID];
  assign is_hard_swish = is[kiln_spline_pkg::HARD_SWISH];
  assign powers = is_log || is_reciprocal || is_root;

  // The argument and its parts: |x| = m 2^e with m in [1, 2). Zero is treated as 2^-151, whose
  // reciprocal is infinite, and infinity as 2^128.
  logic zero, infinite, below_zero, above_zero, subnormal;
  logic [5:0] zeros;
  logic [22:0] fraction;
  logic signed [9:0] e;
  assign zero = x[30:0] == '0;
  assign infinite = kiln_fp32_pkg::is_infinite(x);
  assign below_zero = x[31] && !zero;
  assign above_zero = !x[31] && !zero;
  assign subnormal = x[30:23] == '0;
  always_comb begin
    zeros = '0;
    if (powers && subnormal) zeros = kiln_fp32_pkg::leading_zeros({x[22:0], 1'b1, 40'd0});
    fraction = x[22:0];
    e = signed'({2'd0, x[30:23]}) - 10'sd127;
    if (subnormal) begin
      fraction = x[22:0] << zeros << 1;
      e = zero ? -10'sd151 : -10'sd127 - signed'({4'd0, zeros});
    end
  end

  // exp: x = (n + f) ln 2.
  logic [31:0] y, minus_n, minus_n_value, first;
  logic signed [9:0] n;
  always_comb begin
    y = '0;
    n = '0;
    if (is_exp) begin
      y = kiln_fp32_pkg::minimum(kiln_fp32_pkg::maximum(x, LEAST_EXPONENT), GREATEST_EXPONENT);
      n = floor(kiln_fp32_pkg::multiply(y, LOG2_E));
    end
  end
  assign minus_n = 32'sd0 - 32'(n);
  always_comb begin
    minus_n_value = '0;
    if (is_exp) minus_n_value = kiln_fp32_pkg::from_int32(minus_n);
  end
  // exp: f; hard sigmoid: the line x / 6 + 1 / 2.
  always_comb begin
    first = '0;
    if (is_exp || is_hard_sigmoid || is_hard_swish) begin
      first = kiln_fp32_pkg::multiply_add(is_exp ? y : x, is_exp ? LOG2_E : SIXTH,
          is_exp ? minus_n_value : HALF);
    end
  end

  // log: x = m' 2^e' with m' in [3/4, 3/2), t = m' - 1.
  logic upper;
  logic signed [9:0] log_exponent;
  logic [31:0] log_exponent_value, log_argument;
  assign upper = fraction[22];
  assign log_exponent = e + 10'(signed'({1'b0, upper}));
  always_comb begin
    log_exponent_value = '0;
    log_argument = '0;
    if (is_log) begin
      log_exponent_value = kiln_fp32_pkg::from_int32(32'(log_exponent));
      log_argument = kiln_fp32_pkg::add({upper ? 9'd126 : 9'd127, fraction}, MINUS_ONE);
    end
  end

  // The function's spline and its argument t. Roots: |x| = m 4^k with m in [1, 4).
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
    t = {1'b0, x[30:0]};
    if (is_exp) t = first;
    if (is_log) t = log_argument;
    if (is_reciprocal) t = {9'd127, fraction};
    if (is_root) t = {e[0] ? 9'd128 : 9'd127, fraction};
  end
  logic [31:0] s;
  logic in_domain;
  kiln_spline_evaluate #(.TABLES(TABLES)) evaluate (
      .enable(asked),
      .spline(spline),
      .t(t),
      .value(s),
      .in_domain(in_domain)
  );

  // refine. log: t s, then e ln 2 + t s; reciprocal: 1 - m r; roots: -m r, then 1 - (m r) r.
  logic [31:0] second, third, refined;
  always_comb begin
    second = '0;
    if (is_log || is_root) second = kiln_fp32_pkg::multiply(is_log ? t : {1'b1, t[30:0]}, s);
  end
  always_comb begin
    third = '0;
    if (powers) begin
      third = kiln_fp32_pkg::multiply_add(is_log ? log_exponent_value :
          is_reciprocal ? {1'b1, t[30:0]} : second, is_log ? LN_2 : s, is_log ? second : ONE);
    end
  end
  // r is near 1, so that it can be halved by subtracting one from its exponent field.
  always_comb begin
    refined = s;
    if (is_reciprocal || is_root) begin
      refined =
          kiln_fp32_pkg::multiply_add(is_root ? {s[31], s[30:23] - 8'd1, s[22:0]} : s, third, s);
    end
  end

  // scale: multiplies by a power of two and rounds once.
  logic signed [11:0] power;
  logic [31:0] scaled;
  always_comb begin
    power = 12'(e);
    if (is_root) power = power >>> 1;
    power = is_exp ? 12'(n) : -power;
    scaled = refined;
    if (is_exp || is_reciprocal || is_root) begin
      scaled = kiln_fp32_pkg::round(refined[31], 64'(kiln_fp32_pkg::significand_of(refined)),
          kiln_fp32_pkg::unit_of(refined) + power);
    end
  end

  // The results at the limits of the functions' domains.
  logic [31:0] root, up_to, tail, hard;
  assign root = zero ? INFINITY : infinite ? ZERO : scaled;
  assign up_to = in_domain ? s : is_odd ? ONE : ZERO;
  always_comb begin
    tail = '0;
    hard = '0;
    if (is_sigmoid) tail = kiln_fp32_pkg::maximum(up_to, ZERO);
    if (is_hard_sigmoid || is_hard_swish)
      hard = kiln_fp32_pkg::maximum(kiln_fp32_pkg::minimum(first, ONE), ZERO);
  end

  // finish: one multiply-add.
  logic finishes;
  logic [31:0] finish_a, finish_b, finish_c, finished;
  always_comb begin
    finishes = is_elu || is_square_root || is_rectified || is_sigmoid || is_hard_swish;
    finish_a = x;
    finish_b = root;
    finish_c = MINUS_ZERO;  // leaves every product unchanged, including zeros of both signs
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
  always_comb begin
    finished = '0;
    if (finishes) finished = kiln_fp32_pkg::multiply_add(finish_a, finish_b, finish_c);
  end

  always_comb begin
    result = finished;
    if (is_exp && !is_elu) result = scaled;
    if (is_elu && above_zero) result = x;
    if (is_log)
      result = below_zero ? kiln_fp32_pkg::NAN : zero ? MINUS_INFINITY : infinite ? x : third;
    if (is_reciprocal) result = (infinite ? ZERO : scaled) | {x[31], 31'd0};
    if (is_root) begin
      if (below_zero) result = kiln_fp32_pkg::NAN;
      else if (!is_square_root) result = root;
      else if (zero || infinite) result = x;
    end
    if (is_odd) result = kiln_fp32_pkg::minimum(up_to, ONE) | {x[31], 31'd0};
    if (is_sigmoid && below_zero) result = tail;
    if (is_hard_sigmoid) result = hard;
    if (is_hard_swish && kiln_fp32_pkg::greater(SWISH_BEGIN, x)) result = ZERO;
    if (kiln_fp32_pkg::is_nan(x)) result = kiln_fp32_pkg::NAN;
  end

`ifndef SYNTHESIS
  always_comb begin
    one_kind : assert ($onehot0({
        is_exp, is_log, is_reciprocal, is_root, is_odd, is_rectified, is_sigmoid, is_hard_sigmoid,
        is_hard_swish}));
    every_function_has_a_kind : assert (asked == (is_exp || powers || is_odd || is_rectified ||
        is_sigmoid || is_hard_sigmoid || is_hard_swish));
    // exp: bounds of the argument times log2 e.
    exponent_in_range : assert (n >= -10'sd152 && n <= 10'sd129);
    // The spline of a reciprocal or of a root estimates a number from 1/2 to 1.
    estimate_in_range : assert (!(is_reciprocal || is_root) ||
        (!s[31] && s[30:23] >= 8'd125 && s[30:23] <= 8'd127));
  end
`endif

endmodule
