// One node of a reduction in the vector unit: a + b rounded to the vector format, or a > b ? a : b.
// Combinational. Numbers are the upper NUMBER bits of fp32 numbers (kiln_format_pkg::number_bits).
module kiln_vector_join #(
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    // derived, do not set
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(VECTOR_FORMAT)
) (
    input  logic        enable,   // 0: the result is not used
    input  logic        maximum,  // 1: maximum, 0: sum
    input  logic [NUMBER-1:0] a,
    input  logic [NUMBER-1:0] b,
    output logic [NUMBER-1:0] result
);
  if (kiln_format_pkg::is_short_float(VECTOR_FORMAT)) begin : g_short
    logic a_greater;
    logic [NUMBER-1:0] sum;
    kiln_float_add #(
        .FORMAT(VECTOR_FORMAT)
    ) add (
        .clock(1'b0),
        .advance(1'b0),
        .a,
        .b,
        .sum
    );
    assign a_greater = kiln_fp32_pkg::greater(32'(a) << (32 - NUMBER), 32'(b) << (32 - NUMBER));
    always_comb begin
      result = '0;
      if (enable) result = !maximum ? sum : a_greater ? a : b;
    end
  end else begin : g_whole
    localparam bit NARROW = VECTOR_FORMAT != kiln_named_formats_pkg::FP32;
    localparam logic [kiln_format_pkg::ROUNDING_BITS-1:0] ROUNDING =
        kiln_format_pkg::fp32_rounding(VECTOR_FORMAT);
    logic [31:0] whole_a, whole_b, whole;
    assign whole_a = 32'(a) << (32 - NUMBER);
    assign whole_b = 32'(b) << (32 - NUMBER);
    always_comb begin
      whole = '0;
      if (enable && maximum) whole = kiln_fp32_pkg::maximum(whole_a, whole_b);
      if (enable && !maximum) begin
        whole = kiln_fp32_pkg::add(whole_a, whole_b);
        if (NARROW) whole = kiln_fp32_pkg::round_to(whole, ROUNDING);
      end
    end
    assign result = whole[31-:NUMBER];
    wire unused_whole = &{1'b0, whole};  // low bits, which are 0
  end
endmodule
