// Returns value * power, where power is a power of two, zero, infinite or NaN: a product without a
// multiplier. The bits of another power below its leading one are ignored.
//
//   time       combinational
//   rounding   to nearest, ties to even; subnormal numbers are kept; every NaN is
//              kiln_format_pkg::FP32_NAN
module kiln_fp32_times_power (
    input  logic [31:0] value,
    input  logic [31:0] power,
    output logic [31:0] product
);
  localparam int FIELD_BITS = 10;  // bits of exponent fields, signed

  // Both magnitudes are 1.f * 2^(field - 127); the leading one of a subnormal number is found.
  logic [23:0] significand;
  logic [5:0] value_zeros, power_zeros;
  logic signed [FIELD_BITS-1:0] value_field, power_field, field;
  logic value_subnormal, power_subnormal, special;
  assign value_subnormal = value[30:23] == '0;
  assign power_subnormal = power[30:23] == '0;
  assign value_zeros = kiln_fp32_pkg::leading_zeros({value[22:0], 1'b1, 40'd0});
  assign power_zeros = kiln_fp32_pkg::leading_zeros({power[22:0], 1'b1, 40'd0});
  assign significand = value_subnormal ? {value[22:0], 1'b0} << value_zeros : {1'b1, value[22:0]};
  assign value_field = value_subnormal ? -signed'({4'd0, value_zeros}) :
      signed'({2'd0, value[30:23]});
  assign power_field = power_subnormal ? -signed'({4'd0, power_zeros}) :
      signed'({2'd0, power[30:23]});
  assign field = value_field + power_field - 10'sd127;

  // A subnormal product drops 1 - field bits; of 25 and more bits nothing remains.
  logic signed [FIELD_BITS-1:0] places;
  logic [4:0] dropped_bits;
  logic [23:0] kept, dropped, subnormal;
  assign places       = 10'sd1 - field;
  assign dropped_bits = places > 10'sd25 ? 5'd25 : places[4:0];
  assign {kept, dropped} = {significand, 24'd0} >> dropped_bits;
  assign subnormal = kept + 24'(dropped[23] && (dropped[22:0] != '0 || kept[0]));

  logic negative, any_nan, any_infinite, any_zero;
  assign negative     = value[31] ^ power[31];
  assign any_nan      = kiln_fp32_pkg::is_nan(value) || kiln_fp32_pkg::is_nan(power);
  assign any_infinite = kiln_fp32_pkg::is_infinite(value) || kiln_fp32_pkg::is_infinite(power);
  assign any_zero     = kiln_fp32_pkg::is_zero(value) || kiln_fp32_pkg::is_zero(power);
  assign special      = any_nan || any_infinite || any_zero;
  always_comb begin
    product = {negative, field[7:0], significand[22:0]};
    if (field <= 10'sd0) product[30:0] = {7'd0, subnormal};
    if (any_zero) product[30:0] = '0;
    if (any_infinite || (!special && field >= 10'sd255))
      product[30:0] = kiln_fp32_pkg::INFINITY[30:0];
    if (any_nan || (any_infinite && any_zero)) product = kiln_fp32_pkg::NAN;
  end

`ifndef SYNTHESIS
  always_comb begin
    one_nan : assert (!kiln_fp32_pkg::is_nan(product) || product == kiln_fp32_pkg::NAN);
  end
`endif

endmodule
