// The checker: the published example, one broken mapping for each rule and mode, and random
// mappings against a naive check of this file.

#include "kiln/targets/cgra/check/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/graph/graph_file.h"
#include "kiln/targets/cgra/graph/mapping_file.h"
#include "kiln/targets/cgra/graph/named_graphs.h"
#include "tests/test_data.h"

namespace kiln::cgra {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

ComputationGraph Distance() { return *MakeNamedGraph("distance"); }
Mapping DistanceMapping(const ComputationGraph& graph) {
  auto mapping = ReadMapping(TestData("cgra/distance_mapping.json"), graph);
  EXPECT_TRUE(mapping.ok()) << mapping.status();
  return *std::move(mapping);
}

int IndexOf(const ComputationGraph& graph, const std::string& name) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].name == name) return static_cast<int>(n);
  }
  ADD_FAILURE() << name;
  return 0;
}

// Sets the place of a node.
void Put(const ComputationGraph& graph, Mapping* mapping, const std::string& name, int tile,
         int issue) {
  mapping->places[static_cast<size_t>(IndexOf(graph, name))] = {tile, issue};
}

std::set<std::string> RulesOf(const Verdict& verdict) {
  std::set<std::string> rules;
  for (const Broken& broken : verdict.broken) rules.emplace(RuleName(broken.rule));
  return rules;
}

TEST(CheckTest, AcceptsThePublishedExample) {
  const ComputationGraph graph = Distance();
  const Mapping mapping = DistanceMapping(graph);
  // The mapping is the table of the publication.
  const std::vector<std::string> nodes = {"dx", "dy", "dz", "dx2", "dy2", "sum", "result"};
  std::ifstream table(TestData("cgra/se_worked_example.csv"));
  std::string line;
  ASSERT_TRUE(std::getline(table, line));
  int rows = 0, ready = 0;
  for (; std::getline(table, line); ++rows) {
    std::vector<std::string> cells;
    std::stringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    const Place& place = mapping.places[static_cast<size_t>(
        IndexOf(graph, nodes[static_cast<size_t>(std::stoi(cells[0]))]))];
    EXPECT_EQ(place.tile, std::stoi(cells[3])) << line;
    EXPECT_EQ(place.issue % mapping.initiation_interval, std::stoi(cells[4])) << line;
    EXPECT_EQ(place.issue, std::stoi(cells[5])) << line;
    ready = std::max(ready, std::stoi(cells[6]));
  }
  EXPECT_EQ(rows, 7);
  EXPECT_EQ(ready, 15);
  EXPECT_EQ(mapping.initiation_interval, 3);
  const Verdict verdict = CheckMapping(graph, Config(), mapping);
  EXPECT_EQ(PrintVerdict(verdict), "");
  EXPECT_EQ(verdict.latency, 15);
  // Every operand but one meets its instruction in the cycle that it arrives in.
  Config latest;
  latest.issue_later = false;
  EXPECT_TRUE(CheckMapping(graph, latest, mapping).legal());
  Config limited;
  limited.wait_limit = 7;
  EXPECT_TRUE(CheckMapping(graph, limited, mapping).legal());
}

// One change to the example or the machine, and the rules that it breaks.
struct Change {
  const char* what;
  std::function<void(Config*)> machine;
  std::function<void(const ComputationGraph&, Mapping*)> mapping;
  std::set<std::string> rules;
  const char* sentence;
};

const auto kSame = [](Config*) {};
const auto kKeep = [](const ComputationGraph&, Mapping*) {};

std::function<void(const ComputationGraph&, Mapping*)> PutAt(const char* name, int tile,
                                                             int issue) {
  return [=](const ComputationGraph& graph, Mapping* m) { Put(graph, m, name, tile, issue); };
}

