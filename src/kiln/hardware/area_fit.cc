// Reads grids of synthesised modules, fits the area models to them by non-negative least squares,
// and prints the coefficients.

#include "kiln/hardware/area_fit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "kiln/support/check.h"

namespace kiln::hardware {
namespace {

// Returns x with M x = y for a symmetric positive definite M, by Gaussian elimination with
// pivoting.
std::vector<double> Solve(std::vector<std::vector<double>> m, std::vector<double> y) {
  const size_t n = y.size();
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::abs(m[i][k]) > std::abs(m[pivot][k])) pivot = i;
    }
    std::swap(m[k], m[pivot]);
    std::swap(y[k], y[pivot]);
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = m[i][k] / m[k][k];
      for (size_t j = k; j < n; ++j) m[i][j] -= factor * m[k][j];
      y[i] -= factor * y[k];
    }
  }
  std::vector<double> x(n);
  for (size_t k = n; k-- > 0;) {
    double rest = y[k];
    for (size_t j = k + 1; j < n; ++j) rest -= m[k][j] * x[j];
    x[k] = rest / m[k][k];
  }
  return x;
}

// The normal equations A^T A x = A^T b of a least squares problem. The columns of A are scaled to
// length 1, so that one tolerance applies to all of them.
class Normal {
 public:
  Normal(const std::vector<std::vector<double>>& rows, const std::vector<double>& b)
      : size_(rows.empty() ? 0 : rows.front().size()),
        lengths_(size_),
        product_(size_),
        right_(size_) {
    for (size_t i = 0; i < size_; ++i) {
      for (const auto& row : rows) lengths_[i] += row[i] * row[i];
      lengths_[i] = lengths_[i] > 0 ? std::sqrt(lengths_[i]) : 1;
    }
    for (size_t i = 0; i < size_; ++i) {
      product_[i].resize(size_);
      for (size_t r = 0; r < rows.size(); ++r) {
        right_[i] += rows[r][i] / lengths_[i] * b[r];
        for (size_t j = 0; j < size_; ++j)
          product_[i][j] += rows[r][i] / lengths_[i] * rows[r][j] / lengths_[j];
      }
    }
  }
  size_t size() const { return size_; }
  double length(size_t i) const { return lengths_[i]; }

  // Returns half the rate at which the squared error falls when x[i] grows.
  double Descent(const std::vector<double>& x, size_t i) const {
    double descent = right_[i];
    for (size_t j = 0; j < size_; ++j) descent -= product_[i][j] * x[j];
    return descent;
  }
  // Returns the x with the smallest error among those with zeros wherever `free` is false.
  std::vector<double> Best(const std::vector<bool>& free) const {
    std::vector<size_t> places;
    for (size_t i = 0; i < size_; ++i) {
      if (free[i]) places.push_back(i);
    }
    std::vector<std::vector<double>> m(places.size(), std::vector<double>(places.size()));
    std::vector<double> y(places.size());
    for (size_t i = 0; i < places.size(); ++i) {
      y[i] = right_[places[i]];
      for (size_t j = 0; j < places.size(); ++j) m[i][j] = product_[places[i]][places[j]];
      m[i][i] += kRidge;
    }
    const std::vector<double> found = Solve(std::move(m), std::move(y));
    std::vector<double> x(size_);
    for (size_t i = 0; i < places.size(); ++i) x[places[i]] = found[i];
    return x;
  }

 private:
  // A ridge term, which keeps the system regular if two columns are equal. Too small to matter.
  static constexpr double kRidge = 1e-9;
  size_t size_;
  std::vector<double> lengths_;               // original lengths of the columns
  std::vector<std::vector<double>> product_;  // A^T A
  std::vector<double> right_;                 // A^T b
};

// Parses a row of the grid; `place` is its file and line.
StatusOr<GridPoint> ParsePoint(const std::vector<std::string>& cells, const std::string& place) {
  constexpr size_t kModule = 0, kWithout = 1, kParameters = 2, kUse = 3, kArea = 4, kColumns = 8;
  if (cells.size() != kColumns)
    return ErrorAt(place, "", "has another number of cells than the file's head", "");
  GridPoint point{.module = cells[kModule],
                  .without = cells[kWithout],
                  .parameters = {},
                  .text = cells[kParameters]};
  KILN_ASSIGN_OR_RETURN(point.parameters, ModuleParameters::Parse(cells[kParameters]));
  point.check = cells[kUse] == "check";
  const std::string& area = cells[kArea];
  const auto [end, error] = std::from_chars(area.data(), area.data() + area.size(), point.area);
  if (error != std::errc() || end != area.data() + area.size() || !(point.area > 0)) {
    return ErrorAt(place, area, "is no area", "a number above 0");
  }
  return point;
}

// Adds a relative error to the statistics; FitModels divides `mean` by the number of points at the
// end.
void Add(double error, FitError* sum) {
  ++sum->points;
  sum->mean += std::abs(error);
  sum->worst = std::max(sum->worst, std::abs(error));
}

}  // namespace

