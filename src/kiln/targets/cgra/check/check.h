// The independent checker of mappings: given a graph, a machine and a mapping, it reports every
// rule that the mapping breaks, by the names of nodes.
//
// It shares nothing with the mappers but the descriptions of graphs, machines and mappings: it
// classifies edges, finds flows and routes, and computes distances by code of its own. Each rule is
// a formula over tiles and issue cycles. After the rules, the checker replays several threads cycle
// by cycle and reports two instructions on one tile, or two values on one link, in the same cycle.
#ifndef KILN_TARGETS_CGRA_CHECK_CHECK_H_
#define KILN_TARGETS_CGRA_CHECK_CHECK_H_

#include <string>
#include <string_view>
#include <vector>

#include "kiln/targets/cgra/config/config.h"
#include "kiln/targets/cgra/graph/graph.h"
#include "kiln/targets/cgra/graph/mapping.h"

namespace kiln::cgra {

// With II the initiation interval, L the pipeline's latency, P the period of the spoke counters
// (Config::tile_period, or II), and t the issue cycle:
enum class Rule {
  kInterval,  // the mapping has an entry for every node and edge; II is at least 1 and a multiple
              // of P; P entries fit the spoke RAM
  kPlaced,    // every instruction has a place, and no other node has one
  kTile,      // every tile is one of the array
  kIssue,     // issue cycles are not negative
  kFusion,    // a multiplication shares an instruction only with the one logic operator that uses
              // its product, in the same number system and the same thread
  kReads,  // an instruction reads at most two values of tile memories, and has an operand for its
           // predicate
  kPass,   // a pass-through copies a value that travels over links, and receives it from the
           // value's instruction or from an earlier pass-through of the same value; only edges
           // over links have a pass-through
  kCell,   // a tile has at most one instruction in each slot (t mod P)
  kDepth,  // the instructions of a tile fit its instruction RAM
  kReach,  // a link joins the tiles of producer and consumer, unless distances are relaxed
  kFeedback,  // without Config::feedback, no instruction uses a result of its own tile
  kArrival,   // a value has arrived when its consumer issues: t + d * II >= t' + L + hops
  kOrder,     // a node that comes after another issues after its result: t + d * II >= t' + L
  kWait,      // with a wait limit, no value waits longer
  kLate,    // without Config::issue_later, an instruction that depends on its own thread issues in
            // the cycle in which its last dependence is met; a dependence on its own earlier result
            // does not count
  kPeriod,  // an instruction that depends on nothing of its own thread issues in the first period
            // (t < II), unless Config::later_periods is set
  kGroup,   // rule 1: readers of a variable share a tile, unless there are copies
  kStarts,  // rule 2: no two starts of flows share a tile
  kSiblings,  // rule 3: no two consumers of a value share a tile
  kFanOut,    // with Config::one_output, a result leaves its tile by one link
  kLink,   // with relaxed distances, a link carries one value in a slot, unless links are shared.
           // A value moves along the row first, then along the column, in the longest steps that
           // links allow
  kReplay  // nothing collides, and nothing is late, in a replay of several threads
};
// Returns a rule's short name: "cell", "rule 1".
std::string_view RuleName(Rule rule);

// A rule that a mapping breaks, once per place where it breaks it.
struct Broken {
  Rule rule = Rule::kInterval;
  std::vector<std::string> nodes;  // the nodes of the instructions that break it
  std::string sentence;            // the fault, with names, tiles and cycles
};

struct Verdict {
  std::vector<Broken> broken;  // in the order of the checks; empty for a legal mapping
  int latency = 0;             // cycles: the greatest issue + L
  bool legal() const { return broken.empty(); }
};

// Checks a mapping of a graph that VerifyAndSort accepted. The mapping may have any contents: lists
// of wrong lengths, and tiles, cycles and nodes out of range, are reported and never followed.
Verdict CheckMapping(const ComputationGraph& graph, const Config& config, const Mapping& mapping);

// Returns the broken rules, one line each: "rule 1: 'a' and 'b' read ...". "" for a legal mapping.
std::string PrintVerdict(const Verdict& verdict);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_CHECK_CHECK_H_
