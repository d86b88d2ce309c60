// The double buffer between input fetch and a computing unit: two banks of WORDS words. The array's
// buffer has one read port. The depthwise unit's buffer has one for each of its multipliers, so
// that the taps of a pixel can be read in one cycle with any stride and dilation.
//   write       In the cycle of write_enable; readable from the next cycle on.
//   read        Address in cycle t, data from t + 1 on until the next read.
//
// The fetch unit assembles whole words: lane i holds the code of channel (or packed tap) i, with
// CODE_BITS bits, those of the input format. Lanes beyond the valid ones are undefined: the array
// does not multiply them. Tokens between the units, not this module, decide which unit may use
// which bank.
module kiln_input_buffer #(
    parameter int unsigned WORDS = 1024,  // words of a bank
    // Codes of a word: ARRAY_ROWS, or ARRAY_COLUMNS for the depthwise unit.
    parameter int unsigned LANES = 8,
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

  // The second bank directly follows the first, so that no entry is unused for any WORDS.
  function automatic [PLACE_BITS-1:0] place(input logic bank,
      input logic [ADDRESS_BITS-1:0] address);
    place = (bank ? PLACE_BITS'(WORDS) : '0) + PLACE_BITS'(address);
  endfunction

  logic [READS*PLACE_BITS-1:0] read_place;
  for (genvar i = 0; i < READS; i++) begin : g_place
    assign read_place[i*PLACE_BITS+:PLACE_BITS] =
        place(read_bank, read_address[i*ADDRESS_BITS+:ADDRESS_BITS]);
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
