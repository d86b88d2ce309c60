// Computes the features. All are of the order of 1: counts are shares of a whole, and cycles are
// divided by kCycles and held within +-4. A policy is trained for the order and the scale of the
// features. Its file records only how many there are, so a change of their meaning needs newly
// trained policies and a new version of the file (weights.cc).

#include "kiln/targets/cgra/learn/features.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "kiln/support/check.h"

namespace kiln::cgra {
namespace {

constexpr float kCycles = 8;  // cycles that count as 1

float Share(int part, int whole) {
  return whole > 0 ? static_cast<float>(part) / static_cast<float>(whole) : 0.0F;
}
float Cycles(int cycles) { return std::clamp(static_cast<float>(cycles) / kCycles, -4.0F, 4.0F); }

// Returns the square of the symmetrically normalised adjacency of instructions, with self-loops and
// without directions: what each instruction sees of its neighbourhood of two steps (F. Wu et al.,
// "Simplifying Graph Convolutional Networks", arXiv 1902.07153). [instructions][instructions].
std::vector<float> TwoSteps(const Problem& problem) {
  const auto count = static_cast<size_t>(problem.size());
  std::vector<float> once(count * count, 0), twice(count * count, 0);
  for (size_t i = 0; i < count; ++i) once[i * count + i] = 1;
  for (const Dependence& d : problem.dependences) {
    once[static_cast<size_t>(d.from) * count + static_cast<size_t>(d.to)] = 1;
    once[static_cast<size_t>(d.to) * count + static_cast<size_t>(d.from)] = 1;
  }
  std::vector<float> degree(count, 0);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) degree[i] += once[i * count + j];
  }
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < count; ++j) once[i * count + j] /= std::sqrt(degree[i] * degree[j]);
  }
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < count; ++k) {
      const float weight = once[i * count + k];
      if (weight == 0) continue;
      for (size_t j = 0; j < count; ++j) twice[i * count + j] += weight * once[k * count + j];
    }
  }
  return twice;
}

}  // namespace

// A partial mapping with what several features need.
struct Observer::View {
  std::span<const Place> places;
  int instruction = 0;
  std::vector<std::vector<bool>> busy;  // by tile and slot
  std::vector<int> free;                // by tile
  int placed = 0;
  int bound = 0;  // of the latency
  int base = 0;   // when the latest predecessor issued; 0 without one
  int choices = 0;
};

