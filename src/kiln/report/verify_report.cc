// Compares the levels bit by bit and cycle by cycle, and formats the result.
#include "kiln/report/verify_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "kiln/report/text.h"
#include "kiln/support/json_text.h"

namespace kiln {
namespace {

// Returns the first byte of image `image` at which tensor `t` differs between two runs; -1 if none
// does. Codes are compared before outputs.
int64_t FirstDifference(const RunResult& a, const RunResult& b, size_t t, int64_t image) {
  for (const auto tensors : {&RunResult::codes, &RunResult::outputs}) {
    const Tensor &x = (a.*tensors)[t], &y = (b.*tensors)[t];
    const int64_t bytes = x.num_bytes() / std::max<int64_t>(x.shape()[0], 1);
    if (y.num_bytes() != x.num_bytes()) return 0;
    const std::byte *p = x.bytes() + image * bytes, *q = y.bytes() + image * bytes;
    if (std::memcmp(p, q, static_cast<size_t>(bytes)) == 0) continue;
    return std::mismatch(p, p + bytes, q).first - p;
  }
  return -1;
}

// Returns the images that differ from the functional level, and records the first difference.
std::vector<int64_t> Different(const char* level, const RunResult& functional,
                               const RunResult& other, VerifyReport* report) {
  std::vector<int64_t> different;
  for (int64_t image = 0; image < report->images; ++image) {
    bool same = functional.codes.size() == other.codes.size();
    for (size_t t = 0; same && t < functional.codes.size(); ++t) {
      const int64_t at = FirstDifference(functional, other, t, image);
      same = at < 0;
      if (!same && report->first_difference.empty()) {
        report->first_difference =
            fmt::format("image {}, output {}, byte {}, {} level", image, t, at, level);
      }
    }
    if (!same) different.push_back(image);
  }
  return different;
}

// Returns the counters of units that both runs have; counters that are 0 in both are left out.
std::vector<VerifiedCounter> CountersOf(const Trace& cycle, const Trace& rtl) {
  std::vector<VerifiedCounter> counters;
  for (const UnitTrace& unit : cycle.units) {
    const auto other =
        std::find_if(rtl.units.begin(), rtl.units.end(),
                     [&unit](const UnitTrace& other) { return other.name == unit.name; });
    if (other == rtl.units.end()) continue;
    const auto add = [&](std::string name, int64_t a, int64_t b, bool timed) {
      if (a != 0 || b != 0) counters.push_back({unit.name, std::move(name), a, b, timed});
    };
    add("busy", unit.busy_cycles, other->busy_cycles, true);
    std::map<std::string, std::pair<int64_t, int64_t>> stalls;
    for (const auto& [cause, cycles] : unit.stall_cycles) stalls[cause].first = cycles;
    for (const auto& [cause, cycles] : other->stall_cycles) stalls[cause].second = cycles;
    for (const auto& [cause, cycles] : stalls)
      add("waiting: " + cause, cycles.first, cycles.second, true);
    add("bytes read", unit.bytes_read, other->bytes_read, false);
    add("bytes written", unit.bytes_written, other->bytes_written, false);
  }
  return counters;
}

// Returns the first image that differs in bits or, if timed, in cycles; -1 if none does.
int64_t FirstDifferentImage(const VerifyReport& report,
                            const std::vector<int64_t>& different_bits) {
  int64_t first = different_bits.empty() ? -1 : different_bits[0];
  if (!report.timed) return first;
  const auto [cycle, rtl] =
      std::mismatch(report.cycle_level_cycles.begin(), report.cycle_level_cycles.end(),
                    report.rtl_cycles.begin(), report.rtl_cycles.end());
  const int64_t image = cycle - report.cycle_level_cycles.begin();
  if (cycle != report.cycle_level_cycles.end() && (first < 0 || image < first)) first = image;
  // Kernels and counters are recorded for image 0 only.
  return report.cycles_agree() && report.counters_agree() ? first : std::max<int64_t>(first, 0);
}

std::string Agreement(bool agrees) { return agrees ? "the same" : "DIFFERENT"; }

}  // namespace

bool VerifyReport::cycles_agree() const {
  if (!timed) return true;
  return cycle_level_cycles == rtl_cycles &&
         std::all_of(kernels.begin(), kernels.end(),
                     [](const VerifiedKernel& k) { return k.cycle_level == k.rtl; });
}

double VerifyReport::verified_share() const {
  int64_t verified = 0, host = 0;
  for (const VerifiedKernel& kernel : kernels) verified += kernel.operations;
  for (const HostKernel& kernel : host_kernels) host += kernel.operations;
  if (verified + host == 0) return host_kernels.empty() ? 1 : 0;
  return static_cast<double>(verified) / static_cast<double>(verified + host);
}

bool VerifyReport::counters_agree() const {
  return std::all_of(counters.begin(), counters.end(), [this](const VerifiedCounter& c) {
    return !Compared(c) || c.cycle_level == c.rtl;
  });
}

void CompareLevels(const Program& program, const RunResult& functional, const RunResult& cycle,
                   const RunResult& rtl, VerifyReport* report) {
  report->different_at_cycle_level = std::ssize(Different("cycle", functional, cycle, report));
  const std::vector<int64_t> different = Different("rtl", functional, rtl, report);
  report->different_at_rtl = std::ssize(different);
  report->cycle_level_cycles = cycle.cycles_per_image;
  report->rtl_cycles = rtl.cycles_per_image;
  const auto cycles_of = [](const RunResult& run, int kernel) {
    int64_t cycles = 0;
    for (const KernelTrace& k : run.trace.kernels)
      cycles += k.kernel == kernel ? k.end - k.begin : 0;
    return cycles;
  };
  for (size_t k = 0; k < program.kernels().size(); ++k) {
    const KernelInfo& info = program.kernels()[k];
    if (info.on_host()) {
      report->host_kernels.push_back(
          {info.name, info.operation, info.operations, info.host_reason});
      continue;
    }
    const int number = static_cast<int>(k);
    report->kernels.push_back({info.name, info.operation, info.operations, cycles_of(cycle, number),
                               cycles_of(rtl, number)});
  }
  report->counters = CountersOf(cycle.trace, rtl.trace);
  report->first_different_image = FirstDifferentImage(*report, different);
}

namespace {

// Describes the recording, or why there is none.
std::string WaveformText(const VerifyReport& r) {
  const VerifiedWaveform& wave = *r.waveform;
  if (wave.image < 0) return "none: no image differs";
  if (!wave.fault.empty()) return "none: " + wave.fault;
  if (!wave.window.recorded)
    return fmt::format("none: image {} runs like at the cycle level", wave.image);
  return fmt::format("{}: image {}, cycles {} to {}, first different kernel {}", wave.file,
                     wave.image, Thousands(wave.window.begin), Thousands(wave.window.end),
                     wave.kernel);
}

// The table of counters at both timed levels; differences are marked.
std::string CounterTable(const VerifyReport& r) {
  Table table;
  table.Column("unit").Column("counter").Right("cycle level").Right("rtl").Column("");
  std::string unit;
  for (const VerifiedCounter& c : r.counters) {
    const bool differs = r.Compared(c) && c.cycle_level != c.rtl;
    table.Row({unit == c.unit ? "" : c.unit, c.name, Thousands(c.cycle_level), Thousands(c.rtl),
               differs ? "DIFFERENT" : ""});
    unit = c.unit;
  }
  return table.ToString();
}

}  // namespace

namespace {

// Returns how much of the network was compared, and how much runs on the host.
std::string VerifiedText(const VerifyReport& r) {
  const auto all = std::ssize(r.kernels) + std::ssize(r.host_kernels);
  std::string out = fmt::format("{} of {}, with {} of the operations", r.kernels.size(),
                                Counted(all, "kernel"), Percent(r.verified_share(), 2));
  if (!r.host_kernels.empty()) {
    out +=
        fmt::format("; the host runs {}, with {}, the same at every level",
                    r.host_kernels.size() == 1 ? "the other"
                                               : fmt::format("the other {}", r.host_kernels.size()),
                    Percent(1 - r.verified_share(), 2));
  }
  return out;
}

// Returns the names of kernels as tables show them.
template <typename Kernels>
std::vector<std::string> NamesOf(const Kernels& kernels) {
  constexpr size_t kLongest = 40;
  std::vector<std::string> names;
  for (const auto& kernel : kernels) names.push_back(kernel.name);
  return ShortenApart(names, kLongest);
}

// The table of kernels that were not compared.
std::string HostKernelTable(const VerifyReport& r) {
  Table table;
  table.Column("not verified: on the host")
      .Column("operation")
      .Right("operations")
      .Column("because");
  const std::vector<std::string> names = NamesOf(r.host_kernels);
  for (size_t i = 0; i < names.size(); ++i) {
    const HostKernel& k = r.host_kernels[i];
    table.Row({names[i], Shorten(k.operation, 48), Thousands(k.operations), k.reason});
  }
  return table.ToString();
}

}  // namespace

std::string ToText(const VerifyReport& r) {
  Table table;
  table.Column("kernel").Column("operation").Right("cycle level").Right("rtl");
  if (r.timed) table.Column("");
  const std::vector<std::string> names = NamesOf(r.kernels);
  for (size_t i = 0; i < names.size(); ++i) {
    const VerifiedKernel& k = r.kernels[i];
    std::vector<std::string> row = {names[i], Shorten(k.operation, 48), Thousands(k.cycle_level),
                                    Thousands(k.rtl)};
    if (r.timed) row.push_back(k.cycle_level == k.rtl ? "" : "DIFFERENT");
    table.Row(std::move(row));
  }
  std::string out = fmt::format("model        {}\naccelerator  {}\nimages       {}\n\n", r.model,
                                r.accelerator, r.images);
  out += table.ToString();
  if (!r.host_kernels.empty()) out += "\n" + HostKernelTable(r);
  if (!r.counters.empty()) out += "\n" + CounterTable(r);
  const int64_t cycle = r.cycle_level_cycles.empty() ? 0 : r.cycle_level_cycles[0];
  const int64_t rtl = r.rtl_cycles.empty() ? 0 : r.rtl_cycles[0];
  out += fmt::format("\nverified     {}\nregisters    random at power-up, seed {} (--seed)\n",
                     VerifiedText(r), r.seed);
  out +=
      fmt::format("bits         {}: functional, cycle and rtl level\n", Agreement(r.bits_agree()));
  if (!r.first_difference.empty())
    out += fmt::format("             first difference: {}\n", r.first_difference);
  if (r.timed) {
    out += fmt::format("cycles       {}: {} at the cycle level, {} in RTL (first image)\n",
                       Agreement(r.cycles_agree()), Thousands(cycle), Thousands(rtl));
  } else {
    out += fmt::format(
        "cycles       not compared, {}: {} in RTL, {} at the cycle level (first image)\n",
        r.untimed_reason, Thousands(rtl), Thousands(cycle));
  }
  if (r.performance.has_value()) {
    out += fmt::format("clock        {}\n", ClockLine(*r.performance));
    if (const std::string speed = SpeedLine(*r.performance); !speed.empty())
      out += fmt::format("speed        {}\n", speed);
  }
  if (!r.counters.empty()) {
    out += fmt::format("counters     {}: what the units did, {} (first image)\n",
                       Agreement(r.counters_agree()), r.timed ? "in cycles and bytes" : "in bytes");
  }
  if (r.waveform.has_value()) out += "waveform     " + WaveformText(r) + "\n";
  out += fmt::format(
      "time         functional {:.2f} s, cycle {:.2f} s, rtl {:.2f} s with emitting and building\n",
      r.functional_seconds, r.cycle_seconds, r.rtl_seconds);
  for (const std::string& note : r.notes) out += fmt::format("note         {}\n", note);
  return out;
}

std::string ToJson(const VerifyReport& r) {
  nlohmann::ordered_json json = {{"model", r.model},
                                 {"accelerator", r.accelerator},
                                 {"optimise", r.objective},
                                 {"images", r.images},
                                 {"agrees", r.agrees()},
                                 {"bits_agree", r.bits_agree()},
                                 {"cycles_compared", r.timed},
                                 {"cycles_not_compared_because", r.untimed_reason},
                                 {"cycles_agree", r.cycles_agree()},
                                 {"different_at_cycle_level", r.different_at_cycle_level},
                                 {"different_at_rtl", r.different_at_rtl},
                                 {"first_difference", r.first_difference},
                                 {"cycle_level_cycles", r.cycle_level_cycles},
                                 {"rtl_cycles", r.rtl_cycles},
                                 {"seed", r.seed},
                                 {"verified_share", r.verified_share()},
                                 {"host_share", 1 - r.verified_share()}};
  json["kernels"] = nlohmann::ordered_json::array();
  for (const VerifiedKernel& k : r.kernels) {
    json["kernels"].push_back({{"name", k.name},
                               {"operation", k.operation},
                               {"operations", k.operations},
                               {"cycle_level", k.cycle_level},
                               {"rtl", k.rtl}});
  }
  json["host_kernels"] = nlohmann::ordered_json::array();
  for (const HostKernel& k : r.host_kernels) {
    json["host_kernels"].push_back({{"name", k.name},
                                    {"operation", k.operation},
                                    {"operations", k.operations},
                                    {"because", k.reason}});
  }
  json["counters_agree"] = r.counters_agree();
  json["counters"] = nlohmann::ordered_json::array();
  for (const VerifiedCounter& c : r.counters) {
    json["counters"].push_back({{"unit", c.unit},
                                {"name", c.name},
                                {"compared", r.Compared(c)},
                                {"cycle_level", c.cycle_level},
                                {"rtl", c.rtl}});
  }
  json["waveform"] = nullptr;
  if (r.waveform.has_value() && r.waveform->window.recorded) {
    json["waveform"] = {{"file", r.waveform->file},
                        {"image", r.waveform->image},
                        {"kernel", r.waveform->kernel},
                        {"begin", r.waveform->window.begin},
                        {"end", r.waveform->window.end}};
  }
  json["performance"] = PerformanceJson(r.performance);
  json["no_waveform_because"] = r.waveform.has_value() ? r.waveform->fault : "";
  json["seconds"] = {
      {"functional", r.functional_seconds}, {"cycle", r.cycle_seconds}, {"rtl", r.rtl_seconds}};
  json["notes"] = r.notes;
  return JsonText(json);
}

}  // namespace kiln
