// Quires for several pairs of formats: a psum register, to which a product is added in every cycle,
// and accumulation registers, to which psums are added.
module quire_bench #(
    parameter int unsigned PRODUCT_REGISTERS = 0,  // with 1, products are a cycle late
    // The package contains both formats of each pair, and the quire of the pair.
    localparam int UNITS = quire_formats_pkg::COUNT / 3
) (
    input  logic                clock,
    input  logic                clear,       // the psum starts from this product
    input  logic                accumulate,  // the psum so far is accumulated first
    input  logic                first,       // the accumulation starts from it
    input  logic [        15:0] x,
    input  logic [        15:0] w,
    input  logic [        31:0] scale,
    output logic [UNITS*32-1:0] psum,        // rounded to fp32
    output logic [UNITS*32-1:0] accumulation,
    output logic [UNITS*32-1:0] scaled       // accumulated in fp32, under scales
);

  for (genvar i = 0; i < UNITS; i++) begin : g_unit
    localparam kiln_format_pkg::format_t QUIRE = quire_formats_pkg::format_of(3 * i + 2);
    localparam kiln_format_pkg::format_t WEIGHT = quire_formats_pkg::format_of(3 * i + 1);
    localparam kiln_format_pkg::format_t INPUT = quire_formats_pkg::format_of(3 * i);
    localparam int BITS = kiln_format_pkg::bits(QUIRE);
    logic [BITS-1:0] sum, next, total, next_total;
    logic [31:0] scaled_sum, next_scaled;
    kiln_multiply_accumulate #(
        .INPUT_FORMAT(INPUT),
        .WEIGHT_FORMAT(WEIGHT),
        .PSUM_FORMAT(QUIRE),
        .PRODUCT_REGISTERS(PRODUCT_REGISTERS)
    ) multiply_accumulate (
        .clock,
        .product_advance(1'b1),
        .sum_advance(1'b0),
        .counts(1'b1),
        .x(x[kiln_format_pkg::bits(INPUT)-1:0]),
        .w(w[kiln_format_pkg::bits(WEIGHT)-1:0]),
        .psum_in(clear ? '0 : sum),
        .psum_out(next)
    );
    kiln_accumulate #(
        .PSUM_FORMAT(QUIRE),
        .ACCUMULATION_FORMAT(QUIRE)
    ) add (
        .clock(1'b0),
        .advance(1'b0),
        .psum(sum),
        .scale('0),
        .accumulation_in(first ? '0 : total),
        .accumulation_out(next_total)
    );
    kiln_accumulate #(
        .PSUM_FORMAT(QUIRE),
        .ACCUMULATION_FORMAT(kiln_format_pkg::FP32),
        .SCALED(1'b1)
    ) add_scaled (
        .clock(1'b0),
        .advance(1'b0),
        .psum(sum),
        .scale(scale),
        .accumulation_in(first ? '0 : scaled_sum),
        .accumulation_out(next_scaled)
    );
    always_ff @(posedge clock) begin
      sum <= next;
      if (accumulate) begin
        total      <= next_total;
        scaled_sum <= next_scaled;
      end
    end
    kiln_decode_to_fp32 #(.FORMAT(QUIRE)) round_psum (
        .code(sum),
        .value(psum[i*32+:32])
    );
    kiln_decode_to_fp32 #(.FORMAT(QUIRE)) round_total (
        .code(total),
        .value(accumulation[i*32+:32])
    );
    assign scaled[i*32+:32] = scaled_sum;
  end

endmodule
