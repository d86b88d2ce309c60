// Maps one problem by a policy: episodes, a search that goes back where an episode cannot go on,
// and repairs, which take a part of a mapping out and place it again.
#ifndef KILN_TARGETS_CGRA_LEARN_POLICY_SEARCH_H_
#define KILN_TARGETS_CGRA_LEARN_POLICY_SEARCH_H_

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "kiln/support/random.h"
#include "kiln/targets/cgra/learn/policy.h"
#include "kiln/targets/cgra/map/branch.h"
#include "kiln/targets/cgra/map/environment.h"
#include "kiln/targets/cgra/map/search.h"

namespace kiln::cgra {

// Lets instructions issue earlier, one at a time and on their tiles, as long as one can. `places`
// must be a valid mapping, and remains one. With Config::issue_later false nothing changes, because
// the rules then fix each cycle.
void Compact(const Problem& problem, int initiation_interval, std::vector<Place>* places);

class PolicySearch {
 public:
  static constexpr int kNoLatency = std::numeric_limits<int>::max();

  // The policy and the problem must outlive the search.
  PolicySearch(const Policy& policy, const Problem& problem, uint64_t seed);

  // Plays an episode at an interval: the first one with the likeliest choices, others with drawn
  // ones. Hands in what it maps. Gives up when it can no longer beat the best mapping.
  void Play(int interval, SearchState* state);
  // Searches with `steps` times as many nodes as a repair has: the policy's order of places, and
  // places drawn from it after every second restart. Looks for less latency than the state's best
  // if that has this interval.
  void Search(int interval, int64_t steps, SearchState* state);
  // Takes a part of this problem's best mapping out and lets the policy place it again, in a
  // limited number of nodes. Keeps what is not worse.
  void Repair(int interval, SearchState* state);

  // Whether this problem may have a mapping of this interval and less than this latency, as far as
  // the search has not refuted it; and whether one of this interval is known.
  bool Possible(int interval, int latency = kNoLatency) const;
  bool Has(int interval) const { return best_interval_ == interval; }
  // Return the latency of the mapping that repairs begin with, in cycles, and its places; of a
  // machine of more than kMostSearchTiles tiles, by the tiles of its part.
  int latency() const { return best_latency_; }
  std::span<const Place> places() const { return best_; }

 private:
  struct Episodes {
    std::unique_ptr<Environment> environment;
    std::unique_ptr<Observer> observer;
    Encoding encoding;
    size_t count = 0;
  };
  Episodes& EpisodesAt(int interval);
  int64_t NodesOfStep() const { return 2 * problem_->size() + 60; }
  void Keep(int interval, std::vector<Place> places, SearchState* state);
  std::vector<bool> Neighbourhood(size_t size);
  void GrowAlongDependences(size_t size, std::vector<int> seeds, std::vector<bool>* out);
  std::vector<int> Critical(int interval) const;

  const Policy* policy_;
  const Problem* whole_;
  Problem part_;            // of a machine of more than kMostSearchTiles tiles: PartOf it
  const Problem* problem_;  // where places are chosen: the whole or the part
  Random random_;
  int least_interval_ = 1;
  bool impossible_ = false;
  std::map<int, Episodes> episodes_;  // by interval
  std::unique_ptr<BranchSearch> search_;
  std::map<int, int> refuted_;                // by interval: the greatest latency without a mapping
  std::vector<std::vector<int>> neighbours_;  // by instruction: what dependences join it with
  int best_interval_ = 0, best_latency_ = 0;
  std::vector<Place> best_;
  double size_ = 6;  // of the part to take out, in instructions
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_POLICY_SEARCH_H_
