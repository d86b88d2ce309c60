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

  // Knots 1 to SEGMENTS of every spline; the last one is the end of the domain.
  localparam int KNOT_BITS = SEGMENTS * 32;
  function automatic logic [SPLINES*KNOT_BITS-1:0] all_knots(input kiln_spline_pkg::tables_t tables);
    for (int i = 0; i < SPLINES; i++) begin
      for (int j = 1; j < SEGMENTS; j++) begin
        all_knots[i*KNOT_BITS+(j-1)*32+:32] = tables[(i*MOST_SEGMENTS+j)*ROW_BITS+96+:32];
      end
      all_knots[i*KNOT_BITS+(SEGMENTS-1)*32+:32] = tables[kiln_spline_pkg::ENDS+i*32+:32];
    end
  endfunction
  logic [KNOT_BITS-1:0] knots;
  kiln_constant_table #(
      .WIDTH(KNOT_BITS),
      .DEPTH(SPLINES),
      .CONTENTS(all_knots(TABLES))
  ) knot_table (
      .index(spline),
      .word(knots)
  );

  // The segment: the number of the last knot that t has reached.
  logic [SEGMENTS:1] unreached;
  for (genvar i = 1; i <= SEGMENTS; i++) begin : g_knot
    kiln_fp32_greater compare (
        .a(knots[(i-1)*32+:32]),
        .b(t),
        .greater(unreached[i])
    );
  end
  logic [2:0] segment;
  always_comb begin
    segment = '0;
    for (int i = 1; i < SEGMENTS; i++) if (!unreached[i]) segment = 3'(i);
  end
  assign in_domain = unreached[SEGMENTS];

  logic [31:0] c0, c1, c2, unused_knot;
  logic [31:0] inner;
  kiln_constant_table #(
      .WIDTH(ROW_BITS),
      .DEPTH(SPLINES * MOST_SEGMENTS),
      .CONTENTS(TABLES[SPLINES*MOST_SEGMENTS*ROW_BITS-1:0])
  ) coefficients (
      .index({spline, segment}),
      .word({unused_knot, c2, c1, c0})
  );
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
