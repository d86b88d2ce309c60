// Implements fold-pad.
#include "kiln/passes/fold_pad.h"

#include "kiln/ir/window.h"
#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns the pads of a Pad node for every axis, begins first, then ends; nullopt if not constant.
std::optional<std::vector<int64_t>> PadsOf(const Node& pad, int rank) {
  const auto pads = IntConstant(pad.operand(1));
  if (!pads.has_value()) return std::nullopt;
  std::vector<int64_t> axes;
  if (pad.operand(3) != nullptr) {
    const auto listed = IntConstant(pad.operand(3));
    if (!listed.has_value()) return std::nullopt;
    axes = *listed;
  } else {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  if (pads->size() != 2 * axes.size()) return std::nullopt;
  std::vector<int64_t> all(2 * static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) return std::nullopt;
    all[static_cast<size_t>(axis)] = (*pads)[i];
    all[static_cast<size_t>(axis + rank)] = (*pads)[i + axes.size()];
  }
  return all;
}

}  // namespace

StatusOr<Changed> FoldPad::Run(Graph& graph, PassContext&) const {
  return ApplyRule(graph, [](Graph& g, Node& conv) -> StatusOr<bool> {
    Node* pad = conv.op() == Op::kConv ? ProducedBy(conv.operand(0), Op::kPad) : nullptr;
    if (pad == nullptr || !HasOneUse(g, conv.operand(0)) ||
        conv.operand(0)->quantisation().has_value())
      return false;
    if (conv.attributes().String("auto_pad", "NOTSET") != "NOTSET") return false;
    if (pad->attributes().String("mode", "constant") != "constant") return false;
    if (pad->operand(2) != nullptr && ScalarConstant(pad->operand(2)) != 0.0) return false;
    // The weights' rank is known even if the input's is not.
    const int rank = RankOf(conv.operand(1));
    const auto pads = rank < 3 ? std::nullopt : PadsOf(*pad, rank);
    if (!pads.has_value()) return false;
    const int first = IsNhwc(conv) ? 1 : 2;  // the first spatial axis
    const int spatial = rank - 2;
    std::vector<int64_t> merged =
        conv.attributes().Ints("pads", std::vector<int64_t>(2 * static_cast<size_t>(spatial), 0));
    if (merged.size() != 2 * static_cast<size_t>(spatial)) return false;
    // Only spatial axes may be padded, and only by non-negative amounts.
    for (int i = 0; i < rank; ++i) {
      const int64_t begin = (*pads)[static_cast<size_t>(i)],
                    end = (*pads)[static_cast<size_t>(i + rank)];
      if (begin < 0 || end < 0) return false;
      const int axis = i - first;
      if (axis < 0 || axis >= spatial) {
        if (begin != 0 || end != 0) return false;
        continue;
      }
      // Pads of a convolution are begins first, then ends.
      merged[static_cast<size_t>(axis)] += begin;
      merged[static_cast<size_t>(axis + spatial)] += end;
    }
    conv.attributes().Set("pads", merged);
    conv.set_name(JoinNames(pad->name(), conv.name()));
    g.SetOperand(&conv, 0, pad->operand(0));
    EraseUpwards(g, pad);
    return true;
  });
}

}  // namespace kiln
