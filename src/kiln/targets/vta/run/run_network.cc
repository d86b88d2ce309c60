// Makes the devices of a network's run, one per thread or, at the rtl level, one per group of
// images, and hands them to the runner that all families share (targets/run/run_program.h).

#include "kiln/targets/vta/run/run_network.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/run/host_tail.h"
#include "kiln/targets/run/run_program.h"
#include "kiln/targets/vta/runtime/device.h"
#include "kiln/targets/vta/simulate/rtl/rtl_machine.h"

namespace kiln::vta {
namespace {

constexpr int64_t kMostThreads = 5;  // in one run: the device's thread and the host's

// Devices of one level with the program in their memory. At the rtl level, and behind a simulated
// memory, every run has a new device (at the rtl level with its own seed): the contents of
// registers at power-up, stalls and a DRAM's open rows must not depend on earlier runs.
class NetworkDevices final : public MachineFactory {
 public:
  NetworkDevices(const VtaProgram& program, const Batch& batch, const RunOptions& options,
                 const PieceObserver& observer)
      : program_(program.parts()),
        batch_(batch),
        options_(options),
        observer_(observer),
        designs_(options.rtl.folder) {}

  std::vector<ProgramInput> Inputs() const override {
    std::vector<ProgramInput> inputs;
    for (const GraphInput& input : program_.inputs) {
      const Slot& slot = program_.slots[static_cast<size_t>(input.slot)];
      inputs.push_back({input.name, slot.type, slot.shape});
    }
    return inputs;
  }
  Status Prepare() override {
    const int64_t runs = CeilDivide(batch_.images(), program_.images_at_once);
    threads_ = static_cast<int>(std::clamp<int64_t>(ThreadCount() / runs, 1, kMostThreads));
    if (options_.level != Level::kRtl) return OkStatus();
    if (options_.on_step) options_.on_step("building the simulation");
    KILN_RETURN_IF_ERROR(
        Designs().SimulationOf(program_.config, {.netlist = options_.rtl.netlist}).status());
    if (options_.on_step) options_.on_step("running the simulation");
    return OkStatus();
  }
  StatusOr<std::unique_ptr<ImageMachine>> Make(int64_t first) override {
    RtlOptions rtl = options_.rtl;
    rtl.seed += static_cast<uint64_t>(first);
    std::shared_ptr<Device> device;
    if (options_.level == Level::kRtl) {
      KILN_ASSIGN_OR_RETURN(device, MakeRtlDevice(program_.config, {}, Designs(), rtl));
    } else if (options_.level == Level::kCycle) {
      device = MakeCycleDevice(Behind(rtl, program_.config));
    } else {
      device = MakeFunctionalDevice(program_.config);
    }
    KILN_RETURN_IF_ERROR(LoadProgram(program_, device.get()));
    return std::make_unique<NetworkRun>(program_, std::move(device), threads_, observer_);
  }
  bool HasTime() const override { return options_.level != Level::kFunctional; }
  bool ReusesMachines() const override {
    return options_.level != Level::kRtl &&
           !Behind(options_.rtl, program_.config).simulated.has_value();
  }

 private:
  RtlDesigns& Designs() { return options_.rtl.folder.empty() ? RtlDesigns::Shared() : designs_; }

  const ProgramParts& program_;
  const Batch& batch_;
  const RunOptions& options_;
  const PieceObserver& observer_;
  RtlDesigns designs_;  // used if options_.rtl.folder is set
  int threads_ = 1;     // per run
};

}  // namespace

StatusOr<RunResult> RunNetwork(const VtaProgram& program, const Batch& batch,
                               const RunOptions& options, const PieceObserver& observer) {
  NetworkDevices devices(program, batch, options, observer);
  KILN_ASSIGN_OR_RETURN(RunResult result, RunProgram(program, batch, options, devices));
  return RunTail(program, batch, std::move(result));
}

}  // namespace kiln::vta
