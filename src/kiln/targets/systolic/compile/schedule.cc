// Searches the space of tilings and certifies the result (schedule.h).
#include "kiln/targets/systolic/compile/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "fmt/format.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"
#include "kiln/targets/lower/refusal.h"
#include "kiln/targets/systolic/compile/axis_sums.h"
#include "kiln/targets/systolic/config/derived.h"
#include "kiln/targets/systolic/isa/timing.h"
#include "kiln/targets/systolic/isa/walk.h"

namespace kiln::systolic {
namespace {

// The limit of steps of the exact recurrence in one search; ResNet-50's layers need a few million.
constexpr int64_t kWorkLimit = 40'000'000;
constexpr int64_t kBoundGrain = 256;  // tilings whose bounds one thread computes at a time
constexpr size_t kMostOfRound = 64;   // limit of the tilings that are timed at the same time

// Returns the tile sizes of even cuts of `total` into 1, 2, ... pieces: each size once, largest
// first, none above `most`.
std::vector<int32_t> EvenCuts(int64_t total, int64_t most) {
  std::vector<int32_t> sizes;
  for (int64_t pieces = 1; pieces <= total;) {
    const int64_t size = CeilDivide(total, pieces);
    if (size <= most) sizes.push_back(static_cast<int32_t>(size));
    if (size == 1) break;
    pieces = CeilDivide(total, size - 1);  // the least number of pieces with a smaller size
  }
  return sizes;
}

// Returns 1, 2, 4, ..., `most`, and the size of the even cut of `total` into pieces of at most
// `most`: each once, ascending.
std::vector<int32_t> Amounts(int64_t total, int64_t most) {
  most = std::min(total, most);
  std::vector<int32_t> amounts;
  for (int64_t amount = 1; amount < most; amount *= 2)
    amounts.push_back(static_cast<int32_t>(amount));
  amounts.push_back(static_cast<int32_t>(CeilDivide(total, CeilDivide(total, most))));
  amounts.push_back(static_cast<int32_t>(most));
  std::sort(amounts.begin(), amounts.end());
  amounts.erase(std::unique(amounts.begin(), amounts.end()), amounts.end());
  return amounts;
}

// A lower bound on EstimateCycles in closed form: each unit's own work, and the work that must
// precede and follow the array's.
class Bounder {
 public:
  Bounder(const Instruction& instruction, const Config& config)
      : in_(instruction), config_(config) {}

