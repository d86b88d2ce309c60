// kiln_axi_stream_register and kiln_axi_stream_fifo against a queue, with random stalls on both
// sides: the handshakes of every cycle, every beat, and the throughput without stalls; and the ends
// of packets that kiln_stream_last marks.
#include <deque>
#include <type_traits>

#include "Vstream_fifo_1.h"
#include "Vstream_fifo_16.h"
#include "Vstream_fifo_5.h"
#include "Vstream_fifo_memory.h"
#include "Vstream_last_1.h"
#include "Vstream_last_12.h"
#include "Vstream_last_2.h"
#include "Vstream_register.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr uint32_t kDataMask = 0xffffff;  // of 3 bytes

struct Beat {
  uint32_t data = 0;
  uint8_t keep = 0;
  bool last = false;
  bool operator==(const Beat&) const = default;
};

Beat RandomBeat(Random& random) {
  return {static_cast<uint32_t>(random()) & kDataMask, static_cast<uint8_t>(random.Below(8)),
          random.Below(4) == 0};
}

template <typename Model>
void MatchesQueue(size_t depth, double in_stall, double out_stall, uint64_t seed) {
  Simulation<Model> stream(seed);
  Random random(seed);
  Source<Beat> source(Stalls(seed + 1, in_stall, Stalls::Kind::kBursts));
  Stalls out(seed + 2, out_stall, Stalls::Kind::kBursts);
  for (int i = 0; i < 2000; ++i) source.Push(RandomBeat(random));
  stream->in_tvalid = 0;
  stream->out_tready = 0;
  stream.Reset();
  stream.Step();  // no beat in the cycle after the reset
  std::deque<Beat> queue;
  size_t largest = 0;
  while (!(source.Empty() && queue.empty())) {
    ASSERT_LT(stream.Cycle(), 100000u);
    source.Drive();
    const Beat offered = source.Valid() ? source.Item() : RandomBeat(random);
    stream->in_tvalid = source.Valid();
    stream->in_tdata = offered.data;
    stream->in_tkeep = offered.keep;
    stream->in_tlast = offered.last;
    stream->out_tready = !out.Next();
    stream.Settle();
    ASSERT_EQ(stream->in_tready, queue.size() < depth);
    ASSERT_EQ(stream->out_tvalid, !queue.empty());
    if constexpr (!std::is_same_v<Model, Vstream_register>) {
      ASSERT_EQ(stream->count, queue.size());
    }
    if (stream->out_tvalid) {
      const Beat beat = {stream->out_tdata, stream->out_tkeep, stream->out_tlast != 0};
      ASSERT_EQ(beat, queue.front()) << "cycle " << stream.Cycle();
      if (stream->out_tready) queue.pop_front();
    }
    if (source.Taken(stream->in_tready)) queue.push_back(offered);
    largest = std::max(largest, queue.size());
    stream.Step();
  }
  EXPECT_EQ(largest, depth);  // otherwise the test has never filled it
}

template <typename Model>
void MatchesQueueUnderAllStalls(size_t depth) {
  MatchesQueue<Model>(depth, 0.5, 0.5, 21);
  MatchesQueue<Model>(depth, 0.0, 0.6, 22);
  MatchesQueue<Model>(depth, 0.1, 0.2, 23);
}

TEST(AxiStreamRegister, MatchesAQueueOfTwo) { MatchesQueueUnderAllStalls<Vstream_register>(2); }

TEST(AxiStreamFifo, MatchesAQueue) {
  MatchesQueueUnderAllStalls<Vstream_fifo_1>(1);
  MatchesQueueUnderAllStalls<Vstream_fifo_5>(5);
  MatchesQueueUnderAllStalls<Vstream_fifo_16>(16);
}

TEST(AxiStreamFifo, InMemoryMatchesAQueue) { MatchesQueueUnderAllStalls<Vstream_fifo_memory>(16); }

// Without stalls a beat is accepted and delivered in every cycle.
template <typename Model>
void DeliversABeatPerCycle() {
  constexpr uint32_t kCycles = 50;
  Simulation<Model> stream;
  stream->in_tvalid = 0;
  stream->out_tready = 1;
  stream.Reset();
  stream.Step();  // no beat in the cycle after the reset
  for (uint32_t i = 0; i < kCycles; ++i) {
    stream->in_tvalid = 1;
    stream->in_tdata = i;
    stream->in_tkeep = 7;
    stream->in_tlast = i % 3 == 2;
    stream.Settle();
    EXPECT_TRUE(stream->in_tready) << i;
    EXPECT_EQ(stream->out_tvalid, i > 0);
    if (i > 0) {
      EXPECT_EQ(stream->out_tdata, i - 1);
    }
    stream.Step();
  }
}

TEST(AxiStreamRegister, DeliversABeatPerCycle) { DeliversABeatPerCycle<Vstream_register>(); }

TEST(AxiStreamFifo, DeliversABeatPerCycle) {
  DeliversABeatPerCycle<Vstream_fifo_5>();
  DeliversABeatPerCycle<Vstream_fifo_memory>();
}

template <typename Model>
void MarksEveryLastBeat(int beats) {
  Simulation<Model> stream(1);
  Stalls stalls(2, 0.4);
  stream->beat = 0;
  stream.Reset();
  int place = 0;  // of the next beat in its packet
  for (int cycle = 0; cycle < 500; ++cycle) {
    stream->beat = !stalls.Next();
    stream.Settle();
    ASSERT_EQ(stream->last, place == beats - 1) << "cycle " << cycle;
    if (stream->beat) place = (place + 1) % beats;
    stream.Step();
  }
  stream->beat = 0;
  stream.Reset();  // also within a packet
  stream.Settle();
  EXPECT_EQ(stream->last, beats == 1);
}

TEST(StreamLast, IsWithEveryLastBeat) {
  MarksEveryLastBeat<Vstream_last_1>(1);
  MarksEveryLastBeat<Vstream_last_2>(2);
  MarksEveryLastBeat<Vstream_last_12>(12);
}

// The stage carries a checker at its input.
TEST(AxiStreamRegister, ReportsAnOfferThatIsWithdrawn) {
  Simulation<Vstream_register> stream;
  stream->in_tvalid = 0;
  stream->in_tdata = stream->in_tkeep = stream->in_tlast = 0;
  stream->out_tready = 0;
  stream.Reset();
  stream.Step();                 // no beat in the cycle after the reset
  for (int i = 0; i < 3; ++i) {  // two beats are stored, the third waits
    stream->in_tvalid = 1;
    stream.Settle();
    stream.Step();
  }
  EXPECT_FALSE(stream.TakeError());
  stream->in_tvalid = 0;
  stream.Settle();
  stream.Step();
  EXPECT_TRUE(stream.TakeError());
}

}  // namespace
}  // namespace kiln::rtl
