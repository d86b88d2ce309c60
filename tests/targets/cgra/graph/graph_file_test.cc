// Graph files: the ten published graphs, forms of other tools, round trips, bad input and budgets.

#include "kiln/targets/cgra/graph/graph_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/budgets.h"
#include "kiln/support/check.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/cgra/graph/dot_file.h"
#include "kiln/targets/cgra/graph/evaluate.h"
#include "tests/test_data.h"

namespace kiln::cgra {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kGraphs[] = {"array_add", "atax", "bicg", "dct4", "doitgen",
                                   "fft",       "fir",  "gray", "sum",  "vadd"};

std::filesystem::path PathOf(const std::string& name) {
  return TestData("cgra") / (name + ".json");
}

json Parsed(const std::string& name) { return json::parse(std::ifstream(PathOf(name))); }

ComputationGraph Read(const std::string& name) {
  auto graph = ReadGraph(PathOf(name));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : ComputationGraph{};
}

// Everything that a graph is, in one comparable value.
using EdgeValue = std::tuple<int, int, int, int, int, int32_t>;
struct Value {
  std::string name;
  std::vector<std::tuple<std::string, Op, std::string, std::optional<int32_t>>> nodes;
  std::vector<EdgeValue> edges;
  friend bool operator==(const Value&, const Value&) = default;
};

Value ValueOfGraph(const ComputationGraph& graph, bool labels = true) {
  Value value;
  value.name = graph.name;
  for (const GraphNode& node : graph.nodes) {
    value.nodes.emplace_back(node.name, node.op, labels ? node.label : "", node.literal);
  }
  for (const GraphEdge& edge : graph.edges) {
    value.edges.emplace_back(edge.source, edge.target, edge.operand, static_cast<int>(edge.kind),
                             edge.distance, edge.initial);
  }
  return value;
}

// Returns a JSON graph with these nodes and edges.
std::string Form(const std::string& nodes, const std::string& edges) {
  return fmt::format(
      R"({{"format": "dfg-edge-list-1", "name": "t", "nodes": [{}], "edges": [{}]}})", nodes,
      edges);
}

ComputationGraph Parse(const std::string& nodes, const std::string& edges) {
  auto graph = ParseGraphJson(Form(nodes, edges), "t.json");
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : ComputationGraph{};
}

std::string ErrorOf(const std::string& nodes, const std::string& edges) {
  return MessageOf(ParseGraphJson(Form(nodes, edges), "t.json").status());
}

// Sizes that a script counted in the files. Sums of more than two values add nodes and edges: bicg
// adds a constant to two values, doitgen adds a constant to three.
TEST(GraphFileTest, TheTenGraphsHaveTheirSizes) {
  std::ifstream summary(TestData("cgra/dfg_summary.csv"));
  std::string line;
  ASSERT_TRUE(std::getline(summary, line));
  const std::map<std::string, int> added = {{"bicg", 1}, {"doitgen", 2}};
  int graphs = 0;
  while (std::getline(summary, line)) {
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    const ComputationGraph graph = Read(cells[0]);
    const int more = added.contains(cells[0]) ? added.at(cells[0]) : 0;
    EXPECT_EQ(std::ssize(graph.nodes), std::stoi(cells[1]) + more) << line;
    int instructions = 0, carried = 0;
    for (int n = 0; n < std::ssize(graph.nodes); ++n) instructions += graph.TakesSlot(n) ? 1 : 0;
    for (const GraphEdge& edge : graph.edges) carried += edge.distance > 0 ? 1 : 0;
    EXPECT_EQ(instructions, std::stoi(cells[2]) + more) << line;
    EXPECT_EQ(std::ssize(graph.edges), std::stoi(cells[3]) + more) << line;
    EXPECT_EQ(carried, std::stoi(cells[4])) << line;
    ++graphs;
  }
  EXPECT_EQ(graphs, 10);
}

// A graph has the nodes and edges of the file, with the operands that it states where it numbers
// them as Kiln does.
TEST(GraphFileTest, NodesAndEdgesAreThoseOfTheFile) {
  for (const char* name : kGraphs) {
    const ComputationGraph graph = Read(name);
    const json file = Parsed(name);
    std::map<std::string, size_t> index;
    for (size_t n = 0; n < graph.nodes.size(); ++n) index[graph.nodes[n].name] = n;
    for (const json& node : file["nodes"]) {
      const GraphNode& read = graph.nodes[index.at(node["label"])];
      const bool merges = node["op"] == "select";
      EXPECT_EQ(read.op, merges ? Op::kMerge : FindOperator(std::string(node["op"])));
      EXPECT_EQ(read.label, node["label"].get<std::string>());
      if (node.contains("const") && read.literal != std::nullopt) {
        EXPECT_EQ(*read.literal, node["const"]);
      }
    }
    const bool numbers =
        std::string(file["source"]["repository"]).find("Morpher") == std::string::npos;
    for (size_t e = 0; e < file["edges"].size(); ++e) {
      const json& edge = file["edges"][e];
      EXPECT_EQ(graph.nodes[static_cast<size_t>(graph.edges[e].source)].label,
                file["nodes"][static_cast<size_t>(edge["src"])]["label"].get<std::string>());
      EXPECT_EQ(graph.edges[e].distance, edge["dist"]);
      if (numbers && edge.contains("operand")) {
        EXPECT_EQ(graph.edges[e].operand, edge["operand"]);
      }
    }
  }
}

TEST(GraphFileTest, WrittenGraphsReadAsTheSame) {
  for (const char* name : kGraphs) {
    const ComputationGraph graph = Read(name);
    const auto again = ParseGraphJson(PrintGraphJson(graph), "again");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(ValueOfGraph(*again), ValueOfGraph(graph)) << name;
    const auto dot = ParseGraphDot(PrintGraphDot(graph), "again");
    ASSERT_TRUE(dot.ok()) << dot.status();
    EXPECT_EQ(ValueOfGraph(*dot), ValueOfGraph(graph)) << name;
  }
}

TEST(GraphFileTest, NamesOfAnyTextSurvive) {
  ComputationGraph graph{"a \"name\" \\", "", {}, {}};
  graph.nodes = {{"x \\", Op::kInput, "\"", std::nullopt},
                 {"Φ\"\\\"", Op::kSelect, "a\\\\b", std::nullopt},
                 {"[;]", Op::kMul, "", -5},
                 {"out", Op::kOutput, "", std::nullopt}};
  graph.edges = {{0, 1, 0},
                 {.source = 2, .target = 1, .operand = 1, .distance = 3, .initial = -7},
                 {1, 2, 1},
                 {0, 2, 0, EdgeKind::kPredicate},
                 {0, 2, 0, EdgeKind::kOrder},
                 {2, 3, 0}};
  ASSERT_TRUE(VerifyAndSort(&graph).ok());
  const auto text = ParseGraphJson(PrintGraphJson(graph), "again");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(ValueOfGraph(*text), ValueOfGraph(graph));
  const auto dot = ParseGraphDot(PrintGraphDot(graph), "again");
  ASSERT_TRUE(dot.ok()) << dot.status();
  EXPECT_EQ(ValueOfGraph(*dot), ValueOfGraph(graph));
}

TEST(GraphFileTest, IdsAreAnyNumbersAndNodesAreSorted) {
  const ComputationGraph graph =
      Parse(R"({"id": 70, "op": "output"}, {"id": 9, "op": "ADD", "const": 4294967295},
               {"id": 1000, "op": "input", "label": "x"})",
            R"({"src": 9, "dst": 70}, {"src": 1000, "dst": 9, "kind": "data", "dist": 0})");
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.nodes[0].name, "x");
  EXPECT_EQ(graph.nodes[1].name, "n9");
  EXPECT_EQ(graph.nodes[1].literal, -1);
  EXPECT_EQ(graph.nodes[2].name, "n70");
}