  int64_t Of(const Tiling& tiling) {
    in_.tiling = tiling;
    const Convolution& c = in_.convolution;
    const Geometry g = GeometryOf(in_, config_);
    const bool depthwise = in_.opcode == Opcode::kDepthwise;
    const int64_t visits = CountVisits(in_, config_);
    const int64_t pixels = int64_t{c.out_height} * c.out_width;
    const int64_t tiles = int64_t{g.tiles_y} * g.tiles_x;

    // Vector unit: the words of all blocks, and the latency of operands once for each drain.
    const int64_t last = ValidColumns(in_, config_, g.column_tiles - 1);
    const int64_t drain_pixel = (g.column_tiles - 1) * Word(config_.lanes()) + Word(last);
    const bool reads = ReadsMemory(in_.vector);
    const int64_t drain_waits = reads ? config_.memory_latency + 1 : 0;
    const int64_t drains = c.batch * pixels * drain_pixel + visits * drain_waits;
    // A last word that waits long for its operands may be in memory before its slot ends.
    const int64_t tail = PipelineDepth(in_.vector, config_) + (reads ? 0 : config_.memory_latency);

    // Input fetch.
    int64_t inputs = 0;
    const AxisSums y = SumsOf(g.y, c.out_height, tiling.tile_height, c.height);
    const AxisSums x = SumsOf(g.x, c.out_width, tiling.tile_width, c.width);
    const int32_t groups = depthwise ? g.column_tiles : g.groups;
    for (int32_t group = 0; group < groups; ++group) {
      if (tiling.packing == Packing::kTaps) {
        inputs += pixels * LeastPackedWordBeats(in_, config_, group);
      } else {
        const int64_t per_word = depthwise ? config_.array_columns : config_.array_rows;
        const int64_t bytes = std::min<int64_t>(per_word, c.channels - group * per_word) *
                              config_.input_format.bytes();
        const int64_t beats = LeastBeats(bytes, config_.input_port_bytes);
        inputs += y.places * x.places + y.inside * x.inside * (beats - 1);
      }
    }
    if (depthwise) {
      const int64_t most = config_.depthwise_words_per_cycle;  // words of a request
      inputs = CeilDivide(inputs,
                          g.joined_rows ? most : std::min<int64_t>(most, tiling.groups_per_bank));
    } else if (!g.inputs_resident) {
      inputs *= g.blocks;
    }
    inputs *= c.batch;

    if (depthwise) {
      const int64_t unit =
          c.batch * g.column_tiles * pixels * DepthwisePixelCycles(config_, c.taps());
      const int64_t weights = visits * LeastWeightFetchCycles(in_, config_, 0, 0);
      return std::max({unit + SettleCycles(in_, config_) + 1, inputs, weights, drains}) +
             config_.memory_latency + tail;
    }

    // Weight fetch: all tiles, each as often as it is fetched.
    int64_t weights = 0;
    const int64_t full = LeastWeightFetchCycles(in_, config_, 0, 0);
    if (c.weight_layout == WeightLayout::kTiled) {
      weights = full * g.row_tiles() * g.column_tiles;
    } else {
      for (int32_t r = 0; r < g.row_tiles(); ++r) {
        for (int32_t t = 0; t < g.column_tiles; ++t)
          weights += LeastWeightFetchCycles(in_, config_, r, t);
      }
    }
    weights *= c.batch * (g.weights_resident ? 1 : tiles);

    // Array: a pass takes at least as long as loading the next tile into the shadow registers.
    const int64_t load = WeightLoadCycles(config_);
    int64_t array = 0;
    for (const auto& [height, rows] : PiecesOf(c.out_height, tiling.tile_height)) {
      for (const auto& [width, columns] : PiecesOf(c.out_width, tiling.tile_width)) {
        array += rows * columns * std::max<int64_t>(load, int64_t{height} * width);
      }
    }
    array *= int64_t{g.row_tiles()} * g.column_tiles * c.batch;
    // The last pass of all may be shorter than a load.
    array -= std::max<int64_t>(0, load - 1);
    // The first fills precede the first pass. The drain of the last block follows the last pass.
    Visit first;
    first.height = std::min(tiling.tile_height, c.out_height);
    first.width = std::min(tiling.tile_width, c.out_width);
    int64_t input_fill = 0;
    for (int32_t group = 0; group < std::min(tiling.groups_per_bank, g.groups); ++group) {
      input_fill += GroupFetchCycles(in_, config_, g, first, group);
    }
    const int64_t tiles_of_block =
        int64_t{g.row_tiles()} * std::min(tiling.columns_per_block, g.column_tiles);
    int64_t weight_fill = full;
    if (c.weight_layout == WeightLayout::kTiled) {
      weight_fill *= std::min<int64_t>(tiling.weight_tiles_per_bank, tiles_of_block);
    }
    const int64_t begin = config_.memory_latency + std::max(input_fill, weight_fill + load);
    const int64_t last_tile = int64_t{(c.out_height - 1) % tiling.tile_height + 1} *
                              ((c.out_width - 1) % tiling.tile_width + 1);
    const int64_t last_columns = g.column_tiles - (g.blocks - 1) * tiling.columns_per_block;
    const int64_t end = SettleCycles(in_, config_) + drain_waits +
                        last_tile * ((last_columns - 1) * Word(config_.lanes()) + Word(last));
    return std::max({begin + array + end, inputs + config_.memory_latency + end,
                     weights + config_.memory_latency + end, drains}) +
           tail;
  }

 private:
  int64_t Word(int64_t elements) const { return LeastWordCycles(in_.vector, config_, 0, elements); }

