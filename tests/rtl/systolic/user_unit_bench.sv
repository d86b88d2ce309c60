// The interface of user units with the first user unit in it, and that unit alone: with and without
// a register in the place of the multipliers' register, and with 5-bit codes, one per step.
module user_unit_bench (
    input  logic clock,
    input  logic valid,
    input  logic first,
    input  logic [3:0] present,
    input  logic [4*3*8-1:0] inputs,  // [tap][lane]
    input  logic [4*3*8-1:0] weights,
    input  logic [3*5-1:0] narrow_inputs,
    output logic [3*32-1:0] slot_sums,
    output logic [3*32-1:0] maximum_sums,
    output logic [3*16-1:0] narrow_sums
);
  kiln_user_unit #(
      .UNIT(1),
      .LANES(3),
      .MULTIPLIERS(4),
      .REGISTERS(1)
  ) slot (
      .clock,
      .valid,
      .first,
      .present,
      .inputs,
      .weights,
      .sums(slot_sums)
  );
  kiln_user_maximum #(
      .LANES(3),
      .MULTIPLIERS(4),
      .REGISTERS(0)
  ) maximum (
      .clock,
      .valid,
      .first,
      .present,
      .inputs,
      .weights,
      .sums(maximum_sums)
  );
  kiln_user_maximum #(
      .LANES(3),
      .MULTIPLIERS(1),
      .REGISTERS(1),
      .INPUT_BITS(5),
      .WEIGHT_BITS(4),
      .PSUM_BITS(16)
  ) narrow (
      .clock,
      .valid,
      .first,
      .present(present[0]),
      .inputs(narrow_inputs),
      .weights(weights[0+:3*4]),
      .sums(narrow_sums)
  );
endmodule
