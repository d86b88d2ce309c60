// The driver of lowering: the patterns that group nodes, the views of values, and the kernels of
// the host.
#include "kiln/targets/systolic/compile/lower.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "fmt/format.h"
#include "kiln/ir/describe.h"
#include "kiln/numerics/quantise.h"
#include "kiln/support/check.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/lower/constant_codes.h"
#include "kiln/targets/systolic/compile/lowering.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/stages.h"
#include "kiln/targets/systolic/simulate/numbers.h"

namespace kiln::systolic {
namespace {

// Returns a constant's values as they are stored in memory, row-major. `annotation` is that of a
// value whose encoding has codes.
std::vector<uint8_t> BytesOf(const Tensor& values, const std::optional<Quantisation>& annotation,
                             const Encoding& encoding) {
  const auto bytes_of = [](const Tensor& tensor) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(tensor.bytes());
    return std::vector<uint8_t>(bytes, bytes + tensor.num_bytes());
  };
  if (encoding.element == Element::kFloat32) return bytes_of(values);
  if (encoding.is_float()) {
    Quantisation numbers;
    numbers.type.format = encoding.format;
    return bytes_of(QuantiseConstant(values, numbers).codes);
  }
  const Quantisation q = CompleteAnnotation(*annotation);
  const Tensor codes = QuantiseConstant(values, q).codes;
  if (!IsInteger(encoding.element)) return bytes_of(codes);
  const int64_t moved = q.zero_points[0] - encoding.zero_point;  // unsigned codes: half of their
                                                                 // range
  std::vector<uint8_t> data(static_cast<size_t>(values.size() * encoding.bytes));
  for (int64_t i = 0; i < values.size(); ++i) {
    const int64_t code = std::clamp<int64_t>(codes.IntAt(i) - moved, encoding.low, encoding.high);
    StoreBits(static_cast<uint32_t>(code), encoding.bytes, data.data() + i * encoding.bytes);
  }
  return data;
}

// Returns the operators that only move their operands' elements.
std::vector<Op> Moves() {
  return {Op::kTranspose,    Op::kReshape,     Op::kFlatten, Op::kSqueeze, Op::kUnsqueeze,
          Op::kIdentity,     Op::kDropout,     Op::kExpand,  Op::kSlice,   Op::kSplit,
          Op::kGather,       Op::kConcat,      Op::kPad,     Op::kResize,  Op::kTile,
          Op::kDepthToSpace, Op::kSpaceToDepth};
}

}  // namespace

// -------------------------------------------------------------------------------------------------
// Planning

std::vector<Pattern<Group>> Lowering::Patterns() {
  const auto emit = [this](Emitter emitter) {
    return [this, emitter](const Group& group) { return Emit(group, emitter); };
  };
  const auto follow = [this](int first_operand, int reserved_stages) {
    return [this, first_operand, reserved_stages](Group* group) {
      Follow(first_operand, reserved_stages, group);
      return OkStatus();
    };
  };
  const auto is_other_element = [](const Node& node) {
    return node.result() == nullptr || node.result()->element() != ElementType::kFloat32;
  };
  const auto refuse_elements = [](Group* group) {
    return ToHost(fmt::format("{} of other elements than fp32", group->anchor->info().text));
  };
  const auto plan_product = [this](Group* group) { return PlanProduct(group); };
  const auto has_user_unit = [this](const Node& node) { return UserWindowsOf(node).has_value(); };
  const auto plan_user = [this](Group* group) {
    group->user_windows = UserWindowsOf(*group->anchor);
    Follow(0, 0, group);
    return OkStatus();
  };
  return {
      {"move", AnyOf(Moves()), [](Group*) { return OkStatus(); }, emit(&Lowering::EmitMove)},
      {"other elements", is_other_element, refuse_elements, {}},
      {"user unit", has_user_unit, plan_user, emit(&Lowering::EmitUser)},
      {"convolution", AnyOf({Op::kConv}), plan_product, emit(&Lowering::EmitConvolution)},
      {"product", AnyOf({Op::kMatMul, Op::kGemm}), plan_product, emit(&Lowering::EmitProduct)},
      {"pool", AnyOf({Op::kMaxPool, Op::kAveragePool, Op::kGlobalAveragePool, Op::kGlobalMaxPool}),
       follow(1, 0), emit(&Lowering::EmitPool)},
      {"reduction", AnyOf({Op::kReduceMean, Op::kReduceSum, Op::kReduceMax}), follow(1, 0),
       emit(&Lowering::EmitReduce)},
      {"soft-max", AnyOf({Op::kSoftmax, Op::kLogSoftmax}), follow(1, 2),
       emit(&Lowering::EmitSoftmax)},
      {"layer normalisation", AnyOf({Op::kLayerNormalization}), follow(3, 3),
       emit(&Lowering::EmitLayerNorm)},
      {"RMS normalisation", AnyOf({Op::kRmsNormalization}), follow(2, 2),
       emit(&Lowering::EmitLayerNorm)},
      {"element-wise", AnyNode(), [this](Group* group) { return PlanElementwise(group); },
       emit(&Lowering::EmitElementwise)},
  };
}

