#include "kiln/hardware/event_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kiln/support/random.h"

namespace kiln::hardware {
namespace {

constexpr int64_t kForever = int64_t{1} << 60;

Process Produce(Simulator& sim, Queue<int>& out, std::vector<int64_t> busy, int64_t latency,
                std::vector<int64_t>& pushed) {
  for (size_t i = 0; i < busy.size(); ++i) {
    co_await sim.Delay(busy[i]);
    co_await out.Push(static_cast<int>(i), latency);
    pushed.push_back(sim.now());
  }
}

Process Consume(Simulator& sim, Queue<int>& in, std::vector<int64_t> busy, std::vector<int64_t>& popped) {
  for (size_t i = 0; i < busy.size(); ++i) {
    const int item = co_await in.Pop();
    EXPECT_EQ(item, static_cast<int>(i));
    popped.push_back(sim.now());
    co_await sim.Delay(busy[i]);
  }
}

// Two stages over a bounded queue have a closed form: the recurrence of blocking tandem queues.
TEST(EventKernel, TwoStagesFollowTheTandemQueueRecurrence) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const size_t count = 1 + random.Below(30);
    const size_t capacity = 1 + random.Below(4);
    const int64_t latency = static_cast<int64_t>(random.Below(9));
    std::vector<int64_t> produce(count), consume(count);
    for (auto& v : produce) v = static_cast<int64_t>(random.Below(6));
    for (auto& v : consume) v = static_cast<int64_t>(random.Below(6));

    Simulator sim;
    Queue<int> queue(sim, capacity);
    std::vector<int64_t> pushed, popped;
    sim.Spawn("produce", Produce(sim, queue, produce, latency, pushed));
    sim.Spawn("consume", Consume(sim, queue, consume, popped));
    ASSERT_TRUE(sim.Run(kForever));
    EXPECT_TRUE(sim.unfinished().empty());

    int64_t producer = 0, consumer = 0;
    std::vector<int64_t> push_at(count), pop_at(count);
    for (size_t i = 0; i < count; ++i) {
      producer += produce[i];
      if (i >= capacity) producer = std::max(producer, pop_at[i - capacity]);
      push_at[i] = producer;
      pop_at[i] = std::max(consumer, push_at[i] + latency);
      consumer = pop_at[i] + consume[i];
    }
    EXPECT_EQ(pushed, push_at) << "seed " << seed;
    EXPECT_EQ(popped, pop_at) << "seed " << seed;
  }
}

Process Release(Simulator& sim, Counter& counter, int64_t at, int64_t n) {
  co_await sim.WaitUntil(at);
  counter.Add(n);
}

Process Await(Simulator& sim, Counter& counter, int64_t n, int64_t& at) {
  co_await counter.AtLeast(n);
  at = sim.now();
}

TEST(EventKernel, CounterWakesAllWhoseNumberIsReached) {
  Simulator sim;
  Counter counter(sim);
  int64_t a = -1, b = -1, c = -1;
  sim.Spawn("a", Await(sim, counter, 0, a));
  sim.Spawn("b", Await(sim, counter, 2, b));
  sim.Spawn("c", Await(sim, counter, 3, c));
  sim.Spawn("r1", Release(sim, counter, 5, 1));
  sim.Spawn("r2", Release(sim, counter, 9, 2));
  EXPECT_TRUE(sim.Run(kForever));
  EXPECT_EQ(a, 0);
  EXPECT_EQ(b, 9);
  EXPECT_EQ(c, 9);
}

TEST(EventKernel, DeadlockIsSeenByName) {
  Simulator sim;
  Queue<int> queue(sim, 1);
  std::vector<int64_t> popped;
  sim.Spawn("lonely", Consume(sim, queue, {1}, popped));
  EXPECT_TRUE(sim.Run(kForever));
  EXPECT_EQ(sim.unfinished(), std::vector<std::string>{"lonely"});
}

TEST(EventKernel, RunStopsAtItsLimit) {
  Simulator sim;
  Counter counter(sim);
  sim.Spawn("late", Release(sim, counter, 100, 1));
  EXPECT_FALSE(sim.Run(99));
  EXPECT_EQ(counter.value(), 0);
  EXPECT_TRUE(sim.Run(100));
  EXPECT_EQ(counter.value(), 1);
}

}  // namespace
}  // namespace kiln::hardware
