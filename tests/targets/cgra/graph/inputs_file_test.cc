// Values of inputs from files: bits by hand, and what is refused.

#include "kiln/targets/cgra/graph/inputs_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::cgra {
namespace {

using testing::HasSubstr;

// `out` adds the integers i and j, `real` multiplies the number f by itself; `both` compares the
// bits of g, which is also a factor.
ComputationGraph MixedGraph() {
  ComputationGraph graph;
  graph.name = "mixed";
  for (const auto& [name, op] : std::vector<std::pair<std::string, Op>>{{"i", Op::kInput},
                                                                        {"j", Op::kInput},
                                                                        {"f", Op::kInput},
                                                                        {"g", Op::kInput},
                                                                        {"sum", Op::kAdd},
                                                                        {"square", Op::kFMul},
                                                                        {"product", Op::kFMul},
                                                                        {"same", Op::kEq},
                                                                        {"out", Op::kOutput},
                                                                        {"real", Op::kOutput},
                                                                        {"both", Op::kOutput}}) {
    graph.nodes.push_back({.name = name, .op = op, .label = "", .literal = {}});
  }
  graph.edges = {{.source = 0, .target = 4}, {.source = 1, .target = 4, .operand = 1},
                 {.source = 2, .target = 5}, {.source = 2, .target = 5, .operand = 1},
                 {.source = 2, .target = 6}, {.source = 3, .target = 6, .operand = 1},
                 {.source = 3, .target = 7}, {.source = 4, .target = 7, .operand = 1},
                 {.source = 4, .target = 8}, {.source = 6, .target = 9},
                 {.source = 7, .target = 10}};
  EXPECT_TRUE(VerifyAndSort(&graph).ok());
  return graph;
}

StatusOr<ThreadInputs> Parse(const std::string& text, int threads = 0) {
  return ParseInputs(text, "in.json", MixedGraph(), 2, threads);
}

TEST(InputsFile, NumbersAreWhatOperatorsComputeIn) {
  const ComputationGraph graph = MixedGraph();
  const std::vector<NumberKind> kinds = NumberKinds(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const std::string& name = graph.nodes[n].name;
    const bool real =
        name == "f" || name == "g" || name == "square" || name == "product" || name == "real";
    const bool open = name == "same" || name == "both";  // of a comparison
    EXPECT_EQ(kinds[n], real   ? NumberKind::kBinary32
                        : open ? NumberKind::kEither
                               : NumberKind::kInteger)
        << name;
  }
}

// What hands numbers on tells nothing of itself: relu(a) + b in binary32, the magnitude of an
// integer, a choice between two inputs, and one by an integer condition.
TEST(InputsFile, NumbersComeThroughOperatorsThatHandThemOn) {
  const auto kinds = [](std::vector<std::pair<std::string, Op>> nodes,
                        std::vector<GraphEdge> edges) {
    ComputationGraph graph;
    graph.name = "handed on";
    for (const auto& [name, op] : nodes)
      graph.nodes.push_back({.name = name, .op = op, .label = "", .literal = {}});
    graph.edges = std::move(edges);
    EXPECT_TRUE(VerifyAndSort(&graph).ok());
    std::map<std::string, NumberKind> found;
    const std::vector<NumberKind> all = NumberKinds(graph);
    for (size_t n = 0; n < all.size(); ++n) found[graph.nodes[n].name] = all[n];
    return found;
  };
  auto relu = kinds({{"a", Op::kInput},
                     {"b", Op::kInput},
                     {"relu", Op::kMax},
                     {"sum", Op::kFAdd},
                     {"out", Op::kOutput}},
                    {{.source = 0, .target = 2},
                     {.source = 2, .target = 3},
                     {.source = 1, .target = 3, .operand = 1},
                     {.source = 3, .target = 4}});
  for (const char* name : {"a", "b", "relu", "out"}) EXPECT_EQ(relu[name], NumberKind::kBinary32);
  auto magnitude = kinds({{"a", Op::kInput},
                          {"more", Op::kAdd},
                          {"bits", Op::kAnd},
                          {"copy", Op::kPass},
                          {"out", Op::kOutput}},
                         {{.source = 0, .target = 1},
                          {.source = 1, .target = 2},
                          {.source = 2, .target = 3},
                          {.source = 3, .target = 4}});
  for (const char* name : {"a", "copy", "out"}) EXPECT_EQ(magnitude[name], NumberKind::kInteger);
  auto choice = kinds({{"c", Op::kInput},
                       {"a", Op::kInput},
                       {"b", Op::kInput},
                       {"twice", Op::kShl},
                       {"chosen", Op::kSelect},
                       {"real", Op::kFMul},
                       {"out", Op::kOutput}},
                      {{.source = 0, .target = 3},
                       {.source = 3, .target = 4},
                       {.source = 1, .target = 4, .operand = 1},
                       {.source = 2, .target = 4, .operand = 2},
                       {.source = 4, .target = 5},
                       {.source = 5, .target = 6}});
  EXPECT_EQ(choice["c"], NumberKind::kInteger);
  EXPECT_EQ(choice["a"], NumberKind::kBinary32);
  EXPECT_EQ(choice["b"], NumberKind::kBinary32);
  auto open =
      kinds({{"a", Op::kInput}, {"b", Op::kInput}, {"larger", Op::kMax}, {"out", Op::kOutput}},
            {{.source = 0, .target = 2},
             {.source = 1, .target = 2, .operand = 1},
             {.source = 2, .target = 3}});
  EXPECT_EQ(open["a"], NumberKind::kEither);
  EXPECT_EQ(open["out"], NumberKind::kEither);
}

// Where the graph does not say, a point does: 2 is an integer, 2.0 the binary32 0x40000000.
TEST(InputsFile, APointDecidesWhatGraphsLeaveOpen) {
  ComputationGraph graph;
  graph.name = "copy";
  graph.nodes = {{.name = "x", .op = Op::kInput, .label = "", .literal = {}},
                 {.name = "same", .op = Op::kPass, .label = "", .literal = {}},
                 {.name = "out", .op = Op::kOutput, .label = "", .literal = {}}};
  graph.edges = {{.source = 0, .target = 1}, {.source = 1, .target = 2}};
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  const auto inputs = ParseInputs(R"({"x": [2, 2.0]})", "in.json", graph, 1, 0);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(*inputs, (ThreadInputs{{{2}}, {{0x40000000}}}));
  EXPECT_THAT(MessageOf(ParseInputs(R"({"x": ["2"]})", "in.json", graph, 1, 0).status()),
              HasSubstr("an integer of 32 bits or a number of binary32, or a list of 1"));
}

// Bits of IEEE 754: 3 is 0x40400000, 4.5 is 0x40900000, 0.1 rounds to 0x3dcccccd, -0 has its sign.
TEST(InputsFile, NumbersHaveTheBitsThatOperatorsTake) {
  const auto inputs = Parse(
      R"({"i": [1, [-2, 4294967295], -2147483648], "j": [[5, 6], 7, 8],
          "f": [3, [4.5, 0.1], -0.0], "g": [1e-50, 16777217, [1, -1]]})");
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  const ThreadInputs expected = {
      {{1, 1}, {5, 6}, {0x40400000, 0x40400000}, {0, 0}},
      {{-2, -1}, {7, 7}, {0x40900000, 0x3dcccccd}, {0x4b800000, 0x4b800000}},
      {{-2147483647 - 1, -2147483647 - 1},
       {8, 8},
       {-2147483647 - 1, -2147483647 - 1},
       {0x3f800000, static_cast<int32_t>(0xbf800000)}}};
  EXPECT_EQ(*inputs, expected);
}

