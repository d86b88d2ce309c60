// A tile memory: vectors that the asynchronous fabric writes and instructions read.
//   write     in any clock cycle; visible to reads in later ones
//   read      read_enable with `base`, `ring` and `thread` in cycle t: from t + 1 on, until the
//             cycle after the next read, read_data is the vector at base, plus the thread's number
//             if `ring` is set
module kiln_cgra_tile_memory #(
    parameter int unsigned WIDTH = 64,  // bits of a vector
    parameter int unsigned DEPTH = 512,
    parameter int unsigned THREAD_BITS = 5
) (
    input  logic                                   clock,
    input  logic                                   write_enable,
    input  logic [kiln_cgra_pkg::ADDRESS_BITS-1:0] write_address,
    input  logic [                      WIDTH-1:0] write_data,
    input  logic                                   read_enable,
    input  logic [kiln_cgra_pkg::ADDRESS_BITS-1:0] base,
    input  logic                                   ring,
    input  logic [                THREAD_BITS-1:0] thread,
    output logic [                      WIDTH-1:0] read_data
);
  localparam int unsigned BITS = $clog2(DEPTH);
  logic [BITS-1:0] read_address;
  assign read_address = base[BITS-1:0] + (ring ? BITS'(thread) : '0);
  kiln_ram_1w #(
      .WIDTH(WIDTH),
      .WORDS(DEPTH)
  ) vectors (
      .clock,
      .write_enable,
      .write_address(write_address[BITS-1:0]),
      .write_data,
      .read_enable,
      .read_address,
      .read_data
  );
  wire unused = &{1'b0, base, write_address};

`ifndef SYNTHESIS
  // The dispatcher's reset makes `write_enable` low after the first cycle.
  logic begun = 1'b0;
  always_ff @(posedge clock) begin
    begun <= 1'b1;
    if (begun && write_enable) writes_within_depth : assert (32'(write_address) < DEPTH);
  end
`endif
endmodule
