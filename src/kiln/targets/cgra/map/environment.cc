// Steps of an episode, and the look-ahead that leaves out cells from which no mapping completes.

#include "kiln/targets/cgra/map/environment.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "kiln/support/check.h"
#include "kiln/support/stable_sort.h"

namespace kiln::cgra {
namespace {

constexpr int kNoPath = std::numeric_limits<int>::min() / 4;
constexpr int kMostForPaths = 256;  // instructions; all pairs of more would take long

// Returns the longest path from each instruction to the end, as LeastLatency counts it without
// hops.
std::vector<int> PathsToEnd(const Problem& problem) {
  std::vector<int> path(static_cast<size_t>(problem.size()), problem.config.pipeline_latency);
  std::vector<std::vector<int>> consumers(path.size());
  for (const Dependence& d : problem.dependences) {
    if (d.distance == 0) consumers[static_cast<size_t>(d.from)].push_back(d.to);
  }
  for (size_t i = path.size(); i-- > 0;) {
    for (const int to : consumers[i]) {
      path[i] = std::max(path[i], problem.config.pipeline_latency + path[static_cast<size_t>(to)]);
    }
  }
  return path;
}

}  // namespace

std::vector<int> DepthFirstOrder(const Problem& problem) {
  const auto count = static_cast<size_t>(problem.size());
  std::vector<std::vector<int>> producers(count);
  std::vector<bool> has_consumer(count, false);
  std::vector<int> depth(count, 0);  // instructions on the longest path into each
  for (const Dependence& d : problem.dependences) {
    if (d.distance > 0) continue;
    producers[static_cast<size_t>(d.to)].push_back(d.from);
    has_consumer[static_cast<size_t>(d.from)] = true;
  }
  for (size_t i = 0; i < count; ++i) {
    for (const int from : producers[i]) {
      depth[i] = std::max(depth[i], depth[static_cast<size_t>(from)] + 1);
    }
  }
  const auto deeper = [&](int a, int b) {
    return depth[static_cast<size_t>(a)] > depth[static_cast<size_t>(b)];
  };
  std::vector<int> ends;
  for (size_t i = 0; i < count; ++i) {
    StableSort(&producers[i], deeper);
    if (!has_consumer[i]) ends.push_back(static_cast<int>(i));
  }
  StableSort(&ends, deeper);
  std::vector<int> order;
  std::vector<bool> seen(count, false);
  std::vector<std::pair<int, size_t>> stack;  // an instruction and its next producer
  for (const int end : ends) {
    stack.emplace_back(end, 0);
    seen[static_cast<size_t>(end)] = true;
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      const std::vector<int>& before = producers[static_cast<size_t>(at)];
      if (next == before.size()) {
        order.push_back(at);
        stack.pop_back();
      } else if (const int from = before[next++]; !seen[static_cast<size_t>(from)]) {
        seen[static_cast<size_t>(from)] = true;
        stack.emplace_back(from, 0);
      }
    }
  }
  return order;
}

Environment::Environment(const Problem& problem, int initiation_interval,
                         EnvironmentOptions options)
    : problem_(&problem),
      options_(std::move(options)),
      period_(SlotsOf(problem.config, initiation_interval)),
      words_((static_cast<size_t>(problem.tiles()) + 63) / 64),
      path_(PathsToEnd(problem)),
      placement_(problem, initiation_interval) {
  const auto count = static_cast<size_t>(problem.size());
  if (options_.order.empty()) {
    options_.order.resize(count);
    std::iota(options_.order.begin(), options_.order.end(), 0);
  }
  KILN_CHECK(options_.order.size() == count);
  linked_.resize(count);
  siblings_.resize(count);
  starts_.assign(count, false);
  for (const Dependence& d : problem.dependences) {
    if (!d.moves || d.from == d.to) continue;
    linked_[static_cast<size_t>(d.from)].push_back(d.to);
    linked_[static_cast<size_t>(d.to)].push_back(d.from);
  }
  for (const auto& [a, b] : problem.siblings) {
    siblings_[static_cast<size_t>(a)].push_back(b);
    siblings_[static_cast<size_t>(b)].push_back(a);
  }
  for (const int start : problem.starts) starts_[static_cast<size_t>(start)] = true;
  const auto tiles = static_cast<size_t>(problem.tiles());
  reach_.assign(tiles * words_, 0);
  for (size_t a = 0; a < tiles; ++a) {
    for (size_t b = 0; b < tiles; ++b) {
      if (a == b && !problem.config.feedback) continue;
      if (HopCycles(problem.config, static_cast<int>(a), static_cast<int>(b)) < 0) continue;
      reach_[a * words_ + b / 64] |= uint64_t{1} << (b % 64);
    }
  }
  FindLongestPaths();
  Reset();
}

