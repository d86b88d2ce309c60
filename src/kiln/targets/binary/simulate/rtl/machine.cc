// Builds the simulation of a design point, and sorts the beats that it sends.

#include "kiln/targets/binary/simulate/rtl/machine.h"

#include <utility>
#include <vector>

#include "kiln/targets/binary/emit/emit.h"

namespace kiln::binary {

StatusOr<std::unique_ptr<RtlMachine>> RtlMachine::Build(const Config& config,
                                                        const RtlOptions& options, bool trace) {
  std::unique_ptr<RtlMachine> machine(new RtlMachine());
  KILN_ASSIGN_OR_RETURN(machine->simulation_,
                        StreamSimulation::Build(options, ProjectOf(config), config.stages, trace));
  return machine;
}

StatusOr<StreamSimulation::Result> RtlMachine::RunBeats(const BlockProgram& program,
                                                        std::span<const int32_t> records,
                                                        const RtlOptions& options,
                                                        const RecordedCycles& wave) const {
  std::vector<uint8_t> stream;
  AppendLoad(program, &stream);
  AppendRun(program, records, &stream);
  return simulation_->Run(stream, BeatsOutByStage(program), program.config.beat_bytes, options,
                          wave);
}

StatusOr<RtlMachine::Result> RtlMachine::Run(const BlockProgram& program,
                                             std::span<const int32_t> records,
                                             const RtlOptions& options) const {
  KILN_ASSIGN_OR_RETURN(StreamSimulation::Result simulated, RunBeats(program, records, options));
  Result result;
  KILN_ASSIGN_OR_RETURN(result.results, SplitResults(program, simulated.bytes));
  result.trace = std::move(simulated.trace);
  return result;
}

}  // namespace kiln::binary
