// The class that implements Lower (lower.h). Its members are defined in lower.cc and the lower_*.cc
// files.
#ifndef KILN_TARGETS_VTA_COMPILE_LOWERING_H_
#define KILN_TARGETS_VTA_COMPILE_LOWERING_H_

#include <functional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "kiln/ir/window.h"
#include "kiln/targets/lower/partition.h"
#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/vta/compile/lower.h"
#include "kiln/targets/vta/compile/vector_formula.h"

namespace kiln::vta {

// The nodes that become one layer.
struct Group : NodeGroup {
  const Value* result = nullptr;    // the layer's result
  std::vector<const Value*> bias;   // constants that are added first
  const Value* residual = nullptr;  // the value that is added next
  Clamp clamp;
  // The size of the sign that the last kSignNodes nodes compute (lower/sign.h); then there is
  // neither a residual nor a clamp.
  std::optional<double> sign;
  std::string text;  // " + relu", for reports
};

// The location of a value: a view of the dense tensor of a slot (on the host) or of a map (on the
// machine). The other index is -1.
struct Location {
  int slot = -1, map = -1;
  StridedView view;
};

// A linear layer: output channel o of a pixel is the sum of weight(o, c, ky, kx) * input over the
// channels of its group and the taps.
struct LinearLayer {
  KernelSize kernel;
  int64_t in_channels = 1, out_channels = 1, groups = 1;
  int64_t out_height = 1, out_width = 1;
  std::function<int32_t(int64_t o, int64_t c, int64_t ky, int64_t kx)>
      weight;                    // c is the channel in its group
  std::vector<double> scales;    // the weights' scale of each output channel
  std::vector<double> bias;      // real values
  bool identity = false;         // each channel reads itself alone, with all weights 1
  bool channels_second = false;  // the input's channels are its second axis, not its last
};

// Returns the permutation of axes that moves the second axis, the channels, to the end.
std::vector<int64_t> ToChannelsLast(int rank);

// Returns whether a node transposes images to NHWC.
inline bool MakesNhwc(const Node& node) {
  return node.op() == Op::kTranspose &&
         node.attributes().Ints("perm") == std::vector<int64_t>{0, 2, 3, 1};
}

// The lowering of one graph.
class Lowering {
 public:
  Lowering(const Graph& graph, const Config& config, const CompileOptions& options,
           const Refusals& refusals)
      : graph_(graph),
        config_(config),
        options_(options),
        refusals_(refusals),
        partition_(graph, Patterns()) {}
  StatusOr<Network> Run();

 private:
  // The position of the channels among an operand's axes.
  enum class Order { kChannelsLast, kChannelsSecond };

  // Planning. The Follow functions extend a group by the nodes after it that its layer can compute,
  // too; Partition::Follower returns the candidate for the next one, or null.
  std::vector<Pattern<Group>> Patterns();
  void FollowProduct(Group* group);
  void FollowBias(Group* group);
  void FollowResidual(Group* group);
  void FollowClamp(Group* group);
  void FollowSign(Group* group);
  // Takes the nodes of the sign that the anchor begins.
  void PlanSign(Group* group);

