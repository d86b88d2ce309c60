// A mapping: which tile executes each instruction of a graph, and when.
#ifndef KILN_TARGETS_CGRA_GRAPH_MAPPING_H_
#define KILN_TARGETS_CGRA_GRAPH_MAPPING_H_

#include <vector>

namespace kiln::cgra {

// Where and when an instruction is issued. The slot is `issue` mod the initiation interval.
struct Place {
  int tile = -1;  // -1: the node takes no slot
  int issue = 0;  // cycle, counted from the start of the thread's flow
  friend bool operator==(const Place&, const Place&) = default;
};

// A pass-through instruction: copies a value on a tile between its producer and its consumers.
struct PassThrough {
  // What it copies: the result of node `node`, handed on by the pass-through `from`, or by the node
  // itself if `from` is -1. `from` is smaller than the index of this pass-through.
  int node = 0;
  int from = -1;
  Place place;
  friend bool operator==(const PassThrough&, const PassThrough&) = default;
};

// Nodes and edges are named by their indices in the graph.
struct Mapping {
  int initiation_interval = 0;  // cycles between two threads
  std::vector<Place> places;    // by node
  std::vector<int> fused_into;  // by node: the node that the same instruction also computes, or -1
  std::vector<PassThrough> passes;
  std::vector<int> provider;  // by edge: the pass-through that hands the value to it, or -1
  friend bool operator==(const Mapping&, const Mapping&) = default;
};

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_GRAPH_MAPPING_H_
