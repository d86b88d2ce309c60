// Writes the SystemVerilog of a pipeline: its channels, its stages with their parameters, and the
// top module.

#include "kiln/targets/dataflow/emit/emit.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/axi_signals.h"
#include "kiln/hardware/driver_folder.h"
#include "kiln/hardware/top_module.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/emit/images.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/isa/registers.h"

namespace kiln::dataflow {
namespace {

constexpr int kAddressBits = 40;  // of streamed weights

int Number(MemoryKind kind) { return static_cast<int>(kind); }

// Products of few bits are logic; a DSP slice would be wasted on them.
bool LutProducts(const Pipeline& pipeline, const Stage& stage) {
  return UsesLutProducts(pipeline.input(stage).type, stage.weight_bits, stage.pack);
}

class NetworkModule {
 public:
  NetworkModule(const Pipeline& pipeline, const EmitOptions& options)
      : pipeline_(pipeline), options_(options) {}

  std::string Text() {
    Header();
    for (size_t i = 0; i < pipeline_.channels.size(); ++i) ChannelOf(i);
    size_t sources = 0, sinks = 0, streams = 0;
    for (const Stage& stage : pipeline_.stages) {
      if (stage.kind == StageKind::kSource) {
        End(stage, "source", fmt::format("in{}", sources++));
      } else if (stage.kind == StageKind::kSink) {
        End(stage, "sink", fmt::format("out{}", sinks++));
      } else if (stage.kind == StageKind::kWeightStream) {
        WeightStreamOf(stage, streams++);
      } else {
        StageOf(stage);
      }
    }
    text_ += "endmodule\n";
    return std::move(text_);
  }

 private:
  void Line(const std::string& line) { text_ += line + '\n'; }

  void Header() {
    Line(
        fmt::format("// The stages and channels of '{}', in the order of the data.\n"
                    "// Emitted by Kiln.",
                    options_.name));
    Line("module kiln_dataflow_network (");
    Line("    input  logic clock,\n    input  logic reset,\n    input  logic run,");
    Line("    input  logic clear,");
    size_t number = 0;
    for (const int s : pipeline_.Find(StageKind::kSource)) {
      const Channel& c = pipeline_.output(pipeline_.stages[static_cast<size_t>(s)]);
      Line(
          fmt::format("    input  logic in{0}_tvalid,\n    output logic in{0}_tready,\n"
                      "    input  logic [{1}:0] in{0}_tdata,",
                      number++, 8 * BytesOfBeat(c) - 1));
    }
    number = 0;
    for (const int s : pipeline_.Find(StageKind::kSink)) {
      const Channel& c = pipeline_.input(pipeline_.stages[static_cast<size_t>(s)]);
      Line(
          fmt::format("    output logic out{0}_tvalid,\n    input  logic out{0}_tready,\n"
                      "    output logic [{1}:0] out{0}_tdata,",
                      number++, 8 * BytesOfBeat(c) - 1));
    }
    number = 0;
    for (const int s : pipeline_.Find(StageKind::kWeightStream)) {
      const auto bytes = static_cast<int>(pipeline_.stages[static_cast<size_t>(s)].port_bytes);
      for (const hardware::Signal& signal : hardware::AxiReadSignals(bytes, kAddressBits)) {
        Line(fmt::format("    {} logic [{}:0] weights{}_{},", signal.output ? "output" : "input ",
                         signal.bits - 1, number, signal.name));
      }
      ++number;
    }
    if (number > 0) {
      Line(fmt::format("    input  logic [{}:0] base_addresses,", number * kAddressBits - 1));
      Line(fmt::format("    output logic [{}:0] weight_faults,", number - 1));
    }
    const size_t channels = pipeline_.channels.size();
    Line(fmt::format("    output logic [{}:0] pushed,\n    output logic [{}:0] highest\n);",
                     channels - 1, 32 * channels - 1));
  }