TEST(CheckTest, NamesEachBrokenRule) {
  const std::vector<Change> changes = {
      {"interval",
       kSame,
       [](const ComputationGraph&, Mapping* m) { m->initiation_interval = 0; },
       {"interval"},
       "interval: the initiation interval is 0"},
      {"of another graph",
       kSame,
       [](const ComputationGraph&, Mapping* m) { m->places.pop_back(); },
       {"interval"},
       "interval: the mapping is one of 14 nodes and 17 edges, the graph has 15"},
      {"spoke",
       [](Config* c) { c->spoke_depth = 2; },
       kKeep,
       {"interval"},
       "interval: 3 slots do not fit the spoke RAM's 2 entries"},
      {"period that does not divide",
       [](Config* c) { c->tile_period = 2; },
       kKeep,
       {"interval"},
       "interval: the tiles' period of 2 cycles does not divide the interval of 3"},
      {"period",
       [](Config* c) { c->tile_period = 1; },
       kKeep,
       {"cell"},
       "cell: 'dy', 'dz', 'sum' all issue on tile 1 in slot 0"},
      {"unplaced", kSame, PutAt("dy2", -1, 0), {"placed"}, "placed: 'dy2' has no place"},
      {"placed input",
       kSame,
       PutAt("x", 0, 0),
       {"placed"},
       "placed: 'x' has a place, but no instruction computes it"},
      {"tile",
       kSame,
       PutAt("dy2", 16, 4),
       {"tile"},
       "tile: 'dy2' is on tile 16, but the tiles are 0 to 15"},
      {"issue", kSame, PutAt("dx", 3, -3), {"issue"}, "issue: 'dx' issues in cycle -3"},
      {"cell",
       kSame,
       PutAt("dy2", 2, 4),
       {"cell", "replay"},
       "replay: in cycle 4, 'dx2' of thread 0 and 'dy2' of thread 0 both issue on tile 2"},
      {"cell of two threads",
       kSame,
       PutAt("dz", 2, 1),
       {"cell", "replay"},
       "replay: in cycle 4, 'dx2' of thread 0 and 'dz' of thread 1 both issue on tile 2"},
      {"instruction RAM",
       [](Config* c) { c->instruction_depth = 2; },
       kKeep,
       {"depth"},
       "depth: tile 1 has 3 instructions, its instruction RAM 2 entries: 'dy', 'dz', 'sum'"},
      {"reach",
       kSame,
       PutAt("dx", 5, 0),
       {"reach"},
       "reach: no link leads from tile 5 of 'dx' to tile 2 of 'dx2'"},
      {"short links", [](Config* c) { c->reach = 1; }, PutAt("dx", 4, 0), {"reach"}, "reach: "},
      {"two rows",
       [](Config* c) {
         c->rows = 2;
         c->columns = 2;
         c->reach = 4;
       },
       kKeep,
       {"reach"},
       "reach: no link leads from tile 1 of 'dz' to tile 2 of 'dz2+result'"},
      {"feedback",
       [](Config* c) { c->feedback = false; },
       PutAt("dz", 2, 2),
       {"feedback"},
       "feedback: 'dz2+result' and its producer 'dz' are both on tile 2"},
      {"arrival",
       kSame,
       PutAt("dx", 4, 0),
       {"arrival", "replay"},
       "arrival: 'dx2' issues in cycle 4, but the value of 'dx' is there in cycle 5"},
      {"slow links",
       [](Config* c) { c->hop_cycles = 2; },
       kKeep,
       {"arrival", "replay"},
       "arrival: 'dz2+result' issues in cycle 12, but the value of 'sum' is there in cycle 13"},
      {"pipeline",
       [](Config* c) { c->pipeline_latency = 4; },
       kKeep,
       {"arrival", "replay"},
       "replay: 'sum' of thread 0 issues in cycle 8, the value of 'dx2' of thread 0 is there in "
       "cycle 9"},
      {"wait",
       [](Config* c) { c->wait_limit = 6; },
       kKeep,
       {"wait", "replay"},
       "wait: the value of 'dz' waits 7 cycles for 'dz2+result', the limit is 6"},
      {"late",
       [](Config* c) { c->issue_later = false; },
       [](const ComputationGraph& graph, Mapping* m) {
         Put(graph, m, "dz2", 2, 14);
         Put(graph, m, "result", 2, 14);
       },
       {"late"},
       "late: 'dz2+result' issues in cycle 14, but all that it waits for is there in "
       "cycle 12"},
      {"source period",
       kSame,
       PutAt("dz", 1, 4),
       {"period"},
       "period: 'dz' waits for nothing, but issues in cycle 4, after the first period of 3 cycles"},
      {"all sources start",
       [](Config* c) { c->every_source_starts = true; },
       kKeep,
       {"rule 2"},
       "rule 2: 'dy', 'dz' start flows on tile 1"},
      {"fused with another",
       kSame,
       [](const ComputationGraph& graph, Mapping* m) {
         m->fused_into[static_cast<size_t>(IndexOf(graph, "dx"))] = IndexOf(graph, "dx2");
       },
       {"fusion"},
       "fusion: 'dx' and 'dx2' cannot share an instruction: one multiplies or shifts"},
      {"fused twice",
       kSame,
       [](const ComputationGraph& graph, Mapping* m) {
         m->fused_into[static_cast<size_t>(IndexOf(graph, "dx2"))] = IndexOf(graph, "sum");
         m->fused_into[static_cast<size_t>(IndexOf(graph, "dy2"))] = IndexOf(graph, "sum");
         Put(graph, m, "dx2", 1, 8);
       },
       {"fusion"},
       "cannot share an instruction: the instruction has a product already"},
      {"fused apart",
       kSame,
       PutAt("dz2", 4, 12),
       {"fusion"},
       "fusion: 'dz2' shares the instruction of 'result', but is on tile 4 in cycle 12, and "
       "'result' on tile 2 in cycle 12"},
      {"fused into nothing",
       kSame,
       [](const ComputationGraph& graph, Mapping* m) {
         m->fused_into[static_cast<size_t>(IndexOf(graph, "dz2"))] = 99;
         Put(graph, m, "dz2", 2, 8);
       },
       {"fusion"},
       "fusion: 'dz2' is fused into node 99, which is none"},
  };
  for (const Change& change : changes) {
    const ComputationGraph graph = Distance();
    Mapping mapping = DistanceMapping(graph);
    Config config;
    change.machine(&config);
    change.mapping(graph, &mapping);
    const Verdict verdict = CheckMapping(graph, config, mapping);
    EXPECT_EQ(RulesOf(verdict), change.rules) << change.what << "\n" << PrintVerdict(verdict);
    EXPECT_THAT(PrintVerdict(verdict), HasSubstr(change.sentence)) << change.what;
  }
}

