// Describes a compiled network: kernels, memory, text.

#include "kiln/targets/dataflow/compile/program.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/integer.h"
#include "kiln/targets/dataflow/isa/derived.h"

namespace kiln::dataflow {
namespace {

// A map that parts hand over: an image's bits, the part that makes it and those that read it.
struct Crossing {
  int64_t bits = 0;
  int from = 0;
  std::set<int> to;
};

std::vector<Crossing> CrossingsOf(const Lowered& network, const std::vector<Segment>& segments) {
  const auto part_of = [&](const NetworkMap& map) {
    return segments[static_cast<size_t>(map.segment)].part;
  };
  std::map<int, Crossing> crossings;  // by map
  for (const NetworkMap& copy : network.maps) {
    if (copy.copied_from < 0) continue;
    const NetworkMap& map = network.maps[static_cast<size_t>(copy.copied_from)];
    Crossing& crossing = crossings[copy.copied_from];
    crossing.bits = map.shape.elements() * map.type.bits;
    crossing.from = part_of(map);
    crossing.to.insert(part_of(copy));
  }
  std::vector<Crossing> list;
  for (auto& [map, crossing] : crossings) {
    crossing.to.erase(crossing.from);  // segments of one part
    if (!crossing.to.empty()) list.push_back(std::move(crossing));
  }
  return list;
}

}  // namespace

DataflowProgram::DataflowProgram(Config config, Lowered network, std::vector<LayerFold> folds,
                                 std::vector<Segment> segments, FoldReport report)
    : config_(std::move(config)),
      network_(std::move(network)),
      folds_(std::move(folds)),
      segments_(std::move(segments)),
      report_(std::move(report)) {
  AddKernels();
  int64_t weight_bits = 0, activation_bits = 0;
  for (const Segment& segment : segments_) {
    activation_bits += segment.pace.bits;
    for (const Stage& stage : segment.pipeline.stages) {
      weight_bits += std::ssize(stage.weights) * stage.weight_bits;
      if (stage.map.elements() > 1 && !stage.window.pointwise())
        activation_bits += stage.window.buffer_rows() * stage.map.width * stage.map.channels *
                           segment.pipeline.input(stage).type.bits;
    }
  }
  constant_bytes_ = (weight_bits + 7) / 8;
  activation_bytes_ = (activation_bits + 7) / 8;
  notes_ = network_.notes;
  interval_cycles_ = Interval();
  for (const Segment& segment : segments_) {
    for (const Stage& stage : segment.pipeline.stages) {
      if (!HasWeights(stage.kind)) continue;
      peak_macs_per_cycle_ += static_cast<double>(WeightWordsOf(segment.pipeline, stage).weights);
    }
  }
  if (!report_.proof.empty()) notes_.push_back("folding: " + report_.proof);
}

void DataflowProgram::AddKernels() {
  layer_kernels_.assign(network_.layers.size(), -1);
  host_kernels_.assign(network_.host_kernels.size(), -1);
  for (const NetworkStep& step : network_.steps) {
    if (step.host.has_value()) {
      host_kernels_[static_cast<size_t>(step.kernel)] = static_cast<int>(kernels_.size());
      kernels_.push_back(network_.host_kernels[static_cast<size_t>(step.kernel)]);
      continue;
    }
    const Pipeline& pipeline = segments_[static_cast<size_t>(step.segment)].pipeline;
    for (const Stage& stage : pipeline.stages) {
      if (stage.layer < 0) continue;
      const auto layer = static_cast<size_t>(stage.layer);
      layer_kernels_[layer] = static_cast<int>(kernels_.size());
      KernelInfo info = network_.layers[layer].info;
      const LayerFold& fold = folds_[layer];
      if (stage.kind == StageKind::kConvolution) {
        info.schedule = fmt::format("{} lanes x {} elements", fold.in_lanes, fold.elements);
        if (fold.pack > 1) info.schedule += fmt::format(", {} products per DSP", fold.pack);
      } else {
        info.schedule = fmt::format("{} lanes", fold.in_lanes);
      }
      const auto cycles = static_cast<double>(CyclesPerImage(pipeline, stage));
      info.certificate = {.cost = cycles,
                          .lower_bound = cycles,
                          .optimal = report_.optimal,
                          .unit = "cycles",
                          .bound_from = "the folding of the pipeline"};
      kernels_.push_back(std::move(info));
    }
  }
}

int64_t DataflowProgram::Interval() const {
  std::map<int, int64_t> slowest;  // by part
  for (const Segment& segment : segments_) {
    int64_t& interval = slowest[segment.part];
    interval = std::max(interval, segment.pace.interval);
  }
  if (config_.passes <= 1) return IntervalOfParts(slowest);
  const std::vector<Crossing> crossings = CrossingsOf(network_, segments_);
  for (auto& [part, cycles] : slowest) {
    int64_t handed = 0;  // bits
    for (const Crossing& crossing : crossings) {
      if (crossing.from == part) handed += crossing.bits;
      if (crossing.to.contains(part)) handed += crossing.bits;
    }
    cycles = std::max(cycles, CeilDivide(handed, int64_t{config_.memory_bits}));
  }
  return IntervalOfParts(slowest);
}

int64_t DataflowProgram::IntervalOfParts(const std::map<int, int64_t>& cycles) const {
  const std::vector<Crossing> crossings = CrossingsOf(network_, segments_);
  int64_t sum = 0, most = 0;
  for (const auto& [part, alone] : cycles) {
    int64_t linked = 0;  // bits
    for (const Crossing& crossing : crossings) {
      if (crossing.from <= part && part < *crossing.to.rbegin()) linked += crossing.bits;
    }
    sum += alone;
    most = std::max({most, alone, CeilDivide(linked, int64_t{config_.link_bits})});
  }
  if (config_.passes <= 1) return most;
  return sum + config_.reload_cycles * std::max<int64_t>(0, std::ssize(cycles) - 1);
}

std::string DataflowProgram::PlaceOf(const Segment& segment) const {
  if (config_.devices > 1) return fmt::format("device {}, ", segment.part);
  if (config_.passes > 1) return fmt::format("pass {}, ", segment.part);
  return "";
}

std::string DataflowProgram::Print() const {
  std::string text;
  for (size_t i = 0; i < segments_.size(); ++i) {
    const PipelinePace& pace = segments_[i].pace;
    text += fmt::format("segment {}: {}an image every {} cycles, {} cycles for one alone\n", i,
                        PlaceOf(segments_[i]), pace.interval, pace.latency);
    text += PrintPipeline(segments_[i].pipeline);
  }
  return text;
}

}  // namespace kiln::dataflow
