// Checks the encoding of every fp32 number into every named format of up to 8 bits. The scalar
// definition and the tables are both compared with exact rationals (tests/numerics/oracle.h).
//
//   encode_all_fp32 [--quick] [FORMAT...]    prints one row per format; exit code 1 if a code
//                                            differs
//
// A format takes about two minutes of processor time. With --quick, tables still encode every
// number, and the scalar definition encodes every 127th number and both ends of each code's range:
// ten seconds.
//
// Codes do not decrease as numbers increase, so the oracle only finds where each code begins, among
// the fp32 numbers of one sign; the library is tested at every number.
#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/tables.h"
#include "kiln/support/parallel.h"
#include "tests/numerics/oracle.h"

namespace kiln {
namespace {

constexpr uint32_t kInfinity = 0x7f800000, kSign = 0x80000000;

struct Run {  // the fp32 numbers with bits [first, last] have the same code
  uint32_t first = 0, last = 0, code = 0;
};

// The runs of all codes of a format, found by bisection with the oracle.
class Runs {
 public:
  explicit Runs(const Format& format) : oracle_(format) {
    for (const uint32_t sign : {0u, kSign}) {
      Split({sign, CodeOf(sign)}, {sign + kInfinity, CodeOf(sign + kInfinity)});
      runs_.push_back({sign + kInfinity, sign + kInfinity, CodeOf(sign + kInfinity)});
      runs_.push_back(
          {sign + kInfinity + 1, sign + (kSign - 1), CodeOf(sign + kInfinity + 1)});  // NaN
    }
  }
  const std::vector<Run>& runs() const { return runs_; }

 private:
  struct End {
    uint32_t bits, code;
  };
  uint32_t CodeOf(uint32_t bits) const { return oracle_.Code(fp32_.Value(bits)); }
  // Adds the runs of [low, high) by bisection.
  void Split(End low, End high) {
    if (low.code == high.code || high.bits - low.bits == 1) {
      const bool goes_on =
          !runs_.empty() && runs_.back().code == low.code && runs_.back().last == low.bits - 1;
      if (!goes_on) runs_.push_back({low.bits, 0, low.code});
      runs_.back().last = high.bits - 1;
      return;
    }
    const uint32_t middle = low.bits + (high.bits - low.bits) / 2;
    const End between{middle, CodeOf(middle)};
    Split(low, between);
    Split(between, high);
  }

  oracle::Oracle fp32_{*FindFormat("fp32")}, oracle_;
  std::vector<Run> runs_;
};

// Returns the number of elements of a run to which the library gives another code, by the
// definition (at every stride-th number) or by table.
int64_t Mismatches(const Format& format, const Run& run, size_t stride) {
  constexpr int64_t kChunk = int64_t{1} << 16;
  const int64_t count = int64_t{run.last} - run.first + 1;
  std::atomic<int64_t> mismatches = 0;
  ParallelFor(count, kChunk, [&](int64_t first, int64_t end) {
    const int64_t length = end - first;
    std::vector<float> values(static_cast<size_t>(length));
    std::vector<uint8_t> codes(static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) {
      values[static_cast<size_t>(i)] =
          std::bit_cast<float>(static_cast<uint32_t>(run.first + first + i));
    }
    EncodeValues(format, values.data(), length, codes.data());
    int64_t wrong = 0;
    for (const uint8_t code : codes) wrong += (code & CodeMask(format)) == run.code ? 0 : 1;
    for (size_t k = 0; k < values.size(); k += stride)
      wrong += EncodeFloat(format, values[k]) == run.code ? 0 : 1;
    wrong += EncodeFloat(format, values.back()) == run.code ? 0 : 1;
    mismatches += wrong;
  });
  return mismatches;
}

int Main(int argc, char** argv) {
  std::vector<Format> formats;
  const bool quick = argc > 1 && argv[1] == std::string_view("--quick");
  for (int i = quick ? 2 : 1; i < argc; ++i) {
    const StatusOr<Format> format = FindFormat(argv[i]);
    if (!format.ok() || format->bits > 8) {
      fmt::print(stderr, "encode_all_fp32: {}\n",
                 format.ok() ? "formats of at most 8 bits only" : MessageOf(format.status()));
      return 2;
    }
    formats.push_back(*format);
  }
  if (formats.empty()) {
    for (const Format& format : AllFormats()) {
      if (format.bits <= 8) formats.push_back(format);
    }
  }
  int64_t all = 0;
  fmt::print("{:<14} {:>6} {:>12} {:>11} {:>8}\n", "format", "runs", "numbers", "mismatches",
             "seconds");
  for (const Format& format : formats) {
    const auto start = std::chrono::steady_clock::now();
    const Runs runs(format);
    int64_t numbers = 0, mismatches = 0;
    for (const Run& run : runs.runs()) {
      numbers += int64_t{run.last} - run.first + 1;
      mismatches += Mismatches(format, run, quick ? 127 : 1);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fmt::print("{:<14} {:>6} {:>12} {:>11} {:>8.0f}\n", format.name, runs.runs().size(), numbers,
               mismatches, seconds.count());
    all += mismatches;
  }
  return all == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) { return kiln::Main(argc, argv); }