TEST(GraphFileTest, ConstantsWithAPointAreFloats) {
  const ComputationGraph graph = Parse(
      R"({"id": 0, "op": "const", "const": 1.5}, {"id": 1, "op": "const", "const": -2147483648})",
      "");
  EXPECT_EQ(graph.nodes[0].literal, std::bit_cast<int32_t>(1.5F));
  EXPECT_EQ(graph.nodes[1].literal, std::numeric_limits<int32_t>::min());
}

TEST(GraphFileTest, EdgesWithoutOperandTakeTheLowestFree) {
  const ComputationGraph graph = Parse(
      R"({"id": 0, "op": "input", "label": "x"}, {"id": 1, "op": "input", "label": "y"},
         {"id": 2, "op": "input", "label": "z"}, {"id": 3, "op": "select"},
         {"id": 4, "op": "sub"})",
      R"({"src": 0, "dst": 3}, {"src": 1, "dst": 3, "operand": 0}, {"src": 2, "dst": 3},
         {"src": 0, "dst": 4, "kind": "order"}, {"src": 1, "dst": 4, "kind": "pred"},
         {"src": 2, "dst": 4}, {"src": 0, "dst": 4})");
  std::vector<int> operands;
  for (const GraphEdge& edge : graph.edges) operands.push_back(edge.operand);
  EXPECT_THAT(operands, ElementsAre(1, 0, 2, 0, 0, 0, 1));
}