void Lowering::Follow(int first_operand, int reserved_stages, Group* group) const {
  if (group->result == nullptr) group->result = group->anchor->result();
  group->chain.first_operand = first_operand;
  const auto is_taken = [this](const Node* node) { return partition_.IsTaken(node); };
  group->result =
      AppendFollowers(graph_, group->result, config_, reserved_stages, is_taken, &group->chain);
  group->nodes.insert(group->nodes.end(), group->chain.nodes.begin(), group->chain.nodes.end());
}

Status Lowering::PlanProduct(Group* group) const {
  const Node& node = *group->anchor;
  group->result = node.result();
  const bool last_axis_is_channels =
      node.op() != Op::kConv || node.attributes().String("layout", "nchw") == "nhwc";
  while (last_axis_is_channels && !IsGraphOutput(graph_, group->result) &&
         group->result->users().size() == 1) {
    const Node* next = group->result->users()[0];
    if (next->op() != Op::kAdd || partition_.IsTaken(next)) break;
    const Value* other = next->operand(next->operand(0) == group->result ? 1 : 0);
    if (!IsConstantPerChannel(other, group->result->shape())) break;
    if (next->result()->shape() != group->result->shape()) break;
    group->bias.push_back(other);
    group->nodes.push_back(next);
    group->result = next->result();
  }
  Follow(0, 0, group);
  return OkStatus();
}

// Starts the chain at the first operand that is not a constant and from which the node can be
// computed.
Status Lowering::PlanElementwise(Group* group) const {
  const Node& node = *group->anchor;
  group->result = node.result();
  for (const Value* operand : node.operands()) {
    if (operand == nullptr || operand->is_constant()) continue;
    Chain chain;
    chain.first_operand = 1;
    if (!Append(node, operand, config_, 0, &chain)) continue;
    group->base = operand;
    group->chain = std::move(chain);
    group->nodes.clear();
    Follow(1, 0, group);
    return OkStatus();
  }
  return ToHost(WhyNoChain(node));
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

// -------------------------------------------------------------------------------------------------
// Values

int Lowering::NewBuffer(std::string name, int64_t bytes) {
  out_.buffers.push_back({std::move(name), bytes, false, {}});
  return static_cast<int>(out_.buffers.size()) - 1;
}

int Lowering::NewConstant(std::string name, std::span<const uint8_t> data) {
  const int64_t bytes = std::ssize(data);
  out_.buffers.push_back({std::move(name), bytes, true, LargeBytes(data.begin(), data.end())});
  return static_cast<int>(out_.buffers.size()) - 1;
}

StatusOr<View> Lowering::ConstantView(const Value* value) {
  if (const auto it = views_.find(value); it != views_.end()) return it->second;
  const Tensor& tensor = value->constant();
  if (tensor.type() != ElementType::kFloat32) {
    return UnsupportedAt("", "", fmt::format("a constant of type {}", NameOf(tensor.type())), "");
  }
  // A constant with one scale is stored as codes. Any other constant is rounded to its annotation
  // and stored in the vector format.
  Encoding encoding = VectorEncoding(config_);
  Tensor values = tensor;
  if (auto annotated = EncodingOf(*value, config_); annotated.ok()) {
    if (!annotated->blocked() && annotated->foreign == nullptr) {
      encoding = *annotated;
    } else {
      values = RoundToAnnotation(tensor, *value->quantisation());
    }
  }
  const int buffer = NewConstant(value->name(), BytesOf(values, value->quantisation(), encoding));
  View view = DenseView(buffer, -1, tensor.shape(), encoding);
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
      // Applies only if the innermost axis stays in place, because elements of a word should leave
      // together.
      if (last >= 0 && perm[static_cast<size_t>(last)] == last) {
        view = Transposed(ResultView(result), InversePermutation(perm));
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
      // A partial scale block at the end of one operand would share its block with the next
      // operand.
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
  kernel.info = KernelInfoOf(group.nodes, unit, std::move(operation));
  kernel.info.unrounded_values = ValuesWithin(group.nodes);
  return kernel;
}

// -------------------------------------------------------------------------------------------------
// The host

Status Lowering::AddHostNodes(const Group& group, const std::string& reason) {
  // An operand that reaches the group as a view of a waiting node's result is available only after
  // that node has run.
  std::unordered_set<const Node*> members(group.nodes.begin(), group.nodes.end());
  std::unordered_set<int> waiting;
  for (const HostNodes& earlier : host_) {
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
        FlushHost();
        break;
      }
    }
  }
  for (const Node* node : group.nodes) {
    on_host_.insert(node);
    for (const Value* result : node->results()) {
      if (result != nullptr) views_[result] = ResultView(result);
    }
  }
  host_.push_back({group.nodes, reason});
  return OkStatus();
}

