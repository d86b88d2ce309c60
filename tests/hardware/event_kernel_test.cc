// Tests of the event-driven kernel of the cycle models: waiting, deadlock detection and the end of
// runs.
#include "kiln/hardware/event_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
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

Process Consume(Simulator& sim, Queue<int>& in, std::vector<int64_t> busy,
                std::vector<int64_t>& popped) {
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

// An arbiter that puts an item into a queue at the end of a cycle, ready three cycles later.
class PutsOne final : public EndOfCycle {
 public:
  explicit PutsOne(Queue<int>& queue) : queue_(queue) {}
  void At(int64_t cycle) override { queue_.Put(42, cycle + 3); }

 private:
  Queue<int>& queue_;
};

Process TakesOne(Simulator& simulator, Queue<int>& queue, int* item, int64_t* cycle) {
  *item = co_await queue.Pop();
  *cycle = simulator.now();
}

TEST(EventKernel, ItemsArePutAtTheEndOfACycle) {
  Simulator simulator;
  Queue<int> queue(simulator, 1);
  PutsOne puts(queue);
  int item = 0;
  int64_t cycle = 0;
  simulator.Spawn("taker", TakesOne(simulator, queue, &item, &cycle));
  simulator.AtEndOf(5, &puts);
  EXPECT_TRUE(simulator.Run(100));
  EXPECT_EQ(item, 42);
  EXPECT_EQ(cycle, 8);
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

Part WaitTwice(Simulator& sim, int64_t first, int64_t second, int* done) {
  co_await sim.Delay(first);
  ++*done;
  co_await sim.Delay(second);
  ++*done;
}
Process InParts(Simulator& sim, std::vector<int64_t>& times, int* done) {
  co_await WaitTwice(sim, 0, 0, done);  // ends without giving way
  times.push_back(sim.now());
  co_await WaitTwice(sim, 3, 4, done);
  times.push_back(sim.now());
  for (int i = 0; i < 3; ++i) co_await WaitTwice(sim, 1, 1, done);
  times.push_back(sim.now());
}

TEST(EventKernel, AProcessWaitsForItsParts) {
  Simulator sim;
  std::vector<int64_t> times;
  int done = 0;
  sim.Spawn("in parts", InParts(sim, times, &done));
  ASSERT_TRUE(sim.Run(kForever));
  EXPECT_EQ(times, (std::vector<int64_t>{0, 7, 13}));
  EXPECT_EQ(done, 10);
}

// A process that is destroyed inside a part takes the part along.
TEST(EventKernel, PartsEndWithTheirProcess) {
  std::vector<int64_t> times;
  int done = 0;
  {
    Simulator sim;
    sim.Spawn("in parts", InParts(sim, times, &done));
    EXPECT_FALSE(sim.Run(4));
    EXPECT_EQ(sim.unfinished().size(), 1u);
  }
  EXPECT_EQ(times, std::vector<int64_t>{0});
  EXPECT_EQ(done, 3);
}

class LogEnd final : public EndOfCycle {
 public:
  explicit LogEnd(std::vector<std::string>& log) : log_(log) {}
  void At(int64_t cycle) override { log_.push_back("end of " + std::to_string(cycle)); }

 private:
  std::vector<std::string>& log_;
};
Process LogAt(Simulator& sim, int64_t first, std::vector<std::string>& log) {
  co_await sim.Delay(first);
  log.push_back("in " + std::to_string(sim.now()));
  co_await sim.Delay(2);
  log.push_back("in " + std::to_string(sim.now()));
}

TEST(EventKernel, TheEndOfACycleComesBehindAllOfIt) {
  Simulator sim;
  std::vector<std::string> log;
  LogEnd end(log);
  for (int64_t at : {9, 3, 2, 0}) sim.AtEndOf(at, &end);
  sim.Spawn("a", LogAt(sim, 1, log));
  sim.Spawn("b", LogAt(sim, 3, log));
  EXPECT_FALSE(sim.Run(8));
  EXPECT_EQ(log, (std::vector<std::string>{"end of 0", "in 1", "end of 2", "in 3", "in 3",
                                           "end of 3", "in 5"}));
  EXPECT_EQ(sim.now(), 5);
  EXPECT_TRUE(sim.Run(9));
  EXPECT_EQ(log.back(), "end of 9");
  EXPECT_EQ(sim.now(), 5) << "what is no event moves no time";
}

}  // namespace
}  // namespace kiln::hardware
