// Instructions of a mapping problem placed one at a time, at one initiation interval: which cells
// are free for an instruction under all rules, given those that are placed.
#ifndef KILN_TARGETS_CGRA_MAP_PLACEMENT_H_
#define KILN_TARGETS_CGRA_MAP_PLACEMENT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

// Costs of Put and Remove do not depend on the number of placed instructions, so searches can try
// and take back placements cheaply.
class Placement {
 public:
  // The problem must outlive the placement.
  Placement(const Problem& problem, int initiation_interval);

  // Returns the least issue cycle of `instruction` on `tile` that all rules allow beside the placed
  // instructions, or nothing.
  std::optional<int> EarliestIssue(int instruction, int tile) const {
    return FirstIssue(instruction, tile, 0);
  }
  // Returns the least such cycle that is at least `from`, or nothing.
  std::optional<int> FirstIssue(int instruction, int tile, int from) const;
  // Places an instruction where FirstIssue allows it; takes it away again.
  void Put(int instruction, Place place);
  void Remove(int instruction);

  bool placed(int instruction) const { return places_[static_cast<size_t>(instruction)].tile >= 0; }
  const std::vector<Place>& places() const { return places_; }
  int count() const { return count_; }
  bool complete() const { return count_ == problem_->size(); }
  // Returns the latency of the placed instructions in cycles.
  int Latency() const;
  int interval() const { return interval_; }
  const Problem& problem() const { return *problem_; }

 private:
  struct Window {
    int low = 0, high = 0;
  };
  bool TileAllowed(int instruction, int tile) const;
  std::optional<Window> WindowOf(int instruction, int tile) const;
  template <typename Use>
  void ForLinks(int instruction, Place place, const Use& use) const;
  bool LinksFree(int instruction, Place place) const;
  bool OutputsAgree(int instruction, int tile) const;
  size_t CellOf(int tile, int issue) const {
    return static_cast<size_t>(tile * period_ + issue % period_);
  }
  // The slots in which links of a dependence's route are busy, as numbers of (link, slot).
  std::vector<size_t> RouteCells(int from_tile, int to_tile, int issue) const;

  const Problem* problem_;
  int interval_;
  int period_;  // of the spoke counters
  bool check_links_;
  std::vector<std::vector<int>> into_, from_;  // dependences by instruction
  std::vector<std::vector<int>> siblings_;
  std::vector<bool> starts_;
  std::vector<int> hops_;  // HopCycles by pair of tiles
  std::vector<Place> places_;
  std::vector<int> cells_;    // by tile and slot: the instruction, or -1
  std::vector<int> on_tile_;  // by tile: how many instructions it has
  struct LinkUser {
    int producer = -1;
    int count = 0;  // ways of its value that use the link in the slot
  };
  std::vector<LinkUser> links_;  // by link and slot; empty if links do not bind
  int count_ = 0;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_PLACEMENT_H_
