// Parses the memory behind a machine and converts it to cycles.
#include "kiln/flow/outer_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "kiln/report/performance.h"
#include "kiln/report/text.h"
#include "kiln/support/excerpt.h"

namespace kiln {
namespace {

struct MemoryUnit {
  std::string_view name;
  double factor;
};
constexpr MemoryUnit kBandwidths[] = {{"B/s", 1},
                                      {"kB/s", 1e3},
                                      {"MB/s", 1e6},
                                      {"GB/s", 1e9},
                                      {"TB/s", 1e12},
                                      {"KiB/s", 1024},
                                      {"MiB/s", 1024 * 1024.0},
                                      {"GiB/s", 1073741824.0}};
constexpr MemoryUnit kTimes[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}};
// The cycle level simulates such a memory cycle by cycle.
constexpr double kLeastBandwidth = 1e6, kMostBandwidth = 1e15, kMostSeconds = 1e-3;

// Returns a number with a unit, blanks around and between allowed; nullopt if it is none.
std::optional<double> Quantity(std::string_view text, std::span<const MemoryUnit> units) {
  const auto trim = [](std::string_view part) {
    const size_t first = part.find_first_not_of(' ');
    if (first == std::string_view::npos) return std::string_view();
    return part.substr(first, part.find_last_not_of(' ') - first + 1);
  };
  text = trim(text);
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = trim(text.substr(static_cast<size_t>(end - text.data())));
  const auto row = std::ranges::find(units, unit, &MemoryUnit::name);
  if (row == units.end() || !std::isfinite(number)) return std::nullopt;
  return number * row->factor;
}

// Returns the clock of the accelerator's figures in MHz. Error: it is not known.
StatusOr<double> ClockOf(const Accelerator& accelerator, int node_nm) {
  const StatusOr<Cost> cost = accelerator.EstimateCost(node_nm);
  const double mhz =
      ClockOfFigures(accelerator.ClockMhz(), cost.ok() ? cost->clock : MachineClock());
  if (mhz > 0) return mhz;
  return ErrorAt("", accelerator.name(),
                 "its clock is not known, so that --memory cannot be converted to cycles",
                 "add clock_mhz to the design point");
}

// Returns the error about a latency that no variant of the accelerator can have. `fault` is the
// variant's, which is written by Kiln, so that the line in it is not one of a file.
Status LatencyFault(const OuterMemory& memory, const RunReport::Memory& timed,
                    const Accelerator& accelerator, const Status& fault) {
  std::string reason = MessageOf(fault);
  if (const size_t at = reason.find("key '"); at != std::string::npos) reason = reason.substr(at);
  return ErrorAt("", "--memory",
                 fmt::format("the latency in {} is {} cycles at {} MHz, too many for the ports of "
                             "'{}'",
                             QuotedExcerpt(memory.text), timed.latency_cycles,
                             ThreeDigits(timed.mhz), accelerator.name()),
                 reason);
}

}  // namespace

StatusOr<OuterMemory> ParseOuterMemory(std::string_view text) {
  const auto fault = [&](const std::string& why) {
    return ErrorAt("", "--memory", fmt::format("{} {}", QuotedExcerpt(std::string(text)), why),
                   "write bandwidth and latency, such as 19.2GB/s,100ns, and then, if wanted, the "
                   "time that a row miss adds");
  };
  const size_t comma = text.find(',');
  if (comma == std::string_view::npos) return fault("does not have two parts");
  std::string_view times = text.substr(comma + 1);
  std::optional<double> row_miss = 0;
  if (const size_t second = times.find(','); second != std::string_view::npos) {
    row_miss = Quantity(times.substr(second + 1), kTimes);
    times = times.substr(0, second);
  }
  const std::optional<double> bandwidth = Quantity(text.substr(0, comma), kBandwidths),
                              latency = Quantity(times, kTimes);
  if (!bandwidth.has_value())
    return fault("does not begin with a bandwidth in B/s, kB/s, MB/s, GB/s, TB/s, or KiB/s and up");
  if (!latency.has_value()) return fault("does not go on with a latency in ns, us or ms");
  if (!row_miss.has_value()) return fault("does not end with a time in ns, us or ms");
  if (*bandwidth < kLeastBandwidth || *bandwidth > kMostBandwidth)
    return fault("has a bandwidth outside 1 MB/s to 1000 TB/s");
  if (*latency < 0 || *latency > kMostSeconds) return fault("has a latency outside 0 to 1 ms");
  if (*row_miss < 0 || *row_miss > kMostSeconds) return fault("has a row miss outside 0 to 1 ms");
  return OuterMemory{*bandwidth, *latency, *row_miss, std::string(text)};
}

