// The work of Lower, shared by the lower_*.cc files.
#ifndef KILN_TARGETS_VTA_LOWERING_H_
#define KILN_TARGETS_VTA_LOWERING_H_

#include <functional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kiln/ir/window.h"
#include "kiln/targets/vta/lower.h"
#include "kiln/targets/vta/strided_view.h"
#include "kiln/targets/vta/vector_formula.h"

namespace kiln::vta {

// Nodes that become one layer.
struct Group {
  const Node* anchor = nullptr;
  std::vector<const Node*> nodes;
  const Value* result = nullptr;    // what leaves the layer
  std::vector<const Value*> bias;   // constants added first
  const Value* residual = nullptr;  // added next
  Clamp clamp;
  std::string text;  // " + relu", for reports
};

// Where a value stands: a view of a slot's or a map's dense tensor.
struct Location {
  int slot = -1, map = -1;
  StridedView view;
};

// A linear layer in numbers: out channel o of a pixel sums weight(o, c, ky, kx) * input over its group's channels and
// the taps.
struct LinearLayer {
  KernelSize kernel;
  int64_t in_channels = 1, out_channels = 1, groups = 1;
  int64_t out_height = 1, out_width = 1;
  std::function<int32_t(int64_t o, int64_t c, int64_t ky, int64_t kx)>
      weight;                    // c: channel of the group
  std::vector<double> scales;    // of the weights of each out channel
  std::vector<double> bias;      // real
  bool identity = false;         // a channel each, all weights 1
  bool channels_second = false;  // of the input; else they are last
};

// Why a node cannot run on the machine; it goes to the host, and the reason to the report.
inline Status ToHost(const std::string& reason) { return absl::UnimplementedError(reason); }

// Whether a node transposes images to NHWC.
inline bool MakesNhwc(const Node& node) {
  return node.op() == Op::kTranspose &&
         node.attributes().Ints("perm") == std::vector<int64_t>{0, 2, 3, 1};
}

class Lowering {
 public:
  Lowering(const Graph& graph, const Config& config, const CompileOptions& options,
           const Refusals& refusals)
      : graph_(graph), config_(config), options_(options), refusals_(refusals) {}
  StatusOr<Network> Run();

 private:
  // Whether the channels of an operand are its last axis or its second.
  enum class Order { kChannelsLast, kChannelsSecond };

  // Planning.
  void Plan();
  Group PlanNode(const Node& node);
  void FollowBias(Group* group);
  void FollowResidual(Group* group);
  void FollowClamp(Group* group);
  const Node* Follower(const Group& group) const;

  // Emission. Unimplemented sends the group to the host; other errors are the user's.
  Status Emit(const Group& group);
  StatusOr<bool> EmitView(const Node& node);
  StatusOr<Layer> EmitLayer(const Group& group);
  StatusOr<Layer> EmitConvolution(const Group& group);
  StatusOr<Layer> EmitProduct(const Group& group);
  StatusOr<Layer> EmitAveragePool(const Group& group);
  StatusOr<Layer> EmitMean(const Group& group);
  StatusOr<Layer> EmitPad(const Group& group);
  StatusOr<Layer> EmitChannelPad(const Group& group, int64_t before, Order order);
  StatusOr<Layer> EmitPixelPad(const Group& group, const std::vector<int64_t>& before,
                               double number, Order order);
  // Concat of channels (lower_concat.cc): what does not stand in the result's map already is copied to it, by the ALU
  // where all operands are whole blocks, else by products with matrices of ones.
  StatusOr<std::vector<Layer>> EmitConcat(const Group& group);
  StatusOr<std::vector<Layer>> CopyBlocks(const Group& group, Order order);
  StatusOr<std::vector<Layer>> AddChannels(const Group& group, Order order);
  StatusOr<Layer> EmitCopy(const Group& group, const Value* from, int to, Order order);
  // Finds operands of a Concat whose layers can write where the result will stand.
  void PlanConcat(const Node& node);
  int ConcatMap(const Node& concat, int64_t height, int64_t width, int64_t channels);
  StatusOr<std::vector<Layer>> EmitLayers(const Group& group);
  // Linear layers (lower_linear.cc). The layer may come out as one over windows side by side.
  Status FillLinear(const Group& group, LinearLayer linear, const Value* input, Layer* layer);
  StatusOr<MapView> PlaceInput(const Value* input, LinearLayer* linear, Layer* layer);
  StatusOr<MapView> PlaceResidual(const Value* residual, const LinearLayer& linear, Layer* layer);
  StatusOr<Requantisation> CodesFrom(const Group& group, LinearLayer* linear, const Codes& input,
                                     std::vector<int>* halvings) const;
  StatusOr<Layer> EmitElementwise(const Group& group);
  StatusOr<std::vector<MapView>> PlaceOperands(const Node& node, const Formula& formula,
                                               Order order, Layer* layer);
  Order OrderOfElementwise(const Node& node) const;
  StatusOr<Layer> EmitMaxPool(const Group& group);
  // An average by the ALU: counts[pixel] elements of each window are inside, the others zeros.
  StatusOr<Layer> EmitWindowMean(const Group& group, const WindowAxis& y, const WindowAxis& x,
                                 std::vector<int64_t> counts);
  StatusOr<MapView> PlaceWindows(const Value* input, const WindowAxis& y, const WindowAxis& x,
                                 const std::vector<int32_t>& fills, Layer* layer);
  Status EmitHost(const Node& node, const std::string& reason);

