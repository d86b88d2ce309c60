// Times the best-ranked tilings of each layer at the cycle level and keeps the fastest, in parallel
// over layers and numbers of virtual threads.

#include "kiln/targets/vta/compile/tiling_search.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "kiln/hardware/axi_port.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/lower/refusal.h"

namespace kiln::vta {
namespace {

constexpr int kMeasured = 6;  // tilings that are timed at the cycle level
// If the fastest of them takes more than kGood times the bound, further tilings are timed, for
// about kMoreCycles cycles in total.
constexpr double kGood = 1.01;
constexpr int64_t kMoreCycles = 10'000'000;
// Up to kLayersOfFullEffort layers are ranked with full effort. More layers share the same total
// effort, but each gets at least kLeastEffort.
constexpr double kLayersOfFullEffort = 32, kLeastEffort = 0.25;

// A tiling and the cycles of its program.
struct TimedTiling {
  MatrixTiling tiling;
  int64_t cycles = 0;
};

struct TriedTiling {
  MatrixTiling tiling;
  bool fits = true;
};

// Times tilings of a layer and keeps the fastest.
class Trials {
 public:
  Trials(const MatrixLayer& layer, const CodeContext& context)
      : layer_(layer),
        context_(context),
        shape_(ShapeOf(layer, context.network)),
        timer_(context.config) {
    lower_bound_ = CertificateOf(shape_, context.config, 0).lower_bound;
  }

  const MatrixShape& shape() const { return shape_; }
  // Times the first `most` tilings whose micro-ops fit.
  Status Run(const std::vector<RankedTiling>& tilings, int most) {
    int measured = 0;
    for (const RankedTiling& ranked : tilings) {
      if (measured == most) break;
      KILN_ASSIGN_OR_RETURN(const bool fits, Try(ranked.tiling));
      if (fits) ++measured;
    }
    return OkStatus();
  }
  // Times tilings that the estimate may have misjudged: the best two of each size of tiles. Then
  // moves from the fastest tiling to a faster neighbour, as long as there is one.
  Status RunMore(const std::vector<RankedTiling>& tilings) {
    std::map<int, int> of_size;
    for (const RankedTiling& ranked : tilings) {
      if (!IsWorthMore()) return OkStatus();
      if (++of_size[SizeClassOf(ranked.tiling)] > 2) continue;
      KILN_RETURN_IF_ERROR(Try(ranked.tiling).status());
    }
    for (int64_t before = 0; IsWorthMore() && best_->cycles != before;) {
      before = best_->cycles;
      for (const MatrixTiling& tiling : NeighboursOf(shape_, best_->tiling, context_.config)) {
        if (!IsWorthMore()) break;
        KILN_RETURN_IF_ERROR(Try(tiling).status());
      }
    }
    return OkStatus();
  }
  // Returns the fastest tiling. Errors: Unimplemented if none fits.
  StatusOr<TimedTiling> best() const {
    if (!best_.has_value()) return reason_;
    return *best_;
  }

 private:
  bool IsWorthMore() const {
    return best_.has_value() && static_cast<double>(best_->cycles) > kGood * lower_bound_ &&
           cycles_ < kMoreCycles;
  }

  // Times a tiling and returns whether it fits. A tiling that was tried before is not timed again.
  // The run of a tiling that is not faster than the best so far is stopped as soon as that is
  // known, and counts like the best against the limit.
  StatusOr<bool> Try(const MatrixTiling& tiling) {
    const auto before = std::ranges::find(tried_, tiling, &TriedTiling::tiling);
    if (before != tried_.end()) return before->fits;
    tried_.push_back({tiling, true});
    MemoryImage image = MemoryImage::WithoutBytes();
    const auto launch = GenerateMatrix(
        layer_, tiling, {context_.config, context_.network, context_.map_addresses, &image});
    if (IsRefusal(launch.status())) {
      reason_ = launch.status();
      tried_.back().fits = false;
      return false;
    }
    KILN_RETURN_IF_ERROR(launch.status());
    const int64_t most = best_.has_value() ? best_->cycles - 1 : 0;
    std::optional<uint64_t> cycles;
    if (most == 0 || BusiestUnitOf(launch->instructions, context_.config) <= most) {
      KILN_ASSIGN_OR_RETURN(cycles, timer_.CyclesOf(launch->instructions, launch->address,
                                                    {launch->uops_address, launch->uops},
                                                    static_cast<uint64_t>(most)));
    }
    if (cycles.has_value()) best_ = TimedTiling{tiling, static_cast<int64_t>(*cycles)};
    cycles_ += best_->cycles;
    return true;
  }