StatusOr<double> ParseTime(std::string_view text, std::string_view option) {
  constexpr MemoryUnit kUnits[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  const std::optional<double> seconds = Quantity(text, kUnits);
  if (seconds.has_value() && *seconds > 0) return *seconds;
  return ErrorAt("", option, fmt::format("{} is no time", QuotedExcerpt(std::string(text))),
                 "write a number above 0 and ns, us, ms or s, such as 1ms");
}

RunReport::Memory MemoryAtClock(const OuterMemory& memory, double mhz) {
  const auto whole = [mhz](double seconds) {
    // Without the guard, 100 ns at 100 MHz could be 10.000000000000002 cycles.
    constexpr double kRounding = 1e-9;
    const double cycles = seconds * 1e6 * mhz;
    return static_cast<int64_t>(std::ceil(cycles - kRounding * std::max(1.0, cycles)));
  };
  return {.text = memory.text,
          .mhz = mhz,
          .bytes_per_cycle = memory.bytes_per_second / (1e6 * mhz),
          .latency_cycles = std::max<int64_t>(1, whole(memory.seconds)),
          .row_miss_cycles = whole(memory.row_miss_seconds)};
}

Status AdaptToMemory(const OuterMemory& memory, CompileOptions* compile,
                     std::unique_ptr<Accelerator>* accelerator, RunReport* report) {
  const Accelerator& given = **accelerator;
  if (!given.SimulatesMemory()) {
    return UnsupportedAt("", given.name(),
                         "the streams of this design point cannot be put behind a memory",
                         "leave --memory out");
  }
  if (given.MostMemoryLatency() == 0) return OkStatus();  // readers and writers take any latency
  std::unique_ptr<Accelerator> adapted;
  RunReport::Memory timed;
  // The adapted machine can have another clock, at which the memory takes more cycles. Each round
  // adapts the machine to more of them.
  while (true) {
    const Accelerator& machine = adapted != nullptr ? *adapted : given;
    KILN_ASSIGN_OR_RETURN(const double mhz, ClockOf(machine, compile->node_nm));
    timed = MemoryAtClock(memory, mhz);
    if (timed.latency_cycles <= static_cast<int64_t>(machine.MostMemoryLatency())) break;
    auto next = given.WithMemoryLatency(static_cast<uint64_t>(timed.latency_cycles));
    if (!next.ok()) return LatencyFault(memory, timed, given, next.status());
    adapted = *std::move(next);
  }
  compile->memory_bytes_per_cycle = timed.bytes_per_cycle;
  if (adapted == nullptr) return OkStatus();
  *accelerator = std::move(adapted);
  report->notes.push_back(
      fmt::format("the ports keep requests in flight for the memory's {} cycles, by another "
                  "memory_latency than the design point's",
                  timed.latency_cycles));
  return OkStatus();
}

Status ApplyMemory(const OuterMemory& memory, const Accelerator& accelerator, RunReport* report,
                   RtlOptions* rtl) {
  if (!report->traffic.has_value()) {
    return UnsupportedAt("", accelerator.name(), "bytes by kernel are not known for --memory", "");
  }
  KILN_ASSIGN_OR_RETURN(const double mhz, ClockOf(accelerator, report->machine->cost.node_nm));
  RunReport::Memory timed = MemoryAtClock(memory, mhz);
  if (memory.seconds == 0) {
    report->notes.emplace_back(
        "no memory answers in the cycle of the request: the latency of 0 in --memory is 1 cycle");
  }
  rtl->memory_latency = static_cast<uint64_t>(timed.latency_cycles);
  rtl->dram_bytes_per_cycle = timed.bytes_per_cycle;
  rtl->dram_row_miss = static_cast<uint64_t>(timed.row_miss_cycles);
  report->traffic->PutBehindMemory(timed.bytes_per_cycle);
  report->memory = std::move(timed);
  return OkStatus();
}

}  // namespace kiln
