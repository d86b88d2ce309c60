// Adds the sum of a row tile to an accumulation: accumulation_out = round(accumulation_in + psum * scale).
//
//   integer accumulation   wraps modulo 2^bits and takes no scale
//   other accumulation     the product with the scale is exact and the sum rounded once; an integer psum becomes fp32
//                          (nearest even) first
//   time                   combinational
//   C++ twin               kiln::AccumulationStep (numerics/mac.h)
module kiln_accumulate #(
    parameter  kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter  kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    parameter  bit SCALED = 1'b0,  // whether row tiles have scales (microscaling); else `scale` is not looked at
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT),
    localparam int ACCUMULATION_BITS = kiln_format_pkg::bits(ACCUMULATION_FORMAT)
) (
    input  logic [        PSUM_BITS-1:0] psum,              // a code of PSUM_FORMAT
    input  logic [                 31:0] scale,             // fp32
    input  logic [ACCUMULATION_BITS-1:0] accumulation_in,   // codes of ACCUMULATION_FORMAT
    output logic [ACCUMULATION_BITS-1:0] accumulation_out
);

  localparam bit INTEGER = kiln_format_pkg::kind(ACCUMULATION_FORMAT) == kiln_format_pkg::KIND_INTEGER;

  if (INTEGER) begin : g_integer
    localparam int BITS = PSUM_BITS > ACCUMULATION_BITS ? PSUM_BITS : ACCUMULATION_BITS;
    logic [BITS-1:0] sum;
    assign sum = BITS'(signed'(accumulation_in)) + BITS'(signed'(psum));
    assign accumulation_out = sum[ACCUMULATION_BITS-1:0];
    if (BITS > ACCUMULATION_BITS) begin : g_wrapped
      wire unused_carries = &{1'b0, sum[BITS-1:ACCUMULATION_BITS]};
    end
    wire unused_scale = &{1'b0, scale};
    if (SCALED) begin : g_no_scales
      $error("kiln_accumulate: integer accumulations take no scale");
    end
  end else begin : g_real
    $error("kiln_accumulate: integer accumulations only");
  end

endmodule
