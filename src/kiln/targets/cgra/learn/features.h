// What the learned mapper sees of a mapping problem and of an episode (map/environment.h), as
// numbers. Nothing depends on how many tiles, slots or instructions there are: instructions, tiles
// and cells have a fixed number of features each.
#ifndef KILN_TARGETS_CGRA_LEARN_FEATURES_H_
#define KILN_TARGETS_CGRA_LEARN_FEATURES_H_

#include <span>
#include <vector>

#include "kiln/targets/cgra/map/environment.h"
#include "kiln/targets/cgra/map/problem.h"

namespace kiln::cgra {

inline constexpr int kInstructionFeatures = 16;
inline constexpr int kGlobalFeatures = 12;
inline constexpr int kTileFeatures = 3;
inline constexpr int kCellFeatures = 24;

// The static part: the same in the whole episode.
struct GraphFeatures {
  int instructions = 0;
  std::vector<float> features;   // [instructions][kInstructionFeatures]
  std::vector<float> adjacency;  // [instructions][instructions]: (D^-1/2 (A + I) D^-1/2)^2
  int tiles = 0;
  std::vector<float> links;  // [tiles][tiles]: 1 where a link joins two different tiles
};

// What is to be decided in one step.
struct StepFeatures {
  int instruction = 0;
  std::vector<float> global;     // [kGlobalFeatures]
  std::vector<float> tiles;      // [tiles][kTileFeatures]
  std::vector<int> tile_of;      // by instruction; -1: not placed
  std::vector<Cell> choices;     // what the policy chooses from
  std::vector<float> cells;      // [choices][kCellFeatures]
  std::vector<bool> is_allowed;  // by choice; all are, unless all cells were asked for
};

// Observes episodes of one problem at one interval.
class Observer {
 public:
  // The problem must outlive the observer.
  Observer(const Problem& problem, int initiation_interval, std::span<const int> order);

  const GraphFeatures& graph() const { return graph_; }
  // Returns the features of an environment's next step, which must exist. The choices are its
  // allowed cells or, with all_cells, all cells of the machine.
  StepFeatures Observe(const Environment& environment, bool all_cells = false) const;
  // Returns the features of a choice between places of an instruction in any partial mapping, for
  // the search order. Instructions that are not placed have tile -1.
  StepFeatures ObservePlaces(std::span<const Place> places, int instruction,
                             std::span<const Place> candidates) const;

 private:
  struct View;
  void FillGlobal(const View& view, StepFeatures* step) const;
  void FillTiles(const View& view, StepFeatures* step) const;
  void FillCell(const View& view, const Cell& cell, int least_issue, float* out) const;
  int ConsumerIssue(const View& view, int consumer, const Cell& cell, int* tiles_left) const;
  int HopsOf(int from, int to) const {
    return hops_[static_cast<size_t>(from) * static_cast<size_t>(tiles_) + static_cast<size_t>(to)];
  }

  const Problem* problem_;
  int interval_, period_, tiles_;
  GraphFeatures graph_;
  std::vector<int> hops_;                    // by pair of tiles; -1: no link
  std::vector<std::vector<int>> reachable_;  // by tile: tiles that a link leads to, and itself
  std::vector<std::vector<int>> into_;       // by instruction: dependences
  std::vector<std::vector<int>> consumers_;  // by instruction, by moving values of the same thread
  std::vector<int> path_;                    // by instruction: cycles to the end
  int longest_ = 0;                          // of all paths
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_FEATURES_H_
