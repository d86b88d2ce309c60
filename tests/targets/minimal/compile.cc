// The minimal family's keys, and its compiler: which nodes run on the machine, and their numbers.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/interface/kernel_info.h"
#include "tests/targets/minimal/minimal.h"

namespace kiln::minimal {
namespace {

const Quantisation* Int8Of(const Value* value) {
  const auto& q = value->quantisation();
  return q && q->type.format.name == "int8" && q->scales.size() == 1 ? &*q : nullptr;
}

// Returns why the machine cannot run a node; empty: it can.
std::string WhyNot(const Node& node) {
  if (node.op() != Op::kAdd && node.op() != Op::kMul) return "the machine adds and multiplies";
  const Value *const a = node.operand(0), *const b = node.operand(1), *const y = node.result(0);
  if (!(a->shape() == b->shape())) return "its operands differ in shape";
  if (y->shape().NumElements() == 0) return "it has no elements";
  const bool coded = Int8Of(a) != nullptr && Int8Of(b) != nullptr && Int8Of(y) != nullptr;
  return coded ? "" : "an operand or its result has no int8 codes with one scale";
}

// Scales the real factors by the largest power of two with which they and the constant fit.
Instruction InstructionOf(const Node& node) {
  const Quantisation &a = *Int8Of(node.operand(0)), &b = *Int8Of(node.operand(1));
  const Quantisation& y = *Int8Of(node.result(0));
  const bool multiply = node.op() == Op::kMul;
  const double sa = a.scales[0], sb = b.scales[0], sy = y.scales[0], zero = y.zero_points[0];
  const double fa = multiply ? sa * sb / sy : sa / sy, fb = multiply ? 0 : sb / sy;
  int shift = 0;
  const double most = std::max({fa, fb, (std::abs(zero) + 1) / 32768});
  while (shift < 30 && std::ldexp(most, shift + 1) < 32767) ++shift;
  const auto integer = [shift](double f) {
    return static_cast<int16_t>(std::min(32767.0, std::rint(std::ldexp(f, shift))));
  };
  return {.multiply = multiply,
          .ma = integer(fa),
          .mb = integer(fb),
          .c = static_cast<int32_t>(std::ldexp(zero + 0.5, shift)),  // so that >> rounds
          .shift = shift,
          .za = static_cast<int8_t>(a.zero_points[0]),
          .zb = static_cast<int8_t>(b.zero_points[0])};
}

}  // namespace

const hardware::KeyTable<Config>& Keys() {
  static const hardware::KeyTable<Config> table(
      "minimal", {{.name = "name",
                   .type = hardware::Text(&Config::name),
                   .required = true,
                   .rtl = {},
                   .help = "the name of the design point in reports"},
                  {.name = "lanes",
                   .type = hardware::PowerOfTwo(&Config::lanes, 4, 16),
                   .unit = "elements",
                   .rtl = {{"LANES"}},
                   .help = "elements of a beat"}});
  return table;
}

MinimalProgram::MinimalProgram(const Config& point, const Graph& graph,
                               std::vector<KernelInfo> infos)
    : config(point), network(graph.Clone()) {
  kernels_ = std::move(infos);
  for (const auto& node : network.nodes()) {
    const Node* const nodes[] = {node.get()};
    on_machine.emplace_back();
    hosts.emplace_back();
    if (kernels_[hosts.size() - 1].on_host()) {
      hosts.back() = CopyForHost(network, nodes);
    } else {
      on_machine.back() = {InstructionOf(*node), node->operand(0), node->operand(1),
                           node->result(0)};
    }
  }
}

std::string MinimalProgram::Print() const {
  std::string text;
  for (size_t k = 0; k < hosts.size(); ++k) {
    const Instruction& in = on_machine[k].instruction;
    text += fmt::format("{}: {} ma={} mb={} c={} shift={} za={} zb={}\n", kernels_[k].name,
                        hosts[k]      ? "host"
                        : in.multiply ? "mul"
                                      : "add",
                        in.ma, in.mb, in.c, in.shift, in.za, in.zb);
  }
  return text;
}

StatusOr<std::unique_ptr<Program>> CompileNetwork(const Config& config, const Graph& network,
                                                  const CompileOptions& options) {
  std::vector<KernelInfo> infos;
  for (const auto& node : network.nodes()) {
    const Node* const nodes[] = {node.get()};
    KernelInfo info = KernelInfoOf(nodes, "vector", OperatorsOf(nodes));
    info.host_reason = WhyNot(*node);
    if (info.on_host()) info.unit = "host";
    if (info.on_host() && !options.host_fallback) {
      return UnsupportedAt(network.source(), fmt::format("node '{}'", info.name), info.host_reason,
                           "let the host run it");
    }
    if (!info.on_host()) {
      // Every beat of the input takes a cycle: there is nothing to choose.
      const int64_t beats = config.BeatsOf(node->result(0)->shape().NumElements());
      const auto cycles = static_cast<double>(beats + 5);
      info.certificate = {cycles, cycles, true, "cycles", "beats of the input stream"};
    }
    infos.push_back(std::move(info));
  }
  return std::make_unique<MinimalProgram>(config, network, std::move(infos));
}

}  // namespace kiln::minimal
