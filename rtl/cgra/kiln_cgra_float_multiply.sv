// Returns the binary32 product a * b, one fabric cycle later.
//   rounding   to nearest, ties to even; subnormal numbers are kept; a NaN result is
//              kiln_fp32_pkg::NAN
//   advance    a fabric cycle; registers keep their values in other cycles
module kiln_cgra_float_multiply (
    input  logic        clock,
    input  logic        advance,
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);
  // The product of the significands is found in the first cycle and rounded in the second.
  logic special, negative;  // special: a NaN, an infinity or a zero
  logic [31:0] value;  // the result if it is special
  logic [47:0] product;
  logic signed [kiln_fp32_pkg::EXPONENT_BITS-1:0] unit;
  logic invalid, infinite, zero;
  assign infinite = kiln_fp32_pkg::is_infinite(a) || kiln_fp32_pkg::is_infinite(b);
  assign zero = kiln_fp32_pkg::is_zero(a) || kiln_fp32_pkg::is_zero(b);
  assign invalid = kiln_fp32_pkg::is_nan(a) || kiln_fp32_pkg::is_nan(b) || (infinite && zero);
  always_ff @(posedge clock) begin
    if (advance) begin
      special  <= invalid || infinite || zero;
      negative <= a[31] ^ b[31];
      value    <= invalid ? kiln_fp32_pkg::NAN :
          {a[31] ^ b[31], infinite ? kiln_fp32_pkg::INFINITY[30:0] : 31'd0};
      product  <= 48'(kiln_fp32_pkg::significand_of(a)) * 48'(kiln_fp32_pkg::significand_of(b));
      unit     <= kiln_fp32_pkg::unit_of(a) + kiln_fp32_pkg::unit_of(b);
    end
  end
  assign result = special ? value : kiln_fp32_pkg::round(negative, 64'(product), unit);

`ifndef SYNTHESIS
  logic issued = 1'b0;  // the registers hold a product
  always_ff @(posedge clock) begin
    issued <= issued || advance;
    if (issued) begin
      finite_product_not_zero : assert (special || product != '0);
      one_nan : assert (!kiln_fp32_pkg::is_nan(result) || result == kiln_fp32_pkg::NAN);
    end
  end
`endif
endmodule