void Lowering::HoldHostValuesInFp32() {
  const auto on_host = [&](const Node* node) { return known_host_.Contains(node); };
  for (auto& [value, encoding] : encodings_) {
    if (encoding.element != Element::kVector || value->quantisation().has_value()) continue;
    const Node* producer = value->producer();
    if (producer != nullptr && !on_host(producer)) continue;
    if (std::all_of(value->users().begin(), value->users().end(), on_host)) encoding = Encoding();
  }
}

KnownHost Lowering::Host() const {
  KnownHost host{.nodes = on_host_, .moves = {}};
  const auto is_move = AnyOf(Moves());
  for (const auto& node : graph_.nodes()) {
    if (is_move(*node) && !on_host_.contains(node.get())) host.moves.insert(node.get());
  }
  // A move stays if the host, perhaps by further moves, writes all that it reads and reads all that
  // it writes.
  const auto is_between = [&](const Node& node) {
    for (const Value* operand : node.operands()) {
      if (operand == nullptr || operand->producer() == nullptr) continue;
      if (!host.Contains(operand->producer())) return false;
    }
    for (const Value* result : node.results()) {
      if (result == nullptr) continue;
      if (result->quantisation().has_value() || result->users().empty()) return false;
      for (const Node* user : result->users()) {
        if (!host.Contains(user)) return false;
      }
    }
    return true;
  };
  for (bool stable = false; !stable;) {
    stable = std::erase_if(host.moves, [&](const Node* node) { return !is_between(*node); }) == 0;
  }
  return host;
}

void Lowering::FlushHost() {
  if (host_.empty()) return;
  HostKernel host = MakeHostKernel(graph_, host_);
  host_.clear();
  Kernel kernel;
  kernel.info = std::move(host.info);
  kernel.host_work = std::make_unique<HostWork>();
  for (const Value* input : host.host.inputs) kernel.host_work->inputs.push_back(views_.at(input));
  for (const Value* output : host.host.outputs)
    kernel.host_work->outputs.push_back(views_.at(output));
  kernel.host_work->graph = std::make_shared<const Graph>(std::move(host.host.graph));
  out_.kernels.push_back(std::move(kernel));
}

// -------------------------------------------------------------------------------------------------

// Returns the reason why the vector unit cannot write a value; empty if it can.
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
  if (config_.integer_elements) {
    own += fmt::format(", {} and integers", config_.vector_format.name);
  } else {
    own += " and " + config_.vector_format.name;
  }
  return fmt::format("{} is held as {}{}, this design point writes {}", NameForUser(*value),
                     type.format.name, blocks, own);
}

