// Measures the largest error of every approximate function (seven segments) and prints the rows of
// src/kiln/numerics/nonlinear_errors.def:
//   build/bench/nonlinear_errors > src/kiln/numerics/nonlinear_errors.def
// Covers every number of bf16 and fp16, and every 61st of fp32 (with --all every one, which takes
// an hour). With --fixed it measures the fixed-point unit:
//   build/bench/nonlinear_errors --fixed > src/kiln/numerics/function_unit_errors.def
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/function_unit.h"
#include "kiln/numerics/nonlinear.h"
#include "kiln/numerics/spline_fit.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

constexpr const char* kIds[kNonlinearFunctions] = {
    "kExp", "kSigmoid",  "kTanh", "kGelu",        "kGeluTanh",
    "kErf", "kSoftplus", "kSilu", "kHardSigmoid", "kHardSwish",
    "kLog", "kSqrt",     "kElu",  "kReciprocal",  "kReciprocalSquareRoot"};

// Keeps the greater of two errors, with its place, in `worst`.
void Widen(NonlinearError& worst, const NonlinearError& other) {
  if (other.absolute > worst.absolute) {
    worst.absolute = other.absolute;
    worst.absolute_at = other.absolute_at;
  }
  if (other.ulps > worst.ulps) {
    worst.ulps = other.ulps;
    worst.ulps_at = other.ulps_at;
  }
}

// Returns whether a number is subnormal in fp32; such arguments and exact values do not count for
// the fixed-point unit.
bool IsSubnormal(double x) { return x != 0 && std::fabs(x) < 0x1p-126; }

// Measures a function, of splines or of the fixed-point unit, at every step-th number of the
// format.
NonlinearError Measure(NonlinearFunction function, const Format& format, int64_t step, bool fixed) {
  const SplineTables& tables = **SplineTablesFor(format);
  const int64_t codes = ((int64_t{1} << format.bits) + step - 1) / step;
  const int64_t chunk = std::min<int64_t>(codes, 1 << 16);
  const int64_t chunks = (codes + chunk - 1) / chunk;
  std::vector<NonlinearError> worst(static_cast<size_t>(chunks));
  const bool wide = format.bits == 32;
  ParallelFor(chunks, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> x(static_cast<size_t>(chunk)), y;
    for (int64_t c = begin; c < end; ++c) {
      for (int64_t i = 0; i < chunk; ++i) {
        const auto code = static_cast<uint32_t>(std::min(c * chunk + i, codes - 1) * step);
        x[static_cast<size_t>(i)] = wide ? std::bit_cast<float>(code) : DecodeFloat(format, code);
      }
      y = x;
      if (fixed) {
        for (float& value : y) value = ApproximateFixed(function, value);
      } else {
        Approximate(tables, function, y);
      }
      NonlinearError& here = worst[static_cast<size_t>(c)];
      for (size_t i = 0; i < x.size(); ++i) {
        if (!std::isfinite(x[i])) continue;
        const float rounded = wide ? y[i] : DecodeFloat(format, EncodeFloat(format, y[i]));
        const auto at = static_cast<double>(x[i]);
        if (fixed && (IsSubnormal(at) || IsSubnormal(NonlinearTarget(function, at)))) continue;
        const ErrorAtArgument error = NonlinearErrorAt(function, format, x[i], rounded);
        Widen(here, {error.absolute, error.ulps, at, at});
      }
    }
  });
  NonlinearError all;
  for (const NonlinearError& one : worst) Widen(all, one);
  return all;
}

// Returns x rounded up in its third digit, so that the printed bound holds.
std::string Up(double x) {
  if (x == 0) return "0";
  const double step = std::pow(10.0, std::floor(std::log10(x)) - 2);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", std::ceil(x / step) * step);
  return text;
}

}  // namespace
}  // namespace kiln

int main(int argc, char** argv) {
  using namespace kiln;
  const std::string option = argc > 1 ? argv[1] : "";
  const bool all = option == "--all", fixed = option == "--fixed";
  std::printf(
      "// KILN_ERROR(function, vector format, absolute error, where, units of the last place, "
      "where):\n"
      "// see %s.\n",
      fixed ? "function_unit.h. Written by bench/nonlinear_errors --fixed"
            : "nonlinear.h. Written by bench/nonlinear_errors");
  for (const char* name : {"fp32", "bf16", "fp16"}) {
    const Format format = *FindFormat(name);
    if (fixed && format.bits == 32) continue;
    const int64_t step = format.bits == 32 && !all ? 61 : 1;
    for (int f = 0; f < kNonlinearFunctions; ++f) {
      const NonlinearError worst = Measure(static_cast<NonlinearFunction>(f), format, step, fixed);
      std::printf("KILN_ERROR(%s, %s, %s, %a, %s, %a)\n", kIds[f], name, Up(worst.absolute).c_str(),
                  worst.absolute_at, Up(worst.ulps).c_str(), worst.ulps_at);
      std::fflush(stdout);
    }
  }
  return 0;
}
