// Implements reference_broadcast.h.
#include "kiln/execute/reference_broadcast.h"

#include <algorithm>

#include "kiln/support/check.h"

namespace kiln::reference {

RowWalk::RowWalk(const Shape& shape, std::span<const Shape> operands)
    : num_operands_(operands.size()) {
  // Element strides of each operand along each axis of the whole shape; 0 where the operand
  // broadcasts.
  std::vector<std::vector<int64_t>> strides(static_cast<size_t>(shape.rank()),
                                            std::vector<int64_t>(num_operands_, 0));
  for (size_t i = 0; i < num_operands_; ++i) {
    int64_t stride = 1;
    for (int d = operands[i].rank() - 1; d >= 0; --d) {
      const int axis = shape.rank() - operands[i].rank() + d;
      KILN_CHECK(axis >= 0 && (operands[i][d] == 1 || operands[i][d] == shape[axis]));
      if (operands[i][d] != 1) strides[static_cast<size_t>(axis)][i] = stride;
      stride *= operands[i][d];
    }
  }
  // Joins axes from the innermost outwards; `dims` and `joined` collect lengths and strides in that
  // order. Two neighbouring axes join if every operand continues from one to the other without a
  // jump.
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> joined;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) continue;
    const std::vector<int64_t>& here = strides[static_cast<size_t>(axis)];
    bool joins = !dims.empty();
    for (size_t i = 0; joins && i < num_operands_; ++i)
      joins = here[i] == joined.back()[i] * dims.back();
    if (joins) {
      dims.back() *= shape[axis];
    } else {
      dims.push_back(shape[axis]);
      joined.push_back(here);
    }
  }
  // The innermost joined axis is the row; the others are stored outermost first.
  row_strides_.assign(num_operands_, 1);
  if (!dims.empty()) {
    row_length_ = dims[0];
    row_strides_ = joined[0];
  }
  num_rows_ = row_length_ == 0 ? 0 : 1;
  for (size_t d = dims.size(); d-- > 1;) {
    dims_.push_back(dims[d]);
    strides_.insert(strides_.end(), joined[d].begin(), joined[d].end());
    num_rows_ *= dims[d];
  }
}

}  // namespace kiln::reference
