// Chooses corners by dynamic programming over all pairs of codes, and slopes in fixed point.

#include "kiln/targets/cgra/compile/piecewise.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kiln::cgra {
namespace {

constexpr double kWantedError = 0.25;
constexpr int kMostFunctionShift = 22;
constexpr double kFarBeyond = 1024;  // codes

// The error of a straight line between two codes, by pairs.
class ChordErrors {
 public:
  // Lines and values count as the bound that they exceed.
  ChordErrors(std::span<const double> values, double low, double high)
      : count_(values.size()), errors_(count_ * count_, 0.0) {
    for (size_t i = 0; i < count_; ++i) {
      for (size_t j = i + 2; j < count_; ++j) {
        const double slope = (values[j] - values[i]) / static_cast<double>(j - i);
        double worst = 0;
        for (size_t k = i + 1; k < j; ++k) {
          const double line = values[i] + slope * static_cast<double>(k - i);
          worst = std::max(
              worst, std::abs(std::clamp(line, low, high) - std::clamp(values[k], low, high)));
        }
        errors_[i * count_ + j] = worst;
      }
    }
  }
  double operator()(size_t i, size_t j) const { return errors_[i * count_ + j]; }

 private:
  size_t count_;
  std::vector<double> errors_;
};

// Returns the corners, first and last code included, of the best function with the fewest segments.
std::vector<size_t> ChooseCorners(std::span<const double> values, double low, double high) {
  const size_t count = values.size();
  if (count == 1) return {0};
  const ChordErrors chord(values, low, high);
  // best[n][j]: the least error of n + 1 segments from the first code to code j.
  std::vector<std::vector<double>> best(1, std::vector<double>(count, 0.0));
  std::vector<std::vector<size_t>> from(1, std::vector<size_t>(count, 0));
  for (size_t j = 1; j < count; ++j) best[0][j] = chord(0, j);
  while (best.back()[count - 1] > kWantedError && std::ssize(best) < kMostSegments) {
    const std::vector<double>& before = best.back();
    std::vector<double> now = before;
    std::vector<size_t> source(count, 0);
    for (size_t j = 1; j < count; ++j) {
      now[j] = std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < j; ++i) {
        const double error = std::max(before[i], chord(i, j));
        if (error < now[j]) {
          now[j] = error;
          source[j] = i;
        }
      }
    }
    best.push_back(std::move(now));
    from.push_back(std::move(source));
  }
  std::vector<size_t> corners = {count - 1};
  for (size_t n = best.size(); n-- > 0 && corners.back() > 0;)
    corners.push_back(n == 0 ? 0 : from[n][corners.back()]);
  std::ranges::reverse(corners);
  return corners;
}

// A line through two points: y = slope * q + offset.
struct Line {
  size_t begin = 0;  // the first code that it serves
  double slope = 0, offset = 0;
};

// Returns the lines between corners. Flat ends at the least or the greatest value are left out:
// where the line beside them goes on, the bounds hold the result.
std::vector<Line> LinesOf(std::span<const double> values, double low, double high) {
  const std::vector<size_t> corners = ChooseCorners(values, low, high);
  std::vector<Line> lines;
  for (size_t c = 0; c + 1 < corners.size(); ++c) {
    const auto begin = static_cast<double>(corners[c]), end = static_cast<double>(corners[c + 1]);
    Line line;
    line.begin = corners[c];
    line.slope = (values[corners[c + 1]] - values[corners[c]]) / (end - begin);
    line.offset = values[corners[c]] - line.slope * begin;
    lines.push_back(line);
  }
  if (lines.empty()) lines.push_back({0, 0, values[0]});
  const auto flat_end = [&](const Line& line) {
    return line.slope == 0 && (line.offset == low || line.offset == high);
  };
  if (lines.size() > 1 && flat_end(lines.back())) lines.pop_back();
  if (lines.size() > 1 && flat_end(lines.front())) lines.erase(lines.begin());
  return lines;
}

int64_t SumAt(const Piecewise& f, int32_t code) {
  int64_t sum = int64_t{f.first} * code + f.constant;
  for (const Piecewise::Corner& corner : f.corners)
    sum += int64_t{corner.slope} * std::max(code, corner.at);
  return sum;
}

}  // namespace

int32_t ValueAt(const Piecewise& f, int32_t code) {
  return static_cast<int32_t>(std::clamp<int64_t>(SumAt(f, code) >> f.shift, f.low, f.high));
}

std::optional<Piecewise> FitPiecewise(int32_t low_code, std::span<const double> given, int32_t low,
                                      int32_t high) {
  // Values far beyond the bounds would only make slopes steep.
  std::vector<double> values;
  for (const double value : given)
    values.push_back(std::clamp(value, low - kFarBeyond, high + kFarBeyond));
  const auto [smallest, largest_value] = std::ranges::minmax_element(values);
  const double least = std::clamp<double>(*smallest, low, high);
  const double greatest = std::clamp<double>(*largest_value, low, high);
  const std::vector<Line> lines = LinesOf(values, least, greatest);
  Piecewise f;
  f.low = static_cast<int32_t>(std::nearbyint(least));
  f.high = static_cast<int32_t>(std::nearbyint(greatest));
  const auto count = static_cast<int32_t>(values.size());
  // The largest shift with which sums and factors fit, constants of single terms included.
  for (f.shift = kMostFunctionShift; f.shift >= 0; --f.shift) {
    f.corners.clear();
    const auto fixed = [&](double real) { return std::llround(std::ldexp(real, f.shift)); };
    int64_t slope = fixed(lines[0].slope), sum = slope;
    int64_t constant = fixed(lines[0].offset + 0.5) - slope * low_code;
    bool fits = std::abs(slope) <= std::numeric_limits<int32_t>::max();
    f.first = static_cast<int32_t>(slope);
    for (size_t l = 1; l < lines.size(); ++l) {
      const auto at = low_code + static_cast<int32_t>(lines[l].begin);
      slope = fixed(lines[l].slope) - sum;
      sum += slope;
      constant -= slope * at;
      fits = fits && std::abs(slope) <= std::numeric_limits<int32_t>::max();
      f.corners.push_back({at, static_cast<int32_t>(slope)});
    }
    // Sums wrap, so that only their end must fit.
    f.constant = static_cast<int32_t>(static_cast<uint32_t>(constant));
    int64_t largest = 0;
    for (int32_t i = 0; i < count && fits; ++i) {
      const int64_t all = SumAt(f, low_code + i) - f.constant + constant;
      largest = std::max(largest, std::abs(all));
    }
    if (fits && largest < int64_t{1} << 30 && f.constant == constant) break;
  }
  if (f.shift < 0) return std::nullopt;
  for (int32_t i = 0; i < count; ++i) {
    const double exact = std::ldexp(static_cast<double>(SumAt(f, low_code + i)), -f.shift) - 0.5;
    const double wanted = std::clamp(values[static_cast<size_t>(i)], least, greatest);
    f.error = std::max(f.error, std::abs(std::clamp(exact, least, greatest) - wanted));
  }
  return f.error <= kMostError ? std::optional(f) : std::nullopt;
}

}  // namespace kiln::cgra
