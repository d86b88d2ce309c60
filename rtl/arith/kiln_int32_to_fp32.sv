// Converts a two's complement integer to fp32, rounded to nearest, ties to even.
//
//   time       combinational
module kiln_int32_to_fp32 (
    input  logic signed [31:0] value,
    output logic        [31:0] result
);

  assign result = kiln_fp32_pkg::from_int32(value);

`ifndef SYNTHESIS
  always_comb begin
    sign_stays : assert (value == '0 ? result == '0 : result[31] == value[31]);
    magnitude_in_range : assert (value == '0 ||
        (result[30:23] >= 8'd127 && result[30:23] <= 8'd158));
  end
`endif

endmodule
