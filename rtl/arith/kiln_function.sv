// The approximate functions of a vector unit of at most 10 fraction bits, in fixed point:
// quadratics from one table, with argument reduction before and reconstruction after them.
//
//   result     fp32, not yet rounded to a narrower vector format; undefined if `enable` was 0
//   time       LATENCY cycles with `advance`, at least 4; a word every cycle
//   advance    0: all registers hold their values, and the inputs do not count
//   enable     0: the word needs no function; the registers that it would fill hold their values
//   C++ twin   kiln::ApproximateFixed (numerics/function_unit.h), to the bit
//
// The four stages:
//
//   argument   y = |x| log2 e, |x| or the significand in fixed point, and how to go on
//   slope      c1 + c2 offset, of the row of y's segment
//   sum        c0 + slope offset + addend
//   pack       the sum as a number
//
// A function that is not in FUNCTIONS takes no area, and its result is undefined; a single one
// needs no `select`.
module kiln_function #(
    parameter int FRACTION_BITS = 10,  // of x, 1 to 10; the lower ones are 0
    parameter int LATENCY = 4,
    // bit i enables function i of kiln_spline_pkg
    parameter logic [kiln_spline_pkg::FUNCTIONS-1:0] FUNCTIONS =
        {kiln_spline_pkg::FUNCTIONS{1'b1}}
) (
    input  logic        clock,
    input  logic        advance,
    input  logic        enable,
    input  logic [ 3:0] select,  // a function of kiln_spline_pkg
    input  logic [31:0] x,       // fp32
    output logic [31:0] result
);

  localparam int OFFSET_BITS = kiln_function_pkg::OFFSET_BITS;
  localparam int VALUE_BITS = kiln_function_pkg::VALUE_BITS;
  localparam int C0_BITS = kiln_function_pkg::C0_BITS;
  localparam int C1_BITS = kiln_function_pkg::C1_BITS;
  localparam int C2_BITS = kiln_function_pkg::C2_BITS;
  localparam int ROW_BITS = kiln_function_pkg::ROW_BITS;
  localparam int SUM_BITS = VALUE_BITS + 8;  // sign, and logarithms up to 89
  localparam logic signed [SUM_BITS-1:0] ONE = SUM_BITS'(1 << VALUE_BITS);
  localparam logic LOGISTIC =
      FUNCTIONS[kiln_spline_pkg::SIGMOID] || FUNCTIONS[kiln_spline_pkg::TANH];

  if (FRACTION_BITS < 1 || FRACTION_BITS > 10) begin : g_fraction_bits
    $error("FRACTION_BITS must be 1 to 10");
  end
  if (LATENCY < 4) begin : g_latency
    $error("LATENCY must be at least 4");
  end

  // Results that are not computed; they have the sign of the word.
  typedef enum logic [1:0] {
    COMPUTED,
    IS_ZERO,
    IS_INFINITE,
    IS_NAN
  } special_t;
  // What is added to the value of the row.
  typedef enum logic [1:0] {
    NOTHING,
    MINUS_ONE,  // of the result, whose exponent is 0 or 1
    ARGUMENT,
    LOGARITHM   // of 2^exponent
  } addend_t;
  // How many of the argument's upper bits are part of the row's number.
  typedef enum logic [1:0] {
    QUARTERS,
    EIGHTHS,
    HALVES
  } segments_t;
  // What a word takes along to the last stage.
  typedef struct packed {
    special_t special;
    logic own_sign;  // the result has the sign `sign`, not that of the sum
    logic sign;
    logic signed [8:0] exponent;
  } outcome_t;

  // -----------------------------------------------------------------------------------------------
  // argument

  // Kinds of functions that share hardware.
  logic [15:0] is;  // one-hot, by function
  logic is_exp, is_log, is_reciprocal, is_square_root, is_root, is_tanh, is_erf, is_odd, is_elu;
  logic is_silu, is_softplus, is_halved, is_rectified, is_logistic, is_sigmoid, of_magnitude;
  // `select` does not count where there is no choice.
  function automatic logic [3:0] last_function(input int unused);
    last_function = 4'(unused);
    for (int i = 0; i < kiln_spline_pkg::FUNCTIONS; i++) if (FUNCTIONS[i]) last_function = 4'(i);
  endfunction
  localparam logic [3:0] LAST = last_function(0);
  logic [3:0] chosen;
  assign chosen = FUNCTIONS == (15'd1 << LAST) ? LAST : select;
  assign is = {1'b0, FUNCTIONS} & (16'd1 << chosen);
  assign is_exp = is[kiln_spline_pkg::EXP];
  assign is_log = is[kiln_spline_pkg::LOG];
  assign is_reciprocal = is[kiln_spline_pkg::RECIPROCAL];
  assign is_square_root = is[kiln_spline_pkg::SQRT];
  assign is_root = is_square_root || is[kiln_spline_pkg::RECIPROCAL_SQUARE_ROOT];
  assign is_tanh = is[kiln_spline_pkg::TANH];
  assign is_erf = is[kiln_spline_pkg::ERF];
  assign is_odd = is_erf || is_tanh;
  assign is_elu = is[kiln_spline_pkg::ELU];
  assign is_silu = is[kiln_spline_pkg::SILU];
  assign is_softplus = is[kiln_spline_pkg::SOFTPLUS];
  assign is_halved = is[kiln_spline_pkg::GELU] || is[kiln_spline_pkg::GELU_TANH] || is_silu ||
      is[kiln_spline_pkg::HARD_SWISH];  // x / 2 near zero
  assign is_rectified = is_halved || is_softplus;
  assign is_sigmoid = is[kiln_spline_pkg::SIGMOID];
  assign is_logistic = is_sigmoid || is[kiln_spline_pkg::HARD_SIGMOID];
  assign of_magnitude = is_odd || is_rectified || is_logistic || is_elu;

  // |x| = significand 2^(e - 10)
  logic zero, infinite, nan, negative, above_zero;
  logic [FRACTION_BITS-1:0] fraction;
  logic [10:0] significand;
  logic signed [8:0] e;
  assign fraction = x[22-:FRACTION_BITS];
  wire unused_x = |x[22-FRACTION_BITS:0];
  assign zero = x[30:23] == '0;
  assign nan = x[30:23] == '1 && fraction != '0;
  assign infinite = x[30:23] == '1 && fraction == '0;
  assign negative = x[31];
  assign above_zero = !negative && !zero;
  always_comb begin
    significand = 11'd1024;
    if (!zero) significand[9-:FRACTION_BITS] = fraction;
  end
  assign e = signed'({1'b0, x[30:23]}) - 9'sd127;

  // Functions of t = m 2^place.
  logic signed [8:0] place;
  logic near_zero, octave, far, beyond, passes;
  assign place = e + signed'({8'd0, is_tanh});
  assign near_zero = (is_odd && e < 9'(kiln_function_pkg::NEAR_ZERO_OF_ODD)) ||
      ((is_halved || is_elu) && e < 9'(kiln_function_pkg::NEAR_ZERO));
  assign octave = of_magnitude && place >= 9'sd0;
  assign far = of_magnitude && place == 9'sd3 && !passes;
  assign beyond = place >= 9'sd4;
  assign passes = (near_zero && !is_erf) || (is_elu && above_zero) ||
      (is_rectified && above_zero && beyond);

  // m log2 e with 20 fraction bits, the sum of a table for each of three parts of m.
  function automatic logic [21:0] times_log2_e(input int part);
    times_log2_e = 22'((part * kiln_function_pkg::LOG2_E + 512) >>> 10);
  endfunction
  logic [21:0] upper_products[16];
  logic [17:0] middle_products[8], lower_products[8];
  initial begin
    for (int i = 0; i < 16; i++) upper_products[i] = times_log2_e(1024 + i * 64);
    for (int i = 0; i < 8; i++) begin
      middle_products[i] = 18'(times_log2_e(i * 8));
      lower_products[i] = 18'(times_log2_e(i));
    end
  end

  // y: 8 bits before the binary point, 12 after it; the significand where it needs no shift.
  logic [21:0] product;
  logic signed [8:0] distance;
  logic [4:0] limited_distance;
  logic shifts, flips;
  logic [21:0] shifted;
  logic [19:0] y;
  always_comb begin
    product = {1'b0, significand, 10'd0};
    if (is_exp) begin
      product = upper_products[significand[9:6]] + {4'd0, middle_products[significand[5:3]]} +
          {4'd0, lower_products[significand[2:0]]};
    end
  end
  assign shifts = is_exp || (of_magnitude && !near_zero && !passes && !octave);
  assign distance = 9'sd6 - place;
  always_comb begin
    limited_distance = 5'd6;
    if (shifts) limited_distance = distance > 9'sd31 ? 5'd31 : distance[4:0];
    shifted = product >> limited_distance;
  end
  // The ones' complement of a negative argument is rounded downwards.
  assign flips = is_exp && negative && !zero;
  assign y = shifted[21:2] ^ {20{flips}};
  wire unused_shifted = &{1'b0, shifted[1:0]};

  // The slot of the table and the upper bits of the row in it.
  logic [3:0] slot;
  logic [2:0] rows;
  segments_t segments;
  logic no_row;
  always_comb begin
    case (32'(chosen))
      kiln_spline_pkg::GELU: slot = 4'(kiln_function_pkg::SLOT_GELU);
      kiln_spline_pkg::GELU_TANH: slot = 4'(kiln_function_pkg::SLOT_GELU_TANH);
      kiln_spline_pkg::SILU: slot = 4'(kiln_function_pkg::SLOT_SILU);
      kiln_spline_pkg::HARD_SWISH: slot = 4'(kiln_function_pkg::SLOT_HARD_SWISH);
      kiln_spline_pkg::SIGMOID, kiln_spline_pkg::TANH:
      slot = 4'(kiln_function_pkg::SLOT_SIGMOID);
      kiln_spline_pkg::HARD_SIGMOID: slot = 4'(kiln_function_pkg::SLOT_HARD_SIGMOID);
      kiln_spline_pkg::SOFTPLUS: slot = 4'(kiln_function_pkg::SLOT_SOFTPLUS);
      kiln_spline_pkg::ELU: slot = 4'(kiln_function_pkg::SLOT_ELU);
      kiln_spline_pkg::ERF: slot = 4'(kiln_function_pkg::SLOT_ERF);
      kiln_spline_pkg::LOG, kiln_spline_pkg::RECIPROCAL:
      slot = 4'(kiln_function_pkg::SLOT_RECIPROCAL);
      kiln_spline_pkg::EXP: slot = 4'(kiln_function_pkg::SLOT_EXP);
      default: slot = 4'(kiln_function_pkg::SLOT_ROOT);
    endcase
    rows = '0;
    segments = QUARTERS;
    no_row = passes || (of_magnitude && beyond);
    if (is_log || is_reciprocal) begin
      segments = EIGHTHS;
      rows[2] = is_log;
    end
    if (is_root) rows[2:1] = {is_square_root, e[0]};
    if (octave) rows[2:1] = place[1:0] + 2'd1;
    if (far) begin
      slot = 4'(kiln_function_pkg::SLOT_EXP);
      segments = HALVES;
      rows = {1'b1, is_silu || is_elu, is_softplus || is_elu};
      if (!(is_tanh || is_sigmoid || is_softplus || is_silu || is_elu)) no_row = 1'b1;
    end
    if (near_zero && is_erf) begin
      slot = 4'(kiln_function_pkg::SLOT_EXP);
      rows = 3'b010;
    end
  end

  // What is added, and what becomes of the sum.
  addend_t addend;
  logic [1:0] argument_places;  // of t; y is its significand
  outcome_t outcome;
  always_comb begin
    addend = NOTHING;
    argument_places = '0;
    outcome.special = COMPUTED;
    outcome.own_sign = 1'b1;
    outcome.sign = negative;
    outcome.exponent = '0;
    if (is_exp) begin
      outcome.sign = 1'b0;
      outcome.exponent = {flips, y[19:12]};
      if (e >= 9'sd7) outcome.special = negative ? IS_ZERO : IS_INFINITE;
    end
    if (is_log) begin
      addend = LOGARITHM;
      outcome.own_sign = 1'b0;
      outcome.sign = zero;
      outcome.exponent = e;
      if (infinite || zero) outcome.special = IS_INFINITE;
    end
    if (is_reciprocal) begin
      outcome.exponent = -e;
      if (infinite) outcome.special = IS_ZERO;
      if (zero) outcome.special = IS_INFINITE;
    end
    if (is_root) begin
      outcome.sign = negative && is_square_root;
      outcome.exponent = is_square_root ? e >>> 1 : -(e >>> 1);
      if (infinite) outcome.special = is_square_root ? IS_INFINITE : IS_ZERO;
      if (zero) outcome.special = is_square_root ? IS_ZERO : IS_INFINITE;
    end
    if (of_magnitude) begin
      if (octave) argument_places = place[1:0];
      outcome.own_sign = is_odd || is_logistic || passes;
      if (is_logistic) outcome.sign = 1'b0;
      outcome.exponent = {8'd0, is_tanh};
      if (is_odd || is_elu || (is_logistic && !negative)) addend = MINUS_ONE;
      if (is_rectified && above_zero) addend = ARGUMENT;
      if (passes) begin
        addend = ARGUMENT;
        argument_places = '0;
        outcome.exponent = e - signed'({8'd0, near_zero && is_halved});
      end
      if (near_zero && is_erf) begin
        addend = NOTHING;
        outcome.exponent = e;
      end
    end
    if (nan || ((is_log || is_root) && negative && !zero)) outcome.special = IS_NAN;
  end

  // -----------------------------------------------------------------------------------------------
  // slope

  logic valid_1, no_row_1;
  logic [12:0] y_1;
  logic [3:0] slot_1;
  logic [2:0] rows_1;
  segments_t segments_1;
  addend_t addend_1;
  logic [1:0] argument_places_1;
  outcome_t outcome_1;
  always_ff @(posedge clock) begin
    if (advance) valid_1 <= enable;
    if (advance && enable) begin
      no_row_1 <= no_row;
      y_1 <= y[12:0];
      slot_1 <= slot;
      rows_1 <= rows;
      segments_1 <= segments;
      addend_1 <= addend;
      argument_places_1 <= argument_places;
      outcome_1 <= outcome;
    end
  end

  logic [7:0] row;
  logic [OFFSET_BITS-1:0] offset;
  always_comb begin
    case (segments_1)
      EIGHTHS: begin
        row = {slot_1, rows_1[2], y_1[11:9]};
        offset = {y_1[8:0], 1'b0};
      end
      HALVES: begin
        row = {slot_1, rows_1, y_1[11]};
        offset = y_1[10:1];
      end
      default: begin
        row = {slot_1, rows_1[2:1], y_1[11:10]};
        offset = y_1[9:0];
      end
    endcase
  end

  // The table, without the rows of other functions.
  function automatic logic has_row(input int number);
    int part;
    part = number % 16 / 2;
    case (number / 16)
      kiln_function_pkg::SLOT_GELU: has_row = FUNCTIONS[kiln_spline_pkg::GELU];
      kiln_function_pkg::SLOT_GELU_TANH: has_row = FUNCTIONS[kiln_spline_pkg::GELU_TANH];
      kiln_function_pkg::SLOT_SILU: has_row = FUNCTIONS[kiln_spline_pkg::SILU];
      kiln_function_pkg::SLOT_HARD_SWISH: has_row = FUNCTIONS[kiln_spline_pkg::HARD_SWISH];
      kiln_function_pkg::SLOT_SIGMOID: has_row = LOGISTIC;
      kiln_function_pkg::SLOT_HARD_SIGMOID: has_row = FUNCTIONS[kiln_spline_pkg::HARD_SIGMOID];
      kiln_function_pkg::SLOT_SOFTPLUS: has_row = FUNCTIONS[kiln_spline_pkg::SOFTPLUS];
      kiln_function_pkg::SLOT_ELU: has_row = FUNCTIONS[kiln_spline_pkg::ELU];
      kiln_function_pkg::SLOT_ERF: has_row = FUNCTIONS[kiln_spline_pkg::ERF];
      kiln_function_pkg::SLOT_RECIPROCAL:
      has_row = FUNCTIONS[part < 4 ? kiln_spline_pkg::RECIPROCAL : kiln_spline_pkg::LOG];
      kiln_function_pkg::SLOT_ROOT:
      has_row = FUNCTIONS[part < 4 ? kiln_spline_pkg::RECIPROCAL_SQUARE_ROOT :
          kiln_spline_pkg::SQRT];
      kiln_function_pkg::SLOT_EXP:
      case (part)
        0, 1: has_row = FUNCTIONS[kiln_spline_pkg::EXP];
        2, 3: has_row = FUNCTIONS[kiln_spline_pkg::ERF];
        4: has_row = LOGISTIC;
        5: has_row = FUNCTIONS[kiln_spline_pkg::SOFTPLUS];
        6: has_row = FUNCTIONS[kiln_spline_pkg::SILU];
        default: has_row = FUNCTIONS[kiln_spline_pkg::ELU];
      endcase
      default: has_row = 1'b0;
    endcase
  endfunction
  // Memories that are never written, so that synthesis can choose ROMs or gates.
  localparam int C1_PLACE = kiln_function_pkg::C1_PLACE;
  localparam int C2_PLACE = kiln_function_pkg::C2_PLACE;
  logic signed [C0_BITS-1:0] c0_rows[256];
  logic signed [C1_BITS-1:0] c1_rows[256];
  logic signed [C2_BITS-1:0] c2_rows[256];
  initial begin
    for (int i = 0; i < 256; i++) begin
      c0_rows[i] = '0;
      c1_rows[i] = '0;
      c2_rows[i] = '0;
      if (has_row(i)) begin
        c0_rows[i] = kiln_function_tables_pkg::ROWS[i*ROW_BITS+:C0_BITS];
        c1_rows[i] = kiln_function_tables_pkg::ROWS[i*ROW_BITS+C1_PLACE+:C1_BITS];
        c2_rows[i] = kiln_function_tables_pkg::ROWS[i*ROW_BITS+C2_PLACE+:C2_BITS];
      end
    end
  end

  logic signed [C1_BITS-1:0] slope;
  logic signed [8:0] upper_offset;
  logic signed [16:0] bend;
  assign upper_offset = {1'b0, offset[OFFSET_BITS-1:2]};
  assign bend = c2_rows[row] * upper_offset;
  assign slope = no_row_1 ? '0 : c1_rows[row] + C1_BITS'(bend >>> 6);

  // -----------------------------------------------------------------------------------------------
  // sum

  logic valid_2, no_row_2;
  logic signed [C1_BITS-1:0] slope_2;
  logic [OFFSET_BITS-1:0] offset_2;
  // Inverted, because Yosys would merge the memory with a register that is its address, and put the
  // register at its output, where it has twice as many bits.
  logic [7:0] inverted_row_2;
  logic [2:0] upper_y_2;
  addend_t addend_2;
  logic [1:0] argument_places_2;
  outcome_t outcome_2;
  always_ff @(posedge clock) begin
    if (advance) valid_2 <= valid_1;
    if (advance && valid_1) begin
      no_row_2 <= no_row_1;
      slope_2 <= slope;
      offset_2 <= offset;
      inverted_row_2 <= ~row;
      upper_y_2 <= y_1[12:10];
      addend_2 <= addend_1;
      argument_places_2 <= argument_places_1;
      outcome_2 <= outcome_1;
    end
  end

  // slope offset in two products; the lower one has the upper bits of the slope.
  logic signed [6:0] multiplier;
  logic signed [4:0] lower_multiplier;
  logic signed [C1_BITS-5:0] upper_slope;
  logic signed [19:0] upper_product;
  logic signed [13:0] lower_product;
  logic signed [19:0] rise;
  logic signed [14:0] rise_of_value;
  assign multiplier = {1'b0, offset_2[9:4]};
  assign lower_multiplier = {1'b0, offset_2[3:0]};
  assign upper_slope = slope_2[C1_BITS-1:4];
  assign upper_product = slope_2 * multiplier;
  assign lower_product = upper_slope * lower_multiplier;
  assign rise = upper_product + 20'(lower_product);
  assign rise_of_value = rise[19:5];
  wire unused_rise = &{1'b0, rise[4:0]};

  // e ln 2, the sum of a table for each half of e.
  function automatic logic signed [SUM_BITS-1:0] times_ln_2(input int part);
    times_ln_2 = SUM_BITS'((part * kiln_function_pkg::LN_2 + 32) >>> 6);
  endfunction
  logic signed [SUM_BITS-1:0] upper_logarithm, lower_logarithm;
  always_comb begin
    upper_logarithm = '0;
    lower_logarithm = '0;
    if (FUNCTIONS[kiln_spline_pkg::LOG]) begin
      for (int i = 0; i < 16; i++) begin
        if (outcome_2.exponent[7:4] == 4'(i))
          upper_logarithm = times_ln_2((i < 8 ? i : i - 16) * 16);
        if (outcome_2.exponent[3:0] == 4'(i)) lower_logarithm = times_ln_2(i);
      end
    end
  end

  // The significand of t, or t below 1: the segments of [8, 16) have one bit more in their offset,
  // and leave out the lowest one, which is 0.
  logic [12:0] argument;
  logic signed [C0_BITS-1:0] c0;
  logic signed [SUM_BITS-1:0] addend_value, sum;
  always_comb begin
    argument = {upper_y_2, offset_2};
    if (argument_places_2 == 2'd3) argument = {upper_y_2[2:1], offset_2, 1'b0};
    case (addend_2)
      MINUS_ONE: addend_value = outcome_2.exponent[0] ? -(ONE >>> 1) : -ONE;
      ARGUMENT: addend_value = {7'd0, argument, 2'd0} << argument_places_2;
      LOGARITHM: addend_value = upper_logarithm + lower_logarithm;
      default: addend_value = '0;
    endcase
  end
  assign c0 = no_row_2 ? '0 : c0_rows[~inverted_row_2];
  assign sum = SUM_BITS'(c0) + addend_value + SUM_BITS'(rise_of_value);

  // -----------------------------------------------------------------------------------------------
  // pack

  logic valid_3;
  logic signed [SUM_BITS-1:0] sum_3;
  outcome_t outcome_3;
  always_ff @(posedge clock) begin
    if (advance) valid_3 <= valid_2;
    if (advance && valid_2) begin
      sum_3 <= sum;
      outcome_3 <= outcome_2;
      if (addend_2 == LOGARITHM) outcome_3.exponent <= '0;
    end
  end

  logic [SUM_BITS-2:0] magnitude, normalised;
  logic [4:0] zeros;
  logic signed [10:0] field;
  logic [31:0] packed_result;
  assign magnitude = (SUM_BITS - 1)'(sum_3[SUM_BITS-1] ? -sum_3 : sum_3);
  kiln_normalise #(
      .WIDTH(SUM_BITS - 1)
  ) normalise (
      .in(magnitude),
      .out(normalised),
      .places(zeros)
  );
  // The exponent field of 2^(SUM_BITS - 2 - VALUE_BITS) is 127 + SUM_BITS - 2 - VALUE_BITS.
  assign field = 11'(outcome_3.exponent) + 11'(127 + SUM_BITS - 2 - VALUE_BITS) -
      signed'({6'd0, zeros});
  always_comb begin
    packed_result[31] = outcome_3.own_sign || outcome_3.special != COMPUTED ? outcome_3.sign :
        sum_3[SUM_BITS-1];
    packed_result[30:0] = {field[7:0], normalised[SUM_BITS-3:0], {(25 - SUM_BITS) {1'b0}}};
    if (field >= 11'sd255) packed_result[30:0] = 31'h7f80_0000;
    if (field <= 11'sd0 || !normalised[SUM_BITS-2] || outcome_3.special == IS_ZERO)
      packed_result[30:0] = '0;
    if (outcome_3.special == IS_INFINITE) packed_result[30:0] = 31'h7f80_0000;
    if (outcome_3.special == IS_NAN) packed_result = 32'h7fc0_0000;
  end

  logic [31:0] results[LATENCY-3];
  always_ff @(posedge clock) begin
    if (advance && valid_3) results[0] <= packed_result;
    for (int i = 1; i < LATENCY - 3; i++) if (advance) results[i] <= results[i-1];
  end
  assign result = results[LATENCY-4];

`ifndef SYNTHESIS
  logic filled = 1'b0;  // stage `slope` has a word, or has had none
  logic signed [16:0] whole_slope;
  assign whole_slope = 17'(c1_rows[row]) + (bend >>> 6);
  always_ff @(posedge clock) begin
    if (advance && enable) begin
      only_fraction_bits : assert (unused_x == 1'b0);
      one_kind : assert ($onehot0({
          is_exp, is_log, is_reciprocal, is_root, is_odd, is_rectified, is_logistic, is_elu}));
    end
    if (advance) filled <= 1'b1;
    if (filled && valid_1 && !no_row_1) begin
      row_in_table : assert (32'(row) < kiln_function_pkg::ROWS);
      slope_fits : assert (17'(slope) == whole_slope);
    end
  end
`endif

endmodule
