// Selects the element, scale and zero point of the operand that arriving data belong to, for the
// lanes of one group.
//   STORED   The members of the command pass a register, so that few loads hang on the command's
//            own: the outputs are right from the second cycle of an instruction on, which is before
//            its first data can arrive.
module kiln_operand_format #(
    parameter bit STORED = 1'b0,
    parameter int unsigned SCALE = 32  // bits of a scale
) (
    input  logic        clock,
    input  logic [11:0] elements,  // of operand 0 in the lowest bits, as the next two
    input  logic [3*SCALE-1:0] scales,
    input  logic [95:0] zero_points,
    input  logic [ 1:0] operand,
    output logic [ 3:0] element,
    output logic [SCALE-1:0] scale,
    output logic [31:0] zero_point
);
  logic [11:0] elements_now;
  logic [3*SCALE-1:0] scales_now;
  logic [95:0] zero_points_now;
  if (STORED) begin : g_stored
    always_ff @(posedge clock) begin
      elements_now    <= elements;
      scales_now      <= scales;
      zero_points_now <= zero_points;
    end
  end else begin : g_direct
    assign elements_now    = elements;
    assign scales_now      = scales;
    assign zero_points_now = zero_points;
    wire unused_clock = clock;
  end
  always_comb begin
    element    = elements_now[3:0];
    scale      = scales_now[SCALE-1:0];
    zero_point = zero_points_now[31:0];
    if (operand == 2'd1) begin
      element    = elements_now[7:4];
      scale      = scales_now[SCALE+:SCALE];
      zero_point = zero_points_now[63:32];
    end
    if (operand == 2'd2) begin
      element    = elements_now[11:8];
      scale      = scales_now[2*SCALE+:SCALE];
      zero_point = zero_points_now[95:64];
    end
  end
endmodule
