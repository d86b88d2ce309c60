// Prints the kernels and figures of a compiled network, and emits its folder.

#include "kiln/cli/emitted_folder.h"

#include <string>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/report/cost_report.h"
#include "kiln/report/performance.h"
#include "kiln/report/text.h"
#include "kiln/support/markdown.h"

namespace kiln::cli {
namespace {

// The table of kernels with estimated cycles, proved bounds and schedules.
std::string KernelTable(const Program& program) {
  Table table;
  table.Right("#")
      .Column("kernel")
      .Column("operation")
      .Column("unit")
      .Right("MACs")
      .Right("estimate")
      .Right("bound");
  table.Right("gap").Column("schedule").Column("bound from");
  for (size_t k = 0; k < program.kernels().size(); ++k) {
    const KernelInfo& kernel = program.kernels()[k];
    const Certificate& proof = kernel.certificate;
    const bool proved = proof.lower_bound > 0;
    table.Row({fmt::format("{}", k), Shorten(kernel.name, 40), Shorten(kernel.operation, 48),
               kernel.unit, kernel.macs > 0 ? Thousands(kernel.macs) : "-",
               proof.cost > 0 ? Thousands(static_cast<int64_t>(proof.cost)) : "-",
               proved ? Thousands(static_cast<int64_t>(proof.lower_bound)) : "-",
               proved ? Percent(proof.gap()) : "-", ScheduleText(kernel),
               kernel.on_host() ? "host: " + kernel.host_reason : proof.bound_from});
  }
  return table.ToString();
}

// The line of totals below the table.
std::string SumsOf(const Program& program) {
  return fmt::format(
      "\n{}, {}, constants {}, activations {} at their peak, {} of the operations on the host\n",
      Counted(std::ssize(program.kernels()), "kernel"),
      Metric(static_cast<double>(program.MacsTotal()), "multiply-accumulates"),
      Bytes(program.constant_bytes()), Bytes(program.activation_bytes()),
      Percent(program.HostShare(), 2));
}

}  // namespace

std::string KernelsOf(const Program& program) { return KernelTable(program) + SumsOf(program); }

std::string FirstFigures(const RunReport& report) {
  const Performance performance = *PerformanceOf(report);
  std::string text;
  if (const std::string time = TimeText(performance); !time.empty()) {
    text += fmt::format("time {}{}{}\n", performance.seconds.has_value() ? "estimated " : "", time,
                        PartialMark(report));
  }
  if (report.energy.has_value())
    text += "energy " + EnergyLine(*report.energy) + PartialMark(report) + "\n";
  if (const std::string area = AreaLine(report.machine->cost); !area.empty())
    text += "area " + area + "\n";
  return text.empty() ? "" : text + '\n';
}

std::string CostsOf(const RunReport& report) {
  const Performance performance = *PerformanceOf(report);
  std::string text = "clock " + ClockLine(performance) + "\n";
  if (const std::string speed = SpeedLine(performance); !speed.empty())
    text += "speed " + speed + PartialMark(report) + "\n";
  const std::string table = CostTable(report.machine->cost, report.energy);
  return table.empty() ? text : text + '\n' + table;
}

namespace {

// Returns the figures for the README of an emitted folder, as Markdown.
std::string FiguresOf(const RunReport& report) {
  const std::string costs = FirstFigures(report) + CostsOf(report);
  if (costs.empty()) return "";
  return fmt::format("Estimates of Kiln's models, without synthesis:\n\n```text\n{}```\n",
                     WrapMarkdown(costs));
}

// Returns the preprocessing of the network's input, which data, if there are any, go in by.
StatusOr<hardware::InputPreprocess> PreprocessOf(const CompiledNetwork& compiled,
                                                 const FlowOptions& options) {
  KILN_ASSIGN_OR_RETURN(const Preprocess stated,
                        StatedPreprocess(options.images, compiled.network));
  // The decimal numbers that were stated, rather than those of fp32 with all digits.
  const auto number = [](float f) { return std::stod(fmt::format("{}", f)); };
  hardware::InputPreprocess preprocess = {.text = stated.IsIdentity() ? "" : stated.ToString(),
                                          .multiply = number(stated.multiply),
                                          .divide = number(stated.divide)};
  for (const float mean : stated.mean) preprocess.mean.push_back(number(mean));
  for (const float deviation : stated.std) preprocess.std.push_back(number(deviation));
  return preprocess;
}

}  // namespace

Status EmitFolder(const CompiledNetwork& compiled, const FlowOptions& options,
                  const std::filesystem::path& folder) {
  KILN_ASSIGN_OR_RETURN(const hardware::InputPreprocess preprocess,
                        PreprocessOf(compiled, options));
  KILN_ASSIGN_OR_RETURN(std::vector<Tensor> sample, compiled.images.MakeBatch(0, 1));
  const FolderContent content{.network = options.model.filename().string(),
                              .sample = {.inputs = std::move(sample)},
                              .figures = FiguresOf(compiled.report),
                              .clock_mhz = compiled.accelerator->ClockMhz(),
                              .kernels = KernelsOf(*compiled.program),
                              .preprocess = &preprocess};
  return compiled.accelerator->EmitRtl(*compiled.program, content, folder);
}

}  // namespace kiln::cli
