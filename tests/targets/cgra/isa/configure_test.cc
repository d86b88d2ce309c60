// Programs from mappings: the worked example word by word, what hardware cannot encode, and the
// distribution of values over tile memories.

#include "kiln/targets/cgra/isa/configure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/isa/tile_values.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {
namespace {

using ::testing::HasSubstr;

// A graph with a mapping, built by hand.
struct Example {
  ComputationGraph graph;
  Mapping mapping;
  Config config;

  int Node(const std::string& name, Op op, std::optional<int32_t> literal = std::nullopt) {
    graph.nodes.push_back({.name = name, .op = op, .label = "", .literal = literal});
    mapping.places.push_back({});
    mapping.fused_into.push_back(-1);
    return static_cast<int>(graph.nodes.size()) - 1;
  }
  // Adds an instruction of these operands at a place.
  int At(const std::string& name, Op op, std::vector<int> operands, Place place) {
    const int node = Node(name, op);
    mapping.places.back() = place;
    for (size_t i = 0; i < operands.size(); ++i) {
      Edge({.source = operands[i], .target = node, .operand = static_cast<int>(i)});
    }
    return node;
  }
  void Edge(const GraphEdge& edge) {
    graph.edges.push_back(edge);
    mapping.provider.push_back(-1);
  }
  int Output(const std::string& name, int source) {
    const int node = Node(name, Op::kOutput);
    Edge({.source = source, .target = node});
    return node;
  }
  StatusOr<CgraProgram> Build() {
    const Status sorted = VerifyAndSort(&graph);
    EXPECT_TRUE(sorted.ok()) << sorted;
    return BuildConfiguration(graph, mapping, config);
  }
  std::string Error() { return MessageOf(Build().status()); }
};

Example Empty(int interval) {
  Example example;
  example.graph.name = "test";
  example.graph.source = "test.json";
  example.mapping.initiation_interval = interval;
  example.config.wait_limit = 16;
  return example;
}

// The example of the paper's figure 1 at an interval of 3, as it is drawn: the square of the
// distance of two points.
Example Distance() {
  Example e = Empty(3);
  e.graph.name = "distance";
  const int x = e.Node("x", Op::kInput), y = e.Node("y", Op::kInput), z = e.Node("z", Op::kInput);
  const int x0 = e.Node("x0", Op::kVariable, 1), y0 = e.Node("y0", Op::kVariable, 2),
            z0 = e.Node("z0", Op::kVariable, 3);
  const int dx = e.At("dx", Op::kSub, {x, x0}, {3, 0}), dy = e.At("dy", Op::kSub, {y, y0}, {1, 0}),
            dz = e.At("dz", Op::kSub, {z, z0}, {1, 1});
  const int dx2 = e.At("dx2", Op::kMul, {dx, dx}, {2, 4}),
            dy2 = e.At("dy2", Op::kMul, {dy, dy}, {0, 4});
  const int sum = e.At("sum", Op::kAdd, {dx2, dy2}, {1, 8});
  const int dz2 = e.At("dz2", Op::kMul, {dz, dz}, {2, 12});
  const int all = e.At("all", Op::kAdd, {dz2, sum}, {2, 12});
  e.mapping.fused_into[static_cast<size_t>(dz2)] = all;
  e.Output("square", all);
  return e;
}

// Written by hand from the mapping and docs/cgra-machine.md. Lines 0 to 4 are the tiles at the
// offsets -2, -1, 1, 2 and the tile itself. The value of dz is on tile 2 in cycle 5 and waits until
// cycle 12.
constexpr std::string_view kDistance =
    R"(program distance: interval 3, latency 15
tile 0 slot 1: instruction=0 master=line2@0 links=2  # dy2
tile 0 instruction 0: mul.pass in1=line2@0 in2=line2@0
tile 1 slot 0: instruction=0 master=base links=1  # dy
tile 1 slot 1: instruction=1 master=base links=2  # dz
tile 1 slot 2: instruction=2 master=line1@0 links=2  # sum
tile 1 instruction 0: pass.sub in1=memory0 in3=memory1 memory0=0+thread memory1=32
tile 1 instruction 1: pass.sub in1=memory1 in3=memory0 memory0=32 memory1=0+thread
tile 1 instruction 2: pass.add in1=line2@0 in3=line1@0
tile 2 slot 0: instruction=1 master=line1@0 output=0  # dz2+all
tile 2 slot 1: instruction=0 master=line2@0 links=1  # dx2
tile 2 instruction 0: mul.pass in1=line2@0 in2=line2@0
tile 2 instruction 1: mul.add in1=line1@7 in2=line1@7 in3=line1@0
tile 3 slot 0: instruction=0 master=base links=1  # dx
tile 3 instruction 0: pass.sub in1=memory0 in3=memory1 memory0=0+thread
tile 1 memory 0 address 32: 3  # z0
tile 1 memory 1 address 32: 2  # y0
tile 3 memory 1 address 0: 1  # x0
delivery 0: tile=3 memory=0 base=0  # x
delivery 1: tile=1 memory=0 base=0  # y
delivery 2: tile=1 memory=1 base=0  # z
output 0: square
)";

