// Computes time, rate and efficiency from cycles, area and energy, and formats them.
#include "kiln/report/performance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "kiln/report/text.h"

namespace kiln {
namespace {

// Returns the sum of the compiler's estimates; 0 if a kernel of the accelerator has none in cycles.
int64_t EstimatedCycles(const std::vector<KernelInfo>& kernels) {
  double cycles = 0;
  for (const KernelInfo& kernel : kernels) {
    if (kernel.on_host()) continue;
    if (kernel.certificate.unit != "cycles") return 0;
    cycles += kernel.certificate.cost;
  }
  return static_cast<int64_t>(cycles);
}

void AddClock(const MachineClock& clock, Performance* performance) {
  performance->unknown = clock.unknown();
  if (!clock.known()) return;
  performance->modelled_mhz = clock.mhz;
  performance->in_place = clock.in_place;
}

// Returns " at 500 MHz"; empty if the clock is not known.
std::string AtClock(const Performance& p) {
  return p.mhz > 0 ? fmt::format(" at {:.5g} MHz", p.mhz) : std::string();
}

}  // namespace

double ClockOfFigures(double clock_mhz, const MachineClock& clock) {
  if (!clock.known()) return clock_mhz;
  return clock_mhz > 0 ? std::min(clock_mhz, clock.mhz) : clock.mhz;
}

int64_t MemoryCycles(const RunReport& report) {
  if (!report.memory.has_value() || !report.traffic.has_value()) return 0;
  const Traffic& traffic = *report.traffic;
  const int64_t runs = traffic.RunsFor(report.trace.has_value() ? report.trace->images : 1);
  const auto cycles = [runs](int64_t bytes, double bytes_per_cycle) {
    return static_cast<int64_t>(std::ceil(static_cast<double>(runs * bytes) / bytes_per_cycle));
  };
  int64_t bytes = 0;
  for (size_t k = 0; k < traffic.bytes.size(); ++k) bytes += traffic.Bytes(k);
  int64_t least = cycles(bytes, report.memory->bytes_per_cycle);
  for (size_t p = 0; p < traffic.ports.size(); ++p) {
    if (traffic.ports[p].shared)
      least = std::max(least, cycles(traffic.BytesOf(p), traffic.ports[p].bytes_per_cycle));
  }
  return least;
}

std::optional<Performance> PerformanceOf(const RunReport& report) {
  if (!report.machine.has_value()) return std::nullopt;
  const RunReport::Machine& machine = *report.machine;
  Performance p;
  p.clock_mhz = machine.clock_mhz;
  p.node_nm = machine.cost.node_nm;
  if (report.trace.has_value()) p.images = report.trace->images;
  p.estimated = report.cycles_per_image.empty();
  // Kernels of machines that pipeline images overlap, so that their sum says nothing.
  if (!p.estimated) {
    p.cycles = report.cycles_per_image.front();
  } else if (report.interval_cycles == 0) {
    p.cycles = EstimatedCycles(report.kernels);
  }
  for (const KernelInfo& kernel : report.kernels) {
    if (!kernel.on_host()) p.operations += 2 * kernel.macs;
  }
  AddClock(machine.cost.clock, &p);
  if (report.energy.has_value() && report.energy->picojoules() > 0 && p.operations > 0)
    p.tops_per_watt = static_cast<double>(p.operations) / report.energy->picojoules();
  p.mhz = ClockOfFigures(machine.clock_mhz, machine.cost.clock);
  if (p.mhz <= 0) return p;
  const double hertz = 1e6 * p.mhz;
  if (p.cycles > 0) p.seconds = static_cast<double>(p.cycles) / hertz;
  if (report.interval_cycles > 0) {
    p.images_per_second = hertz / static_cast<double>(report.interval_cycles);
  } else if (p.seconds.has_value()) {
    p.images_per_second = static_cast<double>(p.images) / *p.seconds;
  }
  if (!p.images_per_second.has_value()) return p;
  if (report.energy.has_value())
    p.watts = 1e-12 * report.energy->picojoules() * *p.images_per_second;
  if (p.operations == 0) return p;
  p.gops = 1e-9 * static_cast<double>(p.operations) * *p.images_per_second;
  if (machine.cost.area_square_micrometres > 0)
    p.gops_per_mm2 = *p.gops / (1e-6 * machine.cost.area_square_micrometres);
  return p;
}

std::string Milliseconds(double seconds) {
  const double value = 1e3 * seconds;
  return value < 999.5 ? fmt::format("{} ms", ThreeDigits(value))
                       : fmt::format("{} ms", Thousands(static_cast<int64_t>(std::llround(value))));
}

std::string ImagesPerSecond(double images_per_second) {
  return images_per_second < 100 ? ThreeDigits(images_per_second)
                                 : Thousands(static_cast<int64_t>(images_per_second));
}

std::string TimeText(const Performance& p) {
  std::string text;
  if (p.seconds.has_value()) {
    text = Milliseconds(*p.seconds) + AtClock(p);
  }
  if (p.images_per_second.has_value()) {
    text += fmt::format("{}{} images/s", text.empty() ? "" : ", ",
                        ImagesPerSecond(*p.images_per_second));
    if (!p.seconds.has_value()) text += AtClock(p);
  }
  return text;
}

std::string ClockLine(const Performance& p) {
  const std::string asked = p.clock_mhz > 0
                                ? fmt::format("{:g} MHz by the design point", p.clock_mhz)
                                : std::string("not stated by the design point");
  if (!p.modelled_mhz.has_value()) {
    return fmt::format("{}{}: {}", asked,
                       p.clock_mhz > 0 ? ", NOT CONFIRMED" : "; modelled: unknown", p.unknown);
  }
  const std::string modelled =
      fmt::format("{} MHz at {} nm", ThreeDigits(*p.modelled_mhz), p.node_nm);
  const std::string synthesis =
      fmt::format("synthesis of the whole machine{}{}", p.in_place.empty() ? "" : " ", p.in_place);
  if (p.confirmed()) return fmt::format("{}; {} confirms up to {}", asked, synthesis, modelled);
  return fmt::format("{}{}{} reaches {}", asked, p.clock_mhz > 0 ? ", NOT CONFIRMED: " : "; ",
                     synthesis, modelled);
}

std::string SpeedLine(const Performance& p) {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<double>& value, std::string_view unit) {
    if (value.has_value()) parts.push_back(fmt::format("{} {}", ThreeDigits(*value), unit));
  };
  if (p.seconds.has_value()) {
    parts.push_back(fmt::format(
        "{}{} per {}", p.estimated ? "estimated " : "", Milliseconds(*p.seconds),
        p.images == 1 ? std::string("image") : fmt::format("{} images at once", p.images)));
  }
  if (p.images_per_second.has_value()) {
    parts.push_back(ImagesPerSecond(*p.images_per_second) + " images/s");
  }
  add(p.gops, "GOPS");
  add(p.gops_per_mm2, "GOPS/mm²");
  add(p.watts, "W");
  add(p.tops_per_watt, "TOPS/W");
  if (parts.empty()) return "";
  return fmt::format("{}{}{}", fmt::join(parts, ", "), AtClock(p),
                     p.operations > 0
                         ? fmt::format("; {} operations an image, 2 per multiply-accumulate",
                                       Metric(static_cast<double>(p.operations), ""))
                         : std::string());
}

