// a op b of a reduction: a + b rounded to the vector format, or a > b ? a : b. Combinational.
module kiln_vector_join #(
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32
) (
    input  logic        enable,   // 0: the result is nobody's business
    input  logic        maximum,  // else the sum
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);
  localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
  localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING = kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);
  always_comb begin
    result = '0;
    if (enable && maximum) result = kiln_fp32_pkg::maximum(a, b);
    if (enable && !maximum) begin
      result = kiln_fp32_pkg::add(a, b);
      if (NARROW) result = kiln_fp32_pkg::round_to(result, ROUNDING);
    end
  end
endmodule