TEST(Configure, WorkedExample) {
  const StatusOr<CgraProgram> program = Distance().Build();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(Print(*program), kDistance);
  // Loading: 16 tiles with a header and 3 spokes each, 7 instructions of two beats in 4 tiles, 3
  // contents and 3 deliveries with headers.
  EXPECT_EQ(LoadBeats(*program), 16 * 4 + 4 + 7 * 2 + 3 * 2 + 4);
}

TEST(Configure, LiteralsAndOperands) {
  Example e = Empty(4);
  const int x = e.Node("x", Op::kInput);
  const int five = e.Node("five", Op::kConst, 5), seven = e.Node("seven", Op::kConst, 7),
            none = e.Node("none", Op::kConst, 0);
  // Two constants: the first is the literal, the second in a memory. Zero is no operand.
  const int a = e.At("a", Op::kSelect, {x, five, seven}, {0, 0});
  const int b = e.At("b", Op::kAdd, {a, none}, {0, 3});
  // The product on the right side of a difference, of an earlier thread on the left.
  const int p = e.At("p", Op::kMul, {b, five}, {1, 9});
  const int c = e.Node("c", Op::kSub);
  e.mapping.places.back() = {1, 9};
  e.mapping.fused_into[static_cast<size_t>(p)] = c;
  e.Edge({.source = p, .target = c, .operand = 1});
  e.Edge({.source = c, .target = c, .operand = 0, .distance = 1, .initial = 5});
  e.Output("out", c);
  const StatusOr<CgraProgram> program = e.Build();
  ASSERT_TRUE(program.ok()) << program.status();
  const auto& first = program->tiles[0].instructions;
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(Print(first[0]),
            "pass.select in1=memory0 in2=literal in3=memory1 memory0=0+thread literal=5");
  EXPECT_EQ(Print(first[1]), "pass.add in1=line4@0");
  ASSERT_EQ(program->contents.size(), 1U);
  EXPECT_EQ(program->contents[0].name, "constant 7");
  EXPECT_EQ(program->contents[0].lanes, std::vector<int32_t>(16, 7));
  // b is ready in 6, on tile 1 in 7, and waits 2; c's own result of the thread before is ready in
  // 9 + 3 - 4 and waits 1.
  EXPECT_EQ(Print(program->tiles[1].instructions[0]),
            "mul.rsub in1=line1@2 in2=literal in3=line4@1 literal=5");
}

// A literal is the first operand that no edge provides; the others are zero.
TEST(Configure, LiteralsReplaceOneOperand) {
  Example e = Empty(1);
  const int x = e.Node("x", Op::kInput);
  const int choice = e.At("choice", Op::kSelect, {x}, {0, 0});
  e.graph.nodes[static_cast<size_t>(choice)].literal = 7;
  e.Output("out", choice);
  const StatusOr<CgraProgram> program = e.Build();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(Print(program->tiles[0].instructions[0]),
            "pass.select in1=memory0 in2=literal memory0=0+thread literal=7");
}

TEST(Configure, Predicates) {
  Example e = Empty(4);
  const int x = e.Node("x", Op::kInput), y = e.Node("y", Op::kVariable, 3);
  const int add = e.At("add", Op::kAdd, {x, x}, {0, 0});
  e.Edge({.source = y, .target = add, .kind = EdgeKind::kPredicate});
  const int mul = e.At("mul", Op::kMul, {x, x}, {0, 1});
  e.Edge({.source = y, .target = mul, .kind = EdgeKind::kPredicate});
  e.Output("a", add);
  e.Output("b", mul);
  const StatusOr<CgraProgram> program = e.Build();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(Print(program->tiles[0].instructions[0]),
            "pass.add in1=memory0 in2=memory1 in3=memory0 memory0=0+thread gated");
  EXPECT_EQ(Print(program->tiles[0].instructions[1]),
            "mul.gate in1=memory0 in2=memory0 in3=memory1 memory0=0+thread");
}