Observer::Observer(const Problem& problem, int initiation_interval, std::span<const int> order)
    : problem_(&problem),
      interval_(initiation_interval),
      period_(SlotsOf(problem.config, initiation_interval)),
      tiles_(problem.tiles()) {
  const auto count = static_cast<size_t>(problem.size());
  const auto tiles = static_cast<size_t>(tiles_);
  hops_.resize(tiles * tiles);
  reachable_.resize(tiles);
  graph_.tiles = tiles_;
  graph_.links.assign(tiles * tiles, 0);
  for (size_t a = 0; a < tiles; ++a) {
    for (size_t b = 0; b < tiles; ++b) {
      const bool own = a == b && !problem.config.feedback;
      const int hops =
          own ? -1 : HopCycles(problem.config, static_cast<int>(a), static_cast<int>(b));
      hops_[a * tiles + b] = hops;
      if (hops >= 0) reachable_[a].push_back(static_cast<int>(b));
      const bool near = HopCycles(problem.config, static_cast<int>(a), static_cast<int>(b)) <=
                        problem.config.reach * problem.config.hop_cycles;
      if (a != b && hops >= 0 && near) graph_.links[a * tiles + b] = 1;
    }
  }
  into_.resize(count);
  consumers_.resize(count);
  std::vector<int> head(count, 0), in(count, 0), out(count, 0), siblings(count, 0);
  std::vector<bool> loop(count, false), start(count, false);
  const int latency = problem.config.pipeline_latency;
  path_.assign(count, latency);
  for (size_t d = 0; d < problem.dependences.size(); ++d) {
    const Dependence& dependence = problem.dependences[d];
    const auto from = static_cast<size_t>(dependence.from);
    const auto to = static_cast<size_t>(dependence.to);
    into_[to].push_back(static_cast<int>(d));
    ++out[from];
    ++in[to];
    if (dependence.distance > 0) loop[from] = loop[to] = true;
    if (dependence.distance == 0 && dependence.moves) consumers_[from].push_back(dependence.to);
  }
  for (size_t i = 0; i < count; ++i) {
    for (const int d : into_[i]) {
      const Dependence& dependence = problem.dependences[static_cast<size_t>(d)];
      if (dependence.distance > 0) continue;
      head[i] = std::max(head[i], head[static_cast<size_t>(dependence.from)] + latency);
    }
  }
  for (size_t i = count; i-- > 0;) {
    for (const int d : into_[i]) {
      const Dependence& dependence = problem.dependences[static_cast<size_t>(d)];
      if (dependence.distance > 0) continue;
      int& path = path_[static_cast<size_t>(dependence.from)];
      path = std::max(path, latency + path_[i]);
    }
  }
  longest_ = path_.empty() ? 0 : std::ranges::max(path_);
  for (const auto& [a, b] : problem.siblings) {
    ++siblings[static_cast<size_t>(a)];
    ++siblings[static_cast<size_t>(b)];
  }
  for (const int i : problem.starts) start[static_cast<size_t>(i)] = true;
  std::vector<int> position(count, 0);
  for (size_t i = 0; i < order.size(); ++i) {
    position[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  graph_.instructions = problem.size();
  graph_.adjacency = TwoSteps(problem);
  for (size_t i = 0; i < count; ++i) {
    const int group = problem.group[i];
    const int members =
        group < 0 ? 0 : static_cast<int>(std::ssize(problem.groups[static_cast<size_t>(group)]));
    const float features[kInstructionFeatures] = {1,
                                                  Share(path_[i], longest_),
                                                  Share(head[i], longest_),
                                                  Share(head[i] + path_[i], longest_),
                                                  Cycles(path_[i]),
                                                  Share(in[i], 4),
                                                  Share(out[i], 4),
                                                  problem.source[i] ? 1.0F : 0.0F,
                                                  start[i] ? 1.0F : 0.0F,
                                                  group >= 0 ? 1.0F : 0.0F,
                                                  Share(members, period_),
                                                  Share(siblings[i], 4),
                                                  problem.instructions[i].is_pass ? 1.0F : 0.0F,
                                                  loop[i] ? 1.0F : 0.0F,
                                                  Share(position[i], problem.size()),
                                                  Share(problem.size(), tiles_ * period_)};
    graph_.features.insert(graph_.features.end(), std::begin(features), std::end(features));
  }
}

void Observer::FillGlobal(const View& view, StepFeatures* step) const {
  int free_cells = 0, placed_producers = 0;
  for (const int free : view.free) free_cells += free;
  for (const int d : into_[static_cast<size_t>(view.instruction)]) {
    const Dependence& dependence = problem_->dependences[static_cast<size_t>(d)];
    placed_producers += view.places[static_cast<size_t>(dependence.from)].tile >= 0 ? 1 : 0;
  }
  const int path = path_[static_cast<size_t>(view.instruction)];
  const float features[kGlobalFeatures] = {
      1,
      Share(view.placed, problem_->size()),
      Share(free_cells, tiles_ * period_),
      Share(problem_->size() - view.placed, std::max(free_cells, 1)),
      Share(view.bound - longest_, std::max(longest_, 1)),
      Cycles(view.bound - view.base - path),
      1.0F / static_cast<float>(period_),
      Share(tiles_, 32),
      Share(view.choices, tiles_ * period_),
      Share(placed_producers, 3),
      Share(problem_->size(), 32),
      problem_->config.relaxed_distance ? 1.0F : 0.0F};
  step->global.assign(std::begin(features), std::end(features));
}

void Observer::FillTiles(const View& view, StepFeatures* step) const {
  for (int tile = 0; tile < tiles_; ++tile) {
    const int free = view.free[static_cast<size_t>(tile)];
    step->tiles.push_back(Share(free, period_));
    step->tiles.push_back(free < period_ ? 1.0F : 0.0F);
    step->tiles.push_back(std::abs(2.0F * Share(tile, std::max(tiles_ - 1, 1)) - 1.0F));
  }
}

// Returns the earliest issue of a consumer, if the instruction is placed on a cell, on any tile
// that links from its placed producers reach; -1 if there is none. Rules other than free slots are
// not regarded.
int Observer::ConsumerIssue(const View& view, int consumer, const Cell& cell,
                            int* tiles_left) const {
  const int latency = problem_->config.pipeline_latency;
  int best = -1;
  *tiles_left = 0;
  for (const int tile : reachable_[static_cast<size_t>(cell.tile)]) {
    int arrival = cell.issue + latency + HopsOf(cell.tile, tile);
    bool reached = true;
    for (const int d : into_[static_cast<size_t>(consumer)]) {
      const Dependence& dependence = problem_->dependences[static_cast<size_t>(d)];
      const Place from = view.places[static_cast<size_t>(dependence.from)];
      if (from.tile < 0 || dependence.from == view.instruction) continue;
      const int hops = dependence.moves ? HopsOf(from.tile, tile) : 0;
      reached = reached && hops >= 0;
      arrival = std::max(arrival, from.issue + latency + hops - dependence.distance * interval_);
    }
    if (!reached) continue;
    const std::vector<bool>& busy = view.busy[static_cast<size_t>(tile)];
    int wait = 0;
    for (; wait < period_; ++wait) {
      const int slot = (arrival + wait) % period_;
      const bool own = tile == cell.tile && slot == cell.slot;
      if (!own && !busy[static_cast<size_t>(slot)]) break;
    }
    if (wait == period_) continue;
    ++*tiles_left;
    if (best < 0 || arrival + wait < best) best = arrival + wait;
  }
  return best;
}

void Observer::FillCell(const View& view, const Cell& cell, int least_issue, float* out) const {
  const auto i = static_cast<size_t>(view.instruction);
  const int latency = problem_->config.pipeline_latency;
  const bool source = problem_->source[i];
  int hops_sum = 0, hops_most = 0;
  bool on_producer = false;
  for (const int d : into_[i]) {
    const Dependence& dependence = problem_->dependences[static_cast<size_t>(d)];
    const int tile = view.places[static_cast<size_t>(dependence.from)].tile;
    if (tile < 0 || !dependence.moves) continue;
    const int far =
        std::abs(tile % problem_->config.columns - cell.tile % problem_->config.columns) +
        std::abs(tile / problem_->config.columns - cell.tile / problem_->config.columns);
    hops_sum += far;
    hops_most = std::max(hops_most, far);
    on_producer = on_producer || tile == cell.tile;
  }
  // What the choice leaves to consumers.
  int least_tiles = tiles_, latest = 0, lengthens = 0, wait = 0;
  bool blocked = false;
  for (const int consumer : consumers_[i]) {
    if (view.places[static_cast<size_t>(consumer)].tile >= 0) continue;
    int left = 0;
    const int issue = ConsumerIssue(view, consumer, cell, &left);
    least_tiles = std::min(least_tiles, left);
    if (issue < 0) {
      blocked = true;
      continue;
    }
    latest = std::max(latest, issue);
    lengthens = std::max(lengthens, issue + path_[static_cast<size_t>(consumer)] - view.bound);
    wait = std::max(wait, issue - cell.issue - latency);
  }
  const int free = view.free[static_cast<size_t>(cell.tile)];
  int near_free = 0, near = 0;
  for (const int tile : reachable_[static_cast<size_t>(cell.tile)]) {
    near_free += view.free[static_cast<size_t>(tile)];
    ++near;
  }
  const int own_slack = view.bound - cell.issue - path_[i];
  const int group = problem_->group[i];
  const int column = cell.tile % problem_->config.columns;
  const int edge = std::min(column, problem_->config.columns - 1 - column);
  const float features[kCellFeatures] = {
      1,
      Cycles(cell.issue - view.base - (source ? 0 : latency)),
      Cycles(cell.issue - least_issue),
      cell.issue == least_issue ? 1.0F : 0.0F,
      Cycles(-own_slack),
      Cycles(std::max(0, -own_slack)),
      own_slack < 0 ? 1.0F : 0.0F,
      Share(free, period_),
      Share(near_free, std::max(near, 1) * period_),
      Share(hops_sum, 4),
      Share(hops_most, 4),
      on_producer ? 1.0F : 0.0F,
      Share(least_tiles, 4),
      Cycles(lengthens),
      lengthens > 0 ? 1.0F : 0.0F,
      Cycles(wait),
      blocked ? 1.0F : 0.0F,
      Share(cell.slot, period_),
      Share(std::min(edge, 4), 4),
      free < period_ ? 1.0F : 0.0F,
      group < 0
          ? 0.0F
          : Share(free, static_cast<int>(std::ssize(problem_->groups[static_cast<size_t>(group)]))),
      source ? 1.0F : 0.0F,
      source ? Cycles(cell.issue) : 0.0F,
      Share(column, problem_->config.columns)};
  std::copy(std::begin(features), std::end(features), out);
}

StepFeatures Observer::ObservePlaces(std::span<const Place> places, int instruction,
                                     std::span<const Place> candidates) const {
  const auto tiles = static_cast<size_t>(tiles_);
  View view{.places = places,
            .instruction = instruction,
            .busy = std::vector<std::vector<bool>>(
                tiles, std::vector<bool>(static_cast<size_t>(period_), false)),
            .free = std::vector<int>(tiles, period_),
            .bound = longest_,
            .choices = static_cast<int>(std::ssize(candidates))};
  StepFeatures step;
  step.instruction = instruction;
  step.tile_of.reserve(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    step.tile_of.push_back(places[i].tile);
    if (places[i].tile < 0) continue;
    const auto tile = static_cast<size_t>(places[i].tile);
    view.busy[tile][static_cast<size_t>(places[i].issue % period_)] = true;
    --view.free[tile];
    ++view.placed;
    view.bound = std::max(view.bound, places[i].issue + path_[i]);
  }
  for (const int d : into_[static_cast<size_t>(instruction)]) {
    const Dependence& dependence = problem_->dependences[static_cast<size_t>(d)];
    const Place from = places[static_cast<size_t>(dependence.from)];
    if (dependence.distance == 0 && from.tile >= 0) view.base = std::max(view.base, from.issue);
  }
  FillGlobal(view, &step);
  FillTiles(view, &step);
  int least = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    least = i == 0 ? candidates[i].issue : std::min(least, candidates[i].issue);
  }
  step.cells.resize(candidates.size() * kCellFeatures);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Cell cell{candidates[i].tile, candidates[i].issue % period_, candidates[i].issue};
    step.choices.push_back(cell);
    FillCell(view, cell, least, &step.cells[i * kCellFeatures]);
  }
  step.is_allowed.assign(candidates.size(), true);
  return step;
}

