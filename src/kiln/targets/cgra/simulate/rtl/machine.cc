// Builds the simulation of a design point, and turns its bytes into lanes.

#include "kiln/targets/cgra/simulate/rtl/machine.h"

#include <cstring>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/cgra/emit/emit.h"
#include "kiln/targets/cgra/isa/stream.h"

namespace kiln::cgra {

StatusOr<std::unique_ptr<RtlMachine>> RtlMachine::Build(const Config& config,
                                                        const RtlOptions& options, bool trace) {
  std::unique_ptr<RtlMachine> machine(new RtlMachine(config));
  KILN_ASSIGN_OR_RETURN(hardware::RtlProject project, ProjectOf(config));
  KILN_ASSIGN_OR_RETURN(machine->simulation_,
                        StreamSimulation::Build(options, std::move(project), /*split=*/0, trace));
  return machine;
}

StatusOr<RtlMachine::Result> RtlMachine::Run(const CgraProgram& program, int64_t threads,
                                             int64_t first_sent, std::span<const int32_t> data,
                                             const RtlOptions& options) const {
  std::vector<uint8_t> stream;
  AppendLoad(program, &stream);
  AppendRun(program, threads, first_sent, data, &stream);
  return RunStream(stream, (threads - first_sent) * std::ssize(program.outputs), options);
}

StatusOr<RtlMachine::Result> RtlMachine::RunStream(std::span<const uint8_t> stream, int64_t beats,
                                                   const RtlOptions& options,
                                                   const RecordedCycles& wave) const {
  const size_t beat_bytes = BeatBytes(config_);
  KILN_CHECK(stream.size() % beat_bytes == 0);
  KILN_ASSIGN_OR_RETURN(StreamSimulation::Result simulated,
                        simulation_->Run(stream, {static_cast<size_t>(beats)},
                                         static_cast<int>(beat_bytes), options, wave));
  Result result{.data = std::vector<int32_t>(simulated.bytes.size() / 4),
                .trace = std::move(simulated.trace)};
  std::memcpy(result.data.data(), simulated.bytes.data(), simulated.bytes.size());
  return result;
}

}  // namespace kiln::cgra
