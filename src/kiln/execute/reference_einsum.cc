// The reference kernel of Einsum, by its definition: for each combination of the result's labels,
// the sum of the products over all combinations of the other labels. The pass expand-einsum turns
// most equations into matrix products, which are faster.
#include <type_traits>

#include "kiln/execute/reference_kernels.h"
#include "kiln/ir/checked_math.h"
#include "kiln/ir/einsum.h"

namespace kiln::reference {
namespace {

// Largest number of multiplications that is computed; more would take hours.
constexpr int64_t kMostProducts = int64_t{1} << 36;

// The type of a sum: double for floats; uint64_t for integers, which wrap.
template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// The order in which labels are iterated, and how each operand moves with them.
// Example: "ij,jk->ik" has the labels i, k, j; operand 0 does not move with k, operand 1 not with
// i.
struct LabelWalk {
  std::vector<int> labels;  // the result's labels, then the labels that are summed over
  std::vector<std::vector<int64_t>> strides;  // [operand][index into labels], in elements
};

// Returns the iteration order of an equation and the operands' strides along it.
LabelWalk WalkOf(const EinsumEquation& e, const std::vector<Shape>& shapes) {
  LabelWalk walk;
  std::vector<bool> seen(e.sizes.size(), false);
  const auto add = [&](int label) {
    if (!seen[static_cast<size_t>(label)]) walk.labels.push_back(label);
    seen[static_cast<size_t>(label)] = true;
  };
  for (int label : e.result) add(label);
  for (const auto& operand : e.operands) {
    for (int label : operand) add(label);
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<int64_t> own = RowMajorStrides(shapes[i]);
    std::vector<int64_t> strides(walk.labels.size(), 0);
    for (size_t axis = 0; axis < own.size(); ++axis) {
      if (shapes[i][static_cast<int>(axis)] == 1) continue;  // broadcasts
      for (size_t l = 0; l < walk.labels.size(); ++l) {
        if (walk.labels[l] == e.operands[i][axis])
          strides[l] += own[axis];  // a label that occurs twice selects the diagonal
      }
    }
    walk.strides.push_back(std::move(strides));
  }
  return walk;
}

}  // namespace

KernelResult EinsumKernel(const KernelCall& call) {
  std::vector<Shape> shapes;
  for (int i = 0; i < call.num_operands(); ++i) {
    KILN_RETURN_IF_ERROR(call.RequireSameType(0, i));
    shapes.push_back(call.operand(i).shape());
  }
  const StatusOr<EinsumEquation> equation =
      ParseEinsum(call.attributes().String("equation", ""), shapes);
  if (!equation.ok())
    return call.Error(MessageOf(equation.status()), "an equation that fits the operands");
  std::vector<int64_t> dims;
  for (int label : equation->result) dims.push_back(equation->sizes[static_cast<size_t>(label)]);
  KILN_ASSIGN_OR_RETURN(Tensor out, call.NewTensor(call.operand(0).type(), Shape(dims)));
  const LabelWalk walk = WalkOf(*equation, shapes);
  std::vector<int64_t> lengths;
  int64_t products = call.num_operands();
  for (int label : walk.labels) {
    lengths.push_back(equation->sizes[static_cast<size_t>(label)]);
    products = SaturatingMul(products, lengths.back());
  }
  if (products > kMostProducts) {
    return call.Error("the sum has too many terms to be evaluated as it is",
                      "run the standard passes first");
  }
  return VisitNumber(call, 0, [&](auto zero) -> KernelResult {
    using T = decltype(zero);
    using Sum = SumOf<T>;
    if (products == 0) return One(std::move(out));  // nothing to sum: zeros
    std::vector<int64_t> index(walk.labels.size(), 0), at(shapes.size(), 0);
    const int64_t terms_each = products / call.num_operands() / std::max<int64_t>(out.size(), 1);
    for (int64_t element = 0; element < out.size(); ++element) {
      Sum sum = 0;
      for (int64_t term = 0; term < terms_each; ++term) {
        Sum product = 1;
        for (size_t i = 0; i < at.size(); ++i) {
          product *= static_cast<Sum>(Elements<T>(call.operand(static_cast<int>(i)))[at[i]]);
        }
        sum += product;
        // Advances to the next combination of labels, the last one fastest. Summed labels come
        // last, so all terms of one result element are consecutive.
        for (size_t l = index.size(); l-- > 0;) {
          const bool carry = ++index[l] == lengths[l];
          for (size_t i = 0; i < at.size(); ++i) {
            at[i] += walk.strides[i][l] * (carry ? 1 - lengths[l] : 1);
          }
          if (!carry) break;
          index[l] = 0;
        }
      }
      Elements<T>(out)[element] = static_cast<T>(sum);
    }
    return One(std::move(out));
  });
}

}  // namespace kiln::reference
