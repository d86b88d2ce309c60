// kiln_spline with the tables of two vector formats, and with only one function.
module spline_bench (
    input  logic [ 3:0] select,
    input  logic [31:0] x,
    output logic [31:0] fp32,
    output logic [31:0] bf16,
    output logic [31:0] tanh    // of x, for every select
);

  kiln_spline #(.TABLES(kiln_spline_tables_pkg::FP32)) unit_fp32
      (.select(select), .x(x), .result(fp32));
  kiln_spline #(.TABLES(kiln_spline_tables_pkg::BF16)) unit_bf16
      (.select(select), .x(x), .result(bf16));
  kiln_spline #(
      .FUNCTIONS(15'(1 << kiln_spline_pkg::TANH))
  ) unit_tanh (
      .select(4'(kiln_spline_pkg::TANH)),
      .x(x),
      .result(tanh)
  );

endmodule
