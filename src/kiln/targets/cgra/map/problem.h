// The mapping problem of one graph on one machine: instructions with tiles and issue cycles to
// find, and the rules between them. All mappers work on it; the checker (check/check.h) does not.
//
// An instruction v gets a tile p(v) and an issue cycle t(v) >= 0; its slot is t(v) modulo the
// period after which spoke counters start again, Config::tile_period or else II. What must hold:
//   - two instructions on one tile have different slots, and a tile has at most
//     Config::instruction_depth of them;
//   - for every dependence (u, v, d): t(v) + d * II >= t(u) + pipeline_latency + hops, where hops
//     is HopCycles(p(u), p(v)) if the dependence moves a value, else 0; with a wait limit W, the
//     left side exceeds the right by at most W if a value moves;
//   - without Config::issue_later, t(v) is the latest arrival, that is the greatest right side less
//     d * II of its dependences on others, if one of them has distance 0;
//   - instructions without dependences of distance 0 into them issue in the first period
//     (t(v) < II), unless Config::later_periods is set;
//   - rule 1: instructions of one group are on one tile; rule 2: no two flow starts are on one
//     tile; rule 3: no two siblings are on one tile;
//   - with Config::one_output, all consumers of a result that are on other tiles are at the same
//     offset; without shared_links on a machine with relaxed distances, no two results enter a link
//     in the same cycle modulo this period (RouteOf). On a machine without relaxed distances they
//     cannot.
//   - II is a multiple of Config::tile_period, and at most MostInterval.
// The objective is least II, then least latency: the greatest t(v) + pipeline_latency.
#ifndef KILN_TARGETS_CGRA_MAP_PROBLEM_H_
#define KILN_TARGETS_CGRA_MAP_PROBLEM_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/support/status.h"
#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"

namespace kiln::cgra {

// One instruction: a node, a multiplication with the addition that uses its product, or a
// pass-through.
struct Instruction {
  std::vector<int> nodes;  // of the graph, in topological order; of a pass-through: the node that
                           // computes the copied value
  bool is_pass = false;
  std::string name;  // for messages: names of its nodes joined by '+'
};

struct Dependence {
  int from = 0, to = 0;  // instructions
  int distance = 0;      // threads
  bool moves = true;     // whether a value moves; if not, only the order matters
  friend bool operator==(const Dependence&, const Dependence&) = default;
};

struct Problem {
  Config config;
  std::vector<Instruction> instructions;      // in topological order of dependences of distance 0
  std::vector<Dependence> dependences;        // each once, without those that another implies
  std::vector<int> group;                     // by instruction: its group of rule 1, or -1
  std::vector<std::vector<int>> groups;       // instructions, at least two each
  std::vector<std::string> group_names;       // the variables of each group, for messages
  std::vector<int> starts;                    // rule 2
  std::vector<std::pair<int, int>> siblings;  // rule 3, each pair once, first < second
  std::vector<int> sibling_producer;          // by pair: an instruction that both consume
  std::vector<bool> source;                   // by instruction: nothing of distance 0 enters it
  // By edge of the graph: the instruction that hands its value on over links, else -1. Empty in
  // parts of problems (Restrict).
  std::vector<int> provider;

