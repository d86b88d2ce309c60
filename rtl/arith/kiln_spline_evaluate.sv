// A spline at t: value = (c2 t + c1) t + c0, two fused multiply-adds, with the coefficients of the segment that holds t.
// What lies before the first (after the last) segment takes the first (last) one's.
//
//   in_domain  whether t lies before the end of the spline's domain
//   time       combinational
module kiln_spline_evaluate #(
    parameter kiln_spline_pkg::tables_t TABLES = kiln_spline_tables_pkg::FP32
) (
    input  logic [ 3:0] spline,  // one of kiln_spline_pkg
    input  logic [31:0] t,       // fp32, no NaN
    output logic [31:0] value,
    output logic        in_domain
);

  localparam int SPLINES = kiln_spline_pkg::SPLINES;
  localparam int MOST_SEGMENTS = kiln_spline_pkg::MOST_SEGMENTS;
  localparam int ROW_BITS = kiln_spline_pkg::ROW_BITS;
  localparam int SEGMENTS = 32'(TABLES[kiln_spline_pkg::SEGMENTS+:4]);

  // The segment: the number of the last knot that t has reached.
  logic [SEGMENTS-1:0] unreached;
  assign unreached[0] = 1'b0;
  for (genvar i = 1; i < SEGMENTS; i++) begin : g_knot
    logic [SPLINES*32-1:0] knots;
    for (genvar j = 0; j < SPLINES; j++) begin : g_spline
      assign knots[j*32+:32] = TABLES[(j*MOST_SEGMENTS+i)*ROW_BITS+96+:32];
    end
    kiln_fp32_greater compare (
        .a(knots[spline*32+:32]),
        .b(t),
        .greater(unreached[i])
    );
  end
  logic [2:0] segment;
  always_comb begin
    segment = '0;
    for (int i = 1; i < SEGMENTS; i++) if (!unreached[i]) segment = 3'(i);
  end

  localparam logic [SPLINES*32-1:0] ENDS = TABLES[kiln_spline_pkg::ENDS+:SPLINES*32];
  kiln_fp32_greater compare_end (
      .a(ENDS[spline*32+:32]),
      .b(t),
      .greater(in_domain)
  );

  localparam logic [SPLINES*MOST_SEGMENTS*ROW_BITS-1:0] ROWS = TABLES[SPLINES*MOST_SEGMENTS*ROW_BITS-1:0];
  logic [31:0] c0, c1, c2, inner, unused_knot;
  assign {unused_knot, c2, c1, c0} = ROWS[{spline, segment, 7'd0}+:ROW_BITS];
  kiln_fp32_multiply_add evaluate_inner (
      .a(c2),
      .b(t),
      .c(c1),
      .result(inner)
  );
  kiln_fp32_multiply_add evaluate (
      .a(inner),
      .b(t),
      .c(c0),
      .result(value)
  );

endmodule
