// Adds a number, in the form of kiln_decode, to a code and rounds the sum once:
//   code_out = round(code_in + number)
//
//   time       combinational, or with REGISTERED one cycle: inputs of a cycle with `advance` give
//              the sum from the next cycle on, until the next such cycle. With CODE_REGISTERED
//              code_in is taken, and decoded, in an earlier cycle with `code_advance`.
module kiln_add_to_code #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_format_pkg::FP32,
    parameter  int SIGNIFICAND_BITS = 24,
    parameter  int EXPONENT_BITS = 9,
    parameter  bit REGISTERED = 1'b0,
    parameter  bit CODE_REGISTERED = 1'b0,
    localparam int BITS = kiln_format_pkg::bits(FORMAT)
) (
    input  logic                               clock,
    input  logic                               advance,
    input  logic                               code_advance,
    input  logic                               nan,
    input  logic                               infinite,
    input  logic                               negative,
    input  logic signed [   EXPONENT_BITS-1:0] exponent,
    input  logic        [SIGNIFICAND_BITS-1:0] significand,
    input  logic        [            BITS-1:0] code_in,      // codes of FORMAT
    output logic        [            BITS-1:0] code_out
);

  localparam int TERM_BITS = kiln_format_pkg::significand_bits(FORMAT);
  localparam int TERM_EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(FORMAT);
  localparam int SUM_BITS = kiln_format_pkg::sum_bits(SIGNIFICAND_BITS, TERM_BITS, TERM_BITS);
  localparam int SUM_EXPONENT_BITS =
      kiln_format_pkg::sum_exponent_bits(EXPONENT_BITS, TERM_EXPONENT_BITS, SUM_BITS);

  localparam int NUMBER_BITS = 3 + TERM_EXPONENT_BITS + TERM_BITS;
  logic code_nan, code_infinite, code_negative;
  logic signed [TERM_EXPONENT_BITS-1:0] code_exponent;
  logic [TERM_BITS-1:0] code_significand;
  logic [NUMBER_BITS-1:0] decoded, term;
  logic term_nan, term_infinite, term_negative;
  logic signed [TERM_EXPONENT_BITS-1:0] term_exponent;
  logic [TERM_BITS-1:0] term_significand;
  logic sum_nan, sum_infinite, sum_negative;
  logic signed [SUM_EXPONENT_BITS-1:0] sum_exponent;
  logic [SUM_BITS-1:0] sum_significand;

  kiln_decode #(.FORMAT(FORMAT)) decode (
      .code(code_in),
      .nan(code_nan),
      .infinite(code_infinite),
      .negative(code_negative),
      .exponent(code_exponent),
      .significand(code_significand)
  );
  assign decoded = {code_nan, code_infinite, code_negative, code_exponent, code_significand};
  if (CODE_REGISTERED) begin : g_code_register
    always_ff @(posedge clock) begin
      if (code_advance) term <= decoded;
    end
  end else begin : g_code_wire
    wire unused_advance = &{1'b0, code_advance};
    assign term = decoded;
  end
  assign {term_nan, term_infinite, term_negative, term_exponent, term_significand} = term;
  kiln_number_add #(
      .A_SIGNIFICAND_BITS(SIGNIFICAND_BITS),
      .A_EXPONENT_BITS(EXPONENT_BITS),
      .B_SIGNIFICAND_BITS(TERM_BITS),
      .B_EXPONENT_BITS(TERM_EXPONENT_BITS),
      .RESULT_BITS(TERM_BITS),
      .REGISTERED(REGISTERED)
  ) add (
      .clock,
      .advance,
      .a_nan(nan),
      .a_infinite(infinite),
      .a_negative(negative),
      .a_exponent(exponent),
      .a_significand(significand),
      .b_nan(term_nan),
      .b_infinite(term_infinite),
      .b_negative(term_negative),
      .b_exponent(term_exponent),
      .b_significand(term_significand),
      .nan(sum_nan),
      .infinite(sum_infinite),
      .negative(sum_negative),
      .exponent(sum_exponent),
      .significand(sum_significand)
  );
  kiln_encode #(
      .FORMAT(FORMAT),
      .SIGNIFICAND_BITS(SUM_BITS),
      .EXPONENT_BITS(SUM_EXPONENT_BITS)
  ) encode (
      .nan(sum_nan),
      .infinite(sum_infinite),
      .negative(sum_negative),
      .exponent(sum_exponent),
      .significand(sum_significand),
      .random('0),
      .code(code_out)
  );

endmodule
