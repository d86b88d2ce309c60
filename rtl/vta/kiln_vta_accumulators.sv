// Accumulators and, beside them, the output buffer: banks that different units work on at the same time.
//
//   reads    an index in one cycle, its element in the next; the store stage's stands until the cycle after its next read
//   writes   to the accumulator, and the low OUTPUT_BITS of each number to the output buffer; read from the next cycle on
//   banks    equal parts of the indices. Of the writers, and of GEMM and the ALU's two reads, no two use a bank in one cycle: the
//            dispatcher and the ALU's steps see to that. The store stage reads any element at any time.
module kiln_vta_accumulators #(
    parameter int unsigned ACCUMULATOR_BITS = 32,
    parameter int unsigned OUTPUT_BITS = 8,
    parameter int unsigned NUMBERS = 16,  // of an element
    parameter int unsigned INDEX_BITS = 11,
    parameter int unsigned BANKS = 4,
    localparam int unsigned ELEMENT_BITS = NUMBERS * ACCUMULATOR_BITS,
    localparam int unsigned OUTPUT_ELEMENT_BITS = NUMBERS * OUTPUT_BITS
) (
    input  logic                           clock,
    input  logic                           reset,  // nothing is written
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

  // The bank of each reader's last read.
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
    assign read_index = gemm_reads ? gemm_read_index : first_reads ? first_read_index : second_read_index;
    assign write_enable = gemm_writes || alu_writes || load_writes;
    assign write_index = gemm_writes ? gemm_write_index : alu_writes ? alu_write_index : load_write_index;
    assign write_data = gemm_writes ? gemm_write_data : alu_writes ? alu_write_data : load_write_data;
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
      if (!reset && 32'(gemm_reads) + 32'(first_reads) + 32'(second_reads) > 1) $error("two reads of bank %0d", b);
      if (!reset && 32'(gemm_writes) + 32'(alu_writes) + 32'(load_writes) > 1) $error("two writes of bank %0d", b);
    end
`endif
    logic unused_index;  // its upper bits have chosen the bank
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
      if (store_bank == INDEX_BITS'(b)) store_read_data = outputs[b*OUTPUT_ELEMENT_BITS+:OUTPUT_ELEMENT_BITS];
    end
  end
endmodule