// Morpher's array_add loads from operand 1 and stores its operand 0; its select merges.
TEST(GraphFileTest, MorphersOperandsHaveTheirMeaning) {
  const ComputationGraph graph = Read("array_add");
  std::map<std::string, int> index;
  for (size_t n = 0; n < graph.nodes.size(); ++n) index[graph.nodes[n].name] = static_cast<int>(n);
  EXPECT_EQ(graph.nodes[static_cast<size_t>(index["0"])].op, Op::kMerge);
  // The loop counts i = 0, 1, 2, ... while i + 1 < 20; a[i] is at 80 + 4 i, b[i] at 4 i, and
  // 2048 + 4 i gets their sum. The flag at 4094 is 1 in the first thread alone, for which the edge
  // of the loop has its initial 0.
  const Evaluation result = Evaluate(
      graph, {}, {.threads = 1, .lanes = 1, .memory = [](int32_t address) {
                    return address == 4094 ? 1 : address == 80 ? 30 : address == 0 ? 12 : -1;
                  }});
  for (const StoreRecord& store : result.stores) {
    if (store.node != index["5"]) continue;
    EXPECT_THAT(store.address, ElementsAre(2048));
    EXPECT_THAT(store.value, ElementsAre(42));
  }
  int found = 0;
  for (const StoreRecord& store : result.stores) found += store.node == index["5"] ? 1 : 0;
  EXPECT_EQ(found, 1);
}

// i counts in the merge 0; nothing but the loop's edge feeds it after the first thread.
TEST(GraphFileTest, MorphersLoopCounts) {
  ComputationGraph graph = Read("array_add");
  size_t merge = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].name == "0") merge = n;
  }
  const Evaluation result =
      Evaluate(graph, {}, {.threads = 22, .lanes = 1, .memory = {}, .keep_values = true});
  for (size_t t = 0; t < 22; ++t) {
    // The loop ends after i = 19: the comparison i + 1 < 20 fails there, and i starts again.
    EXPECT_EQ(result.values[t][merge][0], static_cast<int32_t>(t % 20)) << t;
  }
}

// doitgen adds 4096 to (8136) << 8, (400) << 8 and i << 8 for one of its addresses.
TEST(GraphFileTest, LongSumsBecomeChains) {
  const ComputationGraph graph = Read("doitgen");
  const Evaluation result = Evaluate(graph, {},
                                     {.threads = 3,
                                      .lanes = 1,
                                      .memory = [](int32_t address) { return address; },
                                      .keep_values = true});
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].name != "11") continue;
    for (int t = 0; t < 3; ++t) {
      EXPECT_EQ(result.values[static_cast<size_t>(t)][n][0],
                4096 + (8136 << 8) + (400 << 8) + (t << 8));
    }
  }
  const ComputationGraph small =
      Parse(R"({"id": 0, "op": "input"}, {"id": 1, "op": "add", "const": 5, "label": "s"})",
            R"({"src": 0, "dst": 1, "operand": 7}, {"src": 0, "dst": 1, "operand": 7},
         {"src": 0, "dst": 1, "kind": "pred"})");
  ASSERT_EQ(small.nodes.size(), 3U);
  EXPECT_EQ(small.nodes[1].name, "s.part1");
  EXPECT_EQ(ValueOfGraph(small).edges,
            (std::vector<EdgeValue>{
                {0, 1, 0, 0, 0, 0}, {0, 1, 1, 0, 0, 0}, {0, 2, 0, 1, 0, 0}, {1, 2, 0, 0, 0, 0}}));
}

