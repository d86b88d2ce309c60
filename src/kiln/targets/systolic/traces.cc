#include "kiln/targets/systolic/traces.h"

#include <algorithm>
#include <utility>

namespace kiln::systolic {

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
    for (const auto& [cause, cycles] : from.units[u].stall_cycles) to.units[u].stall_cycles[cause] += cycles;
  }
}

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

std::span<const Instruction> InstructionsOf(const SystolicProgram& program, const Step& step) {
  return std::span<const Instruction>(program.instructions())
      .subspan(static_cast<size_t>(step.begin), static_cast<size_t>(step.end - step.begin));
}

}  // namespace kiln::systolic
