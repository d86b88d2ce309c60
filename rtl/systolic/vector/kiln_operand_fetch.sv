// Gives each word of the vector unit its slot: requests the word's operands from the operand port.
// The slot takes as many cycles as the operands' beats or the output's beats, whichever are more,
// and at least one (docs/systolic.md, "Slots"). After the last word of a pass of a group, the slot
// is longer by the pass's gap.
//   working      A word is at the inputs, where it stays until slot_end.
//   room         The queue after this module has an entry for one more word; considered when a slot
//                begins.
//   slot_begin   The first cycle of a slot. If there is room, this is the cycle in which the word
//                arrives.
//   slot_end     The last cycle of the slot; slot_cycles is its length.
//   requests     Operands 0, 1 and 2 in this order; a window position by position, row-major,
//                without those outside the image; a strided stream element by element. The tag is a
//                kiln_vector_pkg::operand_tag_t. A port that is not ready makes the slot longer.
//   nothing      A window has no position in the image (a pulse); nothing_last says that the word
//                has no further operand to read.
//   scales       (BLOCK_SIZE > 0) For an operand with block scales, each request comes with a
//                request for its first scale block's scale, on a port of its own; the other scales
//                follow, one per cycle, and the next request waits for both. A request waits for
//                the port that takes its scale. A scale is within one beat.
//   slot_beats   At slot_end: the beats of the output in the slot, block scales included.
//
// A window with a dilation of 1 begins at its first position inside the image; with a larger
// dilation, each position before that one takes a cycle.
module kiln_operand_fetch #(
    parameter int unsigned LANES = 4,
    parameter int unsigned OPERAND_PORT_BYTES = 16,
    parameter int unsigned OUTPUT_PORT_BYTES = 16,
    parameter kiln_format_pkg::format_t INPUT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t WEIGHT_FORMAT = kiln_named_formats_pkg::INT8,
    parameter kiln_format_pkg::format_t VECTOR_FORMAT = kiln_named_formats_pkg::FP32,
    parameter int unsigned BLOCK_SIZE = 0,  // elements that share a scale; 0: no block scales
    parameter int unsigned SCALE_BYTES = 1,
    localparam int unsigned ADDRESS_BITS = kiln_systolic_pkg::ADDRESS_BITS,
    localparam int unsigned BYTES_BITS = $clog2(LANES * 4 + 1),
    localparam int unsigned COUNT_LANE_BITS = $clog2(LANES + 1)
) (
    input  logic clock,
    input  logic reset,
    input  kiln_systolic_pkg::vector_command_t command,
    input  kiln_systolic_pkg::vector_scales_t command_scales,
    input  logic working,
    input  logic room,
    // The queue entry of a word whose slot begins.
    input  logic [kiln_vector_pkg::PLACE_BITS-1:0] place,
    input  logic [2:0] reads,
    input  logic to_memory,
    input  logic [15:0] gap,  // cycles; 0 except after the last word of a pass of a group
    input  logic [COUNT_LANE_BITS-1:0] lanes,
    input  logic [ADDRESS_BITS-1:0] operand0_address,
    input  logic [ADDRESS_BITS-1:0] operand1_address,
    input  logic [ADDRESS_BITS-1:0] operand2_address,
    input  logic [ADDRESS_BITS-1:0] target_address,
    // The window's position at operand0_address and operand0_scale_address (kiln_window_begin).
    input  logic signed [31:0] window_y,
    input  logic signed [31:0] window_x,
    input  logic [23:0] window_tap_y,
    input  logic [23:0] window_tap_x,
    input  logic [ADDRESS_BITS-1:0] operand0_scale_address,  // address of the word's first scale
    input  logic [ADDRESS_BITS-1:0] operand1_scale_address,
    input  logic [ADDRESS_BITS-1:0] operand2_scale_address,
    output logic slot_begin,
    output logic slot_end,
    output logic [31:0] slot_cycles,
    output logic [15:0] slot_beats,
    output logic nothing,
    output logic nothing_last,
    output logic [kiln_vector_pkg::PLACE_BITS-1:0] nothing_place,
    output logic request_valid,
    input  logic request_ready,
    output logic [ADDRESS_BITS-1:0] request_address,
    output logic [BYTES_BITS-1:0] request_bytes,
    output kiln_vector_pkg::operand_tag_t request_tag,
    output logic scale_request_valid,
    input  logic scale_request_ready,
    output logic [ADDRESS_BITS-1:0] scale_request_address,
    output kiln_vector_pkg::scale_tag_t scale_request_tag
);
  localparam int unsigned READ_OFFSET = $clog2(OPERAND_PORT_BYTES);
  localparam int unsigned WRITE_OFFSET = $clog2(OUTPUT_PORT_BYTES);
  localparam int unsigned READ_SPAN = $clog2(LANES * 4 + OPERAND_PORT_BYTES);
  localparam int unsigned WRITE_SPAN = $clog2(LANES * 4 + OUTPUT_PORT_BYTES);
  localparam logic [1:0] INPUT_SHIFT =
      kiln_vector_pkg::code_shift(kiln_format_pkg::bits(INPUT_FORMAT));
  localparam logic [1:0] WEIGHT_SHIFT =
      kiln_vector_pkg::code_shift(kiln_format_pkg::bits(WEIGHT_FORMAT));
  localparam logic [1:0] VECTOR_SHIFT =
      kiln_vector_pkg::code_shift(kiln_format_pkg::bits(VECTOR_FORMAT));

  // Return the beats of a request after its first one.
  function automatic logic [READ_SPAN-1:0] further_reads(input logic [READ_OFFSET-1:0] offset,
      input logic [BYTES_BITS-1:0] bytes);
    further_reads = (READ_SPAN'(offset) + READ_SPAN'(bytes) - 1'b1) >> READ_OFFSET;
  endfunction
  function automatic logic [WRITE_SPAN-1:0] further_writes(input logic [WRITE_OFFSET-1:0] offset,
      input logic [BYTES_BITS-1:0] bytes);
    further_writes = (WRITE_SPAN'(offset) + WRITE_SPAN'(bytes) - 1'b1) >> WRITE_OFFSET;
  endfunction

  logic begun, running;
  logic [kiln_vector_pkg::PLACE_BITS-1:0] begun_place, place_now;
  assign slot_begin = working && !begun && room;
  assign running    = begun || slot_begin;
  assign place_now  = begun ? begun_place : place;
  always_ff @(posedge clock) begin
    if (slot_begin) begun_place <= place;
  end

  // ---- Requests for operands. Registers hold the next request; at the beginning of a slot and of
  // an operand it follows from the word.
  logic [2:0] reads_left, reads_now, reads_next, others;  // operands with requests still to send
  logic operand_begins, operand_begins_now;
  logic [1:0] operand;
  logic [READ_SPAN-1:0] read_beats;  // beats of the last request that are still to come
  logic reading;  // this cycle belongs to an earlier request

  assign reads_now          = begun ? reads_left : reads;
  assign operand_begins_now = !begun || operand_begins;
  assign operand            = reads_now[0] ? 2'd0 : reads_now[1] ? 2'd1 : 2'd2;
  assign others             = reads_now & (reads_now - 1'b1);
  assign reading            = begun && (read_beats != '0 || scales_left);

  logic [3:0] element;
  logic [1:0] access, shift;
  logic [ADDRESS_BITS-1:0] element_stride, first_address;
  always_comb begin
    element        = command.operand0.element;
    access         = command.operand0.access;
    element_stride = command.operand0.element_stride;
    first_address  = operand0_address;
    if (operand == 2'd1) begin
      element        = command.operand1.element;
      access         = command.operand1.access;
      element_stride = command.operand1.element_stride;
      first_address  = operand1_address;
    end
    if (operand == 2'd2) begin
      element        = command.operand2.element;
      access         = command.operand2.access;
      element_stride = command.operand2.element_stride;
      first_address  = operand2_address;
    end
    shift = kiln_vector_pkg::element_shift(element, VECTOR_SHIFT, INPUT_SHIFT, WEIGHT_SHIFT);
  end

  // The current position of a window.
  logic windowed, outside, none, more_x, more_y;
  logic signed [31:0] y, x, y_now, x_now;
  logic [31:0] first_x, first_x_now;
  logic [23:0] tap_y, tap_x, first_tap_x, tap_y_now, tap_x_now, first_tap_x_now;
  // The address of the first position of the row, of the position, and of the request.
  logic [ADDRESS_BITS-1:0] row_address, place_address, address;
  logic [ADDRESS_BITS-1:0] row_address_now, place_address_now, address_now;
  logic first_place, first_place_now;

  assign windowed = command.header.window && operand == 2'd0;
  always_comb begin
    y_now             = y;
    x_now             = x;
    tap_y_now         = tap_y;
    tap_x_now         = tap_x;
    first_x_now       = first_x;
    first_tap_x_now   = first_tap_x;
    row_address_now   = row_address;
    place_address_now = place_address;
    address_now       = address;
    first_place_now   = first_place;
    if (operand_begins_now) begin
      y_now             = window_y;
      x_now             = window_x;
      tap_y_now         = window_tap_y;
      tap_x_now         = window_tap_x;
      first_x_now       = window_x;
      first_tap_x_now   = window_tap_x;
      row_address_now   = first_address;
      place_address_now = first_address;
      address_now       = first_address;
      first_place_now   = 1'b1;
    end
    outside = windowed && (y_now < 0 || x_now < 0);
    none    = windowed && !outside &&
        (y_now >= 32'(command.window.height) || x_now >= 32'(command.window.width) ||
        tap_y_now >= command.window.window_y || tap_x_now >= command.window.window_x);
    more_x = x_now + 32'(command.window.dilation_x) < 32'(command.window.width) &&
        tap_x_now + 1'b1 < command.window.window_x;
    more_y = y_now + 32'(command.window.dilation_y) < 32'(command.window.height) &&
        tap_y_now + 1'b1 < command.window.window_y;
  end

  logic [COUNT_LANE_BITS-1:0] lane, lane_now;
  logic asks, last_lane, last_place, last_of_operand;
  assign lane_now        = operand_begins_now ? '0 : lane;
  assign asks            = running && reads_now != '0 && !reading;
  assign last_lane       = access != kiln_systolic_pkg::ACCESS_STRIDED || lane_now + 1'b1 == lanes;
  assign last_place      = !windowed || (!more_x && !more_y);
  assign last_of_operand = last_lane && last_place;

  assign request_valid   = asks && !outside && !none && scale_taken;
  assign request_address = address_now;
  assign request_bytes   =
      (access == kiln_systolic_pkg::ACCESS_DENSE ? BYTES_BITS'(lanes) : BYTES_BITS'(1)) << shift;
  always_comb begin
    request_tag.place           = place_now;
    request_tag.operand         = operand;
    request_tag.access          = access;
    request_tag.lane            = kiln_vector_pkg::LANE_BITS'(lane_now);
    request_tag.first_place     = first_place_now;
    request_tag.last_of_operand = last_of_operand;
    request_tag.last_of_word    = last_of_operand && others == '0;
  end
  assign nothing       = asks && none;
  assign nothing_last  = others == '0;
  assign nothing_place = place_now;

  logic taken;
  logic [READ_SPAN-1:0] beats_behind, read_beats_next;
  assign taken        = request_valid && request_ready;
  assign beats_behind = further_reads(address_now[READ_OFFSET-1:0], request_bytes);
  always_comb begin
    reads_next      = reads_now;
    read_beats_next = '0;
    if (reading && read_beats != '0) read_beats_next = read_beats - 1'b1;
    if (taken) read_beats_next = beats_behind;
    if ((taken && last_of_operand) || nothing) reads_next = others;
  end

  always_ff @(posedge clock) begin
    if (running) begin
      reads_left     <= reads_next;
      read_beats     <= read_beats_next;
      operand_begins <=
          reads_next != reads_now || (operand_begins_now && !taken && !(asks && outside));
      if (asks && outside) begin
        // Move towards the image, vertically and horizontally at once.
        y               <= y_now < 0 ? y_now + 32'(command.window.dilation_y) : y_now;
        tap_y           <= y_now < 0 ? tap_y_now + 1'b1 : tap_y_now;
        x               <= x_now < 0 ? x_now + 32'(command.window.dilation_x) : x_now;
        first_x         <= x_now < 0 ? x_now + 32'(command.window.dilation_x) : x_now;
        tap_x           <= x_now < 0 ? tap_x_now + 1'b1 : tap_x_now;
        first_tap_x     <= x_now < 0 ? tap_x_now + 1'b1 : tap_x_now;
        row_address     <= next_row_address;
        place_address   <= next_row_address;
        address         <= next_row_address;
        first_place     <= 1'b1;
        lane            <= '0;
      end else if (taken) begin
        y             <= y_now;
        x             <= x_now;
        tap_y         <= tap_y_now;
        tap_x         <= tap_x_now;
        first_x       <= first_x_now;
        first_tap_x   <= first_tap_x_now;
        row_address   <= row_address_now;
        place_address <= place_address_now;
        address       <= address_now + element_stride;
        first_place   <= first_place_now;
        lane          <= lane_now + 1'b1;
        if (last_lane) begin
          lane        <= '0;
          first_place <= 1'b0;
          if (more_x) begin
            x             <= x_now + 32'(command.window.dilation_x);
            tap_x         <= tap_x_now + 1'b1;
            place_address <= place_address_now + command.window.tap_column_stride;
            address       <= place_address_now + command.window.tap_column_stride;
          end else begin
            y             <= y_now + 32'(command.window.dilation_y);
            tap_y         <= tap_y_now + 1'b1;
            x             <= first_x_now;
            tap_x         <= first_tap_x_now;
            row_address   <= row_address_now + command.window.tap_row_stride;
            place_address <= row_address_now + command.window.tap_row_stride;
            address       <= row_address_now + command.window.tap_row_stride;
          end
        end
      end
    end
  end
  logic [ADDRESS_BITS-1:0] next_row_address;
  assign next_row_address = row_address_now + (y_now < 0 ? command.window.tap_row_stride : '0) +
      (x_now < 0 ? command.window.tap_column_stride : '0);

  // ---- Block scales. Their addresses are walked like the positions of a window.
  localparam int unsigned SCALES = kiln_vector_pkg::scales_of_word(BLOCK_SIZE, LANES);
  // The scale of a request has been taken; further scales of the last request are still to be
  // requested.
  logic scale_taken, scales_left, scales_left_next;
  if (BLOCK_SIZE == 0) begin : g_no_scales
    assign scale_taken           = 1'b1;
    assign scales_left           = 1'b0;
    assign scales_left_next      = 1'b0;
    assign scale_request_valid   = 1'b0;
    assign scale_request_address = '0;
    assign scale_request_tag     = '0;
    wire unused_scales = &{1'b0, command_scales, operand0_scale_address, operand1_scale_address,
        operand2_scale_address, scale_request_ready};
  end else begin : g_scales
    logic scaled, first_asks, first_sent;
    logic [ADDRESS_BITS-1:0] first, row, row_now, place_at, place_at_now, next_row;
    assign scaled     = command.header.operand_blocks[operand];
    assign first_asks = asks && !outside && !none && scaled && !first_sent;
    assign scale_taken = !scaled || first_sent || scale_request_ready;
    always_comb begin
      first = operand == 2'd0 ? operand0_scale_address : operand == 2'd1 ? operand1_scale_address :
          operand2_scale_address;
      row_now      = row;
      place_at_now = place_at;
      if (operand_begins_now) begin
        row_now      = first;
        place_at_now = first;
      end
      next_row = row_now + (y_now < 0 ? command_scales.operand0.tap_row_stride : '0) +
          (x_now < 0 ? command_scales.operand0.tap_column_stride : '0);
    end
    always_ff @(posedge clock) begin
      if (reset) first_sent <= 1'b0;
      else first_sent <= (first_sent || (first_asks && scale_request_ready)) && !taken;
      if (running && asks && outside) begin
        row      <= next_row;
        place_at <= next_row;
      end else if (running && taken) begin
        row      <= row_now;
        place_at <= place_at_now;
        if (last_lane && more_x) begin
          place_at <= place_at_now + command_scales.operand0.tap_column_stride;
        end else if (last_lane) begin
          row      <= row_now + command_scales.operand0.tap_row_stride;
          place_at <= row_now + command_scales.operand0.tap_row_stride;
        end
      end
    end
    if (SCALES == 1) begin : g_one
      assign scales_left           = 1'b0;
      assign scales_left_next      = 1'b0;
      assign scale_request_valid   = first_asks;
      assign scale_request_address = place_at_now;
      assign scale_request_tag     = {kiln_vector_pkg::LANE_BITS'(0), 1'b1};
    end else begin : g_several
      // The word's further scales, one per cycle.
      logic [kiln_vector_pkg::LANE_BITS-1:0] blocks, block, block_next;
      logic [ADDRESS_BITS-1:0] next;
      assign blocks = kiln_vector_pkg::LANE_BITS'(further_scales) + 1'b1;
      always_comb begin
        block_next       = block;
        scales_left_next = scales_left;
        if (scales_left && scale_request_ready) begin
          block_next       = block + 1'b1;
          scales_left_next = block_next != blocks;
        end
        if (taken && scaled) begin
          block_next       = kiln_vector_pkg::LANE_BITS'(1);
          scales_left_next = blocks != kiln_vector_pkg::LANE_BITS'(1);
        end
      end
      always_ff @(posedge clock) begin
        if (reset) scales_left <= 1'b0;
        else scales_left <= scales_left_next;
        block <= block_next;
        if (taken) next <= place_at_now + ADDRESS_BITS'(SCALE_BYTES);
        else if (scales_left && scale_request_ready) next <= next + ADDRESS_BITS'(SCALE_BYTES);
      end
      assign scale_request_valid   = scales_left || first_asks;
      assign scale_request_address = scales_left ? next : place_at_now;
      assign scale_request_tag     = {
        scales_left ? block : kiln_vector_pkg::LANE_BITS'(0),
        scales_left ? block + 1'b1 == blocks : blocks == kiln_vector_pkg::LANE_BITS'(1)
      };
    end
  end

  // ---- The output's beats, counted as the writer will send them `depth` cycles later.
  logic writes_left, writes_now, writes_next, writing;
  logic [COUNT_LANE_BITS-1:0] write_lane, write_lane_now;
  logic [ADDRESS_BITS-1:0] write_address, write_address_now;
  logic [WRITE_SPAN-1:0] write_beats, write_beats_next;
  logic [BYTES_BITS-1:0] write_bytes;
  logic [1:0] target_shift;
  logic [WRITE_SPAN-1:0] further_scales;  // scales of a word after the first
  always_comb begin
    further_scales = '0;
    for (int i = 1; i < SCALES; i++) begin
      if (32'(lanes) > 32'(i * BLOCK_SIZE)) further_scales = WRITE_SPAN'(i);
    end
  end
  wire unused_further = &{1'b0, further_scales};
  assign target_shift      = kiln_vector_pkg::element_shift(command.target.element, VECTOR_SHIFT,
      INPUT_SHIFT, WEIGHT_SHIFT);
  assign writes_now        = begun ? writes_left : to_memory;
  assign write_lane_now    = begun ? write_lane : '0;
  assign write_address_now = begun ? write_address : target_address;
  assign writing           = begun && write_beats != '0;
  assign write_bytes = (command.target.access == kiln_systolic_pkg::ACCESS_DENSE ?
      BYTES_BITS'(lanes) : BYTES_BITS'(1)) << target_shift;
  always_comb begin
    writes_next      = writes_now;
    write_beats_next = '0;
    if (writing) begin
      write_beats_next = write_beats - 1'b1;
    end else if (writes_now) begin
      write_beats_next = further_writes(write_address_now[WRITE_OFFSET-1:0], write_bytes);
      if (SCALES > 1 && command.header.output_blocks && write_beats_next < further_scales)
        write_beats_next = further_scales;
      writes_next = command.target.access == kiln_systolic_pkg::ACCESS_STRIDED &&
          write_lane_now + 1'b1 != lanes;
    end
  end
  always_ff @(posedge clock) begin
    if (running) begin
      writes_left   <= writes_next;
      write_beats   <= write_beats_next;
      write_lane    <= !writing && writes_now ? write_lane_now + 1'b1 : write_lane_now;
      write_address <= !writing && writes_now ? write_address_now + command.target.element_stride :
          write_address_now;
    end
  end

  // ---- The slot.
  logic beats_end, waiting;  // waiting: the slot is in its gap
  logic [15:0] gap_left;
  logic [31:0] cycles;
  assign beats_end   = running && reads_next == '0 && read_beats_next == '0 && !scales_left_next &&
      !writes_next && write_beats_next == '0;
  assign slot_end    = waiting ? gap_left == 16'd1 : beats_end && gap == '0;
  assign slot_cycles = cycles;
  if (BLOCK_SIZE == 0) begin : g_no_beats
    assign slot_beats = '0;
  end else begin : g_beats
    // The beats before this cycle, and one more: what issues the word adds slot_beats up in the
    // same cycle.
    logic [15:0] beats, one_more;
    assign slot_beats = writing || writes_now ? one_more : beats;
    always_ff @(posedge clock) begin
      if (reset || (running && slot_end)) begin
        beats    <= '0;
        one_more <= 16'd1;
      end else if (running && (writing || writes_now)) begin
        beats    <= one_more;
        one_more <= one_more + 1'b1;
      end
    end
  end
  always_ff @(posedge clock) begin
    if (reset) begin
      begun   <= 1'b0;
      waiting <= 1'b0;
    end else if (running) begin
      begun   <= !slot_end;
      waiting <= !slot_end && (waiting || beats_end);
    end
    gap_left <= waiting ? gap_left - 1'b1 : gap;
    cycles   <= reset || !running || slot_end ? 32'd1 : cycles + 1'b1;
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      gap_ends : assert (!waiting || gap_left != '0);
      gap_follows_beats : assert (!(running && waiting) || begun);
    end
  end
`endif
endmodule
