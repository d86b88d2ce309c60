// The machines by themselves: errors of streams, memories that stay from stream to stream, runs one
// after the other, and cycles counted by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kiln/targets/cgra/graph/evaluate.h"
#include "kiln/targets/cgra/isa/stream.h"
#include "kiln/targets/cgra/isa/timing.h"
#include "kiln/targets/cgra/simulate/cycle/cycle.h"
#include "kiln/targets/cgra/simulate/functional/functional.h"
#include "tests/targets/cgra/simulate/random_program.h"

namespace kiln::cgra {
namespace {

using testing::HasSubstr;

Config SmallMachine() {
  Config config;
  config.name = "small";
  config.columns = 4;
  config.lanes = 2;
  config.wait_limit = 64;
  return config;
}

// A chain of additions of 1 to x with outputs after the first and after the last one, in this
// order or, `late_first`, the other way round.
StatusOr<CgraProgram> Chain(const Config& config, int additions, int interval, bool late_first) {
  ComputationGraph graph;
  graph.name = "chain";
  graph.nodes.push_back({.name = "x", .op = Op::kInput, .label = "", .literal = {}});
  for (int i = 0; i < additions; ++i) {
    graph.nodes.push_back(
        {.name = "add" + std::to_string(i), .op = Op::kAdd, .label = "", .literal = 1});
    graph.edges.push_back({.source = i, .target = i + 1});
  }
  for (int i = 0; i < (additions > 1 ? 2 : 1); ++i) {
    graph.nodes.push_back(
        {.name = "out" + std::to_string(i), .op = Op::kOutput, .label = "", .literal = {}});
    graph.edges.push_back(
        {.source = (i == 0) == late_first ? additions : 1, .target = additions + 1 + i});
  }
  EXPECT_TRUE(VerifyAndSort(&graph).ok());
  Mapping mapping;
  mapping.initiation_interval = interval;
  mapping.places.resize(graph.nodes.size());
  mapping.fused_into.assign(graph.nodes.size(), -1);
  mapping.provider.assign(graph.edges.size(), -1);
  for (int i = 0; i < additions; ++i) mapping.places[static_cast<size_t>(i) + 1] = {i, 4 * i};
  return BuildConfiguration(graph, mapping, config);
}

std::vector<uint8_t> StreamOf(const CgraProgram& program, int threads, int first_sent = 0) {
  std::vector<uint8_t> stream;
  AppendLoad(program, &stream);
  std::vector<int32_t> data;
  for (int i = 0; i < threads * program.config.lanes; ++i) data.push_back(10 * i);
  AppendRun(program, threads, first_sent, data, &stream);
  return stream;
}

// One instruction, interval 1, 1 thread. The load takes 4 * 2 + 3 + 2 beats, so that the header of
// the run is taken in cycle 14, the parameter beat in 15, the data in 16; the thread's inputs are
// there from 18 on, fabric cycles are 18 to 20, the result is in its queue in 24, at the stream out
// in 25.
TEST(CycleMachine, CyclesByHand) {
  const auto program = Chain(SmallMachine(), 1, 1, false);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(LoadBeats(*program), 13);
  CycleMachine machine(program->config);
  const auto one = machine.Run(StreamOf(*program, 1));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->trace.cycles, 26);
  EXPECT_EQ(one->bytes, (std::vector<uint8_t>{1, 0, 0, 0, 11, 0, 0, 0}));
  // A thread more in every cycle.
  const auto many = machine.Run(StreamOf(*program, 100));
  ASSERT_TRUE(many.ok()) << many.status();
  EXPECT_EQ(many->trace.cycles, 26 + 99);
  EXPECT_EQ(many->trace.units[4].name, "fabric");
  EXPECT_EQ(many->trace.units[4].busy_cycles, 99 + 3);
  EXPECT_EQ(many->trace.units[5].busy_cycles, 100);
  EXPECT_EQ(many->trace.units[6].busy_cycles, 0);
}

std::vector<std::array<int64_t, 3>> SpansOf(const Trace& trace) {
  std::vector<std::array<int64_t, 3>> spans;
  for (const Span& span : trace.spans) spans.push_back({span.unit, span.begin, span.end});
  return spans;
}

// The cycles of CyclesByHand. The second run has no writes: dispatch takes its header in 26, two
// cycles after the last result of the first run has left its queue, and all is 12 cycles later.
TEST(CycleMachine, SpansByHand) {
  using Spans = std::vector<std::array<int64_t, 3>>;
  constexpr int64_t kIn = 0, kOut = 1, kLoad = 2, kDispatch = 3, kFabric = 4, kTile = 5;
  const auto program = Chain(SmallMachine(), 1, 1, false);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<uint8_t> stream = StreamOf(*program, 1);
  CycleMachine machine(program->config);
  const auto one = machine.Run(stream);
  ASSERT_TRUE(one.ok()) << one.status();
  // 13 beats load the configuration; a header and two beats of data follow.
  const Spans first = {{kIn, 0, 16},      {kLoad, 1, 14},  {kDispatch, 14, 17},
                       {kFabric, 18, 21}, {kTile, 18, 19}, {kOut, 25, 26}};
  EXPECT_EQ(SpansOf(one->trace), first);
  EXPECT_EQ(one->trace.units[2].busy_cycles, 13);
  EXPECT_EQ(one->trace.units[3].busy_cycles, 3);
  // Of the two, only dispatch can be what limits a kernel.
  EXPECT_TRUE(one->trace.units[2].transfers);
  EXPECT_FALSE(one->trace.units[3].transfers);

  AppendRun(*program, 1, 0, std::vector<int32_t>(2, 3), &stream);
  const auto two = machine.Run(stream);
  ASSERT_TRUE(two.ok()) << two.status();
  // Two of the next three beats find room in the register in front of the machine, and the third
  // when the header has been taken.
  Spans both = first;
  both[0][2] = 18;
  both.push_back({kIn, 27, 28});
  for (size_t i = 2; i < first.size(); ++i)
    both.push_back({first[i][0], first[i][1] + 12, first[i][2] + 12});
  std::ranges::sort(both, {}, [](const auto& s) { return std::pair(s[1], s[0]); });
  EXPECT_EQ(SpansOf(two->trace), both);
}

TEST(CycleMachine, SecondRunFollowsTheClosedForm) {
  const auto program = Chain(SmallMachine(), 4, 2, true);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<uint8_t> stream = StreamOf(*program, 20, 5);
  const std::vector<int32_t> data(7 * 2, 3);
  AppendRun(*program, 7, 0, data, &stream);
  CycleMachine machine(program->config);
  const auto both = machine.Run(stream);
  ASSERT_TRUE(both.ok()) << both.status();
  const RunTimes first = TimesOfRun(*program, 20, LoadBeats(*program) + 1);
  EXPECT_EQ(both->trace.cycles, TimesOfRun(*program, 7, first.next_header).last_beat + 1);
  FunctionalMachine functional(program->config);
  EXPECT_EQ(functional.Run(stream).value(), both->bytes);
  EXPECT_EQ(both->bytes.size(), (15 + 7) * 2 * 8U);
  // The results of the last thread: 3 + 4 and 3 + 1.
  EXPECT_EQ(both->bytes[both->bytes.size() - 16], 7);
  EXPECT_EQ(both->bytes[both->bytes.size() - 8], 4);
}

// The early output's results wait in their queue while the late one is computed: one entry less
// than LeastOutputDepth, and the machine waits forever.
TEST(CycleMachine, OutputsFarApartNeedDeepQueues) {
  for (const int interval : {1, 2, 3}) {
    Config config = SmallMachine();
    config.columns = 8;
    config.output_depth = 64;
    auto program = Chain(config, 8, interval, true);
    ASSERT_TRUE(program.ok()) << program.status();
    const int least = LeastOutputDepth(config, program->output_issues, interval);
    program->config.output_depth = least;
    EXPECT_TRUE(Check(*program).ok());
    CycleMachine enough(program->config);
    const std::vector<uint8_t> stream = StreamOf(*program, 60);
    const auto run = enough.Run(stream);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->trace.cycles, CyclesOf(*program, 60));
    program->config.output_depth = least - 1;
    EXPECT_THAT(MessageOf(Check(*program)), HasSubstr("an 'output_depth' of at least"));
    CycleMachine few(program->config);
    EXPECT_THAT(MessageOf(few.Run(stream).status()), HasSubstr("the machine waits after"));
  }
}

