// Nodes that only move data, represented as steps on a view of their first operand.
#ifndef KILN_TARGETS_LOWER_VIEW_STEPS_H_
#define KILN_TARGETS_LOWER_VIEW_STEPS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/indexing.h"
#include "kiln/support/status.h"
#include "kiln/targets/lower/strided_view.h"

namespace kiln {

// One change of a view.
struct ViewStep {
  enum class Kind { kTranspose, kReshape, kBroadcast, kSlice };
  Kind kind = Kind::kReshape;
  std::vector<int64_t> dims = {};  // the permutation of kTranspose, or the new shape
  int axis = 0;                    // of kSlice
  SliceRange range = {};           // of kSlice
};

// Returns the steps that Transpose, Reshape, Flatten, Squeeze, Unsqueeze, Expand, Identity, Dropout
// or Slice applies to its first operand. There are none if the result is the operand.
//   errors  refusals: another operator; a permutation of another rank; a slice whose bounds, axes
//           or steps are not constant, do not match in number or are out of range
StatusOr<std::vector<ViewStep>> ViewStepsOf(const Node& node);

// Returns the integers of a constant, or nullopt if the value is null or not a constant of
// integers.
std::optional<std::vector<int64_t>> ConstantInts(const Value* value);

// Return whether a slice or a broadcast of a view is a view. For a StridedView it always is; views
// with more properties than positions have their own overloads.
inline bool CanSlice(const StridedView&, int /*axis*/, int64_t /*start*/, int64_t /*step*/) {
  return true;
}
inline bool CanBroadcast(const StridedView&, std::span<const int64_t> /*shape*/) { return true; }

// Returns the view after the steps, or nullopt if the result is not a view.
template <typename View>
std::optional<View> Apply(std::span<const ViewStep> steps, View view) {
  for (const ViewStep& step : steps) {
    switch (step.kind) {
      case ViewStep::Kind::kTranspose:
        view = Transposed(view, step.dims);
        break;
      case ViewStep::Kind::kReshape: {
        auto reshaped = Reshaped(view, step.dims);
        if (!reshaped.has_value()) return std::nullopt;
        view = *std::move(reshaped);
        break;
      }
      case ViewStep::Kind::kBroadcast:
        if (!CanBroadcast(view, step.dims)) return std::nullopt;
        view = Broadcast(view, step.dims);
        break;
      case ViewStep::Kind::kSlice: {
        const SliceRange& range = step.range;
        if (!CanSlice(view, step.axis, range.start, range.step)) return std::nullopt;
        view = Sliced(view, step.axis, range.start, range.step, range.count);
        break;
      }
    }
  }
  return view;
}

}  // namespace kiln

#endif  // KILN_TARGETS_LOWER_VIEW_STEPS_H_