// All longest paths by the algorithm of Floyd and Warshall. Dependences on earlier threads have
// negative weights. Needed only with such dependences: without them an instruction is placed after
// all of its producers and before all of its consumers, and its own window says all there is.
void Environment::FindLongestPaths() {
  const auto count = static_cast<size_t>(problem_->size());
  const bool has_loop = std::ranges::any_of(problem_->dependences,
                                            [](const Dependence& d) { return d.distance > 0; });
  if (!has_loop || problem_->size() > kMostForPaths) return;
  longest_.assign(count * count, kNoPath);
  for (const Dependence& d : problem_->dependences) {
    int& path = longest_[static_cast<size_t>(d.from) * count + static_cast<size_t>(d.to)];
    path = std::max(path, problem_->config.pipeline_latency - d.distance * interval());
  }
  for (size_t k = 0; k < count; ++k) {
    for (size_t a = 0; a < count; ++a) {
      const int first = longest_[a * count + k];
      if (first == kNoPath) continue;
      for (size_t b = 0; b < count; ++b) {
        const int second = longest_[k * count + b];
        if (second == kNoPath) continue;
        // An interval below the recurrences' bound lets paths grow without end.
        longest_[a * count + b] =
            std::clamp(std::max(longest_[a * count + b], first + second), kNoPath + 1, 1 << 24);
      }
    }
  }
}

void Environment::Reset() {
  placement_ = Placement(*problem_, interval());
  position_ = 0;
  bound_ = path_.empty() ? 0 : std::ranges::max(path_);
  const int most = std::min(period_, problem_->config.instruction_depth);
  free_.assign(static_cast<size_t>(problem_->tiles()), most);
  left_.clear();
  for (const std::vector<int>& group : problem_->groups) {
    left_.push_back(static_cast<int>(group.size()));
  }
  Advance();
}

bool Environment::Intersect(Bits* tiles, int instruction, std::span<const uint64_t> with,
                            std::vector<int>* changed) const {
  bool any = false, less = false;
  const std::span<uint64_t> bits = BitsOf(tiles, instruction);
  for (size_t w = 0; w < words_; ++w) {
    less = less || (bits[w] & ~with[w]) != 0;
    bits[w] &= with[w];
    any = any || bits[w] != 0;
  }
  if (less) changed->push_back(instruction);
  return any;
}

bool Environment::Exclude(Bits* tiles, int instruction, int tile, std::vector<int>* changed) const {
  const std::span<uint64_t> bits = BitsOf(tiles, instruction);
  uint64_t& word = bits[static_cast<size_t>(tile) / 64];
  const uint64_t bit = uint64_t{1} << (tile % 64);
  if ((word & bit) == 0) return true;
  word &= ~bit;
  changed->push_back(instruction);
  return std::ranges::any_of(bits, [](uint64_t w) { return w != 0; });
}

