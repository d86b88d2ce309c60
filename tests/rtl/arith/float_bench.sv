// The units of short floats in several formats, with the same operands, which each format takes the
// upper bits of; conversions take all bits of `a`, as fp32 or as an integer.
module float_bench (
    input  logic clock,
    input  logic advance,
    input  logic [31:0] a,
    input  logic [31:0] b,
    // fp32, in the order of the formats in kiln_float_test.cc
    output logic [8*32-1:0] products,
    output logic [8*32-1:0] sums,
    output logic [8*32-1:0] quotients,
    output logic [8*32-1:0] rounded,  // a
    output logic [8*32-1:0] converted,  // a, an integer
    output logic [8*32-1:0] scaled,  // the upper bits of a, times b
    output logic [8*32-1:0] short_scaled,  // the upper bits of a, times those of b
    output logic [8*32-1:0] normal_scaled,  // the same, but a subnormal b counts as zero
    output logic [8*32-1:0] least_scaled,  // the same, but a subnormal product becomes 2^-126
    // of the operands in the last cycle with `advance`
    output logic [8*32-1:0] registered_products,
    output logic [8*32-1:0] registered_sums,
    output logic [8*32-1:0] registered_scaled,
    // of the operands three cycles with `advance` ago
    output logic [8*32-1:0] registered_quotients
);
  localparam int unsigned FORMATS = 8;
  localparam int unsigned BITS = kiln_format_pkg::FORMAT_BITS;
  localparam logic [FORMATS*BITS-1:0] LIST = {
    other_formats_pkg::E3M4_FINITE_SATURATE,
    other_formats_pkg::FP16_SATURATE,
    other_formats_pkg::E4M3_FLUSH,
    other_formats_pkg::E4M3_FNUZ_INFINITY,
    other_formats_pkg::E4M3_INFINITY,
    kiln_named_formats_pkg::E5M2,
    kiln_named_formats_pkg::FP16,
    other_formats_pkg::BF16_FLUSH
  };
  wire unused_operands = &{1'b0, a, b};  // bits below a format's numbers
  for (genvar i = 0; i < FORMATS; i++) begin : g_format
    localparam kiln_format_pkg::format_t FORMAT = LIST[i*BITS+:BITS];
    localparam int unsigned NUMBER = kiln_format_pkg::number_bits(FORMAT);
    logic [NUMBER-1:0] product, sum, quotient;
    logic [NUMBER-1:0] registered_product, registered_sum, registered_quotient;
    logic [NUMBER-1:0] round_result, convert_result;
    kiln_float_multiply #(
        .FORMAT(FORMAT)
    ) multiply (
        .clock,
        .advance,
        .a(a[31-:NUMBER]),
        .b(b[31-:NUMBER]),
        .product
    );
    kiln_float_multiply #(
        .FORMAT(FORMAT),
        .REGISTERED(1'b1)
    ) multiply_registered (
        .clock,
        .advance,
        .a(a[31-:NUMBER]),
        .b(b[31-:NUMBER]),
        .product(registered_product)
    );
    kiln_float_add #(
        .FORMAT(FORMAT)
    ) add (
        .clock,
        .advance,
        .a(a[31-:NUMBER]),
        .b(b[31-:NUMBER]),
        .sum
    );
    kiln_float_add #(
        .FORMAT(FORMAT),
        .REGISTERED(1'b1)
    ) add_registered (
        .clock,
        .advance,
        .a(a[31-:NUMBER]),
        .b(b[31-:NUMBER]),
        .sum(registered_sum)
    );
    kiln_float_divide #(
        .FORMAT(FORMAT)
    ) divide (
        .clock,
        .advance,
        .a(a[31-:NUMBER]),
        .b(b[31-:NUMBER]),
        .quotient
    );
    kiln_float_divide #(
        .FORMAT(FORMAT),
        .REGISTERS(3)
    ) divide_registered (
        .clock,
        .advance,
        .a(a[31-:NUMBER]),
        .b(b[31-:NUMBER]),
        .quotient(registered_quotient)
    );
    kiln_fp32_to_float #(
        .FORMAT(FORMAT)
    ) to_float (
        .value(a),
        .number(round_result)
    );
    kiln_integer_to_float #(
        .FORMAT(FORMAT)
    ) integer_to_float (
        .value(a),
        .number(convert_result)
    );
    kiln_float_scale #(
        .FORMAT(FORMAT)
    ) scale_number (
        .clock,
        .advance,
        .number(a[31-:NUMBER]),
        .scale(b),
        .product(scaled[i*32+:32])
    );
    kiln_float_scale #(
        .FORMAT(FORMAT),
        .SCALE (NUMBER)
    ) scale_short (
        .clock,
        .advance,
        .number(a[31-:NUMBER]),
        .scale(b[31-:NUMBER]),
        .product(short_scaled[i*32+:32])
    );
    kiln_float_scale #(
        .FORMAT(FORMAT),
        .SCALE (NUMBER),
        .SUBNORMAL_SCALES(1'b0)
    ) scale_normal (
        .clock,
        .advance,
        .number(a[31-:NUMBER]),
        .scale(b[31-:NUMBER]),
        .product(normal_scaled[i*32+:32])
    );
    kiln_float_scale #(
        .FORMAT(FORMAT),
        .SCALE (NUMBER),
        .SUBNORMAL_PRODUCTS(1'b0)
    ) scale_least (
        .clock,
        .advance,
        .number(a[31-:NUMBER]),
        .scale(b[31-:NUMBER]),
        .product(least_scaled[i*32+:32])
    );
    kiln_float_scale #(
        .FORMAT(FORMAT),
        .REGISTERED(1'b1)
    ) scale_registered (
        .clock,
        .advance,
        .number(a[31-:NUMBER]),
        .scale(b),
        .product(registered_scaled[i*32+:32])
    );
    assign rounded[i*32+:32]         = 32'(round_result) << (32 - NUMBER);
    assign converted[i*32+:32]       = 32'(convert_result) << (32 - NUMBER);
    assign products[i*32+:32]        = 32'(product) << (32 - NUMBER);
    assign sums[i*32+:32]            = 32'(sum) << (32 - NUMBER);
    assign quotients[i*32+:32]       = 32'(quotient) << (32 - NUMBER);
    assign registered_products[i*32+:32] = 32'(registered_product) << (32 - NUMBER);
    assign registered_sums[i*32+:32] = 32'(registered_sum) << (32 - NUMBER);
    assign registered_quotients[i*32+:32] = 32'(registered_quotient) << (32 - NUMBER);
  end
endmodule
