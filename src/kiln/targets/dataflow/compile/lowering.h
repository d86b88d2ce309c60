// The state of a lowering: where values of the graph are located, and the layers emitted so far.
// lower.cc plans and orders; lower_sums.cc emits convolutions, products, pools and other sums,
// lower_elements.cc element-wise layers and data movement.
#ifndef KILN_TARGETS_DATAFLOW_COMPILE_LOWERING_H_
#define KILN_TARGETS_DATAFLOW_COMPILE_LOWERING_H_

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/targets/dataflow/compile/network.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/lower/channel_line.h"
#include "kiln/targets/lower/host_kernel.h"
#include "kiln/targets/lower/partition.h"
#include "kiln/targets/lower/refusal.h"
#include "kiln/targets/lower/value_codes.h"

namespace kiln::dataflow {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Element-wise nodes behind a layer that its requantisation computes: affine per channel, then
// clamped.
struct Group : NodeGroup {
  const Value* result = nullptr;
  // The size of the sign that the last kSignNodes nodes compute (lower/sign.h).
  std::optional<double> sign;
};

// Returns the codes of an annotated value. Errors: refusals.
StatusOr<ValueCodes> CodesOf(const Value& value);

// Returns the type of the words that hold such codes.
inline CodeType TypeOf(const ValueCodes& codes) { return {codes.bits, codes.is_signed}; }

// Where a value is: in a map of the machine, or on the host.
struct Place {
  int layer = -1;               // that produces its map; -1: the host
  const Value* root = nullptr;  // on the host: the value whose tensor the view reads
  StridedView view;             // from the row-major tensor to the map, or to the root's tensor
  // The map's values, if the layer passes sums on: its result is not quantised.
  std::optional<ChannelLine> line;
};

// An operand of a layer before maps have numbers.
struct Operand {
  Place place;
  MapShape map;   // of its channel
  MapShape seen;  // the row-major tensor as a map: as many elements; of RowMajorOperand
  ValueCodes codes;
  StridedView view;  // of the value: from its tensor to the map
};

// A layer with its operands.
struct PendingLayer {
  NetworkLayer layer;
  std::vector<Operand> operands;
  MapShape map;  // of the result
  CodeType type;
};

// Layers and host groups in alternating epochs: the machine's epochs are even, the host's odd, and
// everything that an item reads is of its own epoch or an earlier one.
struct Epochs {
  std::vector<int> layers, hosts;
};

class StepBuilder;  // numbers the maps that the host sends (lower.cc)

class Lowering {
 public:
  Lowering(const Graph& graph, const Config& config);
  StatusOr<Lowered> Run(const CompileOptions& options);

 private:
  std::vector<Pattern<Group>> Patterns();

  // lower.cc: values.
  // Returns an operand whose map has the elements of the row-major tensor in order, as pixels of
  // its last axis.
  StatusOr<Operand> RowMajorOperand(const Value& value);
  // Returns an operand of any view.
  StatusOr<Operand> AnyOperand(const Value& value);
  void AddLayer(const Group& group, Stage stage, std::vector<Operand> operands, const MapShape& map,
                const CodeType& type, StridedView view, std::optional<ChannelLine> line,
                std::string operation);
  // lower.cc: order.
  void EmitHost(const Group& group, const std::string& reason);
  StatusOr<Lowered> Order();
  // Returns the index of the host group that produces a value, if one does: moved inputs have none.
  std::optional<size_t> HostOf(const Value* value) const;
  Epochs FindEpochs() const;
  StatusOr<Place> CarriedBy(int layer) const;
  // Moves the layers to `lowered`, and numbers their maps and those that the host sends.
  Status NumberMaps(const Epochs& epochs, StepBuilder* builder, Lowered* lowered);
  // Returns what the host reads of each segment: operands of host kernels, outputs of the graph,
  // and maps that it passes on to later segments.
  std::map<int, std::vector<HostTensor>> ReceivedBySegment(const StepBuilder& builder,
                                                           const Lowered& lowered) const;

  // lower_sums.cc
  Status PlanSums(Group* group);
  bool TakeSign(const Node& first, Group* group) const;
  Status EmitConvolution(const Group& group);
  Status EmitProduct(const Group& group);
  Status EmitPool(const Group& group);
  Status EmitMean(const Group& group);
  Status EmitSums(const Group& group, Stage stage, Operand operand, ChannelLine line,
                  const MapShape& map, StridedView view, const std::string& operation);
  StatusOr<Operand> WithPadding(const Group& group, Operand operand, Window* window);

  // lower_elements.cc
  Status PlanElements(Group* group);
  Status EmitTable(const Group& group);
  Status EmitChannelLine(const Group& group);
  Status EmitElementSums(const Group& group, Operand operand, ChannelLine line);
  Status EmitSum(const Group& group);
  Status EmitConcat(const Group& group);
  Status EmitPad(const Group& group);
  Status EmitSlice(const Group& group);
  Status EmitRearrangement(const Group& group);
  Status EmitView(const Group& group);
  // Returns the codes of a result: its annotation's, or, if it has none, `otherwise`, with the line
  // that gives their values.
  StatusOr<ValueCodes> ResultCodes(const Value& result, const ValueCodes& otherwise,
                                   std::optional<ChannelLine>* line) const;
  // The same for a result with the codes of its operand. Errors: other codes.
  StatusOr<std::optional<ChannelLine>> SameCodes(const Value& result,
                                                 const ValueCodes& operand) const;
  // Returns the operand with these codes: itself, or through a layer that requantises it.
  StatusOr<Operand> Requantised(const Group& group, Operand operand, const ValueCodes& codes);

  const Graph& graph_;
  const Config& config_;
  Partition<Group> partition_;
  std::unordered_map<const Value*, Place> places_;
  std::vector<PendingLayer> layers_;
  struct HostGroup {
    HostNodes nodes;
    size_t layers_before;  // layers emitted before it
  };
  std::vector<HostGroup> hosts_;
};

// Returns the tensor axes that are the map's height, width and channels (-1: an axis of one
// element), if the view permutes them; nullopt otherwise.
std::optional<std::array<int, 3>> MapAxes(const StridedView& view, const MapShape& map);

// Returns the map of a row-major tensor: its last axes are height, width and channels.
MapShape MapOf(const Shape& shape);

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_COMPILE_LOWERING_H_