  // Values.
  StatusOr<Codes> CodesOf(const Value& value) const;
  int NewSlot(const Value& value);
  int NewMap(const std::string& name, int64_t height, int64_t width, int64_t channels);
  // The map of a result: codes where the value is annotated, sums otherwise.
  StatusOr<int> ResultMap(const Value* value, int64_t height, int64_t width, int64_t channels);
  // A value as the machine reads it; what must be written for that goes to `layer`. Channels are its last axis, or
  // those of Order::kChannelsSecond are.
  StatusOr<MapView> OnMachine(const Value* value, Layer* layer, Order order = Order::kChannelsLast);
  // The same, as windows side by side: only of what the host writes.
  StatusOr<MapView> AsPatches(const Value* value, const Patch& patch, int64_t height, int64_t width,
                              Layer* layer, Order order = Order::kChannelsLast);
  StridedView ViewOf(const Value* value, Order order) const;
  // The order in which all operands are images, as far as where they stand says so.
  Order OrderOf(const Node& node) const;
  // Where a result stands whose map has its pixels and channels in that order.
  StridedView StandingOf(const Shape& shape, Order order) const;
  bool IsOnHost(const Value* value) const { return locations_.at(value).map < 0; }
  HostView OnHost(const Value* value, std::vector<Transfer>* transfers);
  // What readers need of the border.
  Border BorderFor(const Value* value) const;
  int32_t FillFor(const Value* value, const Codes& codes) const;
  Layer NewLayer(const Group& group, std::string_view unit, std::string operation) const;
  bool IsGraphOutput(const Value* value) const;

  const Graph& graph_;
  const Config& config_;
  const CompileOptions& options_;
  const Refusals& refusals_;
  Network out_;
  std::unordered_map<const Value*, Location> locations_;
  std::unordered_map<int, int> slot_of_map_;  // where a map has been read to
  struct Packed {
    const Value* value;
    Patch patch;
    Order order;
    int map;
  };
  std::vector<Packed> packed_;  // maps of what the host writes
  struct Joined {
    const Node* concat;
    int64_t first_channel;
  };
  std::unordered_map<const Value*, Joined> joined_;
  std::unordered_map<const Node*, int> concat_maps_;
  Graph partial_;  // values between the layers that one Concat becomes
  std::unordered_set<const Node*> taken_;
  std::vector<Group> groups_;
  std::unordered_map<const Node*, size_t> group_of_;
};

// Height, width, channels of a value: its last three axes; nullopt where there are more that are not 1.
struct ImageShape {
  int64_t height = 1, width = 1, channels = 1;
};
std::optional<ImageShape> ImageShapeOf(const std::vector<int64_t>& shape);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_LOWERING_H_
