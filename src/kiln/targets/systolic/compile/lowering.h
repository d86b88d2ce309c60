// The class that Lower uses, shared by the lower_*.cc files: the facts known about the graph while
// kernels are emitted.
#ifndef KILN_TARGETS_SYSTOLIC_COMPILE_LOWERING_H_
#define KILN_TARGETS_SYSTOLIC_COMPILE_LOWERING_H_

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kiln/targets/lower/host_kernel.h"
#include "kiln/targets/lower/partition.h"
#include "kiln/targets/systolic/compile/chain.h"
#include "kiln/targets/systolic/compile/lower.h"
#include "kiln/targets/systolic/compile/ranking.h"
#include "kiln/targets/systolic/config/user_unit.h"

namespace kiln::systolic {

// A kernel that needs more instructions runs on the host.
inline constexpr int64_t kMaxInstructionsPerKernel = 4096;

// The nodes of one kernel.
struct Group : NodeGroup {
  Chain chain;                     // the nodes after the anchor (element-wise: including the
                                   // anchor)
  const Value* base = nullptr;     // element-wise: the value at which the chain starts
  const Value* result = nullptr;   // the value that leaves the kernel; null for moves
  std::vector<const Value*> bias;  // products: constants per channel, added first
  std::optional<UserWindows> user_windows;  // set for nodes of the user unit
};

// A vector instruction to be emitted: views of one shape that are walked together.
struct VectorSpec {
  View output;
  std::vector<View> operands;
  std::vector<Pass> passes;
  bool rows_are_last_axis =
      false;  // the innermost loop is the last axis alone (for reductions along that axis)
};

class ConstantWeights;
struct ConvolutionPlan;
struct Product;

// What a lowering has found out about the host: the nodes that it runs, and the moves between such
// nodes, which it can run as well.
struct KnownHost {
  std::unordered_set<const Node*> nodes, moves;
  bool Contains(const Node* node) const { return nodes.contains(node) || moves.contains(node); }
};

// Lowers one graph.
class Lowering {
 public:
  // `host` is what an earlier lowering of the graph has found: values that only those nodes and the
  // caller read and write keep fp32 in every vector format.
  Lowering(const Graph& graph, const Config& config, const CompileOptions& options,
           KnownHost host = {})
      : graph_(graph),
        config_(config),
        options_(options),
        known_host_(std::move(host)),
        ranking_(config, options),
        partition_(graph, Patterns()) {}
  StatusOr<Lowered> Run();
  // Returns what Run has found out about the host.
  KnownHost Host() const;

 private:
  // Planning.
  std::vector<Pattern<Group>> Patterns();
  // Determines the group's result and appends the nodes that can follow it in the kernel.
  // `first_operand` and `reserved_stages` are the operands and stages that the kernel itself needs.
  void Follow(int first_operand, int reserved_stages, Group* group) const;
  Status PlanProduct(Group* group) const;
  Status PlanElementwise(Group* group) const;
  std::string WhyNoChain(const Node& node) const;  // for an operator that is not element-wise here

  // Emission. A refusal sends the group to the host; other errors are errors of the user's graph.
  using Emitter = StatusOr<Kernel> (Lowering::*)(const Group&);
  Status Emit(const Group& group, Emitter emitter);
  void RoundScales(VectorProgram* program) const;
  StatusOr<Kernel> EmitConvolution(const Group& group);
  // Steps of EmitConvolution (lower_convolution.cc).
  Status ChooseConvolutionUnit(const Group& group, bool blocks, ConvolutionPlan* plan) const;
  Status PlaceConvolution(const Group& group, ConvolutionPlan* plan, std::vector<Work>* works);
  void PlaceConvolutionWeights(const Group& group, const ConstantWeights& weights,
                               ConvolutionPlan* plan);
  Work ConvolutionWork(const Group& group, const ConvolutionPlan& plan, int64_t image) const;
  StatusOr<Kernel> EmitProduct(const Group& group);
  // Steps of EmitProduct (lower_product.cc).
  StatusOr<Product> ReadProduct(const Group& group);
  Status ReadBias(const Group& group, Product* product) const;
  Status PlaceActivations(const Group& group, Product* product, std::vector<Work>* works);
  Status PlaceConstantWeights(Product* product) const;
  Status PlaceWeights(Product* product, std::vector<Work>* works);
  Status ChooseLoops(Product* product) const;
  Work ProductWork(const Group& group, const Product& product, int64_t index) const;
  // Returns the windows of a node that the design point's user unit computes; nullopt if there is
  // no user unit or it does not compute the node.
  std::optional<UserWindows> UserWindowsOf(const Node& node) const;
  StatusOr<Kernel> EmitUser(const Group& group);
  StatusOr<Kernel> EmitPool(const Group& group);
  StatusOr<Kernel> EmitReduce(const Group& group);
  StatusOr<std::vector<bool>> ReducedAxes(const Node& node, int rank) const;
  StatusOr<Kernel> EmitSoftmax(const Group& group);
  StatusOr<Kernel> EmitLayerNorm(const Group& group);
  StatusOr<Kernel> EmitElementwise(const Group& group);
  // Moves become views if the codes allow it; the kernel is then empty.
  StatusOr<Kernel> EmitMove(const Group& group);
  StatusOr<Kernel> EmitView(const Group& group);
  StatusOr<Kernel> EmitSplit(const Group& group);
  StatusOr<Kernel> EmitGather(const Group& group);
  StatusOr<Kernel> EmitConcat(const Group& group);
  StatusOr<Kernel> EmitPad(const Group& group);
  StatusOr<Kernel> EmitRearrangement(
      const Group& group);  // Resize, DepthToSpace, SpaceToDepth, Tile
  // Makes result i of the node a view of `source` or, if the codes differ, a copy.
  Status AliasOrCopy(const Node& node, int i, const View& source, Kernel* kernel);
  Status CheckWritable(const View& target, const View& source, const Value* result) const;
  std::string ForeignReason(const Value* value) const;
  void HoldHostValuesInFp32();
  Status AddHostNodes(const Group& group, const std::string& reason);
  void FlushHost();

