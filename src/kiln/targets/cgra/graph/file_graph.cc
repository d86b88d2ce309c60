// Turns the nodes and edges of a file into a computation graph.

#include "kiln/targets/cgra/graph/file_graph.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"

namespace kiln::cgra {
namespace {

class Finisher {
 public:
  explicit Finisher(FileGraph file) : file_(std::move(file)) {}

  StatusOr<ComputationGraph> Finish() {
    KILN_RETURN_IF_ERROR(
        CheckGraphBudgets(file_.source, std::ssize(file_.nodes), std::ssize(file_.edges)));
    graph_.name = file_.name;
    graph_.source = file_.source;
    NameNodes();
    KILN_RETURN_IF_ERROR(FindOperators());
    data_.resize(file_.nodes.size());
    for (size_t e = 0; e < file_.edges.size(); ++e) {
      const GraphEdge& edge = file_.edges[e].edge;
      if (edge.kind == EdgeKind::kData) data_[static_cast<size_t>(edge.target)].push_back(e);
    }
    address_is_second_ = HasSecondAddress();
    for (const FileEdge& edge : file_.edges) graph_.edges.push_back(edge.edge);
    for (size_t n = 0; n < file_.nodes.size(); ++n) AddNode(n);
    // Parts of additions were put between the file's nodes.
    for (size_t e = 0; e < file_.edges.size(); ++e) {
      GraphEdge& edge = graph_.edges[e];
      edge.source = place_[static_cast<size_t>(edge.source)];
      if (!moved_.contains(e)) edge.target = place_[static_cast<size_t>(edge.target)];
    }
    KILN_RETURN_IF_ERROR(VerifyAndSort(&graph_));
    return std::move(graph_);
  }

 private:
  void NameNodes() {
    std::map<std::string, int> count;
    for (const FileNode& node : file_.nodes) ++count[node.name.empty() ? node.label : node.name];
    for (FileNode& node : file_.nodes) {
      if (!node.name.empty()) continue;
      node.name =
          node.label.empty() || count[node.label] > 1 ? fmt::format("n{}", node.id) : node.label;
    }
  }

  Status FindOperators() {
    for (const FileNode& node : file_.nodes) {
      const std::string place = fmt::format("node '{}'", Excerpt(node.name));
      const std::optional<Op> op = FindOperator(absl::AsciiStrToLower(node.op));
      if (!op) {
        return ErrorAt(file_.source, place,
                       fmt::format("operator {} is not known", QuotedExcerpt(node.op)),
                       "one of " + OperatorNames());
      }
      if (*op == Op::kInput && node.literal) {
        return ErrorAt(file_.source, place, "an input has a constant", "no constant");
      }
      ops_.push_back(*op);
    }
    return OkStatus();
  }

  // Returns whether the file numbers addresses as Morpher does: some load has its address as
  // operand 1.
  bool HasSecondAddress() const {
    for (size_t n = 0; n < ops_.size(); ++n) {
      if (ops_[n] == Op::kLoad && !file_.nodes[n].own && data_[n].size() == 1 &&
          file_.edges[data_[n][0]].operand == 1) {
        return true;
      }
    }
    return false;
  }

  bool IsComparison(int node) const {
    const Op op = ops_[static_cast<size_t>(node)];
    return op == Op::kLt || op == Op::kEq;
  }

  // Gives edges without a number the lowest operands that are free, in this order.
  void NumberOperands(const std::vector<size_t>& edges) {
    std::vector<bool> taken(edges.size() + 1, false);
    for (const size_t e : edges) {
      const std::optional<int> operand = file_.edges[e].operand;
      if (operand && static_cast<size_t>(*operand) < taken.size()) {
        taken[static_cast<size_t>(*operand)] = true;
      }
    }
    for (const size_t e : edges) {
      std::optional<int>& operand = file_.edges[e].operand;
      if (!operand) {
        const auto free = std::ranges::find(taken, false);
        operand = static_cast<int>(free - taken.begin());
        *free = true;
      }
      graph_.edges[e].operand = *operand;
    }
  }

