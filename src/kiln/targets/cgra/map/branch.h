// Branch and bound over tiles and issue cycles of instructions: Kiln's own decider.
//
// Every instruction has a set of tiles and a window of issue cycles. After each choice, windows are
// narrowed by longest paths in both directions (loop-carried dependences included), tiles by the
// links of dependences, by rules 1 to 3 and by slots that are taken, until nothing changes; then a
// matching of instructions to cells shows whether all of them can still be placed. The instruction
// with the fewest possibilities is chosen next, weighted by the failures that it caused. The search
// restarts with growing limits; with many steps, a last restart has three quarters of them. What
// the first choice excluded stays excluded. A search order, as a learned policy gives, may say
// which possibilities of the instruction come first.
#ifndef KILN_TARGETS_CGRA_MAP_BRANCH_H_
#define KILN_TARGETS_CGRA_MAP_BRANCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/map/decide.h"
#include "kiln/targets/cgra/map/search_order.h"

namespace kiln::cgra {

// What the search needs of a problem at any interval. Instructions and dependences are named by
// their numbers in the problem, tiles by bits of a word.
class SearchModel {
 public:
  // Problem::tiles() is at most kMostSearchTiles: they are bits of a word.
  explicit SearchModel(const Problem& problem);

  struct Arc {
    int from = 0, to = 0, distance = 0;
    bool moves = false;
    bool apart = false;  // the ends are on different tiles
  };
  const Problem* problem;
  int size = 0, tiles = 0;
  int reach = 0;  // greatest distance in tiles that a value goes
  uint64_t all_tiles = 0;
  std::vector<Arc> arcs;
  std::vector<std::vector<int>> into, from;  // arcs by instruction
  std::vector<std::vector<int>> apart;       // instructions on other tiles
  std::vector<std::vector<int>> together;    // the rest of the group
  std::vector<bool> spreads;                 // by instruction: its consumers are on different tiles
  std::vector<std::vector<int>> consumers;   // by instruction, each once, of values
  std::vector<int> nearest;                  // distance of the k-th nearest tile, at best
  std::vector<int> tail;                     // longest path to the end, for priorities

  // Returns the tiles that values from any of `tiles_from` reach within a distance.
  uint64_t Spread(uint64_t tiles_from, int distance) const;
  // Returns the distance of two tiles along the row and the column.
  int Distance(int a, int b) const;

 private:
  // Tables answer Spread for this many tiles at once.
  static constexpr int kPartTiles = 4;
  static constexpr uint64_t kPartSets = uint64_t{1} << kPartTiles;
  // By distance: for each part of the tiles, and each set of tiles in it, the tiles reached.
  std::vector<std::vector<uint64_t>> near_any_;
};

class BranchSearch : public Decider {
 public:
  // With `make_order`, every other restart from the first on, and the last one of many steps, try
  // the possibilities of an instruction in its order, and the others in the search's own. With
  // `span` above 0, solutions use no tiles further apart than on a row of that many, and the
  // problem's machine is a row of 2 * span - 1 tiles (OnCentredRow).
  BranchSearch(const Problem& problem, uint64_t seed, MakeSearchOrder make_order = nullptr,
               int span = 0);
  Answer Decide(int initiation_interval, int most_latency, int64_t steps, StepBudget* budget,
                std::vector<Place>* places) override;
  // Decides the same with tiles that are given for some instructions (-1: any tile), so that only
  // the others are placed anew; issue cycles are free. kNone is proved for these tiles.
  Answer Complete(int initiation_interval, int most_latency, std::span<const int> tiles,
                  int64_t steps, StepBudget* budget, std::vector<Place>* places);
  // From now on, restarts without the plain order draw from it: the scores count as logarithms of
  // probabilities.
  void DrawFromOrder() { draws_ = true; }

 private:
  // What is still possible at one node of the search. An instruction is fixed when one tile and one
  // issue cycle are left, and placed when its cell is also marked as taken.
  struct State {
    std::vector<uint64_t> tiles;   // by instruction
    std::vector<int> first, last;  // issue cycles
    std::vector<uint64_t> busy;    // by slot: tiles
    std::vector<char> placed;
    std::vector<int> cell;           // by instruction: a matching
    std::vector<int16_t> link_user;  // by link and slot, on machines where links may collide
  };
  // How the search splits the possibilities of an instruction: by its tile, or by its issue cycle.
  struct Choice {
    int instruction = -1;
    bool tile = false;
    int last = 0;  // of issue cycles: the last that matters
  };

  bool Start(int initiation_interval, int most_latency, std::span<const int> tiles);
  int MostLinked(int without) const;
  void KeepHalf(State* state);
  void KeepCentre(State* state);
  Answer Restart(int64_t steps, StepBudget* budget, std::vector<Place>* places);
  Answer Dive(int depth);
  Answer BranchOnTile(int depth, int instruction);
  Answer BranchOnIssue(int depth, const Choice& choice);
  Answer Child(int depth);
  Choice Choose(const State& state) const;
  Answer IssueAt(int depth, int instruction, int cycle);
  std::vector<int> OrderTiles(const State& state, int instruction);
  int FirstFreeIssue(const State& state, int instruction, int tile) const;
  int BestIssue(const State& state, const Choice& choice);
  std::vector<double> ScoresOf(const State& state, int instruction,
                               const std::vector<Place>& candidates);
  bool HeedsOrder() const { return order_ && (!shuffle_ || draws_); }
  bool AllSourcesFixed(const State& state, int instruction) const;

