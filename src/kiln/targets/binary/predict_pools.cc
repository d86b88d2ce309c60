// Finds the pools behind results of the machine, and which of their candidates are finished.

#include "kiln/targets/binary/predict_pools.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/ir/window.h"

namespace kiln::binary {
namespace {

// Returns the pool that is the only reader of a value, if it is a MaxPool over height and width.
std::optional<PoolGeometry> PoolOf(const Graph& network, const Value* value) {
  if (value->users().size() != 1 || std::ranges::count(network.outputs(), value) > 0)
    return std::nullopt;
  const Node& node = *value->users()[0];
  if (node.op() != Op::kMaxPool) return std::nullopt;
  auto pool = ResolvePool(node);
  if (!pool.ok() || !pool->nhwc || pool->axes.size() != 2 || !pool->IsKnown()) return std::nullopt;
  return *std::move(pool);
}

// Returns the pool of a part of a launch's results, if its candidates can be told at a test.
std::optional<PoolGeometry> PoolOf(const NetworkProgram& program, size_t kernel,
                                   const Launch& launch, const ResultPart& part) {
  const auto i = static_cast<size_t>(part.stage);
  const StageProgram& stage = launch.program.stages[i];
  if (stage.tests() == 0 || stage.has_skip) return std::nullopt;
  // The value is a result of this stage alone, not a concatenation.
  if (part.value->name() != program.layers()[kernel][i].result) return std::nullopt;
  auto pool = PoolOf(program.network(), part.value);
  if (!pool.has_value() || pool->axes[0].input != stage.out_height) return std::nullopt;
  return pool;
}

// The sums of a stage at its first test, [pixel][channel].
struct TestedSums {
  int64_t channels = 0;
  std::vector<int64_t> sums;
};

// The pools of a part of a value that one stage computes.
class PoolsOfStage {
 public:
  PoolsOfStage(const PoolGeometry& pool, const StageProgram& stage, const ResultPart& part,
               int64_t channels, double lead)
      : pool_(pool), s_(stage), part_(part), channels_(channels) {
    const auto test = std::ranges::find_if(s_.steps, &LookupStep::test);
    steps_done_ = test - s_.steps.begin() + 1;
    const int64_t taps = int64_t{s_.kernel_height} * s_.kernel_width * s_.in_channels;
    // A step adds at most 15 for each weight of +1 and at least -15 for each of -1.
    double exact = 0;
    for (auto step = test + 1; step != s_.steps.end(); ++step)
      exact += static_cast<double>((15 * taps) << step->shift());
    lead_ = static_cast<int64_t>(lead * exact);
  }

  // Sets results of candidates that are not finished to the low bound. `codes` are the stage's
  // results, [pixel][channel of the lists].
  void Apply(const TestedSums& tested, std::vector<int32_t>* codes, PoolCounts* counts) {
    for (int64_t n = 0; n < part_.channels; ++n) ApplyToChannel(tested, n, codes, counts);
  }

 private:
  enum class Need : uint8_t { kNoPool, kSkipped, kFinished };

  // A pool's candidates in the launch: pixels, and whether these are all.
  struct Window {
    std::vector<int64_t> pixels;
    bool whole = true;
  };
  Window WindowAt(int64_t y, int64_t x) const {
    Window window;
    for (int64_t ky = 0; ky < pool_.axes[0].kernel; ++ky) {
      const int64_t at_y = pool_.axes[0].InputPosition(y, ky);
      if (at_y < 0 || at_y >= pool_.axes[0].input) continue;
      for (int64_t kx = 0; kx < pool_.axes[1].kernel; ++kx) {
        const int64_t at_x = pool_.axes[1].InputPosition(x, kx);
        if (at_x < 0 || at_x >= pool_.axes[1].input) continue;
        if (at_x < part_.x || at_x >= part_.x + s_.out_width) {
          window.whole = false;
        } else {
          window.pixels.push_back(at_y * s_.out_width + at_x - part_.x);
        }
      }
    }
    return window;
  }

  template <typename Use>
  void ForWindows(const Use& use) const {
    for (int64_t y = 0; y < pool_.axes[0].output; ++y) {
      for (int64_t x = 0; x < pool_.axes[1].output; ++x) use(WindowAt(y, x));
    }
  }