TEST(Machines, LongRunsTakeTheSlowestOfThreeRates) {
  Config config = SmallMachine();
  config.output_depth = 64;
  const auto program = Chain(config, 4, 1, false);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(CyclesOfThread(*program), 2);  // two results
  EXPECT_EQ(CyclesOf(*program, 2000) - CyclesOf(*program, 1000), 2 * 1000);
}

TEST(Machines, ErrorsNameTheBeat) {
  const auto program = Chain(SmallMachine(), 2, 2, false);
  ASSERT_TRUE(program.ok()) << program.status();
  const Config& config = program->config;
  const auto errors = [&](const std::vector<uint8_t>& stream) {
    FunctionalMachine functional(config);
    CycleMachine cycle(config);
    return std::pair(MessageOf(functional.Run(stream).status()),
                     MessageOf(cycle.Run(stream).status()));
  };
  const std::vector<uint8_t> good = StreamOf(*program, 3);
  EXPECT_EQ(errors(good), std::pair(std::string(), std::string()));
  auto cut = good;
  cut.pop_back();
  EXPECT_THAT(errors(cut).first, HasSubstr("stream in: it has 199 bytes; beats of 8 bytes"));
  EXPECT_THAT(errors(cut).second, HasSubstr("stream in: it has 199 bytes; beats of 8 bytes"));
  cut.resize(cut.size() - 7);
  EXPECT_THAT(errors(cut).first, HasSubstr("2 beats follow a run of 3 threads"));
  EXPECT_THAT(errors(cut).second, HasSubstr("the machine waits after 24 of 24 beats"));
  Header header;
  header.tile = 4;
  header.beats = 1;
  std::vector<uint8_t> stream;
  AppendWord(config, Encode(header), &stream);
  AppendWord(config, 0, &stream);
  EXPECT_THAT(errors(stream).first, HasSubstr("stream in, beat 0: it writes to tile 4; 0 to 3"));
  EXPECT_THAT(errors(stream).second, HasSubstr("of tile 4"));
  header.tile = 0;
  header.address = config.memory_depth;
  stream.clear();
  AppendWord(config, Encode(header), &stream);
  AppendWord(config, 0, &stream);
  EXPECT_THAT(errors(stream).first, HasSubstr("from address 512 of the memory 0"));
  EXPECT_THAT(errors(stream).second, HasSubstr("from address 512 of target 0"));
  // Half a word of an instruction.
  header = {};
  header.target = WriteTarget::kInstructions;
  header.beats = 1;
  stream.clear();
  AppendWord(config, Encode(header), &stream);
  AppendWord(config, 0, &stream);
  EXPECT_THAT(errors(stream).first,
              HasSubstr("it writes 1 beats from address 0 of the instruction"));
  EXPECT_THAT(errors(stream).second, HasSubstr("1 beats from address 0 of target 3"));
  // A write of no beats is skipped, wherever it goes.
  header.beats = 0;
  header.address = 33025;
  header.tile = 200;
  stream.clear();
  AppendWord(config, Encode(header), &stream);
  EXPECT_EQ(errors(stream), std::pair(std::string(), std::string()));
  // A run of no threads: at the greatest latency, and above.
  header = {};
  header.command = Command::kRun;
  header.interval = 2;
  header.outputs = 1;
  for (const int latency : {2 * config.ring_entries, 2 * config.ring_entries + 1}) {
    header.latency = latency;
    stream.clear();
    AppendWord(config, Encode(header), &stream);
    AppendWord(config, 0, &stream);
    const auto [functional, cycle] = errors(stream);
    const bool fits = latency == 2 * config.ring_entries;
    EXPECT_EQ(functional.find("latency of at most 32 intervals") == std::string::npos, fits);
    EXPECT_EQ(cycle.find("latencies to 32 intervals") == std::string::npos, fits) << cycle;
  }
  // add2 fires eight cycles, four periods, after its thread began; what is on the link of two tiles
  // a cycle before is add0's result of the thread after that.
  auto changed = Chain(SmallMachine(), 3, 2, false).value();
  changed.tiles[2].instructions[0].in[0] = {OperandKind::kMessage, 0, 1};
  changed.tiles[0].spokes[0].links |= 8;
  EXPECT_THAT(errors(StreamOf(changed, 3)).first,
              HasSubstr("tile 2, slot 0: in1 is a message of a later thread"));
}