TEST(InputsFile, TheCallerMayAskForFewerThreads) {
  const auto inputs = Parse(R"({"i": [1, 2, 3], "j": [1, 2], "f": [0, 0], "g": [9, 9, 9, 9]})", 2);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  ASSERT_EQ(inputs->size(), 2u);
  EXPECT_EQ((*inputs)[1][0], (Vector{2, 2}));
}

TEST(InputsFile, AGraphWithoutInputsHasNoThreadsOfItsOwn) {
  ComputationGraph graph = MixedGraph();
  for (GraphNode& node : graph.nodes) {
    if (node.op == Op::kInput) node.op = Op::kVariable;
  }
  const auto inputs = ParseInputs("{}", "in.json", graph, 2, 0);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_TRUE(inputs->empty());
  EXPECT_THAT(MessageOf(ParseInputs(R"({"i": [1]})", "in.json", graph, 2, 0).status()),
              HasSubstr("key 'i': the graph has no such input"));
}

TEST(InputsFile, FilesAreReadAsTextIs) {
  const auto folder = TemporaryFolder::Create("kiln-inputs");
  ASSERT_TRUE(folder.ok());
  const auto path = folder->path() / "in.json";
  const std::string text = R"({"i": [1], "j": [2], "f": [3], "g": [4]})";
  ASSERT_TRUE(WriteFile(path, text).ok());
  const auto from_file = ReadInputs(path, MixedGraph(), 2, 0);
  ASSERT_TRUE(from_file.ok()) << from_file.status();
  EXPECT_EQ(*from_file, *Parse(text));
  EXPECT_FALSE(ReadInputs(folder->path() / "none.json", MixedGraph(), 2, 0).ok());
}

