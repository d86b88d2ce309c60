// kiln_block_scale, followed by kiln_block_element with the scale that it computes, for several
// pairs of formats.
module block_scale_bench #(
    localparam int UNITS = 9
) (
    input  logic [        30:0] greatest,
    input  logic [        31:0] value,
    output logic [UNITS*32-1:0] scale_code,    // zeros above the codes
    output logic [UNITS*32-1:0] element_code
);

  // The test has the same lists.
  function automatic kiln_format_pkg::format_t element_format(input int index);
    case (index)
      0: element_format = kiln_named_formats_pkg::FIXED8_6;
      1, 2: element_format = kiln_named_formats_pkg::E4M3;
      3: element_format = kiln_named_formats_pkg::E2M1;
      4: element_format = kiln_named_formats_pkg::E5M2;
      5: element_format = kiln_named_formats_pkg::POSIT8_1;
      6: element_format = kiln_named_formats_pkg::NF4;
      7: element_format = kiln_named_formats_pkg::FP16;
      default: element_format = kiln_named_formats_pkg::INT8;
    endcase
  endfunction
  function automatic kiln_format_pkg::format_t scale_format(input int index);
    case (index)
      0, 1: scale_format = kiln_named_formats_pkg::E8M0;
      2: scale_format = kiln_named_formats_pkg::UE5M3;
      3: scale_format = kiln_named_formats_pkg::E4M3;
      4: scale_format = kiln_named_formats_pkg::E8M0;
      5: scale_format = kiln_named_formats_pkg::FP32;
      6: scale_format = kiln_named_formats_pkg::BF16;
      7: scale_format = kiln_named_formats_pkg::E3M2;
      default: scale_format = other_formats_pkg::E4M3_FLUSH;
    endcase
  endfunction

  for (genvar i = 0; i < UNITS; i++) begin : g_unit
    localparam kiln_format_pkg::format_t ELEMENT = element_format(i);
    localparam kiln_format_pkg::format_t SCALE = scale_format(i);
    logic [kiln_format_pkg::bits(SCALE)-1:0] scale;
    logic [kiln_format_pkg::bits(ELEMENT)-1:0] element;
    logic [31:0] inverse;
    kiln_block_scale #(
        .ELEMENT_FORMAT(ELEMENT),
        .SCALE_FORMAT(SCALE)
    ) find (
        .greatest(greatest),
        .code(scale),
        .inverse(inverse)
    );
    kiln_block_element #(.ELEMENT_FORMAT(ELEMENT)) encode (
        .value(value),
        .inverse(inverse),
        .code(element)
    );
    assign scale_code[i*32+:32] = 32'(scale);
    assign element_code[i*32+:32] = 32'(element);
  end

endmodule
