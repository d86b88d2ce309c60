// Matches kernels, and formats comparisons of runs.
#include "kiln/report/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kiln/report/cost_report.h"
#include "kiln/report/html_parts.h"
#include "kiln/report/performance.h"
#include "kiln/report/run_report.h"
#include "kiln/report/text.h"
#include "kiln/support/budgets.h"
#include "kiln/support/json_text.h"
#include "kiln/support/stable_sort.h"

namespace kiln {
namespace {

std::string Counts(double value) { return Thousands(static_cast<int64_t>(std::llround(value))); }

// A figure of a run: a row of the table.
struct ComparedFigure {
  const char* name;
  const char* key;  // in JSON
  std::optional<double> SavedRun::* value;
  std::string (*format)(double value);
  bool is_share;  // compared by difference in percentage points; others by ratio
};

constexpr ComparedFigure kComparedFigures[] = {
    {"accuracy", "accuracy", &SavedRun::accuracy, [](double v) { return Percent(v, 2); }, true},
    {"time per image", "seconds", &SavedRun::seconds, [](double v) { return Milliseconds(v); },
     false},
    {"images a second", "images_per_second", &SavedRun::images_per_second,
     [](double v) { return ImagesPerSecond(v); }, false},
    {"energy per image", "picojoules", &SavedRun::picojoules, [](double v) { return Joules(v); },
     false},
    {"area", "area_um2", &SavedRun::area_um2, [](double v) { return SquareMillimetres(v); }, false},
    {"power", "watts", &SavedRun::watts, [](double v) { return ThreeDigits(v) + " W"; }, false},
    {"cycles per image", "cycles", &SavedRun::cycles, [](double v) { return Counts(v); }, false},
    {"clock", "mhz", &SavedRun::mhz, [](double v) { return fmt::format("{:.5g} MHz", v); }, false},
    {"utilisation", "utilisation", &SavedRun::utilisation, [](double v) { return Percent(v); },
     true},
};

// Formats how a figure compares with the first run's: "x 2.97", "+0.10 points"; empty if one of
// the two is unknown.
std::string Against(const std::optional<double>& first, const std::optional<double>& value,
                    bool is_share) {
  if (!first.has_value() || !value.has_value()) return "";
  if (is_share) return fmt::format("{:+.2f} points", 100 * (*value - *first));
  return *first > 0 ? "x " + ThreeDigits(*value / *first) : "";
}

// Returns "systolic-int8-8x8 int8", or the network's name at the reference level.
std::string NameOfRun(const SavedRun& run) {
  if (run.accelerator.empty()) return "reference";
  return run.format.empty() ? run.accelerator : run.accelerator + " " + run.format;
}

// Returns different names for all runs: with the file's name, and with a number, where need be.
std::vector<std::string> LabelsOf(const std::vector<SavedRun>& runs) {
  std::vector<std::string> labels;
  std::map<std::string, int> times;
  for (const SavedRun& run : runs) ++times[NameOfRun(run)];
  std::set<std::string> taken;
  for (const SavedRun& run : runs) {
    std::string label = NameOfRun(run);
    if (times[label] > 1)
      label += fmt::format(" ({})", std::filesystem::path(run.file).stem().string());
    const std::string name = label;
    for (int n = 2; !taken.insert(label).second; ++n) label = fmt::format("{} #{}", name, n);
    labels.push_back(label);
  }
  return labels;
}

std::vector<Comparison::Kernel> KernelsOf(const std::vector<SavedRun>& runs) {
  std::vector<Comparison::Kernel> kernels;
  std::map<std::pair<std::string, int>, size_t> known;  // name and how many of it came before
  for (size_t r = 0; r < runs.size(); ++r) {
    std::map<std::string, int> before;
    for (size_t k = 0; k < runs[r].kernels.size(); ++k) {
      const std::string& name = runs[r].kernels[k].name;
      const auto [at, is_new] = known.emplace(std::pair(name, before[name]++), kernels.size());
      if (is_new) kernels.push_back({name, std::vector<int>(runs.size(), -1)});
      kernels[at->second].places[r] = static_cast<int>(k);
    }
  }
  return kernels;
}

// Returns the kernel of run `r`, or null if the run has none of that name.
const SavedKernel* KernelAt(const Comparison& c, const Comparison::Kernel& kernel, size_t r) {
  const int place = kernel.places[r];
  return place < 0 ? nullptr : &c.runs[r].kernels[static_cast<size_t>(place)];
}

std::optional<double> CyclesAt(const Comparison& c, const Comparison::Kernel& kernel, size_t r) {
  const SavedKernel* const saved = KernelAt(c, kernel, r);
  return saved == nullptr || saved->on_host ? std::nullopt : saved->cycles;
}

double MostCycles(const Comparison& c, const Comparison::Kernel& kernel) {
  double most = 0;
  for (size_t r = 0; r < c.runs.size(); ++r)
    most = std::max(most, CyclesAt(c, kernel, r).value_or(0));
  return most;
}

// Returns a kernel's cycles in the first run to compare those of run `r` with, if they can be.
std::optional<double> FirstCycles(const Comparison& c, const Comparison::Kernel& kernel, size_t r) {
  if (c.runs[0].pipelined || c.runs[r].pipelined) return std::nullopt;
  return CyclesAt(c, kernel, 0);
}

// Replaces labels by "run 1", "run 2" and so on if tables with them as titles would be too wide to
// read, and returns a list of the runs by number.
std::optional<std::string> NumberRuns(std::vector<std::string>* labels) {
  constexpr size_t kMostColumns = 120, kOtherColumns = 20, kLeastColumns = 12;
  size_t columns = kOtherColumns;
  for (const std::string& label : *labels) columns += std::max(Width(label), kLeastColumns) + 10;
  if (columns <= kMostColumns) return std::nullopt;
  std::string list;
  for (size_t r = 0; r < labels->size(); ++r) {
    std::string number = fmt::format("run {}", r + 1);
    list += fmt::format("{}: {}\n", number, CleanUtf8((*labels)[r]));
    (*labels)[r] = std::move(number);
  }
  return list;
}

// Names the runs that have a kernel, or that lack it, whichever are fewer: "only in A, B", "not in
// C"; empty if none lacks it. `labels` are the names of the runs.
std::string OnlyIn(const std::vector<std::string>& labels, const Comparison::Kernel& kernel) {
  std::vector<std::string> with, without;
  for (size_t r = 0; r < labels.size(); ++r) {
    (kernel.places[r] >= 0 ? with : without).push_back(labels[r]);
  }
  if (without.empty()) return "";
  return with.size() <= without.size() ? fmt::format("only in {}", fmt::join(with, ", "))
                                       : fmt::format("not in {}", fmt::join(without, ", "));
}

// Formats a kernel of a run: its cycles, "host", or "-" if the run has none.
std::string KernelText(const Comparison& c, const Comparison::Kernel& kernel, size_t r) {
  const SavedKernel* const saved = KernelAt(c, kernel, r);
  if (saved == nullptr) return "-";
  if (saved->on_host) return "host";
  return saved->cycles.has_value() ? Counts(*saved->cycles) : "unknown";
}

// The runs' remarks about their own figures: "estimated, clock not confirmed".
std::string RemarksOf(const SavedRun& run) {
  std::vector<std::string> remarks;
  if (run.estimated && run.cycles.has_value()) remarks.emplace_back("estimated");
  if (run.seconds.has_value() && !run.clock_confirmed) remarks.emplace_back("clock not confirmed");
  if (run.area_incomplete) remarks.emplace_back("area INCOMPLETE");
  if (run.partial) remarks.emplace_back("PARTIAL");
  return fmt::format("{}", fmt::join(remarks, ", "));
}

// How a run's host share is written.
std::string HostText(const SavedRun& run) { return Percent(run.host_share, 2); }

std::string MemoryText(const SavedRun& run) {
  if (run.accelerator.empty()) return "-";
  return run.memory.empty() ? "ideal" : CleanUtf8(run.memory);
}

std::string ObjectiveText(const SavedRun& run) {
  return run.objective.empty() ? "-" : CleanUtf8(run.objective);
}

// A row of words below the figures.
struct ComparedText {
  const char* name;
  std::string (*text)(const SavedRun&);
  bool only_if_different;  // the row is left out if it says the same of all runs
};
constexpr ComparedText kComparedTexts[] = {{"on the host", HostText, false},
                                           {"memory", MemoryText, true},
                                           {"schedules for least", ObjectiveText, true},
                                           {"remarks", RemarksOf, false}};

// Returns the first run with a machine, with which those of others are compared; null if none has.
const SavedRun* FirstOnMachine(const std::vector<SavedRun>& runs) {
  const auto at =
      std::ranges::find_if(runs, [](const SavedRun& run) { return !run.accelerator.empty(); });
  return at == runs.end() ? nullptr : &*at;
}

bool IsShown(const ComparedText& row, const std::vector<SavedRun>& runs) {
  if (!row.only_if_different) return true;
  const SavedRun* const first = FirstOnMachine(runs);
  return std::ranges::any_of(runs, [&](const SavedRun& run) {
    return !run.accelerator.empty() && row.text(run) != row.text(*first);
  });
}

}  // namespace

StatusOr<Comparison> Compare(std::vector<SavedRun> runs, bool any_host) {
  if (runs.size() < 2) {
    return ErrorAt(runs.empty() ? "" : runs[0].file, "", "one run cannot be compared",
                   "name two or more reports of `kiln run --json`");
  }
  if (std::ssize(runs) > budgets::kComparedRuns) {
    return ErrorAt(runs[0].file, "", fmt::format("{} runs are too many to compare", runs.size()),
                   fmt::format("at most {}", budgets::kComparedRuns));
  }
  Comparison comparison;
  const SavedRun& first = runs[0];
  for (const SavedRun& run : runs) {
    if (std::abs(run.host_share - first.host_share) <= kSameHostShare) continue;
    const std::string fault = fmt::format("the host does {} of the operations, in {} {}",
                                          HostText(run), first.file, HostText(first));
    if (!any_host) {
      return ErrorAt(run.file, "", fault,
                     "compare runs with the same share, or add --any-host to compare what the "
                     "accelerators did all the same");
    }
    comparison.notes.push_back(
        fmt::format("{}: {}; cycles, times and energies leave the host out, so they are not of the "
                    "same work",
                    run.file, fault));
  }
  for (const SavedRun& run : runs) {
    if (run.model == first.model && run.macs == first.macs) continue;
    comparison.notes.push_back(fmt::format("{}: runs '{}' ({}), {} runs '{}' ({})", run.file,
                                           run.model, Metric(run.macs, "multiply-accumulates"),
                                           first.file, first.model,
                                           Metric(first.macs, "multiply-accumulates")));
  }
  const SavedRun* const other = FirstOnMachine(runs);
  for (const SavedRun& run : runs) {
    if (run.accelerator.empty()) continue;
    std::vector<std::string> differs;
    if (run.memory != other->memory)
      differs.push_back(fmt::format("memory {} and {}", MemoryText(run), MemoryText(*other)));
    if (run.objective != other->objective) {
      differs.push_back(
          fmt::format("schedules for least {} and {}", ObjectiveText(run), ObjectiveText(*other)));
    }
    if (differs.empty()) continue;
    comparison.notes.push_back(fmt::format("{} and {}: {}; a part of what differs is due to that",
                                           run.file, other->file, fmt::join(differs, ", ")));
  }
  for (const SavedRun& run : runs) {
    if (!run.kernels_estimated) continue;
    comparison.notes.push_back(fmt::format(
        "{}: nothing has run; the cycles of its kernels are the compiler's estimates", run.file));
  }
  for (const SavedRun& run : runs) {
    if (!run.pipelined) continue;
    comparison.notes.push_back(fmt::format(
        "{}: its kernels are stages of a pipeline; their cycles are what each adds to the run, and "
        "have no ratio to others",
        run.file));
  }
  comparison.labels = LabelsOf(runs);
  comparison.kernels = KernelsOf(runs);
  comparison.runs = std::move(runs);
  return comparison;
}

std::string ToText(const Comparison& c, int top) {
  constexpr size_t kNameWidth = 36;
  std::string out;
  for (const std::string& note : c.notes) out += "note: " + CleanUtf8(note) + '\n';
  if (!out.empty()) out += '\n';
  std::vector<std::string> labels = c.labels;
  if (std::optional<std::string> list = NumberRuns(&labels)) out += *list + '\n';
  const auto add_runs = [&](Table& table) {
    for (size_t r = 0; r < c.runs.size(); ++r) {
      table.Right(labels[r]);
      if (r > 0) table.Right("");
    }
  };
  Table figures;
  figures.Column("");
  add_runs(figures);
  for (const ComparedFigure& figure : kComparedFigures) {
    std::vector<std::string> cells = {figure.name};
    bool any = false;
    for (size_t r = 0; r < c.runs.size(); ++r) {
      const std::optional<double>& value = c.runs[r].*figure.value;
      any = any || value.has_value();
      cells.push_back(value.has_value() ? figure.format(*value) : "-");
      if (r > 0) cells.push_back(Against(c.runs[0].*figure.value, value, figure.is_share));
    }
    if (any) figures.Row(std::move(cells));
  }
  const auto add_row = [&](const char* name, std::string (*text)(const SavedRun&)) {
    std::vector<std::string> cells = {name};
    for (size_t r = 0; r < c.runs.size(); ++r) {
      cells.push_back(text(c.runs[r]));
      if (r > 0) cells.emplace_back();
    }
    figures.Row(std::move(cells));
  };
  for (const ComparedText& row : kComparedTexts) {
    if (IsShown(row, c.runs)) add_row(row.name, row.text);
  }
  out += figures.ToString();

  std::vector<const Comparison::Kernel*> slowest;
  for (const Comparison::Kernel& kernel : c.kernels) slowest.push_back(&kernel);
  StableSort(&slowest, [&](const Comparison::Kernel* a, const Comparison::Kernel* b) {
    return MostCycles(c, *a) > MostCycles(c, *b);
  });
  const auto shown = static_cast<size_t>(std::min<int64_t>(top, std::ssize(slowest)));
  if (shown == 0) return out;
  Table kernels;
  kernels.Column("cycles by kernel");
  add_runs(kernels);
  kernels.Column("");
  std::vector<std::string> names;
  for (size_t k = 0; k < shown; ++k) names.push_back(slowest[k]->name);
  names = ShortenApart(names, kNameWidth);
  for (size_t k = 0; k < shown; ++k) {
    const Comparison::Kernel& kernel = *slowest[k];
    std::vector<std::string> cells = {names[k]};
    for (size_t r = 0; r < c.runs.size(); ++r) {
      cells.push_back(KernelText(c, kernel, r));
      if (r > 0) cells.push_back(Against(FirstCycles(c, kernel, r), CyclesAt(c, kernel, r), false));
    }
    cells.push_back(OnlyIn(labels, kernel));
    kernels.Row(std::move(cells));
  }
  out += '\n' + kernels.ToString();
  if (shown < slowest.size())
    out += fmt::format("and {} (--top N shows more)\n",
                       Counted(std::ssize(slowest) - static_cast<int64_t>(shown), "other"));
  return out;
}

std::string ToJson(const Comparison& c) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const std::optional<double>& value) {
    return value.has_value() ? Json(*value) : Json(nullptr);
  };
  const auto ratio = [](const std::optional<double>& first, const std::optional<double>& value) {
    return first.has_value() && value.has_value() && *first > 0 ? Json(*value / *first)
                                                                : Json(nullptr);
  };
  Json json;
  json["kiln_comparison"] = 1;
  json["runs"] = Json::array();
  for (size_t r = 0; r < c.runs.size(); ++r) {
    const SavedRun& run = c.runs[r];
    Json figures = {
        {"label", c.labels[r]},
        {"file", run.file},
        {"model", run.model},
        {"accelerator", run.accelerator.empty() ? Json(nullptr) : Json(run.accelerator)},
        {"format", run.format.empty() ? Json(nullptr) : Json(run.format)},
        {"memory", run.memory.empty() ? Json(nullptr) : Json(run.memory)},
        {"optimise", run.objective.empty() ? Json(nullptr) : Json(run.objective)}};
    Json ratios = Json::object();
    for (const ComparedFigure& figure : kComparedFigures) {
      figures[figure.key] = or_null(run.*figure.value);
      ratios[figure.key] = ratio(c.runs[0].*figure.value, run.*figure.value);
    }
    figures["host_share"] = run.host_share;
    figures["partial"] = run.partial;
    figures["estimated"] = run.estimated;
    figures["clock_confirmed"] = run.clock_confirmed;
    figures["ratio_to_first"] = std::move(ratios);
    json["runs"].push_back(std::move(figures));
  }
  json["kernels"] = Json::array();
  for (const Comparison::Kernel& kernel : c.kernels) {
    Json runs = Json::array();
    for (size_t r = 0; r < c.runs.size(); ++r) {
      const SavedKernel* const saved = KernelAt(c, kernel, r);
      if (saved == nullptr) {
        runs.push_back(nullptr);
        continue;
      }
      runs.push_back(
          {{"operation", saved->operation},
           {"on_host", saved->on_host},
           {"cycles", or_null(CyclesAt(c, kernel, r))},
           {"cycles_to_first", ratio(FirstCycles(c, kernel, r), CyclesAt(c, kernel, r))}});
    }
    json["kernels"].push_back({{"name", kernel.name}, {"runs", std::move(runs)}});
  }
  json["notes"] = c.notes;
  return JsonText(json);
}

