// A value on its way to memory. Integers: clamp(rne(value * inverse_scale) + zero_point, low, high), NaN counts as 0; fp32: the number, a NaN
// as 0x7fc00000.
//   time      combinational
//   enable    0: the result is nobody's business
//   C++ twin  kiln::systolic::StoreValue (targets/systolic/arithmetic.h)
module kiln_quantiser (
    input  logic               enable,
    input  logic        [ 2:0] element,        // kiln_systolic_pkg::element_t
    input  logic        [31:0] value,          // fp32
    input  logic        [31:0] inverse_scale,  // fp32
    input  logic signed [31:0] zero_point,
    input  logic signed [31:0] low,
    input  logic signed [31:0] high,
    output logic        [31:0] bits            // of an element of n bytes the lowest n
);
  always_comb begin
    bits = kiln_fp32_pkg::is_nan(value) ? kiln_fp32_pkg::NAN : value;
    if (enable && element <= kiln_systolic_pkg::ELEMENT_INT32) begin
      bits = kiln_fp32_pkg::to_code(value, inverse_scale, zero_point, low, high);
    end
  end
endmodule