  // Propagation. The functions that take a state by pointer narrow it, and return false if nothing
  // is left for some instruction, so that the state has no solution; they then increase the weight
  // of that instruction. They remove only possibilities that are in no solution of the state. A
  // narrowed instruction is queued (Touch) with what changed of it, and Propagate visits queued
  // instructions until nothing changes.
  static constexpr unsigned kTiles = 1, kFirst = 2, kLast = 4, kAll = 7;
  bool Propagate(State* state);
  bool Visit(State* state, int instruction, unsigned changes);
  bool Put(State* state, int instruction);
  bool VisitNeighbours(State* state, int instruction, unsigned changes);
  bool Relax(State* state, const SearchModel::Arc& arc);
  bool RelaxWait(State* state, const SearchModel::Arc& arc);
  bool LatestArrival(State* state, int instruction);
  bool SpreadConsumers(State* state, int producer);
  bool OneOutput(State* state, int producer);
  bool UseLinks(State* state, int instruction);
  bool TrimSlots(State* state, int instruction);
  bool KeepSpan(State* state);
  bool Keep(State* state, int instruction, uint64_t tiles);
  bool NotBefore(State* state, int instruction, int cycle);
  bool NotAfter(State* state, int instruction, int cycle);
  bool Match(State* state);
  bool MayHave(const State& state, int instruction, int cell) const;
  bool Augment(const State& state, int instruction);
  void Touch(int instruction, unsigned changes);
  int FarthestHop(const State& state, const SearchModel::Arc& arc) const;
  int Weight(const SearchModel::Arc& arc) const;
  bool Fixed(const State& state, int i) const;
  int SlotOf(int cycle) const { return cycle % period_; }
  int SlotAfter(int slot) const { return slot + 1 < period_ ? slot + 1 : 0; }

  SearchModel model_;
  const Config* config_;
  Random random_;
  MakeSearchOrder make_order_;
  int span_ = 0;
  SearchOrder order_;  // at the present interval; may be empty
  int interval_ = 0, period_ = 0;
  int least_delay_ = 0;  // LeastDelay at the interval
  bool check_links_ = false;
  State root_;
  std::vector<State> stack_;  // by depth
  std::vector<int> queue_;
  std::vector<unsigned> queued_;  // by instruction: its changes
  std::vector<double> weight_;    // failures by instruction
  std::vector<int> owner_;        // of cells, while matching
  std::vector<uint64_t> taken_;   // by slot: tiles whose cells are busy or owned
  std::vector<uint64_t> seen_;    // by slot: tiles whose cells are busy or visited
  std::vector<int> unmatched_;
  std::vector<int> allowed_;  // last issue cycles of a producer, while its consumers are spread
  int64_t steps_left_ = 0;
  int64_t restart_left_ = 0;
  StepBudget* budget_ = nullptr;
  bool shuffle_ = false;
  bool draws_ = false;
};

// Returns the problem on a row of 2 * n - 1 tiles in place of n. A mapping that is moved along a
// row obeys the same rules. So every mapping on n tiles is one on this row with any given
// instruction in the middle and tiles less than n apart, and every such mapping is one on n tiles.
Problem OnCentredRow(const Problem& problem);

// Decides a problem flow by flow, each by itself, and then as a whole. A flow that has no solution
// alone is refuted without the combinations of the others. On a row with more cells than
// instructions need, the whole is decided with one instruction in the middle (OnCentredRow), so
// that a mapping is refuted once for all its places. A search order knows the tiles of the machine
// alone: with one, the row stays as it is.
class FlowSearch : public Decider {
 public:
  FlowSearch(const Problem& problem, uint64_t seed, const MakeSearchOrder& make_order = nullptr);
  Answer Decide(int initiation_interval, int most_latency, int64_t steps, StepBudget* budget,
                std::vector<Place>* places) override;

 private:
  struct Part {
    std::unique_ptr<Problem> problem;
    std::unique_ptr<BranchSearch> search;
    std::map<int, int> refuted;  // by interval: the greatest latency that is refuted
    std::map<int, int> found;    // by interval: the least latency that a solution has
  };
  BranchSearch& SearchOfWhole(int initiation_interval);

  const Problem* problem_;
  const uint64_t seed_;
  const bool has_order_;
  std::vector<Part> parts_;
  std::unique_ptr<BranchSearch> whole_;
  // The problem on a row with a centre, made when it is asked first.
  std::unique_ptr<Problem> centred_problem_;
  std::unique_ptr<BranchSearch> centred_;
};

// Makes a decider of any machine (OnFewerTiles).
std::unique_ptr<Decider> MakeBranchSearch(const Problem& problem, uint64_t seed);
// Returns what makes such deciders with a search order, which may be empty.
MakeDecider MakeBranchSearchInOrder(MakeSearchOrder make_order);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_BRANCH_H_