// With all_cells, choices are numbered tile * period + slot.
StepFeatures Observer::Observe(const Environment& environment, bool all_cells) const {
  KILN_CHECK(environment.instruction() >= 0);
  std::vector<Place> candidates;
  if (!all_cells) {
    for (const Cell& cell : environment.allowed()) candidates.push_back({cell.tile, cell.issue});
    return ObservePlaces(environment.places(), environment.instruction(), candidates);
  }
  // A forbidden cell looks as if the instruction issued there once its operands are ready.
  std::vector<bool> is_allowed;
  int ready = 0;
  for (const int d : into_[static_cast<size_t>(environment.instruction())]) {
    const Dependence& dependence = problem_->dependences[static_cast<size_t>(d)];
    const Place from = environment.places()[static_cast<size_t>(dependence.from)];
    if (dependence.distance > 0 || from.tile < 0) continue;
    ready = std::max(ready, from.issue + problem_->config.pipeline_latency);
  }
  for (int tile = 0; tile < tiles_; ++tile) {
    for (int slot = 0; slot < period_; ++slot) {
      int issue = ready + (slot - ready % period_ + period_) % period_;
      const auto at = std::ranges::find_if(environment.allowed(), [&](const Cell& cell) {
        return cell.tile == tile && cell.slot == slot;
      });
      is_allowed.push_back(at != environment.allowed().end());
      if (is_allowed.back()) issue = at->issue;
      candidates.push_back({tile, issue});
    }
  }
  StepFeatures step = ObservePlaces(environment.places(), environment.instruction(), candidates);
  step.is_allowed = std::move(is_allowed);
  return step;
}

}  // namespace kiln::cgra
