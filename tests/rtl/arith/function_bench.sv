// kiln_function for two widths of fractions and two latencies, and with few functions.
module function_bench (
    input  logic        clock,
    input  logic        advance,
    input  logic        enable,
    input  logic [ 3:0] select,
    input  logic [31:0] x,
    output logic [31:0] fp16,   // 10 fraction bits, 4 cycles later
    output logic [31:0] bf16,   // of the upper 7 fraction bits of x, 6 cycles later
    output logic [31:0] tanh,   // for every select, 4 cycles later
    output logic [31:0] pair    // with silu and sqrt alone, 5 cycles later
);

  logic [31:0] short_x;
  assign short_x = {x[31:16], 16'd0};

  kiln_function #(.FRACTION_BITS(10), .LATENCY(4)) unit_fp16
      (.clock, .advance, .enable, .select, .x, .result(fp16));
  kiln_function #(.FRACTION_BITS(7), .LATENCY(6)) unit_bf16
      (.clock, .advance, .enable, .select, .x(short_x), .result(bf16));
  kiln_function #(
      .FRACTION_BITS(10),
      .LATENCY(4),
      .FUNCTIONS(15'(1 << kiln_spline_pkg::TANH))
  ) unit_tanh (
      .clock,
      .advance,
      .enable,
      .select,
      .x,
      .result(tanh)
  );
  kiln_function #(
      .FRACTION_BITS(10),
      .LATENCY(5),
      .FUNCTIONS(15'((1 << kiln_spline_pkg::SILU) | (1 << kiln_spline_pkg::SQRT)))
  ) unit_pair (
      .clock,
      .advance,
      .enable,
      .select,
      .x,
      .result(pair)
  );

endmodule
