// Decodes what an encoded instruction alone determines: the stage that executes it, a fault if no
// stage can, and the banks that a load of accumulators writes. Used by kiln_vta_fetch.
// Combinational. Faults have the priority of `FaultOfWord`
// (targets/vta/simulate/cycle/cycle_decode.h).
module kiln_vta_decoder #(
    parameter int unsigned UOP_INDEX_BITS = 13,
    parameter int unsigned INPUT_INDEX_BITS = 11,
    parameter int unsigned WEIGHT_INDEX_BITS = 10,
    parameter int unsigned ACCUMULATOR_INDEX_BITS = 11,
    parameter int unsigned ACCUMULATOR_BANKS = 4
) (
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] instruction,
    output logic [                               1:0] stage,
    output logic [                               3:0] fault,  // FAULT_NONE if there is none
    output logic [             ACCUMULATOR_BANKS-1:0] banks  // 0 unless a load of accumulators
);
  localparam int unsigned EXTENT_BITS = 17;  // a size and two paddings
  localparam int unsigned AREA_BITS = 2 * EXTENT_BITS + 1;  // a rectangle's area plus sram_base

  kiln_vta_pkg::transfer_t transfer;
  assign transfer = instruction;

  logic load, store, alu_reserved;
  logic [2:0] operation;
  assign load = transfer.common.opcode == kiln_vta_pkg::OPCODE_LOAD;
  assign store = transfer.common.opcode == kiln_vta_pkg::OPCODE_STORE;
  kiln_vta_fields #(
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) fields (
      .instruction,
      .clear(),
      .uop_begin(),
      .uop_end(),
      .outer(),
      .inner(),
      .dst_outer(),
      .dst_inner(),
      .src_outer(),
      .src_inner(),
      .weight_outer(),
      .weight_inner(),
      .operation,
      .use_immediate(),
      .immediate()
  );
  assign alu_reserved =
      transfer.common.opcode == kiln_vta_pkg::OPCODE_ALU && operation > kiln_vta_pkg::ALU_MULTIPLY;

  always_comb begin
    stage = kiln_vta_pkg::STAGE_COMPUTE;
    if (store) stage = kiln_vta_pkg::STAGE_STORE;
    if (load && (transfer.memory == kiln_vta_pkg::MEMORY_INPUT ||
        transfer.memory == kiln_vta_pkg::MEMORY_WEIGHT)) begin
      stage = kiln_vta_pkg::STAGE_LOAD;
    end
  end

  // ---- Elements on chip: the rectangle with its padding, starting at sram_base.
  logic [EXTENT_BITS-1:0] width, height;
  logic [AREA_BITS-1:0] area, behind, elements;
  logic [15:0] last;  // index of the last element; valid if it exists and is inside the buffer
  assign width = EXTENT_BITS'(transfer.x_size) + EXTENT_BITS'(transfer.x_pad_before) +
      EXTENT_BITS'(transfer.x_pad_after);
  assign height = EXTENT_BITS'(transfer.y_size) + EXTENT_BITS'(transfer.y_pad_before) +
      EXTENT_BITS'(transfer.y_pad_after);
  assign area = AREA_BITS'(width) * AREA_BITS'(height);
  assign behind = area + AREA_BITS'(transfer.sram_base);
  assign last = 16'(behind - 1'b1);

  logic reaches, padded;
  assign padded = {transfer.x_pad_before, transfer.x_pad_after, transfer.y_pad_before,
      transfer.y_pad_after} != '0;
  always_comb begin
    reaches = load;
    case (transfer.memory)
      kiln_vta_pkg::MEMORY_UOP: elements = AREA_BITS'(1) << UOP_INDEX_BITS;
      kiln_vta_pkg::MEMORY_WEIGHT: elements = AREA_BITS'(1) << WEIGHT_INDEX_BITS;
      kiln_vta_pkg::MEMORY_INPUT: elements = AREA_BITS'(1) << INPUT_INDEX_BITS;
      kiln_vta_pkg::MEMORY_ACCUMULATOR, kiln_vta_pkg::MEMORY_ACCUMULATOR8:
          elements = AREA_BITS'(1) << ACCUMULATOR_INDEX_BITS;
      kiln_vta_pkg::MEMORY_OUTPUT: begin
        elements = AREA_BITS'(1) << ACCUMULATOR_INDEX_BITS;
        reaches  = store;
      end
      default: begin
        elements = '0;
        reaches  = 1'b0;
      end
    endcase
  end

  always_comb begin
    fault = kiln_vta_pkg::FAULT_NONE;
    if (transfer.common.opcode > kiln_vta_pkg::OPCODE_ALU || alu_reserved) begin
      fault = kiln_vta_pkg::FAULT_BAD_OPCODE;
    end else if (stage == kiln_vta_pkg::STAGE_LOAD &&
        (transfer.common.pop_previous || transfer.common.push_previous)) begin
      fault = kiln_vta_pkg::FAULT_BAD_DEPENDENCY;
    end else if (stage == kiln_vta_pkg::STAGE_STORE &&
        (transfer.common.pop_next || transfer.common.push_next)) begin
      fault = kiln_vta_pkg::FAULT_BAD_DEPENDENCY;
    end else if ((load || store) && transfer.x_size != '0) begin
      if (!reaches) fault = kiln_vta_pkg::FAULT_BAD_MEMORY_ID;
      else if (store && padded) fault = kiln_vta_pkg::FAULT_BAD_FIELD;
      else if (behind > elements) fault = kiln_vta_pkg::FAULT_SRAM_RANGE;
    end
  end

  logic loads_accumulators;
  assign loads_accumulators = load && transfer.x_size != '0 && area != '0 &&
      stage == kiln_vta_pkg::STAGE_COMPUTE && transfer.memory != kiln_vta_pkg::MEMORY_UOP;
  kiln_vta_banks #(
      .INDEX_BITS(ACCUMULATOR_INDEX_BITS),
      .BANKS(ACCUMULATOR_BANKS)
  ) load_banks (
      .any(loads_accumulators),
      .least(ACCUMULATOR_INDEX_BITS'(transfer.sram_base)),
      .greatest(ACCUMULATOR_INDEX_BITS'(last)),
      .banks
  );

  logic unused_fields;
  assign unused_fields = &{1'b0, last, transfer.dram_base, transfer.x_stride, transfer.unused};

`ifndef SYNTHESIS
  always_comb begin
    // A load that is executed touches the banks that it writes, and no other instruction has any.
    load_has_banks : assert (!loads_accumulators || fault != kiln_vta_pkg::FAULT_NONE ||
        banks != '0);
    only_loads_have_banks : assert (load || banks == '0);
    stage_exists : assert (stage == kiln_vta_pkg::STAGE_LOAD ||
        stage == kiln_vta_pkg::STAGE_COMPUTE || stage == kiln_vta_pkg::STAGE_STORE);
  end
`endif
endmodule
