// Prints programs, and sums up their memory.

#include "kiln/targets/binary/compile/network_program.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/binary/isa/stream.h"

namespace kiln::binary {

NetworkProgram::NetworkProgram(Config config, Graph network, LoweredNetwork lowered)
    : config_(std::move(config)), network_(std::move(network)), views_(std::move(lowered.views)) {
  for (LoweredKernel& kernel : lowered.kernels) {
    std::vector<int64_t> channels;
    std::vector<LayerScale> layers;
    for (const BlockLayer& layer : kernel.layers) {
      channels.push_back(layer.layer.out_channels);
      LayerScale& scale = layers.emplace_back();
      scale.result = layer.layer.result->name();
      for (int n = 0; n < layer.layer.out_channels; ++n)
        scale.sums.push_back(ScaleOfSum(layer.layer, static_cast<size_t>(n)));
    }
    for (const Launch& launch : kernel.launches) {
      constant_bytes_ += LoadBeats(launch.program) * config_.beat_bytes;
      const StageProgram& first = launch.program.stages[0];
      activation_bytes_ =
          std::max(activation_bytes_, int64_t{first.height} * first.width *
                                          launch.program.record_beats * config_.beat_bytes);
    }
    kernels_.push_back(std::move(kernel.info));
    channels_.push_back(std::move(channels));
    layers_.push_back(std::move(layers));
    launches_.push_back(std::move(kernel.launches));
    hosts_.push_back(std::move(kernel.host));
  }
}

std::vector<int64_t> NetworkProgram::ChannelsOf(size_t kernel, const Launch& launch) const {
  std::vector<int64_t> channels = channels_[kernel];
  if (channels.size() == 1 && !launch.results.empty()) channels[0] = launch.results[0].channels;
  return channels;
}

std::string NetworkProgram::Print() const {
  std::string text = fmt::format("machine {}: {} stages, {} products of signs and digits a cycle\n",
                                 config_.name, config_.stages, config_.products_per_cycle());
  for (size_t k = 0; k < hosts_.size(); ++k) {
    if (hosts_[k].has_value()) {
      text += fmt::format("host {}: {}\n", kernels_[k].name, kernels_[k].host_reason);
      continue;
    }
    text += fmt::format("kernel {}: {}\n", kernels_[k].name, kernels_[k].operation);
    for (const Launch& launch : launches_[k]) text += binary::Print(launch.program);
  }
  return text;
}

StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& network, const Config& config,
                                                  const CompileOptions& options) {
  Graph own = network.Clone();
  KILN_ASSIGN_OR_RETURN(LoweredNetwork lowered, Lower(own, config, options));
  // The nodes and values of a graph stay where they are when it moves.
  return std::make_unique<NetworkProgram>(config, std::move(own), std::move(lowered));
}

}  // namespace kiln::binary