StatusOr<std::vector<GridPoint>> ParseGrid(const std::string& text, const std::string& file) {
  std::vector<GridPoint> grid;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  bool head = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty() || lines[i].starts_with('#')) continue;
    if (std::exchange(head, false)) continue;
    KILN_ASSIGN_OR_RETURN(GridPoint point, ParsePoint(absl::StrSplit(lines[i], ','),
                                                      fmt::format("{}:{}", file, i + 1)));
    grid.push_back(std::move(point));
  }
  return grid;
}

std::vector<double> SolveNonNegative(const std::vector<std::vector<double>>& rows,
                                     const std::vector<double>& b) {
  constexpr double kFlat = 1e-7;  // a smaller descent counts as none
  const Normal normal(rows, b);
  std::vector<bool> free(normal.size());
  std::vector<double> x(normal.size());
  for (size_t turns = 10 * normal.size() + 10; turns > 0; --turns) {
    // Frees the variable at 0 whose growth reduces the error fastest.
    size_t best = normal.size();
    double most = kFlat;
    for (size_t i = 0; i < normal.size(); ++i) {
      if (const double descent = free[i] ? 0 : normal.Descent(x, i); descent > most) {
        most = descent;
        best = i;
      }
    }
    if (best == normal.size()) break;
    free[best] = true;
    for (;;) {
      const std::vector<double> wanted = normal.Best(free);
      // Moves towards the optimum of the free variables until the first of them reaches 0, and
      // fixes that one at 0. Repeats until the optimum itself is non-negative.
      double step = 1;
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (free[i] && wanted[i] <= 0) step = std::min(step, x[i] / (x[i] - wanted[i] + 1e-300));
      }
      bool stopped = false;
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (!free[i]) continue;
        x[i] += step * (wanted[i] - x[i]);
        if (wanted[i] <= 0 && x[i] < 1e-12) {
          x[i] = 0;
          free[i] = false;
          stopped = true;
        }
      }
      if (!stopped) break;
    }
  }
  for (size_t i = 0; i < x.size(); ++i) x[i] /= normal.length(i);
  return x;
}

std::vector<FittedModel> FitModels(const std::vector<ModuleModel>& models,
                                   const std::vector<GridPoint>& grid) {
  std::vector<FittedModel> fitted;
  for (const ModuleModel& model : models) {
    std::vector<std::vector<double>> rows;
    size_t features = 0;
    for (const GridPoint& point : grid) {
      if (FindModuleModel(models, point.module, point.parameters) != &model) continue;
      if (point.check) continue;
      std::vector<double> row;
      for (const Feature& feature : model.features(point.parameters, fitted))
        // Dividing a row by the area makes the residual a relative error.
        row.push_back(feature.count / point.area);
      features = row.size();
      rows.push_back(std::move(row));
    }
    if (rows.empty()) continue;
    FittedModel result;
    result.name = model.name;
    result.coefficients = SolveNonNegative(rows, std::vector<double>(rows.size(), 1.0));
    KILN_CHECK(result.coefficients.size() == features);
    // Rounds first, so that the errors below are those of the printed coefficients.
    for (double& c : result.coefficients) c = std::round(c * 1e4) / 1e4;
    fitted.push_back(result);
    FittedModel& last = fitted.back();
    for (const GridPoint& point : grid) {
      if (FindModuleModel(models, point.module, point.parameters) != &model) continue;
      Add(RelativeError(point, {models, fitted}), point.check ? &last.check : &last.fit);
    }
    if (last.fit.points > 0) last.fit.mean /= last.fit.points;
    if (last.check.points > 0) last.check.mean /= last.check.points;
  }
  return fitted;
}

double RelativeError(const GridPoint& point, const AreaModels& models) {
  return ModuleArea(models, point.module, point.parameters) / point.area - 1;
}

std::string PrintCoefficients(const AreaModels& models, const std::string& file) {
  std::string text = fmt::format(
      "// Written by fit_area from {}: um2 for one of each feature, at {} nm; how many\n"
      "// points each model was fitted to, with the mean and the worst of the relative errors "
      "there; the same on "
      "points "
      "that\n"
      "// were kept out of the fit.\n",
      file, kAreaNode);
  const auto error = [](const FitError& e) {
    return fmt::format("{{{}, {:.4f}, {:.4f}}}", e.points, e.mean, e.worst);
  };
  for (const FittedModel& model : models.fitted) {
    const auto found = std::find_if(models.models.begin(), models.models.end(),
                                    [&](const ModuleModel& m) { return m.name == model.name; });
    KILN_CHECK(found != models.models.end());
    text += fmt::format("{{\"{}\",\n {{\n", model.name);
    const std::vector<Feature> features = found->features({}, models.fitted);
    for (size_t i = 0; i < features.size(); ++i) {
      text += fmt::format("     {:.10g},  // {}\n", model.coefficients[i], features[i].name);
    }
    text += fmt::format(" }},\n {},\n {}}},\n", error(model.fit), error(model.check));
  }
  return text;
}

}  // namespace kiln::hardware
