// Compares kiln_fifo and kiln_deep_fifo with std::deque, with random stalls on both sides.
#include <deque>

#include "Vdeep_fifo_16.h"
#include "Vdeep_fifo_2.h"
#include "Vdeep_fifo_3.h"
#include "Vfifo_1.h"
#include "Vfifo_16.h"
#include "Vfifo_2.h"
#include "Vfifo_3.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

constexpr uint64_t kMask = (uint64_t{1} << 37) - 1;

template <typename Model>
void MatchesDeque(size_t depth, double in_stall, double out_stall, uint64_t seed) {
  Simulation<Model> fifo(seed);
  Random random(seed);
  Source<uint64_t> source(Stalls(seed + 1, in_stall, Stalls::Kind::kBursts));
  Stalls out(seed + 2, out_stall, Stalls::Kind::kBursts);
  for (int i = 0; i < 2000; ++i) {
    source.Push(random() & kMask);
  }
  fifo->in_valid = 0;
  fifo->out_ready = 0;
  fifo.Reset();
  std::deque<uint64_t> model;
  size_t largest = 0;
  while (!(source.Empty() && model.empty())) {
    ASSERT_LT(fifo.Cycle(), 100000u);
    source.Drive();
    fifo->in_valid = source.Valid();
    fifo->in_data = source.Valid() ? source.Item() : random() & kMask;
    fifo->out_ready = !out.Next();
    fifo.Settle();
    ASSERT_EQ(fifo->count, model.size());
    ASSERT_EQ(fifo->in_ready, model.size() < depth);
    ASSERT_EQ(fifo->out_valid, !model.empty());
    if (fifo->out_valid) {
      ASSERT_EQ(fifo->out_data, model.front());
    }
    if (fifo->out_valid && fifo->out_ready) {
      model.pop_front();
    }
    if (fifo->in_valid && fifo->in_ready) {
      model.push_back(fifo->in_data);
    }
    source.Taken(fifo->in_ready);
    largest = std::max(largest, model.size());
    fifo.Step();
  }
  EXPECT_EQ(largest, depth);  // else the test has never seen it full
}

template <typename Model>
void MatchesDequeUnderAllStalls(size_t depth) {
  MatchesDeque<Model>(depth, 0.5, 0.5, 11);
  MatchesDeque<Model>(depth, 0.0, 0.6, 12);
  MatchesDeque<Model>(depth, 0.1, 0.2, 13);
}

TEST(Fifo, MatchesDeque) {
  MatchesDequeUnderAllStalls<Vfifo_1>(1);
  MatchesDequeUnderAllStalls<Vfifo_2>(2);
  MatchesDequeUnderAllStalls<Vfifo_3>(3);
  MatchesDequeUnderAllStalls<Vfifo_16>(16);
}

TEST(DeepFifo, MatchesDeque) {
  MatchesDequeUnderAllStalls<Vdeep_fifo_2>(2);
  MatchesDequeUnderAllStalls<Vdeep_fifo_3>(3);
  MatchesDequeUnderAllStalls<Vdeep_fifo_16>(16);
}

}  // namespace
}  // namespace kiln::rtl
