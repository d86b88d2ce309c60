// Functions of one code as piecewise linear functions, which multiplications, additions and maxima
// compute exactly between their corners.
#ifndef KILN_TARGETS_CGRA_COMPILE_PIECEWISE_H_
#define KILN_TARGETS_CGRA_COMPILE_PIECEWISE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kiln::cgra {

// y = clamp((first * q + constant + sum over corners of slope * max(q, at)) >> shift, low, high),
// where the sum before the shift stays within 32 bits for every code q.
struct Piecewise {
  struct Corner {
    int32_t at = 0;
    int32_t slope = 0;
  };
  int32_t first = 0;
  int32_t constant = 0;
  std::vector<Corner> corners;
  int shift = 0;
  int32_t low = 0, high = 0;
  double error = 0;  // the largest distance from the function before rounding, in codes
};

inline constexpr int kMostSegments = 20;
// A function with a larger error is refused.
inline constexpr double kMostError = 0.75;

// Returns the function with the fewest segments that is nowhere more than a quarter of a code from
// the given values, or with kMostSegments and the smallest error. `values[i]` is the result for the
// code low_code + i, in real codes of the result; it is held within [low, high], so that values
// beyond count as the bound. The corners are optimal for the exact slopes (dynamic programming over
// pairs of codes); slopes are then rounded to fixed point. Returns nullopt if the error exceeds
// kMostError, or if slopes do not fit 32 bits.
std::optional<Piecewise> FitPiecewise(int32_t low_code, std::span<const double> values, int32_t low,
                                      int32_t high);

// Returns y for a code.
int32_t ValueAt(const Piecewise& function, int32_t code);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_COMPILE_PIECEWISE_H_
