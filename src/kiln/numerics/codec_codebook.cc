// The codec of codebooks: decoding is a table lookup, encoding a search for the two neighbours of a
// number among the values, which may be in any order.
#include <cmath>

#include "kiln/numerics/codec.h"
#include "kiln/numerics/codec_kinds.h"

namespace kiln::internal {
namespace {

// The values of a codebook on either side of a number x.
struct Neighbours {
  int below = -1;  // code of the largest value that is not above x; -1 if there is none
  int above = -1;  // code of the smallest value that is not below x; -1 if there is none
};

// Returns the neighbours of x by a linear search; NaN is excluded by the caller.
Neighbours Find(const std::vector<float>& values, const Exact& x) {
  Neighbours found;
  for (size_t i = 0; i < values.size(); ++i) {
    const std::strong_ordering order = Compare(Exact::FromFloat(values[i]), x);
    if (order <= 0 && (found.below < 0 || values[i] > values[static_cast<size_t>(found.below)])) {
      found.below = static_cast<int>(i);
    }
    if (order >= 0 && (found.above < 0 || values[i] < values[static_cast<size_t>(found.above)])) {
      found.above = static_cast<int>(i);
    }
  }
  return found;
}

// Returns whether x, strictly between two adjacent values, is rounded to the upper one.
bool GoesUp(Rounding rounding, float below, float above, const Exact& x, uint32_t random) {
  switch (rounding) {
    case Rounding::kTowardZero:
      return x.negative;
    case Rounding::kDown:
      return false;
    case Rounding::kStochastic: {
      const auto low = static_cast<double>(below), high = static_cast<double>(above);
      return random < std::floor((ToDouble(x) - low) / (high - low) * 0x1p32);
    }
    case Rounding::kNearestEven:
    case Rounding::kNearestAway:
      break;
  }
  // Compares x with the midpoint exactly, as 2x with below + above.
  const Exact sum = Add(Exact::FromFloat(below), Exact::FromFloat(above));
  const std::strong_ordering order = Compare(Multiply(Exact::FromInt(2), x), sum);
  if (order != 0) return order > 0;
  // A tie: between opposite values the positive one wins, which is `above`.
  if (std::fabs(below) == std::fabs(above)) return true;
  return (std::fabs(above) > std::fabs(below)) == (rounding == Rounding::kNearestAway);
}

}  // namespace

Exact DecodeCodebook(const Format& format, uint32_t code) {
  const std::vector<float>& values = format.codebook->values;
  code &= CodeMask(format);
  // Codes beyond the list represent its last value.
  return Exact::FromFloat(values[code < values.size() ? code : values.size() - 1]);
}

uint32_t CodebookZero(const Format& format) {
  const std::vector<float>& values = format.codebook->values;
  size_t least = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    const float magnitude = std::fabs(values[i]), least_so_far = std::fabs(values[least]);
    if (magnitude < least_so_far || (magnitude == least_so_far && values[i] > values[least]))
      least = i;
  }
  return static_cast<uint32_t>(least);
}

uint32_t EncodeCodebook(const Format& format, const Exact& x, uint32_t random) {
  const std::vector<float>& values = format.codebook->values;
  if (x.is_nan()) return CodebookZero(format);
  const Neighbours near = Find(values, x);
  if (near.below < 0) return static_cast<uint32_t>(near.above);
  if (near.above < 0 || near.above == near.below) return static_cast<uint32_t>(near.below);
  const float below = values[static_cast<size_t>(near.below)],
              above = values[static_cast<size_t>(near.above)];
  return static_cast<uint32_t>(GoesUp(format.rounding, below, above, x, random) ? near.above
                                                                                : near.below);
}

}  // namespace kiln::internal
