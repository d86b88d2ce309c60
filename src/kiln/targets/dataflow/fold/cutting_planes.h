// The maximum of a concave function that is known by planes above it, for few variables.
//
// Kelley's method asks for the maximum of the least plane, evaluates the function there, and adds
// the plane that touches it. The maximum is a linear program with one more row than variables in
// its dual form, where each new plane is a new column; the simplex method continues with the basis
// of the maximum before.
//
// Internal to the folder fold/.
#ifndef KILN_TARGETS_DATAFLOW_FOLD_CUTTING_PLANES_H_
#define KILN_TARGETS_DATAFLOW_FOLD_CUTTING_PLANES_H_

#include <cstddef>
#include <vector>

namespace kiln::dataflow {

// Values are in binary64; the maximum is exact up to rounding.
class CuttingPlanes {
 public:
  // Variables are from 0 to `most`.
  CuttingPlanes(size_t variables, double most) : variables_(variables), most_(most) {}

  // Adds the plane constant + slope * x.
  void Add(double constant, const std::vector<double>& slope);

  struct Maximum {
    std::vector<double> x;
    double value = 0;  // of the least plane there
  };
  // Returns the maximum of the least plane, up to rounding. There must be a plane.
  const Maximum& Maximise();

 private:
  // A column of the dual program: a plane, or for one variable its bound or its slack.
  struct Column {
    double cost = 0;
    std::vector<double> entries;  // of the row of each variable, then of the sum of the planes
  };
  void Begin();
  void AddUnit(size_t row, double entry, double cost);
  void Solve(bool transposed, std::vector<double>& right);
  int Entering() const;
  size_t Leaving(int entering);

  const size_t variables_;
  const double most_;
  std::vector<Column> columns_;
  std::vector<int> basis_;  // per row: its column
  double scale_ = 1;        // of the entries
  std::vector<double> matrix_;
  Maximum maximum_;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_FOLD_CUTTING_PLANES_H_
