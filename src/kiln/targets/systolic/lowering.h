// The work of Lower, shared by the lower_*.cc files: what is known about the graph while kernels are emitted.
#ifndef KILN_TARGETS_SYSTOLIC_LOWERING_H_
#define KILN_TARGETS_SYSTOLIC_LOWERING_H_

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kiln/targets/systolic/chain.h"
#include "kiln/targets/systolic/lower.h"
#include "kiln/targets/systolic/user_unit.h"

namespace kiln::systolic {

// A kernel that would need more of them goes to the host.
inline constexpr int64_t kMaxInstructionsPerKernel = 4096;

// Nodes that become one kernel.
struct Group {
  enum class Kind {
    kMatrix,
    kUser,
    kPool,
    kReduce,
    kSoftmax,
    kLayerNorm,
    kElementwise,
    kMove,
    kHost
  };
  Kind kind = Kind::kHost;
  const Node* anchor = nullptr;
  Chain chain;                     // what follows the anchor (kElementwise: anchor included)
  const Value* base = nullptr;     // kElementwise: the value that the chain starts from
  const Value* result = nullptr;   // what leaves the kernel (kMove, kHost: see the node)
  std::vector<const Value*> bias;  // kMatrix: constants per channel, added first
  std::optional<UserWindows> user_windows;  // kUser
  std::vector<const Node*> nodes;
  std::string reason;  // kHost
};

// A vector instruction to be: views of one shape walked in step.
struct VectorSpec {
  View output;
  std::vector<View> operands;
  std::vector<Pass> passes;
  bool rows_are_last_axis =
      false;  // the innermost loop is the last axis and nothing else (reductions along it)
};

// Why a node cannot be a kernel; the node goes to the host, and the reason to the report.
inline Status ToHost(const std::string& reason) { return absl::UnimplementedError(reason); }

class Lowering {
 public:
  Lowering(const Graph& graph, const Config& config, const CompileOptions& options)
      : graph_(graph), config_(config), options_(options) {}
  StatusOr<Lowered> Run();

 private:
  // Planning.
  void Plan();
  Group PlanNode(const Node& node);
  std::string WhyNoChain(const Node& node) const;  // an operator that is not element-wise here

  // Emission. Unimplemented sends the group to the host with the message as reason; other errors are the user's.
  Status Emit(const Group& group);
  StatusOr<Kernel> EmitKernel(const Group& group);
  StatusOr<Kernel> EmitMatrix(const Group& group);
  StatusOr<Kernel> EmitConvolution(const Group& group);
  StatusOr<Kernel> EmitProduct(const Group& group);
  // The node on the design point's user unit; nullopt where it has none, or one that does not take it.
  std::optional<UserWindows> UserWindowsOf(const Node& node) const;
  StatusOr<Kernel> EmitUser(const Group& group);
  StatusOr<Kernel> EmitPool(const Group& group);
  StatusOr<Kernel> EmitReduce(const Group& group);
  StatusOr<Kernel> EmitSoftmax(const Group& group);
  StatusOr<Kernel> EmitLayerNorm(const Group& group);
  StatusOr<Kernel> EmitElementwise(const Group& group);
  // Moves become views where codes allow it; the kernel is empty then.
  StatusOr<Kernel> EmitMove(const Group& group);
  StatusOr<Kernel> EmitSplit(const Group& group);
  StatusOr<Kernel> EmitGather(const Group& group);
  StatusOr<Kernel> EmitConcat(const Group& group);
  StatusOr<Kernel> EmitPad(const Group& group);
  StatusOr<Kernel> EmitRearrangement(
      const Group& group);  // Resize, DepthToSpace, SpaceToDepth, Tile
  // Result i of the node stands where `source` says, as itself or, when codes differ, as a copy.
  Status AliasOrCopy(const Node& node, int i, const View& source, Kernel* kernel);
  StatusOr<View> ViewThrough(const Node& node,
                             const View& x);  // Transpose, Reshape, Slice, Expand, ...
  Status CheckWritable(const View& target, const View& source, const Value* result) const;
  std::string ForeignReason(const Value* value) const;
  Status AddHostNode(const Group& group);
  Status FlushHost();

  // Vector instructions (lower_vector.cc).
  Status EmitVector(VectorSpec spec, std::vector<Work>* works);
  Status EmitNest(const VectorSpec& spec, std::vector<Work>* works) const;
  Status CopyTo(const View& from, const View& to, std::vector<Work>* works);
  StatusOr<View> Materialise(const View& view, const std::string& name, std::vector<Work>* works);
  // Block scales can be walked along their own axis only, and written whole. Elsewhere a copy in the vector format
  // stands in for the view: made now (Unblocked), or to be written and then copied to its target (Landing).
  StatusOr<View> Unblocked(const View& view, std::vector<Work>* works);
  StatusOr<View> AlongBlocks(const View& view, int axis,
                             std::vector<Work>* works);  // unblocked unless along `axis`
  // With other blocks, along `axis`: read in the vector format and quantised anew. As it is without block scales.
  StatusOr<View> WithBlocksAlong(const View& view, int axis, std::vector<Work>* works);
  View Landing(const View& target, int axis);
  Status Land(const View& landing, const View& target, std::vector<Work>* works);
  View NewView(const std::string& name, const Shape& shape, const Encoding& encoding);
  // The stages in places that have them, or to the host.
  StatusOr<std::vector<Stage>> PlacedStages(const std::vector<Stage>& stages) const;
  Pass FinalPass(Source source, std::vector<Stage> stages, const Chain& chain) const;
  StatusOr<View> BroadcastTo(const View& view, const std::vector<int64_t>& shape,
                             std::vector<Work>* works);
  // Operands of the chain under the shape of `output`; what must be copied for that goes to `works`.
  StatusOr<std::vector<View>> ChainOperands(const Chain& chain, const View& output,
                                            std::vector<Work>* works);

  // Values.
  int NewBuffer(std::string name, int64_t bytes);
  int NewConstant(std::string name, std::vector<uint8_t> data);
  StatusOr<View> ViewOf(const Value* value);
  StatusOr<View> ConstantView(const Value* value);
  // Where a kernel shall write a value: straight into the place of a transposition or concatenation that follows.
  View ResultView(const Value* value);
  const Encoding& EncodingFor(const Value* value) const { return encodings_.at(value); }
  Kernel NewKernel(const Group& group, std::string_view unit, std::string operation) const;

  const Graph& graph_;
  const Config& config_;
  const CompileOptions& options_;
  Lowered out_;
  std::unordered_map<const Value*, Encoding> encodings_;
  std::unordered_map<const Value*, View> views_;    // where values stand
  std::unordered_map<const Value*, View> planned_;  // where values will stand
  std::unordered_set<const Node*> taken_;
  std::vector<Group> groups_;
  std::unordered_map<const Node*, int> group_of_;
  std::vector<Group> host_;  // consecutive host groups, not emitted yet
};

Stream StreamOf(const View& view);
QuantiseOut QuantiseOf(const Encoding& encoding);
Place PlaceOf(const View& view);
Place ScalePlaceOf(const View& view);  // of its block scales
// An operand of the work's vector program, or its output, standing where `view` begins.
void PushOperand(const Stream& stream, const View& view, Work* work);
void SetOutput(const Stream& stream, const View& view, Work* work);
std::vector<int64_t> NhwcFrom(bool nhwc);  // permutation of axes to NHWC

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_LOWERING_H_