// A graph in one line of nodes, for the rules that the example has nothing of.
struct SmallGraph {
  ComputationGraph graph{"small", "small", {}, {}};
  Mapping mapping;

  SmallGraph& Node(const std::string& name, Op op, int tile = -1, int issue = 0) {
    graph.nodes.push_back({name, op, "", std::nullopt});
    mapping.places.push_back({tile, issue});
    mapping.fused_into.push_back(-1);
    return *this;
  }
  SmallGraph& Edge(const std::string& source, const std::string& target, int operand,
                   int distance = 0, EdgeKind kind = EdgeKind::kData) {
    graph.edges.push_back(
        {IndexOf(graph, source), IndexOf(graph, target), operand, kind, distance});
    mapping.provider.push_back(-1);
    return *this;
  }
  SmallGraph& Interval(int cycles) {
    mapping.initiation_interval = cycles;
    return *this;
  }
  std::string Check(const Config& config = {}) const {
    ComputationGraph verified = graph;
    EXPECT_TRUE(VerifyAndSort(&verified).ok()) << VerifyAndSort(&verified);
    EXPECT_EQ(verified.nodes[0].name, graph.nodes[0].name);  // nodes are in order
    return PrintVerdict(CheckMapping(graph, config, mapping));
  }
};

TEST(CheckTest, RuleOneBindsReadersOfAVariable) {
  SmallGraph small;
  small.Interval(2).Node("v", Op::kVariable).Node("x", Op::kInput);
  small.Node("a", Op::kAdd, 0, 0).Node("b", Op::kSub, 1, 1);
  small.Edge("v", "a", 0).Edge("x", "a", 1).Edge("v", "b", 0).Edge("x", "b", 1);
  EXPECT_EQ(small.Check(), "rule 1: 'a', 'b' read the variable 'v', but are on the tiles 0, 1\n");
  Config copies;
  copies.copies = true;
  EXPECT_EQ(small.Check(copies), "");
  small.mapping.places[3] = {0, 1};
  EXPECT_EQ(small.Check(), "rule 2: 'a', 'b' start flows on tile 0\n");  // two flows
}

