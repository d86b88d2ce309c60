// Runs the twelve convolutions of ResNet-18 on a VTA design point at the cycle level, with one and
// with two virtual threads. Prints cycles, GOPS and utilisation, and draws the roofline.
//
//   vta_resnet18 [--on accelerators/vta-pynq.yaml] [--svg roofline.svg] [--multiply]
//
// Sums become codes by shifts alone, as in the original: all scales are powers of two. --multiply
// requantises by multiplication and shift, with a scale per channel.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/ir/shape_inference.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/quantise.h"
#include "kiln/support/file.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/accelerator.h"
#include "kiln/targets/vta/compile/program.h"
#include "kiln/targets/vta/simulate/cycle/cycle.h"

namespace kiln::vta {
namespace {

// A layer of the table below.
struct LayerRow {
  const char* name;
  int64_t size, in, out, kernel, stride;
};

// The layers of Moreau et al., arXiv 1807.04188, table 1.
constexpr LayerRow kLayers[] = {
    {"C1", 224, 3, 64, 7, 2},    {"C2", 56, 64, 64, 3, 1},    {"C3", 56, 64, 64, 1, 1},
    {"C4", 56, 64, 128, 3, 2},   {"C5", 56, 64, 128, 1, 2},   {"C6", 28, 128, 128, 3, 1},
    {"C7", 28, 128, 256, 3, 2},  {"C8", 28, 128, 256, 1, 2},  {"C9", 14, 256, 256, 3, 1},
    {"C10", 14, 256, 512, 3, 2}, {"C11", 14, 256, 512, 1, 2}, {"C12", 7, 512, 512, 3, 1}};

// Returns a constant of uniform random values in [-bound, bound].
Tensor RandomConstant(Random& random, Shape shape, double bound) {
  Tensor t(ElementType::kFloat32, std::move(shape));
  for (float& v : t.data<float>()) v = static_cast<float>(random.Uniform(-bound, bound));
  return t;
}

// Returns a convolution with bias and Relu, quantised.
StatusOr<Graph> QuantisedLayer(const LayerRow& row, bool multiply, Batch* image) {
  Random random(1);
  Graph graph(row.name);
  Value* x = graph.AddInput("x", {ElementType::kFloat32, Shape{1, row.size, row.size, row.in}});
  const double bound = std::sqrt(3.0 / static_cast<double>(row.in * row.kernel * row.kernel));
  Value* w = graph.AddConstant(
      "w", RandomConstant(random, {row.out, row.in, row.kernel, row.kernel}, bound));
  Value* b = graph.AddConstant("b", RandomConstant(random, {row.out}, 0.5));
  const int64_t pad = row.kernel / 2;
  Attributes a;
  a.Set("kernel_shape", std::vector<int64_t>{row.kernel, row.kernel});
  a.Set("strides", std::vector<int64_t>{row.stride, row.stride});
  a.Set("pads", std::vector<int64_t>{pad, pad, pad, pad});
  a.Set("layout", std::string("nhwc"));
  Value* y = graph.AddNode(Op::kConv, row.name, {x, w, b}, {"y"}, a)->result();
  graph.MarkOutput(graph.AddNode(Op::kRelu, "relu", {y}, {"z"})->result());
  KILN_RETURN_IF_ERROR(InferShapes(graph));
  image->inputs = {RandomTensor(random, ElementType::kFloat32, x->shape(), -1.0, 1.0)};
  Recipe recipe = Int8Recipe();
  recipe.quantise_outputs = true;
  if (!multiply) {
    recipe.activations.type.scale_format = recipe.weights.type.scale_format = *FindFormat("e8m0");
    recipe.weights.type.scheme = Scheme::kPerTensor;
    recipe.activations.type.symmetric = true;
  }
  KILN_ASSIGN_OR_RETURN(const CalibrationData seen, Calibrate(graph, image->inputs, 1));
  return Quantise(graph, recipe, seen);
}

// Cycles in which the GEMM unit is idle.
struct Idle {
  int64_t before = 0, between = 0, after = 0;  // relative to its first and its last step
  size_t instructions = 0, uops = 0;
};

// The results of one layer with one number of threads.
struct Measured {
  int64_t cycles = 0, macs = 0, bytes = 0;
  double bound = 0;
  Trace trace;
  MatrixTiling tiling;
  Idle idle;
};

// Splits the GEMM unit's idle cycles by their position in the program.
Idle IdleOf(const VtaProgram& program) {
  const Launch& launch = *program.parts().steps[0].launch;
  DeviceMemory memory(MemoryImage::kBase, program.parts().memory);
  Timeline timeline;
  CycleMachine machine(program.config());
  machine.Launch(memory, launch.address, launch.instructions.size(), 0, &timeline);
  const Trace trace = timeline.ToTrace();
  Idle idle{.instructions = launch.instructions.size(), .uops = launch.uops.size()};
  int64_t end = -1;
  for (const Span& span : trace.spans) {
    if (span.unit != static_cast<int>(Unit::kGemm)) continue;
    (end < 0 ? idle.before : idle.between) += span.begin - std::max<int64_t>(end, 0);
    end = span.end;
  }
  idle.after = trace.cycles - end;
  return idle;
}

// Compiles and runs a layer.
StatusOr<Measured> Measure(const VtaAccelerator& accelerator, const Graph& graph,
                           const Batch& image, int threads) {
  CompileOptions options;
  options.host_fallback = false;
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Program> program,
                        accelerator.CompileWithThreads(graph, options, threads));
  RunOptions run;
  run.level = Level::kCycle;
  KILN_ASSIGN_OR_RETURN(RunResult result, accelerator.Run(*program, image, run));
  Measured m;
  m.cycles = result.trace.cycles;
  m.macs = program->MacsTotal();
  m.bound = program->kernels()[0].certificate.lower_bound;
  const auto& compiled = dynamic_cast<const VtaProgram&>(*program);
  m.tiling = *compiled.parts().steps[0].tiling;
  m.idle = IdleOf(compiled);
  int64_t read = 0, written = 0;
  for (const UnitTrace& unit : result.trace.units) {
    read += unit.bytes_read;
    written += unit.bytes_written;
  }
  m.bytes = std::max(read, written);  // the port reads and writes at the same time
  m.trace = std::move(result.trace);
  return m;
}

// A mark in the roofline.
struct Point {
  std::string name;
  int threads;
  double intensity, gops;
};

// Draws the roofline on logarithmic axes: the roof, and a mark per layer (hollow with one virtual
// thread, blue with two, red as chosen by the compiler).
std::string RooflineSvg(const std::vector<Point>& points, double peak, double bandwidth,
                        const std::string& title) {
  constexpr double kWidth = 760, kHeight = 460, kLeft = 64, kBottom = 48, kTop = 36, kRight = 20;
  const double x0 = 20, x1 = 1000, y0 = peak / 4, y1 = peak * 1.2;
  const auto at_x = [&](double v) {
    return kLeft + std::log(v / x0) / std::log(x1 / x0) * (kWidth - kLeft - kRight);
  };
  const auto at_y = [&](double v) {
    return kHeight - kBottom - std::log(v / y0) / std::log(y1 / y0) * (kHeight - kBottom - kTop);
  };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n<text x=\"{2}\" y=\"20\" "
      "font-size=\"14\">{3}</text>\n",
      kWidth, kHeight, kLeft, title);
  for (double v = x0; v <= x1; v *= v == 20 || v == 200 ? 2.5 : 2) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#ddd\"/><text "
        "x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4:g}</text>\n",
        at_x(v), kTop, kHeight - kBottom, kHeight - kBottom + 16, v);
  }
  for (double v = 1; v <= y1; v *= 2) {
    if (v < y0) continue;
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/><text "
        "x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:g}</text>\n",
        kLeft, kWidth - kRight, at_y(v), kLeft - 6, at_y(v) + 4, v);
  }
  const double ridge = peak / bandwidth;
  svg += fmt::format(
      "<polyline fill=\"none\" stroke=\"black\" stroke-width=\"1.5\" points=\"{:.1f},{:.1f} "
      "{:.1f},{:.1f} "
      "{:.1f},{:.1f}\"/>\n",
      at_x(std::max(x0, y0 / bandwidth)), at_y(std::max(y0, x0 * bandwidth)), at_x(ridge),
      at_y(peak), at_x(x1), at_y(peak));
  svg += fmt::format(
      "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">operations a byte of the memory "
      "port</text>\n",
      (kLeft + kWidth) / 2, kHeight - 10);
  svg += fmt::format(
      "<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">GOPS</text>\n",
      kHeight / 2);
  constexpr const char* kFills[] = {"white", "#06c", "#c20"};
  constexpr const char* kNames[] = {"one virtual thread", "two", "chosen by the compiler"};
  for (const Point& p : points) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" stroke=\"#06c\"/>",
                       at_x(p.intensity), at_y(p.gops), p.threads == 3 ? 2.5 : 4.5,
                       kFills[p.threads - 1]);
    if (p.threads == 2) continue;
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"9\">{}</text>\n",
                       at_x(p.intensity) + 6, at_y(p.gops) + (p.threads == 3 ? -4 : 11), p.name);
  }
  for (int t = 0; t < 3; ++t) {
    svg += fmt::format(
        "<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{}\" stroke=\"#06c\"/><text x=\"{}\" "
        "y=\"{}\">{}</text>\n",
        kLeft + 20, kTop + 60 + 18 * t, kFills[t], kLeft + 30, kTop + 64 + 18 * t, kNames[t]);
  }
  svg += "</svg>\n";
  return svg;
}

