// Compares the cycle level and the RTL step by step, and records the first difference.
#include "kiln/targets/systolic/simulate/rtl/waveform.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kiln/support/check.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/systolic/emit/emit.h"
#include "kiln/targets/systolic/simulate/cycle/cycle.h"
#include "kiln/targets/systolic/simulate/rtl/simulation.h"
#include "kiln/targets/systolic/simulate/run_steps.h"

namespace kiln::systolic {
namespace {

namespace fs = std::filesystem;

// The result of the first instructions of a step.
struct PrefixRun {
  std::vector<int64_t> ends;    // the cycle in which each was finished
  std::vector<uint8_t> memory;  // memory after the run
};

LevelRun LevelRunOf(const PrefixRun& run) {
  return {.events = {run.ends}, .end = std::nullopt, .totals = {}, .memory = run.memory};
}

// The instructions of one step at both levels, starting from the memory before the step.
class StepOnBoth {
 public:
  // In RTL, programs are stored in memory at `base`.
  StepOnBoth(const SystolicProgram& program, const Step& step, const Simulation& simulation,
             uint64_t base, const RtlOptions& options, std::span<const uint8_t> memory)
      : config_(program.config()),
        instructions_(InstructionsOf(program, step)),
        base_(base),
        simulation_(simulation),
        options_(options),
        memory_(memory) {}

  StatusOr<PrefixRun> AtCycleLevel(size_t instructions) const {
    PrefixRun run{.ends = {}, .memory = {memory_.begin(), memory_.end()}};
    KILN_ASSIGN_OR_RETURN(
        const Trace trace,
        RunInstructions(config_, instructions_.first(instructions), run.memory, options_, base_));
    for (const KernelTrace& kernel : trace.kernels) run.ends.push_back(kernel.end);
    return run;
  }
  StatusOr<PrefixRun> InRtl(size_t instructions, const WaveOptions& wave = {}) const {
    PrefixRun run{.ends = {}, .memory = {memory_.begin(), memory_.end()}};
    std::vector<Instruction> prefix(
        instructions_.begin(), instructions_.begin() + static_cast<std::ptrdiff_t>(instructions));
    prefix.emplace_back();  // kEnd
    KILN_ASSIGN_OR_RETURN(
        Simulated simulated,
        simulation_.Run(Encode(prefix, config_), base_, base_, options_.seed, run.memory, wave));
    run.ends = std::move(simulated.finished);
    return run;
  }
  std::span<const Instruction> instructions() const { return instructions_; }

 private:
  const Config& config_;
  std::span<const Instruction> instructions_;
  const uint64_t base_;
  const Simulation& simulation_;
  const RtlOptions& options_;
  std::span<const uint8_t> memory_;
};

StatusOr<std::vector<uint8_t>> MemoryOf(StatusOr<PrefixRun> run) {
  KILN_RETURN_IF_ERROR(run.status());
  return std::move(run->memory);
}

// Records the step's first difference, if it has one, and sets `memory` to its content after the
// step.
Status RecordStep(const StepOnBoth& step, const Config& config, bool timed, const fs::path& file,
                  std::span<uint8_t> memory, Waveform* found) {
  const size_t count = step.instructions().size();
  KILN_ASSIGN_OR_RETURN(const PrefixRun expected, step.AtCycleLevel(count));
  KILN_ASSIGN_OR_RETURN(const PrefixRun actual, step.InRtl(count));
  const WrongEvent wrong = [&]() -> StatusOr<std::optional<EventPlace>> {
    KILN_ASSIGN_OR_RETURN(const size_t index,
                          FirstWrongInstruction(
                              count, [&](size_t n) { return MemoryOf(step.AtCycleLevel(n)); },
                              [&](size_t n) { return MemoryOf(step.InRtl(n)); }));
    return EventPlace{0, index};
  };
  KILN_ASSIGN_OR_RETURN(const std::optional<LevelDifference> difference,
                        FindLevelDifference(LevelRunOf(expected), LevelRunOf(actual), timed,
                                            config.memory_latency, wrong));
  std::copy(expected.memory.begin(), expected.memory.end(), memory.begin());
  if (!difference.has_value()) return OkStatus();
  const CycleWindow window = difference->window;
  const size_t index = difference->place->index;
  KILN_RETURN_IF_ERROR(step.InRtl(count, {.file = file, .window = window}).status());
  found->recorded = true;
  found->kernel = static_cast<int>(step.instructions()[std::min(index, count - 1)].kernel);
  found->begin = window.begin;
  found->end = window.end;
  return OkStatus();
}

}  // namespace

StatusOr<Waveform> RecordDifference(const SystolicProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed, const fs::path& file) {
  KILN_CHECK(batch.images() == 1);
  KILN_ASSIGN_OR_RETURN(const Simulation simulation,
                        Simulation::BuildDesign(program, options, /*trace=*/true));
  const uint64_t base = ProgramImageOf(program).base;
  Waveform found;
  const StepRunner run = [&](int64_t, const Step& step, size_t,
                             std::span<uint8_t> memory) -> StatusOr<Trace> {
    const std::vector<uint8_t> before(memory.begin(), memory.end());
    const StepOnBoth both(program, step, simulation, base, options, before);
    KILN_RETURN_IF_ERROR(
        RecordStep(both, program.config(), timed, fs::absolute(file), memory, &found));
    if (found.recorded) return absl::CancelledError("recorded");
    return Trace{};
  };
  Status status = RunSteps(program, batch, {}, Level::kFunctional, run).status();
  if (!status.ok() && !found.recorded) return status;
  return found;
}

}  // namespace kiln::systolic
