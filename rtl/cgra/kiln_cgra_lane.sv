// One lane of a tile: the multiply/shift unit, a register, the arithmetic/logic unit, a register.
//   time     A unit takes one fabric cycle, with FLOATS two. Operands and `multiply` in fabric
//            cycle t, `logic_operation` and `gated` in t + 1 (FLOATS: t + 2), the result from t + 2
//            on (t + 4). New operands in every fabric cycle.
//   gated    the result is 0 where in2 is 0
//   advance  a fabric cycle; registers keep their values in other cycles
//   next     the result one fabric cycle earlier, combinational
// Without FLOATS, binary32 operations return their first operand.
module kiln_cgra_lane #(
    parameter bit FLOATS = 1'b0
) (
    input  logic                                    clock,
    input  logic                                    advance,
    input  logic [kiln_cgra_pkg::MULTIPLY_BITS-1:0] multiply,
    input  logic [                            31:0] in1,
    input  logic [                            31:0] in2,
    input  logic [                            31:0] in3,
    input  logic [   kiln_cgra_pkg::LOGIC_BITS-1:0] logic_operation,
    input  logic                                    gated,
    output logic [                            31:0] next,
    output logic [                            31:0] result
);
  // What the two units compute, and the operands beside it: m_next, in2_next and in3_next at the
  // end of the first one, m and the others at the begin of the second.
  logic [31:0] integer_m, m_next, in2_next, in3_next, m, in2_now, in3_now, integer_result;
  logic in2_zero, in3_zero;
  kiln_cgra_multiply_lane multiply_shift (
      .operation(multiply),
      .in1,
      .in2,
      .m(integer_m)
  );
  kiln_cgra_logic_lane arithmetic_logic (
      .operation(logic_operation),
      .m,
      .in2(in2_now),
      .in3(in3_now),
      .in3_zero,
      .result(integer_result)
  );
  always_ff @(posedge clock) begin
    if (advance) begin
      m        <= m_next;
      in2_now  <= in2_next;
      in3_now  <= in3_next;
      in2_zero <= in2_next == '0;
      in3_zero <= in3_next == '0;
      result   <= next;
    end
  end

  if (FLOATS) begin : g_float
    logic [31:0] integer_m1, product, integer_result1, sum, a, b;
    logic product_chosen, sum_chosen, zeroed;
    kiln_cgra_float_multiply float_multiply (
        .clock,
        .advance,
        .a(in1),
        .b(in2),
        .result(product)
    );
    assign a = {m[31] ^ (logic_operation == kiln_cgra_pkg::LOGIC_FLOAT_SUBTRACT_M), m[30:0]};
    assign b = {
      in3_now[31] ^ (logic_operation == kiln_cgra_pkg::LOGIC_FLOAT_SUBTRACT), in3_now[30:0]
    };
    kiln_cgra_float_add float_add (
        .clock,
        .advance,
        .a,
        .b,
        .result(sum)
    );
    always_ff @(posedge clock) begin
      if (advance) begin
        integer_m1      <= integer_m;
        product_chosen  <= multiply == kiln_cgra_pkg::MULTIPLY_FLOAT;
        in2_next        <= in2;
        in3_next        <= in3;
        integer_result1 <= integer_result;
        sum_chosen      <= logic_operation == kiln_cgra_pkg::LOGIC_FLOAT_ADD ||
            logic_operation == kiln_cgra_pkg::LOGIC_FLOAT_SUBTRACT ||
            logic_operation == kiln_cgra_pkg::LOGIC_FLOAT_SUBTRACT_M;
        zeroed          <= gated && in2_zero;
      end
    end
    assign m_next = product_chosen ? product : integer_m1;
    assign next   = zeroed ? '0 : sum_chosen ? sum : integer_result1;
  end else begin : g_integer
    assign m_next   = integer_m;
    assign in2_next = in2;
    assign in3_next = in3;
    assign next     = gated && in2_zero ? '0 : integer_result;
  end

`ifndef SYNTHESIS
  logic issued = 1'b0;  // the registers between the units hold operands
  always_ff @(posedge clock) begin
    issued <= issued || advance;
    if (issued) begin
      zeros_of_operands : assert (in2_zero == (in2_now == '0) && in3_zero == (in3_now == '0));
    end
  end
`endif
endmodule