TEST(GraphFileTest, TheConditionOfABranchIsSecond) {
  const ComputationGraph graph = Read("fir");
  for (const GraphEdge& edge : graph.edges) {
    if (graph.nodes[static_cast<size_t>(edge.target)].op != Op::kBranch) continue;
    EXPECT_EQ(edge.operand, graph.nodes[static_cast<size_t>(edge.source)].op == Op::kLt ? 1 : 0);
  }
}

// DOT as each of the tools writes it, made from the JSON.
std::string GenMapDot(const json& file) {
  std::string dot = "digraph{\n\n\t# nodes\n";
  const auto name = [&](const json& id) {
    return std::string(file["nodes"][static_cast<size_t>(id)]["label"]);
  };
  for (const json& node : file["nodes"]) {
    const std::string op = node["op"];
    std::string capitals;
    for (const char c : op) capitals += static_cast<char>(std::toupper(c));
    const std::string type = op == "const"
                                 ? fmt::format("type=const,int={}", static_cast<int>(node["const"]))
                             : op == "input" || op == "output" ? "type=" + op
                                                               : "type=op,opcode=" + capitals;
    dot += fmt::format("\t\"{}\" [{}] # a comment -> {{\n", std::string(node["label"]), type);
  }
  for (const json& edge : file["edges"]) {
    dot += fmt::format("\t\"{}\" -> \"{}\"", name(edge["src"]), name(edge["dst"]));
    if (edge.contains("operand")) {
      dot += fmt::format(" [operand={}];", static_cast<int>(edge["operand"]));
    }
    dot += "\n";
  }
  return dot + "}\n";
}

std::string PillarsDot(const json& file) {
  std::string dot = "digraph G {\n";
  const auto name = [&](const json& id) {
    return std::string(file["nodes"][static_cast<size_t>(id)]["label"]);
  };
  for (const json& node : file["nodes"]) {
    dot += fmt::format("{}[opcode={}];\n", std::string(node["label"]), std::string(node["op"]));
  }
  for (const json& edge : file["edges"]) {
    dot += fmt::format("{}->{}[operand={}]; //load->{{add\n", name(edge["src"]), name(edge["dst"]),
                       static_cast<int>(edge["operand"]));
  }
  return dot + "}\n\n";
}

std::string BenchDot(const json& file) {
  std::string dot = "digraph \"DFG for'f' function\" {\n";
  const auto name = [&](const json& id) {
    return std::string(file["nodes"][static_cast<size_t>(id)]["label"]);
  };
  for (const json& node : file["nodes"]) {
    dot += fmt::format("\t{}[shape=circle, label=\"Φ\"];\n", std::string(node["label"]));
  }
  dot += "edge [color=black]\n";
  for (const json& edge : file["edges"]) {
    dot += fmt::format("\t{} -> {}\n", name(edge["src"]), name(edge["dst"]));
  }
  return dot + "}\n";
}

TEST(DotFileTest, FormsOfOtherToolsReadAsTheirJson) {
  const auto expect = [](const char* name, std::string (*form)(const json&)) {
    Value expected = ValueOfGraph(Read(name), false);
    const auto read = ParseGraphDot(form(Parsed(name)), "t.dot");
    ASSERT_TRUE(read.ok()) << read.status();
    expected.name = read->name;
    EXPECT_EQ(ValueOfGraph(*read, false), expected) << name;
  };
  expect("gray", GenMapDot);
  expect("dct4", GenMapDot);
  expect("sum", PillarsDot);
  expect("vadd", PillarsDot);
  expect("fir", BenchDot);
  expect("fft", BenchDot);
}

