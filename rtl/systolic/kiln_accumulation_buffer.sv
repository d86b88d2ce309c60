// The accumulators between array, depthwise unit and vector unit: ACCUMULATION_BUFFER_BANKS banks
// of words of ARRAY_COLUMNS accumulators.
//   array       A read-modify-write of one word per cycle: the address in cycle t (array_valid,
//               bank, address, overwrite), the psums and their scales in t + 1. accumulation =
//               (overwrite ? 0 : accumulation) + psum * scale can be read by addresses given in t +
//               1 + ACCUMULATION_LATENCY or later. The same address may be added to again
//               ACCUMULATION_LATENCY cycles later.
//   depthwise   Likewise, but always overwrites.
//   read        Address in cycle t, data from t + 1 on until the next read.
//
// Array, depthwise unit and reader use different banks at any time: blocks use the banks in turn,
// and tokens between the units say when.
module kiln_accumulation_buffer #(
    parameter int unsigned ACCUMULATION_BUFFER_WORDS = 1024,  // words of a bank
    parameter int unsigned ACCUMULATION_BUFFER_BANKS = 2,  // 1 or 2
    parameter int unsigned ARRAY_COLUMNS = 4,
    parameter kiln_format_pkg::format_t PSUM_FORMAT = kiln_named_formats_pkg::INT32,
    parameter kiln_format_pkg::format_t ACCUMULATION_FORMAT = kiln_named_formats_pkg::INT32,
    // If it is less than PSUM_BITS, the psums of the array are sign-extended integers of PSUM_RANGE
    // bits.
    parameter int unsigned PSUM_RANGE = kiln_format_pkg::bits(PSUM_FORMAT),
    parameter bit SCALED = 1'b0,  // block scales: psums of the array are multiplied by array_scales
    // array_scales are products of two codes of this format
    parameter kiln_format_pkg::format_t SCALE_FORMAT = kiln_format_pkg::FP32,
    // 1 if the accumulators are integers or quires, else 1 to 3
    parameter int unsigned ACCUMULATION_LATENCY = 1,
    parameter bit DEPTHWISE = 1'b1,  // a depthwise unit writes, too
    localparam int PSUM_BITS = kiln_format_pkg::bits(PSUM_FORMAT),  // derived, do not set
    localparam int ACCUMULATION_BITS = kiln_format_pkg::bits(ACCUMULATION_FORMAT),
    localparam int SCALE_WIDTH = kiln_format_pkg::scale_product_bits(SCALE_FORMAT),
    localparam int unsigned ADDRESS_BITS =
        ACCUMULATION_BUFFER_WORDS > 1 ? $clog2(ACCUMULATION_BUFFER_WORDS) : 1
) (
    input  logic                                       clock,
    input  logic                                       reset,
    input  logic                                       array_valid,
    input  logic                                       array_bank,
    input  logic [                   ADDRESS_BITS-1:0] array_address,
    input  logic                                       array_overwrite,
    input  logic [        ARRAY_COLUMNS*PSUM_BITS-1:0] array_psums,  // one cycle after the address
    // Together with the psums (kiln_block_scales); used if SCALED.
    input  logic [      ARRAY_COLUMNS*SCALE_WIDTH-1:0] array_scales,
    input  logic                                       depthwise_valid,
    input  logic                                       depthwise_bank,
    input  logic [                   ADDRESS_BITS-1:0] depthwise_address,
    // One cycle after the address.
    input  logic [        ARRAY_COLUMNS*PSUM_BITS-1:0] depthwise_psums,
    input  logic                                       read_enable,
    input  logic                                       read_bank,
    input  logic [                   ADDRESS_BITS-1:0] read_address,
    output logic [ARRAY_COLUMNS*ACCUMULATION_BITS-1:0] read_data
);
  localparam int unsigned WORD_BITS = ARRAY_COLUMNS * ACCUMULATION_BITS;
  localparam logic [31:0] ONE = 32'h3f80_0000;  // fp32

  // The word is read with its address and comes in the next cycle, in which its sum begins. The sum
  // is written in that sum's last cycle.
  localparam int unsigned WRITE_CYCLES = ACCUMULATION_LATENCY - 1;  // from word to sum
  logic adding, add_bank, add_to_last, bypass, writing, write_bank;
  logic [1:0] add_to_bank;
  logic storing_begins, storing, store_begin_bank, store_bank;  // a write of the depthwise unit
  logic [ADDRESS_BITS-1:0] add_address, write_address, store_begin_address, store_address;
  logic [WORD_BITS-1:0] sum, last_sum, stored;
  logic [ACCUMULATION_BUFFER_BANKS*WORD_BITS-1:0] words;  // the word read from each bank

  // A read in this cycle returns the old content of the word that is written in this cycle.
  assign bypass = writing && write_bank == array_bank && write_address == array_address;
  always_ff @(posedge clock) begin
    adding         <= array_valid && !reset;
    storing_begins <= depthwise_valid && !reset;
    if (array_valid) begin
      add_bank    <= array_bank;
      add_address <= array_address;
      // What is added to: the word from bank 0 or 1, the last sum, or 0 if no bit is set.
      add_to_bank <= array_overwrite || bypass ? '0 : {array_bank, !array_bank};
      add_to_last <= !array_overwrite && bypass;
    end
    if (depthwise_valid) begin
      store_begin_bank    <= depthwise_bank;
      store_begin_address <= depthwise_address;
    end
    if (writing) last_sum <= sum;
  end
  kiln_pulse_delay #(
      .CYCLES(WRITE_CYCLES)
  ) delay_writing (
      .clock,
      .reset,
      .in (adding),
      .out(writing)
  );
  kiln_delay #(
      .WIDTH (1 + ADDRESS_BITS),
      .CYCLES(WRITE_CYCLES)
  ) delay_write (
      .clock,
      .in ({add_bank, add_address}),
      .out({write_bank, write_address})
  );
  kiln_pulse_delay #(
      .CYCLES(WRITE_CYCLES)
  ) delay_storing (
      .clock,
      .reset,
      .in (storing_begins),
      .out(storing)
  );
  kiln_delay #(
      .WIDTH (1 + ADDRESS_BITS),
      .CYCLES(WRITE_CYCLES)
  ) delay_store (
      .clock,
      .in ({store_begin_bank, store_begin_address}),
      .out({store_bank, store_address})
  );

  logic [WORD_BITS-1:0] first, second;  // the words read from banks 0 and 1
  assign first = words[0+:WORD_BITS];
  if (ACCUMULATION_BUFFER_BANKS == 1) begin : g_one_bank
    wire unused_banks = &{1'b0, store_bank, read_bank};
    assign second = first;
    assign read_data = first;
  end else begin : g_two_banks
    logic read_bank_q;
    always_ff @(posedge clock) begin
      if (read_enable) read_bank_q <= read_bank;
    end
    assign second = words[WORD_BITS+:WORD_BITS];
    assign read_data = read_bank_q ? second : first;
  end

  // Real accumulators take an integer without its copies of the sign.
  localparam bit SHORT = PSUM_RANGE < PSUM_BITS && PSUM_RANGE <= 24 &&
      kiln_format_pkg::kind(PSUM_FORMAT) == kiln_format_pkg::KIND_INTEGER &&
      kiln_format_pkg::kind(ACCUMULATION_FORMAT) != kiln_format_pkg::KIND_INTEGER;
  localparam int SHORT_BITS = SHORT ? PSUM_RANGE : PSUM_BITS;
  localparam kiln_format_pkg::format_t SHORT_FORMAT =
      SHORT ? kiln_format_pkg::integer_format(PSUM_RANGE, 4'd0) : PSUM_FORMAT;
  for (genvar c = 0; c < ARRAY_COLUMNS; c++) begin : g_column
    logic [PSUM_BITS-1:0] psum;
    logic [ACCUMULATION_BITS-1:0] sum_in;
    assign psum = array_psums[c*PSUM_BITS+:PSUM_BITS];
    assign sum_in =
        {ACCUMULATION_BITS{add_to_last}} & last_sum[c*ACCUMULATION_BITS+:ACCUMULATION_BITS] |
        {ACCUMULATION_BITS{add_to_bank[0]}} & first[c*ACCUMULATION_BITS+:ACCUMULATION_BITS] |
        {ACCUMULATION_BITS{add_to_bank[1]}} & second[c*ACCUMULATION_BITS+:ACCUMULATION_BITS];
    if (SHORT) begin : g_short
      wire unused_psum = &{1'b0, psum};
`ifndef SYNTHESIS
      always_ff @(posedge clock) begin
        if (!reset && adding) begin
          psum_within_range : assert (psum == PSUM_BITS'(signed'(psum[SHORT_BITS-1:0])));
        end
      end
`endif
    end
    kiln_accumulate #(
        .PSUM_FORMAT(SHORT_FORMAT),
        .ACCUMULATION_FORMAT(ACCUMULATION_FORMAT),
        .SCALED(SCALED),
        .SCALE_FORMAT(SCALE_FORMAT),
        .LATENCY(ACCUMULATION_LATENCY)
    ) add (
        .clock,
        .advance(adding),
        .accumulation_in(sum_in),
        .psum(psum[SHORT_BITS-1:0]),
        .scale(array_scales[c*SCALE_WIDTH+:SCALE_WIDTH]),
        .accumulation_out(sum[c*ACCUMULATION_BITS+:ACCUMULATION_BITS])
    );
  end

  // A psum of the depthwise unit is added to 0. That takes no register within the sum: it is
  // combinational, and WRITE_CYCLES registers follow it. In the accumulators' own real format the
  // sum is the psum itself, with +0 for both zeros and one code for all NaN.
  localparam int KIND = kiln_format_pkg::kind(ACCUMULATION_FORMAT);
  localparam bit SAME = PSUM_FORMAT == ACCUMULATION_FORMAT &&
      KIND != kiln_format_pkg::KIND_INTEGER && KIND != kiln_format_pkg::KIND_QUIRE;
  if (DEPTHWISE) begin : g_depthwise
    logic [WORD_BITS-1:0] converted;
    for (genvar c = 0; c < ARRAY_COLUMNS; c++) begin : g_column
      logic [PSUM_BITS-1:0] psum;
      assign psum = depthwise_psums[c*PSUM_BITS+:PSUM_BITS];
      if (SAME) begin : g_same
        localparam int SIGNIFICAND_BITS = kiln_format_pkg::significand_bits(PSUM_FORMAT);
        localparam int EXPONENT_BITS = kiln_format_pkg::number_exponent_bits(PSUM_FORMAT);
        logic nan, infinite, unused_negative;
        logic signed [EXPONENT_BITS-1:0] unused_exponent;
        logic [SIGNIFICAND_BITS-1:0] significand;
        logic [PSUM_BITS-1:0] nan_code;
        kiln_decode #(
            .FORMAT(PSUM_FORMAT)
        ) decode (
            .code(psum),
            .nan,
            .infinite,
            .negative(unused_negative),
            .exponent(unused_exponent),
            .significand
        );
        kiln_encode #(
            .FORMAT(PSUM_FORMAT),
            .SIGNIFICAND_BITS(SIGNIFICAND_BITS),
            .EXPONENT_BITS(EXPONENT_BITS)
        ) encode_nan (
            .nan(1'b1),
            .infinite(1'b0),
            .negative(1'b0),
            .exponent('0),
            .significand('0),
            .random('0),
            .code(nan_code)
        );
        assign converted[c*ACCUMULATION_BITS+:ACCUMULATION_BITS] =
            nan ? nan_code : significand == '0 && !infinite ? '0 : psum;
      end else begin : g_other
        kiln_accumulate #(
            .PSUM_FORMAT(PSUM_FORMAT),
            .ACCUMULATION_FORMAT(ACCUMULATION_FORMAT)
        ) convert (
            .clock,
            .advance(storing_begins),
            .accumulation_in('0),
            .psum,
            .scale(ONE),
            .accumulation_out(converted[c*ACCUMULATION_BITS+:ACCUMULATION_BITS])
        );
      end
    end
    kiln_delay #(
        .WIDTH (WORD_BITS),
        .CYCLES(WRITE_CYCLES)
    ) delay_converted (
        .clock,
        .in (converted),
        .out(stored)
    );
  end else begin : g_no_depthwise
    wire unused_depthwise = &{1'b0, depthwise_psums};
    assign stored = '0;
  end

  for (genvar b = 0; b < ACCUMULATION_BUFFER_BANKS; b++) begin : g_bank
    logic add_here, store_here, look_here, read_here;
    if (ACCUMULATION_BUFFER_BANKS == 1) begin : g_only
      assign add_here   = writing;
      assign store_here = storing;
      assign look_here  = array_valid && !array_overwrite;
      assign read_here  = read_enable;
    end else begin : g_selected
      assign add_here   = writing && write_bank == 1'(b);
      assign store_here = storing && store_bank == 1'(b);
      assign look_here  = array_valid && !array_overwrite && array_bank == 1'(b);
      assign read_here  = read_enable && read_bank == 1'(b);
    end
    kiln_ram_1w #(
        .WIDTH(WORD_BITS),
        .WORDS(ACCUMULATION_BUFFER_WORDS)
    ) memory (
        .clock,
        .write_enable (add_here || store_here),
        .write_address(store_here ? store_address : write_address),
        .write_data   (store_here ? stored : sum),
        .read_enable  (look_here || read_here),
        .read_address (look_here ? array_address : read_address),
        .read_data    (words[b*WORD_BITS+:WORD_BITS])
    );
  end

`ifndef SYNTHESIS
  // An address is not added to while its sum is still on its way.
  if (ACCUMULATION_LATENCY > 1) begin : g_check
    logic [WRITE_CYCLES-1:0] on_way;
    logic [WRITE_CYCLES-1:0][ADDRESS_BITS:0] words_on_way;
    always_ff @(posedge clock) begin
      on_way       <= reset ? '0 : WRITE_CYCLES'({on_way, array_valid});
      words_on_way <=
          (WRITE_CYCLES * (ADDRESS_BITS + 1))'({words_on_way, array_bank, array_address});
      if (!reset) begin
        for (int i = 0; i < WRITE_CYCLES; i++) begin
          sum_is_there : assert (!array_valid || array_overwrite || !on_way[i] ||
              words_on_way[i] != {array_bank, array_address});
        end
      end
    end
  end
`endif
endmodule