TEST(CheckTest, RuleThreeKeepsSiblingsApart) {
  SmallGraph small;
  small.Interval(3)
      .Node("u", Op::kPass, 1, 0)
      .Node("a", Op::kPass, 2, 4)
      .Node("b", Op::kPass, 2, 5);
  small.Edge("u", "a", 0).Edge("u", "b", 0);
  EXPECT_EQ(small.Check(), "rule 3: 'a', 'b' all use 'u' on tile 2\n");
  small.mapping.places[2] = {0, 5};
  EXPECT_EQ(small.Check(), "");
  Config one;
  one.one_output = true;
  EXPECT_EQ(small.Check(one),
            "fan-out: the result of 'u' on tile 1 goes to 'a', 'b' on several other tiles\n");
  small.mapping.places[2] = {1, 4};  // its own tile needs no link
  EXPECT_EQ(small.Check(one), "");
}

TEST(CheckTest, LoopsWaitForEarlierThreads) {
  SmallGraph small;
  small.Interval(3).Node("s", Op::kAdd, 0, 0);
  small.Edge("s", "s", 0, 1);
  EXPECT_EQ(small.Check(), "");
  small.Interval(2);
  EXPECT_THAT(small.Check(),
              HasSubstr("arrival: 's' issues in cycle 0, but the value of 's' of the "
                        "thread before is there in cycle 1\n"));
  Config cut;
  cut.cut_loops = true;
  EXPECT_EQ(small.Check(cut), "");
  Config no_feedback;
  no_feedback.feedback = false;
  EXPECT_THAT(small.Interval(3).Check(no_feedback),
              HasSubstr("feedback: 's' and its producer 's'"));
}

TEST(CheckTest, LoadsEndFlows) {
  SmallGraph small;
  small.Interval(4).Node("x", Op::kInput).Node("p", Op::kLoad, 0, 0).Node("a", Op::kAdd, 9, 1);
  small.Node("q", Op::kStore, 1, 0);
  small.Edge("x", "p", 0).Edge("p", "a", 0).Edge("p", "q", 0, 0, EdgeKind::kOrder);
  EXPECT_EQ(small.Check(), "");  // three flows
  Config synchronous;
  synchronous.asynchronous_loads = false;
  const std::string text = small.Check(synchronous);
  EXPECT_THAT(text, HasSubstr("reach: no link leads from tile 0 of 'p' to tile 9 of 'a'"));
  EXPECT_THAT(text, HasSubstr("order: 'q' issues in cycle 0, but the end of 'p' is there in "
                              "cycle 3"));
  small.mapping.places[2] = {1, 4};
  small.mapping.places[3] = {1, 3};
  EXPECT_EQ(small.Check(synchronous), "");
  // As separate flows they start on one tile.
  EXPECT_THAT(small.Check(), HasSubstr("rule 2: 'a', 'q' start flows on tile 1"));
}

TEST(CheckTest, SourcesMayBeLateIfPeriodsAreFree) {
  SmallGraph small;
  small.Interval(2).Node("a", Op::kPass, 0, 5);
  EXPECT_EQ(RulesOf(CheckMapping(small.graph, Config(), small.mapping)),
            (std::set<std::string>{"period"}));
  Config later;
  later.later_periods = true;
  EXPECT_EQ(small.Check(later), "");
}

TEST(CheckTest, RelaxedDistancesShareLinks) {
  // Both values go from tile 0 to tile 4 by the links 0-2 and 2-4.
  SmallGraph small;
  small.Interval(8).Node("a", Op::kPass, 0, 0).Node("b", Op::kPass, 4, 7);
  small.Node("c", Op::kPass, 2, 2).Node("d", Op::kPass, 5, 8);
  small.Edge("a", "b", 0).Edge("c", "d", 0);
  Config relaxed;
  relaxed.relaxed_distance = true;
  EXPECT_THAT(small.Check(), HasSubstr("reach: no link leads from tile 0 of 'a' to tile 4 of 'b'"));
  // a: leaves tile 2 in cycle 0 + 3 + 2 = 5; c: leaves tile 2 in cycle 2 + 3 = 5.
  const std::string text = small.Check(relaxed);
  EXPECT_THAT(text, HasSubstr("link: the values of 'a', 'c' leave tile 2 for tile 4 in slot 5"));
  EXPECT_THAT(text, HasSubstr("replay: in cycle 5, the values of 'a' of thread 0 and of 'c' of "
                              "thread 0 leave tile 2 by the link to tile 4"));
  Config shared = relaxed;
  shared.shared_links = true;
  EXPECT_EQ(small.Check(shared), "");
  small.mapping.places[2] = {2, 1};
  EXPECT_EQ(small.Check(relaxed), "");
}

