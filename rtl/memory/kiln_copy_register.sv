// A register for one of several copies of a signal that many others depend on. Synthesis would join
// equal registers of one module; as modules of their own they stay apart, and each drives its part.
//   time   `in` of a cycle is at the output in the next one; after a reset the output is 1
module kiln_copy_register (
    input  logic clock,
    input  logic reset,
    input  logic in,
    output logic out
);
  always_ff @(posedge clock) out <= reset || in;
endmodule
