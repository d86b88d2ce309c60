// One lane of the requantisation by multiplication: code = clamp((sum * m + c) >> SHIFT, LOW,
// HIGH), where >> rounds towards minus infinity. Exact for all operands.
//   time   sum, m and c in cycle t give the code in t + 4
// A sum of more than MULTIPLIER_BITS bits is multiplied in two parts, of which the lower has 17
// bits, each by a multiplier of its own.
module kiln_dataflow_scale #(
    parameter int unsigned SUM_BITS = 32,
    parameter int unsigned C_BITS = 52,
    parameter int unsigned OUT_BITS = 8,
    parameter int unsigned SHIFT = 16,  // 0 to 47
    parameter int LOW = -128,
    parameter int HIGH = 127,
    parameter int unsigned MULTIPLIER_BITS = 27  // 27 of a DSP48E2, 25 of a DSP48E1
) (
    input  logic                clock,
    input  logic [SUM_BITS-1:0] sum,  // signed
    input  logic [        16:0] m,    // unsigned
    input  logic [  C_BITS-1:0] c,    // signed
    output logic [OUT_BITS-1:0] code
);
  localparam int unsigned PRODUCT_BITS = SUM_BITS + 18;
  localparam int unsigned SCALED_BITS = (PRODUCT_BITS > C_BITS ? PRODUCT_BITS : C_BITS) + 1;
  // At least the bits of the bounds.
  localparam int unsigned SHIFTED_BITS = SCALED_BITS > SHIFT + 18 ? SCALED_BITS - SHIFT : 18;
  localparam int unsigned LOWER_BITS = 17;
  localparam logic signed [SHIFTED_BITS-1:0] LEAST = SHIFTED_BITS'(LOW);
  localparam logic signed [SHIFTED_BITS-1:0] GREATEST = SHIFTED_BITS'(HIGH);

  if (SHIFT > 47 || C_BITS > 52) begin : g_parameters
    $error("SHIFT must be 47 at most, and C_BITS 52");
  end
  if (LOW > HIGH) begin : g_bounds
    $error("LOW must be at most HIGH");
  end

  // Cycle t.
  logic signed [SUM_BITS-1:0] factor;
  logic signed [17:0] scale;
  logic signed [C_BITS-1:0] c1, c2;
  always_ff @(posedge clock) begin
    factor <= sum;
    scale  <= {1'b0, m};
    c1     <= c;
    c2     <= c1;
  end

  // Cycles t + 1 and t + 2.
  logic signed [SCALED_BITS-1:0] scaled;
  if (SUM_BITS <= MULTIPLIER_BITS) begin : g_single
    logic signed [PRODUCT_BITS-1:0] product;
    always_ff @(posedge clock) begin
      product <= factor * scale;
      scaled  <= SCALED_BITS'(product) + SCALED_BITS'(c2);
    end
  end else begin : g_parts
    logic signed [LOWER_BITS:0] lower;
    logic signed [SUM_BITS-LOWER_BITS-1:0] upper;
    logic signed [LOWER_BITS+18:0] lower_product;
    logic signed [PRODUCT_BITS-LOWER_BITS-1:0] upper_product;
    logic signed [SCALED_BITS-1:0] upper_shifted;
    assign lower = {1'b0, factor[LOWER_BITS-1:0]};
    assign upper = factor[SUM_BITS-1:LOWER_BITS];
    assign upper_shifted = SCALED_BITS'(upper_product) <<< LOWER_BITS;
    always_ff @(posedge clock) begin
      lower_product <= lower * scale;
      upper_product <= upper * scale;
      scaled        <= upper_shifted + SCALED_BITS'(lower_product) + SCALED_BITS'(c2);
    end
  end

  // Cycle t + 3.
  logic signed [SHIFTED_BITS-1:0] shifted;
  assign shifted = SHIFTED_BITS'(scaled >>> SHIFT);
  always_ff @(posedge clock) begin
    if (shifted < LEAST) code <= OUT_BITS'(LEAST);
    else if (shifted > GREATEST) code <= OUT_BITS'(GREATEST);
    else code <= OUT_BITS'(shifted);
  end
endmodule
