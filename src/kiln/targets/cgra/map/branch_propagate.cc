// What a choice of the branch and bound implies for other instructions. Each function keeps the
// invariant that only possibilities without a solution are removed, so that an empty set of tiles
// or an empty window is a proof. branch.h says what the functions return.

#include <algorithm>
#include <bit>
#include <utility>

#include "kiln/targets/cgra/map/branch.h"

namespace kiln::cgra {
namespace {

size_t K(int i) { return static_cast<size_t>(i); }

}  // namespace

void BranchSearch::Touch(int instruction, unsigned changes) {
  unsigned& queued = queued_[K(instruction)];
  if (queued == 0) queue_.push_back(instruction);
  queued |= changes;
}

bool BranchSearch::Fixed(const State& state, int i) const {
  return std::has_single_bit(state.tiles[K(i)]) && state.first[K(i)] == state.last[K(i)];
}

int BranchSearch::Weight(const SearchModel::Arc& arc) const {
  return config_->pipeline_latency - arc.distance * interval_;
}

bool BranchSearch::Keep(State* state, int instruction, uint64_t tiles) {
  uint64_t& at = state->tiles[K(instruction)];
  if ((at & tiles) == at) return true;
  at &= tiles;
  Touch(instruction, kTiles);
  if (at != 0) return true;
  weight_[K(instruction)] += 1;
  return false;
}

bool BranchSearch::NotBefore(State* state, int instruction, int cycle) {
  if (cycle <= state->first[K(instruction)]) return true;
  state->first[K(instruction)] = cycle;
  Touch(instruction, kFirst);
  if (cycle <= state->last[K(instruction)]) return true;
  weight_[K(instruction)] += 1;
  return false;
}

bool BranchSearch::NotAfter(State* state, int instruction, int cycle) {
  if (cycle >= state->last[K(instruction)]) return true;
  state->last[K(instruction)] = cycle;
  Touch(instruction, kLast);
  if (cycle >= state->first[K(instruction)]) return true;
  weight_[K(instruction)] += 1;
  return false;
}

// The matching comes last because it costs the most.
bool BranchSearch::Propagate(State* state) {
  bool holds = true;
  do {
    while (holds && !queue_.empty()) {
      const int i = queue_.back();
      queue_.pop_back();
      const unsigned changes = std::exchange(queued_[K(i)], 0U);
      holds = Visit(state, i, changes);
    }
    holds = holds && (span_ == 0 || KeepSpan(state));
  } while (holds && !queue_.empty());
  for (const int i : queue_) queued_[K(i)] = 0;
  queue_.clear();
  return holds && Match(state);
}

// Keeps all tiles less than span_ apart. A tile is a bit, so that bounds of tiles are bounds of
// words.
bool BranchSearch::KeepSpan(State* state) {
  int first = 0, last = model_.tiles - 1;  // the greatest first tile and the least last one
  for (const uint64_t tiles : state->tiles) {
    first = std::max(first, std::countr_zero(tiles));
    last = std::min(last, static_cast<int>(std::bit_width(tiles)) - 1);
  }
  const uint64_t from = ~uint64_t{0} << std::max(0, first - span_ + 1);
  const uint64_t to = ~uint64_t{0} >> (63 - std::min(63, last + span_ - 1));
  for (int i = 0; i < model_.size; ++i) {
    if (!Keep(state, i, from & to)) return false;
  }
  return true;
}

bool BranchSearch::Visit(State* state, int instruction, unsigned changes) {
  if (!TrimSlots(state, instruction)) return false;
  if (Fixed(*state, instruction) && !state->placed[K(instruction)] && !Put(state, instruction)) {
    return false;
  }
  // A wait limit, and the latest arrival, bind the other ends of windows, too.
  const bool both_ends = config_->wait_limit >= 0 || !config_->issue_later;
  return VisitNeighbours(state, instruction, both_ends ? kTiles : changes);
}

// Removes tiles and cycles whose slots are all taken.
bool BranchSearch::TrimSlots(State* state, int instruction) {
  if (state->placed[K(instruction)]) return true;
  int first = state->first[K(instruction)], last = state->last[K(instruction)];
  const int window = last - first + 1;
  const int first_slot = SlotOf(first);
  uint64_t full = ~uint64_t{0};
  for (int k = 0, slot = first_slot; k < std::min(window, period_) && full != 0; ++k) {
    full &= state->busy[K(slot)];
    slot = SlotAfter(slot);
  }
  if (full != 0 && !Keep(state, instruction, ~full)) return false;
  const uint64_t tiles = state->tiles[K(instruction)];
  const auto is_taken = [&](int slot) { return (tiles & ~state->busy[K(slot)]) == 0; };
  if (!is_taken(first_slot) && !is_taken(SlotOf(last))) return true;
  while (first <= last && is_taken(SlotOf(first))) ++first;
  while (first <= last && is_taken(SlotOf(last))) --last;
  return NotBefore(state, instruction, first) && NotAfter(state, instruction, last);
}

// Marks the cell of a fixed instruction as taken. A tile that holds instruction_depth instructions
// has all of its slots marked.
bool BranchSearch::Put(State* state, int instruction) {
  const uint64_t bit = state->tiles[K(instruction)];
  uint64_t& busy = state->busy[K(SlotOf(state->first[K(instruction)]))];
  if (busy & bit) {
    weight_[K(instruction)] += 1;
    return false;
  }
  busy |= bit;
  state->placed[K(instruction)] = 1;
  int count = 0;
  for (int i = 0; i < model_.size; ++i) count += state->placed[K(i)] && state->tiles[K(i)] == bit;
  if (count >= config_->instruction_depth) {
    for (uint64_t& slot : state->busy) slot |= bit;
  }
  for (int other = 0; other < model_.size; ++other) {
    if (!state->placed[K(other)] && (state->tiles[K(other)] & bit) && !TrimSlots(state, other)) {
      return false;
    }
  }
  return true;
}

// A dependence binds the first issue of its producer and the last one of its consumer, so that an
// instruction's first issue matters to its consumers and its last one to its producers.
bool BranchSearch::VisitNeighbours(State* state, int instruction, unsigned changes) {
  const auto i = K(instruction);
  if (changes & kTiles) {
    for (const int peer : model_.together[i]) {
      if (!Keep(state, peer, state->tiles[i])) return false;
    }
    if (std::has_single_bit(state->tiles[i])) {
      for (const int other : model_.apart[i]) {
        if (!Keep(state, other, ~state->tiles[i])) return false;
      }
    }
  }
  if (changes & (kTiles | kFirst)) {
    for (const int a : model_.from[i]) {
      if (!Relax(state, model_.arcs[K(a)])) return false;
    }
  }
  if (check_links_ && !UseLinks(state, instruction)) return false;
  if ((changes & (kTiles | kLast)) == 0) return true;
  for (const int a : model_.into[i]) {
    const SearchModel::Arc& arc = model_.arcs[K(a)];
    if (!Relax(state, arc)) return false;
    if (arc.moves && !SpreadConsumers(state, arc.from)) return false;
    if (arc.moves && config_->one_output && !OneOutput(state, arc.from)) return false;
    if (check_links_ && !UseLinks(state, arc.from)) return false;
  }
  if (config_->one_output && !OneOutput(state, instruction)) return false;
  if (config_->issue_later) return true;
  for (const int a : model_.from[i]) {
    if (!LatestArrival(state, model_.arcs[K(a)].to)) return false;
  }
  return LatestArrival(state, instruction);
}

// Narrows both ends of a dependence. The slack of the two windows says how far the value may go,
// which restricts tiles; the least distance between the tiles that are left then restricts the
// windows.
bool BranchSearch::Relax(State* state, const SearchModel::Arc& arc) {
  const auto u = K(arc.from), v = K(arc.to);
  const int weight = Weight(arc);
  const int hop = config_->hop_cycles;
  if (arc.from == arc.to) {
    const bool fits = weight <= 0 &&
                      (!arc.moves || (config_->feedback &&
                                      (config_->wait_limit < 0 || -weight <= config_->wait_limit)));
    if (!fits) weight_[u] += 1;
    return fits;
  }
  int least = 0;  // tiles between the ends
  if (arc.moves) {
    const int slack = state->last[v] - state->first[u] - weight;
    if (slack < 0) {
      weight_[v] += 1;
      return false;
    }
    const int most = hop > 0 ? std::min(model_.reach, slack / hop) : model_.reach;
    if (!Keep(state, arc.to, model_.Spread(state->tiles[u], most))) return false;
    if (!Keep(state, arc.from, model_.Spread(state->tiles[v], most))) return false;
    least = arc.apart ? 1 : 0;
    while (least <= most && (model_.Spread(state->tiles[u], least) & state->tiles[v]) == 0) {
      ++least;
    }
    if (least > most) {
      weight_[v] += 1;
      return false;
    }
  }
  const int cycles = weight + (arc.moves ? std::max(least * hop, least_delay_) : 0);
  if (!NotBefore(state, arc.to, state->first[u] + cycles)) return false;
  if (!NotAfter(state, arc.from, state->last[v] - cycles)) return false;
  return config_->wait_limit < 0 || !arc.moves || RelaxWait(state, arc);
}

// Returns the most cycles that the value of a dependence may take between tiles.
int BranchSearch::FarthestHop(const State& state, const SearchModel::Arc& arc) const {
  if (!arc.moves || arc.from == arc.to) return 0;
  const uint64_t from = state.tiles[K(arc.from)], to = state.tiles[K(arc.to)];
  if (std::has_single_bit(from) && std::has_single_bit(to)) {
    return model_.Distance(std::countr_zero(from), std::countr_zero(to)) * config_->hop_cycles;
  }
  return model_.reach * config_->hop_cycles;
}

// With a wait limit, the consumer issues at most that much after the latest arrival, and the
// producer no earlier than that allows.
bool BranchSearch::RelaxWait(State* state, const SearchModel::Arc& arc) {
  const int most = Weight(arc) + FarthestHop(*state, arc) + config_->wait_limit;
  return NotAfter(state, arc.to, state->last[K(arc.from)] + most) &&
         NotBefore(state, arc.from, state->first[K(arc.to)] - most);
}

// Without Config::issue_later, an instruction issues when its last operand arrives.
bool BranchSearch::LatestArrival(State* state, int instruction) {
  if (model_.problem->source[K(instruction)]) return true;
  int latest = 0;
  for (const int a : model_.into[K(instruction)]) {
    const SearchModel::Arc& arc = model_.arcs[K(a)];
    if (arc.from == arc.to) continue;  // holds at every issue cycle, and so never decides it
    latest = std::max(latest, state->last[K(arc.from)] + Weight(arc) + FarthestHop(*state, arc));
  }
  return NotAfter(state, instruction, latest);
}

// Bounds the producer's last issue by all its consumers together. They are on different tiles, so
// the k-th of them is at least as far away as the k-th nearest tile. The bound is weakest if the
// consumer that allows the earliest issue is the nearest one; no other assignment allows a later
// issue.
bool BranchSearch::SpreadConsumers(State* state, int producer) {
  const std::vector<int>& consumers = model_.consumers[K(producer)];
  if (consumers.size() < 2 || !model_.spreads[K(producer)]) return true;
  if (consumers.size() > model_.nearest.size()) {
    weight_[K(producer)] += 1;
    return false;
  }
  allowed_.clear();  // the last issue of the producer that each allows on the same tile
  for (const int a : model_.from[K(producer)]) {
    const SearchModel::Arc& arc = model_.arcs[K(a)];
    if (!arc.moves) continue;
    const int allowed = arc.from == arc.to ? 1 << 28 : state->last[K(arc.to)] - Weight(arc);
    allowed_.push_back(allowed);
  }
  if (allowed_.size() != consumers.size()) return true;  // one uses the result twice
  std::ranges::sort(allowed_);
  int last = 1 << 28;
  for (size_t k = 0; k < allowed_.size(); ++k) {
    last = std::min(last, allowed_[k] - model_.nearest[k] * config_->hop_cycles);
  }
  return NotAfter(state, producer, last);
}

// With Config::one_output: once one consumer is on another tile, all other consumers are on that
// tile or on the producer's own.
bool BranchSearch::OneOutput(State* state, int producer) {
  const uint64_t own = state->tiles[K(producer)];
  if (!std::has_single_bit(own)) return true;
  for (const int consumer : model_.consumers[K(producer)]) {
    const uint64_t tile = state->tiles[K(consumer)];
    if (!std::has_single_bit(tile) || tile == own) continue;
    for (const int other : model_.consumers[K(producer)]) {
      if (!Keep(state, other, own | tile)) return false;
    }
  }
  return true;
}

// On machines where links may collide: reserves the links on the ways of a placed instruction's
// value to consumers whose tiles are fixed. Fails if another result enters the same link in the
// same cycle modulo the period. A link has the number of its tile, its direction and its length.
bool BranchSearch::UseLinks(State* state, int instruction) {
  if (!state->placed[K(instruction)]) return true;
  const int tile = std::countr_zero(state->tiles[K(instruction)]);
  const int ready = state->first[K(instruction)] + config_->pipeline_latency;
  for (const int a : model_.from[K(instruction)]) {
    const SearchModel::Arc& arc = model_.arcs[K(a)];
    const uint64_t to = state->tiles[K(arc.to)];
    if (!arc.moves || !std::has_single_bit(to)) continue;
    for (const LinkUse& use : RouteOf(*config_, tile, std::countr_zero(to))) {
      const int step = use.to - use.from;
      const bool along_row = use.to / config_->columns == use.from / config_->columns;
      const int tiles = along_row ? step : step / config_->columns;
      const int direction = (along_row ? 0 : 2) + (tiles > 0 ? 1 : 0);
      const int link = (use.from * 4 + direction) * config_->reach + std::abs(tiles) - 1;
      int16_t& user = state->link_user[K(link) * K(period_) + K((ready + use.delay) % period_)];
      if (user >= 0 && user != instruction) {
        weight_[K(instruction)] += 1;
        return false;
      }
      user = static_cast<int16_t>(instruction);
    }
  }
  return true;
}

// Checks that all instructions can still have cells of their own, by a bipartite matching of
// instructions to cells. The matching of the parent state is repaired rather than computed anew:
// only instructions that lost their cells look for another one.
bool BranchSearch::Match(State* state) {
  owner_.assign(K(model_.tiles) * K(period_), -1);
  taken_ = state->busy;
  unmatched_.clear();
  for (int i = 0; i < model_.size; ++i) {
    if (!state->placed[K(i)]) continue;
    const int tile = std::countr_zero(state->tiles[K(i)]), slot = SlotOf(state->first[K(i)]);
    owner_[K(state->cell[K(i)] = tile * period_ + slot)] = i;
  }
  for (int i = 0; i < model_.size; ++i) {
    int& cell = state->cell[K(i)];
    if (state->placed[K(i)]) continue;
    if (cell >= 0 && owner_[K(cell)] < 0 && MayHave(*state, i, cell)) {
      owner_[K(cell)] = i;
      taken_[K(cell % period_)] |= uint64_t{1} << cell / period_;
    } else {
      cell = -1;
      unmatched_.push_back(i);
    }
  }
  if (unmatched_.empty()) return true;
  for (const int i : unmatched_) {
    seen_ = state->busy;
    if (!Augment(*state, i)) {
      weight_[K(i)] += 1;
      return false;
    }
  }
  for (size_t c = 0; c < owner_.size(); ++c) {
    if (owner_[c] >= 0) state->cell[K(owner_[c])] = static_cast<int>(c);
  }
  return true;
}

// Returns whether a cell is among the possibilities of an instruction.
bool BranchSearch::MayHave(const State& state, int instruction, int cell) const {
  const int first = state.first[K(instruction)], last = state.last[K(instruction)];
  const int slot = cell % period_;
  if ((state.tiles[K(instruction)] >> cell / period_ & 1) == 0) return false;
  if ((state.busy[K(slot)] >> cell / period_ & 1) != 0) return false;
  return last - first + 1 >= period_ || (slot - SlotOf(first) + period_) % period_ <= last - first;
}

// Gives an instruction a cell that is free or, if none is, one whose owner finds another one
// (Kuhn's algorithm). Each cell is visited at most once per unmatched instruction.
bool BranchSearch::Augment(const State& state, int instruction) {
  const int first = state.first[K(instruction)];
  const int window = std::min(state.last[K(instruction)] - first + 1, period_);
  const uint64_t tiles = state.tiles[K(instruction)];
  const int first_slot = SlotOf(first);
  for (int k = 0, slot = first_slot; k < window; ++k, slot = SlotAfter(slot)) {
    const uint64_t left = tiles & ~taken_[K(slot)];
    if (left == 0) continue;
    owner_[K(std::countr_zero(left) * period_ + slot)] = instruction;
    taken_[K(slot)] |= left & -left;
    return true;
  }
  for (int k = 0, slot = first_slot; k < window; ++k, slot = SlotAfter(slot)) {
    uint64_t& seen = seen_[K(slot)];
    for (uint64_t left = tiles & ~seen; left != 0; left = tiles & ~seen) {
      seen |= left & -left;
      int& owner = owner_[K(std::countr_zero(left) * period_ + slot)];
      if (!Augment(state, owner)) continue;
      owner = instruction;
      return true;
    }
  }
  return false;
}

}  // namespace kiln::cgra