  void ChannelOf(size_t index) {
    const Channel& c = pipeline_.channels[index];
    const int count_bits = std::max(1, SignedBits(0, c.depth) - 1);
    Line(fmt::format(
        "  logic c{0}_room, c{0}_reserve, c{0}_push, c{0}_valid, c{0}_pop;\n"
        "  logic [{1}:0] c{0}_push_data, c{0}_data;\n"
        "  logic [{2}:0] c{0}_highest;\n"
        "  kiln_dataflow_channel #(.WIDTH({3}), .DEPTH({4}), .MEMORY({5}), .RESERVE({6}),\n"
        "      .MEASURE(1'b1)) c{0} (\n"
        "      .clock, .reset, .room(c{0}_room), .reserve(c{0}_reserve), .push(c{0}_push),\n"
        "      .push_data(c{0}_push_data), .valid(c{0}_valid), .data(c{0}_data), .pop(c{0}_pop),\n"
        "      .clear, .level(), .highest(c{0}_highest));\n"
        "  assign pushed[{0}] = c{0}_push;\n"
        "  assign highest[{7}+:32] = 32'(c{0}_highest);",
        index, c.word_bits() - 1, count_bits - 1, c.word_bits(), c.depth, Number(c.memory),
        ReserveOf(pipeline_, c), 32 * index));
  }

  void End(const Stage& stage, const std::string& kind, const std::string& port) {
    const bool in = stage.kind == StageKind::kSource;
    const int c = in ? stage.outputs[0] : stage.inputs[0];
    const Channel& channel = pipeline_.channels[static_cast<size_t>(c)];
    const std::string channel_ports =
        in ? fmt::format(
                 ".run, .out_room(c{0}_room), .out_reserve(c{0}_reserve), "
                 ".out_push(c{0}_push),\n      .out_data(c{0}_push_data)",
                 c)
           : fmt::format(".in_valid(c{0}_valid), .in_data(c{0}_data), .in_pop(c{0}_pop)", c);
    Line(
        fmt::format("  kiln_dataflow_{0} #(.WIDTH({1})) stage_{2} (\n"
                    "      .clock, .reset, .axi_tvalid({3}_tvalid), .axi_tready({3}_tready),\n"
                    "      .axi_tdata({3}_tdata), {4});",
                    kind, channel.word_bits(), stage.name, port, channel_ports));
  }

  void WeightStreamOf(const Stage& stage, size_t number) {
    const int c = stage.outputs[0];
    const Channel& channel = pipeline_.output(stage);
    std::string bus;
    for (const hardware::Signal& signal : hardware::AxiReadSignals(8, kAddressBits))
      bus += fmt::format(",\n      .axi_{1}(weights{0}_{1})", number, signal.name);
    Line(fmt::format(
        "  kiln_dataflow_weight_stream #(.WIDTH({}), .WORDS({}), .ADDRESS_BITS({}),\n"
        "      .DATA_BYTES({}), .OUTSTANDING({})) stage_{} (\n"
        "      .clock, .reset, .run, .base_address(base_addresses[{}+:{}]),\n"
        "      .fault(weight_faults[{}]),\n"
        "      .out_room(c{c}_room), .out_reserve(c{c}_reserve), .out_push(c{c}_push),\n"
        "      .out_data(c{c}_push_data){});",
        channel.word_bits(), channel.map.width, kAddressBits, stage.port_bytes,
        OutstandingOf(pipeline_, stage), stage.name, number * kAddressBits, kAddressBits, number,
        bus, fmt::arg("c", c)));
  }

  // The connections of a stage: `in` and `out` are the names of its ports' prefixes.
  static std::string Inputs(std::span<const int> channels) {
    std::vector<std::string> valid, data, pop;
    for (const int c : channels) {
      valid.insert(valid.begin(), fmt::format("c{}_valid", c));
      data.insert(data.begin(), fmt::format("c{}_data", c));
      pop.insert(pop.begin(), fmt::format("c{}_pop", c));
    }
    return fmt::format(".in_valid({}), .in_data({}),\n      .in_pop({})", Joined(valid),
                       Joined(data), Joined(pop));
  }
  std::string WeightInput(const Stage& stage) const {
    if (!pipeline_.Streams(stage)) return ".weights_valid(1'b0), .weights_data('0), .weights_pop()";
    return fmt::format(
        ".weights_valid(c{0}_valid), .weights_data(c{0}_data), .weights_pop(c{0}_pop)",
        stage.inputs[1]);
  }
  std::string Outputs(const Stage& stage) const {
    std::vector<std::string> room, reserve, push, data;
    for (const int c : stage.outputs) {
      room.insert(room.begin(), fmt::format("c{}_room", c));
      reserve.insert(reserve.begin(), fmt::format("c{}_reserve", c));
      push.insert(push.begin(), fmt::format("c{}_push", c));
      data.insert(data.begin(), fmt::format("c{}_push_data", c));
    }
    return fmt::format(".out_room({}), .out_reserve({}),\n      .out_push({}), .out_data({})",
                       Joined(room), Joined(reserve), Joined(push), Joined(data));
  }
  static std::string Joined(const std::vector<std::string>& names) {
    return names.size() == 1 ? names[0] : fmt::format("{{{}}}", fmt::join(names, ", "));
  }

