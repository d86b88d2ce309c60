// Makes machines of one level by a function of the family.

#include "kiln/targets/run/level_machines.h"

#include <utility>

namespace kiln {

LevelMachines::LevelMachines(const Graph& network, const RunOptions& options,
                             std::function<Status()> prepare, MakeMachine make)
    : network_(network), options_(options), prepare_(std::move(prepare)), make_(std::move(make)) {}

std::vector<ProgramInput> LevelMachines::Inputs() const {
  std::vector<ProgramInput> inputs;
  for (const Value* input : network_.inputs()) {
    inputs.push_back({input->name(), input->element(), input->shape()});
  }
  return inputs;
}

Status LevelMachines::Prepare() {
  const bool announce = options_.level == Level::kRtl && options_.on_step;
  if (announce) options_.on_step("building the simulation");
  if (prepare_) KILN_RETURN_IF_ERROR(prepare_());
  if (announce) options_.on_step("running the simulation");
  return OkStatus();
}

StatusOr<std::unique_ptr<ImageMachine>> LevelMachines::Make(int64_t first) {
  RtlOptions rtl = options_.rtl;
  rtl.seed += static_cast<uint64_t>(first);
  return make_(rtl);
}

}  // namespace kiln
