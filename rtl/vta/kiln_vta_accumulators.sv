// The accumulation buffer and the output buffer of the VTA machine, in banks that different units
// use at the same time.
//
//   reads    the element of an index is available in the next cycle. The store stage's element is
//            held until the cycle after its next read.
//   writes   go to the accumulator, and the low OUTPUT_BITS of each number also to the output
//            buffer. Both can be read from the next cycle on.
//   banks    equal parts of the index range. In a cycle at most one of the writers, and at most one
//            of the GEMM read and the two ALU reads, uses a bank: the dispatcher and the timing of
//            ALU steps ensure this. The store stage reads any element at any time.
module kiln_vta_accumulators #(
    parameter int unsigned ACCUMULATOR_BITS = 32,
    parameter int unsigned OUTPUT_BITS = 8,
    parameter int unsigned NUMBERS = 16,  // in an element
    parameter int unsigned INDEX_BITS = 11,
    parameter int unsigned BANKS = 4,
    localparam int unsigned ELEMENT_BITS = NUMBERS * ACCUMULATOR_BITS,
    localparam int unsigned OUTPUT_ELEMENT_BITS = NUMBERS * OUTPUT_BITS
) (
    input  logic                           clock,
    input  logic                           reset,  // disables writes
    input  logic                           gemm_read_enable,
    input  logic [         INDEX_BITS-1:0] gemm_read_index,
    output logic [       ELEMENT_BITS-1:0] gemm_read_data,
    input  logic                           first_read_enable,
    input  logic [         INDEX_BITS-1:0] first_read_index,
    output logic [       ELEMENT_BITS-1:0] first_read_data,
    input  logic                           second_read_enable,
    input  logic [         INDEX_BITS-1:0] second_read_index,
    output logic [       ELEMENT_BITS-1:0] second_read_data,
    input  logic                           store_read_enable,
    input  logic [         INDEX_BITS-1:0] store_read_index,
    output logic [OUTPUT_ELEMENT_BITS-1:0] store_read_data,
    input  logic                           gemm_write_enable,
    input  logic [         INDEX_BITS-1:0] gemm_write_index,
    input  logic [       ELEMENT_BITS-1:0] gemm_write_data,
    input  logic                           alu_write_enable,
    input  logic [         INDEX_BITS-1:0] alu_write_index,
    input  logic [       ELEMENT_BITS-1:0] alu_write_data,
    input  logic                           load_write_enable,
    input  logic [         INDEX_BITS-1:0] load_write_index,
    input  logic [       ELEMENT_BITS-1:0] load_write_data
);
  localparam int unsigned ROW_INDEX_BITS = INDEX_BITS - $clog2(BANKS);
  localparam int unsigned ROWS = 1 << ROW_INDEX_BITS;
  localparam int unsigned ROW_BITS = ROW_INDEX_BITS > 0 ? ROW_INDEX_BITS : 1;

  if (BANKS > 1 << INDEX_BITS) begin : g_banks
    $error("more banks than accumulators");
  end

  // The bank of each reader's last read selects its data.
  logic [INDEX_BITS-1:0] gemm_bank, first_bank, second_bank, store_bank;
  always_ff @(posedge clock) begin
    if (gemm_read_enable) gemm_bank <= gemm_read_index >> ROW_INDEX_BITS;
    if (first_read_enable) first_bank <= first_read_index >> ROW_INDEX_BITS;
    if (second_read_enable) second_bank <= second_read_index >> ROW_INDEX_BITS;
    if (store_read_enable) store_bank <= store_read_index >> ROW_INDEX_BITS;
  end

  logic [BANKS*ELEMENT_BITS-1:0] elements;
  logic [BANKS*OUTPUT_ELEMENT_BITS-1:0] outputs;
  for (genvar b = 0; b < BANKS; b++) begin : g_bank
    localparam logic [INDEX_BITS-1:0] BANK = INDEX_BITS'(b);
    logic gemm_reads, first_reads, second_reads, store_reads, gemm_writes, alu_writes, load_writes;
    assign gemm_reads = gemm_read_enable && gemm_read_index >> ROW_INDEX_BITS == BANK;
    assign first_reads = first_read_enable && first_read_index >> ROW_INDEX_BITS == BANK;
    assign second_reads = second_read_enable && second_read_index >> ROW_INDEX_BITS == BANK;
    assign store_reads = store_read_enable && store_read_index >> ROW_INDEX_BITS == BANK;
    assign gemm_writes = !reset && gemm_write_enable && gemm_write_index >> ROW_INDEX_BITS == BANK;
    assign alu_writes = !reset && alu_write_enable && alu_write_index >> ROW_INDEX_BITS == BANK;
    assign load_writes = !reset && load_write_enable && load_write_index >> ROW_INDEX_BITS == BANK;

    logic [INDEX_BITS-1:0] read_index, write_index;
    logic [ROW_BITS-1:0] read_row, write_row, store_row;
    logic [ELEMENT_BITS-1:0] write_data;
    logic [OUTPUT_ELEMENT_BITS-1:0] write_output;
    logic write_enable;
    assign read_index =
        gemm_reads ? gemm_read_index : first_reads ? first_read_index : second_read_index;
    assign write_enable = gemm_writes || alu_writes || load_writes;
    assign write_index =
        gemm_writes ? gemm_write_index : alu_writes ? alu_write_index : load_write_index;
    assign write_data =
        gemm_writes ? gemm_write_data : alu_writes ? alu_write_data : load_write_data;
    assign read_row = ROW_INDEX_BITS > 0 ? ROW_BITS'(read_index) : '0;
    assign write_row = ROW_INDEX_BITS > 0 ? ROW_BITS'(write_index) : '0;
    assign store_row = ROW_INDEX_BITS > 0 ? ROW_BITS'(store_read_index) : '0;
    for (genvar n = 0; n < NUMBERS; n++) begin : g_output
      assign write_output[n*OUTPUT_BITS+:OUTPUT_BITS] = write_data[n*ACCUMULATOR_BITS+:OUTPUT_BITS];
    end

    kiln_ram_1w #(
        .WIDTH(ELEMENT_BITS),
        .WORDS(ROWS),
        .INITIALLY_ZERO(1'b1)
    ) accumulators (
        .clock,
        .write_enable,
        .write_address(write_row),
        .write_data,
        .read_enable(gemm_reads || first_reads || second_reads),
        .read_address(read_row),
        .read_data(elements[b*ELEMENT_BITS+:ELEMENT_BITS])
    );
    kiln_ram_1w #(
        .WIDTH(OUTPUT_ELEMENT_BITS),
        .WORDS(ROWS),
        .INITIALLY_ZERO(1'b1)
    ) output_elements (
        .clock,
        .write_enable,
        .write_address(write_row),
        .write_data(write_output),
        .read_enable(store_reads),
        .read_address(store_row),
        .read_data(outputs[b*OUTPUT_ELEMENT_BITS+:OUTPUT_ELEMENT_BITS])
    );
`ifndef SYNTHESIS
    always_ff @(posedge clock) begin
      if (!reset) begin
        assert ($onehot0({gemm_reads, first_reads, second_reads}));
        assert ($onehot0({gemm_writes, alu_writes, load_writes}));
      end
    end
`endif
    logic unused_index;  // the upper bits have selected the bank
    assign unused_index = &{1'b0, read_index, write_index};
  end

  always_comb begin
    gemm_read_data   = '0;
    first_read_data  = '0;
    second_read_data = '0;
    store_read_data  = '0;
    for (int b = 0; b < BANKS; b++) begin
      if (gemm_bank == INDEX_BITS'(b)) gemm_read_data = elements[b*ELEMENT_BITS+:ELEMENT_BITS];
      if (first_bank == INDEX_BITS'(b)) first_read_data = elements[b*ELEMENT_BITS+:ELEMENT_BITS];
      if (second_bank == INDEX_BITS'(b)) second_read_data = elements[b*ELEMENT_BITS+:ELEMENT_BITS];
      if (store_bank == INDEX_BITS'(b))
        store_read_data = outputs[b*OUTPUT_ELEMENT_BITS+:OUTPUT_ELEMENT_BITS];
    end
  end
endmodule