  // Vector instructions (lower_vector.cc).
  // Appends the instructions of `spec`; copies views with block scales that do not fit its words.
  Status EmitVector(VectorSpec spec, std::vector<Work>* works);
  // Appends the instructions of a `spec` whose block scales, if any, run along the last axis.
  Status EmitNest(const VectorSpec& spec, std::vector<Work>* works) const;
  // Appends a copy of `from` to `to`, with a change of encoding if they differ.
  Status CopyTo(const View& from, const View& to, std::vector<Work>* works);
  // Appends a copy to a new dense buffer and returns its view.
  StatusOr<View> Materialise(const View& view, const std::string& name, std::vector<Work>* works);
  // Block scales can be walked only along their own axis, and written only as whole blocks.
  // Otherwise a copy in the vector format replaces the view: Unblocked makes it now, and Landing
  // provides a buffer that is written first and then copied to its target (Land).
  StatusOr<View> Unblocked(const View& view, std::vector<Work>* works);
  StatusOr<View> AlongBlocks(const View& view, int axis,
                             std::vector<Work>* works);  // unblocked unless along `axis`
  // Returns a view with block scales along `axis`: reads the values in the vector format and
  // quantises them again. A view without block scales is returned unchanged.
  StatusOr<View> WithBlocksAlong(const View& view, int axis, std::vector<Work>* works);
  View Landing(const View& target, int axis);
  Status Land(const View& landing, const View& target, std::vector<Work>* works);
  View NewView(const std::string& name, const Shape& shape, const Encoding& encoding);
  // Returns the stages assigned to machine stages that support them, or a refusal.
  StatusOr<std::vector<Stage>> PlacedStages(const std::vector<Stage>& stages) const;
  Pass FinalPass(Source source, std::vector<Stage> stages, const Chain& chain) const;
  StatusOr<View> BroadcastTo(const View& view, const std::vector<int64_t>& shape,
                             std::vector<Work>* works);
  // Returns the operands of the chain broadcast to the shape of `output`; copies that this needs
  // are added to `works`.
  StatusOr<std::vector<View>> ChainOperands(const Chain& chain, const View& output,
                                            std::vector<Work>* works);

  // Values.
  int NewBuffer(std::string name, int64_t bytes);
  int NewConstant(std::string name, std::span<const uint8_t> data);
  StatusOr<View> ViewOf(const Value* value);
  StatusOr<View> ConstantView(const Value* value);
  // Returns the view to which a kernel writes a value: if a transposition or concatenation follows,
  // directly the location of its result.
  View ResultView(const Value* value);
  const Encoding& EncodingFor(const Value* value) const { return encodings_.at(value); }
  Kernel NewKernel(const Group& group, std::string_view unit, std::string operation) const;

  const Graph& graph_;
  const Config& config_;
  const CompileOptions& options_;
  const KnownHost known_host_;
  std::unordered_set<const Node*> on_host_;
  const Ranking ranking_;
  Lowered out_;
  std::unordered_map<const Value*, Encoding> encodings_;
  std::unordered_map<const Value*, View> views_;    // locations of values
  std::unordered_map<const Value*, View> planned_;  // planned locations
  Partition<Group> partition_;
  std::vector<HostNodes> host_;  // consecutive, not emitted yet
};

// Return the stream, the quantisation and the location of a view as vector instructions use them.
Stream StreamOf(const View& view);
QuantiseOut QuantiseOf(const Encoding& encoding);
Place PlaceOf(const View& view);
Place ScalePlaceOf(const View& view);  // of the block scales
// Add an operand to the work's vector program, or set its output, at the beginning of `view`.
void PushOperand(const Stream& stream, const View& view, Work* work);
void SetOutput(const Stream& stream, const View& view, Work* work);
std::vector<int64_t> NhwcFrom(bool nhwc);  // the permutation of axes to NHWC

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_COMPILE_LOWERING_H_
