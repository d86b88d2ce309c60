// Measures the exact int8 products on layers of ResNet-18 and ResNet-20 on one thread, beside the
// processor's int16 multiply-add peak (vpmaddwd and vpaddd on registers) in the same run.
//
//   build/bench/int8_kernels_bench
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/execute/int8_gemm.h"
#include "kiln/support/random.h"

namespace {

using kiln::CpuLevel;

// Reports multiply-accumulates per second as the benchmark's counter.
void ReportMacs(benchmark::State& state, double macs_per_iteration) {
  state.counters["GMAC/s"] =
      benchmark::Counter(macs_per_iteration * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

struct Layer {
  const char* name;
  int64_t size, channels, columns, kernel;  // square images, stride 1, same padding
};
constexpr Layer kLayers[] = {
    {"resnet18 3x3 64->64 @56", 56, 64, 64, 3},     {"resnet18 3x3 128->128 @28", 28, 128, 128, 3},
    {"resnet18 3x3 256->256 @14", 14, 256, 256, 3}, {"resnet18 3x3 512->512 @7", 7, 512, 512, 3},
    {"resnet50 1x1 64->256 @56", 56, 64, 256, 1},   {"resnet20 3x3 16->16 @32", 32, 16, 16, 3},
    {"resnet20 3x3 32->32 @16", 16, 32, 32, 3},     {"resnet20 3x3 64->64 @8", 8, 64, 64, 3},
};

void Convolution(benchmark::State& state, CpuLevel level, const Layer& layer) {
  kiln::Random random(1);
  const int64_t side = layer.size + layer.kernel - 1, row = side * layer.channels;
  std::vector<int8_t> image(static_cast<size_t>(side * row));
  for (int8_t& code : image) code = static_cast<int8_t>(random());
  std::vector<int8_t> weights(
      static_cast<size_t>(layer.kernel * layer.kernel * layer.channels * layer.columns));
  for (int8_t& code : weights) code = static_cast<int8_t>(random());
  const kiln::PackedWeights packed(level, layer.kernel, layer.kernel * layer.channels,
                                   layer.columns, weights.data());
  std::vector<uint8_t> stored(image.size() * static_cast<size_t>(BytesOf(packed.layout())) +
                              kiln::kImageSlack);
  kiln::StoreCodes(packed.layout(), image.data(), std::ssize(image), stored.data());
  std::vector<int64_t> pixels, runs;
  for (int64_t y = 0; y < layer.size; ++y) {
    for (int64_t x = 0; x < layer.size; ++x) pixels.push_back(y * row + x * layer.channels);
  }
  for (int64_t ky = 0; ky < layer.kernel; ++ky) runs.push_back(ky * row);
  constexpr int64_t kTile = 64;
  std::vector<int32_t> out(static_cast<size_t>(kTile * packed.padded_columns()));
  for (auto _ : state) {
    for (int64_t p = 0; p < std::ssize(pixels); p += kTile) {
      packed.Multiply(stored.data(), pixels.data() + p,
                      std::min<int64_t>(kTile, std::ssize(pixels) - p), runs.data(), out.data(),
                      packed.padded_columns());
    }
    benchmark::DoNotOptimize(out.data());
  }
  ReportMacs(state,
             static_cast<double>(layer.size * layer.size) * static_cast<double>(weights.size()));
}

#if defined(__x86_64__)
// Twelve independent sums, in assembly so that no compiler notices that all products are equal.
#define KILN_PAIR(sum, product)                                                          \
  "vpmaddwd %%ymm14, %%ymm15, %%ymm" #product "\n\tvpaddd %%ymm" #product ", %%ymm" #sum \
  ", %%ymm" #sum "\n\t"
__attribute__((target("avx2"))) void MultiplyAddPeak(benchmark::State& state) {
  constexpr int kRepeats = 1000;
  for (auto _ : state) {
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      __asm__ volatile(KILN_PAIR(0, 12) KILN_PAIR(1, 13) KILN_PAIR(2, 12) KILN_PAIR(3, 13)
                           KILN_PAIR(4, 12) KILN_PAIR(5, 13) KILN_PAIR(6, 12) KILN_PAIR(7, 13)
                               KILN_PAIR(8, 12) KILN_PAIR(9, 13) KILN_PAIR(10, 12) KILN_PAIR(11, 13)
                       :
                       :
                       : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                         "xmm9", "xmm10", "xmm11", "xmm12", "xmm13");
    }
  }
  ReportMacs(state, 16.0 * 12 * kRepeats);
}
#undef KILN_PAIR
#endif

}  // namespace

int main(int argc, char** argv) {
#if defined(__x86_64__)
  if (kiln::GetCpuLevel() >= CpuLevel::kAvx2) {
    benchmark::RegisterBenchmark("peak of vpmaddwd + vpaddd", MultiplyAddPeak);
  }
#endif
  for (CpuLevel level : kiln::kCpuLevels) {
    if (level > kiln::GetCpuLevel()) continue;
    for (const Layer& layer : kLayers) {
      benchmark::RegisterBenchmark(
          (std::string(NameOf(level)) + " " + layer.name).c_str(),
          [level, &layer](benchmark::State& state) { Convolution(state, level, layer); });
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