Status Run(const std::string& design_point, const std::string& svg, bool multiply, bool verbose) {
  KILN_ASSIGN_OR_RETURN(const Config config, LoadConfig(design_point));
  const VtaAccelerator accelerator(config);
  const double clock = config.clock_mhz * 1e6, peak_macs = accelerator.PeakMacsPerCycle();
  const double peak = 2 * peak_macs * clock / 1e9,
               bandwidth = config.memory_port_bytes * clock / 1e9;
  fmt::print("{}: {:.1f} GOPS at most, {:.2f} GB/s each way\n\n", config.name, peak, bandwidth);
  fmt::print(
      "Cycles with one virtual thread, with two, and with as many as the compiler chose:\n\n"
      "| layer | | MMAC | bound | one thread | two | chosen | threads | with a step, % |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  std::string speeds;  // the second table
  std::vector<Point> points;
  int64_t macs = 0, cycles[3] = {0, 0, 0};
  for (const LayerRow& row : kLayers) {
    Batch image;
    KILN_ASSIGN_OR_RETURN(const Graph graph, QuantisedLayer(row, multiply, &image));
    Measured m[3];
    double gops[3], roof = 0;
    for (int t = 0; t < 3; ++t) {
      KILN_ASSIGN_OR_RETURN(m[t], Measure(accelerator, graph, image, (t + 1) % 3));
      cycles[t] += m[t].cycles;
      gops[t] = 2e-9 * static_cast<double>(m[t].macs) * clock / static_cast<double>(m[t].cycles);
      const double intensity =
          2.0 * static_cast<double>(m[t].macs) / static_cast<double>(m[t].bytes);
      points.push_back({row.name, t + 1, intensity, gops[t]});
      roof = std::min(peak, intensity * bandwidth);
      if (!verbose) continue;
      const MatrixTiling& tiling = m[t].tiling;
      fmt::print("{} threads {}: tile {} x {} x {}, chunk {}, {}{}\n", row.name, tiling.threads,
                 tiling.blocks, tiling.rows, tiling.columns, tiling.chunk,
                 tiling.blocks_outermost ? "blocks outermost" : "pixels outermost",
                 tiling.resident ? ", resident" : "");
      const Idle& idle = m[t].idle;
      fmt::print(
          "  no step: {} cycles before the first, {} between, {} after the last; {} instructions, "
          "{} micro-ops\n",
          idle.before, idle.between, idle.after, idle.instructions, idle.uops);
      for (const UnitTrace& unit : m[t].trace.units) {
        fmt::print("  {} busy {}", unit.name, unit.busy_cycles);
        for (const auto& [cause, count] : unit.stall_cycles) fmt::print(" {} {}", cause, count);
        fmt::print("\n");
      }
    }
    macs += m[0].macs;
    const double steps =
        100 * static_cast<double>(m[2].trace.units[1].busy_cycles);  // of the GEMM unit
    fmt::print("| {} | {}x{} {}->{} /{} | {:.1f} | {:.0f} | {} | {} | {} | {} | {:.1f} |\n",
               row.name, row.kernel, row.kernel, row.in, row.out, row.stride,
               1e-6 * static_cast<double>(m[0].macs), m[0].bound, m[0].cycles, m[1].cycles,
               m[2].cycles, m[2].tiling.threads, steps / static_cast<double>(m[2].cycles));
    speeds += fmt::format("| {} | {:.1f} |", row.name, roof);
    for (int t = 0; t < 3; ++t)
      speeds += fmt::format(" {:.1f} | {:.1f} |", gops[t], 100 * gops[t] / peak);
    speeds += '\n';
  }
  fmt::print("| all | | {:.1f} | | {} | {} | {} | | |\n", 1e-6 * static_cast<double>(macs),
             cycles[0], cycles[1], cycles[2]);
  speeds += "| all | |";
  for (const int64_t count : cycles) {
    const double used = static_cast<double>(macs) / peak_macs / static_cast<double>(count);
    speeds += fmt::format(" {:.1f} | {:.1f} |", used * peak, 100 * used);
  }
  fmt::print(
      "\nGOPS, and per cent of the peak:\n\n"
      "| layer | roof | one thread: GOPS | % | two: GOPS | % | chosen: GOPS | % |\n"
      "|---|---|---|---|---|---|---|---|\n{}\n",
      speeds);
  if (svg.empty()) return OkStatus();
  std::ofstream(svg) << RooflineSvg(points, peak, bandwidth,
                                    config.name + ": the convolutions of ResNet-18");
  return OkStatus();
}

}  // namespace
}  // namespace kiln::vta

int main(int argc, char** argv) {
  CLI::App app("ResNet-18's convolutions on a VTA design point");
  std::string design_point = "accelerators/vta-pynq.yaml", svg;
  bool multiply = false, verbose = false;
  app.add_option("--on", design_point, "The design point");
  app.add_option("--svg", svg, "Where the roofline is drawn");
  app.add_flag("--multiply", multiply, "Requantise by multiplication and shift");
  app.add_flag("--verbose", verbose, "Tilings, and what units waited for");
  CLI11_PARSE(app, argc, argv);
  const kiln::Status status = kiln::vta::Run(design_point, svg, multiply, verbose);
  if (!status.ok()) fmt::print(stderr, "{}\n", kiln::MessageOf(status));
  return status.ok() ? 0 : 1;
}
