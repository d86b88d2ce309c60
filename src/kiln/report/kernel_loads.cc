// Derives loads and limits from the program's traffic and the trace's busy cycles.
#include "kiln/report/kernel_loads.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/report/text.h"

namespace kiln {
namespace {

constexpr size_t kUnitWidth = 20;  // characters of a unit's name; stages have the names of layers

// Sets the port that needs the most cycles, and that number of cycles.
double LoadPort(const Traffic& traffic, const std::vector<int64_t>& bytes, KernelLoad* load) {
  double most = 0;
  for (size_t p = 0; p < traffic.ports.size(); ++p) {
    const double cycles = static_cast<double>(bytes[p]) / traffic.ports[p].bytes_per_cycle;
    if (bytes[p] == 0 || cycles <= most) continue;
    most = cycles;
    load->port = static_cast<int>(p);
    load->port_bytes = bytes[p];
  }
  return most;
}

// Sets the unit that computes for the most cycles on the kernel, and returns these cycles.
double LoadUnit(const Trace& trace, int kernel, KernelLoad* load) {
  std::vector<int64_t> busy(trace.units.size());
  for (const KernelTrace& entry : trace.kernels) {
    if (entry.kernel != kernel) continue;
    for (size_t u = 0; u < std::min(busy.size(), entry.busy_cycles.size()); ++u)
      busy[u] += entry.busy_cycles[u];
  }
  int64_t most = 0;
  for (size_t u = 0; u < busy.size(); ++u) {
    if (trace.units[u].transfers || busy[u] <= most) continue;
    most = busy[u];
    load->unit = trace.units[u].name;
  }
  return static_cast<double>(most);
}

// Whether the trace says what units did for kernels.
bool HasBusyCycles(const Trace& trace) {
  return std::any_of(trace.kernels.begin(), trace.kernels.end(),
                     [](const KernelTrace& kernel) { return !kernel.busy_cycles.empty(); });
}

Limit LimitOf(const KernelLoad& load, bool pipelined) {
  if (std::max(load.compute_share, load.port_share) < kBoundingShare)
    return pipelined ? Limit::kPipeline : Limit::kLatency;
  return load.compute_share >= load.port_share ? Limit::kCompute : Limit::kBandwidth;
}

}  // namespace

std::string_view NameOf(Limit limit) {
  switch (limit) {
    case Limit::kUnknown:
      return "";
    case Limit::kCompute:
      return "compute";
    case Limit::kBandwidth:
      return "bandwidth";
    case Limit::kLatency:
      return "latency";
    case Limit::kPipeline:
      return "pipeline";
  }
  return "";
}

std::string LimitText(const KernelLoad& load, const Traffic& traffic) {
  std::string name(NameOf(load.limit));
  if (load.limit == Limit::kCompute) {
    return fmt::format("{} ({} {})", name,
                       load.unit.empty() ? "peak" : Shorten(load.unit, kUnitWidth),
                       Percent(load.compute_share));
  }
  if (load.limit == Limit::kBandwidth) {
    return fmt::format("{} ({} {})", name, traffic.ports[static_cast<size_t>(load.port)].name,
                       Percent(load.port_share));
  }
  return name;
}

std::vector<KernelLoad> KernelLoads(const RunReport& report) {
  std::vector<KernelLoad> loads;
  if (!report.traffic.has_value() || report.traffic->bytes.size() > report.kernels.size())
    return loads;
  const std::vector<KernelRow> rows = KernelRows(report);
  const double peak = report.machine.has_value() ? report.machine->peak_macs_per_cycle : 0;
  const int64_t images = report.trace.has_value() ? report.trace->images : 1;
  const int64_t times = report.traffic->RunsFor(images);
  for (size_t k = 0; k < report.kernels.size(); ++k) {
    const KernelInfo& kernel = report.kernels[k];
    KernelLoad& load = loads.emplace_back();
    load.kernel = static_cast<int>(k);
    load.multiplies = kernel.macs > 0;
    load.operations =
        static_cast<double>(images * (load.multiplies ? 2 * kernel.macs : kernel.operations));
    double port_cycles = 0;
    if (k < report.traffic->bytes.size()) {
      std::vector<int64_t> bytes = report.traffic->bytes[k];
      for (int64_t& count : bytes) count *= times;
      load.bytes_read = times * report.traffic->BytesRead(k);
      load.bytes_written = times * report.traffic->BytesWritten(k);
      port_cycles = LoadPort(*report.traffic, bytes, &load);
    }
    if (rows.empty() || kernel.on_host()) continue;
    const bool pipelined = report.interval_cycles > 0;
    load.cycles = static_cast<double>(pipelined ? report.interval_cycles : rows[k].cycles);
    if (load.cycles <= 0) continue;
    double compute_cycles = LoadUnit(*report.trace, load.kernel, &load);
    if (const double least = load.multiplies && peak > 0 ? load.operations / (2 * peak) : 0;
        least > compute_cycles) {
      compute_cycles = least;
      load.unit.clear();
    }
    load.compute_share = std::min(1.0, compute_cycles / load.cycles);
    load.port_share = std::min(1.0, port_cycles / load.cycles);
    if (HasBusyCycles(*report.trace)) load.limit = LimitOf(load, pipelined);
  }
  return loads;
}

}  // namespace kiln