TEST(CheckTest, RelaxedDistancesGoAlongTheRowFirst) {
  // On a 3 by 3 array with links of one tile, 0 to 8 goes over 1, 2 and 5; 6 cycles with hops of 2.
  SmallGraph small;
  small.Interval(16).Node("a", Op::kPass, 0, 0).Node("b", Op::kPass, 8, 11);
  small.Node("c", Op::kPass, 2, 4).Node("d", Op::kPass, 5, 9);
  small.Edge("a", "b", 0).Edge("c", "d", 0);
  Config array;
  array.rows = array.columns = 3;
  array.reach = 1;
  array.hop_cycles = 2;
  array.relaxed_distance = true;
  // a leaves tile 2 in cycle 3 + 4 = 7, c in cycle 7.
  EXPECT_THAT(small.Check(array),
              HasSubstr("link: the values of 'a', 'c' leave tile 2 for tile 5"));
  small.mapping.places[2] = {2, 3};
  EXPECT_EQ(small.Check(array), "");
  small.mapping.places[1].issue = 10;
  EXPECT_THAT(small.Check(array), HasSubstr("the value of 'a' is there in cycle 11"));
}

TEST(CheckTest, PassThroughsAreInstructions) {
  SmallGraph small;
  small.Interval(8).Node("a", Op::kPass, 0, 0).Node("b", Op::kPass, 5, 13);
  small.Edge("a", "b", 0);
  small.mapping.passes = {{0, -1, {2, 5}}, {0, 0, {4, 10}}};
  small.mapping.provider = {1};
  EXPECT_EQ(small.Check(),
            "arrival: 'b' issues in cycle 13, but the value of pass-through 1 of "
            "'a' is there in cycle 14\nreplay: 'b' of thread 0 issues in cycle 13, "
            "the value of pass-through 1 of 'a' of thread 0 is there in cycle 14\n");
  small.mapping.places[1].issue = 14;
  EXPECT_EQ(small.Check(), "");
  const auto with = [&](const std::function<void(Mapping*)>& change) {
    SmallGraph changed = small;
    change(&changed.mapping);
    return changed.Check();
  };
  EXPECT_THAT(with([](Mapping* m) { m->passes[1].place.issue = 9; }),
              HasSubstr("arrival: pass-through 1 of 'a' issues in cycle 9, but the value of "
                        "pass-through 0 of 'a' is there in cycle 10"));
  EXPECT_THAT(with([](Mapping* m) { m->passes[1].from = 1; }),
              HasSubstr("pass-through: pass-through 1 of 'a' gets its value from pass-through 1, "
                        "which is not before it"));
  EXPECT_THAT(with([](Mapping* m) { m->passes[1].node = 1; }),
              HasSubstr("pass-through 1 of 'b' gets its value from pass-through 0, which copies "
                        "another"));
  EXPECT_THAT(with([](Mapping* m) { m->passes[1].node = 7; }),
              HasSubstr("pass-through: pass-through 1 copies node 7, which is none"));
  EXPECT_THAT(
      with([](Mapping* m) { m->provider[0] = 2; }),
      HasSubstr("pass-through: the edge from 'a' to 'b' has pass-through 2, which is none"));
  EXPECT_THAT(with([](Mapping* m) { m->provider[0] = -1; }),
              HasSubstr("reach: no link leads from tile 0 of 'a' to tile 5 of 'b'"));
  EXPECT_THAT(with([](Mapping* m) {
                m->passes[0].place.tile = 0;
                m->passes[0].place.issue = 8;
              }),
              HasSubstr("cell: 'a', pass-through 0 of 'a' all issue on tile 0 in slot 0"));
  EXPECT_THAT(with([](Mapping* m) { m->passes[0].place.tile = 99; }),
              HasSubstr("tile: pass-through 0 of 'a' is on tile 99"));
  Config latest;
  latest.issue_later = false;
  EXPECT_EQ(small.Check(latest), "");
  EXPECT_EQ(PrintVerdict(CheckMapping(small.graph, latest,
                                      [&] {
                                        Mapping late = small.mapping;
                                        late.passes[1].place.issue = 11;
                                        late.places[1].issue = 15;
                                        return late;
                                      }())),
            "late: pass-through 1 of 'a' issues in cycle 11, but all that it waits for is there in "
            "cycle 10\n");
  // A pass-through is a sibling of the other consumers.
  small.Node("c", Op::kPass, 2, 6).Edge("a", "c", 0);
  EXPECT_THAT(small.Check(), HasSubstr("rule 3: 'c', pass-through 0 of 'a' all use 'a' on tile 2"));
}

