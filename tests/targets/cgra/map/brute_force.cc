#include "tests/targets/cgra/map/brute_force.h"

#include <algorithm>
#include <vector>

#include "tests/targets/cgra/map/naive_rules.h"

namespace kiln::cgra {
namespace {

class Trial {
 public:
  Trial(const Problem& problem, int interval)
      : problem_(problem),
        config_(problem.config),
        interval_(interval),
        places_(problem.instructions.size()) {
    const int longest = config_.rows + config_.columns;
    horizon_ = interval + (problem.size() + 1) *
                              (config_.pipeline_latency + longest * config_.hop_cycles + interval);
  }

  std::optional<int> Run() {
    if (config_.tile_period > 0 && interval_ % config_.tile_period != 0) return std::nullopt;
    TryTiles(0);
    return least_;
  }

 private:
  Place& At(int i) { return places_[static_cast<size_t>(i)]; }

  // Tries all tiles that keep the rules of tiles.
  void TryTiles(int i) {
    if (i == problem_.size()) {
      if (config_.issue_later) {
        TrySlots(0);
      } else {
        TryArrivals(0);
      }
      return;
    }
    for (int tile = 0; tile < config_.tiles(); ++tile) {
      At(i).tile = tile;
      if (TilesFit(i)) TryTiles(i + 1);
    }
    At(i).tile = -1;
  }

  bool TilesFit(int i) {
    const int tile = At(i).tile;
    const auto here = std::count_if(places_.begin(), places_.begin() + i + 1,
                                    [tile](const Place& place) { return place.tile == tile; });
    if (here > config_.instruction_depth) return false;
    for (int other = 0; other < i; ++other) {
      const bool same = At(other).tile == tile;
      const bool grouped =
          problem_.group[static_cast<size_t>(i)] >= 0 &&
          problem_.group[static_cast<size_t>(i)] == problem_.group[static_cast<size_t>(other)];
      if (grouped && !same) return false;
      const bool siblings =
          std::ranges::find(problem_.siblings, std::pair(other, i)) != problem_.siblings.end();
      const auto starts = [&](int k) {
        return std::ranges::find(problem_.starts, k) != problem_.starts.end();
      };
      if (same && (siblings || (starts(i) && starts(other)))) return false;
    }
    return std::ranges::all_of(problem_.dependences, [&](const Dependence& d) {
      if (!d.moves || std::max(d.from, d.to) != i) return true;
      if (d.from == d.to || At(d.from).tile == At(d.to).tile) return config_.feedback;
      return HopCycles(config_, At(d.from).tile, At(d.to).tile) >= 0;
    });
  }

  // Tries all slots; the least issue cycles in these slots follow.
  void TrySlots(int i) {
    if (i == problem_.size()) {
      Settle();
      return;
    }
    const int period = config_.tile_period > 0 ? config_.tile_period : interval_;
    for (int slot = 0; slot < interval_; ++slot) {
      At(i).issue = slot;
      bool free = true;
      for (int other = 0; other < i; ++other) {
        free = free && (At(other).tile != At(i).tile || At(other).issue % period != slot % period);
      }
      if (free) TrySlots(i + 1);
    }
  }

  void Settle() {
    const std::vector<Place> slots = places_;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Dependence& d : problem_.dependences) {
        const int hops = d.moves ? HopCycles(config_, At(d.from).tile, At(d.to).tile) : 0;
        const int least =
            At(d.from).issue + config_.pipeline_latency + hops - d.distance * interval_;
        changed = Raise(d.to, least) || changed;
        if (d.moves && config_.wait_limit >= 0) {
          const int wait = At(d.to).issue - least - config_.wait_limit;
          changed = Raise(d.from, At(d.from).issue + wait) || changed;
        }
        if (std::max(At(d.to).issue, At(d.from).issue) > horizon_) {
          places_ = slots;
          return;
        }
      }
    }
    Keep();
    places_ = slots;
  }

  bool Raise(int i, int least) {
    bool raised = false;
    for (; At(i).issue < least && At(i).issue <= horizon_; raised = true) At(i).issue += interval_;
    return raised;
  }

  // Tries issue cycles in topological order, where operands of the same thread set the cycle unless
  // those of earlier threads come later.
  void TryArrivals(int i) {
    if (i == problem_.size()) {
      Keep();
      return;
    }
    int first = 0, last = horizon_;
    bool enters = false, looped = false;
    for (const Dependence& d : problem_.dependences) {
      if (d.to != i) continue;
      looped = looped || (d.distance > 0 && d.from != i);
      if (d.distance > 0) continue;
      enters = true;
      const int hops = d.moves ? HopCycles(config_, At(d.from).tile, At(i).tile) : 0;
      first = std::max(first, At(d.from).issue + config_.pipeline_latency + hops);
    }
    if (enters && !looped) last = first;
    if (!enters && !config_.later_periods) last = interval_ - 1;
    for (int issue = first; issue <= last; ++issue) {
      At(i).issue = issue;
      TryArrivals(i + 1);
    }
  }

  void Keep() {
    int latency = 0;
    for (const Place& place : places_) {
      latency = std::max(latency, place.issue + config_.pipeline_latency);
    }
    if (least_ && *least_ <= latency) return;
    if (NaiveFault(problem_, interval_, places_).empty()) least_ = latency;
  }

  const Problem& problem_;
  const Config& config_;
  int interval_;
  int horizon_ = 0;
  std::vector<Place> places_;
  std::optional<int> least_;
};

}  // namespace

std::optional<int> LeastLatencyByTrial(const Problem& problem, int initiation_interval) {
  return Trial(problem, initiation_interval).Run();
}

}  // namespace kiln::cgra
