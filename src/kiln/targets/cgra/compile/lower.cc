// Chooses the nodes of each kernel, and emits views, moves of data and kernels of the host.

#include "kiln/targets/cgra/compile/lower.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_replace.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/support/check.h"
#include "kiln/targets/cgra/compile/cost_of_launch.h"
#include "kiln/targets/cgra/compile/lowering.h"
#include "kiln/targets/interface/kernel_info.h"
#include "kiln/targets/lower/channel_line.h"
#include "kiln/targets/lower/host_kernel.h"
#include "kiln/targets/lower/strided_view.h"
#include "kiln/targets/lower/view_steps.h"

namespace kiln::cgra {
namespace {

// Chains with more instructions are not continued.
constexpr int kMostChained = 28;
// What a node may add to a chain.
constexpr int kMostAppended = 10;

StatusOr<ElementChain> ChainOf(std::span<const Node* const> nodes, int64_t lanes) {
  ElementChain chain(KernelName(nodes), nodes.back()->result()->shape(), lanes);
  for (const Node* node : nodes) KILN_RETURN_IF_ERROR(chain.Append(*node));
  return chain;
}

// Returns the index of copies that leave elements where they are.
CopyIndex SameElement() {
  return {"e", [](int64_t e) { return e; }};
}

// Returns whether a node divides by an activation.
bool IsQuotient(const Node& node) {
  return node.op() == kiln::Op::kDiv && node.operand(1) != nullptr &&
         !node.operand(1)->is_constant();
}

}  // namespace

Lowering::Lowering(const Graph& graph, const Config& config, const CompileOptions& options)
    : graph_(graph), config_(config), options_(options), partition_(graph, Patterns()) {}

std::vector<Pattern<Group>> Lowering::Patterns() {
  const auto plan = [this](std::initializer_list<void (Lowering::*)(Group*)> followers) {
    return [this, list = std::vector(followers)](Group* group) {
      group->result = group->anchor->result();
      if (group->result == nullptr || group->anchor->num_results() != 1) return OkStatus();
      for (const auto follower : list) (this->*follower)(group);
      return OkStatus();
    };
  };
  const auto emit = [this](Status (Lowering::*emitter)(const Group&)) {
    return [this, emitter](const Group& group) { return Emit(group, emitter); };
  };
  using kiln::Op;
  return {
      {"convolution", AnyOf({Op::kConv}), plan({&Lowering::FollowBias, &Lowering::FollowClamp}),
       emit(&Lowering::EmitConvolution)},
      {"product", AnyOf({Op::kMatMul}), plan({&Lowering::FollowBias, &Lowering::FollowClamp}),
       emit(&Lowering::EmitProduct)},
      {"pool", AnyOf({Op::kMaxPool, Op::kAveragePool, Op::kGlobalAveragePool, Op::kGlobalMaxPool}),
       plan({&Lowering::FollowClamp}), emit(&Lowering::EmitPool)},
      {"reduction", AnyOf({Op::kReduceMean, Op::kReduceSum, Op::kReduceMax, Op::kReduceMin}),
       plan({&Lowering::FollowClamp}), emit(&Lowering::EmitReduction)},
      {"soft-max", AnyOf({Op::kSoftmax}), plan({}), emit(&Lowering::EmitSoftmax)},
      {"quotient", IsQuotient, plan({}), emit(&Lowering::EmitQuotient)},
      {"concat", AnyOf({Op::kConcat}), plan({}), emit(&Lowering::EmitConcat)},
      {"pad", AnyOf({Op::kPad}), plan({}), emit(&Lowering::EmitPad)},
      {"gather", AnyOf({Op::kGather}), plan({}), emit(&Lowering::EmitGather)},
      {"elements", AnyNode(), plan({&Lowering::FollowElements}), emit(&Lowering::EmitElements)},
  };
}

// -------------------------------------------------------------------------------------------------
// Planning

void Lowering::FollowBias(Group* group) {
  while (const Node* next = partition_.Follower(group->result)) {
    if (next->op() != kiln::Op::kAdd) return;
    const Value* other = next->operand(next->operand(0) == group->result ? 1 : 0);
    if (!IsConstantPerChannel(other, group->result->shape())) return;
    group->bias.push_back(other);
    group->nodes.push_back(next);
    group->result = next->result();
  }
}

void Lowering::FollowClamp(Group* group) {
  while (const Node* next = partition_.Follower(group->result)) {
    if (next->op() == kiln::Op::kRelu) {
      group->low = std::max(0.0, group->low);
      group->high = std::max(0.0, group->high);
    } else if (next->op() == kiln::Op::kClip) {
      const auto low = NumberOf(next->operand(1)), high = NumberOf(next->operand(2));
      if ((next->operand(1) != nullptr && !low) || (next->operand(2) != nullptr && !high)) return;
      const auto hold = [&](double v) {
        return std::min(std::max(v, low.value_or(v)), high.value_or(v));
      };
      group->low = hold(group->low);
      group->high = hold(group->high);
    } else {
      return;
    }
    group->nodes.push_back(next);
    group->result = next->result();
  }
}

void Lowering::FollowElements(Group* group) {
  if (!IsElementwise(*group->anchor)) return;
  auto chain = ChainOf(group->nodes, config_.lanes);
  if (!chain.ok()) return;
  int instructions = chain->instructions();
  while (const Node* next = partition_.Follower(group->result)) {
    if (!IsElementwise(*next)) return;
    std::vector<const Node*> nodes = group->nodes;
    nodes.push_back(next);
    const auto longer = ChainOf(nodes, config_.lanes);
    if (!longer.ok() || longer->instructions() > kMostChained ||
        longer->instructions() - instructions > kMostAppended) {
      return;
    }
    instructions = longer->instructions();
    group->nodes = std::move(nodes);
    group->result = next->result();
  }
}

// -------------------------------------------------------------------------------------------------
// Emission

int Lowering::AddValue(const Value& value, MachineKernel* kernel) const {
  kernel->buffers.push_back({.value = &value, .size = value.shape().NumElements()});
  return static_cast<int>(kernel->buffers.size()) - 1;
}

// Returns what is proved of a mapping, and among which mappings: "interval 3 (at least 2 among all
// mappings), latency 19 (at least 19 among all mappings)".
std::string MappingText(const MappedGraph& mapped) {
  return fmt::format("interval {} (at least {} among {}), latency {} (at least {} among {})",
                     mapped.mapping.initiation_interval, mapped.interval_bound,
                     mapped.interval_space, mapped.latency, mapped.latency_bound,
                     mapped.latency_space);
}

// Returns the same of all launches of a kernel, each text once.
std::string Lowering::MappingsText(const MachineKernel& kernel) {
  std::vector<std::string> texts;
  for (const Launch& launch : kernel.launches) {
    std::string text = MappingText(*launch.mapped);
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

void Lowering::AddKernel(const Group& group, MachineKernel kernel, std::string_view unit,
                         std::string operation, std::string schedule, double least_cycles) {
  LoweredKernel lowered;
  lowered.info = KernelInfoOf(group.nodes, unit, std::move(operation));
  lowered.info.schedule = std::move(schedule);
  double cycles = 0;
  for (const Launch& launch : kernel.launches) cycles += static_cast<double>(CyclesOf(launch));
  lowered.info.certificate = {
      .cost = cycles,
      .lower_bound = least_cycles,
      .optimal = cycles == least_cycles,
      .unit = "cycles",
      .bound_from =
          fmt::format("loading, streams and instructions; mappings: {}", MappingsText(kernel))};
  lowered.machine = std::move(kernel);
  out_.kernels.push_back(std::move(lowered));
}

bool Lowering::EmitView(const Node& node) {
  const Value* from = node.operand(0);
  const Value* to = node.result();
  if (from == nullptr || to == nullptr || node.num_results() != 1 || from->is_constant())
    return false;
  if (from->element() != to->element()) return false;
  if (to->quantisation().has_value()) {
    const auto before = CodesOf(*from), after = CodesOf(*to);
    if (!before.ok() || !after.ok() || *before != *after) return false;
  }
  const auto steps = ViewStepsOf(node);
  if (!steps.ok()) return false;
  const auto view = Apply(*steps, RowMajorView(from->shape().dims()));
  if (!view.has_value()) return false;
  out_.views.push_back(DerivedByView(to, from, *view));
  return true;
}

Status Lowering::Emit(const Group& group, Status (Lowering::*emitter)(const Group&)) {
  if (group.nodes.size() == 1 && EmitView(*group.anchor)) return OkStatus();
  if (const Status built = CheckStreamMachine(config_); !built.ok()) {
    // Semicolons separate the reasons of a kernel, and here what is wrong from what would be right.
    std::string reason = MessageOf(built);
    if (const size_t at = reason.find("; "); at != std::string::npos)
      reason.replace(at, 2, ", only ");
    return ToHost(absl::StrReplaceAll(reason, {{"; ", ": "}}));
  }
  if (group.result == nullptr || group.anchor->num_results() != 1)
    return ToHost(fmt::format("{} with several results", group.anchor->info().text));
  if (group.result->element() != ElementType::kFloat32)
    return ToHost(fmt::format("{} of elements that are not fp32", group.anchor->info().text));
  if (group.result->shape().NumElements() == 0) return ToHost("its result has no elements");
  return (this->*emitter)(group);
}

Status Lowering::EmitElements(const Group& group) {
  const std::string_view text = group.anchor->info().text;
  if (!IsElementwise(*group.anchor)) {
    return ToHost(
        fmt::format("{} is no sum of products and not element-wise: lanes do not meet", text));
  }
  KILN_ASSIGN_OR_RETURN(ElementChain chain, ChainOf(group.nodes, config_.lanes));
  KILN_ASSIGN_OR_RETURN(std::shared_ptr<const MappedGraph> mapped,
                        MapGraph(chain.FinishGraph(), config_));
  const int instructions = chain.instructions();
  MachineKernel kernel = chain.FinishKernel(std::move(mapped));
  const Launch& launch = kernel.launches[0];
  const double least = LeastCycles(launch, config_);
  std::string schedule = fmt::format("{} instructions, interval {}", instructions,
                                     launch.mapped->mapping.initiation_interval);
  AddKernel(group, std::move(kernel), "elements", OperatorsOf(group.nodes), std::move(schedule),
            least);
  return OkStatus();
}

Status Lowering::AddCopy(const Value& operand, const Value& result, int64_t count,
                         const CopyIndex& from, const CopyIndex& to, MachineKernel* kernel) {
  KILN_ASSIGN_OR_RETURN(const ValueCodes before, CodesOf(operand));
  KILN_ASSIGN_OR_RETURN(const ValueCodes after, CodesOf(result));
  GraphBuilder graph("copy");
  int value = graph.Input(operand.name());
  if (before == after) {
    value = graph.Unary(Op::kPass, "copy", value);
  } else {
    KILN_ASSIGN_OR_RETURN(value, AppendConversion(before, after, value, &graph));
  }
  graph.Output(value, result.name());
  Launch launch;
  KILN_ASSIGN_OR_RETURN(launch.mapped, MapGraph(graph.Finish(), config_));
  const int64_t lanes = config_.lanes;
  const auto at = [in_order = ElementsInOrder(count, lanes)](const CopyIndex& index) {
    IndexText text = in_order.text();
    text.position = {index.text};
    return ElementIndex(text, [in_order, index](int64_t run, int64_t thread, int64_t lane) {
      const int64_t i = in_order(run, thread, lane);
      return i < 0 ? i : index.of(i);
    });
  };
  launch.threads = (count + lanes - 1) / lanes;
  launch.feeds = {{AddValue(operand, kernel), at(from), before.zero, false}};
  launch.drains = {{0, at(to)}};
  kernel->launches.push_back(std::move(launch));
  return OkStatus();
}

Status Lowering::EmitConcat(const Group& group) {
  const Node& node = *group.anchor;
  const Shape& shape = group.result->shape();
  const auto axis = NormaliseAxis(node.attributes().Int("axis", 0), shape.rank());
  if (!axis.has_value()) return ToHost("a concat along an axis that is out of range");
  int64_t inner = 1;
  for (int i = *axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  MachineKernel kernel;
  kernel.result = group.result;
  kernel.buffers.push_back({.is_result = true, .size = shape.NumElements()});
  int64_t first = 0;
  const int64_t whole = shape[*axis] * inner;
  double least = 0;
  for (const Value* operand : node.operands()) {
    if (operand->is_constant()) return ToHost("a concat with a constant");
    const int64_t part = operand->shape()[*axis] * inner;
    if (part == 0) continue;
    KILN_RETURN_IF_ERROR(AddCopy(
        *operand, *group.result, operand->shape().NumElements(), SameElement(),
        {PositionText("e", {first, {operand->shape().NumElements() / part, part}, {whole, 1}}),
         [part, whole, begin = first](int64_t i) { return i / part * whole + begin + i % part; }},
        &kernel));
    least += LeastCycles(kernel.launches.back(), config_);
    first += part;
  }
  if (kernel.launches.empty()) return ToHost("a concat without elements");
  AddKernel(group, std::move(kernel), "move", OperatorsOf(group.nodes), "", least);
  return OkStatus();
}

Status Lowering::EmitPad(const Group& group) {
  const Node& node = *group.anchor;
  const Value& from = *node.operand(0);
  const auto pads = ConstantInts(node.operand(1));
  if (node.attributes().String("mode", "constant") != "constant" || !pads.has_value() ||
      node.operand(3) != nullptr) {
    return ToHost("padding that is not by constant numbers of a constant");
  }
  double number = 0;
  if (node.operand(2) != nullptr) {
    const auto given = NumberOf(node.operand(2));
    if (!given.has_value()) return ToHost("padding with a number that is known only at run time");
    number = *given;
  }
  KILN_ASSIGN_OR_RETURN(const ValueCodes codes, CodesOf(*group.result));
  const std::vector<int64_t> in = from.shape().dims(), out = group.result->shape().dims();
  const size_t rank = in.size();
  if (pads->size() != 2 * rank) return ToHost("padding of another rank");
  for (const int64_t pad : *pads) {
    if (pad < 0) return ToHost("padding that cuts elements off");
  }
  MachineKernel kernel;
  kernel.result = group.result;
  kernel.buffers.push_back({.is_result = true,
                            .fill = NearestCode(number, codes),
                            .size = group.result->shape().NumElements()});
  StridedView inside = RowMajorView(out);
  inside.shape = in;
  for (size_t a = 0; a < rank; ++a) inside.offset += (*pads)[a] * inside.strides[a];
  const auto to = [in, out, begin = *pads, rank](int64_t i) {
    int64_t position = 0, scale = 1;
    for (size_t a = rank; a-- > 0;) {
      position += (i % in[a] + begin[a]) * scale;
      i /= in[a];
      scale *= out[a];
    }
    return position;
  };
  KILN_RETURN_IF_ERROR(AddCopy(from, *group.result, from.shape().NumElements(), SameElement(),
                               {PositionText("e", inside), to}, &kernel));
  const double least = LeastCycles(kernel.launches.back(), config_);
  AddKernel(group, std::move(kernel), "move", OperatorsOf(group.nodes), "", least);
  return OkStatus();
}

Status Lowering::EmitGather(const Group& group) {
  const Node& node = *group.anchor;
  const Value& from = *node.operand(0);
  const auto indices = ConstantInts(node.operand(1));
  if (!indices.has_value())
    return ToHost("an embedding look-up: its indices are known only at run time");
  if (from.is_constant()) return ToHost("a gather from a constant");
  const auto axis = NormaliseAxis(node.attributes().Int("axis", 0), from.shape().rank());
  if (!axis.has_value()) return ToHost("a gather along an axis that is out of range");
  int64_t inner = 1;
  for (int i = *axis + 1; i < from.shape().rank(); ++i) inner *= from.shape()[i];
  const int64_t length = from.shape()[*axis], count = std::ssize(*indices);
  for (const int64_t index : *indices) {
    if (index < -length || index >= length) return ToHost("a gather beyond the end of its axis");
  }
  MachineKernel kernel;
  kernel.result = group.result;
  kernel.buffers.push_back({.is_result = true, .size = group.result->shape().NumElements()});
  const auto index_of = [inner, length, count, list = *indices](int64_t i) {
    const int64_t index = list[static_cast<size_t>(i / inner % count)];
    return (i / (inner * count) * length + (index < 0 ? index + length : index)) * inner +
           i % inner;
  };
  std::vector<int64_t> list = *indices;
  for (int64_t& index : list) index += index < 0 ? length : 0;
  const int64_t outer = kernel.buffers[0].size / (inner * count);
  const std::string text = SumText(
      SumText(ProductText(DigitText("e", inner * count, outer, outer), length * inner),
              ProductText(fmt::format("pick({}; {})", DigitText("e", inner, count, outer * count),
                                      fmt::join(list, ", ")),
                          inner)),
      DigitText("e", 1, inner, kernel.buffers[0].size));
  KILN_RETURN_IF_ERROR(AddCopy(from, *group.result, kernel.buffers[0].size, {text, index_of},
                               SameElement(), &kernel));
  const double least = LeastCycles(kernel.launches.back(), config_);
  AddKernel(group, std::move(kernel), "move", OperatorsOf(group.nodes), "", least);
  return OkStatus();
}

void Lowering::EmitHost(const Group& group, const std::string& reason) {
  for (const Node* node : group.nodes) {
    const HostNodes nodes{{node}, reason};
    HostKernel host = MakeHostKernel(graph_, {&nodes, 1});
    out_.kernels.push_back({std::move(host.info), std::nullopt, std::move(host.host)});
  }
}

StatusOr<LoweredNetwork> Lowering::Run() {
  KILN_RETURN_IF_ERROR(CheckKnownShapes(graph_));
  KILN_RETURN_IF_ERROR(partition_.Plan());
  KILN_RETURN_IF_ERROR(
      partition_.Emit(options_, [this](const Group& group, const std::string& reason) {
        EmitHost(group, reason);
        return OkStatus();
      }));
  return std::move(out_);
}

StatusOr<LoweredNetwork> Lower(const Graph& graph, const Config& config,
                               const CompileOptions& options) {
  return Lowering(graph, config, options).Run();
}

}  // namespace kiln::cgra
