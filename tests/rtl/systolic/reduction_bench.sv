// kiln_reduction with five lanes in fp32, four in bf16 and one, with the same words and stages.
module reduction_bench #(
    localparam int unsigned ROWS = 3,
    localparam int unsigned SCALARS = kiln_vector_pkg::SCALARS
) (
    input  logic clock,
    input  logic reset,
    input  logic stage_write_valid,
    input  kiln_systolic_pkg::stage_write_t stage_write,
    input  logic advance,
    input  logic in_valid,
    input  kiln_vector_pkg::word_tag_t in_tag,
    input  logic in_maximum,
    input  logic in_first,
    input  logic in_last,
    input  logic [4:0] in_lanes,
    input  logic [5*32-1:0] in_value,
    input  logic [4*16-1:0] in_narrow,
    output logic [ROWS*SCALARS*32-1:0] scalars_5,
    output logic [ROWS*SCALARS*16-1:0] scalars_4,
    output logic [ROWS*SCALARS*32-1:0] scalars_1
);
  kiln_reduction #(
      .LANES(5),
      .LATENCY(2),
      .SCALAR_STAGES(3),
      .SLOTS(2),
      .ROWS(ROWS),
      .FUNCTION_STAGES(3'b101),
      .DIVIDE_STAGES(3'b010)
  ) five (
      .clock,
      .reset,
      .stage_write_valid,
      .stage_write,
      .advance,
      .in_valid,
      .in_tag,
      .in_maximum,
      .in_first,
      .in_last,
      .in_lanes,
      .in_value,
      .scalars(scalars_5)
  );
  kiln_reduction #(
      .LANES(4),
      .LATENCY(1),
      .SCALAR_STAGES(3),
      .SLOTS(2),
      .ROWS(ROWS),
      .FUNCTION_STAGES(3'b101),
      .DIVIDE_STAGES(3'b010),
      .VECTOR_FORMAT(kiln_named_formats_pkg::BF16),
      .SPLINES(kiln_spline_tables_pkg::BF16)
  ) four (
      .clock,
      .reset,
      .stage_write_valid,
      .stage_write,
      .advance,
      .in_valid,
      .in_tag,
      .in_maximum,
      .in_first,
      .in_last,
      .in_lanes(in_lanes[3:0]),
      .in_value(in_narrow),
      .scalars(scalars_4)
  );
  kiln_reduction #(
      .LANES(1),
      .LATENCY(3),
      .SCALAR_STAGES(3),
      .SLOTS(2),
      .ROWS(ROWS),
      .FUNCTION_STAGES(3'b101),
      .DIVIDE_STAGES(3'b010)
  ) one (
      .clock,
      .reset,
      .stage_write_valid,
      .stage_write,
      .advance,
      .in_valid,
      .in_tag,
      .in_maximum,
      .in_first,
      .in_last,
      .in_lanes(in_lanes[0]),
      .in_value(in_value[31:0]),
      .scalars(scalars_1)
  );
endmodule
