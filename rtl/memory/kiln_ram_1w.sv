// A memory with one write port and READS read ports, all synchronous. Maps to block memory, with
// one copy per read port.
//   time       a word written in cycle t (write_enable) is visible to reads issued in t + 1 or
//              later. The word at an address given in cycle t (read_enable) is at read_data from
//              t + 1 until the cycle after the port's next read_enable.
//   addresses  must be below WORDS. A read of the word that is written in the same cycle returns
//              the old word.
//   contents   unknown at power-up, or zero with INITIALLY_ZERO; a reset leaves them unchanged.
//              Synthesis does not see INITIALLY_ZERO: memories of FPGAs are zero after
//              configuration, and other technologies need a circuit that clears them.
//   STYLE      the kind of memory of an FPGA: 0 the tool decides, 1 LUT memory, 2 block memory,
//              3 UltraRAM
module kiln_ram_1w #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned WORDS = 1024,
    parameter int unsigned READS = 1,  // read ports
    parameter bit INITIALLY_ZERO = 1'b0,
    parameter int unsigned STYLE = 0,
    localparam int unsigned ADDRESS_BITS = WORDS > 1 ? $clog2(WORDS) : 1  // derived, do not set
) (
    input  logic                          clock,
    input  logic                          write_enable,
    input  logic [      ADDRESS_BITS-1:0] write_address,
    input  logic [             WIDTH-1:0] write_data,
    input  logic [             READS-1:0] read_enable,
    input  logic [READS*ADDRESS_BITS-1:0] read_address,
    output logic [       READS*WIDTH-1:0] read_data
);
  localparam logic [87:0] MEMORY_STYLE =
      STYLE == 0 ? "auto" : STYLE == 1 ? "distributed" : STYLE == 2 ? "block" : "ultra";
  (* ram_style = MEMORY_STYLE *) logic [WIDTH-1:0] words[WORDS];

`ifndef SYNTHESIS
  if (INITIALLY_ZERO) begin : g_initial
    initial for (int i = 0; i < WORDS; i++) words[i] = '0;
  end
`endif

  always_ff @(posedge clock) begin
    if (write_enable) words[write_address] <= write_data;
  end

  for (genvar i = 0; i < READS; i++) begin : g_read
    always_ff @(posedge clock) begin
      if (read_enable[i])
        read_data[i*WIDTH+:WIDTH] <= words[read_address[i*ADDRESS_BITS+:ADDRESS_BITS]];
    end
  end
`ifdef FORMAL
  // The words, for proofs of modules with a memory (`probes` of tools/check_formal).
  logic [WORDS*WIDTH-1:0] contents;
  always_comb begin
    for (int i = 0; i < WORDS; i++) contents[i*WIDTH+:WIDTH] = words[i];
  end
`endif
endmodule