TEST(DotFileTest, LanguageOfDot) {
  const auto graph = ParseGraphDot(R"(
    /* a comment
       of lines */ strict DIGRAPH "two " {   // its name
      rankdir=LR; graph [bgcolor=white, size="1,2"]; NODE [opcode=sub const=3][shape=box]
      subgraph cluster_a { node [opcode=mul]; a:n:ne; "b
c\
d" [label=<<b>x</b>>, opcode=Shl] }
      edge [dist=1, init=-4];
      "bc" -> a:s -> d [operand = 0, color = "red" + "dish", dist=0]
      d -> a [operand=1];
      { e [op="and", const=1.5, style] }
      -7 -> d
    })",
                                   "t.dot");
  ASSERT_FALSE(graph.ok());  // the line in the name is a control character
  EXPECT_THAT(MessageOf(graph.status()), HasSubstr("its name is not usable"));
  const auto good = ParseGraphDot(R"(
    /* a comment
       of lines */ strict DIGRAPH "two " {   // its name
      rankdir=LR; graph [bgcolor=white, size="1,2"]; NODE [opcode=sub const=3][shape=box]
      subgraph cluster_a { node [opcode=mul]; a:n:ne; "b\
c" [label=<<b>x</b>>, opcode=Shl] }
      edge [dist=1, init=-4];
      "bc" -> a:s -> d [operand = 0, color = "red" + "dish", dist=0]
      d -> a [operand=1];
      { e [op="and", const="15e-1", style] }
      -7.5 -> d
    })",
                                  "t.dot");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->name, "two ");
  std::vector<std::tuple<std::string, Op, std::string, std::optional<int32_t>>> nodes = {
      {"bc", Op::kShl, "", 3},
      {"a", Op::kMul, "", 3},
      {"e", Op::kAnd, "", std::bit_cast<int32_t>(1.5F)},
      {"-7.5", Op::kSub, "", 3},
      {"d", Op::kSub, "", 3}};
  Value value = ValueOfGraph(*good);
  std::ranges::sort(nodes);
  std::ranges::sort(value.nodes);
  EXPECT_EQ(value.nodes, nodes);
  std::vector<std::string> edges;
  for (const GraphEdge& edge : good->edges) {
    edges.push_back(fmt::format("{} {} {} {} {}",
                                good->nodes[static_cast<size_t>(edge.source)].name,
                                good->nodes[static_cast<size_t>(edge.target)].name, edge.operand,
                                edge.distance, edge.initial));
  }
  EXPECT_THAT(edges, ElementsAre("bc a 0 0 -4", "a d 0 0 -4", "d a 1 1 -4", "-7.5 d 1 1 -4"));
}

struct BadDot {
  const char *text, *message;
};

TEST(DotFileTest, BadTextIsRefusedWithItsLine) {
  const BadDot rows[] = {
      {"", "t.dot: line 1: the file is no graph; digraph NAME { ... }"},
      {"graph { a -- b }", "line 1: the graph is undirected"},
      {"digraph {\n a", "line 2: the end of the file does not belong here"},
      {"digraph {\n a [op=add\n", "line 3: the end of the file does not belong here"},
      {"digraph {\n a [op=add, =]\n}", "line 2: '=' does not belong here"},
      {"digraph {\n \"a [op=add]\n}", "line 2: quoted text has no end"},
      {"digraph {\n /* a [op=add]\n}", "line 2: a comment has no end"},
      {"digraph {\n a [label=<<b>]\n}", "line 2: text in angle brackets has no end"},
      {"digraph { a [op=add]\n a -> {b}\n}", "line 2: an edge goes into a subgraph"},
      {"digraph {\n { a [op=add] } -> a\n}", "line 2: an edge leaves a subgraph"},
      {"digraph {\n a -- b\n}", "line 2: -- joins nodes of undirected graphs"},
      {"digraph { a [op=add] } b", "line 1: 'b' follows the graph"},
      {"digraph {\n a [op=add]\n a -> a [dist=x]\n}",
       "line 3: dist = 'x'; an integer from 0 to 64"},
      {"digraph {\n a [op=add]\n a -> a [dist=65]\n}", "line 3: dist = '65'"},
      {"digraph {\n a [op=add]\n a -> a [operand=64]\n}", "line 3: operand = '64'"},
      {"digraph {\n a [op=add]\n a -> a [kind=loop]\n}",
       "line 3: kind = 'loop'; data, pred or order"},
      {"digraph {\n a [op=add, const=4294967296]\n}", "line 2: const = '4294967296'"},
      {"digraph {\n a [op=add, const=1e39]\n}",
       "line 2: const = '1e39'; a finite number of binary32"},
      {"digraph {\n a [shape=box]\n}", "line 2: node 'a' has no operator; op=add, for example"},
      {"digraph { a[op=add] o[op=output] }",
       "node 'o' (output): no value goes into it; an edge from the value that leaves the graph"},
      {"digraph {\n a [op=frob]\n}", "node 'a': operator 'frob' is not known; one of const,"},
      {"digraph {\n a [op=add]; %\n}", "line 2: '%' does not belong here"},
      {"digraph {\n a [op=add, konst=3]\n}",
       "line 2: 'konst' is no attribute; did you mean 'const'?"},
      {"digraph {\n a [op=add]\n a -> a [distanz=2]\n}", "line 3: 'distanz' is no attribute"},
      {"digraph {\n a [op=add, xlabel=x]\n b [op=add]\n a -> b [init=7]\n}",
       "line 4: 'init': the edge has no earlier thread"},
      {"digraph {\n node x\n}", "line 2: 'x' does not belong here; [ after 'node'"},
      {"digraph {\n \"\xff\" [op=add]\n}", "line 2: a name or label is no UTF-8 text"},
      {"digraph { a[op=add] b[op=add] a->b b->a }",
       "nodes depend on each other in the same thread: b -> a -> b"},
  };
  for (const BadDot& row : rows) {
    EXPECT_THAT(MessageOf(ParseGraphDot(row.text, "t.dot").status()), HasSubstr(row.message))
        << row.text;
  }
}

