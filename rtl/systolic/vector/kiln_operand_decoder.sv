// An element of a memory operand as the vector unit sees it: integers fp32(code - zero_point) * scale, fp32 numbers as they are.
//   time      combinational
//   enable    0: the result is nobody's business
//   C++ twin  kiln::systolic::LoadValue (targets/systolic/arithmetic.h)
module kiln_operand_decoder (
    input  logic        enable,
    input  logic [ 2:0] element,     // kiln_systolic_pkg::element_t
    input  logic [31:0] bits,        // the element's bytes, right-aligned; bytes beside it are nobody's business
    input  logic [31:0] zero_point,
    input  logic [31:0] scale,       // fp32
    output logic [31:0] value        // fp32
);
  logic is_integer;
  logic [31:0] code;
  assign is_integer = element <= kiln_systolic_pkg::ELEMENT_INT32;
  always_comb begin
    case (element)
      kiln_systolic_pkg::ELEMENT_INT8: code = {{24{bits[7]}}, bits[7:0]} - zero_point;
      kiln_systolic_pkg::ELEMENT_UINT8: code = {24'd0, bits[7:0]} - zero_point;
      kiln_systolic_pkg::ELEMENT_INT16: code = {{16{bits[15]}}, bits[15:0]} - zero_point;
      default: code = bits - zero_point;
    endcase
  end

  always_comb begin
    value = bits;
    if (enable && is_integer) value = kiln_fp32_pkg::multiply(kiln_fp32_pkg::from_int32(code), scale);
  end
endmodule
