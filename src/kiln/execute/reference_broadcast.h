// Walking several tensors of different shapes in step, as broadcasting or a reduction needs it.
#ifndef KILN_EXECUTE_REFERENCE_BROADCAST_H_
#define KILN_EXECUTE_REFERENCE_BROADCAST_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/ir/shape.h"

namespace kiln::reference {

// Cuts a shape into rows along which every operand either stands still (stride 0) or runs through consecutive elements
// (stride 1). Neighbouring axes that all operands walk alike are joined, so that tensors of one shape are a single row
// and a per-channel operand meets rows of a whole image plane.
class RowWalk {
 public:
  // Every operand's shape must broadcast to `shape` (right-aligned).
  RowWalk(const Shape& shape, std::span<const Shape> operands);

  int64_t row_length() const { return row_length_; }
  int64_t row_stride(int operand) const { return row_strides_[static_cast<size_t>(operand)]; }

  // Calls row(first, offsets) for each row in row-major order: `first` is the element of the whole shape at which the
  // row begins, offsets[i] the element of operand i.
  template <typename Row>
  void ForEachRow(Row&& row) const {
    if (num_rows_ == 0) return;
    const size_t rank = dims_.size();
    std::vector<int64_t> index(rank, 0);
    std::vector<int64_t> offsets(num_operands_, 0);
    for (int64_t r = 0; r < num_rows_; ++r) {
      row(r * row_length_, static_cast<const int64_t*>(offsets.data()));
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
  std::vector<int64_t> strides_;  // of those, [axis][operand]
};

}  // namespace kiln::reference

#endif  // KILN_EXECUTE_REFERENCE_BROADCAST_H_