  using Parameters = std::vector<std::pair<std::string, std::string>>;
  static std::string Text(int64_t number) { return fmt::format("{}", number); }
  static std::string Flag(bool flag) { return flag ? "1'b1" : "1'b0"; }
  static std::string Quoted(const std::string& text) { return '"' + text + '"'; }

  void StageOf(const Stage& stage) {
    Parameters parameters;
    std::string connections = Inputs(stage.inputs);
    switch (stage.kind) {
      case StageKind::kConvolution:
        parameters = ConvolutionParameters(stage);
        connections = Inputs(std::span(stage.inputs).first(1)) + ",\n      " + WeightInput(stage);
        break;
      case StageKind::kDepthwise:
        parameters = DepthwiseParameters(stage);
        break;
      case StageKind::kMaxPool:
        parameters = WindowParameters(stage);
        parameters.emplace_back("CG", Text(LoopsOf(pipeline_, stage).words_per_pixel));
        parameters.emplace_back("CODE_BITS", Text(pipeline_.input(stage).type.bits));
        parameters.emplace_back("IS_SIGNED", Flag(pipeline_.input(stage).type.is_signed));
        break;
      case StageKind::kGlobalSum:
        parameters = GlobalSumParameters(stage);
        break;
      case StageKind::kAffine:
        parameters = AffineParameters(stage);
        connections = AffineInputs(stage);
        break;
      case StageKind::kTable:
        parameters = {{"LANES", Text(pipeline_.input(stage).lanes)},
                      {"IN_BITS", Text(pipeline_.input(stage).type.bits)},
                      {"OUT_BITS", Text(pipeline_.output(stage).type.bits)},
                      {"FILE", Quoted(TableFile(stage))}};
        break;
      case StageKind::kConcat:
        parameters = ConcatParameters(stage);
        break;
      case StageKind::kFork:
        parameters = {{"WIDTH", Text(pipeline_.input(stage).word_bits())},
                      {"OUTPUTS", Text(std::ssize(stage.outputs))}};
        break;
      case StageKind::kWiden:
      case StageKind::kNarrow:
        parameters = ConverterParameters(stage);
        break;
      case StageKind::kRearrange:
        parameters = RearrangeParameters(stage);
        break;
      case StageKind::kCrop:
        parameters = {{"WIDTH", Text(pipeline_.input(stage).word_bits())},
                      {"CG", Text(pipeline_.input(stage).words_per_pixel())},
                      {"KEEP", Text(pipeline_.output(stage).words_per_pixel())}};
        break;
      case StageKind::kPad:
        parameters = PadParameters(stage);
        break;
      case StageKind::kSource:
      case StageKind::kSink:
      case StageKind::kWeightStream:
        break;
    }
    std::vector<std::string> values;
    for (const auto& [name, value] : parameters)
      values.push_back(fmt::format(".{}({})", name, value));
    Line(
        fmt::format("  kiln_dataflow_{} #(\n      {}\n  ) stage_{} (\n      .clock, .reset, {},\n"
                    "      {});",
                    NameOf(stage.kind), fmt::join(values, ",\n      "), stage.name, connections,
                    Outputs(stage)));
  }

