// The double buffer between input fetch and the depthwise unit: two banks of WORDS words, of which
// up to WRITES consecutive ones are written at once. Word k is in memory k modulo WRITES. Each
// memory has one read port for each of the unit's multipliers, so that the taps of a pixel can be
// read in one cycle with any stride and dilation.
//   write       `write_words` + 1 words from write_address on, the first one in the lowest bits, in
//               the cycle of write_enable; readable from the next cycle on.
//   read        Address in cycle t, data from t + 1 on until the port's next read.
//
// Otherwise it is like kiln_input_buffer, to which it is equal with WRITES = 1.
module kiln_depthwise_input_buffer #(
    parameter int unsigned WORDS = 1024,  // words of a bank
    parameter int unsigned LANES = 8,  // codes of a word
    parameter int unsigned CODE_BITS = 8,
    parameter int unsigned READS = 9,  // read ports
    parameter int unsigned WRITES = 2,  // the most words of a write; a power of two
    localparam int unsigned ADDRESS_BITS = WORDS > 1 ? $clog2(WORDS) : 1,  // derived, do not set
    localparam int unsigned COUNT_BITS = WRITES > 1 ? $clog2(WRITES) : 1,
    localparam int unsigned WORD_BITS = LANES * CODE_BITS
) (
    input  logic                          clock,
    // From input fetch.
    input  logic                          write_enable,
    input  logic                          write_bank,
    input  logic [      ADDRESS_BITS-1:0] write_address,
    input  logic [        COUNT_BITS-1:0] write_words,
    input  logic [  WRITES*WORD_BITS-1:0] write_data,
    // All read ports read the same bank.
    input  logic [             READS-1:0] read_enable,
    input  logic                          read_bank,
    input  logic [READS*ADDRESS_BITS-1:0] read_address,
    output logic [   READS*WORD_BITS-1:0] read_data
);
  if (WRITES == 1) begin : g_one
    kiln_input_buffer #(
        .WORDS(WORDS),
        .LANES(LANES),
        .CODE_BITS(CODE_BITS),
        .READS(READS)
    ) buffer (
        .clock,
        .write_enable,
        .write_bank,
        .write_address,
        .write_data,
        .read_enable,
        .read_bank,
        .read_address,
        .read_data
    );
    wire unused_words = &{1'b0, write_words};
  end else begin : g_several
    localparam int unsigned EACH = (WORDS + WRITES - 1) / WRITES;  // words of a bank in a memory
    localparam int unsigned PLACE_BITS = $clog2(2 * EACH);
    localparam int unsigned LINE_BITS = ADDRESS_BITS > COUNT_BITS ? ADDRESS_BITS - COUNT_BITS : 1;

    // Returns the address in the memory of word `line` * WRITES + the memory's number.
    function automatic [PLACE_BITS-1:0] place(input logic bank, input logic [LINE_BITS-1:0] line);
      place = (bank ? PLACE_BITS'(EACH) : '0) + PLACE_BITS'(line);
    endfunction
    // Returns the line of a word.
    function automatic [LINE_BITS-1:0] line_of(input logic [ADDRESS_BITS-1:0] address);
      line_of = LINE_BITS'(address >> COUNT_BITS);
    endfunction

    logic [READS*COUNT_BITS-1:0] memory_of_read, memory_of_data;
    logic [READS*PLACE_BITS-1:0] read_place;
    for (genvar i = 0; i < READS; i++) begin : g_read
      logic [ADDRESS_BITS-1:0] address;
      assign address = read_address[i*ADDRESS_BITS+:ADDRESS_BITS];
      assign memory_of_read[i*COUNT_BITS+:COUNT_BITS] = COUNT_BITS'(address);
      assign read_place[i*PLACE_BITS+:PLACE_BITS] = place(read_bank, line_of(address));
      always_ff @(posedge clock) begin
        if (read_enable[i])
          memory_of_data[i*COUNT_BITS+:COUNT_BITS] <= memory_of_read[i*COUNT_BITS+:COUNT_BITS];
      end
    end

    logic [COUNT_BITS-1:0] first;  // memory of the first word that is written
    assign first = COUNT_BITS'(write_address);
    logic [WRITES*READS*WORD_BITS-1:0] memory_data;
    for (genvar m = 0; m < WRITES; m++) begin : g_memory
      logic [COUNT_BITS-1:0] word;  // number of the word in the write
      logic [LINE_BITS-1:0] line;
      logic [READS-1:0] enable;
      assign word = COUNT_BITS'(m) - first;
      assign line = line_of(write_address + ADDRESS_BITS'(word));
      for (genvar i = 0; i < READS; i++) begin : g_enable
        assign enable[i] =
            read_enable[i] && memory_of_read[i*COUNT_BITS+:COUNT_BITS] == COUNT_BITS'(m);
      end
      kiln_ram_1w #(
          .WIDTH(WORD_BITS),
          .WORDS(2 * EACH),
          .READS(READS)
      ) memory (
          .clock,
          .write_enable (write_enable && word <= write_words),
          .write_address(place(write_bank, line)),
          .write_data   (write_data[32'(word)*WORD_BITS+:WORD_BITS]),
          .read_enable  (enable),
          .read_address (read_place),
          .read_data    (memory_data[m*READS*WORD_BITS+:READS*WORD_BITS])
      );
    end
    for (genvar i = 0; i < READS; i++) begin : g_data
      assign read_data[i*WORD_BITS+:WORD_BITS] =
          memory_data[(32'(memory_of_data[i*COUNT_BITS+:COUNT_BITS])*READS+i)*WORD_BITS+:WORD_BITS];
    end
  end
endmodule