// Narrows what a changed set of tiles implies for other instructions that are not placed.
bool Environment::NarrowNeighbours(Bits* tiles, int instruction, std::vector<int>* changed) const {
  const auto i = static_cast<size_t>(instruction);
  const std::span<const uint64_t> own = BitsOf(tiles, instruction);
  Bits reached(words_, 0);
  int only = -1, count = 0;
  for (size_t w = 0; w < words_; ++w) {
    for (uint64_t bits = own[w]; bits != 0; bits &= bits - 1) {
      const size_t tile = w * 64 + static_cast<size_t>(std::countr_zero(bits));
      for (size_t r = 0; r < words_; ++r) reached[r] |= reach_[tile * words_ + r];
      only = static_cast<int>(tile);
      ++count;
    }
  }
  for (const int other : linked_[i]) {
    if (!placed(other) && !Intersect(tiles, other, reached, changed)) return false;
  }
  if (problem_->group[i] >= 0) {
    const Bits copy(own.begin(), own.end());
    for (const int other : problem_->groups[static_cast<size_t>(problem_->group[i])]) {
      if (!placed(other) && !Intersect(tiles, other, copy, changed)) return false;
    }
  }
  if (count != 1) return true;
  for (const int other : siblings_[i]) {
    if (!placed(other) && !Exclude(tiles, other, only, changed)) return false;
  }
  if (!starts_[i]) return true;
  return std::ranges::all_of(problem_->starts, [&](int other) {
    return other == instruction || placed(other) || Exclude(tiles, other, only, changed);
  });
}

// Propagates changed sets of tiles until nothing changes. Returns false if an instruction is left
// without a tile. The sets only shrink, so the loop ends.
bool Environment::Narrow(Bits* tiles, std::vector<int>* changed) const {
  while (!changed->empty()) {
    const int instruction = changed->back();
    changed->pop_back();
    if (!NarrowNeighbours(tiles, instruction, changed)) return false;
  }
  return true;
}

// Returns whether all other instructions still have tiles if an instruction goes to a tile. `tiles`
// is narrowed on the way, so the caller passes a copy.
bool Environment::PlaceOnTile(Bits* tiles, int instruction, int tile) const {
  std::vector<int> changed;
  Bits only(words_, 0);
  only[static_cast<size_t>(tile) / 64] = uint64_t{1} << (tile % 64);
  if (!Intersect(tiles, instruction, only, &changed)) return false;
  changed.push_back(instruction);
  // The slot it takes may be the last one that a group or any instruction needs there.
  const int own = problem_->group[static_cast<size_t>(instruction)];
  const int free = FreeSlots(tile) - 1;
  for (int i = 0; i < problem_->size(); ++i) {
    if (placed(i) || i == instruction) continue;
    const int group = problem_->group[static_cast<size_t>(i)];
    int needed = 1;
    if (group >= 0) needed = left_[static_cast<size_t>(group)] - (group == own ? 1 : 0);
    if (needed > free && !Exclude(tiles, i, tile, &changed)) return false;
  }
  return Narrow(tiles, &changed);
}

// Returns whether an issue leaves enough time to what is placed and must come later, and to
// instructions that must issue in the first period.
bool Environment::InTime(int instruction, int issue) const {
  if (longest_.empty()) return true;
  const auto count = static_cast<size_t>(problem_->size());
  for (size_t i = 0; i < count; ++i) {
    const int path = longest_[static_cast<size_t>(instruction) * count + i];
    if (path == kNoPath) continue;
    int latest = std::numeric_limits<int>::max();
    if (static_cast<int>(i) == instruction) {
      if (path > 0) return false;
    } else if (placed(static_cast<int>(i))) {
      latest = places()[i].issue;
    } else if (problem_->source[i] && !problem_->config.later_periods) {
      latest = interval() - 1;
    }
    if (latest < issue + path) return false;
  }
  return true;
}

// Lists the allowed cells: for each tile at most one issue cycle per slot, the earliest. If an
// issue is too late for what is placed, all later ones are, so the tile is done.
void Environment::Enumerate() {
  allowed_.clear();
  Bits trial;
  for (int tile = 0; tile < problem_->tiles(); ++tile) {
    std::optional<int> issue = placement_.FirstIssue(instruction_, tile, 0);
    if (!issue) continue;
    if (options_.look_ahead) {
      trial = tiles_;
      if (!PlaceOnTile(&trial, instruction_, tile)) continue;
    }
    const int first = *issue;
    for (; issue && *issue < first + period_;
         issue = placement_.FirstIssue(instruction_, tile, *issue + 1)) {
      if (options_.look_ahead && !InTime(instruction_, *issue)) break;
      allowed_.push_back({tile, *issue % period_, *issue});
    }
  }
}

