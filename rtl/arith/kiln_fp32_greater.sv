// Returns whether a > b: false if either is NaN; zeros of both signs are equal.
//
//   time       combinational
module kiln_fp32_greater (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic        greater
);

  assign greater = kiln_fp32_pkg::greater(a, b);

endmodule
