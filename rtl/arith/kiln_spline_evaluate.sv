// Evaluates a spline at t: value = (c2 t + c1) t + c0, two fused multiply-adds with the
// coefficients of the segment that contains t. Arguments below the first segment use the first
// segment, and arguments above the last segment use the last.
//
//   in_domain  whether t is below the end of the spline's domain
//   time       combinational
module kiln_spline_evaluate #(
    parameter kiln_spline_pkg::tables_t TABLES = kiln_spline_tables_pkg::FP32
) (
    // 0: the outputs are not used, and a simulation computes nothing
    input  logic        enable,
    input  logic [ 3:0] spline,  // one of kiln_spline_pkg
    input  logic [31:0] t,       // fp32, not NaN
    output logic [31:0] value,
    output logic        in_domain
);

  localparam int SPLINES = kiln_spline_pkg::SPLINES;
  localparam int MOST_SEGMENTS = kiln_spline_pkg::MOST_SEGMENTS;
  localparam int ROW_BITS = kiln_spline_pkg::ROW_BITS;
  localparam int SEGMENTS = 32'(TABLES[kiln_spline_pkg::SEGMENTS+:4]);

  if (SEGMENTS < 1 || SEGMENTS > MOST_SEGMENTS) begin : g_segments
    $error("TABLES must have 1 to MOST_SEGMENTS segments");
  end

  // Knots 1 to SEGMENTS of every spline; the last one is the end of the domain.
  localparam int KNOT_BITS = SEGMENTS * 32;
  function automatic logic [SPLINES*KNOT_BITS-1:0] all_knots(
      input kiln_spline_pkg::tables_t tables);
    for (int i = 0; i < SPLINES; i++) begin
      for (int j = 1; j < SEGMENTS; j++) begin
        all_knots[i*KNOT_BITS+(j-1)*32+:32] = tables[(i*MOST_SEGMENTS+j)*ROW_BITS+96+:32];
      end
      all_knots[i*KNOT_BITS+(SEGMENTS-1)*32+:32] = tables[kiln_spline_pkg::ENDS+i*32+:32];
    end
  endfunction
  // Tables are memories that are never written, so that synthesis can choose ROMs or gates (as in
  // kiln_constant_table).
  localparam logic [SPLINES*KNOT_BITS-1:0] KNOTS = all_knots(TABLES);
  logic [KNOT_BITS-1:0] knot_words[SPLINES];
  logic [ROW_BITS-1:0] rows[SPLINES*MOST_SEGMENTS];
  initial begin
    for (int i = 0; i < SPLINES; i++) knot_words[i] = KNOTS[i*KNOT_BITS+:KNOT_BITS];
    for (int i = 0; i < SPLINES * MOST_SEGMENTS; i++) rows[i] = TABLES[i*ROW_BITS+:ROW_BITS];
  end

  // The segment is the index of the last knot that is not above t.
  logic [KNOT_BITS-1:0] knots;
  logic [SEGMENTS:1] unreached;
  logic [2:0] segment;
  always_comb begin
    knots = '0;
    unreached = '0;
    segment = '0;
    if (enable) begin
      knots = knot_words[spline];
      for (int i = 1; i <= SEGMENTS; i++)
        unreached[i] = kiln_fp32_pkg::greater(knots[(i-1)*32+:32], t);
      for (int i = 1; i < SEGMENTS; i++) if (!unreached[i]) segment = 3'(i);
    end
  end
  assign in_domain = unreached[SEGMENTS];

  logic [31:0] c0, c1, c2, inner, unused_knot;
  always_comb begin
    {unused_knot, c2, c1, c0} = '0;
    if (enable) {unused_knot, c2, c1, c0} = rows[{spline, segment}];
  end
  always_comb begin
    inner = '0;
    if (enable) inner = kiln_fp32_pkg::multiply_add(c2, t, c1);
  end
  always_comb begin
    value = '0;
    if (enable) value = kiln_fp32_pkg::multiply_add(inner, t, c0);
  end

`ifndef SYNTHESIS
  logic [SEGMENTS:1] passed;  // the knots that are not above t
  assign passed = ~unreached;
  always_comb begin
    if (enable) begin
      spline_exists : assert (32'(spline) < SPLINES);
      segment_exists : assert (32'(segment) < SEGMENTS);
      // Knots ascend: those that are not above t come before the others.
      knots_ascend : assert ((passed & (passed + 1'b1)) == '0);
    end
  end
`endif

endmodule