TEST(CheckTest, PassThroughsCopyOnlyWhatLinksCarry) {
  SmallGraph small;
  small.Interval(4).Node("x", Op::kInput).Node("p", Op::kLoad, 0, 0).Node("a", Op::kAdd, 1, 0);
  small.Edge("x", "p", 0).Edge("p", "a", 0);
  small.mapping.passes = {{1, -1, {2, 1}}};
  small.mapping.provider = {-1, 0};
  const std::string text = small.Check();
  EXPECT_THAT(text, HasSubstr("pass-through 0 of 'p' copies a value that does not travel over "
                              "links"));
  EXPECT_THAT(text, HasSubstr("the edge from 'p' to 'a' has a pass-through, but its value does not "
                              "travel over links"));
}

TEST(CheckTest, InstructionsReadTwoValuesOfTileMemories) {
  SmallGraph small;
  small.Interval(4).Node("x", Op::kInput).Node("y", Op::kInput).Node("z", Op::kInput);
  small.Node("s", Op::kSelect, 0, 0);
  small.Edge("x", "s", 0).Edge("y", "s", 1).Edge("z", "s", 2);
  EXPECT_EQ(small.Check(), "reads: 's' reads 3 values from tile memories\n");
  SmallGraph twice;  // a value read twice is one, of two threads it is two
  twice.Interval(4).Node("x", Op::kInput).Node("s", Op::kSelect, 0, 0);
  twice.Edge("x", "s", 0).Edge("x", "s", 1).Edge("x", "s", 2);
  EXPECT_EQ(twice.Check(), "");
  twice.graph.edges[1].distance = 1;
  twice.graph.edges[2].distance = 2;
  EXPECT_EQ(twice.Check(), "reads: 's' reads 3 values from tile memories\n");
}

// A predicate takes the second operand, which a pair or a select has a use for.
TEST(CheckTest, PredicatesNeedAnOperand) {
  // A product of x and y (by `multiply`) and a sum of it, whose predicate is `predicate`.
  const auto pair = [](Op multiply, const char* predicate) {
    SmallGraph small;
    small.Interval(4).Node("x", Op::kInput).Node("y", Op::kInput).Node("z", Op::kInput);
    small.Node("m", multiply, 0, 0).Node("s", Op::kAdd, 0, 0);
    small.graph.nodes.back().literal = 3;
    small.Edge("x", "m", 0).Edge("y", "m", 1).Edge("m", "s", 0);
    small.Edge(predicate, "s", 0, 0, EdgeKind::kPredicate);
    small.mapping.fused_into[3] = 4;
    return small;
  };
  const std::string none = "reads: 'm+s' uses all its operands, and none is its predicate\n";
  EXPECT_EQ(pair(Op::kMul, "x").Check(), "");
  EXPECT_EQ(pair(Op::kMul, "y").Check(), "");
  EXPECT_EQ(pair(Op::kShl, "y").Check(), "");
  EXPECT_EQ(pair(Op::kShl, "x").Check(), none);
  EXPECT_THAT(pair(Op::kMul, "z").Check(), HasSubstr(none));
  // A select of x and y, whose predicate is one of them.
  const auto select = [](const char* predicate) {
    SmallGraph small;
    small.Interval(4).Node("x", Op::kInput).Node("y", Op::kInput).Node("s", Op::kSelect, 0, 0);
    small.graph.nodes.back().literal = 5;
    small.Edge("x", "s", 0).Edge("y", "s", 1).Edge(predicate, "s", 0, 0, EdgeKind::kPredicate);
    return small;
  };
  EXPECT_EQ(select("y").Check(), "");
  EXPECT_EQ(select("x").Check(), "reads: 's' uses all its operands, and none is its predicate\n");
  SmallGraph two = select("y");
  two.Edge("x", "s", 0, 0, EdgeKind::kPredicate);
  EXPECT_EQ(two.Check(), "reads: 's' has 2 predicates\n");
}