// What some editors write before the text is skipped, in DOT as in JSON.
TEST(GraphFileTest, AByteOrderMarkIsSkipped) {
  const std::string mark = "\xef\xbb\xbf";
  const std::string dot = "digraph g { a [op=input]; b [op=add]; a -> b }";
  const auto plain = ParseGraphDot(dot, "t.dot"), marked = ParseGraphDot(mark + dot, "t.dot");
  ASSERT_TRUE(plain.ok() && marked.ok()) << marked.status();
  EXPECT_EQ(PrintGraphJson(*marked), PrintGraphJson(*plain));
  const auto folder = TemporaryFolder::Create("kiln-graph");
  ASSERT_TRUE(folder.ok());
  const auto path = folder->path() / "graph";  // no ending tells the form
  ASSERT_TRUE(WriteFile(path, mark + PrintGraphJson(*plain)).ok());
  const auto json = ReadGraph(path);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(PrintGraphJson(*json), PrintGraphJson(*plain));
}

struct BadJson {
  const char *nodes, *edges, *message;
};

TEST(GraphFileTest, BadGraphsAreRefusedByKeyOrNode) {
  const BadJson rows[] = {
      {R"({"id": 0, "op": "add", "opcode": "x"})", "",
       "t.json: key 'nodes[0].opcode': is not known; one of id, op, const, label, name"},
      {R"({"op": "add"})", "", "key 'nodes[0].id': is missing"},
      {R"({"id": -1, "op": "add"})", "", "key 'nodes[0].id': -1 is no count"},
      {R"({"id": 0})", "", "key 'nodes[0].op': is missing"},
      {R"({"id": 0, "op": 5})", "", "key 'nodes[0].op': 5 is no text"},
      {R"(7)", "", "key 'nodes[0]': 7 is no object"},
      {R"({"id": 0, "op": "add", "const": 4294967296})", "",
       "key 'nodes[0].const': 4294967296 is no value of 32 bits"},
      {R"({"id": 0, "op": "add", "const": "1"})", "", "key 'nodes[0].const': \"1\" is no value"},
      {R"({"id": 0, "op": "add", "const": 1e39})", "", "key 'nodes[0].const'"},
      {R"({"id": 0, "op": "add", "name": ""})", "", "key 'nodes[0].name': is empty"},
      {R"({"id": 3, "op": "add"}, {"id": 3, "op": "add"})", "",
       "key 'nodes[1].id': another node has the id 3"},
      {R"({"id": 0, "op": "frobnicate", "label": "f"})", "",
       "t.json: node 'f': operator 'frobnicate' is not known; one of const, input,"},
      {R"({"id": 0, "op": "input", "const": 1})", "", "node 'n0': an input has a constant"},
      {R"({"id": 0, "op": "add"})", R"({"src": 0, "dst": 1})",
       "key 'edges[0].dst': no node has the id 1"},
      {R"({"id": 0, "op": "add"})", R"({"src": 0})", "key 'edges[0].dst': is missing"},
      {R"({"id": 0, "op": "add"})", R"({"src": 0, "dst": 0, "kind": "loop"})",
       "key 'edges[0].kind': 'loop' is no kind of edge; data, pred or order"},
      {R"({"id": 0, "op": "add"})", R"({"src": 0, "dst": 0, "dist": 65})",
       "key 'edges[0].dist': 65 is no count; a whole number from 0 to 64"},
      {R"({"id": 0, "op": "add"})", R"({"src": 0, "dst": 0, "init": 1})",
       "key 'edges[0].init': the edge has no earlier thread"},
      {R"({"id": 0, "op": "add"})",
       R"({"src": 0, "dst": 0, "dist": 1, "kind": "pred", "operand": 0})",
       "key 'edges[0].operand': the edge is no operand"},
      {R"({"id": 0, "op": "add"})", R"({"src": 0, "dst": 0, "wait": 1})",
       "key 'edges[0].wait': is not known"},
      {R"({"id": 0, "op": "add", "label": "s"})", R"({"src": 0, "dst": 0})",
       "nodes depend on each other in the same thread: s -> s"},
      {R"({"id": 0, "op": "input"}, {"id": 1, "op": "add", "name": "s"})",
       R"({"src": 0, "dst": 1, "operand": 2})", "node 's' (add): its edge from 'n0' is operand 2"},
      {R"({"id": 0, "op": "input"}, {"id": 1, "op": "sub"})",
       R"({"src": 0, "dst": 1, "operand": 1}, {"src": 0, "dst": 1, "operand": 1})",
       "node 'n1' (sub): operand 1 is given twice"},
      {"", "", "the graph has no nodes"},
  };
  for (const BadJson& row : rows) {
    EXPECT_THAT(ErrorOf(row.nodes, row.edges), HasSubstr(row.message)) << row.nodes << row.edges;
  }
  EXPECT_THAT(MessageOf(ParseGraphJson("[]", "t.json").status()), HasSubstr("is no JSON object"));
  EXPECT_THAT(MessageOf(ParseGraphJson("{\n\"nodes\": add}", "t.json").status()),
              HasSubstr("t.json: line 2, column 10: is no JSON"));
  EXPECT_THAT(MessageOf(ParseGraphJson("{}", "t.json").status()),
              HasSubstr("t.json: key 'format': the file is no graph; \"format\": \"dfg-edge"));
  EXPECT_THAT(MessageOf(ParseGraphJson(R"({"format": "dfg-edge-list-1", "x": 1})", "t").status()),
              HasSubstr("key 'x': is not known; one of format, name,"));
}

