// Instances of kiln_accumulate for the pairs of psum and accumulation formats that design points
// have, with and without scales.
module accumulate_bench #(
    localparam int UNITS = 12
) (
    input  logic [        31:0] psum,
    input  logic [        31:0] scale,
    input  logic [        31:0] accumulation,
    output logic [UNITS*32-1:0] result         // codes, zeros above
);

  // The test has the same lists. Units from SCALED on have scales.
  localparam int SCALED = 7;
  function automatic kiln_format_pkg::format_t psum_format(input int index);
    case (index)
      0, 3, 7: psum_format = kiln_named_formats_pkg::INT32;
      1, 8: psum_format = kiln_named_formats_pkg::INT16;
      2: psum_format = kiln_named_formats_pkg::INT32;
      4, 9: psum_format = kiln_named_formats_pkg::FP32;
      5, 10: psum_format = kiln_named_formats_pkg::BF16;
      6, 11: psum_format = kiln_named_formats_pkg::POSIT16_1;
      default: psum_format = kiln_named_formats_pkg::FP32;
    endcase
  endfunction
  function automatic kiln_format_pkg::format_t accumulation_format(input int index);
    case (index)
      0, 1: accumulation_format = kiln_named_formats_pkg::INT32;
      2: accumulation_format = kiln_named_formats_pkg::INT16;
      5, 8: accumulation_format = kiln_named_formats_pkg::BF16;
      11: accumulation_format = kiln_named_formats_pkg::POSIT16_1;
      default: accumulation_format = kiln_named_formats_pkg::FP32;
    endcase
  endfunction

  for (genvar i = 0; i < UNITS; i++) begin : g_unit
    localparam kiln_format_pkg::format_t PSUM = psum_format(i);
    localparam kiln_format_pkg::format_t ACCUMULATION = accumulation_format(i);
    logic [kiln_format_pkg::bits(ACCUMULATION)-1:0] sum;
    kiln_accumulate #(
        .PSUM_FORMAT(PSUM),
        .ACCUMULATION_FORMAT(ACCUMULATION),
        .SCALED(i >= SCALED)
    ) unit (
        .clock(1'b0),
        .advance(1'b0),
        .psum(psum[kiln_format_pkg::bits(PSUM)-1:0]),
        .scale(scale),
        .accumulation_in(accumulation[kiln_format_pkg::bits(ACCUMULATION)-1:0]),
        .accumulation_out(sum)
    );
    assign result[i*32+:32] = 32'(sum);
  end

endmodule
