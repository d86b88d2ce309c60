// Implements eliminate-common-subexpressions.
#include "kiln/passes/eliminate_common_subexpressions.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kiln/passes/rewrite.h"

namespace kiln {
namespace {

// Returns the bytes of a constant.
std::string_view BytesOf(const Value& constant) {
  const Tensor& tensor = constant.constant();
  return {reinterpret_cast<const char*>(tensor.bytes()), static_cast<size_t>(tensor.num_bytes())};
}

// Returns a hash of the constant's size and of a few of its bytes at either end and in the middle.
// Large weights usually differ there, so that most of them are never read whole.
size_t HashOfSample(const Value& constant) {
  constexpr size_t kSample = 64;  // bytes
  const std::string_view bytes = BytesOf(constant);
  std::string sample = std::to_string(bytes.size());
  for (const size_t at : {size_t{0}, bytes.size() / 2, bytes.size() - bytes.size() / 4})
    sample += bytes.substr(std::min(at, bytes.size()), kSample);
  sample += bytes.substr(bytes.size() - std::min(bytes.size(), kSample));
  return std::hash<std::string>{}(sample);
}

// Merges equal constants. Annotated constants are not merged, because their codes may differ
// although their values agree.
bool MergeConstants(Graph& graph) {
  // The pass hashes a constant whole only if another one has the same sample, and compares it only
  // with constants of the same hash. The time is linear in the bytes for all contents.
  std::vector<std::pair<Value*, size_t>> sampled;
  std::unordered_map<size_t, int> of_sample;
  for (Value* constant : graph.Constants()) {
    if (constant->element() == ElementType::kString || constant->quantisation().has_value())
      continue;
    sampled.emplace_back(constant, HashOfSample(*constant));
    ++of_sample[sampled.back().second];
  }
  bool changed = false;
  std::unordered_multimap<size_t, Value*> seen;
  for (const auto& [constant, sample] : sampled) {
    if (of_sample[sample] == 1) continue;
    const size_t hash = std::hash<std::string_view>{}(BytesOf(*constant));
    const auto [first, last] = seen.equal_range(hash);
    Value* twin = nullptr;
    for (auto it = first; it != last && twin == nullptr; ++it) {
      if (it->second->constant() == constant->constant()) twin = it->second;
    }
    if (twin == nullptr) {
      seen.emplace(hash, constant);
    } else if (!constant->users().empty() && CanReplace(graph, constant, twin)) {
      graph.ReplaceAllUses(constant, twin);
      changed = true;
    }
  }
  return changed;
}

// Returns true if two nodes have the same results present, none of them annotated.
bool SameResults(const Node& a, const Node& b) {
  if (a.num_results() != b.num_results()) return false;
  for (int i = 0; i < a.num_results(); ++i) {
    // An optional result that only one of them has, or an annotation, keeps two nodes apart.
    if ((a.result(i) == nullptr) != (b.result(i) == nullptr)) return false;
    if (a.result(i) == nullptr) continue;
    if (a.result(i)->quantisation().has_value() || b.result(i)->quantisation().has_value())
      return false;
  }
  return true;
}

// Returns true if every result of `from` can be replaced without losing an output name.
bool CanReplaceResults(const Graph& graph, const Node& from, const Node& to) {
  for (int i = 0; i < from.num_results(); ++i) {
    if (from.result(i) != nullptr && !CanReplace(graph, from.result(i), to.result(i))) return false;
  }
  return true;
}

}  // namespace

StatusOr<Changed> EliminateCommonSubexpressions::Run(Graph& graph, PassContext&) const {
  bool changed = MergeConstants(graph);
  // Operator and operands select candidates; attributes, results and names decide. One walk in
  // order suffices: when it reaches a node, equal operands have already been replaced by the first
  // of them.
  std::multimap<std::pair<Op, std::vector<Value*>>, Node*> seen;
  for (Node* node : graph.NodeList()) {
    const std::pair<Op, std::vector<Value*>> key{node->op(), node->operands()};
    const auto [first, last] = seen.equal_range(key);
    Node* twin = nullptr;
    for (auto it = first; it != last && twin == nullptr; ++it) {
      if (it->second->attributes() == node->attributes() && SameResults(*it->second, *node) &&
          CanReplaceResults(graph, *node, *it->second)) {
        twin = it->second;
      }
    }
    if (twin == nullptr) {
      seen.emplace(key, node);
      continue;
    }
    for (int i = 0; i < node->num_results(); ++i) {
      if (node->result(i) != nullptr) graph.ReplaceAllUses(node->result(i), twin->result(i));
    }
    graph.EraseNode(node);
    changed = true;
  }
  if (changed) graph.EraseUnusedConstants();
  return changed ? Changed::kYes : Changed::kNo;
}

}  // namespace kiln
