// Converts a two's complement integer to fp32, rounded to nearest, ties to even.
//
//   time       combinational
module kiln_int32_to_fp32 (
    input  logic signed [31:0] value,
    output logic        [31:0] result
);

  assign result = kiln_fp32_pkg::from_int32(value);

endmodule
