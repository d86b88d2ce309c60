// The store stage of the VTA machine: executes the instructions of its queue in order. It reads the
// elements of an instruction from the output buffer, and makes one request of the write port for
// each.
//
//   time     an instruction that starts in c (queue_ready) reads its first element in c + 1. The
//            request of an element is valid from the cycle after its read; the next element is read
//            in the cycle in which the port accepts the request. The next instruction may start in
//            the cycle after the last request is accepted.
//   done     is high in the cycle in which the last request is in memory. An instruction without
//            elements is done in the first cycle from c + 1 on in which nothing is outstanding; the
//            next instruction may start in the cycle after.
//   fault    the address of the current element is not memory; the element is not written
module kiln_vta_store_stage #(
    parameter int unsigned OUTPUT_BYTES = 16,  // bytes of an element, a power of two
    parameter int unsigned INDEX_BITS = 11,
    localparam int unsigned ADDRESS_BITS = kiln_vta_pkg::ADDRESS_BITS
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic                                      queue_valid,
    output logic                                      queue_ready,
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] queue_instruction,
    input  logic [     kiln_vta_pkg::NUMBER_BITS-1:0] queue_number,
    input  logic                                      token_there,  // from the compute stage
    output logic                                      token_take,
    output logic                                      token_give,
    input  logic [                  ADDRESS_BITS-1:0] output_base,
    output logic                                      busy,
    output logic                                      done,
    // Output buffer: an element is available from the cycle after its index is read
    output logic                                      read_enable,
    output logic [                    INDEX_BITS-1:0] read_index,
    // Write port
    output logic                                      request_valid,
    input  logic                                      request_ready,
    output logic [                  ADDRESS_BITS-1:0] request_address,
    output kiln_vta_pkg::write_tag_t                  request_tag,
    input  logic                                      port_done,
    input  kiln_vta_pkg::write_tag_t                  port_done_tag,
    input  logic                                      port_idle,
    output logic                                      fault_valid,
    output logic [     kiln_vta_pkg::NUMBER_BITS-1:0] fault_number
);
  localparam int unsigned ELEMENT_SHIFT = $clog2(OUTPUT_BYTES);

  kiln_vta_pkg::transfer_t begun, store;
  assign begun = queue_instruction;
  assign queue_ready = queue_valid && !busy && (!begun.common.pop_previous || token_there);
  assign token_take = queue_ready && begun.common.pop_previous;

  logic empty, first, word_there, taken, row_last, last, empty_done;
  logic [15:0] x, y, element;
  logic [ADDRESS_BITS-1:0] address, row_address, next_row_address;
  logic [kiln_vta_pkg::NUMBER_BITS-1:0] number;
  assign empty = store.x_size == '0 || store.y_size == '0;
  assign row_last = x + 1'b1 == store.x_size;
  assign last = row_last && y + 1'b1 == store.y_size;
  assign next_row_address = row_address + (ADDRESS_BITS'(store.x_stride) << ELEMENT_SHIFT);
  assign taken = request_valid && request_ready;
  assign empty_done = busy && empty && port_idle;

  // `element` is the index of the next element to read; x, y and `address` belong to the element of
  // the current request.
  assign read_enable = busy && !empty && (first || (taken && !last));
  assign read_index = INDEX_BITS'(element);
  always_ff @(posedge clock) begin
    if (reset) busy <= 1'b0;
    else if (queue_ready) busy <= 1'b1;
    else if (empty_done || (taken && last)) busy <= 1'b0;
    if (reset) word_there <= 1'b0;
    else word_there <= read_enable || (word_there && !taken);
    first <= queue_ready;
    if (queue_ready) begin
      store       <= queue_instruction;
      number      <= queue_number;
      element     <= begun.sram_base;
      x           <= '0;
      y           <= '0;
      address     <= begun.dram_base << ELEMENT_SHIFT;
      row_address <= begun.dram_base << ELEMENT_SHIFT;
    end else begin
      element <= element + 16'(read_enable);
      if (taken) begin
        x       <= row_last ? '0 : x + 1'b1;
        y       <= y + 16'(row_last);
        address <= row_last ? next_row_address : address + ADDRESS_BITS'(OUTPUT_BYTES);
        if (row_last) row_address <= next_row_address;
      end
    end
  end

  logic nowhere;
  assign request_address = address | output_base;
  assign nowhere = request_address[ADDRESS_BITS-1:kiln_vta_pkg::PAGE_BITS] == '0;
  assign request_valid = word_there && !nowhere;
  assign request_tag.number = number;
  assign request_tag.last = last;
  assign request_tag.push_previous = store.common.push_previous;
  assign fault_valid = word_there && nowhere;
  assign fault_number = number;

  assign done = empty_done || (port_done && port_done_tag.last);
  assign token_give = empty_done ? store.common.push_previous : done && port_done_tag.push_previous;

  logic unused_fields;
  assign unused_fields = &{1'b0, store, begun, port_done_tag};

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(ADDRESS_BITS + $bits(request_tag))
  ) request_handshake (
      .clock,
      .reset,
      .valid(request_valid),
      .ready(request_ready),
      .payload({request_address, request_tag})
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      token_exists : assert (!token_take || token_there);
      starts_when_idle : assert (!queue_ready || !busy);
      element_of_instruction : assert (!word_there || (busy && !empty && x < store.x_size &&
          y < store.y_size));
      reads_while_busy : assert (!read_enable || busy);
      request_or_fault : assert (!(request_valid && fault_valid));
    end
  end
`endif
endmodule