// The functions below check the budgets: at the limit a graph is read, beyond it is refused.
std::string ManyNodes(int64_t count) {
  std::string nodes;
  for (int64_t n = 0; n < count; ++n) {
    nodes += fmt::format("{}{{\"id\":{},\"op\":\"input\"}}", n > 0 ? "," : "", n);
  }
  return nodes;
}

TEST(GraphFileTest, BudgetOfNodes) {
  EXPECT_TRUE(ParseGraphJson(Form(ManyNodes(budgets::kComputationNodes), ""), "t").ok());
  EXPECT_THAT(ErrorOf(ManyNodes(budgets::kComputationNodes + 1), ""),
              HasSubstr("the graph has 4097 nodes; at most 4096"));
  std::string dot = "digraph { node [op=input] ";
  for (int64_t n = 0; n < budgets::kComputationNodes; ++n) dot += fmt::format("a{} ", n);
  EXPECT_TRUE(ParseGraphDot(dot + "}", "t").ok());
  EXPECT_THAT(MessageOf(ParseGraphDot(dot + "b }", "t").status()),
              HasSubstr("the graph has 4097 nodes; at most 4096"));
}

TEST(GraphFileTest, BudgetOfEdges) {
  const auto many = [](int64_t count) {
    std::string edges;
    for (int64_t e = 0; e < count; ++e) {
      edges += fmt::format("{}{{\"src\":0,\"dst\":1,\"kind\":\"order\"}}", e > 0 ? "," : "");
    }
    return edges;
  };
  const std::string nodes = R"({"id": 0, "op": "pass"}, {"id": 1, "op": "pass"})";
  EXPECT_TRUE(ParseGraphJson(Form(nodes, many(budgets::kComputationEdges)), "t").ok());
  EXPECT_THAT(ErrorOf(nodes, many(budgets::kComputationEdges + 1)),
              HasSubstr("the graph has 16385 edges; at most 16384"));
  std::string dot = "digraph { node [op=pass] edge [kind=order] ";
  for (int64_t e = 0; e < budgets::kComputationEdges; ++e) dot += "a->b ";
  EXPECT_TRUE(ParseGraphDot(dot + "}", "t").ok());
  EXPECT_THAT(MessageOf(ParseGraphDot(dot + "a->b }", "t").status()),
              HasSubstr("the graph has 16385 edges; at most 16384"));
}

