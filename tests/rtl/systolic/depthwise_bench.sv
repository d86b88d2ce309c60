// Parts of the depthwise unit: its sums in several formats, with and without a register after the
// multipliers, with additions of one and two cycles, and its double buffer at several write widths.
// Instances of the same part have the same inputs, except for `first_apart`.
module depthwise_bench #(
    localparam int unsigned LANES = 2,
    localparam int unsigned MULTIPLIERS = 3,
    localparam int unsigned WORDS = 11,
    localparam int unsigned WORD_BITS = LANES * 8
) (
    input  logic                             clock,
    // Sums.
    input  logic                             valid,
    input  logic                             first,
    input  logic                             first_apart,  // of sums_bf16_2
    input  logic [          MULTIPLIERS-1:0] present,
    input  logic [  MULTIPLIERS*LANES*8-1:0] inputs,
    input  logic [  MULTIPLIERS*LANES*8-1:0] weights,
    output logic [             LANES*32-1:0] sums_now,  // int8 into int32
    output logic [             LANES*32-1:0] sums_later,  // the same, after a register
    output logic [             LANES*16-1:0] sums_bf16_1,  // e4m3 times posit8_1
    output logic [             LANES*16-1:0] sums_bf16_2,  // the same, additions of two cycles
    output logic [             LANES*32-1:0] sums_quire,  // e4m3 times e4m3, exact, then fp32
    // Buffers.
    input  logic                             write_enable,
    input  logic                             write_bank,
    input  logic [                      3:0] write_address,
    input  logic [                      1:0] write_words,  // narrower writes use its lowest bits
    input  logic [          4*WORD_BITS-1:0] write_data,
    input  logic [          MULTIPLIERS-1:0] read_enable,
    input  logic                             read_bank,
    input  logic [        MULTIPLIERS*4-1:0] read_address,
    output logic [MULTIPLIERS*WORD_BITS-1:0] read_data_1,
    output logic [MULTIPLIERS*WORD_BITS-1:0] read_data_2,
    output logic [MULTIPLIERS*WORD_BITS-1:0] read_data_4
);
  kiln_depthwise_lanes #(
      .LANES(LANES),
      .MULTIPLIERS(MULTIPLIERS),
      .PRODUCT_REGISTERS(0)
  ) lanes_now (
      .sums(sums_now),
      .*
  );
  kiln_depthwise_lanes #(
      .LANES(LANES),
      .MULTIPLIERS(MULTIPLIERS),
      .PRODUCT_REGISTERS(1)
  ) lanes_later (
      .sums(sums_later),
      .*
  );
  kiln_depthwise_lanes #(
      .LANES(LANES),
      .MULTIPLIERS(MULTIPLIERS),
      .SUM_LATENCY(1),
      .INPUT_FORMAT(kiln_named_formats_pkg::E4M3),
      .WEIGHT_FORMAT(kiln_named_formats_pkg::POSIT8_1),
      .PSUM_FORMAT(kiln_named_formats_pkg::BF16)
  ) lanes_bf16_1 (
      .sums(sums_bf16_1),
      .*
  );
  kiln_depthwise_lanes #(
      .LANES(LANES),
      .MULTIPLIERS(MULTIPLIERS),
      .SUM_LATENCY(2),
      .INPUT_FORMAT(kiln_named_formats_pkg::E4M3),
      .WEIGHT_FORMAT(kiln_named_formats_pkg::POSIT8_1),
      .PSUM_FORMAT(kiln_named_formats_pkg::BF16)
  ) lanes_bf16_2 (
      .first(first_apart),
      .sums(sums_bf16_2),
      .*
  );

  // The quire of e4m3 times e4m3, which has no name.
  localparam kiln_format_pkg::format_t QUIRE = 18640'h82200000ffee00001474;
  localparam int QUIRE_BITS = kiln_format_pkg::bits(QUIRE);
  logic [LANES*QUIRE_BITS-1:0] quires;
  kiln_depthwise_lanes #(
      .LANES(LANES),
      .MULTIPLIERS(MULTIPLIERS),
      .PRODUCT_REGISTERS(1),
      .INPUT_FORMAT(kiln_named_formats_pkg::E4M3),
      .WEIGHT_FORMAT(kiln_named_formats_pkg::E4M3),
      .PSUM_FORMAT(QUIRE)
  ) lanes_quire (
      .sums(quires),
      .*
  );
  for (genvar c = 0; c < LANES; c++) begin : g_quire
    kiln_decode_to_fp32 #(
        .FORMAT(QUIRE)
    ) decode (
        .code (quires[c*QUIRE_BITS+:QUIRE_BITS]),
        .value(sums_quire[c*32+:32])
    );
  end

  kiln_depthwise_input_buffer #(
      .WORDS (WORDS),
      .LANES (LANES),
      .READS (MULTIPLIERS),
      .WRITES(1)
  ) buffer_1 (
      .write_words(1'b0),
      .write_data(write_data[WORD_BITS-1:0]),
      .read_data(read_data_1),
      .*
  );
  kiln_depthwise_input_buffer #(
      .WORDS (WORDS),
      .LANES (LANES),
      .READS (MULTIPLIERS),
      .WRITES(2)
  ) buffer_2 (
      .write_words(write_words[0]),
      .write_data(write_data[2*WORD_BITS-1:0]),
      .read_data(read_data_2),
      .*
  );
  kiln_depthwise_input_buffer #(
      .WORDS (WORDS),
      .LANES (LANES),
      .READS (MULTIPLIERS),
      .WRITES(4)
  ) buffer_4 (
      .read_data(read_data_4),
      .*
  );
endmodule
