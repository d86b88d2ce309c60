// The approximate functions of a vector unit of at most 10 fraction bits, in fixed point: quadratics
// from a table, with argument reduction before and reconstruction after them.
//
//   result     fp32, not yet rounded to a narrower vector format; undefined if `enable` was 0
//   time       LATENCY cycles with `advance`, at least 4; a word every cycle. Registers hold their
//              values without `advance`
//   enable     0: the word needs no function, and no register of its stage moves
//   C++ twin   kiln::ApproximateFixed (numerics/function_unit.h), to the bit
//
// Four stages have the names of the C++ twin's parts:
//
//   argument   |x| log2 e or |x| as a fixed-point number, or the significand
//   slope      c1 + c2 offset, of the row of the argument's segment
//   sum        c0 + slope offset + addend
//   pack       the sum as a number
//
// A function that is not in FUNCTIONS takes no area, and its result is undefined.
module kiln_function #(
    parameter int FRACTION_BITS = 10,  // of x, 1 to 10; the lower ones are 0
    parameter int LATENCY = 4,
    // bit i enables function i of kiln_function_pkg
    parameter logic [kiln_function_pkg::FUNCTIONS-1:0] FUNCTIONS =
        {kiln_function_pkg::FUNCTIONS{1'b1}}
) (
    input  logic        clock,
    input  logic        advance,
    input  logic        enable,
    input  logic [ 3:0] select,  // a function of kiln_function_pkg
    input  logic [31:0] x,       // fp32
    output logic [31:0] result
);

  localparam int OFFSET_BITS = kiln_function_pkg::OFFSET_BITS;
  localparam int SQUARE_BITS = kiln_function_pkg::SQUARE_BITS;
  localparam int VALUE_BITS = kiln_function_pkg::VALUE_BITS;
  localparam int C0_BITS = kiln_function_pkg::C0_BITS;
  localparam int C1_BITS = kiln_function_pkg::C1_BITS;
  localparam int C2_BITS = kiln_function_pkg::C2_BITS;
  localparam int SUM_BITS = VALUE_BITS + 8;  // sign, and logarithms up to 89
  localparam logic signed [SUM_BITS-1:0] ONE = SUM_BITS'(1 << VALUE_BITS);

  if (FRACTION_BITS < 1 || FRACTION_BITS > 10) begin : g_fraction_bits
    $error("FRACTION_BITS must be 1 to 10");
  end
  if (LATENCY < 4) begin : g_latency
    $error("LATENCY must be at least 4");
  end

  // The results that are not computed, with the sign of the word.
  typedef enum logic [1:0] {
    COMPUTED,
    IS_ZERO,
    IS_INFINITE,
    IS_NAN
  } special_t;
  // What is added to the row's value.
  typedef enum logic [1:0] {
    NOTHING,
    MINUS_ONE,
    ARGUMENT,
    EXPONENT  // times ln 2
  } addend_t;
  // How the fraction of the argument gives row and offset.
  typedef enum logic [1:0] {
    COARSE,  // four rows
    FINE,    // eight rows
    FAR      // two rows
  } segments_t;

  // The table, without the rows of other functions.
  logic [C0_BITS-1:0] c0_rows[256];
  logic [C1_BITS-1:0] c1_rows[256];
  logic [C2_BITS-1:0] c2_rows[256];
  function automatic logic has_row(input int row);
    int far;
    far = row % 16;
    has_row = FUNCTIONS[row/16];
    if (row / 16 == kiln_function_pkg::EXP) begin
      if (far >= 4) has_row = FUNCTIONS[kiln_function_pkg::ERF];
      if (far >= 8) has_row = FUNCTIONS[kiln_function_pkg::SIGMOID];
      if (far >= 10) has_row = FUNCTIONS[kiln_function_pkg::SOFTPLUS];
      if (far >= 12) has_row = FUNCTIONS[kiln_function_pkg::SILU];
      if (far >= 14) has_row = FUNCTIONS[kiln_function_pkg::ELU];
    end
  endfunction
  initial begin
    for (int i = 0; i < 256; i++) begin
      c0_rows[i] = '0;
      c1_rows[i] = '0;
      c2_rows[i] = '0;
      if (i < kiln_function_pkg::ROWS && has_row(i)) begin
        c0_rows[i] = kiln_function_tables_pkg::C0[i*C0_BITS+:C0_BITS];
        c1_rows[i] = kiln_function_tables_pkg::C1[i*C1_BITS+:C1_BITS];
        c2_rows[i] = kiln_function_tables_pkg::C2[i*C2_BITS+:C2_BITS];
      end
    end
  end

  // ---------------------------------------------------------------------------------------------
  // argument

  logic [15:0] is;  // one-hot, by function
  logic is_exp, is_log, is_reciprocal, is_square_root, is_root, is_odd, is_rectified, is_sigmoid;
  logic is_elu, is_erf, is_softplus, is_halved;
  assign is = {1'b0, FUNCTIONS} & (16'd1 << select);
  assign is_exp = is[kiln_function_pkg::EXP];
  assign is_elu = is[kiln_function_pkg::ELU];
  assign is_erf = is[kiln_function_pkg::ERF];
  assign is_log = is[kiln_function_pkg::LOG];
  assign is_reciprocal = is[kiln_function_pkg::RECIPROCAL];
  assign is_square_root = is[kiln_function_pkg::SQRT];
  assign is_root = is_square_root || is[kiln_function_pkg::RECIPROCAL_SQUARE_ROOT];
  assign is_odd = is_erf || is[kiln_function_pkg::TANH];
  assign is_softplus = is[kiln_function_pkg::SOFTPLUS];
  assign is_halved = is[kiln_function_pkg::GELU] || is[kiln_function_pkg::GELU_TANH] ||
      is[kiln_function_pkg::SILU] || is[kiln_function_pkg::HARD_SWISH];
  assign is_rectified = is_halved || is_softplus;
  assign is_sigmoid = is[kiln_function_pkg::SIGMOID] || is[kiln_function_pkg::HARD_SIGMOID];

  logic zero, top, nan, infinite, negative, above_zero;
  logic [FRACTION_BITS-1:0] fraction;
  logic [10:0] significand;
  logic signed [8:0] e;
  assign fraction = x[22-:FRACTION_BITS];
  wire unused_bits = &{1'b0, x[22-FRACTION_BITS:0], product[11:0]};
  assign zero = x[30:23] == '0;
  assign top = x[30:23] == '1;
  assign nan = top && fraction != '0;
  assign infinite = top && fraction == '0;
  assign negative = x[31];
  assign above_zero = !negative && !zero;
  always_comb begin
    significand = 11'd1024;
    if (!zero) significand[9-:FRACTION_BITS] = fraction;
  end
  assign e = signed'({1'b0, x[30:23]}) - 9'sd127;

  // How functions of |x| treat it.
  logic of_magnitude, tiny, beyond, passes, far, octave;
  assign of_magnitude = is_odd || is_rectified || is_sigmoid || is_elu;
  assign tiny = (is_odd && e < 9'(kiln_function_pkg::SMALL_ODD)) ||
      ((is_halved || is_elu) && e < 9'(kiln_function_pkg::SMALL));
  assign beyond = e >= 9'sd4;
  assign passes = (tiny && !is_erf) || (is_elu && above_zero) ||
      (is_rectified && above_zero && beyond);
  assign octave = e >= 9'sd0;
  assign far = of_magnitude && e == 9'sd3;

  // y: exp: x log2 e, rounded downwards; |x| below 1; the significand.
  logic [31:0] product;  // 30 fraction bits
  logic [19:0] shifted;
  logic [4:0] distance;
  logic shifts;  // rather than taking the significand
  logic flips;
  logic signed [8:0] distance_wide;
  always_comb begin
    product = {1'b0, significand, 20'd0};
    if (is_exp) product = 32'(significand) * 32'(kiln_function_pkg::LOG2_E);
  end
  assign shifts = is_exp || (of_magnitude && !tiny && !passes && !octave);
  assign distance_wide = 9'sd6 - e;
  always_comb begin
    distance = distance_wide[4:0];
    if (distance_wide > 9'sd31) distance = 5'd31;
    if (!shifts) distance = 5'd6;
    shifted = product[31:12] >> distance;
  end
  assign flips = is_exp && negative && !zero;

  logic [19:0] y_0;
  assign y_0 = shifted ^ {20{flips}};

  logic is_silu_or_elu, is_softplus_or_elu, has_far;
  assign is_silu_or_elu = is[kiln_function_pkg::SILU] || is_elu;
  assign is_softplus_or_elu = is_softplus || is_elu;
  assign has_far = is_silu_or_elu || is_softplus || is[kiln_function_pkg::SIGMOID];

  logic [3:0] slot_0;
  logic [2:0] base_0;
  segments_t segments_0;
  addend_t addend_0;
  special_t special_0;
  logic no_row_0, fixed_sign_0, sign_0;
  logic signed [8:0] exponent_0;
  logic [1:0] places_0;
  always_comb begin
    slot_0 = select;
    base_0 = '0;
    segments_0 = COARSE;
    addend_0 = NOTHING;
    special_0 = COMPUTED;
    no_row_0 = 1'b0;
    fixed_sign_0 = 1'b0;
    sign_0 = negative;
    exponent_0 = '0;
    places_0 = '0;
    if (is_exp) begin
      exponent_0 = {flips, y_0[19:12]};
      if (e >= 9'sd7) special_0 = negative ? IS_ZERO : IS_INFINITE;
      fixed_sign_0 = 1'b1;
      sign_0 = 1'b0;
    end
    if (is_log || is_reciprocal) segments_0 = FINE;
    if (is_log) begin
      addend_0 = EXPONENT;
      exponent_0 = e;
      if (infinite) special_0 = IS_INFINITE;
      if (negative) special_0 = IS_NAN;
      if (zero) special_0 = IS_INFINITE;
      sign_0 = zero;
    end
    if (is_reciprocal) begin
      exponent_0 = -e;
      fixed_sign_0 = 1'b1;
      if (infinite) special_0 = IS_ZERO;
      if (zero) special_0 = IS_INFINITE;
    end
    if (is_root) begin
      base_0[1] = e[0];
      fixed_sign_0 = 1'b1;
      exponent_0 = e >>> 1;
      if (infinite) special_0 = is_square_root ? IS_INFINITE : IS_ZERO;
      if (negative) special_0 = IS_NAN;
      if (zero) special_0 = is_square_root ? IS_ZERO : IS_INFINITE;
      if (!is_square_root) begin
        exponent_0 = -exponent_0;
        sign_0 = 1'b0;
      end
    end
    if (of_magnitude) begin
      if (octave && !passes) places_0 = e[1:0];
      if (octave) base_0[2:1] = e[1:0] + 2'd1;
      if (is_sigmoid) begin
        fixed_sign_0 = 1'b1;
        sign_0 = 1'b0;
      end
      if (is_odd) fixed_sign_0 = 1'b1;
      if (is_odd || is_elu || (is_sigmoid && !negative)) addend_0 = MINUS_ONE;
      if (is_rectified && above_zero) addend_0 = ARGUMENT;
      if (far) begin
        slot_0 = 4'(kiln_function_pkg::EXP);
        segments_0 = FAR;
        base_0 = {1'b1, is_silu_or_elu, is_softplus_or_elu};
        no_row_0 = !has_far;
      end
      if (beyond) no_row_0 = 1'b1;
      if (passes) begin
        addend_0 = ARGUMENT;
        no_row_0 = 1'b1;
        fixed_sign_0 = 1'b1;
        exponent_0 = e - signed'({8'd0, tiny && is_halved});
      end
      if (tiny && is_erf) begin
        slot_0 = 4'(kiln_function_pkg::EXP);
        base_0 = 3'b010;
        addend_0 = NOTHING;
        exponent_0 = e;
      end
    end
    if (nan) special_0 = IS_NAN;
  end
  // ---------------------------------------------------------------------------------------------
  // slope

  logic [12:0] y_1;
  logic [3:0] slot_1;
  logic [2:0] base_1;
  segments_t segments_1;
  addend_t addend_1;
  special_t special_1;
  logic no_row_1, fixed_sign_1, sign_1, valid_1;
  logic signed [8:0] exponent_1;
  logic [1:0] places_1;
  always_ff @(posedge clock) begin
    if (advance) valid_1 <= enable;
    if (advance && enable) begin
      y_1 <= y_0[12:0];
      slot_1 <= slot_0;
      base_1 <= base_0;
      segments_1 <= segments_0;
      addend_1 <= addend_0;
      special_1 <= special_0;
      no_row_1 <= no_row_0;
      fixed_sign_1 <= fixed_sign_0;
      sign_1 <= sign_0;
      exponent_1 <= exponent_0;
      places_1 <= places_0;
    end
  end

  logic [7:0] row;
  logic [OFFSET_BITS-1:0] offset;
  always_comb begin
    row = {slot_1, base_1[2:1], y_1[11:10]};
    offset = y_1[9:0];
    if (segments_1 == FINE) begin
      row = {slot_1, 1'b0, y_1[11:9]};
      offset = {y_1[8:0], 1'b0};
    end
    if (segments_1 == FAR) begin
      row = {slot_1, base_1, y_1[11]};
      offset = y_1[10:1];
    end
  end
  logic signed [C1_BITS-1:0] c1, slope;
  logic signed [C2_BITS-1:0] c2;
  logic signed [C2_BITS+SQUARE_BITS:0] bend;
  logic signed [SQUARE_BITS:0] upper_offset;
  assign c1 = c1_rows[row];
  assign c2 = c2_rows[row];
  assign upper_offset = {1'b0, offset[OFFSET_BITS-1-:SQUARE_BITS]};
  assign bend = c2 * upper_offset;
  always_comb begin
    slope = c1 + C1_BITS'(bend >>> 6);
    if (no_row_1) slope = '0;
  end

  // ---------------------------------------------------------------------------------------------
  // sum

  logic signed [C1_BITS-1:0] slope_2;
  logic [OFFSET_BITS-1:0] offset_2;
  logic [7:0] row_2;
  logic [12:0] y_2;
  addend_t addend_2;
  special_t special_2;
  logic no_row_2, fixed_sign_2, sign_2, valid_2;
  logic signed [8:0] exponent_2;
  logic [1:0] places_2;
  always_ff @(posedge clock) begin
    if (advance) valid_2 <= valid_1;
    if (advance && valid_1) begin
      slope_2 <= slope;
      offset_2 <= offset;
      row_2 <= row;
      y_2 <= y_1;
      addend_2 <= addend_1;
      special_2 <= special_1;
      no_row_2 <= no_row_1;
      fixed_sign_2 <= fixed_sign_1;
      sign_2 <= sign_1;
      exponent_2 <= exponent_1;
      places_2 <= places_1;
    end
  end

  logic signed [OFFSET_BITS:0] offset_signed;
  logic signed [C1_BITS+OFFSET_BITS:0] rise;
  logic signed [C0_BITS-1:0] c0;
  logic signed [SUM_BITS-1:0] addend, base, sum;
  logic signed [29:0] log_addend;
  assign offset_signed = {1'b0, offset_2};
  assign rise = slope_2 * offset_signed;
  always_comb begin
    c0 = c0_rows[row_2];
    if (no_row_2) c0 = '0;
  end
  always_comb begin
    log_addend = '0;
    if (addend_2 == EXPONENT) log_addend = 30'(exponent_2) * 30'(kiln_function_pkg::LN_2) + 30'sd32;
    case (addend_2)
      MINUS_ONE: addend = -ONE;
      ARGUMENT: addend = SUM_BITS'({y_2, 2'b00}) << places_2;
      EXPONENT: addend = SUM_BITS'(log_addend >>> 6);
      default: addend = '0;
    endcase
  end
  assign base = SUM_BITS'(c0) + addend;
  assign sum = base + SUM_BITS'(rise >>> OFFSET_BITS);

  // ---------------------------------------------------------------------------------------------
  // pack

  logic signed [SUM_BITS-1:0] sum_3;
  special_t special_3;
  logic fixed_sign_3, sign_3, valid_3;
  logic signed [8:0] exponent_3;
  always_ff @(posedge clock) begin
    if (advance) valid_3 <= valid_2;
    if (advance && valid_2) begin
      sum_3 <= sum;
      special_3 <= special_2;
      fixed_sign_3 <= fixed_sign_2;
      sign_3 <= sign_2;
      exponent_3 <= addend_2 == EXPONENT ? '0 : exponent_2;
    end
  end

  logic [SUM_BITS-2:0] magnitude, normalised;
  logic [4:0] zeros;
  logic signed [10:0] field;
  logic sign;
  logic [31:0] packed_result;
  assign magnitude = (SUM_BITS - 1)'(sum_3[SUM_BITS-1] ? -sum_3 : sum_3);
  always_comb begin
    normalised = magnitude;
    for (int i = 4; i >= 0; i--) begin
      zeros[i] = (normalised >> (SUM_BITS - 1 - (1 << i))) == '0;
      if (zeros[i]) normalised = normalised << (1 << i);
    end
  end
  // Bit VALUE_BITS is 1.
  assign field = 11'(exponent_3) + 11'(127 + SUM_BITS - 2 - VALUE_BITS) - signed'({6'd0, zeros});
  assign sign = fixed_sign_3 || special_3 != COMPUTED ? sign_3 : sum_3[SUM_BITS-1];
  always_comb begin
    packed_result = {sign, field[7:0], normalised[SUM_BITS-3:0], {(25 - SUM_BITS){1'b0}}};
    if (field <= 11'sd0 || !normalised[SUM_BITS-2]) packed_result[30:0] = '0;
    if (field >= 11'sd255) packed_result[30:0] = 31'h7f80_0000;
    case (special_3)
      IS_ZERO: packed_result[30:0] = '0;
      IS_INFINITE: packed_result[30:0] = 31'h7f80_0000;
      IS_NAN: packed_result = 32'h7fc0_0000;
      default: ;
    endcase
  end

  logic [31:0] results[LATENCY-3];
  always_ff @(posedge clock) begin
    if (advance && valid_3) results[0] <= packed_result;
    for (int i = 1; i < LATENCY - 3; i++) if (advance) results[i] <= results[i-1];
  end
  assign result = results[LATENCY-4];

endmodule