// The factor that is the predicate, too, is at in2.
TEST(Configure, APredicateThatIsAFactor) {
  Example e = Empty(4);
  const int x = e.Node("x", Op::kInput), y = e.Node("y", Op::kVariable, 3);
  const int mul = e.At("mul", Op::kMul, {y, x}, {0, 0});
  const int add = e.At("add", Op::kAdd, {mul}, {0, 0});
  e.graph.nodes[static_cast<size_t>(add)].literal = 5;
  e.Edge({.source = y, .target = add, .kind = EdgeKind::kPredicate});
  e.mapping.fused_into[static_cast<size_t>(mul)] = add;
  e.Output("a", add);
  EXPECT_EQ(Fusions(e.graph, e.config).size(), 1U);
  const StatusOr<CgraProgram> program = e.Build();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(Print(program->tiles[0].instructions[0]),
            "mul.add in1=memory0 in2=memory1 in3=literal memory0=0+thread literal=5 gated");
}

TEST(Configure, VariablesByLane) {
  Example e = Distance();
  ASSERT_TRUE(VerifyAndSort(&e.graph).ok());
  ConfigureOptions options;
  options.variables["x0"] = std::vector<int32_t>(16, 9);
  options.variables["x0"][3] = -1;
  const auto program = BuildConfiguration(e.graph, e.mapping, e.config, options);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->contents[2].lanes, options.variables["x0"]);
  options.variables["x0"].pop_back();
  EXPECT_THAT(MessageOf(BuildConfiguration(e.graph, e.mapping, e.config, options).status()),
              HasSubstr("content 'x0': 15 lanes"));
}

// Builds the worked example with a change, and returns the error.
std::string ErrorWith(const std::function<void(Example*)>& change) {
  Example e = Distance();
  change(&e);
  return e.Error();
}
size_t Find(const Example& e, std::string_view name) {
  for (size_t n = 0; n < e.graph.nodes.size(); ++n) {
    if (e.graph.nodes[n].name == name) return n;
  }
  return 0;
}
void Move(Example* e, std::string_view name, Place place) {
  e->mapping.places[Find(*e, name)] = place;
}

TEST(ConfigureErrors, Machines) {
  const auto config = [](const std::function<void(Config*)>& change) {
    return ErrorWith([&](Example* e) { change(&e->config); });
  };
  EXPECT_THAT(config([](Config* c) { c->rows = 2; }), HasSubstr("key 'rows'"));
  EXPECT_THAT(config([](Config* c) { c->relaxed_distance = true; }), HasSubstr("key 'distance'"));
  EXPECT_THAT(config([](Config* c) { c->hop_cycles = 2; }), HasSubstr("key 'hop_cycles'"));
  EXPECT_THAT(config([](Config* c) { c->pipeline_latency = 4; }),
              HasSubstr("key 'pipeline_latency'"));
  EXPECT_THAT(config([](Config* c) { c->floats = true; }), HasSubstr("key 'pipeline_latency'"));
  EXPECT_THAT(config([](Config* c) { c->wait_limit = -1; }), HasSubstr("key 'wait_limit'"));
  EXPECT_THAT(config([](Config* c) { c->shared_links = true; }), HasSubstr("key 'links'"));
  EXPECT_THAT(config([](Config* c) { c->tile_period = 1; }), HasSubstr("key 'tile_period'"));
  EXPECT_THAT(config([](Config* c) { c->spoke_depth = 2; }),
              HasSubstr("initiation interval: it is 3; 1 to 'spoke_depth', 2"));
  EXPECT_THAT(config([](Config* c) { c->instruction_depth = 2; }),
              HasSubstr("node 'sum': tile 1 has no space for its instruction"));
  EXPECT_THAT(config([](Config* c) { c->memory_depth = 32; }),
              HasSubstr("'z0' finds no space in memory 0 of tile 1"));
  EXPECT_THAT(config([](Config* c) { c->ring_entries = 4; }),
              HasSubstr("a thread takes 15 cycles; a new one starts every 3"));
  EXPECT_THAT(config([](Config* c) { c->wait_limit = 6; }),
              HasSubstr("node 'dz2+all': the value of 'dz' waits 7 cycles; at most"));
  EXPECT_THAT(config([](Config* c) { c->outputs = 0; }),
              HasSubstr("node 'square': it is output 1 of a machine with 0"));
}

