// Returns the binary32 sum a + b, one fabric cycle later.
//   rounding   to nearest, ties to even; subnormal numbers are kept; a NaN result is
//              kiln_fp32_pkg::NAN
//   advance    a fabric cycle; registers keep their values in other cycles
module kiln_cgra_float_add (
    input  logic        clock,
    input  logic        advance,
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);
  // The exact sum, with a sticky bit, is found in the first cycle and rounded in the second.
  logic special, negative;  // special: a NaN, an infinity, or a term is zero
  logic [31:0] value;  // the result if it is special
  logic [63:0] sum;
  logic signed [kiln_fp32_pkg::EXPONENT_BITS-1:0] unit;

  logic swap, invalid;
  logic [31:0] greater_term, lesser_term;
  logic [7:0] distance;
  logic [63:0] upper, lower, shifted;
  assign swap = b[30:0] > a[30:0];
  assign greater_term = swap ? b : a;
  assign lesser_term = swap ? a : b;
  assign invalid = kiln_fp32_pkg::is_nan(a) || kiln_fp32_pkg::is_nan(b) ||
      (kiln_fp32_pkg::is_infinite(a) && kiln_fp32_pkg::is_infinite(b) && a[31] != b[31]);
  assign distance =
      8'(kiln_fp32_pkg::unit_of(greater_term) - kiln_fp32_pkg::unit_of(lesser_term));
  assign upper = 64'(kiln_fp32_pkg::significand_of(greater_term)) << 36;
  assign shifted = (64'(kiln_fp32_pkg::significand_of(lesser_term)) << 36) >> distance[5:0];
  // Further down it counts by being there.
  assign lower = distance <= 8'd36 ? shifted : 64'd1;
  always_ff @(posedge clock) begin
    if (advance) begin
      special  <= invalid || kiln_fp32_pkg::is_infinite(greater_term) ||
          kiln_fp32_pkg::is_zero(lesser_term);
      negative <= greater_term[31];
      if (invalid) value <= kiln_fp32_pkg::NAN;
      else if (kiln_fp32_pkg::is_zero(greater_term)) value <= {a[31] && b[31], 31'd0};
      else value <= greater_term;
      sum  <= a[31] == b[31] ? upper + lower : upper - lower;
      unit <= kiln_fp32_pkg::unit_of(greater_term) - 12'sd36;
    end
  end
  always_comb begin
    if (special) result = value;
    else if (sum == '0) result = '0;
    else result = kiln_fp32_pkg::round(negative, sum, unit);
  end

`ifndef SYNTHESIS
  logic issued = 1'b0;  // the registers hold a sum
  logic signed [kiln_fp32_pkg::EXPONENT_BITS-1:0] whole_distance;
  assign whole_distance =
      kiln_fp32_pkg::unit_of(greater_term) - kiln_fp32_pkg::unit_of(lesser_term);
  always_ff @(posedge clock) begin
    issued <= issued || advance;
    if (advance) begin
      distance_in_range : assert (whole_distance >= 0 && whole_distance <= 12'sd254);
      greater_first : assert (invalid || upper >= lower);
    end
    if (issued) one_nan : assert (!kiln_fp32_pkg::is_nan(result) ||
        result == kiln_fp32_pkg::NAN);
  end
`endif
endmodule
