// The operator table, expanded from operators.def.

#include "kiln/ir/op.h"

#include <string>
#include <unordered_map>

namespace kiln {
namespace {

constexpr OpInfo kTable[] = {
#define KILN_OPERATOR(id, text, domain, onnx, least, most, results, traits) \
  {Op::k##id, #id, text, domain, onnx, least, most, results, traits},
#include "kiln/ir/operators.def"
#undef KILN_OPERATOR
};

}  // namespace

std::span<const OpInfo> AllOps() { return kTable; }
const OpInfo& InfoOf(Op op) { return kTable[static_cast<size_t>(op)]; }

std::optional<Op> FindOpByText(std::string_view text) {
  static const auto* map = [] {
    auto* m = new std::unordered_map<std::string_view, Op>;
    for (const OpInfo& info : kTable) m->emplace(info.text, info.op);
    return m;
  }();
  const auto it = map->find(text);
  if (it == map->end()) return std::nullopt;
  return it->second;
}

std::optional<Op> FindOpByOnnxName(std::string_view domain, std::string_view name) {
  if (domain == "ai.onnx") domain = "";
  for (const OpInfo& info : kTable) {
    if (info.onnx_domain == domain && info.onnx_name == name) return info.op;
  }
  return std::nullopt;
}

}  // namespace kiln
