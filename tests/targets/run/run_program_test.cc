// The room's runs of programs, on a machine made for these tests.
#include "kiln/targets/run/run_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/support/parallel.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two kernels, of 3 and 4 multiply-accumulates for one image.
class TwoKernelProgram final : public Program {
 public:
  explicit TwoKernelProgram(int64_t at_once) {
    images_at_once_ = at_once;
    for (const int64_t macs : {3, 4}) kernels_.emplace_back().macs = macs;
  }
  std::string Print() const override { return "fake"; }
};

// How machines behave, and what has become of them.
struct Behaviour {
  bool has_time = true;
  bool reuses = true;
  Status prepared;
  int prepares = 0;
  std::mutex mutex;                         // of what follows
  std::vector<int64_t> made;                // the first images of new machines
  std::vector<std::pair<int, int>> groups;  // first image and count, in order of Begin
};

// Takes x of 1x2 and a scalar s for each image. Gives x * s with codes of twice the value, and the
// sum of x (without an axis of images) with no codes. An image whose s is negative stops the
// machine: of several it names the last one, which a machine may well meet first.
class FakeMachine final : public ImageMachine {
 public:
  explicit FakeMachine(Behaviour& behaviour) : behaviour_(behaviour) {}

  void Begin(const ImageGroup& group) override {
    group_ = group;
    rows_.assign(static_cast<size_t>(group.count), {});
    std::lock_guard lock(behaviour_.mutex);
    behaviour_.groups.emplace_back(group.first, group.count);
  }
  Status Load(int64_t row, size_t input, const Tensor& tensor) override {
    Row& to = rows_[static_cast<size_t>(row)];
    const auto numbers = tensor.data<float>();
    (input == 0 ? to.x : to.s).assign(numbers.begin(), numbers.end());
    return OkStatus();
  }
  StatusOr<Trace> Run() override {
    for (size_t row = rows_.size(); row-- > 0;) {
      if (rows_[row].s[0] < 0) {
        return absl::InternalError(
            fmt::format("image {} stops the machine", group_.first + static_cast<int64_t>(row)));
      }
    }
    // Kernel 0 in two instructions, then kernel 1; 100 cycles more for every image of the batch
    // that comes before.
    Trace trace;
    trace.kernels = {{0, 0, 4, 0}, {0, 4, 10, 0}, {1, 10, 12, 0}};
    trace.cycles = 12 + 100 * group_.first;
    return trace;
  }
  std::vector<OutputTensor> Outputs(int64_t row) const override {
    const auto& [x, s] = rows_[static_cast<size_t>(row)];
    const Tensor product = Tensor::Of<float>({1, 2}, {x[0] * s[0], x[1] * s[0]});
    const Tensor codes = Tensor::Of<int8_t>(
        {1, 2}, {static_cast<int8_t>(2 * x[0] * s[0]), static_cast<int8_t>(2 * x[1] * s[0])});
    const Tensor sum = Tensor::Of<float>({}, {x[0] + x[1]});
    return {{product, codes}, {sum, sum}};
  }

 private:
  struct Row {
    std::vector<float> x, s;
  };
  Behaviour& behaviour_;
  ImageGroup group_;
  std::vector<Row> rows_;
};

class FakeFactory final : public MachineFactory {
 public:
  explicit FakeFactory(Behaviour& behaviour) : behaviour_(behaviour) {}
  std::vector<ProgramInput> Inputs() const override {
    return {{"x", ElementType::kFloat32, {1, 2}}, {"s", ElementType::kFloat32, {}}};
  }
  Status Prepare() override {
    ++behaviour_.prepares;
    return behaviour_.prepared;
  }
  StatusOr<std::unique_ptr<ImageMachine>> Make(int64_t first) override {
    std::lock_guard lock(behaviour_.mutex);
    behaviour_.made.push_back(first);
    return std::make_unique<FakeMachine>(behaviour_);
  }
  bool HasTime() const override { return behaviour_.has_time; }
  bool ReusesMachines() const override { return behaviour_.reuses; }

