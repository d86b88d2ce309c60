// The user unit `maximum`: the greatest code of a window. It computes max pools at one word per
// cycle, beside the array and the vector unit, and is the example of docs/user-unit.md.
#include <algorithm>
#include <limits>
#include <memory>

#include "fmt/format.h"
#include "kiln/targets/systolic/config/user_unit.h"

namespace kiln::systolic {
namespace {

class MaximumUnit : public UserUnit {
 public:
  int32_t Begin() const override { return std::numeric_limits<int8_t>::min(); }
  void Fold(const int8_t* inputs, const int8_t* /*weights*/,
            std::span<int32_t> sums) const override {
    for (size_t lane = 0; lane < sums.size(); ++lane)
      sums[lane] = std::max(sums[lane], int32_t{inputs[lane]});
  }
  StatusOr<std::optional<UserWindows>> WindowsOf(const Node& node, std::string_view source,
                                                 int32_t least) const override {
    if (node.op() != Op::kMaxPool) return std::nullopt;
    KILN_ASSIGN_OR_RETURN(const PoolGeometry g, ResolvePool(node, std::string(source)));
    UserWindows windows;
    windows.nhwc = g.nhwc;
    windows.batch = g.batch;
    windows.channels = g.channels;
    windows.axes = g.axes;
    windows.pad_code = least;
    windows.operation = "max pool";
    return windows;
  }
  std::vector<int8_t> WeightsOf(const Node& /*node*/, const UserWindows& windows) const override {
    int64_t taps = 1;
    for (const WindowAxis& axis : windows.axes) taps *= axis.kernel;
    return std::vector<int8_t>(static_cast<size_t>(taps * windows.channels), 0);
  }
};

}  // namespace

std::unique_ptr<const UserUnit> MakeMaximumUnit() { return std::make_unique<MaximumUnit>(); }

}  // namespace kiln::systolic
