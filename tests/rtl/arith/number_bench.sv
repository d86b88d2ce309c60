// The parts of the arithmetic. For every named format of at most 8 bits: products and sums of its
// numbers, a number added to a code, and operands of integer sums. Then the parts that all formats
// share.
module number_bench #(
    localparam int FORMATS = kiln_named_formats_pkg::COUNT,
    localparam int RECORD = 256
) (
    input  logic [7:0] x,
    input  logic [7:0] w,
    // The record of each format, from its lowest bit: significands of product and sum, 64 bits
    // each, left-aligned; their exponents, 32 bits each; code of the sum, 8 bits; operand x, 16
    // bits; NaN, infinity and sign of the product, then of the sum.
    output logic [FORMATS*RECORD-1:0] result,
    // The shared parts.
    input  logic [12:0] bits,
    input  logic [3:0] places,
    output logic [12:0] normalised,
    output logic [3:0] normalised_places,
    output logic [7:0] normalised_8,
    output logic [2:0] normalised_8_places,
    output logic [7:0] shifted,
    input  logic negative,
    input  logic odd,
    input  logic [34:0] rest,
    input  logic [31:0] random,
    output logic [4:0] up,  // one bit per rounding mode, by its number
    output logic [8:0] word,
    input  logic [3:0] spline,
    input  logic [31:0] t,
    output logic [31:0] spline_fp32,
    output logic [31:0] spline_bf16,
    output logic in_domain_fp32,
    output logic in_domain_bf16
);
  for (genvar i = 0; i < FORMATS; i++) begin : g_format
    localparam kiln_format_pkg::format_t FORMAT = kiln_named_formats_pkg::format_of(i);
    if (kiln_format_pkg::bits(FORMAT) <= 8) begin : g_some
      localparam int BITS = kiln_format_pkg::bits(FORMAT);
      localparam int SIGNIFICAND = kiln_format_pkg::significand_bits(FORMAT);
      localparam int EXPONENT = kiln_format_pkg::number_exponent_bits(FORMAT);
      localparam int PRODUCT_EXPONENT = kiln_format_pkg::product_exponent_bits(EXPONENT, EXPONENT);
      localparam int SUM = kiln_format_pkg::sum_bits(SIGNIFICAND, SIGNIFICAND, SIGNIFICAND);
      localparam int SUM_EXPONENT = kiln_format_pkg::sum_exponent_bits(EXPONENT, EXPONENT, SUM);
      logic x_nan, x_infinite, x_negative, w_nan, w_infinite, w_negative;
      logic signed [EXPONENT-1:0] x_exponent, w_exponent;
      logic [SIGNIFICAND-1:0] x_significand, w_significand;
      kiln_decode #(.FORMAT(FORMAT)) decode_x (
          .code(x[BITS-1:0]),
          .nan(x_nan),
          .infinite(x_infinite),
          .negative(x_negative),
          .exponent(x_exponent),
          .significand(x_significand)
      );
      kiln_decode #(.FORMAT(FORMAT)) decode_w (
          .code(w[BITS-1:0]),
          .nan(w_nan),
          .infinite(w_infinite),
          .negative(w_negative),
          .exponent(w_exponent),
          .significand(w_significand)
      );

      logic product_nan, product_infinite, product_negative, sum_nan, sum_infinite, sum_negative;
      logic signed [PRODUCT_EXPONENT-1:0] product_exponent;
      logic [2*SIGNIFICAND-1:0] product_significand;
      logic signed [SUM_EXPONENT-1:0] sum_exponent;
      logic [SUM-1:0] sum_significand;
      kiln_number_multiply #(
          .A_SIGNIFICAND_BITS(SIGNIFICAND),
          .A_EXPONENT_BITS(EXPONENT),
          .B_SIGNIFICAND_BITS(SIGNIFICAND),
          .B_EXPONENT_BITS(EXPONENT)
      ) multiply (
          .a_nan(x_nan),
          .a_infinite(x_infinite),
          .a_negative(x_negative),
          .a_exponent(x_exponent),
          .a_significand(x_significand),
          .b_nan(w_nan),
          .b_infinite(w_infinite),
          .b_negative(w_negative),
          .b_exponent(w_exponent),
          .b_significand(w_significand),
          .nan(product_nan),
          .infinite(product_infinite),
          .negative(product_negative),
          .exponent(product_exponent),
          .significand(product_significand)
      );
      kiln_number_add #(
          .A_SIGNIFICAND_BITS(SIGNIFICAND),
          .A_EXPONENT_BITS(EXPONENT),
          .B_SIGNIFICAND_BITS(SIGNIFICAND),
          .B_EXPONENT_BITS(EXPONENT),
          .RESULT_BITS(SIGNIFICAND)
      ) add (
          .clock(1'b0),
          .advance(1'b0),
          .a_nan(x_nan),
          .a_infinite(x_infinite),
          .a_negative(x_negative),
          .a_exponent(x_exponent),
          .a_significand(x_significand),
          .b_nan(w_nan),
          .b_infinite(w_infinite),
          .b_negative(w_negative),
          .b_exponent(w_exponent),
          .b_significand(w_significand),
          .nan(sum_nan),
          .infinite(sum_infinite),
          .negative(sum_negative),
          .exponent(sum_exponent),
          .significand(sum_significand)
      );

      logic [BITS-1:0] code;
      if (kiln_format_pkg::kind(FORMAT) == kiln_format_pkg::KIND_TABLE) begin : g_table
        assign code = '0;
      end else begin : g_code
        kiln_add_to_code #(
            .FORMAT(FORMAT),
            .SIGNIFICAND_BITS(SIGNIFICAND),
            .EXPONENT_BITS(EXPONENT)
        ) add_to_code (
            .clock(1'b0),
            .advance(1'b0),
            .code_advance(1'b0),
            .nan(x_nan),
            .infinite(x_infinite),
            .negative(x_negative),
            .exponent(x_exponent),
            .significand(x_significand),
            .code_in(w[BITS-1:0]),
            .code_out(code)
        );
      end
      logic signed [15:0] operand;
      if (kiln_format_pkg::integer_bits(FORMAT) > 0) begin : g_operand
        logic signed [kiln_format_pkg::integer_bits(FORMAT)-1:0] value;
        kiln_integer_operand #(.FORMAT(FORMAT)) count (
            .code (x[BITS-1:0]),
            .value(value)
        );
        assign operand = 16'(value);
      end else begin : g_no_operand
        assign operand = '0;
      end
      assign result[i*RECORD+:64] = 64'(product_significand) << (64 - 2 * SIGNIFICAND);
      assign result[i*RECORD+64+:64] = 64'(sum_significand) << (64 - SUM);
      assign result[i*RECORD+128+:32] = 32'(product_exponent);
      assign result[i*RECORD+160+:32] = 32'(sum_exponent);
      assign result[i*RECORD+192+:8] = 8'(code);
      assign result[i*RECORD+200+:16] = operand;
      assign result[i*RECORD+216+:6] = {
        sum_negative, sum_infinite, sum_nan, product_negative, product_infinite, product_nan
      };
      assign result[i*RECORD+222+:34] = '0;
    end else begin : g_none
      assign result[i*RECORD+:RECORD] = '0;
    end
  end

  kiln_normalise #(.WIDTH(13)) normalise (
      .in(bits),
      .out(normalised),
      .places(normalised_places)
  );
  kiln_normalise #(.WIDTH(8)) normalise_8 (
      .in(bits[7:0]),
      .out(normalised_8),
      .places(normalised_8_places)
  );
  kiln_shift_right_sticky #(
      .WIDTH(8),
      .PLACE_BITS(4)
  ) shift (
      .in(bits[7:0]),
      .places(places),
      .out(shifted)
  );
  for (genvar rounding = 0; rounding < 5; rounding++) begin : g_rounding
    kiln_round_up #(
        .ROUNDING (rounding),
        .REST_BITS(35)
    ) round (
        .negative(negative),
        .odd(odd),
        .rest(rest),
        .random(random),
        .up(up[rounding])
    );
  end
  // Word i of the table is 37 * i.
  kiln_constant_table #(
      .WIDTH(9),
      .DEPTH(12),
      .CONTENTS({9'd407, 9'd370, 9'd333, 9'd296, 9'd259, 9'd222,
                 9'd185, 9'd148, 9'd111, 9'd74, 9'd37, 9'd0})
  ) constants (
      .index(places),
      .word (word)
  );
  kiln_spline_evaluate evaluate_fp32 (
      .enable(1'b1),
      .spline(spline),
      .t(t),
      .value(spline_fp32),
      .in_domain(in_domain_fp32)
  );
  kiln_spline_evaluate #(
      .TABLES(kiln_spline_tables_pkg::BF16)
  ) evaluate_bf16 (
      .enable(1'b1),
      .spline(spline),
      .t(t),
      .value(spline_bf16),
      .in_domain(in_domain_bf16)
  );
endmodule
