// Images per second of the fp32 reference level (oneDNN) and of the bit-accurate int8 functional level of a systolic
// 16x16 design point, on ResNet-20 (trained, from the folder KILN_SHARED names) and on ResNet-18 at 224x224 (random
// weights: its speed does not depend on them). Both levels run the same images in the same process on all threads; the
// fastest of several alternating rounds counts.
//
//   KILN_SHARED=../shared build/bench/level_speed_bench [seconds a network]
//   KILN_CPU=avx2 DNNL_MAX_CPU_ISA=AVX2 build/bench/level_speed_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>

#include "bench/networks.h"
#include "kiln/execute/reference.h"
#include "kiln/frontend/onnx.h"
#include "kiln/ir/random_graph.h"
#include "kiln/passes/pipeline.h"
#include "kiln/quantise/calibrate.h"
#include "kiln/quantise/quantise.h"
#include "kiln/support/check.h"
#include "kiln/support/cpu.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/accelerator.h"

namespace kiln {
namespace {

struct Seconds {
  double wall = 0, cpu = 0;  // cpu: of all threads together, which other programs on the machine disturb less
};
Seconds SecondsOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC};
}

template <typename T>
T Must(StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", MessageOf(value.status()).c_str());
    std::exit(1);
  }
  return std::move(value).value();
}

void Compare(const char* name, Graph graph, Shape image, int64_t images, double seconds) {
  PassContext context;
  KILN_CHECK(RunPasses(graph, StandardPipeline(), context).ok());
  const auto reference = Must(ReferenceExecutor::Create(graph));

  std::vector<int64_t> dims = image.dims();
  dims[0] = images;
  Random random(7);
  Batch batch;
  batch.inputs.push_back(RandomTensor(random, ElementType::kFloat32, Shape(dims), -2, 2));

  Graph laid_out = graph.Clone();
  KILN_CHECK(RunPasses(laid_out, LayoutPipeline(), context).ok());
  const Graph quantised = Must(Quantise(laid_out, Int8Recipe(), Must(Calibrate(laid_out, batch.inputs, 2))));
  systolic::Config config = Must(systolic::ParseConfig(
      "family: systolic\nname: systolic-int8-16x16\narray_rows: 16\narray_columns: 16\n", "built in"));
  const systolic::SystolicAccelerator accelerator(std::move(config));
  const auto program = Must(accelerator.Compile(quantised, {}));

  Seconds fp32{1e9, 1e9}, int8{1e9, 1e9};
  double spent = 0;
  const auto best = [&](Seconds& least, const Seconds& now) {
    least = {std::min(least.wall, now.wall), std::min(least.cpu, now.cpu)};
    spent += now.wall;
  };
  while (spent < seconds) {
    best(fp32, SecondsOf([&] { Must(reference->RunBatch(batch.inputs)); }));
    best(int8, SecondsOf([&] { Must(accelerator.Run(*program, batch, {})); }));
  }
  const double count = static_cast<double>(images);
  std::printf("%s, %d threads, %s, %.1f %% of operations on the host\n", name, ThreadCount(),
              std::string(NameOf(GetCpuLevel())).c_str(), 100 * program->HostShare());
  std::printf("  images/s                fp32 reference %9.1f   int8 functional %9.1f   ratio %.2f\n",
              count / fp32.wall, count / int8.wall, fp32.wall / int8.wall);
  std::printf("  images/s of CPU time    fp32 reference %9.1f   int8 functional %9.1f   ratio %.2f\n", count / fp32.cpu,
              count / int8.cpu, fp32.cpu / int8.cpu);
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const char* folder = std::getenv("KILN_SHARED");
  const std::string path = std::string(folder != nullptr ? folder : "../shared") + "/models/resnet20_cifar10.onnx";
  if (std::filesystem::exists(path)) {
    kiln::Compare("ResNet-20", kiln::Must(kiln::ImportOnnx(path)), {1, 3, 32, 32}, 256, seconds);
  } else {
    std::printf("ResNet-20  skipped: %s is not there\n", path.c_str());
  }
  kiln::Compare("ResNet-18", kiln::Must(kiln::bench::MakeNetwork("resnet18")), {1, 3, 224, 224}, 8, seconds);
}