 private:
  Behaviour& behaviour_;
};

// Image i has x = (i, 1) and the s that is given for it.
Batch BatchOf(const std::vector<float>& s) {
  std::vector<float> x;
  for (size_t i = 0; i < s.size(); ++i) {
    x.push_back(static_cast<float>(i));
    x.push_back(1);
  }
  const auto images = static_cast<int64_t>(s.size());
  return {.inputs = {Tensor::Of<float>({images, 2}, x), Tensor::Of<float>({images}, s)}};
}

StatusOr<RunResult> RunFake(Behaviour& behaviour, const Batch& batch, int64_t at_once = 1,
                            const RunOptions& options = {}) {
  FakeFactory factory(behaviour);
  return RunProgram(TwoKernelProgram(at_once), batch, options, factory);
}

class RunProgramTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { SetThreadCount(GetParam()); }
  void TearDown() override { SetThreadCount(0); }
  Behaviour behaviour_;
};

TEST_P(RunProgramTest, JoinsValuesAndCodesOfAllImages) {
  for (const int64_t at_once : {1, 2, 4}) {
    const auto result = RunFake(behaviour_, BatchOf({1, 2, 3}), at_once);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_EQ(result->outputs.size(), 2u);
    EXPECT_EQ(result->outputs[0], Tensor::Of<float>({3, 2}, {0, 1, 2, 2, 6, 3}));
    EXPECT_EQ(result->outputs[1], Tensor::Of<float>({3}, {1, 2, 3}));
    ASSERT_EQ(result->codes.size(), 2u);
    EXPECT_EQ(result->codes[0], Tensor::Of<int8_t>({3, 2}, {0, 2, 4, 4, 12, 6}));
    EXPECT_EQ(result->codes[1], Tensor::Of<float>({3}, {1, 2, 3}));
  }
}

TEST_P(RunProgramTest, TheTraceIsTheFirstGroupsAndItsImagesShareCycles) {
  const auto alone = RunFake(behaviour_, BatchOf({1, 1, 1}));
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(alone->cycles_per_image, ElementsAre(12, 112, 212));
  EXPECT_EQ(alone->trace.images, 1);
  EXPECT_EQ(alone->trace.cycles, 12);
  ASSERT_EQ(alone->trace.kernels.size(), 2u);
  EXPECT_EQ(alone->trace.kernels[0].end, 10);
  EXPECT_EQ(alone->trace.kernels[0].macs, 3);

  const auto together = RunFake(behaviour_, BatchOf({1, 1, 1, 1, 1}), 3);
  ASSERT_TRUE(together.ok()) << together.status();
  EXPECT_THAT(together->cycles_per_image, ElementsAre(12, 12, 12, 312, 312));
  EXPECT_EQ(together->trace.images, 3);
  ASSERT_EQ(together->trace.kernels.size(), 2u);
  EXPECT_EQ(together->trace.kernels[0].macs, 9);
  EXPECT_EQ(together->trace.kernels[1].macs, 12);
}

TEST_P(RunProgramTest, MachinesWithoutTimeGiveNeitherTraceNorCycles) {
  behaviour_.has_time = false;
  const auto result = RunFake(behaviour_, BatchOf({1, 1}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->cycles_per_image, IsEmpty());
  EXPECT_EQ(result->trace.cycles, 0);
  EXPECT_THAT(result->trace.kernels, IsEmpty());
}

TEST_P(RunProgramTest, TheErrorIsThatOfTheLowestImage) {
  std::vector<float> s(64, 1);
  s[20] = s[21] = s[45] = s[63] = -1;
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(MessageOf(RunFake(behaviour_, BatchOf(s)).status()), "image 20 stops the machine");
  }
}

// Images 4 to 7 run at once, and the machine stops at 6, the last of them that fails; 5 is the
// lowest.
TEST_P(RunProgramTest, TheErrorIsThatOfTheLowestOfImagesAtOnce) {
  std::vector<float> s(12, 1);
  s[5] = s[6] = s[9] = -1;
  EXPECT_EQ(MessageOf(RunFake(behaviour_, BatchOf(s), 4).status()), "image 5 stops the machine");
}