namespace {

// A cell of figures: the value, its bar, and how it compares with the first run.
std::string FigureCell(const std::string& value, double share, const std::string& against,
                       size_t run) {
  return fmt::format(R"(<td class="n">{}{}<span class="faint">{}</span></td>)", EscapeHtml(value),
                     html::ShareBar(share, fmt::format("u{}", run % 8)), EscapeHtml(against));
}

std::string HeadOf(const Comparison& c, std::string_view title) {
  std::string out = fmt::format(R"(<div class="scroll"><table class="runs"><thead><tr><th>{}</th>)",
                                EscapeHtml(title));
  for (const std::string& label : c.labels)
    out += fmt::format(R"(<th class="n">{}</th>)", EscapeHtml(label));
  return out;
}

std::string FigureTable(const Comparison& c) {
  std::string out = HeadOf(c, "") + "</tr></thead><tbody>";
  for (const ComparedFigure& figure : kComparedFigures) {
    double most = 0;
    for (const SavedRun& run : c.runs) most = std::max(most, (run.*figure.value).value_or(0));
    if (most <= 0) continue;
    out += fmt::format(R"(<tr><td>{}</td>)", figure.name);
    for (size_t r = 0; r < c.runs.size(); ++r) {
      const std::optional<double>& value = c.runs[r].*figure.value;
      out += !value.has_value()
                 ? R"(<td class="n">-</td>)"
                 : FigureCell(
                       figure.format(*value), *value / most,
                       r == 0 ? "" : Against(c.runs[0].*figure.value, value, figure.is_share), r);
    }
    out += "</tr>";
  }
  const auto row = [&](const char* name, std::string (*text)(const SavedRun&)) {
    out += fmt::format("<tr><td>{}</td>", name);
    for (const SavedRun& run : c.runs)
      out += fmt::format(R"(<td class="words">{}</td>)", EscapeHtml(text(run)));
    out += "</tr>";
  };
  for (const ComparedText& text : kComparedTexts) {
    if (IsShown(text, c.runs)) row(text.name, text.text);
  }
  row("read from", [](const SavedRun& run) { return run.file; });
  return out + "</tbody></table></div>";
}

std::string KernelsTable(const Comparison& c) {
  double most = 0;
  for (const Comparison::Kernel& kernel : c.kernels) most = std::max(most, MostCycles(c, kernel));
  std::string out = HeadOf(c, "kernel") + "</tr></thead><tbody>";
  for (const Comparison::Kernel& kernel : c.kernels) {
    const std::string only = OnlyIn(c.labels, kernel);
    out += fmt::format(R"(<tr><td class="name">{}<div class="faint">{}</div></td>)",
                       EscapeHtml(kernel.name), EscapeHtml(only));
    for (size_t r = 0; r < c.runs.size(); ++r) {
      const std::optional<double> cycles = CyclesAt(c, kernel, r);
      if (!cycles.has_value()) {
        out += fmt::format(R"(<td class="n faint">{}</td>)", KernelText(c, kernel, r));
        continue;
      }
      out += FigureCell(Counts(*cycles), most > 0 ? *cycles / most : 0,
                        r > 0 ? Against(FirstCycles(c, kernel, r), cycles, false) : "", r);
    }
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

}  // namespace

std::string ToHtml(const Comparison& c) {
  const std::string title =
      fmt::format("{} on {}", c.runs[0].model, Counted(std::ssize(c.runs), "accelerator"));
  std::string out = html::PageHead(title, EscapeHtml(title));
  for (const std::string& note : c.notes)
    out += fmt::format(R"(<p class="bad">Note: {}.</p>)", EscapeHtml(note));
  out += "<h2>Figures</h2>\n" + FigureTable(c) + "\n";
  out += "<h2>Cycles by kernel</h2>\n" + KernelsTable(c) + "\n";
  out += R"(<p class="note">Kernels are matched by name. Below the cycles is their ratio to the )"
         R"(first run's.</p>)";
  return out + "<footer>Written by kiln compare.</footer></main></body></html>\n";
}

}  // namespace kiln