TEST(ConfigureErrors, Mappings) {
  EXPECT_THAT(ErrorWith([](Example* e) { e->mapping.places.pop_back(); }),
              HasSubstr("test.json: mapping: it is not one of this graph"));
  EXPECT_THAT(ErrorWith([](Example* e) { e->mapping.provider[0] = 0; }),
              HasSubstr("an edge from 'x' names pass-through 0"));
  EXPECT_THAT(ErrorWith([](Example* e) { Move(e, "dx", {16, 0}); }),
              HasSubstr("node 'dx': it is on tile 16 in cycle 0"));
  EXPECT_THAT(ErrorWith([](Example* e) { Move(e, "dz", {1, 0}); }),
              HasSubstr("node 'dz': it shares slot 0 of tile 1 with 'dy'"));
  EXPECT_THAT(ErrorWith([](Example* e) { Move(e, "dx", {5, 0}); }),
              HasSubstr("node 'dx2': 'dx' is on tile 5, 3 tiles away from tile 2"));
  EXPECT_THAT(ErrorWith([](Example* e) { Move(e, "dx2", {2, 1}); }),
              HasSubstr("node 'dx2': the value of 'dx' arrives 3 cycles after its issue"));
  EXPECT_THAT(ErrorWith([](Example* e) { Move(e, "dx", {3, 3}); }),
              HasSubstr("node 'dx': no message of its own thread starts it, and it issues in "
                        "cycle 3; a cycle from 0 to 2"));
  EXPECT_THAT(ErrorWith([](Example* e) {
                e->config.feedback = false;
                Move(e, "dy2", {1, 5});
                Move(e, "sum", {0, 9});
              }),
              HasSubstr("node 'dy2': it uses the result of 'dy' on its own tile"));
  EXPECT_THAT(ErrorWith([](Example* e) {
                e->mapping.fused_into[Find(*e, "dx2")] = static_cast<int>(Find(*e, "all"));
              }),
              HasSubstr("2 nodes are fused into it"));
  EXPECT_THAT(ErrorWith([](Example* e) {
                e->mapping.fused_into[Find(*e, "dz2")] = -1;
                e->mapping.fused_into[Find(*e, "dx2")] = static_cast<int>(Find(*e, "all"));
                Move(e, "dz2", {4, 6});
              }),
              HasSubstr("stays inside the instruction 'dx2+all'"));
  EXPECT_THAT(ErrorWith([](Example* e) {
                e->mapping.passes.push_back({static_cast<int>(Find(*e, "x")), -1, {7, 0}});
              }),
              HasSubstr("pass-through 0 copies node 0"));
}