  Instruction in_;
  const Config& config_;
};

// Returns the words of the input buffers that one output position needs with channel packing.
int64_t WordsOfOnePosition(const Instruction& instruction, const Config& config) {
  Instruction smallest = instruction;
  smallest.tiling = Tiling{};
  return GroupWords(smallest, GeometryOf(smallest, config), 1, 1);
}

// Returns whether packing taps saves row tiles, or is the only possibility.
bool PacksTaps(const Instruction& instruction, const Config& config) {
  const Convolution& c = instruction.convolution;
  const int64_t by_channels = c.taps() * CeilDivide(c.channels, config.array_rows);
  const int64_t by_taps = CeilDivide(int64_t{c.taps()} * c.channels, config.array_rows);
  return instruction.opcode == Opcode::kMatrix && c.weight_layout == WeightLayout::kTiled &&
         !c.input_scales.present && !c.weight_scales.present &&  // block scales run along channels
         (by_taps < by_channels ||
          WordsOfOnePosition(instruction, config) > config.input_buffer_words);
}

// Returns the steps that EstimateCycles takes.
int64_t WorkOf(const Instruction& instruction, const Config& config) {
  const Geometry g = GeometryOf(instruction, config);
  const int64_t columns = instruction.opcode == Opcode::kDepthwise
                              ? 1
                              : std::min(instruction.tiling.columns_per_block, g.column_tiles);
  const int64_t passes = instruction.opcode == Opcode::kDepthwise ? 1 : g.row_tiles() * columns;
  return CountVisits(instruction, config) * (passes + 4);
}

// A tiling to be timed. The search minimises its time (Ranking::Time) times `factor`.
struct Candidate {
  size_t index = 0;  // of the tiling
  double factor = 1;
  int64_t bytes = 0;  // 0 if the ranking does not weigh them
  double bound = 0;   // a lower bound of the product
};

// Returns picojoules and bytes with each tiling; empty if only cycles count.
std::vector<Expense> ExpensesOf(const Instruction& instruction, const Config& config,
                                const Ranking& ranking, const std::vector<Tiling>& tilings) {
  if (ranking.by_cycles()) return {};
  std::vector<Expense> expenses(tilings.size());
  const TilingExpenses closed_form(instruction, config, ranking, tilings);
  ParallelFor(std::ssize(tilings), kBoundGrain, [&](int64_t begin, int64_t end) {
    TilingExpenses own = closed_form;
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
      expenses[i] = own.Of(tilings[i]);
  });
  return expenses;
}

// Returns the tilings that can be best, without their bounds: by energy or traffic those with the
// least of it, otherwise all.
std::vector<Candidate> CandidatesOf(const std::vector<Tiling>& tilings,
                                    const std::vector<Expense>& expenses, const Ranking& ranking) {
  const bool product = ranking.objective() == Objective::kEdp;
  const bool by_time = ranking.objective() == Objective::kCycles;
  double least = std::numeric_limits<double>::max();
  if (!product && !by_time) {
    for (const Expense& expense : expenses) least = std::min(least, ranking.Measure(expense));
  }
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < tilings.size(); ++i) {
    if (product) {
      candidates.push_back(
          {.index = i, .factor = expenses[i].picojoules, .bytes = expenses[i].bytes});
    } else if (by_time) {
      candidates.push_back({.index = i, .bytes = expenses.empty() ? 0 : expenses[i].bytes});
    } else if (ranking.Measure(expenses[i]) == least) {
      candidates.push_back({.index = i});
    }
  }
  return candidates;
}

// Returns cycles whose time times the candidate's factor is at least `cost`.
int64_t CyclesFor(double cost, const Candidate& one, const Ranking& ranking) {
  // One more than the quotient, which may have been rounded down.
  const double cycles =
      std::max(1.0, std::floor(ranking.CyclesFor(cost / one.factor, one.bytes)) + 1);
  constexpr auto kMost = std::numeric_limits<int64_t>::max();
  return cycles < static_cast<double>(kMost) ? static_cast<int64_t>(cycles) : kMost;
}

}  // namespace

int64_t TilingBound(const Instruction& instruction, const Config& config, const Tiling& tiling) {
  return Bounder(instruction, config).Of(tiling);
}

bool HasTiling(const Instruction& instruction, const Config& config) {
  const int64_t words = WordsOfOnePosition(instruction, config);
  const Convolution& c = instruction.convolution;
  if (instruction.opcode == Opcode::kDepthwise) {
    return config.depthwise_multipliers > 0 && words <= config.depthwise_buffer_words &&
           c.taps() <= config.weight_buffer_words;
  }
  return words <= config.input_buffer_words ||
         PackingsOf(instruction, config).back() == Packing::kTaps;
}

