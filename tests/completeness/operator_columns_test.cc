// Checks that every row of operators.def has all its parts and names the missing ones. Shape rule
// and signature are not checked here: a row without them does not build, and
// tests/ir/shape_inference_test.cc checks that each has a hand-written case.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "kiln/execute/reference.h"
#include "kiln/frontend/onnx.h"
#include "kiln/ir/op.h"
#include "kiln/ir/random_graph.h"

namespace kiln {
namespace {

struct Column {
  std::string_view name;
  bool (*has)(Op op);
};

// Whether random graphs hold the operator, as main operator of a step or as helper of one.
bool InRandomGraphs(Op op) {
  static const std::set<Op> seen = [] {
    std::set<Op> ops;
    for (Op main : RandomGraphOps()) {
      ops.insert(main);
      for (uint64_t seed = 0; seed < 5; ++seed) {
        const Graph graph = RandomGraph(seed, {.ops = {main}});
        for (const auto& node : graph.nodes()) ops.insert(node->op());
      }
    }
    return ops;
  }();
  return seen.count(op) != 0;
}

constexpr Column kColumns[] = {
    {"reference_kernel", HasReferenceKernel},
    {"onnx_import", HasImporter},
    {"onnx_export", HasExporter},
    {"random_graph", InRandomGraphs},
};

struct Gap {
  Op op;
  std::string_view column;
  std::string_view reason;
};

constexpr Gap kGaps[] = {
#define KILN_OPERATOR_GAP(id, column, reason) {Op::k##id, #column, reason},
#include "kiln/ir/operator_gaps.def"
#undef KILN_OPERATOR_GAP
};

TEST(OperatorColumns, EveryRowHasEveryColumnOrAListedGap) {
  std::map<std::pair<Op, std::string_view>, std::string_view> gaps;
  for (const Gap& gap : kGaps) {
    EXPECT_TRUE(gaps.emplace(std::pair(gap.op, gap.column), gap.reason).second)
        << InfoOf(gap.op).id << " lists " << gap.column << " twice";
    EXPECT_FALSE(gap.reason.empty()) << InfoOf(gap.op).id;
  }
  for (const OpInfo& info : AllOps()) {
    for (const Column& column : kColumns) {
      const bool listed = gaps.count({info.op, column.name}) != 0;
      if (column.has(info.op)) {
        EXPECT_FALSE(listed) << info.id << " has " << column.name
                             << " now: take its row out of operator_gaps.def";
      } else {
        EXPECT_TRUE(listed) << info.id << " lacks " << column.name
                            << ": add it, or a row to operator_gaps.def";
      }
    }
  }
}

TEST(OperatorColumns, GapsNameColumns) {
  for (const Gap& gap : kGaps) {
    EXPECT_TRUE(std::any_of(std::begin(kColumns), std::end(kColumns),
                            [&](const Column& column) { return column.name == gap.column; }))
        << gap.column << " of " << InfoOf(gap.op).id;
  }
}

}  // namespace
}  // namespace kiln
