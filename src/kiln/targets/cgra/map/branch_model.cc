// What the branch and bound needs of a problem at any interval.

#include <algorithm>
#include <bit>
#include <set>
#include <span>

#include "kiln/targets/cgra/map/branch.h"

namespace kiln::cgra {
namespace {

size_t Index(int i) { return static_cast<size_t>(i); }

}  // namespace

int SearchModel::Distance(int a, int b) const {
  const int columns = problem->config.columns;
  return std::abs(a / columns - b / columns) + std::abs(a % columns - b % columns);
}

uint64_t SearchModel::Spread(uint64_t tiles_from, int distance) const {
  const std::span<const uint64_t> reached(near_any_[Index(distance)]);
  uint64_t result = 0;
  for (size_t part = 0; tiles_from != 0; ++part, tiles_from >>= kPartTiles) {
    result |= reached[part * kPartSets + (tiles_from & (kPartSets - 1))];
  }
  return result;
}

SearchModel::SearchModel(const Problem& of) : problem(&of), size(of.size()), tiles(of.tiles()) {
  const Config& config = of.config;
  all_tiles = tiles == kMostSearchTiles ? ~uint64_t{0} : (uint64_t{1} << tiles) - 1;
  reach = config.relaxed_distance ? config.rows + config.columns - 2 : config.reach;
  // By distance and tile: the tiles that a value reaches.
  std::vector<std::vector<uint64_t>> near(Index(reach) + 1, std::vector<uint64_t>(Index(tiles), 0));
  std::vector<int> count(Index(reach) + 1, 0);  // most tiles within a distance
  for (int distance = 0; distance <= reach; ++distance) {
    for (int a = 0; a < tiles; ++a) {
      for (int b = 0; b < tiles; ++b) {
        if ((a == b && !config.feedback) || HopCycles(config, a, b) < 0) continue;
        if (Distance(a, b) <= distance) near[Index(distance)][Index(a)] |= uint64_t{1} << b;
      }
      count[Index(distance)] =
          std::max(count[Index(distance)], std::popcount(near[Index(distance)][Index(a)]));
    }
    while (std::ssize(nearest) < count[Index(distance)]) nearest.push_back(distance);
  }
  for (const std::vector<uint64_t>& reached : near) {
    std::vector<uint64_t>& any = near_any_.emplace_back();
    for (int tile = 0; tile < tiles; tile += kPartTiles) {
      for (uint64_t set = 0; set < kPartSets; ++set) {
        uint64_t of_set = 0;
        for (uint64_t left = set; left != 0; left &= left - 1) {
          const int from = tile + std::countr_zero(left);
          if (from < tiles) of_set |= reached[Index(from)];
        }
        any.push_back(of_set);
      }
    }
  }
  std::set<std::pair<int, int>> different(of.siblings.begin(), of.siblings.end());
  for (const int a : of.starts) {
    for (const int b : of.starts) {
      if (a < b) different.emplace(a, b);
    }
  }
  into.resize(Index(size));
  from.resize(Index(size));
  apart.resize(Index(size));
  together.resize(Index(size));
  consumers.resize(Index(size));
  for (const auto& [a, b] : different) {
    apart[Index(a)].push_back(b);
    apart[Index(b)].push_back(a);
  }
  for (const Dependence& d : of.dependences) {
    const auto arc = static_cast<int>(arcs.size());
    const bool is_apart = different.contains({std::min(d.from, d.to), std::max(d.from, d.to)});
    arcs.push_back({d.from, d.to, d.distance, d.moves, is_apart});
    from[Index(d.from)].push_back(arc);
    into[Index(d.to)].push_back(arc);
    if (d.moves &&
        std::ranges::find(consumers[Index(d.from)], d.to) == consumers[Index(d.from)].end()) {
      consumers[Index(d.from)].push_back(d.to);
    }
  }
  for (const std::vector<int>& users : consumers) {
    // Refutations (core.h) leave rules out, so that not all consumers are apart.
    bool all = true;
    for (const int a : users) {
      for (const int b : users) all = all && (a >= b || different.contains({a, b}));
    }
    spreads.push_back(all);
  }
  for (const std::vector<int>& group : of.groups) {
    for (const int a : group) {
      for (const int b : group) {
        if (a != b) together[Index(a)].push_back(b);
      }
    }
  }
  tail.assign(Index(size), config.pipeline_latency);
  for (int i = size - 1; i >= 0; --i) {
    for (const int a : from[Index(i)]) {
      const Arc& arc = arcs[Index(a)];
      if (arc.distance > 0) continue;
      tail[Index(i)] = std::max(tail[Index(i)], config.pipeline_latency + tail[Index(arc.to)]);
    }
  }
}

}  // namespace kiln::cgra