  Parameters WindowParameters(const Stage& stage) const {
    const Window& w = stage.window;
    const WindowLoops loops = LoopsOf(pipeline_, stage);
    const Channel& in = pipeline_.input(stage);
    return {{"H", Text(stage.map.height)},
            {"W", Text(stage.map.width)},
            {"OH", Text(w.out_height)},
            {"OW", Text(w.out_width)},
            {"KY", Text(w.kernel_y)},
            {"KX", Text(w.kernel_x)},
            {"SY", Text(w.stride_y)},
            {"SX", Text(w.stride_x)},
            {"PT", Text(w.pad_top)},
            {"PL", Text(w.pad_left)},
            {"DY", Text(w.dilation_y)},
            {"DX", Text(w.dilation_x)},
            {"LANES", Text(in.lanes)},
            {"EXTRA_ROWS", Text(w.extra_rows)},
            {"ROW_MEMORY", Text(Number(w.row_memory))},
            {"COLUMN_MEMORY", HasDeepColumns(loops) ? "1" : "0"}};
  }
  void AddRequantise(const Stage& stage, Parameters* parameters) const {
    const Requantise& r = stage.requantise;
    const Channel& out = pipeline_.output(stage);
    const bool deep = out.map.channels / out.lanes > 64;
    const Parameters more = {{"OUT_BITS", Text(out.type.bits)},
                             {"WAY", Text(static_cast<int64_t>(r.way))},
                             {"C_BITS", Text(AddendBits(r))},
                             {"SHIFT", Text(r.shift)},
                             {"LOW", Text(r.low)},
                             {"HIGH", Text(r.high)},
                             {"LEVELS", Text(std::max(1, r.threshold_bits))},
                             {"THRESHOLD_BITS", Text(stage.sum_bits)},
                             {"MULTIPLIER_BITS", Text(MultiplierBitsOf(options_.ultrascale))},
                             {"CONSTANT_MEMORY", deep ? "1" : "0"}};
    parameters->insert(parameters->end(), more.begin(), more.end());
    if (r.way != Requantise::Way::kNone)
      parameters->emplace_back("CONSTANT_FILE", Quoted(ConstantsFile(stage)));
  }
  void AddWeights(const Stage& stage, Parameters* parameters) const {
    const Channel& in = pipeline_.input(stage);
    const Parameters more = {{"IN_BITS", Text(in.type.bits)},
                             {"IN_SIGNED", Flag(in.type.is_signed)},
                             {"PAD_VALUE", Text(stage.window.pad_value)},
                             {"WEIGHT_BITS", Text(stage.weight_bits)},
                             {"LUT_PRODUCTS", Flag(LutProducts(pipeline_, stage))},
                             {"WEIGHT_MEMORY", Text(Number(stage.weight_memory))}};
    parameters->insert(parameters->end(), more.begin(), more.end());
    if (!pipeline_.Streams(stage))
      parameters->emplace_back("WEIGHT_FILE", Quoted(WeightsFile(stage)));
  }
  // An accumulator holds every dot product of a word, too.
  int AccumulatorBits(const Stage& stage) const {
    const Channel& in = pipeline_.input(stage);
    return std::max(stage.sum_bits,
                    in.type.bits + stage.weight_bits + AdderLevels(stage.window.taps() * in.lanes));
  }
  Parameters ConvolutionParameters(const Stage& stage) const {
    const WindowLoops loops = LoopsOf(pipeline_, stage);
    Parameters parameters = WindowParameters(stage);
    const Parameters more = {{"G", Text(stage.groups)},
                             {"IG", Text(loops.words_per_group)},
                             {"OG", Text(loops.passes)},
                             {"OUTPUTS", Text(stage.elements)},
                             {"RESULT_LANES", Text(pipeline_.output(stage).lanes)},
                             {"ACC_BITS", Text(AccumulatorBits(stage))},
                             {"PACK", Text(stage.pack)},
                             {"STREAMED", Flag(pipeline_.Streams(stage))}};
    parameters.insert(parameters.end(), more.begin(), more.end());
    AddWeights(stage, &parameters);
    AddRequantise(stage, &parameters);
    return parameters;
  }
  Parameters DepthwiseParameters(const Stage& stage) const {
    Parameters parameters = WindowParameters(stage);
    parameters.emplace_back("CG", Text(LoopsOf(pipeline_, stage).words_per_pixel));
    AddWeights(stage, &parameters);
    AddRequantise(stage, &parameters);
    return parameters;
  }
  Parameters GlobalSumParameters(const Stage& stage) const {
    const Channel& in = pipeline_.input(stage);
    Parameters parameters = {{"PIXELS", Text(in.map.pixels())},
                             {"LANES", Text(in.lanes)},
                             {"CG", Text(in.words_per_pixel())},
                             {"IN_BITS", Text(in.type.bits)},
                             {"IN_SIGNED", Flag(in.type.is_signed)}};
    AddRequantise(stage, &parameters);
    return parameters;
  }
  Parameters AffineParameters(const Stage& stage) const {
    const Channel &first = pipeline_.input(stage),
                  &last = pipeline_.input(stage, stage.inputs.size() - 1);
    return {{"LANES", Text(first.lanes)},
            {"INPUTS", Text(std::ssize(stage.inputs))},
            {"IN_BITS", Text(first.type.bits)},
            {"IN_SIGNED", Flag(first.type.is_signed)},
            {"OTHER_BITS", Text(last.type.bits)},
            {"OTHER_SIGNED", Flag(last.type.is_signed)},
            {"OUT_BITS", Text(pipeline_.output(stage).type.bits)},
            {"M0", Text(stage.factors[0])},
            {"M1", Text(stage.inputs.size() == 2 ? stage.factors[1] : 0)},
            {"C", fmt::format("{}48'sd{}", stage.addend < 0 ? "-" : "",
                              stage.addend < 0 ? -stage.addend : stage.addend)},
            {"SHIFT", Text(stage.shift)},
            {"LOW", Text(stage.low)},
            {"HIGH", Text(stage.high)}};
  }
  static std::string AffineInputs(const Stage& stage) {
    const int a = stage.inputs[0];
    std::string text =
        fmt::format(".in_valid(c{0}_valid), .in_data(c{0}_data), .in_pop(c{0}_pop),\n      ", a);
    if (stage.inputs.size() == 1) return text + ".other_valid(1'b0), .other_data('0), .other_pop()";
    return text + fmt::format(
                      ".other_valid(c{0}_valid), .other_data(c{0}_data), "
                      ".other_pop(c{0}_pop)",
                      stage.inputs[1]);
  }
  Parameters ConcatParameters(const Stage& stage) const {
    std::vector<std::string> words;
    for (size_t i = 0; i < stage.inputs.size(); ++i)
      words.insert(words.begin(),
                   fmt::format("32'd{}", pipeline_.input(stage, i).words_per_pixel()));
    return {{"WIDTH", Text(pipeline_.output(stage).word_bits())},
            {"INPUTS", Text(std::ssize(stage.inputs))},
            {"PIXEL_WORDS", fmt::format("{{{}}}", fmt::join(words, ", "))}};
  }
  Parameters ConverterParameters(const Stage& stage) const {
    const int64_t in = pipeline_.input(stage).word_bits(),
                  out = pipeline_.output(stage).word_bits();
    return {{"WIDTH", Text(std::min(in, out))},
            {"FACTOR", Text(std::max(in, out) / std::min(in, out))}};
  }
  Parameters RearrangeParameters(const Stage& stage) const {
    const Channel& in = pipeline_.input(stage);
    const bool deep = in.map.width * in.words_per_pixel() > 64;
    return {{"WIDTH", Text(in.word_bits())},    {"W", Text(in.map.width)},
            {"CG", Text(in.words_per_pixel())}, {"FY", Text(stage.factor_y)},
            {"FX", Text(stage.factor_x)},       {"SPACE", Flag(stage.depth_to_space)},
            {"MEMORY", deep ? "1" : "0"}};
  }
  Parameters PadParameters(const Stage& stage) const {
    const Channel &in = pipeline_.input(stage), &out = pipeline_.output(stage);
    const int64_t front = stage.pad_front / in.lanes;
    return {{"LANES", Text(in.lanes)},
            {"CODE_BITS", Text(in.type.bits)},
            {"PAD_VALUE", Text(stage.pad_value)},
            {"H", Text(in.map.height)},
            {"W", Text(in.map.width)},
            {"CG", Text(in.words_per_pixel())},
            {"PT", Text(stage.pad_top)},
            {"PB", Text(out.map.height - in.map.height - stage.pad_top)},
            {"PL", Text(stage.pad_left)},
            {"PR", Text(out.map.width - in.map.width - stage.pad_left)},
            {"PAD_FRONT", Text(front)},
            {"PAD_BACK", Text(out.words_per_pixel() - in.words_per_pixel() - front)}};
  }

