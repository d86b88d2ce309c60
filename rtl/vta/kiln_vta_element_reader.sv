// Generates the read requests of a LOAD: one request per element, in the order of elements on chip,
// padding included. Used by the load stage and by the loader of the compute stage.
//
//   start      pulse, in a cycle without `busy`: accepts the instruction. Its first request is at
//              the output in the next cycle; `busy` is high from then on until the last request is
//              accepted.
//   request    is null (0 bytes) for padding. An instruction without elements makes one null
//              request, whose word is not written.
//   addresses  are byte addresses modulo 2^32; the base of the memory is ORed into each
module kiln_vta_element_reader #(
    // Bytes of an element in memory, powers of two.
    parameter int unsigned INPUT_BYTES = 16,
    parameter int unsigned WEIGHT_BYTES = 256,
    parameter int unsigned ACCUMULATOR_BYTES = 64,
    parameter int unsigned ACCUMULATOR8_BYTES = 16,
    parameter int unsigned BYTES_BITS = 9,
    parameter logic [1:0] SOURCE = kiln_vta_pkg::SOURCE_LOAD_STAGE
) (
    input  logic                                      clock,
    input  logic                                      reset,
    input  logic                                      start,
    input  logic [kiln_vta_pkg::INSTRUCTION_BITS-1:0] instruction,
    input  logic [     kiln_vta_pkg::NUMBER_BITS-1:0] number,
    input  logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] uop_base,
    input  logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] input_base,
    input  logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] weight_base,
    input  logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] accumulator_base,
    output logic                                      busy,
    output logic                                      request_valid,
    input  logic                                      request_ready,
    output logic [    kiln_vta_pkg::ADDRESS_BITS-1:0] request_address,
    output logic [                    BYTES_BITS-1:0] request_bytes,
    output kiln_vta_pkg::read_tag_t                   request_tag
);
  localparam int unsigned ADDRESS_BITS = kiln_vta_pkg::ADDRESS_BITS;
  localparam int unsigned EXTENT_BITS = 17;  // a size and two paddings

  // ---- Element size and base address of the instruction's memory.
  function automatic logic [ADDRESS_BITS-1:0] bytes_of(input logic [ADDRESS_BITS-1:0] elements,
      input logic [2:0] memory);
    case (memory)
      kiln_vta_pkg::MEMORY_UOP: bytes_of = elements << $clog2(kiln_vta_pkg::UOP_BYTES);
      kiln_vta_pkg::MEMORY_WEIGHT: bytes_of = elements << $clog2(WEIGHT_BYTES);
      kiln_vta_pkg::MEMORY_INPUT: bytes_of = elements << $clog2(INPUT_BYTES);
      kiln_vta_pkg::MEMORY_ACCUMULATOR: bytes_of = elements << $clog2(ACCUMULATOR_BYTES);
      default: bytes_of = elements << $clog2(ACCUMULATOR8_BYTES);
    endcase
  endfunction

  kiln_vta_pkg::transfer_t begun, load;  // fields of `instruction`; the LOAD in progress
  assign begun = instruction;
  logic [kiln_vta_pkg::NUMBER_BITS-1:0] load_number;
  logic [ADDRESS_BITS-1:0] base, element_bytes;
  assign element_bytes = bytes_of(ADDRESS_BITS'(1), load.memory);
  always_comb begin
    case (load.memory)
      kiln_vta_pkg::MEMORY_UOP: base = uop_base;
      kiln_vta_pkg::MEMORY_WEIGHT: base = weight_base;
      kiln_vta_pkg::MEMORY_INPUT: base = input_base;
      default: base = accumulator_base;
    endcase
  end

  // ---- The position in the rectangle with its padding, and its address.
  logic [EXTENT_BITS-1:0] x, y, x_begin, x_end, width, y_begin, y_end, height;
  logic [kiln_vta_pkg::ELEMENT_BITS-1:0] element;
  logic [ADDRESS_BITS-1:0] row_address, next_row_address, address;
  logic empty, padding, row_inside, row_last, last, taken;
  assign x_begin = EXTENT_BITS'(load.x_pad_before);
  assign x_end = x_begin + EXTENT_BITS'(load.x_size);
  assign width = x_end + EXTENT_BITS'(load.x_pad_after);
  assign y_begin = EXTENT_BITS'(load.y_pad_before);
  assign y_end = y_begin + EXTENT_BITS'(load.y_size);
  assign height = y_end + EXTENT_BITS'(load.y_pad_after);
  assign empty = load.x_size == '0 || height == '0;
  assign row_inside = y >= y_begin && y < y_end;
  assign padding = !row_inside || x < x_begin || x >= x_end;
  assign row_last = x + 1'b1 == width;
  assign last = empty || (row_last && y + 1'b1 == height);
  assign next_row_address = row_address + bytes_of(ADDRESS_BITS'(load.x_stride), load.memory);
  assign taken = request_valid && request_ready;

  always_ff @(posedge clock) begin
    if (reset) busy <= 1'b0;
    else if (start) busy <= 1'b1;
    else if (taken && last) busy <= 1'b0;
    if (start) begin
      load        <= instruction;
      load_number <= number;
      x           <= '0;
      y           <= '0;
      element     <= begun.sram_base;
      row_address <= bytes_of(begun.dram_base, begun.memory);
      address     <= bytes_of(begun.dram_base, begun.memory);
    end else if (taken) begin
      x       <= row_last ? '0 : x + 1'b1;
      element <= element + 1'b1;
      if (!padding) address <= address + element_bytes;
      if (row_last) begin
        y <= y + 1'b1;
        if (row_inside) begin
          row_address <= next_row_address;
          address     <= next_row_address;
        end
      end
    end
  end

  assign request_valid = busy;
  assign request_address = address | base;
  assign request_bytes = empty || padding ? '0 : BYTES_BITS'(element_bytes);
  assign request_tag.source = SOURCE;
  assign request_tag.number = load_number;
  assign request_tag.memory = load.memory;
  assign request_tag.element = element;
  assign request_tag.padding = padding;
  assign request_tag.empty = empty;
  assign request_tag.last = last;
  assign request_tag.push_next = load.common.push_next;

  logic unused_fields;
  assign unused_fields = &{1'b0, load, begun};

`ifndef SYNTHESIS
  kiln_handshake_checker #(
      .WIDTH(ADDRESS_BITS + BYTES_BITS + kiln_vta_pkg::READ_TAG_BITS)
  ) request_handshake (
      .clock,
      .reset,
      .valid(request_valid),
      .ready(request_ready),
      .payload({request_address, request_bytes, request_tag})
  );
  always_ff @(posedge clock) begin
    if (!reset) begin
      starts_when_idle : assert (!start || !busy);
      column_in_range : assert (!busy || empty || x < width);
      row_in_range : assert (!busy || empty || y < height);
      padding_reads_nothing : assert (!(request_valid && request_tag.padding) ||
          request_bytes == '0);
    end
  end
`endif
endmodule
