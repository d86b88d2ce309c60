// kiln_multiply_accumulate for every format of at most 8 bits. Unit 0 multiplies the format by
// itself and adds to bf16. Unit 1 multiplies it by itself and adds to int32 or int16, or to fp32 if
// the format is not an integer. Unit 2 multiplies it by another format and adds to one of several
// psum formats.
module multiply_accumulate_bench #(
    parameter int unsigned PRODUCT_REGISTERS = 0,  // with 1, products are a cycle late
    localparam int FORMATS = kiln_named_formats_pkg::COUNT,
    localparam int UNITS = 3
) (
    input  logic                         clock,
    input  logic [                  7:0] x,
    input  logic [                  7:0] w,
    input  logic [                 31:0] psum,   // lowest bits: a code of each psum format
    // The result of unit j of format i is at i * UNITS + j, sign-extended.
    output logic [FORMATS*UNITS*32-1:0] result
);

  for (genvar i = 0; i < FORMATS; i++) begin : g_format
    for (genvar j = 0; j < UNITS; j++) begin : g_unit
      localparam kiln_format_pkg::format_t INPUT = kiln_named_formats_pkg::format_of(i);
      localparam kiln_format_pkg::format_t WEIGHT =
          kiln_named_formats_pkg::format_of(j == 2 ? (i * 7 + 5) % FORMATS : i);
      localparam bit SMALL =
          kiln_format_pkg::bits(INPUT) <= 8 && kiln_format_pkg::bits(WEIGHT) <= 8;
      localparam bit WHOLE = kiln_format_pkg::integer_bits(INPUT) > 0;
      localparam kiln_format_pkg::format_t PSUM =
          j == 0 ? kiln_named_formats_pkg::BF16 :
          j == 1 ? (!WHOLE ? kiln_named_formats_pkg::FP32 :
                    i % 2 == 0 ? kiln_named_formats_pkg::INT32 : kiln_named_formats_pkg::INT16) :
          i % 5 == 0 ? kiln_named_formats_pkg::POSIT16_1 :
          i % 5 == 1 ? kiln_named_formats_pkg::FP16 :
          i % 5 == 2 ? kiln_named_formats_pkg::E4M3 :
          i % 5 == 3 ? kiln_named_formats_pkg::BF16 : kiln_named_formats_pkg::POSIT8_2;
      localparam int BITS = kiln_format_pkg::bits(PSUM);
      if (SMALL) begin : g_some
        logic [BITS-1:0] sum;
        kiln_multiply_accumulate #(
            .INPUT_FORMAT(INPUT),
            .WEIGHT_FORMAT(WEIGHT),
            .PSUM_FORMAT(PSUM),
            .PRODUCT_ROUNDED(j == 2 && i % 5 >= 3),
            .PRODUCT_REGISTERS(PRODUCT_REGISTERS)
        ) unit (
            .clock,
            .product_advance(1'b1),
            .sum_advance(1'b0),
            .counts(1'b1),
            .x(x[kiln_format_pkg::bits(INPUT)-1:0]),
            .w(w[kiln_format_pkg::bits(WEIGHT)-1:0]),
            .psum_in(psum[BITS-1:0]),
            .psum_out(sum)
        );
        if (kiln_format_pkg::kind(PSUM) == kiln_format_pkg::KIND_INTEGER) begin : g_extend
          assign result[(i*UNITS+j)*32+:32] = 32'(signed'(sum));
        end else begin : g_pad
          assign result[(i*UNITS+j)*32+:32] = 32'(sum);
        end
      end else begin : g_none
        assign result[(i*UNITS+j)*32+:32] = '0;
      end
    end
  end

endmodule