// Selects the next instruction of the order and its cells; ends the episode if there are none.
void Environment::Advance() {
  allowed_.clear();
  instruction_ = -1;
  if (position_ == options_.order.size()) return;
  instruction_ = options_.order[position_];
  if (options_.look_ahead) {
    // All tiles, less what the placed instructions leave. Every instruction is narrowed, since
    // rules alone may leave nothing.
    const auto count = static_cast<size_t>(problem_->size());
    tiles_.assign(count * words_, 0);
    std::vector<int> changed;
    bool possible = true;
    for (int i = 0; i < problem_->size() && possible; ++i) {
      const std::span<uint64_t> bits = BitsOf(&tiles_, i);
      if (placed(i)) {
        const int tile = places()[static_cast<size_t>(i)].tile;
        bits[static_cast<size_t>(tile) / 64] |= uint64_t{1} << (tile % 64);
      } else {
        const int group = problem_->group[static_cast<size_t>(i)];
        const int needed = group >= 0 ? left_[static_cast<size_t>(group)] : 1;
        for (int tile = 0; tile < problem_->tiles(); ++tile) {
          if (FreeSlots(tile) < needed) continue;
          bits[static_cast<size_t>(tile) / 64] |= uint64_t{1} << (tile % 64);
        }
        possible = std::ranges::any_of(bits, [](uint64_t word) { return word != 0; });
      }
      changed.push_back(i);
    }
    if (!possible || !Narrow(&tiles_, &changed)) {
      instruction_ = -1;
      return;
    }
  }
  Enumerate();
  if (allowed_.empty()) instruction_ = -1;
}

int Environment::LatestPredecessor(int instruction) const {
  int latest = -1;
  for (const Dependence& d : problem_->dependences) {
    if (d.to != instruction || d.distance > 0 || !placed(d.from)) continue;
    if (latest < 0 ||
        places()[static_cast<size_t>(d.from)].issue > places()[static_cast<size_t>(latest)].issue) {
      latest = d.from;
    }
  }
  return latest;
}

Environment::Outcome Environment::Step(const Cell& cell) {
  KILN_CHECK(std::ranges::find(allowed_, cell) != allowed_.end());
  const auto i = static_cast<size_t>(instruction_);
  const int latest = LatestPredecessor(instruction_);
  const int before = latest < 0 ? 0 : places()[static_cast<size_t>(latest)].issue;
  placement_.Put(instruction_, {cell.tile, cell.issue});
  --free_[static_cast<size_t>(cell.tile)];
  if (problem_->group[i] >= 0) --left_[static_cast<size_t>(problem_->group[i])];
  Outcome outcome;
  outcome.delay = cell.issue - before;
  const int bound = std::max(bound_, cell.issue + path_[i]);
  outcome.lengthened = bound - bound_;
  bound_ = bound;
  ++position_;
  Advance();
  outcome.reward = -outcome.delay - (stuck() ? options_.lambda : 0);
  return outcome;
}

double Environment::Abandon() {
  allowed_.clear();
  instruction_ = -1;
  return -options_.lambda;
}

int Environment::TilesLeft(int instruction) const {
  int count = 0;
  for (size_t w = 0; w < words_; ++w) {
    count += std::popcount(tiles_[static_cast<size_t>(instruction) * words_ + w]);
  }
  return count;
}

bool Environment::TileLeft(int instruction, int tile) const {
  return (tiles_[static_cast<size_t>(instruction) * words_ + static_cast<size_t>(tile) / 64] >>
              (tile % 64) &
          1) != 0;
}

}  // namespace kiln::cgra
