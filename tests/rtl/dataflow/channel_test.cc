// Compares kiln_dataflow_channel with a model of the document in every cycle: credits, words, level
// and highest level. Reserved words are pushed in the same cycle or later.
#include <array>

#include "Vchannel_bench.h"
#include "tests/rtl/dataflow/ports.h"
#include "tests/rtl/dataflow/words.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

struct Shape {
  size_t depth, reserve;
};
constexpr std::array<Shape, 7> kShapes = {
    {{1, 1}, {2, 1}, {3, 2}, {2, 1}, {5, 3}, {7, 7}, {16, 4}}};

struct Channel {
  ChannelModel model;
  size_t owed = 0;  // words that are reserved and not pushed
  size_t highest = 0;
  Stalls reserve_stalls, push_stalls, pop_stalls;
  size_t popped = 0;
  bool was_full = false, was_empty_after_words = false;
};

void Agrees(double reserve_stall, double push_stall, double pop_stall, uint64_t seed) {
  Simulation<Vchannel_bench> bench(seed);
  Random random(seed);
  std::vector<Channel> channels;
  for (const Shape& shape : kShapes) {
    channels.push_back({ChannelModel(shape.depth, shape.reserve), 0, 0,
                        Stalls(random(), reserve_stall, Stalls::Kind::kBursts),
                        Stalls(random(), push_stall, Stalls::Kind::kBursts),
                        Stalls(random(), pop_stall, Stalls::Kind::kBursts)});
  }
  bench->reserve = bench->push = bench->pop = bench->clear = 0;
  bench.Reset();
  for (int cycle = 0; cycle < 3000; ++cycle) {
    for (size_t i = 0; i < channels.size(); ++i) {
      Channel& c = channels[i];
      ASSERT_EQ(GetBit(bench->room, i), c.model.Room()) << "channel " << i << ", cycle " << cycle;
      ASSERT_EQ(GetBit(bench->valid, i), c.model.Valid()) << "channel " << i;
      ASSERT_EQ(GetSlot(bench->level, i, 1)[0], c.model.Level()) << "channel " << i;
      ASSERT_EQ(GetSlot(bench->highest, i, 1)[0], c.highest) << "channel " << i;
      if (c.model.Valid()) {
        ASSERT_EQ(GetSlot(bench->data, i, 1)[0], c.model.Front()[0]) << "channel " << i;
      }
      const bool reserve = c.model.Room() && !c.reserve_stalls.Next();
      if (reserve) {
        c.model.Reserve();
        c.owed += kShapes[i].reserve;
      }
      const bool push = c.owed > 0 && !c.push_stalls.Next();
      const auto code = static_cast<uint8_t>(random());
      if (push) {
        c.model.Push({code});
        --c.owed;
      }
      const bool pop = c.model.Valid() && !c.pop_stalls.Next();
      if (pop) c.model.Pop();
      c.popped += pop;
      const bool clear = random.Below(50) == 0;
      c.highest = clear ? c.model.Level() : std::max(c.highest, c.model.Level());
      c.was_full = c.was_full || c.model.Stored() == kShapes[i].depth;
      c.was_empty_after_words = c.was_empty_after_words || (c.popped > 0 && !c.model.Valid());
      SetBit(bench->reserve, i, reserve);
      SetBit(bench->push, i, push);
      SetSlot(bench->push_data, i, 1, {code});
      SetBit(bench->pop, i, pop);
      SetBit(bench->clear, i, clear);
      c.model.EndCycle();
    }
    bench.Settle();
    bench.Step();
  }
  for (size_t i = 0; i < channels.size(); ++i) {
    EXPECT_GT(channels[i].popped, 100u) << "channel " << i;
    if (pop_stall > 0.4) {
      EXPECT_TRUE(channels[i].was_full) << "channel " << i;
    }
    if (reserve_stall > 0.4) {
      EXPECT_TRUE(channels[i].was_empty_after_words) << "channel " << i;
    }
  }
}

TEST(Channel, AgreesWithTheDocumentInEveryCycle) {
  Agrees(0.5, 0.5, 0.5, 1);
  Agrees(0, 0, 0.6, 2);
  Agrees(0.6, 0, 0, 3);
  Agrees(0, 0.6, 0.1, 4);
}

// Without stalls a channel of two words or more moves a word per cycle.
TEST(Channel, MovesAWordPerCycle) {
  Simulation<Vchannel_bench> bench;
  bench->reserve = bench->push = bench->pop = bench->clear = 0;
  bench.Reset();
  for (int cycle = 0; cycle < 50; ++cycle) {
    for (const size_t i : {size_t{1}, size_t{3}}) {
      EXPECT_TRUE(GetBit(bench->room, i));
      EXPECT_EQ(GetBit(bench->valid, i), cycle > 0);
      SetBit(bench->reserve, i, true);
      SetBit(bench->push, i, true);
      SetBit(bench->pop, i, cycle > 0);
    }
    bench.Settle();
    bench.Step();
  }
}

}  // namespace
}  // namespace kiln::rtl