  const Pipeline& pipeline_;
  const EmitOptions& options_;
  std::string text_;
};

// The first stream of each direction, by which the control registers count images.
const Channel& FirstOf(const Pipeline& pipeline, StageKind kind) {
  const Stage& stage = pipeline.stages[static_cast<size_t>(pipeline.Find(kind).at(0))];
  return kind == StageKind::kSource ? pipeline.output(stage) : pipeline.input(stage);
}

constexpr char kWeightFile[] = "weights.bin";

hardware::TopModule TopOf(const Pipeline& pipeline, const EmitOptions& options) {
  hardware::TopModule top;
  const auto channels = static_cast<int>(pipeline.channels.size());
  top.comment = fmt::format(
      "The accelerator '{}': streams in, streams out, control registers.\n"
      "// Emitted by Kiln.",
      options.name);
  top.buses.push_back({"control", hardware::AxiLiteSignals()});
  std::vector<hardware::Instance> ends, checkers;  // beside the streams
  const auto add_streams = [&](StageKind kind, const std::string& prefix) {
    int number = 0;
    for (const int s : pipeline.Find(kind)) {
      const Stage& stage = pipeline.stages[static_cast<size_t>(s)];
      const bool in = kind == StageKind::kSource;
      const Channel& channel = in ? pipeline.output(stage) : pipeline.input(stage);
      const auto bytes = static_cast<int>(BytesOfBeat(channel));
      const std::string name = fmt::format("{}{}", prefix, number++);
      top.buses.push_back({name, in ? hardware::AxiStreamSinkSignals(bytes)
                                    : hardware::AxiStreamSourceSignals(bytes, true)});
      if (!in) {
        ends.push_back({.module = "kiln_stream_last",
                        .name = name + "_last",
                        .parameters = {{"BEATS", fmt::format("{}", channel.words())}},
                        .connections = {{"beat", fmt::format("{0}_tvalid && {0}_tready", name)},
                                        {"last", name + "_tlast"}}});
      }
      checkers.push_back({.module = "kiln_handshake_checker",
                          .name = name + "_checker",
                          .parameters = {{"WIDTH", fmt::format("{}", 8 * bytes)}},
                          .connections = {{"valid", name + "_tvalid"},
                                          {"ready", name + "_tready"},
                                          {"payload", name + "_tdata"}},
                          .only_in_simulation = true});
    }
  };
  add_streams(StageKind::kSource, "in");
  add_streams(StageKind::kSink, "out");
  top.observed_comment = "For testbenches: words that enter channels, and their highest levels.";
  top.observed = {{true, channels, "pushed"}, {true, 32 * channels, "highest"}};
  top.wires = {{"machine", {{true, 1, "run"}, {true, 1, "clear"}}}};
  const std::vector<int> streams = pipeline.Find(StageKind::kWeightStream);
  for (size_t i = 0; i < streams.size(); ++i) {
    const auto bytes =
        static_cast<int>(pipeline.stages[static_cast<size_t>(streams[i])].port_bytes);
    top.buses.push_back(
        {fmt::format("weights{}", i), hardware::AxiReadSignals(bytes, kAddressBits)});
  }
  const auto stream_count = static_cast<int>(streams.size());
  if (stream_count > 0) {
    top.wires[0].signals.push_back({true, stream_count * kAddressBits, "base_addresses"});
    top.wires[0].signals.push_back({true, stream_count, "weight_faults"});
  }
  std::vector<std::pair<std::string, std::string>> network_connections = {
      {"run", "machine_run"}, {"clear", "machine_clear"}};
  if (stream_count > 0) {
    network_connections.emplace_back("base_addresses", "machine_base_addresses");
    network_connections.emplace_back("weight_faults", "machine_weight_faults");
  }
  top.instances = {
      {.module = "kiln_dataflow_network", .name = "network", .connections = network_connections},
      {.module = "kiln_dataflow_control",
       .name = "registers",
       .parameters = {{"IN_BEATS",
                       fmt::format("{}", FirstOf(pipeline, StageKind::kSource).words())},
                      {"OUT_BEATS", fmt::format("{}", FirstOf(pipeline, StageKind::kSink).words())},
                      {"CHANNELS", fmt::format("{}", channels)},
                      {"STREAMS", fmt::format("{}", std::max(1, stream_count))},
                      // A machine with weight streams waits for their addresses.
                      {"RUN_AFTER_RESET", stream_count > 0 ? "1'b0" : "1'b1"}},
       .connections = {{"run", "machine_run"},
                       {"clear", "machine_clear"},
                       {"base_addresses", stream_count > 0 ? "machine_base_addresses" : ""},
                       {"in_beat", "in0_tvalid && in0_tready"},
                       {"out_beat", "out0_tvalid && out0_tready"},
                       {"fault", stream_count > 0 ? "|machine_weight_faults" : "1'b0"}}}};
  for (const hardware::Signal& signal : hardware::AxiLiteSignals()) {
    top.instances[1].connections.emplace_back(fmt::format("axi_{}", signal.name),
                                              fmt::format("control_{}", signal.name));
  }
  for (const auto* const more : {&ends, &checkers})
    top.instances.insert(top.instances.end(), more->begin(), more->end());
  return top;
}

std::string DesignHeader(const Pipeline& pipeline, const EmitOptions& options) {
  std::string in, out;
  int number = 0;
  for (const int s : pipeline.Find(StageKind::kSource)) {
    const Channel& c = pipeline.output(pipeline.stages[static_cast<size_t>(s)]);
    in += fmt::format(" STREAM(in{}, {}, {})", number++, BytesOfBeat(c), c.words());
  }
  number = 0;
  for (const int s : pipeline.Find(StageKind::kSink)) {
    const Channel& c = pipeline.input(pipeline.stages[static_cast<size_t>(s)]);
    out += fmt::format(" STREAM(out{}, {}, {})", number++, BytesOfBeat(c), c.words());
  }
  std::string weights;
  number = 0;
  for (const int s : pipeline.Find(StageKind::kWeightStream)) {
    const Stage& stage = pipeline.stages[static_cast<size_t>(s)];
    weights += fmt::format(" PORT(weights{}, {}, {}, {})", number++, stage.port_bytes,
                           stage.base_address, stage.memory_latency);
  }
  // A weight stream reads ahead: no number of words is its end.
  std::vector<int64_t> words;
  std::vector<std::string> names;
  for (const Channel& c : pipeline.channels) {
    words.push_back(pipeline.HoldsWeights(c) ? 0 : c.words());
    names.push_back(fmt::format("\"{}_to_{}\"", pipeline.stages[static_cast<size_t>(c.from)].name,
                                pipeline.stages[static_cast<size_t>(c.to)].name));
  }
  return fmt::format(
      "// Of the design '{}', for the testbench: its streams (name, bytes of a beat, beats of an\n"
      "// image), its ports for weights (name, bytes of a beat, base address in weights.bin,\n"
      "// latency of the memory in cycles), the words of an image in each of its channels, and "
      "the\n"
      "// channels' names.\n"
      "#define KILN_INPUTS(STREAM){}\n#define KILN_OUTPUTS(STREAM){}\n"
      "#define KILN_WEIGHTS(PORT){}\n"
      "#define KILN_CHANNEL_WORDS {}\n"
      "#define KILN_CHANNEL_NAMES {}\n",
      options.name, in, out, weights, fmt::join(words, ", "), fmt::join(names, ", "));
}

}  // namespace

EmitOptions EmitOptionsOf(const Config& config) {
  return {.name = config.name, .ultrascale = config.ultrascale};
}

std::vector<uint8_t> BeatsOf(const Channel& channel, std::span<const int64_t> codes) {
  const auto bytes = static_cast<size_t>(BytesOfBeat(channel)),
             lanes = static_cast<size_t>(channel.lanes);
  std::vector<uint8_t> beats(codes.size() / lanes * bytes, 0);
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t first = i / lanes * bytes * 8 + i % lanes * static_cast<size_t>(channel.type.bits);
    for (int bit = 0; bit < channel.type.bits; ++bit) {
      const size_t at = first + static_cast<size_t>(bit);
      beats[at / 8] |= static_cast<uint8_t>((codes[i] >> bit & 1) << (at % 8));
    }
  }
  return beats;
}