// Every operation against the definition of the graph's operators, on values at the edges.
TEST(Machines, OperationsOnEdgeValues) {
  const int32_t edges[] = {0,
                           1,
                           -1,
                           2,
                           31,
                           32,
                           33,
                           INT32_MAX,
                           INT32_MIN,
                           0x7f800000,
                           0x7fc00001,
                           static_cast<int32_t>(0xff800000),
                           0x00000001,
                           0x00800000,
                           0x7f7fffff,
                           0x3f800000,
                           static_cast<int32_t>(0x80000000),
                           0x00400000,
                           0x3f000001};
  Config config = SmallMachine();
  config.floats = true;
  config.pipeline_latency = 5;
  for (const Op op :
       {Op::kMul, Op::kShl, Op::kShr, Op::kSra, Op::kFMul, Op::kAdd, Op::kSub, Op::kAnd, Op::kOr,
        Op::kXor, Op::kMin, Op::kMax, Op::kLt, Op::kEq, Op::kFAdd, Op::kFSub, Op::kMerge}) {
    ComputationGraph graph;
    graph.nodes = {{.name = "x", .op = Op::kInput, .label = "", .literal = {}},
                   {.name = "y", .op = Op::kInput, .label = "", .literal = {}},
                   {.name = "op", .op = op, .label = "", .literal = {}},
                   {.name = "out", .op = Op::kOutput, .label = "", .literal = {}}};
    graph.edges = {{.source = 0, .target = 2},
                   {.source = 1, .target = 2, .operand = 1},
                   {.source = 2, .target = 3}};
    ASSERT_TRUE(VerifyAndSort(&graph).ok());
    Mapping mapping;
    mapping.initiation_interval = 1;
    mapping.places = {{}, {}, {0, 0}, {}};
    mapping.fused_into.assign(4, -1);
    mapping.provider.assign(3, -1);
    const auto program = BuildConfiguration(graph, mapping, config);
    ASSERT_TRUE(program.ok()) << program.status();
    std::vector<int32_t> data, expected;
    for (const int32_t a : edges) {
      for (const int32_t b : edges) {
        data.insert(data.end(), {a, b, b, a});
        expected.insert(expected.end(), {ValueOf(op, a, b, 0), ValueOf(op, b, a, 0)});
      }
    }
    // The lanes of x are a, b; those of y are b, a.
    const auto threads = static_cast<int64_t>(data.size() / 4);
    const auto fast = ExecuteFunctional(*program, threads, data);
    ASSERT_TRUE(fast.ok()) << fast.status();
    EXPECT_EQ(*fast, expected) << RowOf(op).name;
    std::vector<uint8_t> stream;
    AppendLoad(*program, &stream);
    AppendRun(*program, threads, 0, data, &stream);
    CycleMachine machine(config);
    const auto timed = machine.Run(stream);
    ASSERT_TRUE(timed.ok()) << timed.status();
    std::vector<int32_t> lanes(expected.size());
    ReadLanes(timed->bytes, lanes);
    EXPECT_EQ(lanes, expected) << RowOf(op).name;
  }
}

}  // namespace
}  // namespace kiln::cgra
