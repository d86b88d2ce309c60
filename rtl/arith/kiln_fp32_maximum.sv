// a > b ? a : b, which settles NaN (b) and zeros of two signs (b). Bits pass through unchanged.
//
//   time       combinational
module kiln_fp32_maximum (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] result
);

  logic choose_a;
  kiln_fp32_greater compare (
      .a(a),
      .b(b),
      .greater(choose_a)
  );
  assign result = choose_a ? a : b;

endmodule