  int size() const { return static_cast<int>(instructions.size()); }
  int tiles() const { return config.tiles(); }
};

// A multiplication or shift (Unit::kMultiply) and the kLogic node that alone uses its product, in
// the same thread: what one instruction can compute together.
struct Fusion {
  int multiply = 0, logic = 0;  // nodes
};
// Returns all pairs that an instruction can compute together: both values are computed in the same
// number system, the product has no other use, and the pair reads at most two values of tile
// memories and at most one literal. A predicate of the logic node is one of the factors, because
// the pair has no operand for another. A node is in several pairs if there is a choice.
std::vector<Fusion> Fusions(const ComputationGraph& graph, const Config& config);
// Returns a number of instructions that no problem of the graph goes below, for any choice of
// `fusions` in which no node is twice, and any pass-throughs.
int64_t LeastInstructions(const ComputationGraph& graph, std::span<const Fusion> fusions);

// A value with more consumers than its links reach gets pass-through instructions. BuildProblem
// inserts the fewest that rule 3 requires by itself, as a result reaches no more other tiles than
// links leave its own; `passes` says where to insert additional ones.
struct ProblemOptions {
  std::vector<Fusion> fusions;  // a subset of Fusions in which no node is twice
  // By edge of the graph: how many pass-throughs its value goes through; empty: none. Those of one
  // node are a chain: every pass-through copies the one before it, and edges leave it on the way.
  std::vector<int> passes;
};

// Errors, each naming nodes: an instruction that reads more than two values of tile memories, or
// has no operand for its predicate.
StatusOr<Problem> BuildProblem(const ComputationGraph& graph, const Config& config,
                               const ProblemOptions& options = {});

// Returns the mapping of the graph with these places of the problem's instructions.
Mapping MappingOf(const ComputationGraph& graph, const Problem& problem, int initiation_interval,
                  std::span<const Place> places);

// Returns the latency of a mapping: the greatest t(v) + pipeline_latency, in cycles.
int LatencyOf(const Config& config, const Mapping& mapping);

// A link that a value uses, and how many cycles after its result is ready it enters the link.
struct LinkUse {
  int from = 0, to = 0;  // tiles
  int delay = 0;         // cycles
  friend bool operator==(const LinkUse&, const LinkUse&) = default;
};
// Returns the links on the way between two tiles of a machine with relaxed distances: along the row
// first, in steps of `reach`, then along the column.
std::vector<LinkUse> RouteOf(const Config& config, int from, int to);

// Returns the longest initiation interval of the machine, in cycles: the spoke RAM has an entry for
// each slot. With Config::tile_period, programs encode at most
// kMostInterval.
int MostInterval(const Config& config);
// Returns the cycles that divide every interval of the machine: Config::tile_period, or 1.
int IntervalStep(const Config& config);
inline constexpr int kMostInterval = 255;

// Returns the least cycles that a value takes to another instruction beyond the pipeline, at any
// tiles and with any pass-throughs. They are 1 where the pipeline's latency is a multiple of the
// period of slots: on its producer's tile a consumer would issue in the producer's slot, and to
// another tile the value takes a hop.
int LeastDelay(const Config& config, int initiation_interval);

// The mappings for which a bound holds. A pass-through on the way of a value lifts the value's wait
// limit, and the consumer behind it is no longer a sibling of the other consumers.
enum class Passes {
  kOfProblem,  // those with the pass-throughs of the problem alone
  kAny         // those with any number of further pass-throughs, too
};

// What no mapping can beat, and why, in the user's names.
struct Bound {
  int value = 0;
  std::string why;  // "20 instructions on 16 tiles", "the recurrence a -> b -> a takes 6 cycles"
};
// Returns the lower bound of the initiation interval in cycles: instructions over tiles, the sizes
// of groups packed into tiles, recurrences, and wait limits.
Bound LeastInterval(const Problem& problem, Passes passes = Passes::kOfProblem);
// Returns why no mapping has this interval, in one sentence, or "" if these bounds allow it.
std::string WhyNotAt(const Problem& problem, int initiation_interval,
                     Passes passes = Passes::kOfProblem);
// Returns a lower bound of the latency at an interval, both in cycles: the longest path, with the
// hops that rules 1 to 3 force. 0 of a problem without instructions.
Bound LeastLatency(const Problem& problem, int initiation_interval,
                   Passes passes = Passes::kOfProblem);
// Returns why there is no mapping at any interval, in one sentence, or "": a group with two
// siblings or two flow starts, more flow starts than tiles, a recurrence without a value to start
// from.
std::string WhyImpossible(const Problem& problem, Passes passes = Passes::kOfProblem);
// Returns the reason of WhyImpossible or, without one, the reason of WhyNotAt at the asked
// interval. Returns "" if bounds allow a mapping. With an interval of 0, no interval is asked for.
std::string WhyNone(const Problem& problem, int asked_interval, Passes passes = Passes::kOfProblem);

// A dependence that leaves no mapping at an interval unless its value goes through further
// pass-throughs.
struct Lift {
  int dependence = -1;  // -1: no dependence is known to prevent a mapping
  int passes = 0;       // the least number of them; 0: no number helps
};
// Returns a dependence that leaves no mapping at an interval: the wait limit of its value leaves no
// issue cycles, or its consumer shares a tile, by rule 1, with a sibling or, on tiles without
// feedback, with its producer. Of several in one contradiction, returns the one over the most
// threads, then the first.
Lift FindLift(const Problem& problem, int initiation_interval);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_PROBLEM_H_
