// Measures images per second of the fp32 reference level and of the bit-accurate functional level
// of a systolic 16x16 design point in several formats.
//
// The networks are ResNet-20 (trained, from the folder named by KILN_SHARED) and ResNet-18 at
// 224x224 (random weights, on which speed does not depend). All levels run the same images in the
// same process on all threads; the fastest of several alternating rounds counts. Beside the rates
// the program prints multiply-accumulates per second of processor time as a share of the
// processor's int16 multiply-add peak. The peak is measured in the same rounds and also by
// processor time, so that other programs disturb neither. e4m3 and posit8_1 sum in bf16, in array
// order.
//
//   KILN_SHARED=../shared build/bench/level_speed_bench [seconds a network]
//   KILN_CPU=avx2 build/bench/level_speed_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "bench/networks.h"
#include "bench/peak.h"
#include "kiln/execute/reference.h"
#include "kiln/frontend/onnx.h"
#include "kiln/ir/random_tensor.h"
#include "kiln/ir/work.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/quantise.h"
#include "kiln/quantise/recipe_names.h"
#include "kiln/support/check.h"
#include "kiln/support/cpu.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/accelerator.h"

namespace kiln {
namespace {

// Wall time, and processor time of all threads together. Other programs disturb the latter less.
struct Seconds {
  double wall = 0, cpu = 0;
};
// Times one call.
Seconds SecondsOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

// Returns the value or ends the program with its error.
template <typename T>
T Must(StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", MessageOf(value.status()).c_str());
    std::exit(1);
  }
  return std::move(value).value();
}

constexpr const char* kFormats[] = {"int8", "mxint8", "e4m3", "posit8_1"};

// A level under test and its fastest round.
struct Contender {
  std::string name;
  std::unique_ptr<Accelerator> accelerator;  // null at the reference level
  std::unique_ptr<Program> program;
  Seconds least{1e9, 1e9};
};

// Returns the functional level in one format, compiled.
Contender Functional(const Graph& laid_out, const CalibrationData& data, const char* format) {
  systolic::Config config = Must(
      systolic::ParseConfig("family: systolic\nname: systolic-e4m3-16x16\narray_rows: "
                            "16\narray_columns: 16\ninput_format: e4m3\n"
                            "weight_format: e4m3\npsum_format: bf16\naccumulation_format: bf16\n",
                            "built in"));
  const systolic::SystolicAccelerator base(std::move(config));
  const Recipe recipe = Must(RecipeByName(format));
  Contender contender{.name = format, .accelerator = {}, .program = {}};
  contender.accelerator = Must(base.WithFormats(recipe.activations.type, recipe.weights.type));
  contender.program =
      Must(contender.accelerator->Compile(Must(Quantise(laid_out, recipe, data)), {}));
  return contender;
}

// Runs all threads at the int16 peak, `macs` multiply-accumulates in total.
struct PeakRun {
  static constexpr int kCalls = 100;  // so that a round is long against the clock's resolution
  bench::Peak peak = bench::Int16Peak(GetCpuLevel());
  double macs = peak.macs * kCalls * ThreadCount();
  Seconds least{1e9, 1e9};

  void Round() {
    if (peak.run == nullptr) return;
    const Seconds now = SecondsOf([&] {
      ParallelFor(ThreadCount(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin * kCalls; i < end * kCalls; ++i) peak.run();
      });
    });
    least = {std::min(least.wall, now.wall), std::min(least.cpu, now.cpu)};
  }
  // Returns multiply-accumulates per second of one thread's processor time.
  double Rate() const { return peak.run == nullptr ? 0 : macs / least.cpu; }
};

// Runs all levels on one network and prints a row for each.
void CompareLevels(const char* name, Graph graph, Shape image, int64_t images, double seconds) {
  PassContext context;
  KILN_CHECK(RunPasses(graph, StandardPipeline(), context).ok());
  const auto reference = Must(ReferenceExecutor::Create(graph));
  const auto macs = static_cast<double>(MacsOf(graph));

  std::vector<int64_t> dims = image.dims();
  dims[0] = images;
  Random random(7);
  Batch batch;
  batch.inputs.push_back(RandomTensor(random, ElementType::kFloat32, Shape(dims), -2, 2));

  Graph laid_out = graph.Clone();
  KILN_CHECK(RunPasses(laid_out, LayoutPipeline(), context).ok());
  const CalibrationData data = Must(Calibrate(laid_out, batch.inputs, 2));
  std::vector<Contender> contenders;
  contenders.push_back({.name = "fp32", .accelerator = {}, .program = {}});
  for (const char* format : kFormats) contenders.push_back(Functional(laid_out, data, format));

  PeakRun peak_run;
  for (double spent = 0; spent < seconds;) {
    peak_run.Round();
    for (Contender& c : contenders) {
      const Seconds now = SecondsOf([&] {
        if (c.accelerator != nullptr) {
          Must(c.accelerator->Run(*c.program, batch, {}));
        } else {
          Must(reference->RunBatch(batch.inputs));
        }
      });
      c.least = {std::min(c.least.wall, now.wall), std::min(c.least.cpu, now.cpu)};
      spent += now.wall;
    }
  }
  const double count = static_cast<double>(images), peak = peak_run.Rate();
  std::printf("%s, %d threads, %s; int16 multiply-add peak %.0f GMAC/s a thread\n", name,
              ThreadCount(), std::string(NameOf(GetCpuLevel())).c_str(), peak * 1e-9);
  std::printf("  %-10s %9s %7s %14s %12s %8s\n", "", "images/s", "ratio", "ratio (CPU s)",
              "of the peak", "host");
  for (const Contender& c : contenders) {
    std::printf("  %-10s %9.1f %7.2f %14.2f %11.1f%% %7.1f%%\n", c.name.c_str(),
                count / c.least.wall, contenders[0].least.wall / c.least.wall,
                contenders[0].least.cpu / c.least.cpu,
                peak > 0 ? 100 * macs * count / c.least.cpu / peak : 0.0,
                c.program != nullptr ? 100 * c.program->HostShare() : 0.0);
  }
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const char* folder = std::getenv("KILN_SHARED");
  const std::string path =
      std::string(folder != nullptr ? folder : "../shared") + "/models/resnet20_cifar10.onnx";
  if (std::filesystem::exists(path)) {
    kiln::CompareLevels("ResNet-20", kiln::Must(kiln::ImportOnnx(path)), {1, 3, 32, 32}, 256,
                        seconds);
  } else {
    std::printf("ResNet-20  skipped: %s is not there\n", path.c_str());
  }
  kiln::CompareLevels("ResNet-18", kiln::Must(kiln::bench::MakeNetwork("resnet18")),
                      {1, 3, 224, 224}, 8, seconds);
}
