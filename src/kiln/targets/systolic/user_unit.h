// The slot for a unit of one's own beside the array and the depthwise unit. It shares the depthwise unit's sequencer,
// fetch units, buffers and place in front of the accumulators, and puts a function of its own where the multipliers and
// sums are: what it does with the codes of a window, channel by channel. How to add one: docs/user-unit.md.
#ifndef KILN_TARGETS_SYSTOLIC_USER_UNIT_H_
#define KILN_TARGETS_SYSTOLIC_USER_UNIT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/window.h"
#include "kiln/support/status.h"

namespace kiln::systolic {

// A node of a graph as windows over an image, the unit's function in each.
struct UserWindows {
  bool nhwc = false;  // of the node's operand and result; else NCHW
  int64_t batch = 1, channels = 1;
  std::vector<WindowAxis> axes;  // y and x
  int32_t pad_code = 0;          // what stands outside of the image
  // A sum s is worth (s - zero_points * z) * scale, with the scale and the zero point z of the inputs' codes.
  int32_t zero_points = 1;
  std::string operation;  // for reports: "max pool 3x3 /2"
};

class UserUnit {
 public:
  virtual ~UserUnit() = default;
  // The sum of no taps: what every window begins with.
  virtual int32_t Begin() const = 0;
  // Takes one tap of all lanes into their sums, lane by lane. Integers of 32 bits that wrap where they are narrower in
  // the design point; the taps' order is free, as the RTL takes several at once.
  virtual void Fold(const int8_t* inputs, const int8_t* weights, std::span<int32_t> sums) const = 0;
  // The node as windows, where the unit computes it; nullopt: it does not, and the compiler goes on without it. `least`
  // is the least code of the design point's input format. Sizes are the node's, whatever they are: nothing of their
  // size may be made here. Errors: the node's own, as shape inference has them.
  virtual StatusOr<std::optional<UserWindows>> WindowsOf(const Node& node, std::string_view source,
                                                         int32_t least) const = 0;
  // The stored taps of such a node, [ky][kx][channels]: codes of the design point's weight format. Only of windows that
  // fit the machine.
  virtual std::vector<int8_t> WeightsOf(const Node& node, const UserWindows& windows) const = 0;
};

// An entry of user_units.def.
struct UserUnitEntry {
  std::string_view name;
  int number;  // USER_UNIT of the RTL
  const UserUnit* unit;
};
const UserUnitEntry* FindUserUnit(std::string_view name);  // null: there is none of that name
std::vector<std::string_view> UserUnitNames();

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_USER_UNIT_H_
