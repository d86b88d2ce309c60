// kiln_multiply_accumulate and kiln_accumulate for every pair of a format of at most 8 bits with itself and with one
// other, and every psum. Index of a pair: 2 * format + other; of a result: pair * PSUMS + psum.
module multiply_accumulate_bench #(
    localparam int FORMATS = kiln_named_formats_pkg::COUNT,
    localparam int PSUMS = 3,
    localparam int RESULTS = 2 * FORMATS * PSUMS
) (
    input  logic [          7:0] x,
    input  logic [          7:0] w,
    input  logic [         31:0] psum,          // lowest bits: a code of each psum format
    output logic [RESULTS*32-1:0] result        // sign-extended; 0 where there is no such unit
);

  // The formats of psums, and whether the product is rounded; the test has the same list.
  function automatic kiln_format_pkg::format_t psum_format(input int index);
    case (index)
      0: psum_format = kiln_named_formats_pkg::INT32;
      1: psum_format = kiln_named_formats_pkg::INT16;
      default: psum_format = kiln_named_formats_pkg::INT4;
    endcase
  endfunction

  for (genvar i = 0; i < 2 * FORMATS; i++) begin : g_pair
    localparam int OTHER = i % 2 == 0 ? i / 2 : (i / 2 * 7 + 5) % FORMATS;
    localparam kiln_format_pkg::format_t INPUT = kiln_named_formats_pkg::format_of(i / 2);
    localparam kiln_format_pkg::format_t WEIGHT = kiln_named_formats_pkg::format_of(OTHER);
    localparam bit SMALL = kiln_format_pkg::bits(INPUT) <= 8 && kiln_format_pkg::bits(WEIGHT) <= 8;
    localparam bit INTEGERS = kiln_format_pkg::integer_bits(INPUT) > 0 && kiln_format_pkg::integer_bits(WEIGHT) > 0;
    for (genvar j = 0; j < PSUMS; j++) begin : g_psum
      localparam kiln_format_pkg::format_t PSUM = psum_format(j);
      localparam int BITS = kiln_format_pkg::bits(PSUM);
      localparam bit INTEGER = kiln_format_pkg::kind(PSUM) == kiln_format_pkg::KIND_INTEGER;
      if (SMALL && (INTEGERS || !INTEGER)) begin : g_unit
        logic [BITS-1:0] sum;
        kiln_multiply_accumulate #(
            .INPUT_FORMAT(INPUT),
            .WEIGHT_FORMAT(WEIGHT),
            .PSUM_FORMAT(PSUM)
        ) unit (
            .x(x[kiln_format_pkg::bits(INPUT)-1:0]),
            .w(w[kiln_format_pkg::bits(WEIGHT)-1:0]),
            .psum_in(psum[BITS-1:0]),
            .psum_out(sum)
        );
        if (INTEGER) begin : g_extend
          assign result[(i*PSUMS+j)*32+:32] = 32'(signed'(sum));
        end else begin : g_pad
          assign result[(i*PSUMS+j)*32+:32] = 32'(sum);
        end
      end else begin : g_none
        assign result[(i*PSUMS+j)*32+:32] = '0;
      end
    end
  end

endmodule
