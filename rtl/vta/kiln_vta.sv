// The VTA machine (docs/vta-machine.md), the top module of rtl/vta: software starts programs
// through AXI4-Lite registers, and the machine accesses memory through one AXI4 master.
//
//   parameters   a design point's keys in capitals (targets/vta/config/config.h); sizes are powers
//                of two
//   memory       AXI4 without IDs: one kiln_axi_read_port, one kiln_axi_write_port
//   control      AXI4-Lite: kiln_vta_registers
//   irq          level: high from a launch's end until software writes 0 to CONTROL, or launches
//   running      for testbenches: high from a launch's first cycle to its last
//   starts       for testbenches: stages (load, compute, store) that start an instruction in this
//                cycle
// Buffers are zero at power-up; a reset leaves them as they are.
module kiln_vta #(
    parameter int unsigned INPUT_BITS = 8,  // also bits of an output
    parameter int unsigned WEIGHT_BITS = 8,
    parameter int unsigned ACCUMULATOR_BITS = 32,
    parameter int unsigned BATCH = 1,
    parameter int unsigned BLOCK_IN = 4,
    parameter int unsigned BLOCK_OUT = 4,
    parameter int unsigned UOP_BUFFER_BYTES = 256,
    parameter int unsigned INPUT_BUFFER_BYTES = 256,
    parameter int unsigned WEIGHT_BUFFER_BYTES = 1024,
    parameter int unsigned ACCUMULATOR_BUFFER_BYTES = 1024,
    parameter int unsigned MEMORY_PORT_BYTES = 8,
    parameter int unsigned MEMORY_LATENCY = 32,  // cycles
    parameter int unsigned INSTRUCTION_QUEUE_DEPTH = 512,  // of each stage
    parameter int unsigned ACCUMULATOR_BANKS = 4,
    localparam int unsigned ADDRESS_BITS = kiln_vta_pkg::ADDRESS_BITS,
    localparam int unsigned REGISTER_BITS = kiln_vta_pkg::REGISTER_BITS,
    localparam int unsigned PORT_BITS = MEMORY_PORT_BYTES * 8
) (
    input  logic                         clock,
    input  logic                         reset,
    // AXI4-Lite slave
    input  logic                         control_awvalid,
    output logic                         control_awready,
    input  logic [    REGISTER_BITS-1:0] control_awaddr,
    input  logic                         control_wvalid,
    output logic                         control_wready,
    input  logic [                 31:0] control_wdata,
    input  logic [                  3:0] control_wstrb,
    output logic                         control_bvalid,
    input  logic                         control_bready,
    output logic [                  1:0] control_bresp,
    input  logic                         control_arvalid,
    output logic                         control_arready,
    input  logic [    REGISTER_BITS-1:0] control_araddr,
    output logic                         control_rvalid,
    input  logic                         control_rready,
    output logic [                 31:0] control_rdata,
    output logic [                  1:0] control_rresp,
    output logic                         irq,
    output logic                         running,
    output logic [                  2:0] starts,
    // AXI4 master
    output logic                         memory_arvalid,
    input  logic                         memory_arready,
    output logic [     ADDRESS_BITS-1:0] memory_araddr,
    output logic [                  7:0] memory_arlen,
    output logic [                  2:0] memory_arsize,
    output logic [                  1:0] memory_arburst,
    input  logic                         memory_rvalid,
    output logic                         memory_rready,
    input  logic [        PORT_BITS-1:0] memory_rdata,
    input  logic [                  1:0] memory_rresp,
    input  logic                         memory_rlast,
    output logic                         memory_awvalid,
    input  logic                         memory_awready,
    output logic [     ADDRESS_BITS-1:0] memory_awaddr,
    output logic [                  7:0] memory_awlen,
    output logic [                  2:0] memory_awsize,
    output logic [                  1:0] memory_awburst,
    output logic                         memory_wvalid,
    input  logic                         memory_wready,
    output logic [        PORT_BITS-1:0] memory_wdata,
    output logic [MEMORY_PORT_BYTES-1:0] memory_wstrb,
    output logic                         memory_wlast,
    input  logic                         memory_bvalid,
    output logic                         memory_bready,
    input  logic [                  1:0] memory_bresp
);
  // Bytes of an element of each buffer, and bits of the buffers' indices.
  localparam int unsigned INPUT_BYTES = BATCH * BLOCK_IN * INPUT_BITS / 8;
  localparam int unsigned WEIGHT_BYTES = BLOCK_OUT * BLOCK_IN * WEIGHT_BITS / 8;
  localparam int unsigned ACCUMULATOR_BYTES = BATCH * BLOCK_OUT * ACCUMULATOR_BITS / 8;
  localparam int unsigned OUTPUT_BYTES = BATCH * BLOCK_OUT * INPUT_BITS / 8;
  localparam int unsigned UOP_INDEX_BITS = $clog2(UOP_BUFFER_BYTES / kiln_vta_pkg::UOP_BYTES);
  localparam int unsigned INPUT_INDEX_BITS = $clog2(INPUT_BUFFER_BYTES / INPUT_BYTES);
  localparam int unsigned WEIGHT_INDEX_BITS = $clog2(WEIGHT_BUFFER_BYTES / WEIGHT_BYTES);
  localparam int unsigned ACCUMULATOR_INDEX_BITS =
      $clog2(ACCUMULATOR_BUFFER_BYTES / ACCUMULATOR_BYTES);
  // Bytes of the longest request. Elements of 8-bit accumulators in memory are never longer than
  // those of full width.
  localparam int unsigned OPERAND_BYTES = INPUT_BYTES > WEIGHT_BYTES ? INPUT_BYTES : WEIGHT_BYTES;
  localparam int unsigned ELEMENT_BYTES =
      OPERAND_BYTES > ACCUMULATOR_BYTES ? OPERAND_BYTES : ACCUMULATOR_BYTES;
  localparam int unsigned MAX_BYTES =
      ELEMENT_BYTES > kiln_vta_pkg::INSTRUCTION_BYTES ? ELEMENT_BYTES :
          kiln_vta_pkg::INSTRUCTION_BYTES;
  localparam int unsigned BYTES_BITS = $clog2(MAX_BYTES + 1);

  localparam int unsigned INSTRUCTION_BITS = kiln_vta_pkg::INSTRUCTION_BITS;
  localparam int unsigned NUMBER_BITS = kiln_vta_pkg::NUMBER_BITS;
  localparam int unsigned COUNTERS = kiln_vta_pkg::COUNTER_COUNT;

  // ---- Registers and the launch.
  logic launch, draining, clear, ended, cycles_write;
  logic [31:0] cycles, cycles_data, accumulator_writes, counter;
  logic [3:0] fault;
  logic [NUMBER_BITS-1:0] instructions, fault_number;
  logic [ADDRESS_BITS-1:0] program_address, uop_base, input_base, weight_base, accumulator_base,
      output_base;
  logic [9:0] read_counter;
  kiln_vta_registers #(
      .COUNTERS(COUNTERS)
  ) registers (
      .clock,
      .reset,
      .axi_awvalid(control_awvalid),
      .axi_awready(control_awready),
      .axi_awaddr(control_awaddr),
      .axi_wvalid(control_wvalid),
      .axi_wready(control_wready),
      .axi_wdata(control_wdata),
      .axi_wstrb(control_wstrb),
      .axi_bvalid(control_bvalid),
      .axi_bready(control_bready),
      .axi_bresp(control_bresp),
      .axi_arvalid(control_arvalid),
      .axi_arready(control_arready),
      .axi_araddr(control_araddr),
      .axi_rvalid(control_rvalid),
      .axi_rready(control_rready),
      .axi_rdata(control_rdata),
      .axi_rresp(control_rresp),
      .irq,
      .launch,
      .instructions,
      .program_address,
      .uop_base,
      .input_base,
      .weight_base,
      .accumulator_base,
      .output_base,
      .cycles_write,
      .cycles_data,
      .busy(running || draining),
      .ended,
      .cycles,
      .accumulator_writes,
      .fault,
      .fault_number,
      .read_counter,
      .read_value(counter)
  );

  // Units are reset between launches. Ports and tokens are reset only after a fault.
  logic unit_reset, port_reset;
  assign unit_reset = reset || !running;
  assign port_reset = reset || clear;

  // ---- Reads.
  logic fetch_request_valid, fetch_request_last, loader_request_valid, load_request_valid;
  logic fetch_request_ready, loader_request_ready, load_request_ready;
  logic [ADDRESS_BITS-1:0] fetch_request_address, loader_request_address, load_request_address;
  logic [BYTES_BITS-1:0] loader_request_bytes, load_request_bytes, read_bytes, read_beats;
  kiln_vta_pkg::read_tag_t fetch_request_tag, loader_request_tag, load_request_tag, word_tag;
  logic word_valid, read_idle, read_fault, fetch_waits, loader_waits, load_waits;
  logic [MAX_BYTES*8-1:0] word_data;
  logic [BYTES_BITS-1:0] fetch_request_bytes;
  logic [2:0] read_memory;
  logic [NUMBER_BITS-1:0] read_fault_number;
  assign fetch_request_bytes = BYTES_BITS'(kiln_vta_pkg::INSTRUCTION_BYTES);
  kiln_vta_reads #(
      .MEMORY_PORT_BYTES(MEMORY_PORT_BYTES),
      .MEMORY_LATENCY(MEMORY_LATENCY),
      .MAX_BYTES(MAX_BYTES)
  ) reads (
      .clock,
      .reset(port_reset),
      .enable(running),
      .fetch_last(fetch_request_last),
      .request_valid({load_request_valid, loader_request_valid, fetch_request_valid}),
      .request_ready({load_request_ready, loader_request_ready, fetch_request_ready}),
      .request_address({load_request_address, loader_request_address, fetch_request_address}),
      .request_bytes({load_request_bytes, loader_request_bytes, fetch_request_bytes}),
      .request_tag({load_request_tag, loader_request_tag, fetch_request_tag}),
      .word_valid,
      .word_data,
      .word_tag,
      .idle(read_idle),
      .waits({load_waits, loader_waits, fetch_waits}),
      .taken_beats(read_beats),
      .taken_bytes(read_bytes),
      .taken_memory(read_memory),
      .fault_valid(read_fault),
      .fault_number(read_fault_number),
      .axi_arvalid(memory_arvalid),
      .axi_arready(memory_arready),
      .axi_araddr(memory_araddr),
      .axi_arlen(memory_arlen),
      .axi_arsize(memory_arsize),
      .axi_arburst(memory_arburst),
      .axi_rvalid(memory_rvalid),
      .axi_rready(memory_rready),
      .axi_rdata(memory_rdata),
      .axi_rresp(memory_rresp),
      .axi_rlast(memory_rlast)
  );

  // ---- Fetch and the queues of the stages.
  logic [2:0] hand_valid, hand_ready, queue_valid, queue_ready;  // by stage
  assign starts = running ? queue_ready : '0;
  logic [INSTRUCTION_BITS-1:0] hand_instruction, load_instruction, compute_instruction,
      store_instruction;
  logic [NUMBER_BITS-1:0] hand_number, load_number, compute_number, store_number;
  logic [ACCUMULATOR_BANKS-1:0] hand_banks, compute_banks;
  logic [3:0] word_fault;
  logic handed, head_there, all_handed;
  kiln_vta_fetch #(
      .INSTRUCTION_QUEUE_DEPTH(INSTRUCTION_QUEUE_DEPTH),
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS),
      .ACCUMULATOR_BANKS(ACCUMULATOR_BANKS)
  ) fetch (
      .clock,
      .reset(unit_reset),
      .instructions,
      .address(program_address),
      .request_valid(fetch_request_valid),
      .request_ready(fetch_request_ready),
      .request_address(fetch_request_address),
      .request_tag(fetch_request_tag),
      .request_last(fetch_request_last),
      .word_valid(word_valid && word_tag.source == kiln_vta_pkg::SOURCE_FETCH),
      .word_data(word_data[INSTRUCTION_BITS-1:0]),
      .hand_valid,
      .hand_ready,
      .started(queue_valid & queue_ready),
      .hand_instruction,
      .hand_number,
      .hand_banks,
      .fault(word_fault),
      .all_handed
  );
  assign head_there = hand_valid != '0;
  assign handed = (hand_valid & hand_ready) != '0;

  localparam int unsigned QUEUE_COUNT_BITS = $clog2(INSTRUCTION_QUEUE_DEPTH + 1);
  logic [QUEUE_COUNT_BITS-1:0] unused_load_count, unused_compute_count, unused_store_count;
  kiln_deep_fifo #(
      .WIDTH(NUMBER_BITS + INSTRUCTION_BITS),
      .DEPTH(INSTRUCTION_QUEUE_DEPTH)
  ) load_queue (
      .clock,
      .reset(unit_reset),
      .in_valid (hand_valid[kiln_vta_pkg::STAGE_LOAD]),
      .in_ready (hand_ready[kiln_vta_pkg::STAGE_LOAD]),
      .in_data  ({hand_number, hand_instruction}),
      .out_valid(queue_valid[kiln_vta_pkg::STAGE_LOAD]),
      .out_ready(queue_ready[kiln_vta_pkg::STAGE_LOAD]),
      .out_data ({load_number, load_instruction}),
      .count    (unused_load_count)
  );
  kiln_deep_fifo #(
      .WIDTH(ACCUMULATOR_BANKS + NUMBER_BITS + INSTRUCTION_BITS),
      .DEPTH(INSTRUCTION_QUEUE_DEPTH)
  ) compute_queue (
      .clock,
      .reset(unit_reset),
      .in_valid (hand_valid[kiln_vta_pkg::STAGE_COMPUTE]),
      .in_ready (hand_ready[kiln_vta_pkg::STAGE_COMPUTE]),
      .in_data  ({hand_banks, hand_number, hand_instruction}),
      .out_valid(queue_valid[kiln_vta_pkg::STAGE_COMPUTE]),
      .out_ready(queue_ready[kiln_vta_pkg::STAGE_COMPUTE]),
      .out_data ({compute_banks, compute_number, compute_instruction}),
      .count    (unused_compute_count)
  );
  kiln_deep_fifo #(
      .WIDTH(NUMBER_BITS + INSTRUCTION_BITS),
      .DEPTH(INSTRUCTION_QUEUE_DEPTH)
  ) store_queue (
      .clock,
      .reset(unit_reset),
      .in_valid (hand_valid[kiln_vta_pkg::STAGE_STORE]),
      .in_ready (hand_ready[kiln_vta_pkg::STAGE_STORE]),
      .in_data  ({hand_number, hand_instruction}),
      .out_valid(queue_valid[kiln_vta_pkg::STAGE_STORE]),
      .out_ready(queue_ready[kiln_vta_pkg::STAGE_STORE]),
      .out_data ({store_number, store_instruction}),
      .count    (unused_store_count)
  );

  // ---- Tokens.
  logic load_gives, load_takes, compute_gives_load, compute_gives_store, compute_takes_load,
      compute_takes_store;
  logic store_gives, store_takes, load_token, compute_token_of_load, compute_token_of_store,
      store_token;
  kiln_vta_tokens tokens (
      .clock,
      .reset(port_reset),
      .load_to_compute_give(load_gives),
      .load_to_compute_take(compute_takes_load),
      .load_to_compute_there(compute_token_of_load),
      .compute_to_load_give(compute_gives_load),
      .compute_to_load_take(load_takes),
      .compute_to_load_there(load_token),
      .compute_to_store_give(compute_gives_store),
      .compute_to_store_take(store_takes),
      .compute_to_store_there(store_token),
      .store_to_compute_give(store_gives),
      .store_to_compute_take(compute_takes_store),
      .store_to_compute_there(compute_token_of_store)
  );

  // ---- Load stage.
  logic load_busy, load_done;
  assign load_done =
      running && word_valid && word_tag.source == kiln_vta_pkg::SOURCE_LOAD_STAGE && word_tag.last;
  assign load_gives = load_done && word_tag.push_next;
  kiln_vta_load_stage #(
      .INPUT_BYTES(INPUT_BYTES),
      .WEIGHT_BYTES(WEIGHT_BYTES),
      .BYTES_BITS(BYTES_BITS)
  ) load_stage (
      .clock,
      .reset(unit_reset),
      .queue_valid(queue_valid[kiln_vta_pkg::STAGE_LOAD]),
      .queue_ready(queue_ready[kiln_vta_pkg::STAGE_LOAD]),
      .queue_instruction(load_instruction),
      .queue_number(load_number),
      .token_there(load_token),
      .token_take(load_takes),
      .input_base,
      .weight_base,
      .busy(load_busy),
      .request_valid(load_request_valid),
      .request_ready(load_request_ready),
      .request_address(load_request_address),
      .request_bytes(load_request_bytes),
      .request_tag(load_request_tag)
  );

  // ---- Compute stage.
  logic compute_pending, retired, finish, range_fault;
  kiln_vta_pkg::compute_events_t compute_events;
  logic store_read_enable;
  logic [ACCUMULATOR_INDEX_BITS-1:0] store_read_index;
  logic [OUTPUT_BYTES*8-1:0] store_read_data;
  kiln_vta_compute_stage #(
      .INPUT_BITS(INPUT_BITS),
      .WEIGHT_BITS(WEIGHT_BITS),
      .ACCUMULATOR_BITS(ACCUMULATOR_BITS),
      .BATCH(BATCH),
      .BLOCK_IN(BLOCK_IN),
      .BLOCK_OUT(BLOCK_OUT),
      .UOP_INDEX_BITS(UOP_INDEX_BITS),
      .INPUT_INDEX_BITS(INPUT_INDEX_BITS),
      .WEIGHT_INDEX_BITS(WEIGHT_INDEX_BITS),
      .ACCUMULATOR_INDEX_BITS(ACCUMULATOR_INDEX_BITS),
      .ACCUMULATOR_BANKS(ACCUMULATOR_BANKS),
      .MAX_BYTES(MAX_BYTES)
  ) compute_stage (
      .clock,
      .reset(unit_reset),
      .queue_valid(queue_valid[kiln_vta_pkg::STAGE_COMPUTE]),
      .queue_ready(queue_ready[kiln_vta_pkg::STAGE_COMPUTE]),
      .queue_instruction(compute_instruction),
      .queue_number(compute_number),
      .queue_banks(compute_banks),
      .load_token_there(compute_token_of_load),
      .load_token_take(compute_takes_load),
      .load_token_give(compute_gives_load),
      .store_token_there(compute_token_of_store),
      .store_token_take(compute_takes_store),
      .store_token_give(compute_gives_store),
      .pending(compute_pending),
      .retired,
      .finish,
      .fault_valid(range_fault),
      .events(compute_events),
      .uop_base,
      .accumulator_base,
      .request_valid(loader_request_valid),
      .request_ready(loader_request_ready),
      .request_address(loader_request_address),
      .request_bytes(loader_request_bytes),
      .request_tag(loader_request_tag),
      .word_valid,
      .word_data,
      .word_tag,
      .store_read_enable,
      .store_read_index,
      .store_read_data
  );

  // ---- Store stage and writes.
  logic store_busy, store_done, store_fault, port_done, write_idle, write_port_fault;
  logic write_valid, write_port_ready, write_taken;
  logic [ADDRESS_BITS-1:0] write_address;
  logic [NUMBER_BITS-1:0] store_fault_number;
  kiln_vta_pkg::write_tag_t write_tag, port_done_tag;
  kiln_vta_store_stage #(
      .OUTPUT_BYTES(OUTPUT_BYTES),
      .INDEX_BITS(ACCUMULATOR_INDEX_BITS)
  ) store_stage (
      .clock,
      .reset(unit_reset),
      .queue_valid(queue_valid[kiln_vta_pkg::STAGE_STORE]),
      .queue_ready(queue_ready[kiln_vta_pkg::STAGE_STORE]),
      .queue_instruction(store_instruction),
      .queue_number(store_number),
      .token_there(store_token),
      .token_take(store_takes),
      .token_give(store_gives),
      .output_base,
      .busy(store_busy),
      .done(store_done),
      .read_enable(store_read_enable),
      .read_index(store_read_index),
      .request_valid(write_valid),
      .request_ready(write_port_ready),
      .request_address(write_address),
      .request_tag(write_tag),
      .port_done,
      .port_done_tag,
      .port_idle(write_idle),
      .fault_valid(store_fault),
      .fault_number(store_fault_number)
  );
  assign write_taken = running && write_valid && write_port_ready;
  localparam int unsigned OUTPUT_BYTES_BITS = $clog2(OUTPUT_BYTES + 1);
  localparam int unsigned WRITE_TAG_BITS = kiln_vta_pkg::WRITE_TAG_BITS;
  localparam int unsigned WRITES_OUTSTANDING = MEMORY_LATENCY + 2;
  logic [$clog2(WRITES_OUTSTANDING+2)-1:0] unused_outstanding;
  logic [WRITE_TAG_BITS-1:0] port_done_bits;
  assign port_done_tag = port_done_bits;
  kiln_axi_write_port #(
      .ADDRESS_BITS(ADDRESS_BITS),
      .DATA_BYTES(MEMORY_PORT_BYTES),
      .MAX_BYTES(OUTPUT_BYTES),
      .TAG_BITS(WRITE_TAG_BITS),
      .OUTSTANDING(WRITES_OUTSTANDING)
  ) writes (
      .clock,
      .reset(port_reset),
      .request_valid(running && write_valid),
      .request_ready(write_port_ready),
      .request_address(write_address),
      .request_bytes(OUTPUT_BYTES_BITS'(OUTPUT_BYTES)),
      .request_data(store_read_data),
      .request_tag(write_tag),
      .done_valid(port_done),
      .done_tag(port_done_bits),
      .outstanding(unused_outstanding),
      .idle(write_idle),
      .fault(write_port_fault),
      .axi_awvalid(memory_awvalid),
      .axi_awready(memory_awready),
      .axi_awaddr(memory_awaddr),
      .axi_awlen(memory_awlen),
      .axi_awsize(memory_awsize),
      .axi_awburst(memory_awburst),
      .axi_wvalid(memory_wvalid),
      .axi_wready(memory_wready),
      .axi_wdata(memory_wdata),
      .axi_wstrb(memory_wstrb),
      .axi_wlast(memory_wlast),
      .axi_bvalid(memory_bvalid),
      .axi_bready(memory_bready),
      .axi_bresp(memory_bresp)
  );

  // ---- Control.
  logic moving, write_fault;
  assign moving = !read_idle || !write_idle || !all_handed && (fetch_request_valid || handed) ||
      load_busy || store_busy || compute_pending ||
      queue_valid != '0 && (queue_ready != '0 || compute_events.dispatch.examining);
  assign write_fault = store_fault || (write_port_fault && port_done);
  kiln_vta_control control (
      .clock,
      .reset,
      .launch,
      .instructions,
      .running,
      .draining,
      .clear,
      .ended,
      .cycles,
      .cycles_write,
      .cycles_data,
      .fault,
      .fault_number,
      .finish,
      .done({store_done, retired, load_done}),
      .moving,
      .port_idle(read_idle && write_idle),
      .waiting(queue_valid),
      .waiting_load(load_number),
      .waiting_compute(compute_number),
      .waiting_store(store_number),
      .word_fault,
      .word_fault_number(hand_number),
      .read_fault,
      .read_fault_number,
      .write_fault,
      .write_fault_number(store_fault ? store_fault_number : port_done_tag.number),
      .range_fault
  );

  // ---- Counters, in the order of targets/vta/counters.def.
  // enough bits for the bytes of an element plus its offset in a beat
  localparam int unsigned SPAN_BITS = $clog2(OUTPUT_BYTES + 2 * MEMORY_PORT_BYTES);
  localparam int unsigned PORT_SHIFT = $clog2(MEMORY_PORT_BYTES);
  localparam int unsigned ADD_BITS = BYTES_BITS > SPAN_BITS ? BYTES_BITS : SPAN_BITS;
  logic [ADD_BITS-1:0] write_span;
  assign write_span =
      ADD_BITS'(write_address[PORT_SHIFT-1:0]) + ADD_BITS'(OUTPUT_BYTES + MEMORY_PORT_BYTES - 1);
  logic [ADD_BITS-1:0] fetch_bytes, uop_bytes, input_bytes, weight_bytes, accumulator_bytes,
      output_bytes, write_beats;
  always_comb begin
    {fetch_bytes, uop_bytes, input_bytes, weight_bytes, accumulator_bytes} = '0;
    if (fetch_request_valid && fetch_request_ready) fetch_bytes = ADD_BITS'(read_bytes);
    else begin
      case (read_memory)
        kiln_vta_pkg::MEMORY_UOP: uop_bytes = ADD_BITS'(read_bytes);
        kiln_vta_pkg::MEMORY_INPUT: input_bytes = ADD_BITS'(read_bytes);
        kiln_vta_pkg::MEMORY_WEIGHT: weight_bytes = ADD_BITS'(read_bytes);
        default: accumulator_bytes = ADD_BITS'(read_bytes);
      endcase
    end
  end
  assign output_bytes = write_taken ? ADD_BITS'(OUTPUT_BYTES) : '0;
  assign write_beats = write_taken ? write_span >> PORT_SHIFT : '0;
  logic load_wants_token, store_wants_token;
  assign load_wants_token =
      queue_valid[kiln_vta_pkg::STAGE_LOAD] && !queue_ready[kiln_vta_pkg::STAGE_LOAD] && !load_busy;
  assign store_wants_token = queue_valid[kiln_vta_pkg::STAGE_STORE] &&
      !queue_ready[kiln_vta_pkg::STAGE_STORE] && !store_busy;
  logic [COUNTERS*ADD_BITS-1:0] counts;
  assign counts[0*ADD_BITS+:ADD_BITS] = ADD_BITS'(handed);
  assign counts[1*ADD_BITS+:ADD_BITS] = ADD_BITS'(head_there && !handed);
  assign counts[2*ADD_BITS+:ADD_BITS] = ADD_BITS'(queue_ready[kiln_vta_pkg::STAGE_LOAD]);
  assign counts[3*ADD_BITS+:ADD_BITS] = ADD_BITS'(load_busy);
  assign counts[4*ADD_BITS+:ADD_BITS] = ADD_BITS'(load_wants_token);
  assign counts[5*ADD_BITS+:ADD_BITS] = ADD_BITS'(load_waits);
  assign counts[6*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.dispatch.dispatched);
  assign counts[7*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.dispatch.uops_loading);
  assign counts[8*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.dispatch.examining);
  assign counts[9*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.dispatch.tokens);
  assign counts[10*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.dispatch.queue_full);
  assign counts[11*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.dispatch.banks);
  assign counts[12*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.dispatch.uops_in_use);
  assign counts[13*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.gemm_step);
  assign counts[14*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.alu_busy);
  assign counts[15*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.alu_step);
  assign counts[16*ADD_BITS+:ADD_BITS] = ADD_BITS'(compute_events.alu_clear);
  assign counts[17*ADD_BITS+:ADD_BITS] = ADD_BITS'(loader_request_valid);
  assign counts[18*ADD_BITS+:ADD_BITS] = ADD_BITS'(loader_waits);
  assign counts[19*ADD_BITS+:ADD_BITS] = ADD_BITS'(queue_ready[kiln_vta_pkg::STAGE_STORE]);
  assign counts[20*ADD_BITS+:ADD_BITS] = ADD_BITS'(store_busy);
  assign counts[21*ADD_BITS+:ADD_BITS] = ADD_BITS'(store_wants_token);
  assign counts[22*ADD_BITS+:ADD_BITS] = ADD_BITS'(read_beats);
  assign counts[23*ADD_BITS+:ADD_BITS] = write_beats;
  assign counts[24*ADD_BITS+:ADD_BITS] = fetch_bytes;
  assign counts[25*ADD_BITS+:ADD_BITS] = uop_bytes;
  assign counts[26*ADD_BITS+:ADD_BITS] = input_bytes;
  assign counts[27*ADD_BITS+:ADD_BITS] = weight_bytes;
  assign counts[28*ADD_BITS+:ADD_BITS] = accumulator_bytes;
  assign counts[29*ADD_BITS+:ADD_BITS] = output_bytes;
  kiln_vta_counters #(
      .COUNTERS(COUNTERS),
      .INCREMENT_BITS(ADD_BITS)
  ) counters (
      .clock,
      .clear(reset || launch),
      .count(running),
      .add(counts),
      .read_counter,
      .read_value(counter)
  );
  always_ff @(posedge clock) begin
    if (reset || launch) accumulator_writes <= '0;
    else if (running)
      accumulator_writes <=
          accumulator_writes + 32'(compute_events.gemm_write) + 32'(compute_events.alu_write);
  end

  logic unused_waits;
  assign unused_waits = &{1'b0, fetch_waits, word_tag};
endmodule
