// Derived figures of a run report, and its text form.
#include "kiln/report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "kiln/report/confusion_table.h"
#include "kiln/report/cost_report.h"
#include "kiln/report/kernel_loads.h"
#include "kiln/report/performance.h"
#include "kiln/report/text.h"

namespace kiln {
namespace {

// Characters of names and of operations in tables.
constexpr size_t kKernelWidth = 36, kOperationWidth = 44;

// Formats an accuracy: per cent, counts and top-k.
std::string AccuracyText(const AccuracyReport& accuracy) {
  std::string text = fmt::format("{}  ({} of {}", Percent(accuracy.top1(), 2),
                                 Thousands(accuracy.correct), Thousands(accuracy.compared()));
  if (accuracy.labels > 0) text += fmt::format(" labels of {}", Counted(accuracy.images, "image"));
  text += ')';
  if (accuracy.top_k > 1) {
    text += fmt::format("  top-{} {} ({})", accuracy.top_k, Percent(accuracy.top(), 2),
                        Thousands(accuracy.correct_top_k));
  }
  return text;
}

// Lines of the form "key          value"; an empty key continues the line before.
class Lines {
 public:
  void Add(std::string_view key, std::string_view text) {
    text_ += fmt::format("{:<12} {}\n", key, CleanUtf8(text));
  }
  void Blank() { text_ += '\n'; }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// The table of the `top` slowest kernels; the others are summed up in one row.
std::string KernelTable(const RunReport& report, int top) {
  const std::vector<KernelRow> rows = KernelRows(report);
  if (rows.empty()) return "";
  std::vector<KernelRow> slowest;
  for (const KernelRow& row : rows) {
    if (row.cycles > 0) slowest.push_back(row);
  }
  std::sort(slowest.begin(), slowest.end(), [](const KernelRow& a, const KernelRow& b) {
    return a.cycles != b.cycles ? a.cycles > b.cycles : a.kernel < b.kernel;
  });
  Table table;
  const std::vector<KernelLoad> loads = KernelLoads(report);
  table.Column("kernel").Column("operation").Column("unit").Right("cycles").Right("share");
  table.Right("utilisation");
  if (!loads.empty()) table.Right("bytes").Column("limited by");
  table.Right("bound").Right("gap").Column("schedule");
  const auto add = [&](std::vector<std::string> cells, std::vector<std::string> of_load,
                       std::vector<std::string> certificate) {
    if (!loads.empty()) std::ranges::move(of_load, std::back_inserter(cells));
    std::ranges::move(certificate, std::back_inserter(cells));
    table.Row(std::move(cells));
  };
  std::vector<std::string> names;
  for (size_t i = 0; i < slowest.size() && static_cast<int>(i) < top; ++i)
    names.push_back(report.kernels[static_cast<size_t>(slowest[i].kernel)].name);
  names = ShortenApart(names, kKernelWidth);
  int64_t rest_cycles = 0;
  double rest_share = 0;
  for (size_t i = 0; i < slowest.size(); ++i) {
    const KernelRow& row = slowest[i];
    if (static_cast<int>(i) >= top) {
      rest_cycles += row.cycles;
      rest_share += row.share;
      continue;
    }
    const KernelInfo& kernel = report.kernels[static_cast<size_t>(row.kernel)];
    const Certificate& proof = kernel.certificate;
    std::vector<std::string> of_load;
    if (!loads.empty()) {
      const KernelLoad& load = loads[static_cast<size_t>(row.kernel)];
      const std::string limit = LimitText(load, *report.traffic);
      of_load = {Thousands(load.bytes_read + load.bytes_written), limit.empty() ? "-" : limit};
    }
    add({names[i], Shorten(kernel.operation, kOperationWidth), kernel.unit, Thousands(row.cycles),
         Percent(row.share), row.utilisation.has_value() ? Percent(*row.utilisation) : "-"},
        std::move(of_load),
        {proof.lower_bound > 0 ? Thousands(static_cast<int64_t>(proof.lower_bound)) : "-",
         proof.lower_bound > 0 ? Percent(proof.gap()) : "-", ScheduleText(kernel)});
  }
  if (rest_cycles > 0) {
    add({Counted(std::ssize(slowest) - top, "other"), "", "", Thousands(rest_cycles),
         Percent(rest_share), ""},
        {"", ""}, {"", "", ""});
  }
  std::string legend =
      "bound: a proved least number of cycles of the kernel by itself, with an ideal memory; gap: "
      "how far the estimate of its schedule is above that, not the run's cycles, which are less "
      "where kernels overlap and more where they wait; optimal: no schedule can be better; optimal "
      "among its tilings (or loop orders): none of those is better, another mapping might be\n";
  if (!loads.empty()) {
    legend += fmt::format(
        "bytes: to and from outer memory; limited by: a unit that computes, or the port that needs "
        "the most cycles, if it is busy in {} of the kernel's cycles or more; latency: neither "
        "is\n",
        Percent(kBoundingShare, 0));
  }
  return table.ToString() + legend;
}

// The table of kernels on the host; empty without any.
std::string HostTable(const RunReport& report) {
  Table table;
  table.Column("on the host").Column("operation").Right("operations").Column("because");
  std::vector<const KernelInfo*> on_host;
  std::vector<std::string> names;
  for (const KernelInfo& kernel : report.kernels) {
    if (!kernel.on_host()) continue;
    on_host.push_back(&kernel);
    names.push_back(kernel.name);
  }
  names = ShortenApart(names, kKernelWidth);
  for (size_t i = 0; i < on_host.size(); ++i) {
    table.Row({names[i], Shorten(on_host[i]->operation, kOperationWidth),
               Thousands(on_host[i]->operations), on_host[i]->host_reason});
  }
  return table.empty() ? "" : table.ToString();
}

}  // namespace

// If the schedule is above its bound, "optimal" is qualified by the space that was searched.
std::string ScheduleText(const KernelInfo& kernel) {
  if (!kernel.certificate.optimal) return kernel.schedule;
  const std::string proved =
      kernel.certificate.gap() > 0
          ? fmt::format("optimal among its {}", kernel.schedule.empty() ? "loop orders" : "tilings")
          : "optimal";
  return kernel.schedule.empty() ? proved : kernel.schedule + ", " + proved;
}

std::string FidelityText(const OutputFidelity& output) {
  if (output.sqnr_db.has_value()) {
    return fmt::format("'{}': signal to quantisation noise {:.1f} dB", output.name,
                       *output.sqnr_db);
  }
  return fmt::format("'{}': {} of the elements are equal", output.name,
                     Percent(output.equal_share, 2));
}

std::string IntervalText(const RunReport& report) {
  if (report.interval_cycles == 0) return "";
  std::string text = fmt::format("{} cycles between images", Thousands(report.interval_cycles));
  const std::optional<Performance> p = PerformanceOf(report);
  if (p.has_value() && p->images_per_second.has_value())
    text += fmt::format(", {} images/s", ImagesPerSecond(*p->images_per_second));
  return text;
}

std::string MemoryText(const RunReport& report) {
  if (!report.memory.has_value()) return "";
  const RunReport::Memory& memory = *report.memory;
  const std::string miss =
      memory.row_miss_cycles == 0
          ? std::string()
          : fmt::format(", {} more for a row miss", Counted(memory.row_miss_cycles, "cycle"));
  const double bus = report.traffic.has_value() ? report.traffic->bus_bytes_per_cycle : 0;
  const std::string streams =
      bus > 0 ? fmt::format("; all streams share a bus of {} B a cycle in each direction",
                            WithoutExponent(bus))
              : std::string();
  return fmt::format(
      "{}: {} B a cycle for all ports together and {}{} at {:.5g} MHz{}; {} "
      "the run's bytes in {} cycles",
      memory.text, WithoutExponent(memory.bytes_per_cycle), Counted(memory.latency_cycles, "cycle"),
      miss, memory.mhz, streams, bus > 0 ? "they move" : "it moves",
      Thousands(MemoryCycles(report)));
}

std::string WrittenText(const RunReport& report) {
  if (report.outputs_file.empty()) return "";
  std::string arrays;
  for (const RunReport::WrittenOutput& output : report.written) {
    arrays += fmt::format("{} {} {} {}{}", arrays.empty() ? ":" : ",", output.array, output.type,
                          Shape(output.shape).ToString(),
                          output.quantisation.empty() ? "" : " with codes");
  }
  return report.outputs_file + arrays;
}

std::string RunReport::Quantisation::Describe() const {
  if (recipe.empty()) return "the network's own parameters";
  return fmt::format("recipe {}, calibrated on {}", recipe, calibration);
}

std::vector<KernelRow> KernelRows(const RunReport& report) {
  std::vector<KernelRow> rows;
  if (!report.trace.has_value()) return rows;
  const Trace& trace = *report.trace;
  for (size_t k = 0; k < report.kernels.size(); ++k)
    rows.emplace_back().kernel = static_cast<int>(k);
  // The latest end of the kernels so far.
  int64_t front = 0;
  for (const KernelTrace& kernel : trace.kernels) {
    if (kernel.kernel < 0 || static_cast<size_t>(kernel.kernel) >= rows.size()) continue;
    KernelRow& row = rows[static_cast<size_t>(kernel.kernel)];
    // A kernel that ends before an earlier one adds no time.
    row.cycles += std::max<int64_t>(0, kernel.end - front);
    front = std::max(front, kernel.end);
  }
  // Utilisation compares with the machine's peak, in multiply-accumulates per cycle.
  const double peak = report.machine.has_value() ? report.machine->peak_macs_per_cycle : 0;
  for (KernelRow& row : rows) {
    if (trace.cycles > 0)
      row.share = static_cast<double>(row.cycles) / static_cast<double>(trace.cycles);
    if (row.cycles > 0 && peak > 0) {
      const int64_t macs = trace.images * report.kernels[static_cast<size_t>(row.kernel)].macs;
      const double done = static_cast<double>(macs) / (static_cast<double>(row.cycles) * peak);
      if (macs > 0 && done <= 1) row.utilisation = done;
    }
  }
  return rows;
}

double HostShare(const RunReport& report) {
  int64_t all = 0, host = 0;
  for (const KernelInfo& kernel : report.kernels) {
    all += kernel.operations;
    if (kernel.on_host()) host += kernel.operations;
  }
  return all == 0 ? 0 : static_cast<double>(host) / static_cast<double>(all);
}

bool IsPartial(const RunReport& report) { return HostShare(report) > kPartialHostShare; }

std::string PartialMark(const RunReport& report) {
  if (!IsPartial(report)) return "";
  return fmt::format(" (PARTIAL: {} of the operations, the host does the rest)",
                     Percent(1 - HostShare(report), 2));
}

namespace {

// Returns the first of a kernel's reasons, and the number of further ones.
std::string FirstReason(const std::string& reasons) {
  constexpr std::string_view kBetween = "; ";
  const size_t end = reasons.find(kBetween);
  if (end == std::string::npos) return reasons;
  int more = 0;
  for (size_t at = end; at != std::string::npos; at = reasons.find(kBetween, at + kBetween.size()))
    ++more;
  return fmt::format("{} (and {} reason{} more)", reasons.substr(0, end), more,
                     more == 1 ? "" : "s");
}

}  // namespace

std::optional<HostReason> LargestHostReason(const RunReport& report) {
  std::map<std::string, int64_t> operations;
  int64_t all = 0;
  for (const KernelInfo& kernel : report.kernels) {
    all += kernel.operations;
    if (kernel.on_host()) operations[kernel.host_reason] += kernel.operations;
  }
  if (operations.empty()) return std::nullopt;
  const auto& [reason, most] =
      *std::max_element(operations.begin(), operations.end(),
                        [](const auto& a, const auto& b) { return a.second < b.second; });
  return HostReason{FirstReason(reason),
                    all == 0 ? 0 : static_cast<double>(most) / static_cast<double>(all)};
}

std::string Because(const std::optional<HostReason>& reason, double host_share) {
  if (!reason.has_value()) return "";
  const bool only = reason->share >= host_share;
  return fmt::format(", {}because {}", only ? "" : Percent(reason->share, 2) + " ", reason->reason);
}

std::string ImagesAtOnce(const RunReport& report) {
  const int64_t images = report.trace.has_value() ? report.trace->images : 1;
  return images == 1 ? "image" : fmt::format("{} images at once", images);
}

std::optional<double> Utilisation(const RunReport& report) {
  if (!report.trace.has_value() || !report.machine.has_value()) return std::nullopt;
  // Of machines on which images follow one another, in the steady state.
  const int64_t cycles = report.interval_cycles > 0 ? report.interval_cycles : report.trace->cycles;
  const double possible = static_cast<double>(cycles) * report.machine->peak_macs_per_cycle;
  int64_t macs = 0;
  for (const KernelInfo& kernel : report.kernels) macs += kernel.on_host() ? 0 : kernel.macs;
  if (possible <= 0 || macs == 0) return std::nullopt;
  return static_cast<double>(report.trace->images * macs) / possible;
}

std::string UtilisationText(const RunReport& report) {
  constexpr double kLeastShown = 0.001;
  const std::optional<double> utilisation = Utilisation(report);
  if (!utilisation.has_value()) return "-";
  return *utilisation < kLeastShown ? "under " + Percent(kLeastShown) : Percent(*utilisation);
}

namespace {

// What ran: network, machine, data, quantisation.
void AddSetting(const RunReport& report, Lines& lines) {
  lines.Add("model",
            fmt::format("{}: {}, {}, {} -> {}", report.model.source,
                        Counted(report.model.parameters, "parameter"),
                        Metric(static_cast<double>(report.model.macs), "multiply-accumulates"),
                        report.model.input, report.model.output));
  if (report.machine.has_value()) {
    lines.Add("accelerator", fmt::format("{} ({}): {} multiply-accumulates a cycle",
                                         report.machine->name, report.machine->family,
                                         WithoutExponent(report.machine->peak_macs_per_cycle)));
  }
  if (report.memory.has_value()) lines.Add("outer memory", MemoryText(report));
  if (!report.data.source.empty()) {
    lines.Add("data", fmt::format("{}: {} ({}), preprocess {}", report.data.source,
                                  Counted(report.data.images, "image"), report.data.kind,
                                  report.data.preprocess));
  }
  if (report.quantisation.has_value()) {
    lines.Add("quantised", report.quantisation->Describe());
  }
  for (const std::string& note : report.notes) lines.Add("note", note);
}

// How exact the results are.
void AddAccuracy(const RunReport& report, Lines& lines) {
  const std::string quantised_name =
      report.quantisation.has_value() ? report.quantisation->format : "quantised";
  if (report.fp32.has_value()) {
    lines.Add("accuracy", fmt::format("{:<9} {}", report.reference, AccuracyText(*report.fp32)));
  }
  if (report.quantised.has_value()) {
    std::string text = fmt::format("{:<9} {}", quantised_name, AccuracyText(*report.quantised));
    if (report.fp32.has_value()) {
      text +=
          fmt::format("  {:+.2f} points", 100 * (report.quantised->top1() - report.fp32->top1()));
    }
    lines.Add(report.fp32.has_value() ? "" : "accuracy", text);
  }
  if (!report.no_accuracy.empty()) lines.Add("accuracy", "none: " + report.no_accuracy);
  if (report.agreement.has_value()) {
    lines.Add("agreement", fmt::format("{} of {} get the same class from {} and {}",
                                       Thousands(report.agreement->correct),
                                       Counted(report.agreement->images, "image"), report.reference,
                                       quantised_name));
  }
  for (const OutputFidelity& output : report.outputs) {
    lines.Add(&output == report.outputs.data() ? "outputs" : "", FidelityText(output));
  }
}

// Time, energy and area.
void AddCosts(const RunReport& report, const std::optional<Performance>& performance,
              Lines& lines) {
  if (!report.cycles_per_image.empty()) {
    const auto [least, most] =
        std::minmax_element(report.cycles_per_image.begin(), report.cycles_per_image.end());
    std::string text =
        fmt::format("{} cycles per {}{}", Thousands(*least), ImagesAtOnce(report),
                    *least == *most ? "" : " at least, " + Thousands(*most) + " at most");
    if (performance.has_value()) {
      if (const std::string time = TimeText(*performance); !time.empty()) text += ": " + time;
    }
    lines.Add("time", text + PartialMark(report));
  }
  if (report.energy.has_value())
    lines.Add("energy", EnergyLine(*report.energy) + PartialMark(report));
  if (report.machine.has_value()) {
    if (const std::string area = AreaLine(report.machine->cost); !area.empty())
      lines.Add("area", area);
  }
  if (!report.cycles_per_image.empty()) {
    lines.Add("utilisation",
              Utilisation(report).has_value()
                  ? fmt::format("{} of the peak{}", UtilisationText(report), PartialMark(report))
                  : "unknown: the accelerator's kernels have no multiply-accumulates");
  }
  if (const std::string interval = IntervalText(report); !interval.empty())
    lines.Add("interval", interval);
}

// Agreement of the levels, the host's share, memory, clock and speed.
void AddMachine(const RunReport& report, const std::optional<Performance>& performance,
                Lines& lines) {
  if (report.compared_images > 0) {
    lines.Add("bits",
              report.different_images == 0
                  ? fmt::format("cycle and functional level agree on {} of {} compared",
                                report.compared_images, Counted(report.compared_images, "image"))
                  : fmt::format("cycle and functional level DIFFER on {} of {} compared",
                                report.different_images, Counted(report.compared_images, "image")));
  }
  if (report.machine.has_value()) {
    const auto host = std::count_if(report.kernels.begin(), report.kernels.end(),
                                    [](const KernelInfo& kernel) { return kernel.on_host(); });
    lines.Add("host", host == 0
                          ? std::string("nothing: every kernel runs on the accelerator")
                          : fmt::format("{} of {}, {} of the operations{}", host,
                                        Counted(std::ssize(report.kernels), "kernel"),
                                        Percent(HostShare(report), 2),
                                        Because(LargestHostReason(report), HostShare(report))));
    lines.Add("memory", fmt::format("constants {}, activations {} at their peak",
                                    Bytes(report.constant_bytes), Bytes(report.activation_bytes)));
    lines.Add("clock", ClockLine(*performance));
    if (const std::string speed = SpeedLine(*performance); !speed.empty())
      lines.Add("speed", speed + PartialMark(report));
  }
  if (report.images_run > 0 && report.run_seconds > 0) {
    lines.Add("simulation", fmt::format("{} level: {} in {:.2f} s, {} images/s", report.level,
                                        Counted(report.images_run, "image"), report.run_seconds,
                                        ImagesPerSecond(static_cast<double>(report.images_run) /
                                                        report.run_seconds)));
  }
  if (!report.outputs_file.empty()) lines.Add("written", WrittenText(report));
}

}  // namespace

std::string ToText(const RunReport& report, int top) {
  Lines lines;
  AddSetting(report, lines);
  lines.Blank();
  AddAccuracy(report, lines);
  const std::optional<Performance> performance = PerformanceOf(report);
  AddCosts(report, performance, lines);
  AddMachine(report, performance, lines);
  std::string out = lines.Take();
  const std::string costs =
      report.machine.has_value() ? CostTable(report.machine->cost, report.energy) : "";
  const std::string confusion =
      report.confusion() == nullptr ? "" : ConfusionText(*report.confusion());
  // Tables follow the lines, separated by empty lines; empty tables are left out.
  for (const std::string& table : {confusion, KernelTable(report, top), HostTable(report), costs}) {
    if (!table.empty()) out += '\n' + table;
  }
  return out;
}

}  // namespace kiln
