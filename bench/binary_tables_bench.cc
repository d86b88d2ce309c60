// Measures convolutions by tables beside Kiln's exact int8 products of the same shape on one
// thread.
//
//   build/bench/binary_tables_bench
//
// `int8` multiplies stored images, as int8_kernels_bench does. `tables` builds the tables of the
// image and looks them up; `building` only builds them. W1A8 has weights of +1 and -1 and
// activations of 8 bits. GMAC/s counts a weight times an activation once, however many planes and
// digits the product takes. The peaks are rates of the instructions in the two inner loops, on
// registers.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kiln/execute/int8_gemm.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "kiln/targets/binary/tables/convolution.h"

namespace kiln::binary {
namespace {

struct Layer {
  const char* name;
  int64_t size, channels, outputs, kernel;  // square images, stride 1, same padding
};
constexpr Layer kLayers[] = {
    {"3x3 144->72 @64", 64, 144, 72, 3},   {"3x3 64->64 @56", 56, 64, 64, 3},
    {"3x3 128->128 @28", 28, 128, 128, 3}, {"3x3 256->256 @14", 14, 256, 256, 3},
    {"1x1 64->256 @56", 56, 64, 256, 1},
};

void ReportMacs(benchmark::State& state, const Layer& layer) {
  const auto macs = static_cast<double>(layer.size * layer.size * layer.kernel * layer.kernel *
                                        layer.channels * layer.outputs);
  state.counters["GMAC/s"] =
      benchmark::Counter(macs * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void Int8(benchmark::State& state, const Layer& layer) {
  Random random(1);
  const int64_t side = layer.size + layer.kernel - 1, row = side * layer.channels;
  std::vector<int8_t> image(static_cast<size_t>(side * row)),
      weights(static_cast<size_t>(layer.kernel * layer.kernel * layer.channels * layer.outputs));
  for (int8_t& code : image) code = static_cast<int8_t>(random());
  for (int8_t& code : weights) code = static_cast<int8_t>(random());
  const PackedWeights packed(GetCpuLevel(), layer.kernel, layer.kernel * layer.channels,
                             layer.outputs, weights.data());
  std::vector<uint8_t> stored(image.size() * static_cast<size_t>(BytesOf(packed.layout())) +
                              kImageSlack);
  StoreCodes(packed.layout(), image.data(), std::ssize(image), stored.data());
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
  ReportMacs(state, layer);
}

#if defined(__x86_64__)
// Independent instructions on registers, as the inner loops have them: a look-up of 32 channels and
// its addition (five weights each), or a product of four codes for 16 channels.
#define KILN_EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define KILN_LOOK_UP(n) \
  "vpermw %%zmm20, %%zmm21, %%zmm1" #n "\n\tvpaddw %%zmm1" #n ", %%zmm" #n ", %%zmm" #n "\n\t"
#define KILN_PRODUCT(n) "vpdpbusd %%zmm20, %%zmm21, %%zmm" #n "\n\t"
#define KILN_PEAK(name, body, macs)                                                               \
  __attribute__((target("avx512bw,avx512vnni"))) void name(benchmark::State& state) {             \
    constexpr int kRepeats = 1000;                                                                \
    for (auto _ : state) {                                                                        \
      for (int repeat = 0; repeat < kRepeats; ++repeat) {                                         \
        __asm__ volatile(KILN_EIGHT(body)::                                                       \
                             : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",    \
                               "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16",     \
                               "xmm17", "xmm20", "xmm21");                                        \
      }                                                                                           \
    }                                                                                             \
    state.counters["GMAC/s"] = benchmark::Counter(8e-9 * (macs) * kRepeats,                       \
                                                  benchmark::Counter::kIsIterationInvariantRate); \
  }
KILN_PEAK(LookUpPeak, KILN_LOOK_UP, 32 * 5)
KILN_PEAK(ProductPeak, KILN_PRODUCT, 16 * 4)
#undef KILN_EIGHT
#undef KILN_LOOK_UP
#undef KILN_PRODUCT
#undef KILN_PEAK
#endif

enum class Part { kAll, kBuild };

void Tables(benchmark::State& state, const Layer& layer, const TableFormat& format, Part part) {
  Random random(1);
  const int64_t pad = layer.kernel / 2;
  const WindowShape shape{.height = layer.size,
                          .width = layer.size,
                          .channels = layer.channels,
                          .outputs = layer.outputs,
                          .kernel_height = layer.kernel,
                          .kernel_width = layer.kernel,
                          .top = pad,
                          .left = pad,
                          .bottom = pad,
                          .right = pad};
  std::vector<int32_t> image(static_cast<size_t>(shape.input_size()));
  for (int32_t& x : image) {
    x = static_cast<int32_t>(
        random.Between(format.activations.lowest(), format.activations.highest()));
  }
  std::vector<int32_t> weights(static_cast<size_t>(shape.outputs * shape.window()));
  for (int32_t& w : weights) {
    do {
      w = static_cast<int32_t>(random.Between(format.weights.lowest(), format.weights.highest()));
    } while (!format.weights.Holds(w));
  }
  const TableConvolution convolution = *TableConvolution::Create(shape, format, weights);
  std::vector<int32_t> out(static_cast<size_t>(shape.output_size()));
  for (auto _ : state) {
    if (part == Part::kBuild) {
      convolution.BuildOnly(image);
    } else if (!convolution.Run(image, out).ok()) {
      state.SkipWithError("the convolution failed");
    }
    benchmark::DoNotOptimize(out.data());
  }
  ReportMacs(state, layer);
}

void Register() {
#if defined(__x86_64__)
  if (GetCpuLevel() >= CpuLevel::kAvx512Vnni) {
    benchmark::RegisterBenchmark("peak of vpdpbusd", ProductPeak);
    benchmark::RegisterBenchmark("peak of vpermw + vpaddw, s=5", LookUpPeak);
  }
#endif
  for (const Layer& layer : kLayers) {
    benchmark::RegisterBenchmark((std::string("int8 ") + layer.name).c_str(),
                                 [&layer](benchmark::State& state) { Int8(state, layer); });
    const auto add = [&layer](const std::string& name, const TableFormat& format, Part part) {
      benchmark::RegisterBenchmark(
          (name + " " + layer.name).c_str(),
          [&layer, format, part](benchmark::State& state) { Tables(state, layer, format, part); });
    };
    for (int group = 3; group <= kMaxGroup; ++group) {
      const TableFormat format{{WeightCoding::kOdd, 1}, {false, 8}, group, Grouping::kChannels};
      add(fmt::format("W1A8 s={} building", group), format, Part::kBuild);
      add(fmt::format("W1A8 s={} tables", group), format, Part::kAll);
    }
    const auto channels = Grouping::kChannels;
    add("W1A8 s=5 tables of taps", {{WeightCoding::kOdd, 1}, {false, 8}, 5, Grouping::kTaps},
        Part::kAll);
    add("W1A4 s=5 tables", {{WeightCoding::kOdd, 1}, {false, 4}, 5, channels}, Part::kAll);
    add("W2A8 s=5 tables", {{WeightCoding::kOdd, 2}, {false, 8}, 5, channels}, Part::kAll);
    add("W8A8 s=5 tables", {{WeightCoding::kSigned, 8}, {false, 8}, 5, channels}, Part::kAll);
  }
}

}  // namespace
}  // namespace kiln::binary

int main(int argc, char** argv) {
  kiln::SetThreadCount(1);
  kiln::binary::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