std::vector<int64_t> CodesOfBeats(const Channel& channel, std::span<const uint8_t> beats) {
  const auto bytes = static_cast<size_t>(BytesOfBeat(channel)),
             lanes = static_cast<size_t>(channel.lanes);
  std::vector<int64_t> codes(beats.size() / bytes * lanes, 0);
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t first = i / lanes * bytes * 8 + i % lanes * static_cast<size_t>(channel.type.bits);
    uint64_t code = 0;
    for (int bit = 0; bit < channel.type.bits; ++bit) {
      const size_t at = first + static_cast<size_t>(bit);
      code |= static_cast<uint64_t>(beats[at / 8] >> (at % 8) & 1) << bit;
    }
    const uint64_t sign = uint64_t{1} << (channel.type.bits - 1);
    codes[i] = channel.type.is_signed ? static_cast<int64_t>((code ^ sign) - sign)
                                      : static_cast<int64_t>(code);
  }
  return codes;
}

std::vector<uint8_t> WeightMemoryOf(const Pipeline& pipeline) {
  // Ports read whole beats.
  std::vector<uint8_t> memory(static_cast<size_t>(BytesOfWeightMemory(pipeline)), 0);
  for (const int s : pipeline.Find(StageKind::kWeightStream)) {
    const Stage& stage = pipeline.stages[static_cast<size_t>(s)];
    const Stage& behind = pipeline.stages[static_cast<size_t>(pipeline.output(stage).to)];
    const std::vector<uint8_t> words =
        BeatsOf(pipeline.output(stage), WeightCodesOf(pipeline, behind));
    std::ranges::copy(words, memory.begin() + stage.base_address);
  }
  return memory;
}

