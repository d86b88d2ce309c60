// Selects the spline tables of a vector format and the evaluation body of the processor's level.

#include "kiln/numerics/nonlinear.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "kiln/numerics/nonlinear_body.h"
#include "kiln/numerics/spline_fit.h"
#include "kiln/support/cpu.h"

namespace kiln {
namespace {

// The tables of the common formats are constants, so that they need not be fitted at run time.
constexpr std::array<SplineTables, 3> kTables = {{
#include "kiln/numerics/nonlinear_tables.inc"
}};
constexpr std::array<std::string_view, 3> kTableFormats = {"fp32", "bf16", "fp16"};

// A row of nonlinear_errors.def.
struct ErrorRow {
  NonlinearFunction function;
  std::string_view format;
  NonlinearError error;
};
constexpr ErrorRow kErrors[] = {
    {},
#define KILN_ERROR(function, format, absolute, absolute_at, ulps, ulps_at) \
  {NonlinearFunction::function, #format, {absolute, ulps, absolute_at, ulps_at}},
#include "kiln/numerics/nonlinear_errors.def"
#undef KILN_ERROR
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

StatusOr<const SplineTables*> SplineTablesFor(const Format& vector_format, int segments) {
  if (vector_format.kind != FormatKind::kFloat ||
      vector_format.low_exponent == LowExponent::kNormal || !vector_format.is_signed) {
    return ErrorAt("", "", "no approximate functions in " + vector_format.name,
                   "a signed float such as fp32 or bf16");
  }
  if (segments < 1 || segments > kMostSplineSegments) {
    return ErrorAt("", "", "splines of " + std::to_string(segments) + " segments",
                   "1 to " + std::to_string(kMostSplineSegments));
  }
  // Looks for a constant table first.
  if (segments == kSplineSegments) {
    for (size_t i = 0; i < kTables.size(); ++i) {
      if (kTableFormats[i] == vector_format.name) return &kTables[i];
    }
  }
  // Fitted tables are kept for the life of the process, because callers hold pointers to them.
  static std::mutex mutex;
  static auto* const fitted = new std::map<std::pair<std::string, int>, SplineTables>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto key = std::pair(vector_format.name, segments);
  const auto found = fitted->find(key);
  return &(found != fitted->end() ? found
                                  : fitted->emplace(key, FitSplines(vector_format, segments)).first)
              ->second;
}

const SplineTables& DefaultSplineTables() { return kTables[0]; }

float Approximate(const SplineTables& tables, NonlinearFunction function, float x) {
  NonlinearBody<simd::Scalar>{tables}.Run(function, &x, 1);
  return x;
}

void Approximate(const SplineTables& tables, NonlinearFunction function, std::span<float> values) {
  const int64_t count = static_cast<int64_t>(values.size());
#if defined(__x86_64__)
  switch (GetCpuLevel()) {
    case CpuLevel::kAvx512Bf16:
    case CpuLevel::kAvx512Vnni:
      return internal::ApproximateAvx512(tables, function, values.data(), count);
    case CpuLevel::kAvx2:
      return internal::ApproximateAvx2(tables, function, values.data(), count);
    case CpuLevel::kPortable:
      break;
  }
#endif
  NonlinearBody<simd::Scalar>{tables}.Run(function, values.data(), count);
}

const NonlinearError* StatedError(NonlinearFunction function, std::string_view vector_format) {
  for (const ErrorRow& row : kErrors) {
    if (row.function == function && row.format == vector_format) return &row.error;
  }
  return nullptr;
}

}  // namespace kiln
