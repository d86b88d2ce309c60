// What the parts of the checker share: the instructions of a mapping, what they wait for, and the
// ways of values. Private to check/.
#ifndef KILN_TARGETS_CGRA_CHECK_PARTS_H_
#define KILN_TARGETS_CGRA_CHECK_PARTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/targets/cgra/check/check.h"

namespace kiln::cgra::check {

// How the value of an edge reaches its target: kMemory from a tile memory, kLinks over the
// synchronous fabric, kMessage over the asynchronous fabric, kOut out of the machine; kOrder: no
// value moves.
enum class Way { kMemory, kLinks, kOrder, kMessage, kOut };
Way WayOf(const ComputationGraph& graph, const Config& config, const GraphEdge& edge);

// An instruction of the mapping: a node, a pair that shares an instruction, or a pass-through.
// Numbers are 64 bits wide, so that no place of a mapping can overflow them.
struct Unit {
  std::vector<int> nodes;  // the last gives the result; of a pass-through: what it copies
  int pass = -1;           // its index among pass-throughs
  int64_t tile = -1, issue = 0;
  bool usable = false;  // whether tile and issue are in range
  std::string name;     // quoted, for sentences
};

// A dependence between two units: `to` waits for the result of `from`.
struct Wait {
  int from = 0, to = 0;  // units
  int distance = 0;      // threads
  bool moves = true;     // whether a value moves
};

struct Units {
  std::vector<Unit> units;
  std::vector<Wait> waits;   // each once
  std::vector<int> of_node;  // by node: its unit, or -1
};

// One link on the way of a value between two tiles.
struct Hop {
  int64_t tile = 0;     // from which it leaves
  int64_t offset = 0;   // tile numbers that it goes forward
  int64_t length = 0;   // tiles that it goes along the row or the column
  int64_t departs = 0;  // cycles after the result
};

// The array's geometry.
class Array {
 public:
  explicit Array(const Config& config) : config_(config) {}
  int64_t tiles() const { return int64_t{config_.rows} * config_.columns; }
  // Returns the links that a value takes; none on the same tile.
  std::vector<Hop> Route(int64_t from, int64_t to) const;
  // Returns whether a value can move between two tiles without a pass-through.
  bool Reaches(int64_t from, int64_t to) const;
  // Returns the cycles that a value takes between two tiles, without its pipeline.
  int64_t Cycles(int64_t from, int64_t to) const;

 private:
  const Config& config_;
};

// Collects broken rules.
class Findings {
 public:
  void Add(Rule rule, std::vector<std::string> nodes, std::string sentence) {
    broken_.push_back({rule, std::move(nodes), std::move(sentence)});
  }
  std::vector<Broken> Take() { return std::move(broken_); }

 private:
  std::vector<Broken> broken_;
};

// Returns the names of a unit's nodes.
std::vector<std::string> NamesOf(const ComputationGraph& graph, const Unit& unit);

// Finds the units of a mapping and reports faulty fusions, places and pass-throughs. The lists of
// the mapping must have the lengths that the graph's nodes and edges require.
Units FindUnits(const ComputationGraph& graph, const Config& config, const Mapping& mapping,
                Findings* findings);

// Replays several threads cycle by cycle, `interval` cycles apart, and reports collisions and late
// values. The number of threads is bounded, so that long mappings of large graphs stay fast.
void Replay(const ComputationGraph& graph, const Config& config, int64_t interval,
            const Units& units, Findings* findings);

}  // namespace kiln::cgra::check

#endif  // KILN_TARGETS_CGRA_CHECK_PARTS_H_
