// Connects stages and names them.

#include "kiln/targets/dataflow/isa/builder.h"

#include <algorithm>
#include <numeric>

#include "fmt/format.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

// The longest name of a stage: the names of modules and files are made of it.
constexpr size_t kMostNameLength = 48;

}  // namespace

std::string PipelineBuilder::UniqueName(std::string_view name) {
  std::string clean;
  for (const char c : name.substr(0, kMostNameLength)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    clean += plain ? c : '_';
  }
  if (clean.empty() || (clean[0] >= '0' && clean[0] <= '9')) clean.insert(0, "s");
  const auto taken = [&](const std::string& text) {
    return std::ranges::any_of(pipeline_.stages, [&](const Stage& s) { return s.name == text; });
  };
  std::string unique = clean;
  for (int i = 1; taken(unique); ++i) unique = fmt::format("{}_{}", clean, i);
  return unique;
}

int PipelineBuilder::NewChannel(int from, const MapShape& map, const CodeType& type,
                                int64_t lanes) {
  Channel channel;
  channel.map = map;
  channel.type = type;
  channel.lanes = lanes;
  channel.from = from;
  pipeline_.channels.push_back(channel);
  return static_cast<int>(pipeline_.channels.size()) - 1;
}

int PipelineBuilder::Source(std::string_view name, const MapShape& map, const CodeType& type,
                            int64_t lanes) {
  Stage stage;
  stage.kind = StageKind::kSource;
  stage.name = name;
  return Add(std::move(stage), {}, map, type, lanes);
}

int PipelineBuilder::Add(Stage stage, const std::vector<int>& inputs, const MapShape& map,
                         const CodeType& type, int64_t lanes) {
  const auto index = static_cast<int>(pipeline_.stages.size());
  stage.name = UniqueName(stage.name);
  stage.inputs = inputs;
  for (const int c : inputs) pipeline_.channels[static_cast<size_t>(c)].to = index;
  const int result = NewChannel(index, map, type, lanes);
  stage.outputs = {result};
  pipeline_.stages.push_back(std::move(stage));
  return result;
}

int PipelineBuilder::AddStreaming(Stage convolution, int input, const MapShape& map,
                                  const CodeType& type, int64_t lanes, const WeightPort& port) {
  Pipeline alone;
  alone.channels = {channel(input), {.map = map, .type = type, .lanes = lanes}};
  convolution.inputs = {0};
  convolution.outputs = {1};
  const Channel words = WeightChannelOf(alone, convolution, port.bytes, port.latency);
  Stage stream;
  stream.kind = StageKind::kWeightStream;
  stream.name = fmt::format("{}_weights", convolution.name);
  stream.base_address = weights_end_;
  stream.port_bytes = port.bytes;
  stream.memory_latency = port.latency;
  weights_end_ = RoundUp(weights_end_ + words.map.width * BytesOfWeightWord(words), 4096);
  const int weights = Add(std::move(stream), {}, words.map, words.type, words.lanes);
  Channel& queue = pipeline_.channels[static_cast<size_t>(weights)];
  queue.depth = words.depth;
  queue.memory = words.memory;
  return Add(std::move(convolution), {input, weights}, map, type, lanes);
}

std::vector<int> PipelineBuilder::Fork(int channel, int64_t count, std::string_view name) {
  if (count == 1) return {channel};
  const Channel form = this->channel(channel);
  Stage stage;
  stage.kind = StageKind::kFork;
  stage.name = fmt::format("{}_fork", name);
  const int first = Add(std::move(stage), {channel}, form.map, form.type, form.lanes);
  const int from = this->channel(first).from;
  std::vector<int> results = {first};
  for (int64_t i = 1; i < count; ++i)
    results.push_back(NewChannel(from, form.map, form.type, form.lanes));
  pipeline_.stages[static_cast<size_t>(from)].outputs = results;
  return results;
}

int PipelineBuilder::WithLanes(int channel, int64_t lanes, std::string_view name) {
  const Channel form = this->channel(channel);
  if (form.lanes == lanes) return channel;
  const int64_t common = std::gcd(form.lanes, lanes);
  if (common < form.lanes) {
    Stage stage;
    stage.kind = StageKind::kNarrow;
    stage.name = fmt::format("{}_narrow", name);
    channel = Add(std::move(stage), {channel}, form.map, form.type, common);
  }
  if (common < lanes) {
    Stage stage;
    stage.kind = StageKind::kWiden;
    stage.name = fmt::format("{}_widen", name);
    channel = Add(std::move(stage), {channel}, form.map, form.type, lanes);
  }
  return channel;
}

void PipelineBuilder::Sink(int channel, std::string_view name) {
  Stage stage;
  stage.kind = StageKind::kSink;
  stage.name = UniqueName(name);
  stage.inputs = {channel};
  pipeline_.channels[static_cast<size_t>(channel)].to = static_cast<int>(pipeline_.stages.size());
  pipeline_.stages.push_back(std::move(stage));
}

}  // namespace kiln::dataflow
