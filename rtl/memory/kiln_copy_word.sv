// A register for one of several copies of a word that many lanes depend on. It is a module of its
// own, like kiln_copy_register, so that synthesis does not join the copies.
//   time   `in` of a cycle with `enable` is at the output from the next one on
module kiln_copy_word #(
    parameter int unsigned WIDTH = 32
) (
    input  logic             clock,
    input  logic             enable,
    input  logic [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);
  always_ff @(posedge clock) if (enable) out <= in;
endmodule
