#include "kiln/targets/systolic/waveform.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "kiln/support/check.h"
#include "kiln/targets/interface/difference.h"
#include "kiln/targets/systolic/cycle.h"
#include "kiln/targets/systolic/emit.h"
#include "kiln/targets/systolic/host.h"
#include "kiln/targets/systolic/run_images.h"
#include "kiln/targets/systolic/run_steps.h"
#include "kiln/targets/systolic/simulation.h"

namespace kiln::systolic {
namespace {

namespace fs = std::filesystem;

// The instructions of one step at both levels, on the memory as it stands before it.
class StepOnBoth {
 public:
  // In RTL, programs stand in memory at `base`.
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
        RunInstructions(config_, instructions_.first(instructions), run.memory, options_));
    for (const KernelTrace& kernel : trace.kernels) run.ends.push_back(kernel.end);
    return run;
  }
  StatusOr<PrefixRun> InRtl(size_t instructions, const WaveOptions& wave = {}) const {
    PrefixRun run{.ends = {}, .memory = {memory_.begin(), memory_.end()}};
    std::vector<Instruction> prefix(
        instructions_.begin(), instructions_.begin() + static_cast<std::ptrdiff_t>(instructions));
    prefix.emplace_back();  // the end
    KILN_ASSIGN_OR_RETURN(Simulated simulated,
                          simulation_.Run("difference", Encode(prefix, config_), base_, base_,
                                          options_.seed, run.memory, wave));
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

// Records the step's first difference, if it has one, and takes `memory` behind the step.
Status RecordStep(const StepOnBoth& step, const Config& config, bool timed, const fs::path& file,
                  std::span<uint8_t> memory, Waveform* found) {
  const size_t count = step.instructions().size();
  KILN_ASSIGN_OR_RETURN(const std::optional<size_t> index,
                        FirstDifferentInstruction(
                            count, timed, [&](size_t n) { return step.AtCycleLevel(n); },
                            [&](size_t n) { return step.InRtl(n); }));
  KILN_ASSIGN_OR_RETURN(const PrefixRun expected, step.AtCycleLevel(count));
  std::copy(expected.memory.begin(), expected.memory.end(), memory.begin());
  if (!index.has_value()) return OkStatus();
  KILN_ASSIGN_OR_RETURN(const PrefixRun actual, step.InRtl(count));
  const CycleWindow window =
      WindowAround(*index, expected.ends, actual.ends, config.memory_latency);
  KILN_RETURN_IF_ERROR(step.InRtl(count, {.file = file, .window = window}).status());
  found->recorded = true;
  found->kernel = static_cast<int>(step.instructions()[std::min(*index, count - 1)].kernel);
  found->begin = window.begin;
  found->end = window.end;
  return OkStatus();
}

}  // namespace

StatusOr<std::optional<size_t>> FirstDifferentInstruction(size_t instructions, bool timed,
                                                          const PrefixRunner& expected,
                                                          const PrefixRunner& actual) {
  KILN_ASSIGN_OR_RETURN(const PrefixRun a, expected(instructions));
  KILN_ASSIGN_OR_RETURN(const PrefixRun b, actual(instructions));
  std::optional<size_t> first;
  if (timed) first = FirstDifferent(a.ends, b.ends);
  if (a.memory == b.memory) return first;
  size_t alike = 0, different = instructions;  // lengths of prefixes
  while (different - alike > 1) {
    const size_t middle = alike + (different - alike) / 2;
    KILN_ASSIGN_OR_RETURN(const PrefixRun x, expected(middle));
    KILN_ASSIGN_OR_RETURN(const PrefixRun y, actual(middle));
    (x.memory == y.memory ? alike : different) = middle;
  }
  return std::min(first.value_or(different - 1), different - 1);
}

StatusOr<Waveform> RecordDifference(const SystolicProgram& program, const Batch& batch,
                                    const RtlOptions& options, bool timed, const fs::path& file) {
  KILN_CHECK(batch.images() == 1);
  KILN_ASSIGN_OR_RETURN(const Simulation simulation,
                        Simulation::BuildDesign(program, options, /*trace=*/true));
  const uint64_t base = ProgramImageOf(program).base;
  Waveform found;
  const ImageRunner run = [&](int64_t, std::span<uint8_t> memory) -> Status {
    for (const Step& step : program.steps()) {
      if (found.recorded) break;
      if (step.kind == Step::Kind::kHost) {
        KILN_RETURN_IF_ERROR(
            RunHostStep(program.host_steps()[static_cast<size_t>(step.begin)], memory));
        continue;
      }
      const std::vector<uint8_t> before(memory.begin(), memory.end());
      const StepOnBoth both(program, step, simulation, base, options, before);
      KILN_RETURN_IF_ERROR(
          RecordStep(both, program.config(), timed, fs::absolute(file), memory, &found));
    }
    return OkStatus();
  };
  KILN_RETURN_IF_ERROR(RunImages(program, batch, {}, run).status());
  return found;
}

}  // namespace kiln::systolic
