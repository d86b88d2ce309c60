// Measures bit-accurate multiply-accumulates by number format, on a layer of ResNet-18.
//
// Beside the rates it prints the processor's peaks, measured in the same run: int16 multiply-adds
// (vpmaddwd and vpaddd on registers) and fp32 fused multiply-adds. Row tiles of 32, microscaling
// blocks of 32, on one thread and on all.
//
//   build/bench/mac_kernels_bench [seconds a figure]
//   KILN_CPU=avx2 build/bench/mac_kernels_bench
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "bench/peak.h"
#include "kiln/execute/int8_gemm.h"
#include "kiln/execute/mac_gemm.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/check.h"
#include "kiln/support/parallel.h"
#include "kiln/support/random.h"

namespace kiln {
namespace {

double seconds_a_figure = 0.5;

// Returns the time of a clock in seconds.
double SecondsOn(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Returns the best rate of several rounds of `work`, each of `macs` multiply-accumulates, in 1e9/s.
double GmacsPerSecond(double macs, clockid_t clock, const std::function<void()>& work) {
  const double begin = SecondsOn(CLOCK_MONOTONIC);
  double best = 1e30;
  do {
    const double start = SecondsOn(clock);
    work();
    best = std::min(best, SecondsOn(clock) - start);
  } while (SecondsOn(CLOCK_MONOTONIC) - begin < seconds_a_figure);
  return macs * 1e-9 / best;
}

// Rates on one thread, by processor time (which other programs disturb less), and on `threads`
// threads, by wall time.
struct Rates {
  double one = 0, all = 0;
};
Rates RatesOf(double macs_of_a_piece, int64_t pieces,
              const std::function<void(int64_t piece)>& work, int threads) {
  Rates rates;
  const double macs = macs_of_a_piece * static_cast<double>(pieces);
  SetThreadCount(1);
  rates.one = GmacsPerSecond(macs, CLOCK_THREAD_CPUTIME_ID, [&] {
    for (int64_t i = 0; i < pieces; ++i) work(i);
  });
  SetThreadCount(threads);
  rates.all = GmacsPerSecond(macs, CLOCK_MONOTONIC, [&] {
    ParallelFor(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work(i);
    });
  });
  return rates;
}

// A convolution layer.
struct Layer {
  const char* name;
  int64_t size, channels, columns, kernel;  // square images, stride 1, same padding
  double macs() const {
    return static_cast<double>(size * size * kernel * kernel * channels * columns);
  }
};
constexpr Layer kLayers[] = {{"3x3 64->64 @56", 56, 64, 64, 3},
                             {"3x3 128->128 @28", 28, 128, 128, 3},
                             {"3x3 256->256 @14", 14, 256, 256, 3},
                             {"3x3 512->512 @7", 7, 512, 512, 3}};
constexpr int64_t kTileRows = 32;
constexpr int64_t kPixelsOfPiece = 64;

// A combination of formats under test.
struct Case {
  const char* name;
  const char *operands, *psum, *accumulation;
  bool quire = false, scaled = false;
};
constexpr Case kCases[] = {
    {"mxint8, fp32 accumulation", "fixed8_6", "int32", "fp32", false, true},
    {"int8, int16 psum", "int8", "int16", "int32"},
    {"e4m3, bf16", "e4m3", "bf16", "bf16"},
    {"mxfp8_e4m3, bf16", "e4m3", "bf16", "bf16", false, true},
    {"posit8_1, bf16", "posit8_1", "bf16", "bf16"},
    {"bf16, bf16", "bf16", "bf16", "bf16"},
    {"e4m3, fp16", "e4m3", "fp16", "fp16"},
    {"e4m3, fp32", "e4m3", "fp32", "fp32"},
    {"posit8_1, quire", "posit8_1", "fp32", "fp32", true},
    {"e4m3, quire", "e4m3", "fp32", "fp32", true},
    {"posit8_1, posit16_1", "posit8_1", "posit16_1", "posit16_1"},
};

// Returns the offset of each output position's window in the padded image, in elements.
std::vector<int64_t> PlacesOf(const Layer& layer, int64_t row, int64_t step) {
  std::vector<int64_t> places;
  for (int64_t y = 0; y < layer.size; ++y) {
    for (int64_t x = 0; x < layer.size; ++x) places.push_back(y * row + x * step);
  }
  return places;
}

Rates MacRates(CpuLevel level, const Layer& layer, const Case& c, int threads) {
  MacRule rule;
  rule.input = rule.weight = *FindFormat(c.operands);
  rule.psum = *FindFormat(c.psum);
  rule.accumulation = *FindFormat(c.accumulation);
  rule.quire = c.quire;
  rule.scaled = c.scaled;
  KILN_CHECK(!FindMacFault(rule).has_value());
  const auto kernel = MacKernel::Create(level, rule);

  const int64_t side = layer.size + layer.kernel - 1, row = side * layer.channels;
  const int64_t blocks = layer.channels / kTileRows;
  Random random(1);
  const auto codes_of = [&](int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(random.Uniform(-1, 1));
    std::vector<uint8_t> codes(values.size() * static_cast<size_t>(rule.input.bytes()));
    EncodeValues(rule.input, values.data(), count, codes.data());
    return codes;
  };
  std::vector<uint8_t> image(
      static_cast<size_t>(side * row * kernel->operand_bytes() + kMacImageSlack));
  kernel->StoreOperands(codes_of(side * row).data(), side * row, image.data());
  const std::vector<float> scales(static_cast<size_t>(side * side * blocks), 0.25f);

  MacOrder order;
  for (int64_t tap = 0; tap < layer.kernel * layer.kernel; ++tap) {
    const int64_t place = tap / layer.kernel * side + tap % layer.kernel;
    for (int64_t channel = 0; channel < layer.channels; ++channel)
      order.offsets.push_back(place * layer.channels + channel);
    for (int64_t block = 0; block < blocks; ++block) {
      order.tile_sizes.push_back(kTileRows);
      if (c.scaled) order.scale_offsets.push_back(place * blocks + block);
    }
  }
  const std::vector<float> weight_scales(
      order.tile_sizes.size() * static_cast<size_t>(layer.columns), 0.5f);
  const auto weights =
      kernel->Pack(order, layer.columns, codes_of(std::ssize(order.offsets) * layer.columns).data(),
                   c.scaled ? weight_scales.data() : nullptr);
  const std::vector<int64_t> places = PlacesOf(layer, row, layer.channels),
                             scale_places = PlacesOf(layer, side * blocks, blocks);
  const int64_t pixels = std::ssize(places),
                pieces = (pixels + kPixelsOfPiece - 1) / kPixelsOfPiece;
  std::vector<uint32_t> out(static_cast<size_t>(pixels * weights->padded_columns()));
  return RatesOf(
      layer.macs() / static_cast<double>(pieces), pieces,
      [&](int64_t piece) {
        const int64_t begin = pixels * piece / pieces, end = pixels * (piece + 1) / pieces;
        weights->Multiply(image.data(), scales.data(),
                          {places.data() + begin, scale_places.data() + begin, end - begin},
                          out.data() + begin * weights->padded_columns(),
                          weights->padded_columns());
      },
      threads);
}

Rates Int8Rates(CpuLevel level, const Layer& layer, int threads) {
  const int64_t side = layer.size + layer.kernel - 1, row = side * layer.channels;
  Random random(1);
  std::vector<int8_t> image(static_cast<size_t>(side * row));
  for (int8_t& code : image) code = static_cast<int8_t>(random());
  std::vector<int8_t> weights(
      static_cast<size_t>(layer.kernel * layer.kernel * layer.channels * layer.columns));
  for (int8_t& code : weights) code = static_cast<int8_t>(random());
  const PackedWeights packed(level, layer.kernel, layer.kernel * layer.channels, layer.columns,
                             weights.data());
  std::vector<uint8_t> stored(image.size() * static_cast<size_t>(BytesOf(packed.layout())) +
                              kImageSlack);
  StoreCodes(packed.layout(), image.data(), std::ssize(image), stored.data());
  const std::vector<int64_t> places = PlacesOf(layer, row, layer.channels);
  std::vector<int64_t> runs;
  for (int64_t ky = 0; ky < layer.kernel; ++ky) runs.push_back(ky * row);
  const int64_t pixels = std::ssize(places),
                pieces = (pixels + kPixelsOfPiece - 1) / kPixelsOfPiece;
  std::vector<int32_t> out(static_cast<size_t>(pixels * packed.padded_columns()));
  return RatesOf(
      layer.macs() / static_cast<double>(pieces), pieces,
      [&](int64_t piece) {
        const int64_t begin = pixels * piece / pieces, end = pixels * (piece + 1) / pieces;
        packed.Multiply(stored.data(), places.data() + begin, end - begin, runs.data(),
                        out.data() + begin * packed.padded_columns(), packed.padded_columns());
      },
      threads);
}

void Print(const char* name, const char* layer, const Rates& rates, const Rates& int16_peak,
           const Rates& fp32_peak) {
  std::printf("%-28s %-18s %8.2f %8.2f", name, layer, rates.one, rates.all);
  if (int16_peak.one > 0) {
    std::printf("   %6.1f %% %6.1f %%   %6.1f %% %6.1f %%", 100 * rates.one / int16_peak.one,
                100 * rates.all / int16_peak.all, 100 * rates.one / fp32_peak.one,
                100 * rates.all / fp32_peak.all);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

void Main() {
  SetThreadCount(0);
  const int threads = ThreadCount();
  const CpuLevel level = GetCpuLevel();
  std::printf(
      "processor level %s; GMAC/s on 1 and on %d threads, and as shares of the peaks on as many\n",
      std::string(NameOf(level)).c_str(), threads);
  std::printf("%-28s %-18s %8s %8s   %17s   %17s\n", "", "", "1", "all", "of int16 peak",
              "of fp32 peak");
  Rates int16_peak, fp32_peak;
  if (const bench::Peak peak = bench::Int16Peak(level); peak.run != nullptr) {
    int16_peak = RatesOf(peak.macs, threads, [&](int64_t) { peak.run(); }, threads);
  }
  if (const bench::Peak peak = bench::Fp32Peak(level); peak.run != nullptr) {
    fp32_peak = RatesOf(peak.macs, threads, [&](int64_t) { peak.run(); }, threads);
  }
  Print("int16 multiply-add peak", "registers", int16_peak, {}, {});
  Print("fp32 multiply-add peak", "registers", fp32_peak, {}, {});
  for (const Layer& layer : kLayers) {
    Print("int8", layer.name, Int8Rates(level, layer, threads), int16_peak, fp32_peak);
    for (const Case& c : kCases)
      Print(c.name, layer.name, MacRates(level, layer, c, threads), int16_peak, fp32_peak);
  }
}

}  // namespace kiln

int main(int argc, char** argv) {
  if (argc > 1) kiln::seconds_a_figure = std::atof(argv[1]);
  kiln::Main();
}
