// Builds the simulation of a design point, and sorts the beats that it sends.

#include "kiln/targets/binary/simulate/rtl/machine.h"

#include <utility>
#include <vector>

#include "kiln/targets/binary/emit/emit.h"

namespace kiln::binary {

StatusOr<std::unique_ptr<RtlMachine>> RtlMachine::Build(const Config& config,
                                                        const RtlOptions& options) {
  std::unique_ptr<RtlMachine> machine(new RtlMachine());
  KILN_ASSIGN_OR_RETURN(machine->simulation_,
                        StreamSimulation::Build(options, [&](const std::filesystem::path& folder) {
                          return hardware::WriteRtlProject(ProjectOf(config), folder);
                        }));
  return machine;
}

StatusOr<RtlMachine::Result> RtlMachine::Run(const BlockProgram& program,
                                             std::span<const int32_t> records,
                                             const RtlOptions& options) const {
  std::vector<uint8_t> stream;
  AppendLoad(program, &stream);
  AppendRun(program, records, &stream);
  KILN_ASSIGN_OR_RETURN(StreamSimulation::Result simulated,
                        simulation_->Run(stream, static_cast<size_t>(BeatsOut(program)),
                                         program.config.beat_bytes, options));
  Result result;
  KILN_ASSIGN_OR_RETURN(result.results, SplitResults(program, simulated.bytes));
  result.trace = std::move(simulated.trace);
  return result;
}

}  // namespace kiln::binary
