// Tests of task graphs on threads: dependencies, the ordered lane, and errors.
#include "kiln/support/tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kiln/support/random.h"

namespace kiln {
namespace {

// Tasks that wait for up to three others; about every third in the lane.
std::vector<Task> RandomTasks(Random& random) {
  std::vector<Task> tasks(2 + random.Below(30));
  for (size_t i = 0; i < tasks.size(); ++i) {
    for (size_t k = random.Below(4); k > 0 && i > 0; --k) tasks[i].after.push_back(random.Below(i));
    tasks[i].in_lane = random.Below(3) == 0;
  }
  return tasks;
}

TEST(Tasks, EveryTaskRunsOnceBehindThoseItWaitsFor) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Task> tasks = RandomTasks(random);
    std::vector<std::atomic<int>> runs(tasks.size());
    std::atomic<bool> early = false;
    for (size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].work = [&, i] {
        for (const size_t before : tasks[i].after) early = early || runs[before] != 1;
        ++runs[i];
        return OkStatus();
      };
    }
    EXPECT_EQ(RunTasks(tasks, 1 + round % 5), OkStatus());
    EXPECT_FALSE(early);
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(Tasks, TheLaneKeepsItsOrder) {
  std::vector<size_t> seen;
  std::vector<Task> tasks(5);
  for (size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].in_lane = i != 1;
    tasks[i].work = [&seen, i] {
      if (i != 1) seen.push_back(i);
      return OkStatus();
    };
  }
  tasks[2].after = {1};
  EXPECT_EQ(RunTasks(tasks, 2), OkStatus());
  EXPECT_EQ(seen, (std::vector<size_t>{0, 2, 3, 4}));
}

TEST(Tasks, OneThreadIsTheCallingOne) {
  std::vector<size_t> seen;
  std::vector<Task> tasks(6);
  for (size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].in_lane = i % 2 == 1;
    tasks[i].work = [&seen, i, caller = std::this_thread::get_id()] {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      seen.push_back(i);
      return OkStatus();
    };
  }
  EXPECT_EQ(RunTasks(tasks, 1), OkStatus());
  EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 2, 3, 4, 5}));
}

// The lane's task ends when the other has begun, the other when the lane's has.
TEST(Tasks, OneOfTwoThreadsIsTheLanes) {
  std::latch both(2);
  const auto meet = [&both] {
    both.count_down();
    for (int i = 0; i < 60000; ++i) {
      if (both.try_wait()) return OkStatus();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return absl::InternalError("alone");
  };
  EXPECT_EQ(RunTasks(std::vector<Task>{{meet, {}, false}, {meet, {}, true}}, 2), OkStatus());
}

TEST(Tasks, TheErrorIsTheFirstInTheOrderOfTasks) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<Task> tasks = RandomTasks(random);
    std::vector<bool> fails(tasks.size());
    for (size_t i = 0; i < tasks.size(); ++i) fails[i] = random.Below(4) == 0;
    std::vector<std::atomic<int>> runs(tasks.size());
    for (size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].work = [&, i] {
        ++runs[i];
        return fails[i] ? absl::InternalError(std::to_string(i)) : OkStatus();
      };
    }
    size_t first = 0;
    while (first < fails.size() && !fails[first]) ++first;
    const Status status = RunTasks(tasks, 1 + round % 5);
    if (first == fails.size()) {
      EXPECT_EQ(status, OkStatus());
      continue;
    }
    EXPECT_EQ(status, absl::InternalError(std::to_string(first)));
    for (size_t i = 0; i <= first; ++i) EXPECT_EQ(runs[i], 1);
    for (size_t i = 0; i < fails.size(); ++i) {
      for (const size_t before : tasks[i].after) EXPECT_FALSE(fails[before] && runs[i] > 0);
    }
  }
}

// The work behind one that throws never starts, and nothing waits for it for ever.
TEST(Tasks, WhatATaskThrowsIsItsError) {
  for (const bool in_lane : {false, true}) {
    for (int threads = 1; threads < 5; ++threads) {
      std::atomic<int> behind = 0;
      const auto count = [&behind] {
        ++behind;
        return OkStatus();
      };
      const auto run = [&](std::function<Status()> work) {
        return RunTasks(std::vector<Task>{{[] { return OkStatus(); }, {}, !in_lane},
                                          {std::move(work), {0}, in_lane},
                                          {count, {1}, !in_lane},
                                          {count, {1}, in_lane}},
                        threads);
      };
      EXPECT_EQ(run([]() -> Status { throw std::bad_alloc(); }),
                absl::ResourceExhaustedError("out of memory"));
      EXPECT_EQ(run([]() -> Status { throw std::runtime_error("lost"); }),
                absl::InternalError("a fault of Kiln: lost"));
      EXPECT_EQ(behind, 0);
    }
  }
}

}  // namespace
}  // namespace kiln
