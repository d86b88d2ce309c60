#include "kiln/targets/systolic/run_steps.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kiln/targets/systolic/host.h"
#include "kiln/targets/systolic/run_images.h"

namespace kiln::systolic {
namespace {

// Appends what a later step of the same image did.
void Append(Trace& to, Trace&& from) {
  const int64_t shift = to.cycles;
  to.span_resolution = std::max(to.span_resolution, from.span_resolution);
  to.cycles += from.cycles;
  for (Span& span : from.spans) {
    span.begin += shift;
    span.end += shift;
    to.spans.push_back(span);
  }
  for (KernelTrace& kernel : from.kernels) {
    kernel.begin += shift;
    kernel.end += shift;
    to.kernels.push_back(kernel);
  }
  if (to.units.empty()) {
    to.units = std::move(from.units);
    return;
  }
  for (size_t u = 0; u < to.units.size(); ++u) {
    to.units[u].busy_cycles += from.units[u].busy_cycles;
    to.units[u].bytes_read += from.units[u].bytes_read;
    to.units[u].bytes_written += from.units[u].bytes_written;
    for (const auto& [cause, cycles] : from.units[u].stall_cycles)
      to.units[u].stall_cycles[cause] += cycles;
  }
}

// Instructions of one kernel stand side by side in a program: their times become one entry.
void MergeKernels(Trace& trace, const std::vector<KernelInfo>& infos) {
  std::vector<KernelTrace> merged;
  for (const KernelTrace& kernel : trace.kernels) {
    if (!merged.empty() && merged.back().kernel == kernel.kernel) {
      merged.back().end = kernel.end;
    } else {
      merged.push_back(kernel);
      merged.back().macs = infos[static_cast<size_t>(kernel.kernel)].macs;
    }
  }
  trace.kernels = std::move(merged);
}

}  // namespace

std::span<const Instruction> InstructionsOf(const SystolicProgram& program, const Step& step) {
  return std::span<const Instruction>(program.instructions())
      .subspan(static_cast<size_t>(step.begin), static_cast<size_t>(step.end - step.begin));
}

StatusOr<RunResult> RunSteps(const SystolicProgram& program, const Batch& batch,
                             const RunOptions& options, const StepRunner& run) {
  std::vector<int64_t> cycles(static_cast<size_t>(batch.images()), 0);
  Trace first;
  const ImageRunner run_image = [&](int64_t image, std::span<uint8_t> memory) -> Status {
    Trace trace;
    size_t number = 0;
    for (const Step& step : program.steps()) {
      if (step.kind == Step::Kind::kHost) {
        KILN_RETURN_IF_ERROR(
            RunHostStep(program.host_steps()[static_cast<size_t>(step.begin)], memory));
        continue;
      }
      KILN_ASSIGN_OR_RETURN(Trace part,
                            run(image, number++, InstructionsOf(program, step), memory));
      Append(trace, std::move(part));
    }
    cycles[static_cast<size_t>(image)] = trace.cycles;
    if (image == 0) first = std::move(trace);
    return OkStatus();
  };
  KILN_ASSIGN_OR_RETURN(RunResult result, RunImages(program, batch, options, run_image));
  MergeKernels(first, program.kernels());
  result.trace = std::move(first);
  result.cycles_per_image = std::move(cycles);
  return result;
}

}  // namespace kiln::systolic
