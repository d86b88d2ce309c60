// Scaling between technology nodes, from the table technology_nodes.def.

#include "kiln/hardware/technology.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kiln/support/check.h"

namespace kiln::hardware {
namespace {

// A row of technology_nodes.def.
struct Node {
  int nm;
  double volts, area, a2, a1, a0, d3, d2, d1, d0;
  // Relative energy at the nominal supply voltage.
  double energy() const { return a2 * volts * volts + a1 * volts + a0; }
  // Relative delay at the nominal supply voltage.
  double delay() const { return ((d3 * volts + d2) * volts + d1) * volts + d0; }
};

constexpr Node kNodes[] = {
#define KILN_NODE(nm, volts, area, a2, a1, a0, d3, d2, d1, d0) \
  {nm, volts, area, a2, a1, a0, d3, d2, d1, d0},
#include "kiln/hardware/technology_nodes.def"
#undef KILN_NODE
};

// Return a node; Find returns null for an unknown one, Known requires that it exists.
const Node* Find(int nm) {
  const Node* node = std::find_if(std::begin(kNodes), std::end(kNodes),
                                  [nm](const Node& n) { return n.nm == nm; });
  return node == std::end(kNodes) ? nullptr : node;
}

const Node& Known(int nm) {
  const Node* node = Find(nm);
  KILN_CHECK(node != nullptr);
  return *node;
}

// The memory model of MemoryArea.
constexpr int kMemoryNode = 130;
constexpr double kAreaPerBit = 6.16, kAreaPerRootOfBits = 1630;  // um2

}  // namespace

const std::vector<int>& TechnologyNodes() {
  static const std::vector<int> nodes = [] {
    std::vector<int> all;
    for (const Node& node : kNodes) all.push_back(node.nm);
    return all;
  }();
  return nodes;
}

bool IsTechnologyNode(int node_nm) { return Find(node_nm) != nullptr; }

double AreaScale(int from_nm, int to_nm) { return Known(from_nm).area / Known(to_nm).area; }

double EnergyScale(int from_nm, int to_nm) {
  return Known(to_nm).energy() / Known(from_nm).energy();
}

double DelayScale(int from_nm, int to_nm) { return Known(to_nm).delay() / Known(from_nm).delay(); }

// The model is defined at 130 nm; other nodes are scaled from there.
double MemoryArea(int64_t bits, int node_nm) {
  const auto count = static_cast<double>(bits);
  return (kAreaPerBit * count + kAreaPerRootOfBits * std::sqrt(count)) *
         AreaScale(kMemoryNode, node_nm);
}

double MemoryAccessNs(int64_t bits) {
  constexpr double kNs = 0.85, kBits = 8192, kGateDelay = 0.095;
  if (bits <= 0) return 0;
  return std::max(2 * kGateDelay, kNs + kGateDelay * std::log2(static_cast<double>(bits) / kBits));
}

}  // namespace kiln::hardware
