// A memory of constants with a registered read.
//   time       The word at the address of cycle t (read_enable) is at read_data from t + 1 until
//              the cycle after the next read_enable.
//   contents   FILE holds one hexadecimal number per word, in order, as $readmemh reads it. A
//              simulation opens it at its start, relative to the working directory; Yosys opens it
//              when it reads the sources. Without a FILE all words are zero.
//   addresses  must be below DEPTH
module kiln_dataflow_rom #(
    parameter int unsigned WIDTH = 8,  // bits of a word
    parameter int unsigned DEPTH = 16,  // words
    parameter FILE = "",
    parameter int unsigned MEMORY = 0,  // 0 LUTs, 1 block memory
    localparam int unsigned ADDRESS_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1  // derived, do not set
) (
    input  logic                    clock,
    input  logic                    read_enable,
    input  logic [ADDRESS_BITS-1:0] read_address,
    output logic [       WIDTH-1:0] read_data
);
  if (MEMORY > 1) begin : g_parameters
    $error("MEMORY must be 0 or 1: an UltraRAM cannot hold constants");
  end

  if (MEMORY == 0) begin : g_lut
    // Yosys has no memory cell made of LUTs without a write port, but builds one of logic.
`ifdef YOSYS
    (* logic_block *)
`else
    (* rom_style = "distributed" *)
`endif
    logic [WIDTH-1:0] words[DEPTH];
    if (FILE != "") begin : g_contents
      initial $readmemh(FILE, words);
    end else begin : g_zeros
      initial for (int i = 0; i < DEPTH; i++) words[i] = '0;
    end
    always_ff @(posedge clock) if (read_enable) read_data <= words[read_address];
  end else begin : g_block
    (* rom_style = "block" *) logic [WIDTH-1:0] words[DEPTH];
    if (FILE != "") begin : g_contents
      initial $readmemh(FILE, words);
    end else begin : g_zeros
      initial for (int i = 0; i < DEPTH; i++) words[i] = '0;
    end
    always_ff @(posedge clock) if (read_enable) read_data <= words[read_address];
  end
endmodule
