// One multiply-accumulate of a weight-stationary array: psum_out = round(psum_in + x * w).
//
//   integer psum   operands as in kiln_integer_operand; the sum wraps modulo 2^bits and is
//                  otherwise exact
//   other psum     the product is exact and the sum rounded once; with PRODUCT_ROUNDED the product
//                  is rounded to the psum's format before it is added
//   quire          exact
//   time           x and w in cycle t, psum_in in t + PRODUCT_REGISTERS, psum_out in t +
//                  PRODUCT_REGISTERS + SUM_REGISTERS; without registers combinational
//   enable         the register behind the product takes a value in cycles with product_advance,
//                  the one within the sum in cycles with sum_advance
//   counts         with SUM_REGISTERS, in the cycle of x: 0 leaves the sum as it is
//   C++ twin       kiln::PsumStep (numerics/mac.h), kiln::Quire::AddProduct (numerics/quire.h)
module kiln_multiply_accumulate #(
    parameter  kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter  kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter  kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter  bit PRODUCT_ROUNDED = 1'b0,
    parameter  int unsigned PRODUCT_REGISTERS = 0,  // 0 or 1
    parameter  int unsigned SUM_REGISTERS = 0,      // 0 or 1; floats and posits only
    localparam int INPUT_BITS = kiln_format_pkg::bits(INPUT_FORMAT),
    localparam int WEIGHT_BITS = kiln_format_pkg::bits(WEIGHT_FORMAT),
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT)
) (
    input  logic                   clock,
    input  logic                   product_advance,
    input  logic                   sum_advance,
    input  logic                   counts,
    input  logic [ INPUT_BITS-1:0] x,         // a code of INPUT_FORMAT
    input  logic [WEIGHT_BITS-1:0] w,         // a code of WEIGHT_FORMAT
    input  logic [  PSUM_BITS-1:0] psum_in,   // codes of PSUM_FORMAT
    output logic [  PSUM_BITS-1:0] psum_out
);

  if (kiln_format_pkg::kind(PSUM_FORMAT) == kiln_format_pkg::KIND_INTEGER) begin : g_integer
    localparam int X_BITS = kiln_format_pkg::integer_bits(INPUT_FORMAT);
    localparam int W_BITS = kiln_format_pkg::integer_bits(WEIGHT_FORMAT);
    // Wide enough for the product and for the sum; a narrow psum drops the upper bits.
    localparam int BITS = X_BITS + W_BITS > PSUM_BITS ? X_BITS + W_BITS : PSUM_BITS;
    logic signed [X_BITS-1:0] x_value;
    logic signed [W_BITS-1:0] w_value;
    logic signed [BITS-1:0] sum;
    kiln_integer_operand #(.FORMAT(INPUT_FORMAT)) x_operand (.code(x), .value(x_value));
    kiln_integer_operand #(.FORMAT(WEIGHT_FORMAT)) w_operand (.code(w), .value(w_value));
    logic signed [X_BITS+W_BITS-1:0] exact, product;
    assign exact = (X_BITS + W_BITS)'(x_value) * (X_BITS + W_BITS)'(w_value);
    if (PRODUCT_REGISTERS == 0) begin : g_now
      assign product = exact;
      wire unused_clock = &{1'b0, clock, product_advance};
    end else begin : g_later
      always_ff @(posedge clock) if (product_advance) product <= exact;
    end
    wire unused_control = &{1'b0, sum_advance, counts};
    if (SUM_REGISTERS != 0) begin : g_one_cycle
      $error("kiln_multiply_accumulate: an integer sum takes one cycle");
    end
    assign sum = BITS'(signed'(psum_in)) + BITS'(product);
    assign psum_out = sum[PSUM_BITS-1:0];
    wire unused_rounding = PRODUCT_ROUNDED;  // an integer product is exact either way
    if (BITS > PSUM_BITS) begin : g_wrapped
      wire unused_carries = &{1'b0, sum[BITS-1:PSUM_BITS]};
    end
  end else begin : g_real
    localparam int X_BITS = kiln_format_pkg::significand_bits(INPUT_FORMAT);
    localparam int X_EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(INPUT_FORMAT);
    localparam int W_BITS = kiln_format_pkg::significand_bits(WEIGHT_FORMAT);
    localparam int W_EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(WEIGHT_FORMAT);
    localparam int PRODUCT_BITS = X_BITS + W_BITS;
    localparam int PRODUCT_EXPONENT_BITS =
        kiln_format_pkg::product_exponent_bits(X_EXPONENT_BITS, W_EXPONENT_BITS);

    logic x_nan, x_infinite, x_negative;
    logic signed [X_EXPONENT_BITS-1:0] x_exponent;
    logic [X_BITS-1:0] x_significand;
    logic w_nan, w_infinite, w_negative;
    logic signed [W_EXPONENT_BITS-1:0] w_exponent;
    logic [W_BITS-1:0] w_significand;
    localparam int STATE_BITS = 3 + PRODUCT_EXPONENT_BITS + PRODUCT_BITS;
    logic exact_nan, exact_infinite, exact_negative;
    logic signed [PRODUCT_EXPONENT_BITS-1:0] exact_exponent;
    logic [PRODUCT_BITS-1:0] exact_significand;
    logic [STATE_BITS-1:0] exact, state;
    logic product_nan, product_infinite, product_negative;
    logic signed [PRODUCT_EXPONENT_BITS-1:0] product_exponent;
    logic [PRODUCT_BITS-1:0] product_significand;
    kiln_decode #(.FORMAT(INPUT_FORMAT)) decode_x (
        .code(x),
        .nan(x_nan),
        .infinite(x_infinite),
        .negative(x_negative),
        .exponent(x_exponent),
        .significand(x_significand)
    );
    kiln_decode #(.FORMAT(WEIGHT_FORMAT)) decode_w (
        .code(w),
        .nan(w_nan),
        .infinite(w_infinite),
        .negative(w_negative),
        .exponent(w_exponent),
        .significand(w_significand)
    );
    kiln_number_multiply #(
        .A_SIGNIFICAND_BITS(X_BITS),
        .A_EXPONENT_BITS(X_EXPONENT_BITS),
        .B_SIGNIFICAND_BITS(W_BITS),
        .B_EXPONENT_BITS(W_EXPONENT_BITS)
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
        .nan(exact_nan),
        .infinite(exact_infinite),
        .negative(exact_negative),
        .exponent(exact_exponent),
        .significand(exact_significand)
    );
    // A number minus zero is the number, also if it is a zero: -0 takes the place of a product that
    // does not count.
    if (SUM_REGISTERS == 0) begin : g_always
      assign exact = {exact_nan, exact_infinite, exact_negative, exact_exponent, exact_significand};
      wire unused_counts = counts;
    end else begin : g_counts
      assign exact = counts ?
          {exact_nan, exact_infinite, exact_negative, exact_exponent, exact_significand} :
          STATE_BITS'(1) << (STATE_BITS - 3);
    end
    // In simulation, `known` is low until the register has its first product. Before that, its
    // contents need not be a number, which the assertions of what follows would report: the
    // significand is then 0.
    logic known;
    logic [PRODUCT_BITS-1:0] state_significand;
    if (PRODUCT_REGISTERS == 0) begin : g_now
      assign state = exact;
      assign known = 1'b1;
      wire unused_clock = &{1'b0, clock, product_advance};
    end else begin : g_later
      always_ff @(posedge clock) if (product_advance) state <= exact;
`ifdef SYNTHESIS
      assign known = 1'b1;
`else
      initial known = 1'b0;
      always_ff @(posedge clock) if (product_advance) known <= 1'b1;
`endif
    end
    assign {product_nan, product_infinite, product_negative, product_exponent,
        state_significand} = state;
    assign product_significand = known ? state_significand : '0;

    if (kiln_format_pkg::kind(PSUM_FORMAT) == kiln_format_pkg::KIND_QUIRE) begin : g_quire
      wire unused_sum_advance = sum_advance;
      if (SUM_REGISTERS != 0) begin : g_one_cycle
        $error("kiln_multiply_accumulate: a sum in a quire takes one cycle");
      end
      kiln_quire_add_product #(
          .FORMAT(PSUM_FORMAT),
          .SIGNIFICAND_BITS(PRODUCT_BITS),
          .EXPONENT_BITS(PRODUCT_EXPONENT_BITS)
      ) add (
          .nan(product_nan),
          .infinite(product_infinite),
          .negative(product_negative),
          .exponent(product_exponent),
          .significand(product_significand),
          .code_in(psum_in),
          .code_out(psum_out)
      );
    end else if (PRODUCT_ROUNDED) begin : g_rounded
      localparam int TERM_BITS = kiln_format_pkg::significand_bits(PSUM_FORMAT);
      localparam int TERM_EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(PSUM_FORMAT);
      logic [PSUM_BITS-1:0] product;
      logic term_nan, term_infinite, term_negative;
      logic signed [TERM_EXPONENT_BITS-1:0] term_exponent;
      logic [TERM_BITS-1:0] term_significand;
      kiln_encode #(
          .FORMAT(PSUM_FORMAT),
          .SIGNIFICAND_BITS(PRODUCT_BITS),
          .EXPONENT_BITS(PRODUCT_EXPONENT_BITS)
      ) round (
          .nan(product_nan),
          .infinite(product_infinite),
          .negative(product_negative),
          .exponent(product_exponent),
          .significand(product_significand),
          .random('0),
          .code(product)
      );
      kiln_decode #(.FORMAT(PSUM_FORMAT)) decode (
          .code(product),
          .nan(term_nan),
          .infinite(term_infinite),
          .negative(term_negative),
          .exponent(term_exponent),
          .significand(term_significand)
      );
      kiln_add_to_code #(
          .FORMAT(PSUM_FORMAT),
          .SIGNIFICAND_BITS(TERM_BITS),
          .EXPONENT_BITS(TERM_EXPONENT_BITS),
          .REGISTERED(SUM_REGISTERS != 0)
      ) add (
          .clock,
          .advance(sum_advance),
          .code_advance(1'b0),
          .nan(term_nan),
          .infinite(term_infinite),
          .negative(term_negative),
          .exponent(term_exponent),
          .significand(term_significand),
          .code_in(psum_in),
          .code_out(psum_out)
      );
    end else begin : g_exact
      kiln_add_to_code #(
          .FORMAT(PSUM_FORMAT),
          .SIGNIFICAND_BITS(PRODUCT_BITS),
          .EXPONENT_BITS(PRODUCT_EXPONENT_BITS),
          .REGISTERED(SUM_REGISTERS != 0)
      ) add (
          .clock,
          .advance(sum_advance),
          .code_advance(1'b0),
          .nan(product_nan),
          .infinite(product_infinite),
          .negative(product_negative),
          .exponent(product_exponent),
          .significand(product_significand),
          .code_in(psum_in),
          .code_out(psum_out)
      );
    end
  end

endmodule
