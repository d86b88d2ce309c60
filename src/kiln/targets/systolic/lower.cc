#include "kiln/targets/systolic/lower.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "kiln/ir/describe.h"
#include "kiln/ir/work.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"
#include "kiln/targets/interface/host_graph.h"
#include "kiln/targets/systolic/binding.h"
#include "kiln/targets/systolic/lowering.h"
#include "kiln/targets/systolic/stages.h"

namespace kiln::systolic {
namespace {

// Whether a bias of the convolution's or product's channels: nothing but the last axis varies.
bool VariesAlongLastAxisOnly(const Shape& shape) {
  for (int i = 0; i + 1 < shape.rank(); ++i) {
    if (shape[i] != 1) return false;
  }
  return shape.rank() > 0;
}

bool IsMove(Op op) {
  switch (op) {
    case Op::kTranspose:
    case Op::kReshape:
    case Op::kFlatten:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
    case Op::kIdentity:
    case Op::kDropout:
    case Op::kExpand:
    case Op::kSlice:
    case Op::kSplit:
    case Op::kGather:
    case Op::kConcat:
    case Op::kPad:
    case Op::kResize:
    case Op::kTile:
    case Op::kDepthToSpace:
    case Op::kSpaceToDepth:
      return true;
    default:
      return false;
  }
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------------------
// Planning

Group Lowering::PlanNode(const Node& node) {
  Group group;
  group.anchor = &node;
  group.nodes = {&node};
  const auto follow = [&](Group::Kind kind, int first_operand, int reserved_stages) {
    group.kind = kind;
    group.chain.first_operand = first_operand;
    group.result =
        AppendFollowers(graph_, group.result, config_, reserved_stages, taken_, &group.chain);
    group.nodes.insert(group.nodes.end(), group.chain.nodes.begin(), group.chain.nodes.end());
  };
  const auto host = [&](std::string reason) {
    group.kind = Group::Kind::kHost;
    group.reason = std::move(reason);
  };
  if (IsMove(node.op())) {
    group.kind = Group::Kind::kMove;
    return group;
  }
  group.result = node.result();
  if (group.result == nullptr || group.result->element() != ElementType::kFloat32) {
    host(fmt::format("{} of other elements than fp32", node.info().text));
    return group;
  }
  group.user_windows = UserWindowsOf(node);
  if (group.user_windows.has_value()) {
    follow(Group::Kind::kUser, 0, 0);
    return group;
  }
  switch (node.op()) {
    case Op::kConv:
    case Op::kMatMul:
    case Op::kGemm: {
      const bool last_axis_is_channels =
          node.op() != Op::kConv || node.attributes().String("layout", "nchw") == "nhwc";
      while (last_axis_is_channels && !IsGraphOutput(graph_, group.result) &&
             group.result->users().size() == 1) {
        const Node* next = group.result->users()[0];
        if (next->op() != Op::kAdd || taken_.contains(next)) break;
        const Value* other = next->operand(next->operand(0) == group.result ? 1 : 0);
        if (!other->is_constant() || other->element() != ElementType::kFloat32) break;
        if (!VariesAlongLastAxisOnly(other->shape()) && other->constant().size() != 1) break;
        if (next->result()->shape() != group.result->shape()) break;
        group.bias.push_back(other);
        group.nodes.push_back(next);
        group.result = next->result();
      }
      follow(Group::Kind::kMatrix, 0, 0);
      return group;
    }
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kGlobalAveragePool:
    case Op::kGlobalMaxPool:
      follow(Group::Kind::kPool, 1, 0);
      return group;
    case Op::kReduceMean:
    case Op::kReduceSum:
    case Op::kReduceMax:
      follow(Group::Kind::kReduce, 1, 0);
      return group;
    case Op::kSoftmax:
    case Op::kLogSoftmax:
      follow(Group::Kind::kSoftmax, 1, 2);
      return group;
    case Op::kLayerNormalization:
      follow(Group::Kind::kLayerNorm, 3, 3);
      return group;
    case Op::kRmsNormalization:
      follow(Group::Kind::kLayerNorm, 2, 2);
      return group;
    default:
      break;
  }
  // Element-wise: the first operand that is no constant and from which the node can be reached.
  for (const Value* operand : node.operands()) {
    if (operand == nullptr || operand->is_constant()) continue;
    Chain chain;
    chain.first_operand = 1;
    if (!Append(node, operand, config_, 0, &chain)) continue;
    group.base = operand;
    group.chain = std::move(chain);
    group.nodes.clear();
    follow(Group::Kind::kElementwise, 1, 0);
    return group;
  }
  host(WhyNoChain(node));
  return group;
}

std::string Lowering::WhyNoChain(const Node& node) const {
  Config complete = config_;
  complete.vector_function_stages = complete.vector_divide_stages = kEveryStage;
  for (const Value* operand : node.operands()) {
    Chain chain;
    chain.first_operand = 1;
    if (operand == nullptr || operand->is_constant() || !Append(node, operand, complete, 0, &chain))
      continue;
    return fmt::format("the vector unit has no stage for {}: {}", node.info().text,
                       DescribeStages(config_));
  }
  return fmt::format("the vector unit has no {}", node.info().text);
}

void Lowering::Plan() {
  for (const auto& node : graph_.nodes()) {
    if (taken_.contains(node.get())) continue;
    Group group = PlanNode(*node);
    for (const Node* member : group.nodes) {
      taken_.insert(member);
      group_of_[member] = static_cast<int>(groups_.size());
    }
    groups_.push_back(std::move(group));
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Values

int Lowering::NewBuffer(std::string name, int64_t bytes) {
  out_.buffers.push_back({std::move(name), bytes, false, {}});
  return static_cast<int>(out_.buffers.size()) - 1;
}

int Lowering::NewConstant(std::string name, std::vector<uint8_t> data) {
  const int64_t bytes = std::ssize(data);
  out_.buffers.push_back({std::move(name), bytes, true, std::move(data)});
  return static_cast<int>(out_.buffers.size()) - 1;
}

StatusOr<View> Lowering::ConstantView(const Value* value) {
  if (const auto it = views_.find(value); it != views_.end()) return it->second;
  const Tensor& tensor = value->constant();
  if (tensor.type() != ElementType::kFloat32) {
    return UnsupportedAt("", "", fmt::format("a constant of type {}", NameOf(tensor.type())), "");
  }
  // A constant with one scale is held as codes, any other in the vector format, rounded to what it is annotated with.
  Encoding encoding = VectorEncoding(config_);
  std::vector<float> values(tensor.data<float>().begin(), tensor.data<float>().end());
  if (auto annotated = EncodingOf(*value, config_); annotated.ok()) {
    if (!annotated->blocked() && annotated->foreign == nullptr) {
      encoding = *annotated;
    } else {
      RoundToAnnotation(*value->quantisation(), tensor.shape(), values);
    }
  }
  Binding binding;
  binding.name = value->name();
  binding.shape = tensor.shape();
  binding.encoding = encoding;
  binding.strides = DenseView(-1, -1, tensor.shape(), encoding).strides;
  std::vector<uint8_t> data(static_cast<size_t>(tensor.size() * encoding.bytes));
  KILN_RETURN_IF_ERROR(Store(Tensor::Of<float>(tensor.shape(), values), binding, data));
  View view = DenseView(NewConstant(value->name(), std::move(data)), -1, tensor.shape(), encoding);
  views_[value] = view;
  return view;
}

View Lowering::NewView(const std::string& name, const Shape& shape, const Encoding& encoding) {
  const int codes = NewBuffer(name, shape.NumElements() * encoding.bytes);
  const int scales =
      encoding.blocked() ? NewBuffer(name + " scales", ScaleBytes(shape, encoding)) : -1;
  return DenseView(codes, scales, shape, encoding);
}

StatusOr<View> Lowering::ViewOf(const Value* value) {
  if (value->is_constant()) return ConstantView(value);
  return views_.at(value);
}

View Lowering::ResultView(const Value* value) {
  if (const auto it = planned_.find(value); it != planned_.end()) return it->second;
  const Encoding& encoding = EncodingFor(value);
  View view;
  const Node* user =
      value->users().size() == 1 && !IsGraphOutput(graph_, value) ? value->users()[0] : nullptr;
  if (user != nullptr && user->num_results() == 1 && user->result() != nullptr &&
      encoding.SameCodes(EncodingFor(user->result()))) {
    const Value* result = user->result();
    if (user->op() == Op::kTranspose) {
      const std::vector<int64_t> perm = user->attributes().Ints("perm");
      const int64_t last = std::ssize(perm) - 1;
      // Only where the innermost axis stays: elements of a word should leave together.
      if (last >= 0 && perm[static_cast<size_t>(last)] == last) {
        std::vector<int64_t> inverse(perm.size());
        for (size_t i = 0; i < perm.size(); ++i)
          inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
        view = Transposed(ResultView(result), inverse);
      }
    } else if (user->op() == Op::kReshape || user->op() == Op::kFlatten ||
               user->op() == Op::kSqueeze || user->op() == Op::kUnsqueeze) {
      if (auto reshaped = Reshaped(ResultView(result), value->shape().dims())) view = *reshaped;
    } else if (user->op() == Op::kConcat && user->operands().size() > 1) {
      const int rank = result->shape().rank();
      int64_t axis = user->attributes().Int("axis", 0);
      if (axis < 0) axis += rank;
      int64_t start = 0;
      for (const Value* operand : user->operands()) {
        if (operand == value) break;
        start += operand->shape()[static_cast<int>(axis)];
      }
      const int64_t count = value->shape()[static_cast<int>(axis)];
      const View whole = ResultView(result);
      // A part of the last block of a part would be a whole block of another.
      const bool whole_blocks = !whole.blocked() || axis != whole.blocks.axis ||
                                count % whole.encoding.block_size == 0 ||
                                start + count == result->shape()[static_cast<int>(axis)];
      if (whole_blocks && CanSlice(whole, static_cast<int>(axis), start, 1)) {
        view = Sliced(whole, static_cast<int>(axis), start, 1, count);
      }
    }
    if (view.buffer >= 0 && !view.Holds(encoding)) view = View();
  }
  if (view.buffer < 0) view = NewView(value->name(), value->shape(), encoding);
  view.encoding = encoding;
  planned_[value] = view;
  return view;
}

Kernel Lowering::NewKernel(const Group& group, std::string_view unit, std::string operation) const {
  Kernel kernel;
  kernel.info.name = KernelName(group.nodes);
  for (const Node* node : group.nodes) {
    kernel.info.source_nodes.push_back(node->name());
    kernel.info.macs += MacsOf(*node);
    kernel.info.operations += OperationsOf(*node);
  }
  kernel.info.unit = unit;
  kernel.info.operation = std::move(operation);
  return kernel;
}

// ---------------------------------------------------------------------------------------------------------------------
// The host

Status Lowering::AddHostNode(const Group& group) {
  // What reaches the group through a view of a waiting node's result is there only once that node has run.
  std::unordered_set<const Node*> members(group.nodes.begin(), group.nodes.end());
  std::unordered_set<int> waiting;
  for (const Group& earlier : host_) {
    members.insert(earlier.nodes.begin(), earlier.nodes.end());
    for (const Node* node : earlier.nodes) {
      for (const Value* result : node->results()) {
        if (result != nullptr) waiting.insert(views_.at(result).buffer);
      }
    }
  }
  for (const Node* node : group.nodes) {
    for (const Value* operand : node->operands()) {
      if (operand == nullptr || operand->is_constant() || members.contains(operand->producer()))
        continue;
      if (waiting.contains(views_.at(operand).buffer)) {
        KILN_RETURN_IF_ERROR(FlushHost());
        break;
      }
    }
  }
  for (const Node* node : group.nodes) {
    for (const Value* result : node->results()) {
      if (result != nullptr) views_[result] = ResultView(result);
    }
  }
  host_.push_back(group);
  return OkStatus();
}

Status Lowering::FlushHost() {
  if (host_.empty()) return OkStatus();
  Group merged;
  std::vector<std::pair<std::string, int64_t>>
      reasons;  // with the operations that are there for them
  for (const Group& group : host_) {
    merged.nodes.insert(merged.nodes.end(), group.nodes.begin(), group.nodes.end());
    auto reason = std::find_if(reasons.begin(), reasons.end(),
                               [&](const auto& r) { return r.first == group.reason; });
    if (reason == reasons.end()) reason = reasons.emplace(reason, group.reason, 0);
    for (const Node* node : group.nodes) reason->second += OperationsOf(*node);
  }
  host_.clear();
  std::sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  const std::unordered_set<const Node*> members(merged.nodes.begin(), merged.nodes.end());

  // Groups are in the graph's order, but a node fused early may come after one of a later group.
  std::vector<const Node*> ordered;
  std::string operation;
  for (const auto& node : graph_.nodes()) {
    if (!members.contains(node.get())) continue;
    ordered.push_back(node.get());
    operation += (operation.empty() ? "" : " + ") + std::string(node->info().text);
  }
  HostGraph host = CopyForHost(graph_, ordered);
  auto work = std::make_unique<HostWork>();
  for (const Value* input : host.inputs) work->inputs.push_back(views_.at(input));
  for (const Value* output : host.outputs) work->outputs.push_back(views_.at(output));
  Kernel kernel = NewKernel(merged, "host", operation);
  for (const auto& [reason, operations] : reasons) {
    kernel.info.host_reason += (kernel.info.host_reason.empty() ? "" : "; ") + reason;
  }
  work->graph = std::make_shared<const Graph>(std::move(host.graph));
  kernel.host_work = std::move(work);
  out_.kernels.push_back(std::move(kernel));
  return OkStatus();
}

// ---------------------------------------------------------------------------------------------------------------------

// Why the vector unit cannot write a value; empty when it can.
std::string Lowering::ForeignReason(const Value* value) const {
  const Encoding& encoding = EncodingFor(value);
  if (encoding.foreign == nullptr) return "";
  const QuantType& type = encoding.foreign->type;
  std::string blocks, own = config_.input_format.name;
  for (const OperandFormats& pair : config_.other_precisions) own += ", " + pair.input.name;
  if (type.scheme == Scheme::kPerBlock) {
    blocks = fmt::format(" with {} scales of {}", type.scale_format.name, type.block_size);
    own += config_.block_size == 0 ? " without block scales"
                                   : fmt::format(" with {} scales of {}", config_.scale_format.name,
                                                 config_.block_size);
  }
  return fmt::format("{} is held as {}{}, this design point writes {}, {} and integers",
                     NameForUser(*value), type.format.name, blocks, own,
                     config_.vector_format.name);
}

StatusOr<Kernel> Lowering::EmitKernel(const Group& group) {
  if (group.kind != Group::Kind::kMove && group.result != nullptr) {
    if (const std::string reason = ForeignReason(group.result); !reason.empty())
      return ToHost(reason);
  }
  switch (group.kind) {
    case Group::Kind::kMatrix:
      return EmitMatrix(group);
    case Group::Kind::kUser:
      return EmitUser(group);
    case Group::Kind::kPool:
      return EmitPool(group);
    case Group::Kind::kReduce:
      return EmitReduce(group);
    case Group::Kind::kSoftmax:
      return EmitSoftmax(group);
    case Group::Kind::kLayerNorm:
      return EmitLayerNorm(group);
    case Group::Kind::kElementwise:
      return EmitElementwise(group);
    case Group::Kind::kMove:
      return EmitMove(group);
    case Group::Kind::kHost:
      break;
  }
  return ToHost(group.reason);
}

Status Lowering::Emit(const Group& group) {
  StatusOr<Kernel> kernel =
      group.kind == Group::Kind::kHost ? ToHost(group.reason) : EmitKernel(group);
  if (kernel.ok()) {
    if (kernel->works.empty()) return OkStatus();  // nothing but views
    KILN_RETURN_IF_ERROR(FlushHost());
    out_.kernels.push_back(std::move(kernel).value());
    return OkStatus();
  }
  if (kernel.status().code() != StatusCode::kUnimplemented) return kernel.status();
  const std::string reason = MessageOf(kernel.status());
  if (!options_.host_fallback) {
    return UnsupportedAt(graph_.source(), group.anchor->Describe(), reason,
                         "allow host fallback or change the network");
  }
  Group host = group;
  host.reason = reason;
  return AddHostNode(host);
}

StatusOr<Lowered> Lowering::Run() {
  for (const Value* value : graph_.Values()) {
    if (!value->has_shape() || !value->shape().IsKnown()) {
      return ErrorAt(graph_.source(), fmt::format("value '{}'", value->name()),
                     "has no known shape", "give the shapes of all inputs, batch 1");
    }
    if (value->is_constant()) continue;
    auto encoding = EncodingOf(*value, config_);
    if (!encoding.ok()) return WithContext(graph_.source(), encoding.status());
    encodings_[value] = *encoding;
  }
  Plan();

  for (const Value* input : graph_.inputs()) {
    // An input that is transposed first thing is stored that way by whoever writes it.
    const Node* first = input->users().empty() ? nullptr : input->users()[0];
    View view;
    if (first != nullptr && first->op() == Op::kTranspose && first->num_results() == 1 &&
        EncodingFor(input).SameCodes(EncodingFor(first->result()))) {
      const std::vector<int64_t> perm = first->attributes().Ints("perm");
      if (static_cast<int>(perm.size()) == input->shape().rank()) {
        std::vector<int64_t> inverse(perm.size());
        for (size_t i = 0; i < perm.size(); ++i)
          inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
        view = Transposed(ResultView(first->result()), inverse);
        view.encoding = EncodingFor(input);
        if (view.blocked() && view.blocks.axis != view.encoding.block_axis) view = View();
      }
    }
    if (view.buffer < 0) view = NewView(input->name(), input->shape(), EncodingFor(input));
    views_[input] = view;
    out_.inputs.push_back(view);
    out_.input_names.push_back(input->name());
  }

  // A group is emitted where its last node stands: all that it reads has been emitted by then.
  std::vector<int> pending(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g)
    pending[g] = static_cast<int>(groups_[g].nodes.size());
  for (const auto& node : graph_.nodes()) {
    const size_t g = static_cast<size_t>(group_of_.at(node.get()));
    if (--pending[g] > 0) continue;
    KILN_RETURN_IF_ERROR(Emit(groups_[g]));
  }
  KILN_RETURN_IF_ERROR(FlushHost());
  for (const Value* output : graph_.outputs()) {
    KILN_ASSIGN_OR_RETURN(View view, ViewOf(output));
    out_.outputs.push_back(view);
    out_.output_names.push_back(output->name());
  }
  return std::move(out_);
}

StatusOr<Lowered> Lower(const Graph& graph, const Config& config, const CompileOptions& options) {
  return Lowering(graph, config, options).Run();
}

}  // namespace kiln::systolic
