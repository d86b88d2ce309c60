// The simplex method with a dense basis that is solved anew for each step: it has few rows.
//
//   maximise t with t <= constant_k + slope_k * x and 0 <= x <= most has the dual
//   minimise sum(constant_k * a_k) + most * sum(u) with sum(a) = 1 and
//   u - s - sum(slope_k * a_k) = 0 for each variable, all of a, u, s at least 0
#include "kiln/targets/dataflow/fold/cutting_planes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kiln::dataflow {
namespace {

constexpr int kMostSteps = 100;
constexpr double kRelativeZero = 1e-10;
// Right sides that differ from 0 and from one another keep the simplex method from cycling.
constexpr double kPerturbation = 1e-9;

}  // namespace

void CuttingPlanes::AddUnit(size_t row, double entry, double cost) {
  Column& column = columns_.emplace_back();
  column.cost = cost;
  column.entries.assign(variables_ + 1, 0);
  column.entries[row] = entry;
}

void CuttingPlanes::Add(double constant, const std::vector<double>& slope) {
  Column& column = columns_.emplace_back();
  column.cost = constant;
  for (const double entry : slope) column.entries.push_back(-entry);
  column.entries.push_back(1);
  if (basis_.empty()) Begin();
}

// Takes the first plane, and the column of each variable that satisfies its row with it.
void CuttingPlanes::Begin() {
  const std::vector<double> first = columns_[0].entries;
  for (size_t v = 0; v < variables_; ++v) {
    scale_ = std::max(scale_, std::abs(first[v]));
    AddUnit(v, 1, most_);
    AddUnit(v, -1, 0);
    const auto bound = static_cast<int>(columns_.size()) - 2;
    basis_.push_back(first[v] < 0 ? bound : bound + 1);
  }
  basis_.push_back(0);
}

// Solves the basis, or its transpose, for a right side by elimination with pivots.
void CuttingPlanes::Solve(bool transposed, std::vector<double>& right) {
  const size_t rows = basis_.size();
  matrix_.resize(rows * rows);
  for (size_t c = 0; c < rows; ++c) {
    const std::vector<double>& entries = columns_[static_cast<size_t>(basis_[c])].entries;
    for (size_t r = 0; r < rows; ++r)
      matrix_[transposed ? c * rows + r : r * rows + c] = entries[r];
  }
  const auto row = [&](size_t r) { return matrix_.begin() + static_cast<ptrdiff_t>(r * rows); };
  for (size_t at = 0; at < rows; ++at) {
    size_t pivot = at;
    for (size_t r = at + 1; r < rows; ++r) {
      if (std::abs(row(r)[at]) > std::abs(row(pivot)[at])) pivot = r;
    }
    std::swap_ranges(row(at), row(at) + static_cast<ptrdiff_t>(rows), row(pivot));
    std::swap(right[at], right[pivot]);
    if (row(at)[at] == 0) continue;
    for (size_t r = at + 1; r < rows; ++r) {
      const double factor = row(r)[at] / row(at)[at];
      if (factor == 0) continue;
      for (size_t c = at; c < rows; ++c) row(r)[c] -= factor * row(at)[c];
      right[r] -= factor * right[at];
    }
  }
  for (size_t at = rows; at > 0; --at) {
    const size_t r = at - 1;
    for (size_t c = at; c < rows; ++c) right[r] -= row(r)[c] * right[c];
    right[r] = row(r)[r] == 0 ? 0 : right[r] / row(r)[r];
  }
}

// Returns the column of least reduced cost; -1 if none is below 0.
int CuttingPlanes::Entering() const {
  int entering = -1;
  double least = 0;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    double reduced = column.cost - maximum_.value;
    double size = std::abs(column.cost) + std::abs(maximum_.value);
    if (column.entries[variables_] == 0) reduced = size = column.cost;
    for (size_t v = 0; v < variables_; ++v) {
      reduced -= column.entries[v] * maximum_.x[v];
      size += std::abs(column.entries[v] * maximum_.x[v]);
    }
    if (reduced >= std::min(least, -kRelativeZero * size)) continue;
    least = reduced;
    entering = static_cast<int>(c);
  }
  return entering;
}

// Returns the row whose column becomes 0 first while the entering column grows.
size_t CuttingPlanes::Leaving(int entering) {
  std::vector<double> amounts(basis_.size(), 0);
  for (size_t v = 0; v < variables_; ++v) {
    amounts[v] = -kPerturbation * scale_ * static_cast<double>(v + 1);
  }
  amounts[variables_] = 1;
  Solve(false, amounts);
  std::vector<double> change = columns_[static_cast<size_t>(entering)].entries;
  Solve(false, change);
  size_t leaving = basis_.size();
  double least = std::numeric_limits<double>::infinity();
  for (size_t r = 0; r < basis_.size(); ++r) {
    if (change[r] <= kRelativeZero) continue;
    const double ratio = std::max(0.0, amounts[r]) / change[r];
    if (ratio >= least) continue;
    least = ratio;
    leaving = r;
  }
  return leaving;
}

const CuttingPlanes::Maximum& CuttingPlanes::Maximise() {
  for (int step = 0; step < kMostSteps; ++step) {
    maximum_.x.clear();
    for (const int column : basis_) {
      maximum_.x.push_back(columns_[static_cast<size_t>(column)].cost);
    }
    Solve(true, maximum_.x);
    maximum_.value = maximum_.x.back();
    maximum_.x.pop_back();
    const int entering = Entering();
    if (entering < 0) break;
    const size_t leaving = Leaving(entering);
    if (leaving == basis_.size()) break;
    basis_[leaving] = entering;
  }
  for (double& x : maximum_.x) x = std::clamp(x, 0.0, most_);
  return maximum_;
}

}  // namespace kiln::dataflow