  void ApplyToChannel(const TestedSums& tested, int64_t n, std::vector<int32_t>* codes,
                      PoolCounts* counts) {
    const auto sum_of = [&](int64_t pixel) {
      return tested.sums[static_cast<size_t>(pixel * tested.channels + n)];
    };
    const auto code_of = [&](int64_t pixel) -> int32_t& {
      return (*codes)[static_cast<size_t>(pixel * channels_ + n)];
    };
    std::vector<Need> needs(static_cast<size_t>(s_.out_height) * static_cast<size_t>(s_.out_width),
                            Need::kNoPool);
    ForWindows([&](const Window& window) {
      int64_t best = std::numeric_limits<int64_t>::min();
      for (const int64_t pixel : window.pixels) best = std::max(best, sum_of(pixel));
      for (const int64_t pixel : window.pixels) {
        Need& need = needs[static_cast<size_t>(pixel)];
        if (!window.whole || best - sum_of(pixel) <= lead_) need = Need::kFinished;
        if (need == Need::kNoPool) need = Need::kSkipped;
      }
    });
    ForWindows([&](const Window& window) {
      if (!window.whole) return;
      int32_t exact = std::numeric_limits<int32_t>::min(), found = exact;
      for (const int64_t pixel : window.pixels) {
        exact = std::max(exact, code_of(pixel));
        if (needs[static_cast<size_t>(pixel)] == Need::kFinished)
          found = std::max(found, code_of(pixel));
      }
      ++counts->pools;
      counts->wrong += found != exact ? 1 : 0;
    });
    const auto steps = std::ssize(s_.steps);
    for (size_t pixel = 0; pixel < needs.size(); ++pixel) {
      if (needs[pixel] == Need::kNoPool) continue;
      const bool skipped = needs[pixel] == Need::kSkipped;
      ++counts->candidates;
      counts->steps += steps;
      counts->skipped += skipped ? 1 : 0;
      counts->looked_up += skipped ? steps_done_ : steps;
      if (skipped) code_of(static_cast<int64_t>(pixel)) = static_cast<int32_t>(s_.low);
    }
  }

  const PoolGeometry& pool_;
  const StageProgram& s_;
  const ResultPart& part_;
  const int64_t channels_;  // of the stage's lists
  int64_t steps_done_ = 0, lead_ = 0;
};

// Runs a launch, and drops the candidates that are not finished.
StageResults RunLaunch(const NetworkProgram& program, size_t kernel, const Launch& launch,
                       std::span<const int32_t> records, double lead, PoolCounts* counts) {
  const BlockProgram& block = launch.program;
  const std::vector<int64_t> channels = program.ChannelsOf(kernel, launch);
  std::vector<TestedSums> tested(block.stages.size());
  for (size_t i = 0; i < tested.size(); ++i) tested[i].channels = channels[i];
  FunctionalResult result =
      RunFunctional(block, records, channels,
                    [&](int stage, int test, int64_t /*channel*/, int64_t sum, bool /*above*/) {
                      if (test == 0) tested[static_cast<size_t>(stage)].sums.push_back(sum);
                    });
  for (const ResultPart& part : launch.results) {
    const auto i = static_cast<size_t>(part.stage);
    const StageProgram& stage = block.stages[i];
    const auto pool = PoolOf(program, kernel, launch, part);
    if (!pool.has_value()) continue;
    PoolsOfStage(*pool, stage, part, stage.channels(block.config, part.stage), lead)
        .Apply(tested[i], &result.results[i], counts);
  }
  return std::move(result.results);
}

}  // namespace

PoolCounts& PoolCounts::operator+=(const PoolCounts& other) {
  pools += other.pools;
  wrong += other.wrong;
  candidates += other.candidates;
  skipped += other.skipped;
  looked_up += other.looked_up;
  steps += other.steps;
  return *this;
}

bool HasPools(const NetworkProgram& program) {
  for (size_t k = 0; k < program.launches().size(); ++k) {
    for (const Launch& launch : program.launches()[k]) {
      for (const ResultPart& part : launch.results) {
        if (PoolOf(program, k, launch, part).has_value()) return true;
      }
    }
  }
  return false;
}

StatusOr<RunResult> RunWithPools(const NetworkProgram& program, const Batch& batch, double lead,
                                 PoolCounts* counts) {
  *counts = {};
  std::mutex mutex;
  return RunOnTensorMachines(
      program, program.network(), batch, {}, [] { return OkStatus(); },
      [&](const RtlOptions&) {
        return MakeNetworkMachine(
            program,
            [&](const KernelPlace& place, size_t l, std::span<const int32_t> records,
                Trace*) -> StatusOr<StageResults> {
              const auto k = static_cast<size_t>(place.kernel);
              PoolCounts own;
              StageResults results =
                  RunLaunch(program, k, program.launches()[k][l], records, lead, &own);
              const std::scoped_lock lock(mutex);
              *counts += own;
              return results;
            });
      });
}

}  // namespace kiln::binary