  // Adds a node of the file, after the parts of its sum if it is one of more than two values.
  void AddNode(size_t n) {
    const FileNode& from = file_.nodes[n];
    GraphNode node{from.name, ops_[n], from.label, from.literal};
    std::vector<size_t> data = data_[n];
    if (!from.own && node.op == Op::kAdd) {
      AddSum(&node, data);
      return;
    }
    if (!from.own && node.op == Op::kLoad && data.size() == 1) file_.edges[data[0]].operand = 0;
    if (!from.own && node.op == Op::kStore && address_is_second_) {
      for (const size_t e : data) {
        std::optional<int>& operand = file_.edges[e].operand;
        if (operand && *operand < 2) operand = 1 - *operand;
      }
    }
    if (!from.own && node.op == Op::kBranch && data.size() == 2) {
      const FileEdge &first = file_.edges[data[0]], &second = file_.edges[data[1]];
      if (!first.operand && !second.operand && IsComparison(first.edge.source) &&
          !IsComparison(second.edge.source)) {
        std::swap(data[0], data[1]);
      }
    }
    NumberOperands(data);
    if (!from.own && node.op == Op::kSelect && data.size() == 2 && !node.literal &&
        std::ranges::all_of(data, [&](size_t e) { return graph_.edges[e].operand < 2; })) {
      node.op = Op::kMerge;
    }
    place_.push_back(static_cast<int>(graph_.nodes.size()));
    graph_.nodes.push_back(std::move(node));
  }

  // Adds an addition of any number of terms. Lane operators have two operands, so a sum of k terms
  // becomes a chain of k - 1 additions, and the last one has the node's name. A literal is the last
  // term. The terms are ordered by their operand numbers; terms without one come last.
  void AddSum(GraphNode* node, std::vector<size_t> data) {
    std::ranges::sort(data, {}, [&](size_t e) {
      return std::pair(file_.edges[e].operand.value_or(std::numeric_limits<int>::max()), e);
    });
    if (data.size() >= 2 && node->literal == 0) node->literal.reset();
    const size_t terms = data.size() + (node->literal ? 1 : 0);
    const auto parts = terms > 2 ? static_cast<int>(terms) - 2 : 0;
    const auto first = static_cast<int>(graph_.nodes.size());
    for (int i = 0; i < parts; ++i) {
      const std::string name = fmt::format("{}.part{}", node->name, i + 1);
      graph_.nodes.push_back({name, Op::kAdd, "", std::nullopt});
      graph_.edges.push_back({first + i, first + i + 1, 0});  // to the next part, or to the node
    }
    place_.push_back(first + parts);
    graph_.nodes.push_back(std::move(*node));
    // Part i adds term i + 1 to what was added before; the first adds the terms 0 and 1.
    for (size_t term = 0; term < data.size(); ++term) {
      GraphEdge& edge = graph_.edges[data[term]];
      edge.operand = term == 0 ? 0 : 1;
      edge.target = first + (term == 0 ? 0 : static_cast<int>(term) - 1);
      moved_.insert(data[term]);
    }
  }

  FileGraph file_;
  ComputationGraph graph_;
  std::vector<Op> ops_;
  std::vector<std::vector<size_t>> data_;  // by node: data edges into it
  bool address_is_second_ = false;
  std::vector<int> place_;  // by node of the file: its index in the graph
  std::set<size_t> moved_;  // edges whose target is an index in the graph already
};

}  // namespace

StatusOr<ComputationGraph> FinishGraph(FileGraph file) {
  return Finisher(std::move(file)).Finish();
}

Status CheckGraphBudgets(const std::string& source, int64_t nodes, int64_t edges) {
  if (nodes > budgets::kComputationNodes) {
    return ErrorAt(source, "", fmt::format("the graph has {} nodes", nodes),
                   fmt::format("at most {}", budgets::kComputationNodes));
  }
  if (edges > budgets::kComputationEdges) {
    return ErrorAt(source, "", fmt::format("the graph has {} edges", edges),
                   fmt::format("at most {}", budgets::kComputationEdges));
  }
  return OkStatus();
}

}  // namespace kiln::cgra