TEST(ConfigureErrors, Graphs) {
  constexpr int kW = 2, kNode = 3, kOut = 4;
  const auto error = [](Op op, const std::function<void(Example*, int, int)>& change) {
    Example e = Empty(2);
    const int x = e.Node("x", Op::kInput), y = e.Node("y", Op::kInput);
    e.Node("w", Op::kVariable, 1);
    const int node = e.At("node", op, {}, {0, 0});
    for (int i = 0; i < std::min(RowOf(op).operands, 2); ++i) {
      e.Edge({.source = i == 0 ? x : y, .target = node, .operand = i});
    }
    e.Output("out", node);
    change(&e, x, node);
    return e.Error();
  };
  const auto nothing = [](Example*, int, int) {};
  EXPECT_EQ(error(Op::kAdd, nothing), "");
  EXPECT_THAT(error(Op::kLoad, nothing), HasSubstr("node 'node': 'load' has no place"));
  EXPECT_THAT(error(Op::kStore, nothing), HasSubstr("'store' has no place"));
  EXPECT_THAT(error(Op::kBranch, nothing), HasSubstr("'br' has no place"));
  EXPECT_THAT(error(Op::kFAdd, nothing), HasSubstr("'fadd' computes in binary32"));
  EXPECT_THAT(error(Op::kAdd, [](Example* e, int x, int) { e->Output("two", x); }),
              HasSubstr("node 'two': no instruction computes it"));
  EXPECT_THAT(error(Op::kAdd, [](Example* e, int, int node) { e->Output("two", node); }),
              HasSubstr("node 'two': 'node' already goes to output 'out'"));
  EXPECT_THAT(error(Op::kAdd, [](Example* e, int, int) { e->graph.edges.back().distance = 1; }),
              HasSubstr("node 'out': it takes the value of an earlier thread"));
  EXPECT_THAT(error(Op::kAdd,
                    [](Example* e, int x, int) {
                      e->Edge({.source = x, .target = kOut, .kind = EdgeKind::kPredicate});
                    }),
              HasSubstr("node 'out': an output has a predicate"));
  EXPECT_THAT(error(Op::kAdd,
                    [](Example* e, int, int) {
                      e->graph.edges.pop_back();
                      e->mapping.provider.pop_back();
                      e->graph.nodes.pop_back();
                      e->mapping.places.pop_back();
                      e->mapping.fused_into.pop_back();
                    }),
              HasSubstr("the graph has no output"));
  EXPECT_THAT(error(Op::kAdd, [](Example* e, int, int) { e->graph.edges[0].distance = 1; }),
              HasSubstr("node 'node': it takes 'x' of an earlier thread from a tile memory"));
  const auto predicate = [](Example* e, int source, int node) {
    e->Edge({.source = source, .target = node, .kind = EdgeKind::kPredicate});
  };
  EXPECT_THAT(error(Op::kAdd,
                    [&](Example* e, int x, int node) {
                      predicate(e, x, node);
                      predicate(e, kW, node);
                    }),
              HasSubstr("node 'node': it has several predicates"));
  EXPECT_THAT(error(Op::kSelect, [&](Example* e, int x, int node) { predicate(e, x, node); }),
              HasSubstr("node 'node': its predicate finds no free operand"));
  EXPECT_THAT(
      error(Op::kSelect, [&](Example* e, int,
                             int node) { e->Edge({.source = kW, .target = node, .operand = 2}); }),
      HasSubstr("node 'node': it reads 3 values from tile memories"));
  const auto loop = [](Example* e, int operand, int32_t initial) {
    GraphEdge& edge = e->graph.edges[static_cast<size_t>(operand)];
    edge = {
        .source = kNode, .target = kNode, .operand = operand, .distance = 3, .initial = initial};
  };
  EXPECT_THAT(error(Op::kAdd,
                    [&](Example* e, int, int) {
                      loop(e, 0, 4);
                      loop(e, 1, 5);
                    }),
              HasSubstr("node 'node': first threads get 4 and 5"));
  EXPECT_THAT(error(Op::kAdd,
                    [&](Example* e, int, int) {
                      loop(e, 0, 4);
                      e->config.cut_loops = true;
                    }),
              HasSubstr("the value of 'node' takes no fixed time"));
}

TEST(TileValues, EveryPairIsApart) {
  Random random(5);
  for (int i = 0; i < 3000; ++i) {
    const size_t count = 2 + random.Below(8);
    std::vector<TileValue> values(count);
    for (TileValue& value : values) {
      value.costly = random.Below(2) == 0;
      value.entries = value.costly ? 32 : 1;
    }
    std::vector<std::pair<int, int>> pairs;
    const size_t wanted = random.Below(10);
    for (size_t p = 0; p < wanted; ++p) {
      const auto a = static_cast<int>(random.Below(count)),
                 b = static_cast<int>(random.Below(count));
      if (a != b) pairs.emplace_back(a, b);
    }
    const std::vector<MemorySet> sets = DistributeValues(values, pairs);
    for (const MemorySet& set : sets) EXPECT_TRUE(set[0] || set[1]);
    for (const auto& [a, b] : pairs) {
      const MemorySet &one = sets[static_cast<size_t>(a)], &two = sets[static_cast<size_t>(b)];
      EXPECT_TRUE((one[0] && two[1]) || (one[1] && two[0]));
    }
    // By brute force: if two colours suffice, nothing is held twice.
    bool colours = false;
    for (uint32_t sides = 0; sides < 1U << count && !colours; ++sides) {
      colours = true;
      for (const auto& [a, b] : pairs) colours = colours && (sides >> a & 1) != (sides >> b & 1);
    }
    for (const MemorySet& set : sets) {
      if (colours) {
        EXPECT_FALSE(set[0] && set[1]);
      }
    }
  }
}

TEST(TileValues, FillsBothMemories) {
  const auto sets = DistributeValues({{32, true}, {1}, {32, true}, {1}}, {{0, 1}, {2, 3}});
  EXPECT_NE(sets[0], sets[2]);
  // An odd cycle: the value that costs no time is held twice.
  const auto cycle = DistributeValues({{32, true}, {32, true}, {1}}, {{0, 1}, {1, 2}, {0, 2}});
  EXPECT_EQ(cycle[2], (MemorySet{true, true}));
  EXPECT_NE(cycle[0], cycle[1]);
}

}  // namespace
}  // namespace kiln::cgra