nlohmann::ordered_json PerformanceJson(const std::optional<Performance>& performance) {
  using Json = nlohmann::ordered_json;
  if (!performance.has_value()) return nullptr;
  const Performance& p = *performance;
  const auto figure = [](const std::optional<double>& value) {
    return value.has_value() ? Json(*value) : Json(nullptr);
  };
  const auto text = [](const std::string& value) {
    return value.empty() ? Json(nullptr) : Json(value);
  };
  return {{"cycles", p.cycles > 0 ? Json(p.cycles) : Json(nullptr)},
          {"cycles_estimated", p.estimated},
          {"images_at_once", p.images},
          {"operations_per_image", p.operations},
          {"seconds", figure(p.seconds)},
          {"images_per_second", figure(p.images_per_second)},
          {"gops", figure(p.gops)},
          {"gops_per_mm2", figure(p.gops_per_mm2)},
          {"watts", figure(p.watts)},
          {"tops_per_watt", figure(p.tops_per_watt)},
          {"at_mhz", p.mhz > 0 ? Json(p.mhz) : Json(nullptr)},
          {"clock_mhz", p.clock_mhz > 0 ? Json(p.clock_mhz) : Json(nullptr)},
          {"clock_confirmed", p.confirmed()},
          {"modelled_clock_mhz", figure(p.modelled_mhz)},
          {"clock_unknown_because", text(p.unknown)},
          {"node_nm", p.node_nm}};
}

}  // namespace kiln