TEST(InputsFile, SaysWhatIsWrong) {
  const auto with = [](const std::string& key, const std::string& list) {
    std::string text = "{";
    for (const char* name : {"i", "j", "f", "g"})
      text += fmt::format(R"("{}": {}, )", name, name == key ? list : "[1]");
    return text.substr(0, text.size() - 2) + "}";
  };
  const auto fault = [](const std::string& text, int threads = 0) {
    return MessageOf(Parse(text, threads).status());
  };
  EXPECT_EQ(fault("[1]"), "in.json: is no JSON object; an object: {\"key\": value}");
  EXPECT_THAT(fault("{"), HasSubstr("in.json: "));
  EXPECT_EQ(fault(with("j", "3")), "in.json: key 'j': is no list; a list");
  EXPECT_THAT(fault(R"({"i": [1], "f": [1], "g": [1]})"), HasSubstr("in.json: key 'j': "));
  EXPECT_EQ(fault(with("j", "[1, 2]")),
            "in.json: key 'j': has 2 values for 1 thread; a value for each thread");
  EXPECT_EQ(fault(with("i", "[]")),
            "in.json: key 'i': has 0 values for 1 thread; a value for each thread");
  EXPECT_EQ(fault(with("g", "[1]"), 2),
            "in.json: key 'i': has 1 value for 2 threads; a value for each thread");
  for (const char* value : {"[1]", "[1, 2, 3]", "4294967296", "-2147483649", "18446744073709551616",
                            "\"one\"", "1.5", "1e3", "null", "true", "[1, [2, 3]]", "{}"}) {
    EXPECT_THAT(fault(with("j", fmt::format("[{}]", value))),
                HasSubstr("; an integer of 32 bits, or a list of 2"))
        << value;
  }
  for (const char* value : {"[1]", "1e39", "-3.5e38", "\"one\"", "null", "[1, 1e39]"}) {
    EXPECT_THAT(fault(with("f", fmt::format("[{}]", value))),
                HasSubstr("; a number of binary32, or a list of 2"))
        << value;
  }
}

// Longer lists are refused, not cut.
TEST(InputsFile, ThreadsHaveABudget) {
  const auto listed = [](int count) {
    std::string list = "[0";
    for (int i = 1; i < count; ++i) list += ",0";
    return list + "]";
  };
  const auto text = [](const std::string& list) {
    return fmt::format(R"({{"i": {0}, "j": {0}, "f": {0}, "g": {0}}})", list);
  };
  constexpr auto kMostThreads = static_cast<int>(budgets::kComputationThreads);
  const auto most = Parse(text(listed(kMostThreads)));
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ(most->size(), static_cast<size_t>(kMostThreads));
  EXPECT_EQ(MessageOf(Parse(text(listed(kMostThreads + 1))).status()),
            "in.json: key 'i': has 65537 threads; at most 65536");
}

}  // namespace
}  // namespace kiln::cgra
