// Small folding problems by hand, for tests.
#ifndef KILN_TESTS_TARGETS_DATAFLOW_FOLD_SMALL_PROBLEM_H_
#define KILN_TESTS_TARGETS_DATAFLOW_FOLD_SMALL_PROBLEM_H_

#include <string>
#include <utility>
#include <vector>

#include "kiln/targets/dataflow/fold/problem.h"

namespace kiln::dataflow {

// Returns a candidate that reads a lanes, writes b lanes and takes these cycles and DSP slices.
inline Candidate MakeCandidate(int a, int b, int64_t cycles, int64_t dsp, int64_t latency = 0) {
  Candidate candidate;
  candidate.in_lanes = a;
  candidate.out_lanes = b;
  candidate.cycles = cycles;
  candidate.latency = latency;
  candidate.resources[kDsp] = dsp;
  return candidate;
}

inline Layer MakeLayer(std::string name, std::vector<Candidate> candidates) {
  Layer layer;
  layer.name = std::move(name);
  layer.candidates = std::move(candidates);
  return layer;
}

inline Edge MakeEdge(int from, int to, Coupling coupling = Coupling::kNextMultiple) {
  Edge edge;
  edge.from = from;
  edge.to = to;
  edge.coupling = coupling;
  return edge;
}

// A FIFO in LUTs, one for each element, up to `deepest` words, or in RAMB18 of 64 elements.
inline Fifo MakeFifo(int64_t elements_per_frame, int64_t burst = 0, int64_t deepest = 1 << 20) {
  Fifo fifo;
  fifo.elements_per_frame = elements_per_frame;
  fifo.burst = burst;
  fifo.cost = [deepest](int64_t elements, int lanes) {
    std::vector<FifoOption> options;
    if ((elements + lanes - 1) / lanes <= deepest) options.push_back({{0, 0, 0, elements}, 0});
    options.push_back({{0, (elements + 63) / 64, 0, 0}, 1});
    return options;
  };
  return fifo;
}

// A residual block: fork -> main -> join and fork -> join, with a FIFO on the second edge.
//   fork  latency 3, 10 cycles
//   main  latency 20 with 10 cycles and 8 DSP, or 50 with 40 cycles and 2 DSP
//   join  latency 1, 10 cycles
inline FoldProblem ResidualBlock() {
  FoldProblem problem;
  problem.layers = {
      MakeLayer("fork", {MakeCandidate(1, 1, 10, 1, 3)}),
      MakeLayer("main", {MakeCandidate(1, 1, 10, 8, 20), MakeCandidate(1, 1, 40, 2, 50)}),
      MakeLayer("join", {MakeCandidate(1, 1, 10, 0, 1)}),
  };
  problem.edges = {MakeEdge(0, 1), MakeEdge(1, 2), MakeEdge(0, 2)};
  problem.edges[2].fifo = MakeFifo(100);
  return problem;
}

}  // namespace kiln::dataflow

#endif  // KILN_TESTS_TARGETS_DATAFLOW_FOLD_SMALL_PROBLEM_H_
