// Bounds of the initiation interval and of the latency, and problems without any mapping.
//
// Every bound is proved on a relaxation: a rule whose effect depends on tiles is replaced by the
// least that it costs at any tiles. Three arguments are combined.
//   - Cells: instructions, and the groups of rule 1, must fit tiles of II slots (LeastOfCells).
//   - Issue cycles: dependences, first periods and wait limits are inequalities of two cycles each.
//     A loop of them that adds up to more than 0 has no solution (Solve). The least solution is the
//     longest path from the start of the thread to each instruction.
//   - Tails: the longest path from each instruction to the last result, with the hops that rule 3
//     forces (Tails). The sum of both paths bounds the latency.

#include <algorithm>
#include <map>

#include "fmt/format.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/integer.h"
#include "kiln/targets/cgra/graph/counted.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {
namespace {

size_t At(int i) { return static_cast<size_t>(i); }

// The least cycles that a value takes to the tile itself, to another tile, and to the k-th nearest
// tile at all, wherever its producer is.
struct LeastHops {
  int other = -1;            // to another tile; -1: there is no way
  std::vector<int> nearest;  // ascending: the k-th consumer that needs a tile of its own
};

// Returns the least hops over all producers.
LeastHops HopsOf(const Config& config) {
  // Around the tile in the middle are at least as many tiles within each distance as around any
  // other, because links depend on distances alone.
  LeastHops least;
  const int middle = (config.rows - 1) / 2 * config.columns + (config.columns - 1) / 2;
  for (int to = 0; to < config.tiles(); ++to) {
    if (middle == to && !config.feedback) continue;
    const int cycles = HopCycles(config, middle, to);
    if (cycles < 0) continue;
    least.nearest.push_back(cycles);
    if (middle != to && (least.other < 0 || cycles < least.other)) least.other = cycles;
  }
  std::ranges::sort(least.nearest);
  return least;
}

// An inequality t(to) >= t(from) + cycles, where the origin is cycle 0.
struct Inequality {
  int from = 0, to = 0;
  int cycles = 0;
  int dependence = -1;  // what it comes from, or -1
  bool waits = false;   // whether it is the dependence's wait limit
};

bool InOneGroup(const Problem& problem, int a, int b) {
  const int group = problem.group[At(a)];
  return group >= 0 && group == problem.group[At(b)];
}

// Returns whether two instructions cannot share a tile.
bool ApartAnyway(const Problem& problem, int a, int b, Passes passes) {
  const std::pair<int, int> pair(std::min(a, b), std::max(a, b));
  const bool siblings = std::ranges::find(problem.siblings, pair) != problem.siblings.end();
  if (siblings && passes == Passes::kOfProblem) return true;
  const auto starts = [&](int i) {
    return std::ranges::find(problem.starts, i) != problem.starts.end();
  };
  return a != b && starts(a) && starts(b);
}

// Returns the least cycles that a value takes beyond the pipeline of its producer, on any tiles. A
// value that may stay on its tile takes 0.
int LeastHop(const Problem& problem, const Dependence& dependence, const LeastHops& hops,
             int interval, Passes passes) {
  if (!dependence.moves) return 0;
  const Config& config = problem.config;
  const int delay = dependence.from == dependence.to ? 0 : LeastDelay(config, interval);
  const int other = std::max(hops.other, 0), from = dependence.from, to = dependence.to;
  const bool same = from == to || InOneGroup(problem, from, to);
  if (same && !config.feedback) {
    // To another tile and back. Without pass-throughs, WhyImpossible says so.
    return passes == Passes::kAny ? config.pipeline_latency + 2 * other : delay;
  }
  // A pass-through in between would take at least the pipeline's latency.
  const bool apart = from != to && (!config.feedback || ApartAnyway(problem, from, to, passes));
  return apart ? std::max(delay, std::min(other, config.pipeline_latency)) : delay;
}

// Returns all inequalities that hold for the issue cycles at any tiles. The origin, which is cycle
// 0 of the thread, has the number size(). A dependence bounds its consumer from below with the
// least hop and, under a wait limit, from above with the greatest hop of the machine, so that both
// hold at any tiles.
std::vector<Inequality> Inequalities(const Problem& problem, int interval, Passes passes) {
  const Config& config = problem.config;
  const LeastHops hops = HopsOf(config);
  std::vector<Inequality> all;
  const int most_hop = MostHopCycles(config);
  const int origin = problem.size();
  for (int i = 0; i < problem.size(); ++i) {
    all.push_back({origin, i, 0});
    if (problem.source[At(i)] && !config.later_periods) {
      all.push_back({i, origin, 1 - interval});
    }
  }
  for (size_t d = 0; d < problem.dependences.size(); ++d) {
    const Dependence& dependence = problem.dependences[d];
    const auto number = static_cast<int>(d);
    const int cycles = config.pipeline_latency - dependence.distance * interval;
    const int hop = LeastHop(problem, dependence, hops, interval, passes);
    all.push_back({dependence.from, dependence.to, cycles + hop, number});
    if (!dependence.moves || config.wait_limit < 0 || passes == Passes::kAny) continue;
    const int most = dependence.from == dependence.to ? 0 : most_hop;
    all.push_back(
        {dependence.to, dependence.from, -cycles - most - config.wait_limit, number, true});
  }
  return all;
}

// The least solution of a system of inequalities, or a cycle of inequalities without a solution.
struct Solution {
  std::vector<int> least;         // by instruction
  std::vector<Inequality> cycle;  // empty if there is a solution
};

// Finds longest paths from the origin by the Bellman-Ford algorithm. Without a cycle of positive
// length, `count` + 1 rounds over all inequalities suffice; a change in a later round proves a
// positive cycle. `count` + 1 steps back along the reasons then end on the cycle itself.
Solution Solve(const std::vector<Inequality>& inequalities, int count) {
  constexpr int kNone = -(1 << 28);
  Solution solution;
  std::vector<int>& at = solution.least;
  at.assign(At(count) + 1, kNone);
  at[At(count)] = 0;
  std::vector<int> reason(At(count) + 1, -1);
  int changed = -1;
  for (int round = 0; round <= count + 1; ++round) {
    changed = -1;
    for (size_t e = 0; e < inequalities.size(); ++e) {
      const Inequality& row = inequalities[e];
      if (at[At(row.from)] == kNone || at[At(row.from)] + row.cycles <= at[At(row.to)]) continue;
      at[At(row.to)] = at[At(row.from)] + row.cycles;
      reason[At(row.to)] = static_cast<int>(e);
      changed = row.to;
    }
    if (changed < 0) return solution;
  }
  for (int i = 0; i <= count; ++i) changed = inequalities[At(reason[At(changed)])].from;
  const int begin = changed;
  do {
    solution.cycle.push_back(inequalities[At(reason[At(changed)])]);
    changed = solution.cycle.back().from;
  } while (changed != begin);
  std::ranges::reverse(solution.cycle);
  return solution;
}

// Says which cycle of inequalities has no solution at `interval`. The text begins at the origin if
// the cycle contains it, else at the instruction with the least number, so that it does not depend
// on where Solve met the cycle.
std::string DescribeCycle(const Problem& problem, const std::vector<Inequality>& cycle,
                          int interval) {
  std::vector<std::string> names;
  int cycles = 0, threads = 0;
  bool plain = true;
  const int origin = problem.size();
  size_t begin = 0;
  for (size_t e = 0; e < cycle.size(); ++e) {
    const bool is_before = cycle[e].from < cycle[begin].from && cycle[begin].from != origin;
    if (cycle[e].from == origin || is_before) begin = e;
  }
  for (size_t k = 0; k < cycle.size(); ++k) {
    const Inequality& row = cycle[(begin + k) % cycle.size()];
    plain = plain && row.from != origin && row.to != origin;
    if (row.from != origin) {
      names.push_back(Excerpt(problem.instructions[At(row.from)].name));
    }
    plain = plain && !row.waits;
    if (row.dependence < 0 || row.waits) continue;
    const Dependence& dependence = problem.dependences[At(row.dependence)];
    threads += dependence.distance;
    cycles += row.cycles + dependence.distance * interval;
  }
  if (plain) {
    names.push_back(names.front());
    return fmt::format("the recurrence {} takes {} cycles over {}", ListExcerpt(names, " -> ", 24),
                       cycles, Counted(threads, "thread"));
  }
  const bool waits = std::ranges::any_of(cycle, [](const Inequality& row) { return row.waits; });
  return fmt::format("no issue cycles of {} meet their dependences{}", ListExcerpt(names, ", ", 24),
                     waits ? ", first periods and wait limits" : " and first periods");
}

// Returns whether parts of these sizes, and `singles` parts of size 1, may fit `tiles` tiles of
// `slots` slots by the bound L2 of Martello and Toth ("Lower bounds and reduction procedures for
// the bin packing problem", Discrete Applied Mathematics 28, 1990). For each threshold `small`,
// parts of more than half a tile need a tile each; parts from `small` slots to half a tile first
// fill the room beside the ones of at most `slots` - `small`, then further tiles.
bool MayPack(const std::vector<int>& sizes, int singles, int tiles, int slots) {
  for (int small = 0; small <= slots / 2; ++small) {
    int large = 0, middle = 0, free_in_middle = 0, rest = 0;
    for (const int size : sizes) {
      if (size > slots) return false;
      if (size > slots - small) {
        ++large;
      } else if (2 * size > slots) {
        ++middle;
        free_in_middle += slots - size;
      } else if (size >= small) {
        rest += size;
      }
    }
    if (small <= 1) rest += singles;
    const int more = std::max(0, rest - free_in_middle);
    if (large + middle + CeilDivide(more, slots) > tiles) return false;
  }
  return true;
}

// Returns the length of the longest path from the issue of each instruction to the last result, in
// cycles. Consumers of one result are on different tiles by rule 3, so the k-th of them is at least
// as far away as the k-th nearest tile. The path is shortest if the consumer with the longest tail
// is the nearest one, hence the order of `moved`. A pass-through in between would take at least the
// pipeline's latency, so a hop counts no more than that.
std::vector<int> Tails(const Problem& problem, const LeastHops& hops, int interval, Passes passes) {
  const int latency = problem.config.pipeline_latency;
  const int delay = LeastDelay(problem.config, interval);
  std::vector<int> tail(At(problem.size()), latency);
  for (int i = problem.size() - 1; i >= 0; --i) {
    std::map<int, bool> consumers;  // to whether a value moves
    for (const Dependence& d : problem.dependences) {
      if (d.from == i && d.distance == 0) consumers[d.to] = consumers[d.to] || d.moves;
    }
    std::vector<int> moved;
    for (const auto& [to, moves] : consumers) {
      tail[At(i)] = std::max(tail[At(i)], latency + (moves ? delay : 0) + tail[At(to)]);
      if (!moves) continue;
      moved.push_back(tail[At(to)]);
      if (ApartAnyway(problem, i, to, passes)) {
        const int hop = std::min(std::max(hops.other, 0), latency);
        tail[At(i)] = std::max(tail[At(i)], latency + hop + tail[At(to)]);
      }
    }
    std::ranges::sort(moved, std::greater<>());
    for (size_t k = 0; k < moved.size() && k < hops.nearest.size(); ++k) {
      const int hop = std::min(hops.nearest[k], latency);
      tail[At(i)] = std::max(tail[At(i)], latency + hop + moved[k]);
    }
  }
  return tail;
}

// Returns the least end of the instructions of a group, in cycles. They share a tile and so issue
// one per cycle: a single machine with unit jobs, release dates (`head`) and delivery times
// (`tail`), for which it is optimal to issue the ready job with the longest tail first.
int GroupEnd(const std::vector<int>& group, const std::vector<int>& head,
             const std::vector<int>& tail) {
  std::vector<int> left = group;
  int end = 0;
  for (int cycle = 0; !left.empty(); ++cycle) {
    size_t best = left.size();
    for (size_t k = 0; k < left.size(); ++k) {
      if (head[At(left[k])] > cycle) continue;
      if (best == left.size() || tail[At(left[k])] > tail[At(left[best])]) best = k;
    }
    if (best == left.size()) continue;
    end = std::max(end, cycle + tail[At(left[best])]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return end;
}

// Returns the bound of the interval by the cells that instructions take: instructions over tiles,
// the largest group, and the packing of groups into tiles.
Bound LeastOfCells(const Problem& problem) {
  const Config& config = problem.config;
  const int step = IntervalStep(config);
  const int tiles = problem.tiles();
  Bound bound{step, "an interval is at least one cycle"};
  if (config.tile_period > 1) {
    bound.why = fmt::format("an interval is a multiple of the tiles' period of {} cycles", step);
  }
  const auto raise = [&](int value, const std::string& why) {
    if (value <= bound.value) return;
    // A period that is too short for the tiles' instructions stays so at every interval.
    bound.value = config.tile_period > 0 ? MostInterval(config) + step : value;
    bound.why = why;
  };
  raise(static_cast<int>(CeilDivide(problem.size(), tiles)),
        fmt::format("{} on {}", Counted(problem.size(), "instruction"), Counted(tiles, "tile")));
  std::vector<int> sizes;
  int singles = problem.size();
  for (size_t g = 0; g < problem.groups.size(); ++g) {
    const auto size = static_cast<int>(problem.groups[g].size());
    sizes.push_back(size);
    singles -= size;
    raise(size, fmt::format("{} on one tile, as all use {}", Counted(size, "instruction"),
                            problem.group_names[g]));
  }
  int packed = SlotsOf(config, bound.value);
  while (packed <= problem.size() && !MayPack(sizes, singles, tiles, packed)) ++packed;
  raise(packed, fmt::format("{} groups that share variables, with the other {}, on {}",
                            sizes.size(), Counted(singles, "instruction"), Counted(tiles, "tile")));
  return bound;
}

}  // namespace

std::vector<LinkUse> RouteOf(const Config& config, int from, int to) {
  std::vector<LinkUse> route;
  int delay = 0;
  const auto go = [&](int distance, int stride) {
    while (distance != 0) {
      const int step = std::clamp(distance, -config.reach, config.reach);
      route.push_back({from, from + step * stride, delay});
      delay += std::abs(step) * config.hop_cycles;
      from += step * stride;
      distance -= step;
    }
  };
  go(to % config.columns - from % config.columns, 1);
  go(to / config.columns - from / config.columns, config.columns);
  return route;
}

int LeastDelay(const Config& config, int initiation_interval) {
  const int period = SlotsOf(config, initiation_interval);
  return config.hop_cycles > 0 && config.pipeline_latency % period == 0 ? 1 : 0;
}

int IntervalStep(const Config& config) { return std::max(1, config.tile_period); }

int MostInterval(const Config& config) {
  if (config.tile_period > 0) return kMostInterval / config.tile_period * config.tile_period;
  return config.spoke_depth;
}

Bound LeastInterval(const Problem& problem, Passes passes) {
  const int step = IntervalStep(problem.config), most = MostInterval(problem.config);
  Bound bound = LeastOfCells(problem);
  while (bound.value <= most) {
    const Solution solution = Solve(Inequalities(problem, bound.value, passes), problem.size());
    if (solution.cycle.empty()) break;
    bound.why = DescribeCycle(problem, solution.cycle, bound.value);
    bound.value += step;
  }
  return bound;
}

std::string WhyNotAt(const Problem& problem, int initiation_interval, Passes passes) {
  const Bound cells = LeastOfCells(problem);
  if (cells.value > initiation_interval) return cells.why;
  const Solution solution =
      Solve(Inequalities(problem, initiation_interval, passes), problem.size());
  if (solution.cycle.empty()) return "";
  return DescribeCycle(problem, solution.cycle, initiation_interval);
}

Bound LeastLatency(const Problem& problem, int initiation_interval, Passes passes) {
  if (problem.size() == 0) return {0, "there is no instruction"};
  const LeastHops hops = HopsOf(problem.config);
  const Solution solution =
      Solve(Inequalities(problem, initiation_interval, passes), problem.size());
  Bound bound{problem.config.pipeline_latency, "one instruction"};
  if (!solution.cycle.empty()) return bound;
  const std::vector<int>& head = solution.least;
  const int delay = LeastDelay(problem.config, initiation_interval);
  const std::vector<int> tail = Tails(problem, hops, initiation_interval, passes);
  for (int i = 0; i < problem.size(); ++i) {
    const int value = head[At(i)] + tail[At(i)];
    if (value <= bound.value) continue;
    bound.value = value;
    bound.why = fmt::format("the longest path, through {}, with the hops that {} need",
                            Excerpt(problem.instructions[At(i)].name),
                            delay > 0 ? "siblings and slots" : "siblings");
  }
  for (size_t g = 0; g < problem.groups.size(); ++g) {
    const int value = GroupEnd(problem.groups[g], head, tail);
    if (value <= bound.value) continue;
    bound.value = value;
    bound.why =
        fmt::format("{} take turns on one tile, as all use {}",
                    Counted(std::ssize(problem.groups[g]), "instruction"), problem.group_names[g]);
  }
  return bound;
}

std::string WhyImpossible(const Problem& problem, Passes passes) {
  const Config& config = problem.config;
  const bool lifts = passes == Passes::kAny;
  const auto name = [&](int i) { return Excerpt(problem.instructions[At(i)].name); };
  const auto group = [&](int i) { return problem.group[At(i)]; };
  for (size_t s = 0; s < problem.siblings.size() && !lifts; ++s) {
    const auto [a, b] = problem.siblings[s];
    if (!InOneGroup(problem, a, b)) continue;
    return fmt::format(
        "'{}' and '{}' share a tile, as all users of {} do, and may not, as both use the result of "
        "'{}'",
        name(a), name(b), problem.group_names[At(group(a))], name(problem.sibling_producer[s]));
  }
  for (size_t a = 0; a < problem.starts.size(); ++a) {
    for (size_t b = a + 1; b < problem.starts.size(); ++b) {
      const int first = problem.starts[a], second = problem.starts[b];
      if (!InOneGroup(problem, first, second)) continue;
      return fmt::format(
          "'{}' and '{}' share a tile, as all users of {} do, and may not, as both start a flow",
          name(first), name(second), problem.group_names[At(group(first))]);
    }
  }
  if (std::ssize(problem.starts) > problem.tiles()) {
    return fmt::format("{} instructions start flows, each on a tile of its own, and there {} {}",
                       problem.starts.size(), problem.tiles() == 1 ? "is" : "are",
                       Counted(problem.tiles(), "tile"));
  }
  for (const Dependence& d : problem.dependences) {
    if (!d.moves || config.feedback || lifts) continue;
    if (d.from == d.to) {
      return fmt::format("'{}' uses its own result, and tiles have no feedback", name(d.from));
    }
    if (!InOneGroup(problem, d.from, d.to)) continue;
    return fmt::format(
        "'{}' and '{}' share a tile, as all users of {} do, and the tile has no "
        "feedback from one to the other",
        name(d.from), name(d.to), problem.group_names[At(group(d.from))]);
  }
  for (size_t g = 0; g < problem.groups.size(); ++g) {
    if (std::ssize(problem.groups[g]) <= config.instruction_depth) continue;
    return fmt::format("{} share a tile, as all use {}, and a tile holds {}",
                       Counted(std::ssize(problem.groups[g]), "instruction"),
                       problem.group_names[g], Counted(config.instruction_depth, "instruction"));
  }
  if (problem.size() > problem.tiles() * config.instruction_depth) {
    return fmt::format("{} do not fit {} with {} each", Counted(problem.size(), "instruction"),
                       Counted(problem.tiles(), "tile"),
                       Counted(config.instruction_depth, "instruction"));
  }
  const Bound least = LeastInterval(problem, passes);
  const int most = MostInterval(config);
  // Slots of a fixed period do not become more with the interval.
  if (least.value > most && config.tile_period > 0) {
    return fmt::format("the tiles' period of {} cycles is too short: {}", config.tile_period,
                       least.why);
  }
  if (least.value > most) {
    return fmt::format("the machine's longest interval is {} cycles, too short: {}", most,
                       least.why);
  }
  return "";
}

std::string WhyNone(const Problem& problem, int asked_interval, Passes passes) {
  std::string why = WhyImpossible(problem, passes);
  if (why.empty() && asked_interval > 0) why = WhyNotAt(problem, asked_interval, passes);
  return why;
}

// A group that contains two siblings, or a producer and its consumer on tiles without feedback,
// needs one pass-through. Otherwise a wait limit is lifted: `excess` counts the cycles by which the
// contradictory cycle of inequalities exceeds 0, and each pass-through gains at most `gain` of
// them.
Lift FindLift(const Problem& problem, int initiation_interval) {
  const Config& config = problem.config;
  for (size_t s = 0; s < problem.siblings.size(); ++s) {
    const auto [a, b] = problem.siblings[s];
    if (!InOneGroup(problem, a, b)) continue;
    for (size_t d = 0; d < problem.dependences.size(); ++d) {
      const Dependence& dependence = problem.dependences[d];
      if (dependence.moves && dependence.from == problem.sibling_producer[s] &&
          dependence.to == b) {
        return {static_cast<int>(d), 1};
      }
    }
  }
  for (size_t d = 0; d < problem.dependences.size(); ++d) {
    const auto& [from, to, distance, moves] = problem.dependences[d];
    const bool same = from == to || InOneGroup(problem, from, to);
    if (moves && same && !config.feedback) return {static_cast<int>(d), 1};
  }
  const Solution solution =
      Solve(Inequalities(problem, initiation_interval, Passes::kOfProblem), problem.size());
  if (solution.cycle.empty()) return {};
  int excess = 0;
  Lift lift{.dependence = problem.dependences.empty() ? -1 : 0, .passes = 0};
  for (const Inequality& row : solution.cycle) {
    excess += row.cycles;
    if (!row.waits) continue;
    const Dependence& dependence = problem.dependences[At(row.dependence)];
    // What waits too long for a pass-through waits too long for the consumer behind it.
    if (problem.instructions[At(dependence.to)].is_pass) continue;
    if (lift.passes > 0 &&
        dependence.distance <= problem.dependences[At(lift.dependence)].distance) {
      continue;
    }
    lift = {row.dependence, 1};
  }
  // A pass-through adds to the wait at most its latency, its hops, and a wait of its own.
  const int gain = config.pipeline_latency + MostHopCycles(config) + config.wait_limit;
  if (lift.passes > 0) lift.passes = static_cast<int>(CeilDivide(excess, std::max(gain, 1)));
  return lift;
}

}  // namespace kiln::cgra
