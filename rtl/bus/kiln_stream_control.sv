// The registers of a stream machine behind memory, as an AXI4-Lite slave (map: docs/driver.md,
// "Stream machines"): where the beats of each stream are, start and end of a run, and counters.
// Streams are numbered; those into the machine come first.
//   start      a pulse: readers and writers take `addresses` and `beat_counts`
//   busy       of each reader and writer; a run ends when all are idle
//   faults     of each; the first run that ends with one, and all after it, end with ERROR 1. If
//              the machine offers a beat after the end of a run, the run has ERROR 2.
//   valids, readys   the handshakes of the streams, for the counters
//   irq        high from the end of a run until a 1 is written to INTERRUPT, or the next run starts
// While a run is in progress no register can be written.
module kiln_stream_control #(
    parameter int unsigned STREAMS_IN = 1,
    parameter int unsigned STREAMS_OUT = 1,
    parameter int unsigned ADDRESS_BITS = 40,  // 33 to 64
    localparam int unsigned STREAMS = STREAMS_IN + STREAMS_OUT,  // derived, do not set
    localparam int unsigned REGISTER_BITS = 12  // derived, do not set
) (
    input  logic                            clock,
    input  logic                            reset,
    // AXI4-Lite slave
    input  logic                            axi_awvalid,
    output logic                            axi_awready,
    input  logic [       REGISTER_BITS-1:0] axi_awaddr,
    input  logic                            axi_wvalid,
    output logic                            axi_wready,
    input  logic [                    31:0] axi_wdata,
    input  logic [                     3:0] axi_wstrb,
    output logic                            axi_bvalid,
    input  logic                            axi_bready,
    output logic [                     1:0] axi_bresp,
    input  logic                            axi_arvalid,
    output logic                            axi_arready,
    input  logic [       REGISTER_BITS-1:0] axi_araddr,
    output logic                            axi_rvalid,
    input  logic                            axi_rready,
    output logic [                    31:0] axi_rdata,
    output logic [                     1:0] axi_rresp,
    // Readers and writers
    output logic                            start,
    output logic [STREAMS*ADDRESS_BITS-1:0] addresses,
    output logic [          STREAMS*32-1:0] beat_counts,
    input  logic [             STREAMS-1:0] busy,
    input  logic [             STREAMS-1:0] faults,
    input  logic [             STREAMS-1:0] valids,
    input  logic [             STREAMS-1:0] readys,
    output logic                            irq
);
  localparam logic [REGISTER_BITS-1:0] IDENTITY = 12'h000;
  localparam logic [REGISTER_BITS-1:0] VERSION = 12'h004;
  localparam logic [REGISTER_BITS-1:0] CONTROL = 12'h008;
  localparam logic [REGISTER_BITS-1:0] STATUS = 12'h00c;
  localparam logic [REGISTER_BITS-1:0] ERROR = 12'h010;
  localparam logic [REGISTER_BITS-1:0] ERROR_STREAM = 12'h014;
  localparam logic [REGISTER_BITS-1:0] CYCLES = 12'h018;
  localparam logic [REGISTER_BITS-1:0] CYCLES_HIGH = 12'h01c;
  localparam logic [REGISTER_BITS-1:0] COUNT_IN = 12'h020;
  localparam logic [REGISTER_BITS-1:0] COUNT_OUT = 12'h024;
  localparam logic [REGISTER_BITS-1:0] INTERRUPT = 12'h028;
  localparam logic [REGISTER_BITS-1:0] PLACES = 12'h100;  // 16 bytes each: address, beats
  localparam logic [REGISTER_BITS-1:0] COUNTERS = 12'h400;  // 8 bytes each: busy, stalled
  localparam logic [31:0] IDENTITY_VALUE = 32'h4b494c4e;  // "KILN"
  localparam logic [31:0] VERSION_VALUE = 32'h0005_0000;
  localparam int unsigned COUNTER_BITS = 48;
  localparam int unsigned HIGH_BITS = ADDRESS_BITS - 32;
  localparam int unsigned STREAM_BITS = $clog2(STREAMS);

  if (STREAMS_IN < 1 || STREAMS_OUT < 1 || STREAMS > 48 || ADDRESS_BITS < 33 ||
      ADDRESS_BITS > 64) begin : g_parameters
    $error("there must be 1 to 47 streams in and out, 48 at most, and ADDRESS_BITS 33 to 64");
  end

  logic write_enable, write_error, read_enable, read_error;
  logic [REGISTER_BITS-1:0] write_address, read_address;
  logic [31:0] write_data, read_data;
  logic [3:0] write_strobe;
  kiln_axi_lite_registers #(
      .ADDRESS_BITS(REGISTER_BITS)
  ) slave (
      .clock,
      .reset,
      .axi_awvalid,
      .axi_awready,
      .axi_awaddr,
      .axi_wvalid,
      .axi_wready,
      .axi_wdata,
      .axi_wstrb,
      .axi_bvalid,
      .axi_bready,
      .axi_bresp,
      .axi_arvalid,
      .axi_arready,
      .axi_araddr,
      .axi_rvalid,
      .axi_rready,
      .axi_rdata,
      .axi_rresp,
      .write_enable,
      .write_address,
      .write_data,
      .write_strobe,
      .write_error,
      .read_enable,
      .read_ready(1'b1),
      .read_address,
      .read_data,
      .read_error
  );

  // ---- Writes: whole words only.
  logic running, ended, written, writes_place;
  logic [REGISTER_BITS-1:0] write_offset;
  assign write_offset = write_address - PLACES;
  assign writes_place = write_address >= PLACES && 32'(write_offset) < STREAMS * 16 &&
      write_offset[3:2] != 2'd3;
  assign write_error = write_strobe != '1 || running || start ||
      !(write_address == CONTROL || write_address == INTERRUPT || writes_place);
  assign written = write_enable && !write_error;
  for (genvar i = 0; i < STREAMS; i++) begin : g_stream
    logic selected;
    assign selected = written && writes_place && write_offset[REGISTER_BITS-1:4] == 8'(i);
    always_ff @(posedge clock) begin
      if (reset) begin
        addresses[i*ADDRESS_BITS+:ADDRESS_BITS] <= '0;
        beat_counts[i*32+:32] <= '0;
      end else if (selected) begin
        case (write_offset[3:2])
          2'd0: addresses[i*ADDRESS_BITS+:32] <= write_data;
          2'd1: addresses[i*ADDRESS_BITS+32+:HIGH_BITS] <= write_data[HIGH_BITS-1:0];
          default: beat_counts[i*32+:32] <= write_data;
        endcase
      end
    end
  end

  // ---- A run: `running` rises with the readers' and writers' busy.
  logic ends, acknowledged;
  assign ends = running && busy == '0;
  assign acknowledged = written && write_address == INTERRUPT && write_data[0];
  always_ff @(posedge clock) begin
    if (reset) begin
      start   <= 1'b0;
      running <= 1'b0;
      ended   <= 1'b0;
      irq     <= 1'b0;
    end else begin
      start   <= written && write_address == CONTROL && write_data[0];
      running <= start || (running && !ends);
      ended   <= ends || (ended && !start);
      irq     <= ends || (irq && !start && !acknowledged);
    end
  end

  // The machine's beats that are left over are those of the streams out, which come last.
  logic [STREAMS-1:0] left_over;
  always_ff @(posedge clock) begin
    if (reset || start) left_over <= '0;
    else if (ended) left_over <= left_over | {valids[STREAMS-1:STREAMS_IN], {STREAMS_IN{1'b0}}};
  end
  logic [STREAM_BITS-1:0] fault_stream;
  always_comb begin
    fault_stream = '0;
    for (int i = STREAMS - 1; i >= 0; i--) begin
      if (faults != '0 ? faults[i] : left_over[i]) fault_stream = STREAM_BITS'(i);
    end
  end

  // ---- Counters of the last run.
  logic [COUNTER_BITS-1:0] cycles;
  logic [STREAMS*64-1:0] counters;
  always_ff @(posedge clock) begin
    if (start) cycles <= '0;
    else if (running && !ends) cycles <= cycles + 1'b1;
    if (reset) cycles <= '0;
  end
  for (genvar i = 0; i < STREAMS; i++) begin : g_counters
    logic [31:0] moved, stalled;
    always_ff @(posedge clock) begin
      if (reset || start) begin
        moved   <= '0;
        stalled <= '0;
      end else if (running && !ends) begin
        moved   <= moved + 32'(valids[i] && readys[i]);
        stalled <= stalled + 32'(valids[i] && !readys[i]);
      end
    end
    assign counters[i*64+:64] = {stalled, moved};
  end

  // ---- Reads. Reading the low half of the cycles latches their high half.
  logic [15:0] high_half;
  logic [REGISTER_BITS-1:0] place_offset, counter_offset;
  logic reads_place, reads_counter;
  logic [STREAM_BITS-1:0] read_stream;
  logic [STREAM_BITS:0] read_counter;
  logic [ADDRESS_BITS-1:0] read_place;
  assign place_offset = read_address - PLACES;
  assign reads_place = read_address >= PLACES && 32'(place_offset) < STREAMS * 16 &&
      place_offset[3:2] != 2'd3;
  assign read_stream = reads_place ? place_offset[4+:STREAM_BITS] : '0;
  assign read_place = addresses[32'(read_stream)*ADDRESS_BITS+:ADDRESS_BITS];
  assign counter_offset = read_address - COUNTERS;
  assign reads_counter = read_address >= COUNTERS && 32'(counter_offset) < STREAMS * 8;
  assign read_counter = reads_counter ? counter_offset[2+:STREAM_BITS+1] : '0;
  always_comb begin
    read_error = 1'b0;
    read_data  = '0;
    if (reads_place) begin
      case (place_offset[3:2])
        2'd0: read_data = read_place[31:0];
        2'd1: read_data = 32'(read_place[ADDRESS_BITS-1:32]);
        default: read_data = beat_counts[32'(read_stream)*32+:32];
      endcase
    end else if (reads_counter) begin
      read_data = counters[32'(read_counter)*32+:32];
    end else begin
      case (read_address)
        IDENTITY: read_data = IDENTITY_VALUE;
        VERSION: read_data = VERSION_VALUE;
        CONTROL: read_data = '0;
        STATUS: read_data = {30'b0, ended, running || start};
        ERROR: read_data = !ended ? '0 : faults != '0 ? 32'd1 : left_over != '0 ? 32'd2 : '0;
        ERROR_STREAM: read_data = 32'(fault_stream);
        CYCLES: read_data = cycles[31:0];
        CYCLES_HIGH: read_data = 32'(high_half);
        COUNT_IN: read_data = STREAMS_IN;
        COUNT_OUT: read_data = STREAMS_OUT;
        INTERRUPT: read_data = 32'(irq);
        default: read_error = 1'b1;
      endcase
    end
  end
  always_ff @(posedge clock) begin
    if (read_enable && read_address == CYCLES) high_half <= cycles[COUNTER_BITS-1:32];
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      starts_alone : assert (!start || (!running && busy == '0));
      never_running_and_ended : assert (!(running && ended));
      interrupts_at_the_end : assert (!irq || ended);
    end
  end
`endif
endmodule
