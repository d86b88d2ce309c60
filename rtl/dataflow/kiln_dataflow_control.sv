// The registers of a dataflow machine as an AXI4-Lite slave (map: docs/dataflow-machine.md,
// "Registers"): starts and stops the input, counts images and cycles, and holds the addresses of
// streamed weights.
//   run            CONTROL.run: beats of the input are accepted and weights are requested. After a
//                  reset it is RUN_AFTER_RESET.
//   clear          a pulse after the write of CONTROL.clear, for the channels' highest levels
//   base_addresses of the streams of weights
//   in_beat        a beat of the (first) input stream is accepted in this cycle
//   out_beat       a beat of the (first) output stream is accepted in this cycle
//   highest        the highest level of each channel, in 32 bits each
//   fault          of a port of weights
// Images are told apart by counting beats: IN_BEATS of the input and OUT_BEATS of the output.
module kiln_dataflow_control #(
    parameter int unsigned IN_BEATS = 64,
    parameter int unsigned OUT_BEATS = 16,
    parameter int unsigned CHANNELS = 1,  // 1 to 768
    parameter int unsigned STREAMS = 1,  // of weights, 1 to 64
    parameter bit RUN_AFTER_RESET = 1'b0,
    parameter int unsigned ADDRESS_BITS = 40,  // of weights, 33 to 64
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
    // The machine
    output logic                            run,
    output logic                            clear,
    output logic [STREAMS*ADDRESS_BITS-1:0] base_addresses,
    input  logic                            in_beat,
    input  logic                            out_beat,
    input  logic [         CHANNELS*32-1:0] highest,
    input  logic                            fault
);
  localparam logic [REGISTER_BITS-1:0] IDENTITY = 12'h000;
  localparam logic [REGISTER_BITS-1:0] VERSION = 12'h004;
  localparam logic [REGISTER_BITS-1:0] CONTROL = 12'h008;
  localparam logic [REGISTER_BITS-1:0] STATUS = 12'h00c;
  localparam logic [REGISTER_BITS-1:0] IMAGES_IN = 12'h010;
  localparam logic [REGISTER_BITS-1:0] IMAGES_OUT = 12'h014;
  localparam logic [REGISTER_BITS-1:0] CYCLES = 12'h018;
  localparam logic [REGISTER_BITS-1:0] CYCLES_HIGH = 12'h01c;
  localparam logic [REGISTER_BITS-1:0] LATENCY = 12'h020;
  localparam logic [REGISTER_BITS-1:0] LATENCY_HIGH = 12'h024;
  localparam logic [REGISTER_BITS-1:0] INTERVAL = 12'h028;
  localparam logic [REGISTER_BITS-1:0] INTERVAL_HIGH = 12'h02c;
  localparam logic [REGISTER_BITS-1:0] CHANNEL_COUNT = 12'h030;
  localparam logic [REGISTER_BITS-1:0] STREAM_COUNT = 12'h034;
  localparam logic [REGISTER_BITS-1:0] BASE_ADDRESSES = 12'h100;  // 8 bytes each
  localparam logic [REGISTER_BITS-1:0] HIGHEST = 12'h400;  // 4 bytes each
  localparam logic [31:0] IDENTITY_VALUE = 32'h4b494c4e;  // "KILN"
  localparam logic [31:0] VERSION_VALUE = 32'h0003_0000;
  localparam int unsigned COUNTER_BITS = 48;
  localparam int unsigned IN_BITS = IN_BEATS > 1 ? $clog2(IN_BEATS) : 1;
  localparam int unsigned OUT_BITS = OUT_BEATS > 1 ? $clog2(OUT_BEATS) : 1;
  localparam int unsigned HIGH_BITS = ADDRESS_BITS - 32;

  if (CHANNELS < 1 || CHANNELS > 768 || STREAMS < 1 || STREAMS > 64 || ADDRESS_BITS < 33 ||
      ADDRESS_BITS > 64) begin : g_parameters
    $error("CHANNELS must be 1 to 768, STREAMS 1 to 64, ADDRESS_BITS 33 to 64");
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
  logic written, has_run;
  logic [REGISTER_BITS-1:0] base_offset;
  logic writes_base;
  assign base_offset = write_address - BASE_ADDRESSES;
  assign writes_base = write_address >= BASE_ADDRESSES && 32'(base_offset) < STREAMS * 8;
  assign write_error = write_strobe != '1 ||
      !(write_address == CONTROL || (writes_base && !run && !has_run));
  assign written = write_enable && !write_error;
  always_ff @(posedge clock) begin
    if (reset) begin
      run     <= RUN_AFTER_RESET;
      has_run <= 1'b0;
      clear   <= 1'b0;
    end else begin
      if (written && write_address == CONTROL) run <= write_data[0];
      if (run) has_run <= 1'b1;
      clear <= written && write_address == CONTROL && write_data[1];
    end
  end
  for (genvar i = 0; i < STREAMS; i++) begin : g_base
    always_ff @(posedge clock) begin
      if (reset) begin
        base_addresses[i*ADDRESS_BITS+:ADDRESS_BITS] <= '0;
      end else if (written && writes_base && base_offset[REGISTER_BITS-1:3] == 9'(i)) begin
        if (base_offset[2])
          base_addresses[i*ADDRESS_BITS+32+:HIGH_BITS] <= write_data[HIGH_BITS-1:0];
        else base_addresses[i*ADDRESS_BITS+:32] <= write_data;
      end
    end
  end

  // ---- Images.
  logic [IN_BITS-1:0] in_place;
  logic [OUT_BITS-1:0] out_place;
  logic in_first, in_last, out_last;  // the image's first and last beat is accepted in this cycle
  logic [15:0] in_flight;  // images that have begun and not ended
  logic [31:0] images_in, images_out;
  assign in_first = in_beat && in_place == '0;
  assign in_last  = in_beat && in_place == IN_BITS'(IN_BEATS - 1);
  assign out_last = out_beat && out_place == OUT_BITS'(OUT_BEATS - 1);
  always_ff @(posedge clock) begin
    if (reset) begin
      in_place  <= '0;
      out_place <= '0;
      in_flight <= '0;
    end else begin
      if (in_beat) in_place <= in_last ? '0 : in_place + 1'b1;
      if (out_beat) out_place <= out_last ? '0 : out_place + 1'b1;
      in_flight <= in_flight + 16'(in_first) - 16'(out_last);
    end
    if (reset || clear) begin
      images_in  <= '0;
      images_out <= '0;
    end else begin
      images_in  <= images_in + 32'(in_last);
      images_out <= images_out + 32'(out_last);
    end
  end

  // ---- Cycles. A counter of time holds the number of cycles before this one that it counts.
  logic started, measuring, ended;
  logic [COUNTER_BITS-1:0] elapsed, cycles;  // since the first beat; up to the last beat
  logic [COUNTER_BITS-1:0] age, latency;  // of the image that is measured
  logic [COUNTER_BITS-1:0] since_end, interval;  // since the last image's end
  logic [15:0] ahead;  // images that end before the one that is measured
  always_ff @(posedge clock) begin
    if (reset || clear) begin
      started   <= 1'b0;
      measuring <= 1'b0;
      ended     <= 1'b0;
      cycles    <= '0;
      latency   <= '0;
      interval  <= '0;
    end else begin
      if (in_first) started <= 1'b1;
      if (out_beat && started) cycles <= elapsed + 1'b1;
      if (measuring) begin
        if (out_last && ahead == '0) begin
          measuring <= 1'b0;
          latency   <= age + 1'b1;
        end
      end else if (in_first) begin
        measuring <= 1'b1;
      end
      if (out_last) begin
        ended <= 1'b1;
        if (ended) interval <= since_end + 1'b1;
      end
    end
    elapsed   <= started ? elapsed + 1'b1 : COUNTER_BITS'(1);
    age       <= measuring ? age + 1'b1 : COUNTER_BITS'(1);
    since_end <= out_last ? '0 : since_end + 1'b1;
    if (!measuring) ahead <= in_flight - 16'(out_last);
    else if (out_last) ahead <= ahead - 1'b1;
  end

  // ---- Reads. Reading a low half latches the high half that belongs to it.
  logic [15:0] high_half;
  logic [REGISTER_BITS-1:0] read_base_offset, read_highest_offset;
  logic [8:0] read_stream;
  logic [9:0] read_channel;
  logic reads_base, reads_highest;
  logic [ADDRESS_BITS-1:0] read_base;
  assign read_base_offset = read_address - BASE_ADDRESSES;
  assign reads_base = read_address >= BASE_ADDRESSES && 32'(read_base_offset) < STREAMS * 8;
  assign read_stream = reads_base ? read_base_offset[REGISTER_BITS-1:3] : '0;
  assign read_base = base_addresses[32'(read_stream)*ADDRESS_BITS+:ADDRESS_BITS];
  assign read_highest_offset = read_address - HIGHEST;
  assign reads_highest = read_address >= HIGHEST && 32'(read_highest_offset) < CHANNELS * 4;
  assign read_channel = reads_highest ? read_highest_offset[REGISTER_BITS-1:2] : '0;
  always_comb begin
    read_error = 1'b0;
    read_data  = '0;
    if (reads_base) begin
      read_data = read_base_offset[2] ? 32'(read_base[ADDRESS_BITS-1:32]) : read_base[31:0];
    end else if (reads_highest) begin
      read_data = highest[32'(read_channel)*32+:32];
    end else begin
      case (read_address)
        IDENTITY: read_data = IDENTITY_VALUE;
        VERSION: read_data = VERSION_VALUE;
        CONTROL: read_data = 32'(run);
        STATUS: read_data = {15'b0, fault, in_flight};
        IMAGES_IN: read_data = images_in;
        IMAGES_OUT: read_data = images_out;
        CYCLES: read_data = cycles[31:0];
        LATENCY: read_data = latency[31:0];
        INTERVAL: read_data = interval[31:0];
        CYCLES_HIGH, LATENCY_HIGH, INTERVAL_HIGH: read_data = 32'(high_half);
        CHANNEL_COUNT: read_data = CHANNELS;
        STREAM_COUNT: read_data = STREAMS;
        default: read_error = 1'b1;
      endcase
    end
  end
  always_ff @(posedge clock) begin
    if (read_enable) begin
      case (read_address)
        CYCLES: high_half <= cycles[COUNTER_BITS-1:32];
        LATENCY: high_half <= latency[COUNTER_BITS-1:32];
        INTERVAL: high_half <= interval[COUNTER_BITS-1:32];
        default: ;
      endcase
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clock) begin
    if (!reset) begin
      in_place_in_range : assert (32'(in_place) < IN_BEATS);
      out_place_in_range : assert (32'(out_place) < OUT_BEATS);
      ends_after_begin : assert (!out_last || in_flight != '0 || in_first);
      measured_image_in_flight : assert (!measuring || in_flight > ahead);
      has_run_after_run : assert (!$past(run && !reset) || has_run);
    end
  end
`endif
endmodule