std::vector<Packing> PackingsOf(const Instruction& instruction, const Config& config) {
  const Convolution& c = instruction.convolution;
  if (c.weight_layout == WeightLayout::kStrided && c.taps() > 1) return {Packing::kTaps};
  if (PacksTaps(instruction, config)) return {Packing::kChannels, Packing::kTaps};
  return {Packing::kChannels};
}

std::vector<Tiling> TilingsOf(const Instruction& instruction, const Config& config) {
  const Convolution& c = instruction.convolution;
  const bool depthwise = instruction.opcode == Opcode::kDepthwise;
  std::vector<Tiling> tilings;
  Instruction trial = instruction;
  for (Packing packing : PackingsOf(instruction, config)) {
    for (int32_t height : EvenCuts(c.out_height, config.accumulation_buffer_words)) {
      for (int32_t width : EvenCuts(c.out_width, config.accumulation_buffer_words / height)) {
        Tiling& t = trial.tiling;
        t = Tiling{};
        t.packing = packing;
        t.tile_height = height;
        t.tile_width = width;
        const Geometry g = GeometryOf(trial, config);
        const int64_t words = GroupWords(trial, g, height, width);
        if (words > (depthwise ? config.depthwise_buffer_words : config.input_buffer_words))
          continue;
        if (depthwise) {
          // A block fetches its weights again in either order; the order of pixel tiles decides how
          // often parameters are fetched.
          for (Order order : {Order::kInputOuter, Order::kWeightOuter}) {
            if (order == Order::kWeightOuter && (g.column_tiles == 1 || g.tiles_y * g.tiles_x == 1))
              continue;
            t.order = order;
            tilings.push_back(t);
          }
          // A fill of several column tiles is useful only if a beat can bring several words.
          if (config.depthwise_words_per_cycle == 1) continue;
          t.order = Order::kInputOuter;
          for (int32_t together : Amounts(g.column_tiles, config.depthwise_buffer_words / words)) {
            if (together == 1) continue;
            t.groups_per_bank = together;
            tilings.push_back(t);
          }
          continue;
        }
        const int64_t most_columns =
            std::min<int64_t>(config.parameter_buffer_words,
                              config.accumulation_buffer_words / (int64_t{height} * width));
        const int32_t together = DrainColumns(instruction.vector, config);
        for (int32_t columns : EvenCuts(g.column_tiles, most_columns)) {
          if (columns % together != 0 && columns != g.column_tiles) continue;
          t.columns_per_block = columns;
          const int64_t tiles_of_block = int64_t{g.row_tiles()} * columns;
          for (int32_t groups : Amounts(g.groups, config.input_buffer_words / words)) {
            t.groups_per_bank = groups;
            for (int32_t weight_tiles : Amounts(tiles_of_block, WeightTiles(config))) {
              t.weight_tiles_per_bank = weight_tiles;
              for (Order order : {Order::kInputOuter, Order::kWeightOuter}) {
                // With one pixel tile or one block, both orders visit the same blocks; they differ
                // in which data stay resident.
                t.order = order;
                tilings.push_back(t);
              }
            }
          }
        }
      }
    }
  }
  return tilings;
}

Certificate CertifyVector(const Instruction& instruction, const Config& config, bool orders_timed) {
  const VectorProgram& v = instruction.vector;
  Certificate c;
  c.cost = static_cast<double>(EstimateCycles(instruction, config));
  c.unit = "cycles";
  c.lower_bound = LowerBound(instruction, config, &c.bound_from);
  const int64_t latencies = kFirstSlotCycles + PipelineDepth(v, config) + config.memory_latency +
                            (ReadsMemory(v) ? config.memory_latency + 1 : 0);
  c.optimal = orders_timed || c.cost - static_cast<double>(latencies) <= c.lower_bound;
  return c;
}

Instruction WithoutNumbers(Instruction in) {
  in.kernel = 0;
  in.convolution.pad_code = 0;
  for (Stream& stream : in.vector.operands) {
    stream.scale = 1;
    stream.zero_point = 0;
  }
  const auto clear = [](std::vector<Stage>* stages) {
    for (Stage& stage : *stages) stage.immediate_a = stage.immediate_b = 0;
  };
  for (Pass& pass : in.vector.passes) {
    pass.constant = 0;
    clear(&pass.stages);
    clear(&pass.scalar_stages);
  }
  in.vector.quantise = QuantiseOut{};
  return in;
}

