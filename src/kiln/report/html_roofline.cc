// Draws the roofline of the HTML report as SVG.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kiln/report/html_parts.h"
#include "kiln/report/text.h"

namespace kiln::html {
namespace {

// Sizes in SVG units: the picture, and the plot area within it.
constexpr double kPictureWidth = 1072, kPictureHeight = 420, kLeft = 74, kRight = 1040, kTop = 20,
                 kBottom = 368;

// Returns the label of the ports of one bandwidth: "weights, results", "image and 3 more".
std::string PortNames(const std::vector<std::string>& names) {
  if (names.size() <= 3) return Shorten(fmt::format("{}", fmt::join(names, ", ")), 40);
  return fmt::format("{} and {} more", Shorten(names[0], 28), names.size() - 1);
}

// Draws the line of a bandwidth in bytes a cycle, from the picture's edges up to the peak. The
// label begins `shift` SVG units after the line.
std::string Slope(const LogAxis& x, const LogAxis& y, double bandwidth, double peak,
                  const std::string& names, double shift) {
  const double from = std::max(x.least(), y.least() / bandwidth);
  const double to = std::min(x.most(), peak / bandwidth);
  if (from >= to) return "";
  const double x1 = x.At(from), y1 = y.At(from * bandwidth);
  const double angle = std::atan2(y.At(to * bandwidth) - y1, x.At(to) - x1) * 180 / M_PI;
  return Line("roof", x1, y1, x.At(to), y.At(to * bandwidth)) +
         fmt::format(R"(<text class="faint" x="{0:.1f}" y="{1:.1f}" )"
                     R"svg(transform="rotate({2:.1f} {0:.1f} {1:.1f}) translate({5:.0f} -5)">)svg"
                     R"({3}: {4} B/cycle</text>)",
                     x1, y1, angle, EscapeHtml(names), WithoutExponent(bandwidth), shift);
}

std::string_view ClassOf(Limit limit) {
  switch (limit) {
    case Limit::kCompute:
      return "u0";
    case Limit::kBandwidth:
      return "u2";
    case Limit::kLatency:
      return "u3";
    case Limit::kPipeline:
      return "u1";
    case Limit::kUnknown:
      break;
  }
  return "host";
}

// Holds the work of all kernels of the accelerator together, and the memory behind all its ports.
struct WholeNetwork {
  const MemoryPort* memory = nullptr;  // null: the ports have no common memory
  double operations = 0, bytes = 0, cycles = 0;
  bool known() const { return memory != nullptr && operations > 0 && bytes > 0 && cycles > 0; }
  double intensity() const { return operations / bytes; }
  double operations_per_cycle() const { return operations / cycles; }
};

WholeNetwork NetworkOf(const RunReport& report, const std::vector<KernelLoad>& loads) {
  WholeNetwork network;
  for (const MemoryPort& port : report.traffic->ports) {
    if (port.shared && port.both) network.memory = &port;
  }
  for (const KernelLoad& load : loads) {
    if (report.kernels[static_cast<size_t>(load.kernel)].on_host()) continue;
    network.operations += load.operations;
    network.bytes += static_cast<double>(load.bytes_read + load.bytes_written);
    // The stages of a pipeline all work in the same cycles.
    network.cycles = report.interval_cycles > 0 ? load.cycles : network.cycles + load.cycles;
  }
  return network;
}

}  // namespace

std::string Roofline(const RunReport& report, const std::vector<KernelLoad>& loads) {
  std::vector<const KernelLoad*> shown;
  std::vector<double> intensities, rates;
  std::map<double, std::vector<std::string>> roofs;  // ports by their bandwidth
  const auto roof = [&roofs](const MemoryPort& port) {
    std::vector<std::string>& names = roofs[port.bytes_per_cycle];
    if (std::ranges::find(names, port.name) == names.end()) names.push_back(port.name);
  };
  const WholeNetwork network = NetworkOf(report, loads);
  if (network.known()) roof(*network.memory);
  double longest = 0;
  for (const KernelLoad& load : loads) {
    if (load.operations <= 0 || load.port < 0 || load.cycles <= 0) continue;
    shown.push_back(&load);
    intensities.push_back(load.intensity());
    rates.push_back(load.operations_per_cycle());
    longest = std::max(longest, load.cycles);
    roof(report.traffic->ports[static_cast<size_t>(load.port)]);
  }
  if (shown.empty()) return "";
  if (network.known()) {
    intensities.push_back(network.intensity());
    rates.push_back(network.operations_per_cycle());
  }
  double peak = report.machine.has_value() ? 2 * report.machine->peak_macs_per_cycle : 0;
  const bool has_peak = peak > 0;
  if (!has_peak) peak = *std::max_element(rates.begin(), rates.end());
  rates.push_back(peak);
  // The picture holds the corners of all roofs.
  for (const auto& [bandwidth, names] : roofs) intensities.push_back(peak / bandwidth);
  const LogAxis x = LogAxisFor(intensities, kLeft, kRight), y = LogAxisFor(rates, kBottom, kTop);

  std::string out =
      fmt::format(R"(<svg viewBox="0 0 {:.0f} {:.0f}" width="{:.0f}" height="{:.0f}" role="img">)",
                  kPictureWidth, kPictureHeight, kPictureWidth, kPictureHeight);
  out += LogGrid(x, y, "operations a byte of the port", "operations a cycle");
  if (has_peak) {
    const double left = std::max(x.least(), peak / roofs.rbegin()->first);
    out += Line("roof", x.At(std::min(left, x.most())), y.At(peak), kRight, y.At(peak));
    out += fmt::format(R"(<text class="faint" x="{:.0f}" y="{:.1f}" text-anchor="end">)"
                       R"(peak: {} operations a cycle</text>)",
                       kRight - 4, y.At(peak) - 16, Thousands(std::llround(peak)));
  }
  // Labels of near lines stand side by side.
  double shift = 8;
  for (const auto& [bandwidth, names] : roofs) {
    out += Slope(x, y, bandwidth, peak, PortNames(names), shift);
    shift = shift > 500 ? 8 : shift + 170;
  }
  // Areas of the circles grow with the kernels' cycles.
  for (const KernelLoad* load : shown) {
    const KernelInfo& kernel = report.kernels[static_cast<size_t>(load->kernel)];
    out += fmt::format(
        R"(<circle class="point {}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"><title>{}: {:.3g} )"
        R"(operations a byte of {}, {:.3g} a cycle, {} cycles</title></circle>)",
        ClassOf(load->limit), x.At(load->intensity()), y.At(load->operations_per_cycle()),
        3 + 9 * std::sqrt(load->cycles / longest), EscapeHtml(kernel.name), load->intensity(),
        EscapeHtml(report.traffic->ports[static_cast<size_t>(load->port)].name),
        load->operations_per_cycle(), Thousands(std::llround(load->cycles)));
  }
  if (network.known()) {
    out += fmt::format(
        R"(<circle class="network" cx="{:.1f}" cy="{:.1f}" r="13"><title>all kernels together: )"
        R"({:.3g} operations a byte of {}, {:.3g} a cycle, {} cycles</title></circle>)",
        x.At(network.intensity()), y.At(network.operations_per_cycle()), network.intensity(),
        EscapeHtml(network.memory->name), network.operations_per_cycle(),
        Thousands(std::llround(network.cycles)));
  }
  out += R"(</svg><div class="legend">)";
  for (const Limit limit :
       {Limit::kCompute, Limit::kBandwidth, Limit::kLatency, Limit::kPipeline, Limit::kUnknown}) {
    const bool used = std::any_of(shown.begin(), shown.end(),
                                  [&](const KernelLoad* load) { return load->limit == limit; });
    if (!used) continue;
    const std::string_view name = limit == Limit::kUnknown ? "not known" : NameOf(limit);
    out += fmt::format("<span>{}{}</span>", Swatch(ClassOf(limit)), name);
  }
  if (network.known()) {
    out += fmt::format("<span>circle: all kernels together, {:.3g} operations a byte of {}</span>",
                       network.intensity(), EscapeHtml(network.memory->name));
  }
  return out + "</div>";
}

}  // namespace kiln::html