  const MatrixLayer& layer_;
  const CodeContext& context_;
  const MatrixShape shape_;
  double lower_bound_ = 0;
  CycleTimer timer_;
  Status reason_ = ToHost("the input of one output needs more than the buffers hold");
  std::optional<TimedTiling> best_;
  std::vector<TriedTiling> tried_;
  int64_t cycles_ = 0;  // total of all tilings that were timed
};

// Returns the fastest of the most promising tilings with `threads` virtual threads.
StatusOr<TimedTiling> SearchWith(const MatrixLayer& layer, int threads, double effort,
                                 const CodeContext& context) {
  Trials trials(layer, context);
  std::vector<RankedTiling> ranked =
      RankTilings(trials.shape(), context.config, threads, Ranked::kBest, effort);
  KILN_RETURN_IF_ERROR(trials.Run(ranked, kMeasured));
  // If the micro-ops of none of the best tilings fit, those of a less promising one may.
  if (!ranked.empty() && !trials.best().ok()) {
    ranked = RankTilings(trials.shape(), context.config, threads, Ranked::kEvery);
    KILN_RETURN_IF_ERROR(trials.Run(ranked, kMeasured));
  }
  KILN_RETURN_IF_ERROR(trials.RunMore(ranked));
  return trials.best();
}

// The search of one layer with one number of virtual threads.
struct Task {
  size_t layer = 0;
  int threads = 0;
  StatusOr<TimedTiling> result = ToHost("no tiling was tried");
};

}  // namespace

int64_t BusiestUnitOf(const std::vector<Instruction>& program, const Config& config) {
  const auto port = static_cast<uint64_t>(config.memory_port_bytes);
  const auto beats_of = [&](Memory memory) {
    return std::max<uint64_t>(1, static_cast<uint64_t>(ElementBytes(memory, config)) / port);
  };
  uint64_t read = program.size() * std::max<uint64_t>(1, kInstructionBytes / port), gemm = 0,
           alu = 0, written = 0;
  for (const Instruction& in : program) {
    switch (in.opcode) {
      case Opcode::kLoad: {
        const uint64_t data = uint64_t{in.x_size} * in.y_size;
        if (!IsNop(in)) read += data * beats_of(in.memory) + (RectangleOf(in) - data);
        break;
      }
      case Opcode::kStore:
        if (!IsNop(in)) written += RectangleOf(in) * beats_of(in.memory);
        break;
      case Opcode::kGemm:
        (in.reset ? alu : gemm) += StepsOf(in);
        break;
      case Opcode::kAlu:
        alu += StepsOf(in);
        break;
      case Opcode::kFinish:
        break;
    }
  }
  return static_cast<int64_t>(std::max({read, gemm, alu, written}));
}

TilingMemo::Key TilingMemo::KeyOf(const MatrixLayer& layer, int threads,
                                  const CodeContext& context) {
  const MatrixShape s = ShapeOf(layer, context.network);
  const Requantisation& r = layer.requantisation;
  const KernelSize& k = s.kernel;
  Key key = {threads,
             s.height,
             s.width,
             k.y,
             k.x,
             k.stride_y,
             k.stride_x,
             k.dilation_y,
             k.dilation_x,
             s.x_step,
             s.constant_rows,
             s.alu_steps,
             s.begins_with_bias,
             s.residual,
             s.planes,
             s.one_weight,
             s.whole_columns,
             s.input.block,
             s.input.row,
             s.input.column,
             s.output.block,
             s.output.row,
             s.output.column,
             r.multiplies,
             r.least.empty(),
             r.shift > 0,
             r.sign.has_value(),
             context.map(layer.output).wide};
  if (layer.residual.has_value()) {
    const FeatureMap& map = context.map(layer.residual->map);
    key.insert(key.end(), {map.rows() * map.pitch(), layer.residual->y_step * map.pitch()});
  }
  for (const BlockRange& range : s.reads) key.insert(key.end(), {range.first, range.last});
  return key;
}

Status TilingMemo::Search(const std::vector<const MatrixLayer*>& layers, int threads,
                          const CodeContext& context) {
  std::vector<const MatrixLayer*> unknown;
  std::vector<Key> keys;
  std::set<Key> seen;
  for (const MatrixLayer* layer : layers) {
    Key key = KeyOf(*layer, threads, context);
    if (found_.contains(key) || !seen.insert(key).second) continue;
    unknown.push_back(layer);
    keys.push_back(std::move(key));
  }
  const double effort = std::clamp(
      kLayersOfFullEffort / std::max(1.0, static_cast<double>(unknown.size())), kLeastEffort, 1.0);
  // With one virtual thread nothing overlaps, so it is tried only for layers for which two do not
  // fit.
  const bool any = threads == 0;
  std::vector<Task> tasks;
  for (size_t i = 0; i < unknown.size(); ++i) {
    for (int t = any ? kMaxThreads : threads; t >= (any ? 2 : threads); --t)
      tasks.push_back({.layer = i, .threads = t});
  }
  ParallelFor(std::ssize(tasks), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Task& task = tasks[static_cast<size_t>(i)];
      task.result = SearchWith(*unknown[task.layer], task.threads, effort, context);
    }
  });
  for (size_t i = 0, at = 0; i < unknown.size(); ++i) {
    StatusOr<TimedTiling> best = ToHost("no tiling was tried");
    int tried = 0;
    const auto consider = [&](StatusOr<TimedTiling> result) -> Status {
      if (!result.ok() && !IsRefusal(result.status())) return result.status();
      if (!best.ok() || (result.ok() && result->cycles < best->cycles)) best = std::move(result);
      return OkStatus();
    };
    for (; at < tasks.size() && tasks[at].layer == i; ++at) {
      tried = tasks[at].threads;
      KILN_RETURN_IF_ERROR(consider(std::move(tasks[at].result)));
    }
    while (!best.ok() && tried > 1)
      KILN_RETURN_IF_ERROR(consider(SearchWith(*unknown[i], --tried, effort, context)));
    if (best.ok()) {
      found_.emplace(std::move(keys[i]), best->tiling);
    } else {
      found_.emplace(std::move(keys[i]), best.status());
    }
  }
  return OkStatus();
}

StatusOr<MatrixTiling> TilingMemo::TilingOf(const MatrixLayer& layer, int threads,
                                            const CodeContext& context) const {
  const auto at = found_.find(KeyOf(layer, threads, context));
  KILN_CHECK(at != found_.end());
  return at->second;
}

}  // namespace kiln::vta
