// Trees of 1, 2, 3, 5, 9 and 17 of the terms, with a register after every level (sum_N) and after
// every second one (pair_N).
module sum_tree_bench (
    input  logic        clock,
    input  logic [84:0] terms,
    output logic [ 4:0] sum_1,
    output logic [ 5:0] sum_2,
    output logic [ 6:0] sum_3,
    output logic [ 7:0] sum_5,
    output logic [ 8:0] sum_9,
    output logic [ 9:0] sum_17,
    output logic [ 4:0] pair_1,
    output logic [ 5:0] pair_2,
    output logic [ 6:0] pair_3,
    output logic [ 7:0] pair_5,
    output logic [ 8:0] pair_9,
    output logic [ 9:0] pair_17
);
  kiln_sum_tree #(
      .TERMS              (1),
      .BITS               (5),
      .LEVELS_PER_REGISTER(1)
  ) sum_tree_1 (
      .clock,
      .terms(terms[4:0]),
      .sum  (sum_1)
  );
  kiln_sum_tree #(
      .TERMS              (2),
      .BITS               (5),
      .LEVELS_PER_REGISTER(1)
  ) sum_tree_2 (
      .clock,
      .terms(terms[9:0]),
      .sum  (sum_2)
  );
  kiln_sum_tree #(
      .TERMS              (3),
      .BITS               (5),
      .LEVELS_PER_REGISTER(1)
  ) sum_tree_3 (
      .clock,
      .terms(terms[14:0]),
      .sum  (sum_3)
  );
  kiln_sum_tree #(
      .TERMS              (5),
      .BITS               (5),
      .LEVELS_PER_REGISTER(1)
  ) sum_tree_5 (
      .clock,
      .terms(terms[24:0]),
      .sum  (sum_5)
  );
  kiln_sum_tree #(
      .TERMS              (9),
      .BITS               (5),
      .LEVELS_PER_REGISTER(1)
  ) sum_tree_9 (
      .clock,
      .terms(terms[44:0]),
      .sum  (sum_9)
  );
  kiln_sum_tree #(
      .TERMS              (17),
      .BITS               (5),
      .LEVELS_PER_REGISTER(1)
  ) sum_tree_17 (
      .clock,
      .terms(terms[84:0]),
      .sum  (sum_17)
  );
  kiln_sum_tree #(
      .TERMS              (1),
      .BITS               (5),
      .LEVELS_PER_REGISTER(2)
  ) pair_tree_1 (
      .clock,
      .terms(terms[4:0]),
      .sum  (pair_1)
  );
  kiln_sum_tree #(
      .TERMS              (2),
      .BITS               (5),
      .LEVELS_PER_REGISTER(2)
  ) pair_tree_2 (
      .clock,
      .terms(terms[9:0]),
      .sum  (pair_2)
  );
  kiln_sum_tree #(
      .TERMS              (3),
      .BITS               (5),
      .LEVELS_PER_REGISTER(2)
  ) pair_tree_3 (
      .clock,
      .terms(terms[14:0]),
      .sum  (pair_3)
  );
  kiln_sum_tree #(
      .TERMS              (5),
      .BITS               (5),
      .LEVELS_PER_REGISTER(2)
  ) pair_tree_5 (
      .clock,
      .terms(terms[24:0]),
      .sum  (pair_5)
  );
  kiln_sum_tree #(
      .TERMS              (9),
      .BITS               (5),
      .LEVELS_PER_REGISTER(2)
  ) pair_tree_9 (
      .clock,
      .terms(terms[44:0]),
      .sum  (pair_9)
  );
  kiln_sum_tree #(
      .TERMS              (17),
      .BITS               (5),
      .LEVELS_PER_REGISTER(2)
  ) pair_tree_17 (
      .clock,
      .terms(terms[84:0]),
      .sum  (pair_17)
  );
endmodule
