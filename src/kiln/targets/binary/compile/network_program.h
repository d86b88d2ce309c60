// A network compiled for the machine: kernels of the machine and of the host, in order.
#ifndef KILN_TARGETS_BINARY_COMPILE_NETWORK_PROGRAM_H_
#define KILN_TARGETS_BINARY_COMPILE_NETWORK_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/binary/compile/lower.h"
#include "kiln/targets/binary/config/config.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/program.h"

namespace kiln::binary {

class NetworkProgram final : public Program {
 public:
  // `lowered` refers to values of `network`.
  NetworkProgram(Config config, Graph network, LoweredNetwork lowered);
  std::string Print() const override;

  const Config& config() const { return config_; }
  const Graph& network() const { return network_; }
  // By number of the kernel, without the tail: launches of the machine, or the host's graph.
  const std::vector<std::vector<Launch>>& launches() const { return launches_; }
  // A layer of a kernel: the name of its result, and the scale of the sums of each output channel.
  struct LayerScale {
    std::string result;
    std::vector<SumScale> sums;
  };
  // By kernel and stage.
  const std::vector<std::vector<LayerScale>>& layers() const { return layers_; }
  // Sets the thresholds of a stage, [test][output channel].
  void SetThresholds(size_t kernel, size_t launch, size_t stage, std::vector<int64_t> thresholds) {
    launches_[kernel][launch].program.stages[stage].thresholds = std::move(thresholds);
  }
  const std::vector<std::optional<HostGraph>>& hosts() const { return hosts_; }
  const std::vector<DerivedValue>& views() const { return views_; }
  // Returns the output channels of each stage of a launch, without the channels that pad a
  // list. Several launches of a single layer have parts of its channels each.
  std::vector<int64_t> ChannelsOf(size_t kernel, const Launch& launch) const;

 private:
  const Config config_;
  const Graph network_;
  std::vector<std::vector<Launch>> launches_;
  std::vector<std::optional<HostGraph>> hosts_;
  std::vector<DerivedValue> views_;
  std::vector<std::vector<int64_t>> channels_;  // of the layers of each kernel
  std::vector<std::vector<LayerScale>> layers_;
};

// Compiles a network whose shapes are known. Errors: the errors of Lower.
StatusOr<std::unique_ptr<Program>> CompileNetwork(const Graph& network, const Config& config,
                                                  const CompileOptions& options);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_COMPILE_NETWORK_PROGRAM_H_