StatusOr<Schedule> Scheduler::Find(const Instruction& instruction) {
  Instruction trial = instruction;
  trial.tiling = Tiling{};
  const std::vector<uint8_t> bits = Encode(WithoutNumbers(trial), config_);
  const std::string key(bits.begin(), bits.end());
  if (const auto it = known_.find(key); it != known_.end()) return it->second;

  const std::vector<Tiling> tilings = TilingsOf(trial, config_);
  if (tilings.empty()) {
    return ToHost(fmt::format("one output position needs more than the {} buffer holds",
                              trial.opcode == Opcode::kDepthwise ? "depthwise" : "input"));
  }
  const std::vector<Expense> expenses = ExpensesOf(trial, config_, ranking_, tilings);
  std::vector<Candidate> candidates = CandidatesOf(tilings, expenses, ranking_);
  ParallelFor(std::ssize(candidates), kBoundGrain, [&](int64_t begin, int64_t end) {
    Bounder bounder(trial, config_);
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      Candidate& one = candidates[i];
      one.bound = one.factor * ranking_.Time(bounder.Of(tilings[one.index]), one.bytes);
    }
  });
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.bound != b.bound ? a.bound < b.bound : a.index < b.index;
  });

  struct Timed {
    Candidate candidate;
    int64_t cycles = 0;
  };
  const auto cost_of = [&](const Timed& one) {
    return one.candidate.factor * ranking_.Time(one.cycles, one.candidate.bytes);
  };
  constexpr double kNone = std::numeric_limits<double>::max();
  double best = kNone;
  Timed best_timed;
  int64_t work = 0;
  // Candidates are timed in rounds whose sizes do not depend on the number of threads. The times of
  // a round are then read in order, so the result is the same as if they were timed one by one.
  size_t next = 0, round = 1;
  while (next < candidates.size() && candidates[next].bound < best && work <= kWorkLimit) {
    std::vector<Timed> timed;
    for (; next < candidates.size() && timed.size() < round && candidates[next].bound < best;
         ++next) {
      trial.tiling = tilings[candidates[next].index];
      work += WorkOf(trial, config_);
      if (work > kWorkLimit && next > 0) break;
      timed.push_back({candidates[next], 0});
    }
    const double enough = best;  // not modified while other threads read it
    ParallelFor(std::ssize(timed), 1, [&](int64_t begin, int64_t) {
      Timed& one = timed[static_cast<size_t>(begin)];
      Instruction tiled = trial;
      tiled.tiling = tilings[one.candidate.index];
      one.cycles = EstimateCycles(tiled, config_, CyclesFor(enough, one.candidate, ranking_));
    });
    for (const Timed& one : timed) {
      if (one.candidate.bound >= best) break;
      ++timed_;
      if (cost_of(one) < best) {
        best = cost_of(one);
        best_timed = one;
      }
    }
    round = std::min(2 * round, kMostOfRound);
  }
  // The first tiling that the work limit left untimed has the lowest bound of the untimed ones.
  const double untimed_bound = next < candidates.size() ? candidates[next].bound : kNone;
  const bool all_timed = untimed_bound >= best;
  Schedule schedule;
  schedule.tiling = tilings[best_timed.candidate.index];
  schedule.expense = expenses.empty() ? Expense() : expenses[best_timed.candidate.index];
  schedule.expense.cycles = best_timed.cycles;
  // Only time and products with it need the cycles of tilings.
  schedule.best_of_space = all_timed || ranking_.objective() == Objective::kEnergy ||
                           ranking_.objective() == Objective::kTraffic;
  Certificate& certificate = schedule.certificate;
  certificate.cost = static_cast<double>(best_timed.cycles);
  certificate.unit = "cycles";
  certificate.lower_bound = LowerBound(instruction, config_, &certificate.bound_from);
  // A search by another objective proves nothing about the cycles of tilings that it leaves out.
  const bool fewest_cycles = ranking_.by_cycles() && all_timed;
  certificate.optimal = fewest_cycles || certificate.cost <= certificate.lower_bound;
  if (ranking_.by_cycles() && !certificate.optimal && untimed_bound > certificate.lower_bound) {
    certificate.lower_bound = untimed_bound;
    certificate.bound_from = "tilings not timed";
  }
  known_[key] = schedule;
  return schedule;
}

}  // namespace kiln::systolic