TEST(GraphFileTest, BudgetOfBytes) {
  const auto padded = [](std::string text, int64_t size) {
    text.resize(static_cast<size_t>(size), ' ');
    return text;
  };
  constexpr int64_t kMost = budgets::kComputationGraphBytes;
  const std::string form = Form(R"({"id": 0, "op": "input"})", "");
  EXPECT_TRUE(ParseGraphJson(padded(form, kMost), "t").ok());
  EXPECT_THAT(MessageOf(ParseGraphJson(padded(form, kMost + 1), "t").status()),
              HasSubstr("4194305 bytes are too many; at most 4194304"));
  EXPECT_TRUE(ParseGraphDot(padded("digraph { a [op=add] }", kMost), "t").ok());
  EXPECT_THAT(MessageOf(ParseGraphDot(padded("digraph { a [op=add] }", kMost + 1), "t").status()),
              HasSubstr("4194305 bytes are too many; at most 4194304"));
  // A value that the graph states for all nodes is copied to each of them.
  EXPECT_TRUE(
      ParseGraphDot("digraph { a [op=add,label=\"" + std::string(4096, 'x') + "\"] }", "t").ok());
  EXPECT_THAT(
      MessageOf(ParseGraphDot("digraph { node [label=\"" + std::string(4097, 'x') + "\"] }", "t")
                    .status()),
      HasSubstr("line 1: the value of 'label' has 4097 bytes; at most 4096"));
  std::string deep = "digraph {";
  for (int i = 0; i < 63; ++i) deep += "{";
  EXPECT_TRUE(ParseGraphDot(deep + "a [op=add]" + std::string(64, '}'), "t").ok());
  EXPECT_THAT(MessageOf(ParseGraphDot(deep + "{", "t").status()),
              HasSubstr("subgraphs are nested too deeply; at most 64"));
}

TEST(GraphFileTest, FilesAreReadByTheirEndingOrContent) {
  const std::filesystem::path folder = testing::TempDir();
  const std::string form = Form(R"({"id": 0, "op": "input"})", "");
  const auto read = [&](const std::string& name, const std::string& text) {
    KILN_CHECK(WriteFile(folder / name, text).ok());
    return ReadGraph(folder / name);
  };
  EXPECT_TRUE(read("g.json", form).ok());
  EXPECT_TRUE(read("g.txt", "\n " + form).ok());
  EXPECT_TRUE(read("g.dot", "digraph { a [op=add] }").ok());
  EXPECT_TRUE(read("g.gv", "digraph { a [op=add] }").ok());
  EXPECT_TRUE(read("g", "digraph { a [op=add] }").ok());
  EXPECT_FALSE(read("h.json", "digraph { a [op=add] }").ok());
  EXPECT_THAT(MessageOf(read("h.dot", form).status()), HasSubstr("the file is no graph"));
  EXPECT_THAT(MessageOf(ReadGraph(folder / "none.json").status()), HasSubstr("none.json"));
}

}  // namespace
}  // namespace kiln::cgra
