// The double buffer between input fetch and what computes: two banks of WORDS words. The array's has one read port, the
// depthwise unit's one for each of its multipliers, so that a pixel's taps come in one cycle whatever stride and dilation.
//   write      in the cycle of write_enable; readable from the next cycle on
//   read       address in cycle t, data from t+1 on until the next read
// The fetch unit assembles whole words: lane i holds the code of channel (or packed tap) i, CODE_BITS = bits of the input format
// each. Lanes beyond the valid ones may hold anything: the array does not multiply them. Who may use which bank when is settled by
// tokens between the units, not in here.
module kiln_input_buffer #(
    parameter int unsigned WORDS = 1024,  // of a bank
    parameter int unsigned LANES = 8,  // codes of a word: ARRAY_ROWS, or ARRAY_COLUMNS before the depthwise unit
    parameter int unsigned CODE_BITS = 8,
    parameter int unsigned READS = 1,  // read ports
    localparam int unsigned ADDRESS_BITS = WORDS > 1 ? $clog2(WORDS) : 1,  // derived, do not set
    localparam int unsigned WORD_BITS = LANES * CODE_BITS
) (
    input  logic                          clock,
    // From input fetch.
    input  logic                          write_enable,
    input  logic                          write_bank,
    input  logic [      ADDRESS_BITS-1:0] write_address,
    input  logic [         WORD_BITS-1:0] write_data,
    // All read ports read the same bank.
    input  logic [             READS-1:0] read_enable,
    input  logic                          read_bank,
    input  logic [READS*ADDRESS_BITS-1:0] read_address,
    output logic [   READS*WORD_BITS-1:0] read_data
);
  localparam int unsigned PLACE_BITS = $clog2(2 * WORDS);

  // The second bank follows the first, so that any number of words fills the memory.
  function automatic [PLACE_BITS-1:0] place(input logic bank, input logic [ADDRESS_BITS-1:0] address);
    place = (bank ? PLACE_BITS'(WORDS) : '0) + PLACE_BITS'(address);
  endfunction

  logic [READS*PLACE_BITS-1:0] read_place;
  for (genvar i = 0; i < READS; i++) begin : g_place
    assign read_place[i*PLACE_BITS+:PLACE_BITS] = place(read_bank, read_address[i*ADDRESS_BITS+:ADDRESS_BITS]);
  end

  kiln_ram_1w #(
      .WIDTH(WORD_BITS),
      .WORDS(2 * WORDS),
      .READS(READS)
  ) memory (
      .clock,
      .write_enable,
      .write_address(place(write_bank, write_address)),
      .write_data,
      .read_enable,
      .read_address (read_place),
      .read_data
  );
endmodule
