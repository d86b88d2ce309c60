// The factory of machines that run a network at one level: it takes the inputs from the graph,
// announces the steps of the rtl level, and gives each simulated machine a seed of its own.
#ifndef KILN_TARGETS_RUN_LEVEL_MACHINES_H_
#define KILN_TARGETS_RUN_LEVEL_MACHINES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/run/run_program.h"

namespace kiln {

class LevelMachines final : public MachineFactory {
 public:
  // Returns a machine. rtl.seed is the seed of the options plus the number of the machine's first
  // image. Several threads may call it.
  using MakeMachine = std::function<std::unique_ptr<ImageMachine>(const RtlOptions& rtl)>;

  // The machines load the inputs of `network`. `prepare` is called once, at every level, and builds
  // the simulation at the rtl level; it may be null. Graph and options must outlive the factory.
  LevelMachines(const Graph& network, const RunOptions& options, std::function<Status()> prepare,
                MakeMachine make);

  std::vector<ProgramInput> Inputs() const override;
  Status Prepare() override;
  StatusOr<std::unique_ptr<ImageMachine>> Make(int64_t first) override;
  bool HasTime() const override { return options_.level != Level::kFunctional; }
  bool ReusesMachines() const override { return options_.level != Level::kRtl; }

 private:
  const Graph& network_;
  const RunOptions& options_;
  const std::function<Status()> prepare_;
  const MakeMachine make_;
};

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_LEVEL_MACHINES_H_
