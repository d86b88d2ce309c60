#include "kiln/execute/run_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kiln/support/parallel.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using Groups = std::vector<std::pair<int64_t, int64_t>>;

class RunGroupsTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { SetThreadCount(GetParam()); }
  void TearDown() override { SetThreadCount(0); }

  // Runs a loop in which a group fails that holds one of `failing`, with the group's images as the
  // message, and records the groups that were run.
  Status Run(BatchLoop loop, const std::set<int64_t>& failing = {}) {
    groups_.clear();
    return RunGroups(loop, [&](const ImageGroup& group) -> Status {
      std::lock_guard lock(mutex_);
      groups_.emplace_back(group.first, group.count);
      for (int64_t i = group.first; i < group.first + group.count; ++i) {
        if (failing.contains(i)) {
          return absl::InternalError(std::to_string(group.first) + "+" +
                                     std::to_string(group.count));
        }
      }
      return OkStatus();
    });
  }
  Groups Sorted() const {
    Groups sorted = groups_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  std::mutex mutex_;
  Groups groups_;  // in the order in which they began
};

TEST_P(RunGroupsTest, EveryImageIsRunOnceAndTheLastGroupHasTheRest) {
  EXPECT_EQ(Run({.images = 7, .at_once = 3}), OkStatus());
  EXPECT_THAT(Sorted(), ElementsAre(Pair(0, 3), Pair(3, 3), Pair(6, 1)));
  EXPECT_EQ(Run({.images = 3}), OkStatus());
  EXPECT_THAT(Sorted(), ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1)));
  EXPECT_EQ(Run({.images = 0, .first_alone = true}), OkStatus());
  EXPECT_THAT(groups_, IsEmpty());
}

TEST_P(RunGroupsTest, TheErrorIsThatOfTheLowestImage) {
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(MessageOf(Run({.images = 200}, {90, 91, 120, 199})), "90+1");
    EXPECT_EQ(MessageOf(Run({.images = 200, .first_alone = true}, {0, 120})), "0+1");
  }
}

// Images 4 to 7 run together and stop at some image; alone, 6 is the first of them that fails.
TEST_P(RunGroupsTest, TheLowestImageOfAGroupThatFailsIsFoundAlone) {
  EXPECT_EQ(MessageOf(Run({.images = 16, .at_once = 4}, {6, 7, 13})), "6+1");
  const Groups run = Sorted();
  for (const int64_t image : {4, 5, 6}) EXPECT_THAT(run, testing::Contains(Pair(image, 1)));
  EXPECT_THAT(run, testing::Not(testing::Contains(Pair(7, 1))));
}

TEST_P(RunGroupsTest, AGroupThatFailsOnlyTogetherHasItsOwnError) {
  const Status status = RunGroups({.images = 6, .at_once = 3}, [](const ImageGroup& group) {
    return group.count == 1 ? OkStatus() : absl::InternalError(std::to_string(group.first));
  });
  EXPECT_EQ(MessageOf(status), "0");
}

TEST_P(RunGroupsTest, ProgressCountsImagesOneCallAtATime) {
  std::vector<int64_t> done;  // written without a lock: calls do not overlap
  const BatchProgress progress = [&](int64_t images, int64_t total) {
    EXPECT_EQ(total, 10);
    done.push_back(images);
  };
  EXPECT_EQ(Run({.images = 10, .progress = progress}), OkStatus());
  EXPECT_THAT(done, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  done.clear();
  EXPECT_EQ(Run({.images = 10, .at_once = 10, .progress = progress}), OkStatus());
  EXPECT_THAT(done, ElementsAre(10));
}

// The first group takes long enough for others to begin beside it.
TEST_P(RunGroupsTest, TheFirstGroupEndsBeforeOthersBegin) {
  std::atomic<bool> first_has_ended = false;
  const Status status = RunGroups(
      {.images = 20, .at_once = 2, .first_alone = true}, [&](const ImageGroup& group) -> Status {
        if (group.first > 0) return first_has_ended ? OkStatus() : absl::InternalError("early");
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        first_has_ended = true;
        return OkStatus();
      });
  EXPECT_EQ(status, OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Threads, RunGroupsTest, testing::Values(1, 4));

// Image 0 fails after image 1, where a second thread runs that in the meantime.
TEST(RunGroups, AHigherImageThatFailsFirstDoesNotCount) {
  SetThreadCount(4);
  std::atomic<bool> other_has_failed = false;
  const Status status = RunGroups({.images = 2}, [&](const ImageGroup& group) -> Status {
    if (group.first == 0) {
      for (int i = 0; i < 2000 && !other_has_failed; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until it has been reported
    }
    other_has_failed = other_has_failed || group.first == 1;
    return absl::InternalError(std::to_string(group.first));
  });
  SetThreadCount(0);
  EXPECT_EQ(MessageOf(status), "0");
}

TEST(RunGroups, DoesNotStartGroupsAboveOneThatFailed) {
  SetThreadCount(1);
  std::vector<int64_t> started, done;
  const Status status =
      RunGroups({.images = 5, .progress = [&](int64_t images, int64_t) { done.push_back(images); }},
                [&](const ImageGroup& group) {
                  started.push_back(group.first);
                  return group.first == 2 ? absl::InternalError("2") : OkStatus();
                });
  SetThreadCount(0);
  EXPECT_EQ(MessageOf(status), "2");
  EXPECT_THAT(started, ElementsAre(0, 1, 2));
  EXPECT_THAT(done, ElementsAre(1, 2));
}

// Results with an axis of images, without one, and scalars.
TEST(BatchTensors, ImagesStandAtTheirPlacesInAnyOrder) {
  BatchTensors batch(3);
  for (const int64_t image : {2, 0, 1}) {
    const auto v = static_cast<float>(10 * image);
    batch.Add(image, std::vector<Tensor>{Tensor::Of<float>({1, 2}, {v, v + 1}),
                                         Tensor::Of<int32_t>({2}, {1, 2}),
                                         Tensor::Of<int8_t>({}, {static_cast<int8_t>(image)})});
  }
  const std::vector<Tensor> joined = batch.Take();
  ASSERT_EQ(joined.size(), 3u);
  EXPECT_EQ(joined[0], Tensor::Of<float>({3, 2}, {0, 1, 10, 11, 20, 21}));
  EXPECT_EQ(joined[1], Tensor::Of<int32_t>({3, 2}, {1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(joined[2], Tensor::Of<int8_t>({3}, {0, 1, 2}));
  EXPECT_THAT(BatchTensors(4).Take(), IsEmpty());
}

}  // namespace
}  // namespace kiln
