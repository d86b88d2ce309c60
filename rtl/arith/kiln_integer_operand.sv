// Returns a code's value in an integer sum: the code itself for integer formats (the scale of the
// result accounts for binary places), the value for tables of whole numbers.
//
//   time       combinational
//   C++ twin   kiln::IntegerOperand (numerics/mac.h)
module kiln_integer_operand #(
    parameter  kiln_format_pkg::format_t FORMAT = kiln_format_pkg::INT32,
    localparam int BITS = kiln_format_pkg::bits(FORMAT),
    localparam int INTEGER_BITS = kiln_format_pkg::integer_bits(FORMAT)  // see kiln_format_pkg
) (
    input  logic        [        BITS-1:0] code,
    output logic signed [INTEGER_BITS-1:0] value
);

  localparam int KIND = kiln_format_pkg::kind(FORMAT);

  if (INTEGER_BITS == 0) begin : g_no_operand
    $error("kiln_integer_operand: values of this format are no integers");
  end

  if (KIND == kiln_format_pkg::KIND_TABLE) begin : g_table
    localparam int CODES = 1 << BITS;
    localparam int WHOLE_BITS = kiln_format_pkg::WHOLE_BITS;
    localparam logic [kiln_format_pkg::MOST_CODES*WHOLE_BITS-1:0] VALUES =
        kiln_format_pkg::whole_values(FORMAT);
    logic [WHOLE_BITS-1:0] word;
    kiln_constant_table #(
        .WIDTH(WHOLE_BITS),
        .DEPTH(CODES),
        .CONTENTS(VALUES[CODES*WHOLE_BITS-1:0])
    ) values (
        .index(code),
        .word(word)
    );
    assign value = word[INTEGER_BITS-1:0];
    wire unused_signs = &{1'b0, word};
`ifndef SYNTHESIS
    always_comb value_fits : assert (WHOLE_BITS'(value) == word);
`endif
  end else if (kiln_format_pkg::is_signed(FORMAT)) begin : g_signed
    assign value = code;
  end else begin : g_unsigned
    assign value = {1'b0, code};
  end

endmodule