hardware::PortConstants WeightConstantsOf(const Pipeline& pipeline,
                                          std::span<const uint8_t> memory) {
  const std::vector<int> streams = pipeline.Find(StageKind::kWeightStream);
  const hardware::RegisterMap map =
      Registers(static_cast<int>(pipeline.channels.size()), static_cast<int>(streams.size()));
  const hardware::Register& base = hardware::FindRegister(map, "BASE");
  hardware::PortConstants constants;
  constants.file = kWeightFile;
  constants.bytes = memory;
  for (size_t i = 0; i < streams.size(); ++i) {
    const Stage& stage = pipeline.stages[static_cast<size_t>(streams[i])];
    constants.bases.push_back({.address = base.address + base.stride * static_cast<uint32_t>(i),
                               .offset = static_cast<uint64_t>(stage.base_address)});
  }
  constants.start = hardware::FindRegister(map, "CONTROL").address;
  return constants;
}

hardware::RtlProject ProjectOf(const Pipeline& pipeline, const EmitOptions& options) {
  hardware::RtlProject project;
  SetTop(TopOf(pipeline, options), &project);
  project.modules.emplace_back("kiln_dataflow_network", NetworkModule(pipeline, options).Text());
  project.testbench = {"kiln_dataflow_testbench.cc", "kiln_simulate_options.h",
                       "kiln_simulate_sample.h", "kiln_axi_memory.h", "kiln_memory_timing.h"};
  project.others.emplace_back("design.h", DesignHeader(pipeline, options));
  project.others.emplace_back("pipeline.txt", PrintPipeline(pipeline));
  const auto streams = static_cast<int>(pipeline.Find(StageKind::kWeightStream).size());
  hardware::AddRegisterHeader(Registers(static_cast<int>(pipeline.channels.size()), streams),
                              &project);
  if (const std::vector<uint8_t> memory = WeightMemoryOf(pipeline); !memory.empty())
    project.others.emplace_back(kWeightFile, std::string(memory.begin(), memory.end()));
  for (const Stage& stage : pipeline.stages) {
    for (ImageFile& file : ImagesOf(pipeline, stage)) project.others.push_back(std::move(file));
  }
  return project;
}

}  // namespace kiln::dataflow
