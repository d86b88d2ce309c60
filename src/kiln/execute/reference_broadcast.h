// Iterates over several tensors of different shapes in parallel, as broadcasting and reductions
// need.
#ifndef KILN_EXECUTE_REFERENCE_BROADCAST_H_
#define KILN_EXECUTE_REFERENCE_BROADCAST_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/ir/shape.h"

namespace kiln::reference {

// Splits a shape into rows along which every operand either repeats one element (stride 0) or
// advances through consecutive elements (stride 1). Neighbouring axes along which all operands
// behave alike are joined, so tensors of one shape form a single row, and a per-channel operand has
// rows of a whole image plane.
// Example: operands [2, 8, 4, 4] and [8, 1, 1] give 16 rows of 16 elements, with strides 1 and 0.
class RowWalk {
 public:
  // Each operand's shape must broadcast to `shape`, aligned at the right.
  RowWalk(const Shape& shape, std::span<const Shape> operands);

  // Returns the number of elements of a row.
  int64_t row_length() const { return row_length_; }
  // Returns the operand's stride within a row: 0 or 1.
  int64_t row_stride(int operand) const { return row_strides_[static_cast<size_t>(operand)]; }

  // Calls row(first, offsets) for each row in row-major order. `first` is the index in the whole
  // shape of the row's first element, offsets[i] its index in operand i.
  template <typename Row>
  void ForEachRow(Row&& row) const {
    if (num_rows_ == 0) return;
    const size_t rank = dims_.size();
    std::vector<int64_t> index(rank, 0);
    std::vector<int64_t> offsets(num_operands_, 0);
    for (int64_t r = 0; r < num_rows_; ++r) {
      row(r * row_length_, static_cast<const int64_t*>(offsets.data()));
      // Advances like an odometer: the innermost axis that does not overflow moves on, the
      // overflowing axes inside it restart.
      for (size_t d = rank; d-- > 0;) {
        const int64_t* strides = &strides_[d * num_operands_];
        if (++index[d] < dims_[d]) {
          for (size_t i = 0; i < num_operands_; ++i) offsets[i] += strides[i];
          break;
        }
        index[d] = 0;
        for (size_t i = 0; i < num_operands_; ++i) offsets[i] -= strides[i] * (dims_[d] - 1);
      }
    }
  }

 private:
  size_t num_operands_ = 0;
  int64_t num_rows_ = 0;
  int64_t row_length_ = 1;
  std::vector<int64_t> row_strides_;
  std::vector<int64_t> dims_;     // joined axes outside the row, outermost first
  std::vector<int64_t> strides_;  // of the axes in dims_: [axis][operand]
};

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_BROADCAST_H_
