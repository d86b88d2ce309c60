// The interface of user units. A user unit shares the depthwise unit's sequencer, fetch units,
// buffers and path to the accumulators, and replaces the multipliers and their sums with a function
// of its own: what it computes from the codes of a window, channel by channel. docs/user-unit.md
// says how to add one.
#ifndef KILN_TARGETS_SYSTOLIC_CONFIG_USER_UNIT_H_
#define KILN_TARGETS_SYSTOLIC_CONFIG_USER_UNIT_H_

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

// A node of a graph as windows over an image; the unit's function is applied to each window.
struct UserWindows {
  bool nhwc = false;  // layout of the node's operand and result; false: NCHW
  int64_t batch = 1, channels = 1;
  std::vector<WindowAxis> axes;  // y and x
  int32_t pad_code = 0;          // the code of positions outside the image
  // The real value of a sum s is (s - zero_points * z) * scale, with the scale and the zero point z
  // of the input codes.
  int32_t zero_points = 1;
  std::string operation;  // for reports: "max pool 3x3 /2"
};

// The C++ model of a user unit: its function, and which nodes of a graph it computes.
class UserUnit {
 public:
  virtual ~UserUnit() = default;
  // Returns the value that every window's sums start from: the sum of no taps.
  virtual int32_t Begin() const = 0;
  // Accumulates one tap into the sums of all lanes, lane by lane. The sums are 32-bit integers;
  // they wrap where the design point's sums are narrower. The result must not depend on the order
  // of the taps, because the RTL takes several at once.
  virtual void Fold(const int8_t* inputs, const int8_t* weights, std::span<int32_t> sums) const = 0;
  // Returns the node as windows if the unit computes it; nullopt if it does not, and the compiler
  // then compiles the node without the unit. `least` is the least code of the design point's input
  // format. The sizes of the node are not checked yet, so nothing of their size may be allocated
  // here. Errors: those of the node itself, as in shape inference.
  virtual StatusOr<std::optional<UserWindows>> WindowsOf(const Node& node, std::string_view source,
                                                         int32_t least) const = 0;
  // Returns the stored taps of such a node, [ky][kx][channels], as codes of the design point's
  // weight format. Called only for windows that fit the machine.
  virtual std::vector<int8_t> WeightsOf(const Node& node, const UserWindows& windows) const = 0;
};

// A row of user_units.def.
struct UserUnitEntry {
  std::string_view name;
  int number;  // USER_UNIT of the RTL
  const UserUnit* unit;
};
// Returns the entry of that name, or null.
const UserUnitEntry* FindUserUnit(std::string_view name);
std::vector<std::string_view> UserUnitNames();

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_CONFIG_USER_UNIT_H_
