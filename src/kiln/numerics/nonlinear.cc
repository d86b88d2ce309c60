#include "kiln/numerics/nonlinear.h"

#include "kiln/numerics/nonlinear_body.h"
#include "kiln/support/cpu.h"

namespace kiln {
namespace {

constexpr Spline kTables[kSplines] = {
#include "kiln/numerics/nonlinear_tables.inc"
};

}  // namespace

std::string_view NameOf(NonlinearFunction function) {
  switch (function) {
    case NonlinearFunction::kExp:
      return "exp";
    case NonlinearFunction::kSigmoid:
      return "sigmoid";
    case NonlinearFunction::kTanh:
      return "tanh";
    case NonlinearFunction::kGelu:
      return "gelu";
    case NonlinearFunction::kGeluTanh:
      return "gelu_tanh";
    case NonlinearFunction::kErf:
      return "erf";
    case NonlinearFunction::kSoftplus:
      return "softplus";
    case NonlinearFunction::kSilu:
      return "silu";
    case NonlinearFunction::kHardSigmoid:
      return "hard_sigmoid";
    case NonlinearFunction::kHardSwish:
      return "hard_swish";
    case NonlinearFunction::kLog:
      return "log";
    case NonlinearFunction::kSqrt:
      return "sqrt";
    case NonlinearFunction::kElu:
      return "elu";
    case NonlinearFunction::kReciprocal:
      return "reciprocal";
    case NonlinearFunction::kReciprocalSquareRoot:
      return "reciprocal_square_root";
  }
  return "?";
}

const Spline& SplineOf(SplineId id) { return kTables[static_cast<int>(id)]; }

float Approximate(NonlinearFunction function, float x) {
  NonlinearBody<simd::Scalar>{kTables}.Run(function, &x, 1);
  return x;
}

void Approximate(NonlinearFunction function, std::span<float> values) {
  const int64_t count = static_cast<int64_t>(values.size());
#if defined(__x86_64__)
  switch (GetCpuLevel()) {
    case CpuLevel::kAvx512Vnni:
      return internal::ApproximateAvx512(kTables, function, values.data(), count);
    case CpuLevel::kAvx2:
      return internal::ApproximateAvx2(kTables, function, values.data(), count);
    case CpuLevel::kPortable:
      break;
  }
#endif
  NonlinearBody<simd::Scalar>{kTables}.Run(function, values.data(), count);
}

}  // namespace kiln
