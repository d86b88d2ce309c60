// The small modules of a tile, side by side with their ports.
module units_bench (
    input  logic         clock,
    input  logic         advance,
    input  logic         clear,
    // A delay line of WAIT_LIMIT 5
    input  logic         line_valid,
    input  logic [  2:0] line_thread,
    input  logic [ 63:0] line_next,
    output logic [  5:0] line_valids,
    output logic [ 17:0] line_threads,
    input  logic [  2:0] line_read_enable,
    input  logic [ 20:0] line_read_delay,
    output logic [191:0] line_read_data,
    // The same without waiting
    output logic         short_valids,
    output logic [  2:0] short_threads,
    output logic [191:0] short_read_data,
    // Links of reach 3
    input  logic [  5:0] link_valid,
    input  logic [  2:0] link_thread,
    input  logic [ 63:0] link_data,
    output logic [  5:0] link_out_valid,
    output logic [  8:0] link_out_thread,
    output logic [191:0] link_out_next,
    // A tile memory of 16 vectors
    input  logic         write_enable,
    input  logic [ 11:0] write_address,
    input  logic [ 63:0] write_data,
    input  logic         read_enable,
    input  logic [ 11:0] base,
    input  logic         ring,
    input  logic [  2:0] thread,
    output logic [ 63:0] read_data,
    // An operand of three lines with four delays
    input  logic [ 13:0] operand,
    input  logic [ 11:0] valids,
    output logic [  2:0] read_line,
    output logic [  1:0] read_memory,
    input  logic [ 31:0] literal_now,
    input  logic [191:0] line_data,
    input  logic [127:0] memory_data,
    output logic [ 63:0] value
);
  kiln_cgra_delay_line #(
      .WIDTH(64),
      .THREAD_BITS(3),
      .WAIT_LIMIT(5)
  ) line (
      .clock,
      .advance,
      .clear,
      .in_valid(line_valid),
      .in_thread(line_thread),
      .next_data(line_next),
      .valids(line_valids),
      .threads(line_threads),
      .read_enable(line_read_enable),
      .read_delay(line_read_delay),
      .read_data(line_read_data)
  );
  kiln_cgra_delay_line #(
      .WIDTH(64),
      .THREAD_BITS(3),
      .WAIT_LIMIT(0)
  ) short_line (
      .clock,
      .advance,
      .clear,
      .in_valid(line_valid),
      .in_thread(line_thread),
      .next_data(line_next),
      .valids(short_valids),
      .threads(short_threads),
      .read_enable(line_read_enable),
      .read_delay('0),
      .read_data(short_read_data)
  );
  kiln_cgra_link #(
      .WIDTH(64),
      .THREAD_BITS(3),
      .REACH(3)
  ) link (
      .clock,
      .advance,
      .clear,
      .valid(link_valid),
      .thread(link_thread),
      .data(link_data),
      .out_valid(link_out_valid),
      .out_thread(link_out_thread),
      .out_next(link_out_next)
  );
  kiln_cgra_tile_memory #(
      .WIDTH(64),
      .DEPTH(16),
      .THREAD_BITS(3)
  ) memory (
      .clock,
      .write_enable,
      .write_address,
      .write_data,
      .read_enable,
      .base,
      .ring,
      .thread,
      .read_data
  );
  kiln_cgra_operand #(
      .LANES(2),
      .LINES(3),
      .SPAN (4)
  ) selection (
      .clock,
      .advance,
      .operand,
      .valids,
      .read_line,
      .read_memory,
      .literal_now,
      .line_data,
      .memory_data,
      .value
  );
endmodule
