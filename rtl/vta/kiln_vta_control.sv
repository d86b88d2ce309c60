// Controls one launch of the VTA machine: starts the machine, counts its cycles, and ends the
// launch at FINISH or at a fault.
//
//   launch       pulse, in a cycle in which the machine is neither running nor draining; `running`
//                is high from the next cycle on
//   finish       FINISH has retired: the launch ends in this cycle if every other instruction is
//                done in it or before
//   faults       faults of this cycle, each with the number of the instruction that caused it. The
//                first fault ends the launch: `draining` replaces `running` until nothing is
//                outstanding on the port. `clear` is then high for one cycle, which resets
//                everything but the buffers and the registers.
//   moving       something happens in this cycle or is in flight. If `moving` is low for
//                STILL_CYCLES, the machine can never continue.
//   ended        pulse: the launch has ended, with or without a fault; cycles and fault are those
//                of this launch
module kiln_vta_control (
    input  logic                                 clock,
    input  logic                                 reset,
    input  logic                                 launch,
    input  logic [kiln_vta_pkg::NUMBER_BITS-1:0] instructions,
    output logic                                 running,
    output logic                                 draining,
    output logic                                 clear,
    output logic                                 ended,
    output logic [                         31:0] cycles,
    input  logic                                 cycles_write,  // software sets the cycle counter
    input  logic [                         31:0] cycles_data,
    output logic [                          3:0] fault,
    output logic [kiln_vta_pkg::NUMBER_BITS-1:0] fault_number,
    // Events
    input  logic                                 finish,
    // instructions done in this cycle, at most one of each stage
    input  logic [                          2:0] done,
    input  logic                                 moving,
    input  logic                                 port_idle,
    // stages with an instruction at the head of their queue, and its number
    input  logic [                          2:0] waiting,
    input  logic [kiln_vta_pkg::NUMBER_BITS-1:0] waiting_load,
    input  logic [kiln_vta_pkg::NUMBER_BITS-1:0] waiting_compute,
    input  logic [kiln_vta_pkg::NUMBER_BITS-1:0] waiting_store,
    // Faults of an instruction: in its encoding, on the port, outside the buffers
    input  logic [                          3:0] word_fault,
    input  logic [kiln_vta_pkg::NUMBER_BITS-1:0] word_fault_number,
    input  logic                                 read_fault,
    input  logic [kiln_vta_pkg::NUMBER_BITS-1:0] read_fault_number,
    input  logic                                 write_fault,
    input  logic [kiln_vta_pkg::NUMBER_BITS-1:0] write_fault_number,
    input  logic                                 range_fault
);
  localparam int unsigned BITS = kiln_vta_pkg::NUMBER_BITS;
  localparam int unsigned STILL_BITS = $clog2(kiln_vta_pkg::STILL_CYCLES);

  // ---- Number of instructions done, including those of this cycle.
  logic [BITS-1:0] done_before, done_now;
  assign done_now = done_before + BITS'(done[0]) + BITS'(done[1]) + BITS'(done[2]);

  logic [STILL_BITS-1:0] still;
  logic stands_still;
  assign stands_still = !moving && still == '1;

  // ---- The fault, if any, that ends the launch in this cycle.
  logic [3:0] found;
  logic [BITS-1:0] found_number, last_number;
  assign last_number = instructions == '0 ? '0 : instructions - 1'b1;
  always_comb begin
    found        = kiln_vta_pkg::FAULT_NONE;
    found_number = '0;
    if (read_fault) begin
      found        = kiln_vta_pkg::FAULT_DRAM_RANGE;
      found_number = read_fault_number;
    end else if (write_fault) begin
      found        = kiln_vta_pkg::FAULT_DRAM_RANGE;
      found_number = write_fault_number;
    end else if (range_fault) begin
      found        = kiln_vta_pkg::FAULT_SRAM_RANGE;
      found_number = waiting_compute;
    end else if (word_fault != kiln_vta_pkg::FAULT_NONE) begin
      found        = word_fault;
      found_number = word_fault_number;
    end else if (finish && done_now != instructions) begin
      found        = kiln_vta_pkg::FAULT_NO_FINISH;
      found_number = last_number;
    end else if (!finish && stands_still && waiting != '0) begin
      found        = kiln_vta_pkg::FAULT_DEADLOCK;
      found_number = waiting[0] ? waiting_load : waiting[1] ? waiting_compute : waiting_store;
    end else if (!finish && stands_still) begin
      found        = kiln_vta_pkg::FAULT_NO_FINISH;
      found_number = last_number;
    end
  end

  logic stops, finishes;
  assign stops = running && found != kiln_vta_pkg::FAULT_NONE;
  assign finishes = running && finish && !stops;
  assign clear = draining && port_idle;
  assign ended = finishes || clear;

  always_ff @(posedge clock) begin
    if (reset) begin
      running  <= 1'b0;
      draining <= 1'b0;
      fault    <= kiln_vta_pkg::FAULT_NONE;
      cycles   <= '0;
      fault_number <= '0;
    end else begin
      if (launch) running <= 1'b1;
      else if (stops || finishes) running <= 1'b0;
      if (stops) draining <= 1'b1;
      else if (clear) draining <= 1'b0;
      if (launch) begin
        fault        <= kiln_vta_pkg::FAULT_NONE;
        fault_number <= '0;
        cycles       <= '0;
      end else begin
        if (stops) begin
          fault        <= found;
          fault_number <= found_number;
        end
        if (cycles_write) cycles <= cycles_data;
        else if (running) cycles <= cycles + 1'b1;
      end
    end
    if (!running) begin
      done_before <= '0;
      still       <= '0;
    end else begin
      done_before <= done_now;
      still       <= moving ? '0 : still + 1'b1;
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      one_state : assert (!(running && draining));
      launch_when_idle : assert (!launch || (!running && !draining));
      fault_while_draining : assert (!draining || fault != kiln_vta_pkg::FAULT_NONE);
      no_fault_while_running : assert (!running || fault == kiln_vta_pkg::FAULT_NONE);
      ends_once : assert (!(finishes && clear));
    end
  end
`endif
endmodule