TEST_P(RunProgramTest, ProgressCountsTheImagesOfEveryGroup) {
  std::vector<int64_t> done;  // written without a lock: calls do not overlap
  RunOptions options;
  options.on_progress = [&](int64_t images) { done.push_back(images); };
  ASSERT_TRUE(RunFake(behaviour_, BatchOf({1, 1, 1, 1}), 1, options).ok());
  EXPECT_THAT(done, ElementsAre(1, 2, 3, 4));
  done.clear();
  ASSERT_TRUE(RunFake(behaviour_, BatchOf({1, 1, 1, 1, 1, 1}), 3, options).ok());
  EXPECT_THAT(done, ElementsAre(3, 6));
}

INSTANTIATE_TEST_SUITE_P(Threads, RunProgramTest, testing::Values(1, 4));

TEST(RunProgram, MachinesAreReusedWhereTheyMayBe) {
  SetThreadCount(1);
  Behaviour once, anew;
  ASSERT_TRUE(RunFake(once, BatchOf({1, 1, 1, 1, 1}), 2).ok());
  anew.reuses = false;
  ASSERT_TRUE(RunFake(anew, BatchOf({1, 1, 1, 1, 1}), 2).ok());
  SetThreadCount(0);
  EXPECT_THAT(once.made, ElementsAre(0));
  EXPECT_THAT(anew.made, ElementsAre(0, 2, 4));
  EXPECT_THAT(once.groups, ElementsAre(std::pair(0, 2), std::pair(2, 2), std::pair(4, 1)));
  EXPECT_EQ(anew.groups, once.groups);
}

TEST(RunProgram, AMachineThatHasFailedIsNotUsedAgain) {
  SetThreadCount(1);
  Behaviour behaviour;
  EXPECT_FALSE(RunFake(behaviour, BatchOf({1, -1}), 2).ok());
  SetThreadCount(0);
  // The group's machine, and the one that runs its images alone.
  EXPECT_THAT(behaviour.made, ElementsAre(0, 0));
  EXPECT_THAT(behaviour.groups, ElementsAre(std::pair(0, 2), std::pair(0, 1), std::pair(1, 1)));
}

TEST(RunProgram, InputsThatDoNotFitAreNamed) {
  Behaviour behaviour;
  Batch batch = BatchOf({1, 1, 1});
  const auto message = [&] { return MessageOf(RunFake(behaviour, batch).status()); };
  batch.inputs[1] = Tensor::Of<float>({2}, {1, 1});
  EXPECT_EQ(message(), "input 's': has shape 2; the network takes 3 for as many images");
  batch.inputs[0] = Tensor::Of<float>({3, 1}, {1, 1, 1});
  EXPECT_EQ(message(), "input 'x': has shape 3x1; the network takes 3x2 for as many images");
  batch.inputs[0] = Tensor(ElementType::kInt8, {3, 2});
  EXPECT_EQ(message(), "input 'x': is given as i8; the network takes f32");
  batch.inputs.pop_back();
  EXPECT_EQ(message(), "1 inputs were given; the network has 2");
  EXPECT_EQ(behaviour.prepares, 0);
}

TEST(RunProgram, MachinesArePreparedOnce) {
  Behaviour behaviour;
  ASSERT_TRUE(RunFake(behaviour, BatchOf({1, 1, 1})).ok());
  EXPECT_EQ(behaviour.prepares, 1);
  behaviour.prepared = absl::InternalError("no simulator");
  EXPECT_EQ(MessageOf(RunFake(behaviour, BatchOf({1})).status()), "no simulator");
  EXPECT_EQ(behaviour.prepares, 2);
}

TEST(RunProgram, ABatchWithoutImagesGivesNothing) {
  Behaviour behaviour;
  const auto result = RunFake(behaviour, BatchOf({}));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->outputs, IsEmpty());
  EXPECT_EQ(behaviour.prepares, 0);
}

}  // namespace
}  // namespace kiln
