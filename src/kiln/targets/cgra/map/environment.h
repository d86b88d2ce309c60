// The mapping problem as an episode: instructions are placed one at a time in a topological order,
// each on a cell (tile, slot), until all are placed or no cell is allowed. Random search and the
// learned mapper (learn/) place instructions by it.
//
// In a cell, an instruction issues in the first cycle that the rules allow and that has the cell's
// slot. The reward of a step is -(t(n) - t(p(n))), where p(n) is the predecessor of n with the last
// result, and -t(n) if n has none. A step after which no cell is allowed for the next instruction
// ends the episode; its reward is less by lambda.
#ifndef KILN_TARGETS_CGRA_MAP_ENVIRONMENT_H_
#define KILN_TARGETS_CGRA_MAP_ENVIRONMENT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/cgra/map/placement.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

struct Cell {
  int tile = 0;
  int slot = 0;   // issue mod the period of the spoke counters
  int issue = 0;  // cycle
  friend bool operator==(const Cell&, const Cell&) = default;
};

struct EnvironmentOptions {
  // Leaves out cells after which some other instruction could not be placed on any tile, or not in
  // time: links that do not reach, rules 1 to 3, tiles that are full, recurrences. What it leaves
  // out cannot be completed; what it leaves may still end without an allowed cell.
  bool look_ahead = true;
  double lambda = 100;     // the penalty of an episode that cannot go on
  std::vector<int> order;  // instructions in a topological order; empty: as the problem has them
};

// Returns a topological order in which producers come shortly before their consumers: the
// predecessors of an instruction, the longest path first, and then the instruction itself.
std::vector<int> DepthFirstOrder(const Problem& problem);

// One episode at a time. Deterministic: the same cells give the same states and rewards.
class Environment {
 public:
  // The problem must outlive the environment. The initiation interval is at least 1 and a multiple
  // of Config::tile_period.
  Environment(const Problem& problem, int initiation_interval, EnvironmentOptions options = {});

  // Begins an episode again.
  void Reset();

  // The instruction to place, or -1 at the end.
  int instruction() const { return instruction_; }
  // Cells where it may be placed, by tile, then by issue. Empty at the end. An episode whose first
  // instruction has none ends at once.
  std::span<const Cell> allowed() const { return allowed_; }
  bool complete() const { return placement_.complete(); }
  bool stuck() const { return instruction_ < 0 && !placement_.complete(); }

  struct Outcome {
    double reward = 0;
    int delay = 0;       // cycles since the latest predecessor issued, or since 0
    int lengthened = 0;  // cycles by which the bound of the latency grew
  };
  // Places the instruction in one of the allowed cells.
  Outcome Step(const Cell& cell);
  // Ends the episode, as an agent that chose a forbidden cell must. Returns the reward, -lambda.
  double Abandon();

  const Placement& placement() const { return placement_; }
  std::span<const Place> places() const { return placement_.places(); }
  const Problem& problem() const { return *problem_; }
  int interval() const { return placement_.interval(); }
  int period() const { return period_; }  // slots of a tile
  double lambda() const { return options_.lambda; }
  std::span<const int> order() const { return options_.order; }
  // Returns the longest path from an instruction to the end of the flow in cycles, without hops,
  // its own latency included.
  int PathFrom(int instruction) const { return path_[static_cast<size_t>(instruction)]; }
  // Returns the least latency that the placed instructions leave possible, hops not counted.
  int LatencyBound() const { return bound_; }
  // Returns how many tiles an instruction that is not placed may still use beside the placed ones,
  // as far as rules and links alone tell. Requires look_ahead.
  int TilesLeft(int instruction) const;
  // Returns whether such an instruction may still use a tile. Requires look_ahead.
  bool TileLeft(int instruction, int tile) const;
  // Returns the free slots of a tile.
  int FreeSlots(int tile) const { return free_[static_cast<size_t>(tile)]; }
  // Returns the predecessor whose result is ready last, or -1.
  int LatestPredecessor(int instruction) const;

 private:
  using Bits = std::vector<uint64_t>;  // words_ words for each instruction, a bit for each tile
  void Advance();
  void Enumerate();
  bool Narrow(Bits* tiles, std::vector<int>* changed) const;
  bool NarrowNeighbours(Bits* tiles, int instruction, std::vector<int>* changed) const;
  bool Intersect(Bits* tiles, int instruction, std::span<const uint64_t> with,
                 std::vector<int>* changed) const;
  bool Exclude(Bits* tiles, int instruction, int tile, std::vector<int>* changed) const;
  bool PlaceOnTile(Bits* tiles, int instruction, int tile) const;
  bool InTime(int instruction, int issue) const;
  void FindLongestPaths();
  bool placed(int instruction) const { return placement_.placed(instruction); }
  std::span<uint64_t> BitsOf(Bits* tiles, int instruction) const {
    return std::span(*tiles).subspan(static_cast<size_t>(instruction) * words_, words_);
  }

  const Problem* problem_;
  EnvironmentOptions options_;
  int period_;
  size_t words_;
  std::vector<int> path_;
  std::vector<std::vector<int>> linked_;    // instructions that a moving value joins
  std::vector<std::vector<int>> siblings_;  // by instruction
  std::vector<bool> starts_;
  Bits reach_;  // by tile: the tiles that a link joins it with, in both directions alike
  // By pair of instructions: the least cycles from the issue of the first to the second's issue, or
  // kNoPath; empty if the problem has no value of an earlier thread or is large.
  std::vector<int> longest_;

  Placement placement_;
  size_t position_ = 0;  // in the order
  int instruction_ = -1;
  int bound_ = 0;
  std::vector<int> free_;  // by tile
  std::vector<int> left_;  // by group: members that are not placed
  Bits tiles_;             // by instruction: tiles that it may still use
  std::vector<Cell> allowed_;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_ENVIRONMENT_H_
