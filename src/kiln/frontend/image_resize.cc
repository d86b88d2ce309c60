// Implements image_resize.h.
#include "kiln/frontend/image_resize.h"

#include <algorithm>
#include <cmath>

#include "kiln/support/check.h"

namespace kiln {
namespace {

// Fraction bits of a weight: 32 less 8 bits of a sample and 2 bits for sums beyond its range.
constexpr int kWeightBits = 22;

// Returns the filter's value at a distance in units of its width.
double FilterAt(Interpolation interpolation, double x) {
  x = std::abs(x);
  if (interpolation == Interpolation::kBilinear) return x < 1 ? 1 - x : 0;
  constexpr double kA = -0.5;
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * kA : 0;
}

// The weights of one pass: result i is the sum of weights[i * stride + k] times sample
// first[i] + k, for k below count[i].
struct Weights {
  int64_t stride = 0;
  std::vector<int64_t> first, count;
  std::vector<int32_t> weights;
};

// Computes the weights of a pass from `from` to `to` samples. The order of the operations decides
// the last bit of each weight and is Pillow's.
Weights WeightsOf(int64_t from, int64_t to, Interpolation interpolation) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double width = std::max(scale, 1.0);
  const double support = (interpolation == Interpolation::kBilinear ? 1.0 : 2.0) * width;
  Weights out;
  out.stride = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  out.weights.assign(static_cast<size_t>(out.stride * to), 0);
  std::vector<double> row(static_cast<size_t>(out.stride));
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first =
        std::max<int64_t>(static_cast<int64_t>(std::floor(centre - support + 0.5)), 0);
    const int64_t count =
        std::min(static_cast<int64_t>(std::floor(centre + support + 0.5)), from) - first;
    double sum = 0;
    for (int64_t k = 0; k < count; ++k) {
      const double x = (static_cast<double>(k + first) - centre + 0.5) * (1.0 / width);
      sum += row[static_cast<size_t>(k)] = FilterAt(interpolation, x);
    }
    for (int64_t k = 0; k < count; ++k) {
      double weight = row[static_cast<size_t>(k)];
      if (sum != 0) weight /= sum;
      weight = weight * (1 << kWeightBits) + (weight < 0 ? -0.5 : 0.5);
      out.weights[static_cast<size_t>(i * out.stride + k)] = static_cast<int32_t>(weight);
    }
    out.first.push_back(first);
    out.count.push_back(count);
  }
  return out;
}

// Filters along one axis of an image of [outer, axis, inner] samples.
std::vector<std::byte> FilterAxis(std::span<const std::byte> image, int64_t outer, int64_t from,
                                  int64_t to, int64_t inner, Interpolation interpolation) {
  const Weights weights = WeightsOf(from, to, interpolation);
  std::vector<std::byte> out(static_cast<size_t>(outer * to * inner));
  std::vector<int32_t> sums(static_cast<size_t>(inner));
  std::byte* result = out.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < to; ++i) {
      std::fill(sums.begin(), sums.end(), int32_t{1} << (kWeightBits - 1));
      const std::byte* sample =
          image.data() + (o * from + weights.first[static_cast<size_t>(i)]) * inner;
      for (int64_t k = 0; k < weights.count[static_cast<size_t>(i)]; ++k) {
        const int32_t weight = weights.weights[static_cast<size_t>(i * weights.stride + k)];
        for (int32_t& sum : sums) sum += std::to_integer<int32_t>(*sample++) * weight;
      }
      for (const int32_t sum : sums)
        *result++ = static_cast<std::byte>(std::clamp(sum >> kWeightBits, 0, 255));
    }
  }
  return out;
}

// Halves a number of at least 0 and rounds a half to the even integer.
int64_t HalfToEven(int64_t x) { return x / 2 + (x % 4 == 3 ? 1 : 0); }

}  // namespace

ImageSize ResizeShorterSide(ImageSize from, int64_t shorter) {
  const int64_t least = std::min(from.height, from.width);
  const int64_t most = std::max(from.height, from.width);
  const auto longer =
      static_cast<int64_t>(static_cast<double>(shorter * most) / static_cast<double>(least));
  return from.height < from.width ? ImageSize{shorter, longer} : ImageSize{longer, shorter};
}

std::vector<std::byte> ResizeImage(std::span<const std::byte> image, ImageSize from, ImageSize to,
                                   int64_t channels, Interpolation interpolation) {
  KILN_CHECK(from.height > 0 && from.width > 0 && to.height > 0 && to.width > 0 && channels > 0);
  KILN_CHECK(static_cast<int64_t>(image.size()) == from.height * from.width * channels);
  std::vector<std::byte> out;
  if (to.width != from.width) {
    out = FilterAxis(image, from.height, from.width, to.width, channels, interpolation);
    image = out;
  }
  if (to.height != from.height)
    return FilterAxis(image, 1, from.height, to.height, to.width * channels, interpolation);
  if (to.width == from.width) out.assign(image.begin(), image.end());
  return out;
}

std::vector<std::byte> CropCentre(std::span<const std::byte> image, ImageSize from, ImageSize to,
                                  int64_t pixel_bytes) {
  KILN_CHECK(static_cast<int64_t>(image.size()) == from.height * from.width * pixel_bytes);
  std::vector<std::byte> out(static_cast<size_t>(to.height * to.width * pixel_bytes));
  // Along each axis, `length` pixels are copied from position `source` to position `target`.
  struct Range {
    int64_t source, target, length;
  };
  const auto range = [](int64_t have, int64_t want) {
    if (have < want) return Range{0, (want - have) / 2, have};
    return Range{HalfToEven(have - want), 0, want};
  };
  const Range rows = range(from.height, to.height), columns = range(from.width, to.width);
  for (int64_t y = 0; y < rows.length; ++y) {
    const auto* first =
        image.data() + ((rows.source + y) * from.width + columns.source) * pixel_bytes;
    std::copy_n(first, columns.length * pixel_bytes,
                out.data() + ((rows.target + y) * to.width + columns.target) * pixel_bytes);
  }
  return out;
}

}  // namespace kiln