TEST(CheckTest, FusionsNeedOneUseAndOneNumberSystem) {
  const auto make = [](Op multiply, Op logic) {
    SmallGraph small;
    small.Interval(4).Node("x", Op::kInput).Node("m", multiply, 0, 0).Node("l", logic, 0, 0);
    small.Edge("x", "m", 0).Edge("x", "m", 1).Edge("m", "l", 0);
    small.mapping.fused_into[1] = 2;
    return small;
  };
  EXPECT_EQ(make(Op::kMul, Op::kAdd).Check(), "");
  EXPECT_EQ(make(Op::kFMul, Op::kFSub).Check(), "");
  EXPECT_EQ(make(Op::kFMul, Op::kPass).Check(), "");
  EXPECT_EQ(make(Op::kShl, Op::kMerge).Check(), "");
  for (const auto& [multiply, logic] : {std::pair(Op::kMul, Op::kFAdd), {Op::kFMul, Op::kAdd}}) {
    EXPECT_EQ(
        make(multiply, logic).Check(),
        "fusion: 'm' and 'l' cannot share an instruction: one computes with floats, the other "
        "with integers\n");
  }
  SmallGraph used = make(Op::kMul, Op::kAdd);
  used.Node("o", Op::kOutput).Edge("m", "o", 0);
  EXPECT_THAT(used.Check(), HasSubstr("the product has another use"));
  SmallGraph gated = make(Op::kMul, Op::kAdd);
  gated.Edge("x", "m", 0, 0, EdgeKind::kPredicate);
  EXPECT_THAT(gated.Check(), HasSubstr("the product has a predicate or an order of its own"));
  SmallGraph carried = make(Op::kMul, Op::kAdd);
  carried.graph.edges[2].distance = 1;
  EXPECT_THAT(carried.Check(), HasSubstr("the second does not use the product in the same thread"));
  EXPECT_THAT(make(Op::kMul, Op::kSelect).Check(), HasSubstr("one multiplies or shifts"));
}

// What waits for its own earlier result alone would be "just in time" in every cycle.
TEST(CheckMapping, OwnResultsDoNotSayWhenAnInstructionIssues) {
  const auto graph = ParseGraphJson(
      R"({"format": "dfg-edge-list-1", "name": "g",
          "nodes": [{"id": 0, "name": "first", "op": "add"}, {"id": 1, "name": "own", "op": "mul"}],
          "edges": [{"src": 1, "dst": 1, "operand": 0, "dist": 1},
                    {"src": 0, "dst": 1, "kind": "order"}]})",
      "g.json");
  ASSERT_TRUE(graph.ok());
  Config config;
  config.issue_later = false;
  Mapping mapping{.initiation_interval = 3,
                  .places = {{0, 0}, {1, 3}},
                  .fused_into = {-1, -1},
                  .passes = {},
                  .provider = {-1, -1}};
  EXPECT_TRUE(CheckMapping(*graph, config, mapping).legal());
  mapping.places[1].issue = 4;
  const Verdict verdict = CheckMapping(*graph, config, mapping);
  ASSERT_EQ(verdict.broken.size(), 1U);
  EXPECT_EQ(verdict.broken[0].rule, Rule::kLate);
  EXPECT_EQ(verdict.broken[0].nodes, std::vector<std::string>{"own"});
}

}  // namespace
}  // namespace kiln::cgra
