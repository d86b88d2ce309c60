// Checks the tables operators.def and signatures.def against each other and against their own
// rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "kiln/ir/op.h"
#include "kiln/ir/random_graph.h"
#include "kiln/ir/signature.h"
#include "kiln/ir/text.h"

namespace kiln {
namespace {

TEST(OperatorTable, NamesAreUniqueAndFound) {
  std::set<std::string_view> texts, ids;
  std::set<std::pair<std::string_view, std::string_view>> onnx;
  for (const OpInfo& info : AllOps()) {
    EXPECT_TRUE(texts.insert(info.text).second) << info.text;
    EXPECT_TRUE(ids.insert(info.id).second) << info.id;
    EXPECT_TRUE(onnx.emplace(info.onnx_domain, info.onnx_name).second) << info.onnx_name;
    EXPECT_EQ(FindOpByText(info.text), info.op);
    EXPECT_EQ(FindOpByOnnxName(info.onnx_domain, info.onnx_name), info.op);
    EXPECT_EQ(&InfoOf(info.op), &info);
    EXPECT_EQ(info.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos)
        << info.text;
  }
  EXPECT_EQ(FindOpByText("no such operator"), std::nullopt);
  EXPECT_EQ(FindOpByOnnxName("ai.onnx", "Relu"), Op::kRelu);
  EXPECT_EQ(FindOpByOnnxName("other.domain", "Relu"), std::nullopt);
}

TEST(OperatorTable, SignaturesHaveAsManyWordsAsTheRowHasOperands) {
  for (const OpInfo& info : AllOps()) {
    const Signature& signature = SignatureOf(info.op);
    EXPECT_EQ(signature.op, info.op) << info.id << " has no row of its own in signatures.def";
    const auto check = [&](const std::vector<TypeSpec>& specs, int most, std::string_view what) {
      ASSERT_FALSE(specs.empty()) << info.id;
      EXPECT_EQ(specs.back().repeats, most < 0) << info.id << ": " << what;
      EXPECT_EQ(most >= 0 ? static_cast<int>(specs.size()) : most, most) << info.id << ": " << what;
    };
    check(signature.operands, info.max_operands, "operands");
    check(signature.results, info.max_results, "results");
    EXPECT_LE(info.min_operands, info.max_operands < 0 ? INT32_MAX : info.max_operands) << info.id;
  }
}

TEST(OperatorTable, ClassesHaveMembers) {
  for (const OpInfo& info : AllOps()) {
    const Signature& signature = SignatureOf(info.op);
    for (const auto* specs : {&signature.operands, &signature.results}) {
      for (const TypeSpec& spec : *specs) {
        int members = 0;
        for (int t = 0; t <= static_cast<int>(ElementType::kString); ++t) {
          members += IsOfClass(static_cast<ElementType>(t), spec.element_class) ? 1 : 0;
        }
        EXPECT_GT(members, 0) << info.id << ": no element type is of class " << spec.element_class;
      }
    }
  }
}

TEST(OperatorTable, FallbacksAreOfTheirKind) {
  for (const OpInfo& info : AllOps()) {
    for (const AttributeSpec& spec : SignatureOf(info.op).attributes) {
      const std::string& text = spec.fallback;
      if (text.empty()) continue;
      EXPECT_FALSE(spec.required) << info.id << " " << spec.name
                                  << " is required and has a fallback";
      float number = 0;
      int64_t integer = 0;
      const char* end = text.data() + text.size();
      switch (spec.kind) {
        case AttributeKind::kFloat:
          EXPECT_EQ(std::from_chars(text.data(), end, number).ptr, end)
              << info.id << " " << spec.name;
          break;
        case AttributeKind::kInt:
        case AttributeKind::kInts:
          EXPECT_EQ(std::from_chars(text.data(), end, integer).ptr, end)
              << info.id << " " << spec.name;
          break;
        case AttributeKind::kString:
          EXPECT_TRUE(spec.allowed.empty() ||
                      std::count(spec.allowed.begin(), spec.allowed.end(), text) == 1)
              << info.id << " " << spec.name;
          break;
        default:
          ADD_FAILURE() << info.id << " " << spec.name << " has a fallback of kind "
                        << NameOf(spec.kind);
      }
    }
  }
}

TEST(OperatorTable, LayoutStandsWhereTheTraitDoes) {
  for (const OpInfo& info : AllOps()) {
    // Recurrent operators have ONNX's own `layout`, a number.
    const AttributeSpec* layout = SignatureOf(info.op).FindAttribute("layout");
    EXPECT_EQ(layout != nullptr && layout->kind == AttributeKind::kString, info.Has(kHasLayout))
        << info.id;
    EXPECT_EQ(SignatureOf(info.op).FindAttribute("noop_with_empty_axes") != nullptr,
              info.Has(kReduces))
        << info.id;
    EXPECT_TRUE(info.Has(kElementwise) || !info.Has(kBroadcasts)) << info.id;
  }
}

// A node of every operator, with the most operands (one absent), results and all attributes it
// takes.
TEST(OperatorTable, EveryOperatorRoundTripsAsText) {
  for (const OpInfo& info : AllOps()) {
    Graph graph("one");
    std::vector<Value*> operands;
    const int most = info.max_operands < 0 ? 3 : info.max_operands;
    for (int i = 0; i < most; ++i)
      operands.push_back(graph.AddInput("", {ElementType::kFloat32, Shape{2, kUnknownDim}}));
    if (most > 1) operands[static_cast<size_t>(most) - 2] = nullptr;
    Attributes attributes;
    for (const AttributeSpec& spec : SignatureOf(info.op).attributes) {
      static const Attribute kExamples[] = {int64_t{-7},
                                            0.1f,
                                            std::string("x y"),
                                            std::vector<int64_t>{1, 2},
                                            std::vector<float>{1, 0.5f},
                                            std::vector<std::string>{"a"},
                                            Tensor::Scalar<float>(1.5f)};
      attributes.Set(spec.name, kExamples[static_cast<size_t>(spec.kind)]);
    }
    const size_t results = info.max_results < 0 ? 3 : static_cast<size_t>(info.max_results);
    Node* node =
        graph.AddNode(info.op, "name", operands, std::vector<std::string>(results), attributes);
    graph.MarkOutput(node->result());
    const std::string text = PrintGraph(graph);
    const auto parsed = ParseGraph(text, "one.kir", {.verify = false});
    ASSERT_TRUE(parsed.ok()) << info.id << ": " << MessageOf(parsed.status());
    EXPECT_EQ(PrintGraph(*parsed), text);
    EXPECT_EQ(parsed->NodeList()[0]->op(), info.op);
    EXPECT_EQ(parsed->NodeList()[0]->attributes(), attributes) << info.id;
  }
}

}  // namespace
}  // namespace kiln