  // Emission: makes the layers of a group. If a layer is refused (ToHost), the host runs the group;
  // other errors are reported to the user.
  using Emitter = std::function<StatusOr<std::vector<Layer>>(const Group&)>;
  Status Emit(const Group& group, const Emitter& emitter);
  bool EmitView(const Node& node);
  StatusOr<Layer> EmitConvolution(const Group& group);
  StatusOr<Layer> EmitProduct(const Group& group);
  StatusOr<Layer> EmitAveragePool(const Group& group);
  StatusOr<Layer> EmitMean(const Group& group);
  StatusOr<Layer> EmitPad(const Group& group);
  StatusOr<Layer> EmitChannelPad(const Group& group, int64_t before, Order order);
  StatusOr<Layer> EmitPixelPad(const Group& group, const std::vector<int64_t>& before,
                               double number, Order order);
  // Concat of channels (lower_concat.cc). Operands that are not already in the result's map are
  // copied to it: by the ALU if all operands begin at whole blocks, else by products with matrices
  // of zeros and ones.
  StatusOr<std::vector<Layer>> EmitConcat(const Group& group);
  StatusOr<std::vector<Layer>> CopyBlocks(const Group& group, Order order);
  StatusOr<std::vector<Layer>> AddChannels(const Group& group, Order order);
  StatusOr<Layer> EmitCopy(const Group& group, const Value* from, int to, Order order);
  // Finds the operands of a Concat whose layers can write directly into the result's map.
  void PlanConcat(const Node& node);
  int ConcatMap(const Node& concat, int64_t height, int64_t width, int64_t channels);
  // Linear layers (lower_linear.cc). The result may be a layer over windows stored as channels.
  Status FillLinear(const Group& group, LinearLayer linear, const Value* input, Layer* layer);
  StatusOr<MapView> PlaceInput(const Value* input, LinearLayer* linear, Layer* layer);
  StatusOr<MapView> PlaceResidual(const Value* residual, const LinearLayer& linear, Layer* layer);
  StatusOr<Layer> EmitElementwise(const Group& group);
  StatusOr<Layer> EmitGather(const Group& group);
  StatusOr<std::vector<MapView>> PlaceOperands(const Node& node, const Formula& formula,
                                               Order order, Layer* layer);
  Order OrderOfElementwise(const Group& group) const;
  StatusOr<Layer> EmitMaxPool(const Group& group);
  // Emits an average that the ALU computes. counts[pixel] elements of each window are inside the
  // image, the others are zeros.
  StatusOr<Layer> EmitWindowMean(const Group& group, const WindowAxis& y, const WindowAxis& x,
                                 std::vector<int64_t> counts);
  StatusOr<MapView> PlaceWindows(const Value* input, const WindowAxis& y, const WindowAxis& x,
                                 const std::vector<int32_t>& fills, Layer* layer);
  void EmitHost(const Group& group, const std::string& reason);

  // Values.
  // Returns the codes of an annotated value. Errors: a refusal (ToHost) if the machine cannot hold
  // the value's format.
  StatusOr<Codes> CodesOf(const Value& value) const;
  // Add a slot or a map to the network and return its index.
  int NewSlot(const Value& value);
  int NewMap(const std::string& name, int64_t height, int64_t width, int64_t channels);
  // Makes the map of a result: codes if the value is annotated, sums otherwise.
  StatusOr<int> ResultMap(const Value* value, int64_t height, int64_t width, int64_t channels);
  // Returns a value as a view of a map. If the value is on the host, adds the transfer to a map to
  // `layer`. `order` states which axis holds the channels.
  StatusOr<MapView> OnMachine(const Value* value, Layer* layer, Order order = Order::kChannelsLast);
  // Does the same for a value on the host, as windows stored as channels.
  StatusOr<MapView> AsPatches(const Value* value, const Patch& patch, int64_t height, int64_t width,
                              Layer* layer, Order order = Order::kChannelsLast);
  StridedView ViewOf(const Value* value, Order order) const;
  // Returns the order in which all operands are images, as far as their locations determine it.
  Order OrderOf(const Node& node) const;
  // Returns the view of a result of this shape in a map, if its axes have this order.
  StridedView StandingOf(const Shape& shape, Order order) const;
  bool IsOnHost(const Value* value) const { return locations_.at(value).map < 0; }
  // Returns the location of a value on the host. If the value is on the machine, adds the transfer
  // to a slot to `transfers`.
  HostView OnHost(const Value* value, std::vector<Transfer>* transfers);
  // Return the border that the readers of a value need, and the code that it must hold.
  Border BorderFor(const Value* value) const;
  int32_t FillFor(const Value* value, const Codes& codes) const;
  Layer NewLayer(const Group& group, std::string_view unit, std::string operation) const;

  const Graph& graph_;
  const Config& config_;
  const CompileOptions& options_;
  const Refusals& refusals_;
  Network out_;
  std::unordered_map<const Value*, Location> locations_;
  std::unordered_map<int, int> slot_of_map_;  // the slot that a map has been copied to
  struct Packed {
    const Value* value;
    Patch patch;
    Order order;
    int map;
  };
  std::vector<Packed> packed_;  // maps that the host writes
  struct Joined {
    const Node* concat;
    int64_t first_channel;
  };
  std::unordered_map<const Value*, Joined> joined_;
  std::unordered_map<const Node*, int> concat_maps_;
  Graph partial_;  // values between the layers of one Concat
  Partition<Group> partition_;
};

// Height, width and channels of a value. ImageShapeOf takes them from the last three axes, and
// returns nullopt if another axis is not 1.
struct ImageShape {
  int64_t height = 1, width = 1, channels = 1;
};
std::optional<ImageShape> ImageShapeOf(const std::vector<int64_t>& shape);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_LOWERING_H_