namespace {

// A loop of one iteration has a stride that no address depends on. It becomes 0 if a machine cannot
// hold it, as the stride of the only image of a batch if that has 2 GiB or more.
void DropUnusedStrides(Instruction* instruction) {
  const auto drop = [](int64_t count, int64_t* stride) {
    constexpr int64_t kMost = int64_t{1} << (kAddressBits - 1);
    if (count == 1 && (*stride < -kMost || *stride >= kMost)) *stride = 0;
  };
  VectorProgram& vector = instruction->vector;
  const auto drop_outer = [&](Stream* stream) {
    for (size_t loop = 0; loop < kOuterLoops; ++loop) {
      drop(vector.outer[loop], &stream->outer_stride[loop]);
      drop(vector.outer[loop], &stream->blocks.outer_stride[loop]);
    }
  };
  for (Stream& operand : vector.operands) drop_outer(&operand);
  drop_outer(&vector.output);
  Convolution& convolution = instruction->convolution;
  for (int64_t* stride :
       {&convolution.input_batch_stride, &convolution.input_scales.batch_stride,
        &convolution.weight_batch_stride, &convolution.weight_scales.batch_stride}) {
    drop(convolution.batch, stride);
  }
  for (int64_t* stride : {&convolution.input_row_stride, &convolution.input_scales.row_stride})
    drop(convolution.height, stride);
}

}  // namespace

Status Lowering::Emit(const Group& group, Emitter emitter) {
  if (known_host_.moves.contains(group.anchor)) return ToHost("between steps of the host");
  if (group.result != nullptr) {
    if (const std::string reason = ForeignReason(group.result); !reason.empty())
      return ToHost(reason);
  }
  KILN_ASSIGN_OR_RETURN(Kernel kernel, (this->*emitter)(group));
  if (kernel.works.empty()) return OkStatus();  // the group needs views only
  FlushHost();
  for (Work& work : kernel.works) {
    RoundScales(&work.instruction.vector);
    DropUnusedStrides(&work.instruction);
  }
  out_.kernels.push_back(std::move(kernel));
  return OkStatus();
}

// Rounds the scales of a program to the format in which the machine holds them.
void Lowering::RoundScales(VectorProgram* program) const {
  for (Stream& operand : program->operands) operand.scale = RoundScale(config_, operand.scale);
  float& inverse = program->quantise.inverse_scale;
  inverse = RoundScale(config_, inverse);
}

StatusOr<Lowered> Lowering::Run() {
  KILN_RETURN_IF_ERROR(CheckKnownShapes(graph_));
  for (const Value* value : graph_.Values()) {
    if (value->is_constant()) continue;
    auto encoding = EncodingOf(*value, config_);
    if (!encoding.ok()) return WithContext(graph_.source(), encoding.status());
    encodings_[value] = *encoding;
  }
  HoldHostValuesInFp32();
  KILN_RETURN_IF_ERROR(partition_.Plan());
  for (const Value* input : graph_.inputs()) {
    // An input whose first user transposes it is stored in transposed order by the code that writes
    // it.
    const Node* first = input->users().empty() ? nullptr : input->users()[0];
    View view;
    if (first != nullptr && first->op() == Op::kTranspose && first->num_results() == 1 &&
        EncodingFor(input).SameCodes(EncodingFor(first->result()))) {
      const std::vector<int64_t> perm = first->attributes().Ints("perm");
      if (static_cast<int>(perm.size()) == input->shape().rank()) {
        view = Transposed(ResultView(first->result()), InversePermutation(perm));
        view.encoding = EncodingFor(input);
        if (view.blocked() && view.blocks.axis != view.encoding.block_axis) view = View();
      }
    }
    if (view.buffer < 0) view = NewView(input->name(), input->shape(), EncodingFor(input));
    views_[input] = view;
    out_.inputs.push_back(view);
    out_.input_names.push_back(input->name());
  }

  KILN_RETURN_IF_ERROR(
      partition_.Emit(options_, [this](const Group& group, const std::string& reason) {
        return AddHostNodes(group, reason);
      }));
  FlushHost();
  for (const Value* output : graph_.outputs()) {
    KILN_ASSIGN_OR_RETURN(View view, ViewOf(output));
    out_.outputs.push_back(view);
    out_.output_names.push_back(output->name());
  }
  return std::move(out_);
}

StatusOr<Lowered> Lower(const Graph& graph, const Config& config, const CompileOptions& options) {
  Lowering lowering(graph, config, options);
  StatusOr<Lowered> lowered = lowering.Run();
  if (!lowered.ok() || !config.narrow_vector()) return lowered;
  KnownHost host = lowering.Host();
  if (host.nodes.empty()) return lowered;
  return Lowering(graph, config, options, std::move(host)).Run();
}

}  // namespace kiln::systolic
