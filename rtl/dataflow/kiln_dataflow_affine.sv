// Scales and adds codes: each lane computes clamp((x0 * M0 + x1 * M1 + C) >> SHIFT, LOW, HIGH),
// where >> rounds towards minus infinity. With one input, x1 is 0. Exact for all codes.
//   in_*, other_*  the consumer's sides of the input channels: x0, and x1 with INPUTS = 2
//   out_*      the producer's side of the output channel
//   time       pops a word of each input in cycle t if all are valid and there is room, and pushes
//              the result in t + 5
module kiln_dataflow_affine #(
    parameter int unsigned LANES = 1,
    parameter int unsigned INPUTS = 1,  // 1 or 2
    parameter int unsigned IN_BITS = 8,
    parameter bit IN_SIGNED = 1'b1,
    parameter int unsigned OTHER_BITS = 8,
    parameter bit OTHER_SIGNED = 1'b1,
    parameter int unsigned OUT_BITS = 8,
    parameter int M0 = 1,  // signed, 18 bits
    parameter int M1 = 1,  // signed, 18 bits
    parameter logic signed [47:0] C = 48'sd0,
    parameter int unsigned SHIFT = 0,  // 0 to 47
    parameter int LOW = -128,
    parameter int HIGH = 127,
    localparam int unsigned IN_WIDTH = LANES * IN_BITS,  // derived, do not set
    localparam int unsigned OTHER_WIDTH = LANES * OTHER_BITS,  // derived, do not set
    localparam int unsigned OUT_WIDTH = LANES * OUT_BITS  // derived, do not set
) (
    input  logic                   clock,
    input  logic                   reset,
    input  logic                   in_valid,
    input  logic [   IN_WIDTH-1:0] in_data,
    output logic                   in_pop,
    input  logic                   other_valid,
    input  logic [OTHER_WIDTH-1:0] other_data,
    output logic                   other_pop,
    input  logic                   out_room,
    output logic                   out_reserve,
    output logic                   out_push,
    output logic [  OUT_WIDTH-1:0] out_data
);
  localparam int unsigned SUM_BITS = 50;
  localparam int unsigned SHIFTED_BITS = SUM_BITS - SHIFT > 18 ? SUM_BITS - SHIFT : 18;
  localparam logic signed [17:0] FACTOR0 = 18'(M0);
  localparam logic signed [17:0] FACTOR1 = 18'(M1);
  localparam logic signed [SHIFTED_BITS-1:0] LEAST = SHIFTED_BITS'(LOW);
  localparam logic signed [SHIFTED_BITS-1:0] GREATEST = SHIFTED_BITS'(HIGH);
  if (INPUTS < 1 || INPUTS > 2 || SHIFT > 47 || M0 < -131072 || M0 > 131071 || M1 < -131072 ||
      M1 > 131071) begin : g_parameters
    $error("INPUTS must be 1 or 2, SHIFT 47 at most, M0 and M1 of 18 bits");
  end

  logic step;
  assign step = in_valid && (other_valid || INPUTS == 1) && out_room;
  assign in_pop = step;
  assign other_pop = step && INPUTS == 2;
  assign out_reserve = step;
  kiln_pulse_delay #(
      .CYCLES(5)
  ) push_delay (
      .clock,
      .reset,
      .in (step),
      .out(out_push)
  );

  for (genvar l = 0; l < LANES; l++) begin : g_lane
    logic signed [IN_BITS:0] x0;
    logic signed [IN_BITS+18:0] product0;
    logic signed [SUM_BITS-1:0] sum, offset_sum;
    logic signed [SHIFTED_BITS-1:0] shifted;
    always_ff @(posedge clock) begin
      x0 <= {IN_SIGNED && in_data[(l+1)*IN_BITS-1], in_data[l*IN_BITS+:IN_BITS]};
      product0 <= x0 * FACTOR0;
      offset_sum <= sum + SUM_BITS'(C);
    end
    if (INPUTS == 2) begin : g_two
      logic signed [OTHER_BITS:0] x1;
      logic signed [OTHER_BITS+18:0] product1;
      always_ff @(posedge clock) begin
        x1 <= {
          OTHER_SIGNED && other_data[(l+1)*OTHER_BITS-1], other_data[l*OTHER_BITS+:OTHER_BITS]
        };
        product1 <= x1 * FACTOR1;
        sum <= SUM_BITS'(product0) + SUM_BITS'(product1);
      end
    end else begin : g_one
      always_ff @(posedge clock) sum <= SUM_BITS'(product0);
    end
    assign shifted = SHIFTED_BITS'(offset_sum >>> SHIFT);
    always_ff @(posedge clock) begin
      if (shifted < LEAST) out_data[l*OUT_BITS+:OUT_BITS] <= OUT_BITS'(LEAST);
      else if (shifted > GREATEST) out_data[l*OUT_BITS+:OUT_BITS] <= OUT_BITS'(GREATEST);
      else out_data[l*OUT_BITS+:OUT_BITS] <= OUT_BITS'(shifted);
    end
  end
  if (INPUTS == 1) begin : g_no_other
    wire unused_other = &{1'b0, other_valid, other_data, OTHER_SIGNED, FACTOR1};
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      popped_only_when_valid : assert (!(in_pop && !in_valid) && !(other_pop && !other_valid));
      reserved_only_with_room : assert (!out_reserve || out_room);
    end
  end
`endif
endmodule
