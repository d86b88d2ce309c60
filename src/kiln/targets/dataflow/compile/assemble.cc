// Folds and connects layers.

#include "kiln/targets/dataflow/compile/assemble.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/dataflow/isa/builder.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

const NetworkStep* StepOf(const Lowered& network, int segment) {
  for (const NetworkStep& step : network.steps) {
    if (step.segment == segment) return &step;
  }
  return nullptr;
}

// Builds the pipeline of one segment layer by layer. Each map has one channel per user, which a
// fork provides if there are several; a user takes its channel when its own layer is added.
class Assembly {
 public:
  Assembly(const Lowered& network, int segment, const std::vector<LayerFold>& folds,
           const WeightPort& port)
      : network_(network), segment_(segment), folds_(folds), port_(port) {}

  Pipeline Run() {
    // The layers that use a map, in order; -1 is the host.
    for (size_t i = 0; i < network_.layers.size(); ++i) {
      if (network_.layers[i].segment != segment_) continue;
      for (const int map : network_.layers[i].inputs) users_[map].push_back(static_cast<int>(i));
    }
    const std::vector<int> sinks = SinkMaps(network_, segment_);
    for (const int map : sinks) users_[map].push_back(-1);
    for (const int map : SourceMaps(network_, segment_)) {
      const NetworkMap& form = network_.maps[static_cast<size_t>(map)];
      const int first = users_[map].at(0);
      const int64_t lanes =
          first < 0 ? 1 : LanesWithin(folds_[static_cast<size_t>(first)].in_lanes, form.shape);
      Provide(map, builder_.Source(form.name, form.shape, form.type, lanes));
    }
    for (size_t i = 0; i < network_.layers.size(); ++i) {
      if (network_.layers[i].segment == segment_) AddLayer(i);
    }
    for (const int map : sinks)
      builder_.Sink(Take(map), network_.maps[static_cast<size_t>(map)].name + "_out");
    return builder_.Take();
  }

 private:
  // A source sends words within a pixel of its own map.
  static int64_t LanesWithin(int64_t lanes, const MapShape& shape) {
    return std::gcd(lanes, shape.channels);
  }

  void Provide(int map, int channel) {
    const auto count = std::ssize(users_[map]);
    if (count == 0) {
      // Nothing uses it: a sink takes its words.
      builder_.Sink(channel, network_.maps[static_cast<size_t>(map)].name + "_unused");
      return;
    }
    channels_[map] = builder_.Fork(channel, count, network_.maps[static_cast<size_t>(map)].name);
  }
  int Take(int map) {
    std::vector<int>& channels = channels_.at(map);
    KILN_CHECK(!channels.empty());
    const int channel = channels.front();
    channels.erase(channels.begin());
    return channel;
  }

  void AddLayer(size_t index) {
    const NetworkLayer& layer = network_.layers[index];
    const LayerFold& fold = folds_[index];
    const NetworkMap& result = network_.maps[static_cast<size_t>(layer.output)];
    std::vector<int> inputs;
    for (const int map : layer.inputs)
      inputs.push_back(builder_.WithLanes(Take(map), fold.in_lanes, layer.stage.name));
    Stage stage = layer.stage;
    stage.layer = static_cast<int>(index);
    stage.window.row_memory = fold.row_memory;
    stage.weight_memory = fold.weight_memory;
    if (stage.kind == StageKind::kConvolution) {
      stage.elements = fold.elements;
      stage.pack = fold.pack;
    }
    if (stage.map.elements() > 1) stage.window.extra_rows = ExtraRowsOf(stage.window, stage.map);
    MapShape computed = result.shape;
    computed.channels += fold.padded;
    PadChannels(result.shape.channels, fold.padded, &stage);
    int channel = fold.streams ? builder_.AddStreaming(std::move(stage), inputs[0], computed,
                                                       result.type, fold.out_lanes, port_)
                               : builder_.Add(std::move(stage), inputs, computed, result.type,
                                              fold.out_lanes);
    if (fold.padded > 0) {
      Stage crop;
      crop.kind = StageKind::kCrop;
      crop.name = layer.stage.name + "_crop";
      channel = builder_.Add(std::move(crop), {channel}, result.shape, result.type, fold.out_lanes);
    }
    Provide(layer.output, channel);
  }

  // Adds output channels to a convolution of `channels`. They are copies of the last one, so that
  // their sums and codes fit.
  static void PadChannels(int64_t channels, int64_t padded, Stage* stage) {
    const auto extend = [&](auto& values) {
      if (values.empty()) return;
      const auto of_channel = std::ssize(values) / channels;
      const auto last = std::vector(values.end() - of_channel, values.end());
      for (int64_t i = 0; i < padded; ++i) values.insert(values.end(), last.begin(), last.end());
    };
    extend(stage->weights);
    extend(stage->requantise.multipliers);
    extend(stage->requantise.addends);
    extend(stage->requantise.thresholds);
  }

  const Lowered& network_;
  const int segment_;
  const std::vector<LayerFold>& folds_;
  const WeightPort port_;
  PipelineBuilder builder_;
  std::map<int, std::vector<int>> users_;  // by map
  std::map<int, std::vector<int>>
      channels_;  // by map: one for each user that has not taken its own
};

}  // namespace

std::vector<int> SinkMaps(const Lowered& network, int segment) {
  std::set<int> maps;
  if (const NetworkStep* step = StepOf(network, segment)) {
    for (const HostTensor& tensor : step->receives) maps.insert(tensor.place.map);
  }
  for (const NetworkMap& map : network.maps) {
    if (map.copied_from >= 0 &&
        network.maps[static_cast<size_t>(map.copied_from)].segment == segment)
      maps.insert(map.copied_from);
  }
  return {maps.begin(), maps.end()};
}

std::vector<int> SourceMaps(const Lowered& network, int segment) {
  std::set<int> maps;
  if (const NetworkStep* step = StepOf(network, segment)) {
    for (const HostTensor& tensor : step->sends) maps.insert(tensor.place.map);
  }
  for (size_t i = 0; i < network.maps.size(); ++i) {
    if (network.maps[i].copied_from >= 0 && network.maps[i].segment == segment)
      maps.insert(static_cast<int>(i));
  }
  return {maps.begin(), maps.end()};
}

Pipeline Assemble(const Lowered& network, int segment, const std::vector<LayerFold>& folds,
                  const WeightPort& port) {
  return Assembly(network, segment, folds, port).Run();
}

}  // namespace kiln::dataflow
