// Whether a > b: false when either is NaN; zeros of both signs are equal.
//
//   time       combinational
module kiln_fp32_greater (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic        greater
);

  logic nan, zeros, above, below;
  assign nan = a[30:0] > 31'h7f80_0000 || b[30:0] > 31'h7f80_0000;
  assign zeros = a[30:0] == '0 && b[30:0] == '0;
  assign above = a[30:0] > b[30:0];
  assign below = a[30:0] < b[30:0];
  always_comb begin
    if (nan || zeros) greater = 1'b0;
    else if (a[31] != b[31]) greater = b[31];
    else greater = a[31] ? below : above;
  end

endmodule
