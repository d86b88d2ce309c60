// One lane of the source stage (kiln_vector_source). First an accumulator with its offset is
// converted to a number; then it is scaled and the bias added, or an operand is multiplied by a
// factor, or another value is passed on. Numbers are the upper NUMBER bits of fp32 numbers.
//   time       An accumulator in a cycle with `advance` meets the late_* inputs CONVERT such cycles
//              later, and gives the result after LATENCY more.
//   moves      bit i: register i takes a word; CONVERT registers of the conversion, then LATENCY
//   short      In a short float format (kiln_format_pkg::is_short_float) the conversion has
//              registers after the sum with the offset (CONVERT >= 2) and at its end (>= 1), the
//              product at its end (LATENCY >= 2). In other formats everything is computed in
//              the cycle of the late inputs; a format narrower than fp32 rounds after each step.
//   C++ twin   kiln::systolic::AccumulatorToValue (targets/systolic/simulate/arithmetic.h)
module kiln_source_lane #(
    parameter kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter int unsigned CONVERT = 0,  // cycles
    parameter int unsigned LATENCY = 1,  // cycles, at least 1
    // derived, do not set
    localparam int unsigned ACCUMULATION_BITS = kiln_format_pkg::bits(ACCUMULATION_FORMAT),
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT),
    localparam int unsigned CYCLES = CONVERT + LATENCY
) (
    input  logic clock,
    input  logic advance,
    input  logic [CYCLES-1:0] moves,
    input  logic [ACCUMULATION_BITS-1:0] accumulator,
    input  logic [31:0] offset,  // int32; added to integer accumulators
    input  logic [31:0] scale,  // fp32, as is the bias
    input  logic [31:0] bias,
    // These three come one cycle with `advance` before the late inputs, or with them if CONVERT
    // is 0.
    input  logic source_valid,
    input  logic [1:0] source,  // kiln_systolic_pkg::source_t
    input  logic averages,  // an operand is multiplied by the factor
    // The late inputs.
    input  logic [NUMBER-1:0] row_number,  // what an earlier pass stored
    input  logic [NUMBER-1:0] constant,
    input  logic [NUMBER-1:0] operand,
    input  logic [NUMBER-1:0] factor,
    output logic [NUMBER-1:0] result
);
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
      kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);
  localparam bit INTEGER =
      kiln_format_pkg::kind(ACCUMULATION_FORMAT) == kiln_format_pkg::KIND_INTEGER;
  if (!INTEGER) begin : g_no_offset
    wire unused_offset = &{1'b0, offset};
  end

  // The value: the accumulator's, the operand times the factor, row_number, constant, or operand.
  // Each lane has registers of its own for this choice, because one that drives many lanes is slow.
  logic [3:0] choice, late_choice;
  logic late_accumulator, late_factor, late_row, late_constant;
  logic [NUMBER-1:0] late_other;
  assign choice = {
    source == kiln_systolic_pkg::SOURCE_CONSTANT,
    source == kiln_systolic_pkg::SOURCE_ROW_BUFFER,
    source_valid && source == kiln_systolic_pkg::SOURCE_OPERAND0 && averages,
    source_valid && source == kiln_systolic_pkg::SOURCE_ACCUMULATOR
  };
  if (CONVERT == 0) begin : g_choice
    assign late_choice = choice;
  end else begin : g_late_choice
    always_ff @(posedge clock) if (advance) late_choice <= choice;
  end
  assign {late_constant, late_row, late_factor, late_accumulator} = late_choice;
  assign late_other = late_constant ? constant : operand;

  if (kiln_format_pkg::is_short_float(VECTOR_FORMAT)) begin : g_short
    localparam int unsigned SUMMED = CONVERT >= 2 ? 1 : 0;
    localparam int unsigned REST = CONVERT - SUMMED;  // registers after the conversion
    localparam int unsigned MULTIPLIED = LATENCY >= 2 ? 1 : 0;
    localparam int unsigned WAIT = LATENCY - 1 - MULTIPLIED;  // registers after the sum

    // ---- Conversion.
    localparam int unsigned SUM = INTEGER ? 32 : ACCUMULATION_BITS;
    logic [SUM-1:0] sum, sum_now;
    logic [NUMBER-1:0] scale_number, bias_number, scale_sum, bias_sum, number;
    if (INTEGER) begin : g_integer
      assign sum = 32'(signed'(accumulator)) + offset;
      kiln_integer_to_float #(
          .FORMAT(VECTOR_FORMAT)
      ) convert (
          .value(sum_now),
          .number
      );
    end else begin : g_real
      logic [31:0] real_value;
      assign sum = accumulator;
      kiln_decode_to_fp32 #(
          .FORMAT(ACCUMULATION_FORMAT)
      ) decode (
          .code (sum_now),
          .value(real_value)
      );
      kiln_fp32_to_float #(
          .FORMAT(VECTOR_FORMAT)
      ) convert (
          .value(real_value),
          .number
      );
    end
    kiln_fp32_to_float #(
        .FORMAT(VECTOR_FORMAT)
    ) convert_scale (
        .value (scale),
        .number(scale_number)
    );
    kiln_fp32_to_float #(
        .FORMAT(VECTOR_FORMAT)
    ) convert_bias (
        .value (bias),
        .number(bias_number)
    );
    if (SUMMED == 0) begin : g_sum
      assign {sum_now, scale_sum, bias_sum} = {sum, scale_number, bias_number};
    end else begin : g_summed
      always_ff @(posedge clock) begin
        if (advance && moves[0])
          {sum_now, scale_sum, bias_sum} <= {sum, scale_number, bias_number};
      end
    end
    logic [NUMBER-1:0] number_now, scale_now, bias_now;
    if (REST == 0) begin : g_number
      assign {number_now, scale_now, bias_now} = {number, scale_sum, bias_sum};
    end else begin : g_converted
      logic [REST*3*NUMBER-1:0] line;
      always_ff @(posedge clock) begin
        if (advance && moves[SUMMED]) line[0+:3*NUMBER] <= {number, scale_sum, bias_sum};
        for (int i = 1; i < REST; i++) begin
          if (advance && moves[SUMMED+i])
            line[i*3*NUMBER+:3*NUMBER] <= line[(i-1)*3*NUMBER+:3*NUMBER];
        end
      end
      assign {number_now, scale_now, bias_now} = line[(REST-1)*3*NUMBER+:3*NUMBER];
    end

    // ---- Product and sum.
    logic [NUMBER-1:0] product, other, other_now, addend_now, total;
    logic adds_now;
    kiln_float_multiply #(
        .FORMAT(VECTOR_FORMAT)
    ) multiply (
        .clock,
        .advance,
        .a(late_accumulator ? number_now : operand),
        .b(late_accumulator ? scale_now : factor),
        .product
    );
    assign other = late_accumulator || late_factor ? product : late_row ? row_number : late_other;
    if (MULTIPLIED == 0) begin : g_product
      assign {adds_now, addend_now, other_now} = {late_accumulator, bias_now, other};
    end else begin : g_multiplied
      always_ff @(posedge clock) begin
        if (advance && moves[CONVERT])
          {adds_now, addend_now, other_now} <= {late_accumulator, bias_now, other};
      end
    end
    kiln_float_add #(
        .FORMAT(VECTOR_FORMAT)
    ) add (
        .clock,
        .advance,
        .a(other_now),
        .b(addend_now),
        .sum(total)
    );
    logic [(WAIT+1)*NUMBER-1:0] line;
    always_ff @(posedge clock) begin
      if (advance && moves[CONVERT+MULTIPLIED]) line[0+:NUMBER] <= adds_now ? total : other_now;
      for (int i = 1; i <= WAIT; i++) begin
        if (advance && moves[CONVERT+MULTIPLIED+i])
          line[i*NUMBER+:NUMBER] <= line[(i-1)*NUMBER+:NUMBER];
      end
    end
    assign result = line[WAIT*NUMBER+:NUMBER];
  end else begin : g_whole
    // ---- The accumulator and its parameters wait for the late inputs.
    localparam int unsigned INPUTS = ACCUMULATION_BITS + 3 * 32;
    logic [ACCUMULATION_BITS-1:0] accumulator_now;
    logic [31:0] offset_now, scale_now, bias_now;
    if (CONVERT == 0) begin : g_now
      assign {accumulator_now, offset_now, scale_now, bias_now} = {accumulator, offset, scale,
          bias};
    end else begin : g_wait
      logic [CONVERT*INPUTS-1:0] line;
      always_ff @(posedge clock) begin
        if (advance && moves[0]) line[0+:INPUTS] <= {accumulator, offset, scale, bias};
        for (int i = 1; i < CONVERT; i++) begin
          if (advance && moves[i]) line[i*INPUTS+:INPUTS] <= line[(i-1)*INPUTS+:INPUTS];
        end
      end
      assign {accumulator_now, offset_now, scale_now, bias_now} = line[(CONVERT-1)*INPUTS+:INPUTS];
    end

    logic [31:0] number;  // accumulator + offset, converted to fp32
    if (INTEGER) begin : g_integer
      logic [31:0] sum;
      assign sum = 32'(signed'(accumulator_now)) + offset_now;
      always_comb begin
        number = '0;
        if (late_accumulator) number = kiln_fp32_pkg::from_int32(sum);
      end
    end else begin : g_real
      wire unused_offset_now = &{1'b0, offset_now};
      kiln_decode_to_fp32 #(
          .FORMAT(ACCUMULATION_FORMAT)
      ) decode (
          .code (accumulator_now),
          .value(number)
      );
    end
    logic [31:0] multiplicand, multiplier, addend, scaled;
    always_comb begin
      multiplicand = 32'(operand) << (32 - NUMBER);
      multiplier   = 32'(factor) << (32 - NUMBER);
      addend       = kiln_vector_pkg::FP32_MINUS_ZERO;
      scaled       = '0;
      if (late_accumulator) begin
        multiplicand = NARROW ? kiln_fp32_pkg::round_to(number, ROUNDING) : number;
        multiplier   = NARROW ? kiln_fp32_pkg::round_to(scale_now, ROUNDING) : scale_now;
        addend       = NARROW ? kiln_fp32_pkg::round_to(bias_now, ROUNDING) : bias_now;
      end
      if ((late_accumulator || late_factor) && !NARROW)
        scaled = kiln_fp32_pkg::multiply_add(multiplicand, multiplier, addend);
      if ((late_accumulator || late_factor) && NARROW) begin
        scaled = kiln_fp32_pkg::round_to(kiln_fp32_pkg::multiply(multiplicand, multiplier),
            ROUNDING);
        if (late_accumulator)
          scaled = kiln_fp32_pkg::round_to(kiln_fp32_pkg::add(scaled, addend), ROUNDING);
      end
    end
    wire unused_scaled = &{1'b0, scaled};  // low bits, which are 0
    logic [LATENCY*NUMBER-1:0] line;
    always_ff @(posedge clock) begin
      if (advance && moves[CONVERT]) begin
        line[0+:NUMBER] <= late_accumulator || late_factor ? scaled[31-:NUMBER] :
            late_row ? row_number : late_other;
      end
      for (int i = 1; i < LATENCY; i++) begin
        if (advance && moves[CONVERT+i]) line[i*NUMBER+:NUMBER] <= line[(i-1)*NUMBER+:NUMBER];
      end
    end
    assign result = line[(LATENCY-1)*NUMBER+:NUMBER];
  end
endmodule
