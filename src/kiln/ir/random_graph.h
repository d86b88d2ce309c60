// Random valid graphs for tests: fuzzing of passes, text round trips, differential tests of
// executors and accelerators.
#ifndef KILN_IR_RANDOM_GRAPH_H_
#define KILN_IR_RANDOM_GRAPH_H_

#include <cstdint>
#include <vector>

#include "kiln/ir/graph.h"

namespace kiln {

// The size and content of a random graph.
struct RandomGraphOptions {
  // The number of growth steps. A step adds one node, or a few that belong together (abs before
  // sqrt).
  int min_steps = 4;
  int max_steps = 14;
  // The steps to draw from, by main operator; empty: all of RandomGraphOps(). An accelerator that
  // executes convolutions, for example, passes {kConv, kRelu, kAdd, kMaxPool}. Auxiliary nodes of a
  // step (the Abs before a Sqrt) are added with it.
  std::vector<Op> ops = {};
  int64_t batch = 1;            // leading dimension of all inputs
  int max_inputs = 2;           // one image, then perhaps others of the same shape
  int64_t max_elements = 2048;  // of any value
  bool allow_nhwc = false;  // some convolutions and pools between transposes, with layout="nhwc"
  bool allow_dead_nodes = true;  // nodes whose results have no users and are not outputs
};

// Returns a graph that Verify accepts, with known and small shapes, fp32 inputs of shape [batch,
// channels, height, width], and at least one output. A pure function of seed and options.
//
// Numbers stay bounded: weights shrink with their fan-in, operands of Div and Log keep away from 0,
// one factor of a product passes through a Sigmoid. For inputs of RandomInputs no value is infinite
// or NaN, and rounding errors are not amplified.
Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

// Returns the main operators of the steps that RandomGraph can draw.
std::vector<Op> RandomGraphOps();

// Returns one tensor per input of a graph with known input shapes: floats uniform in [-1, 1),
// integers uniform in [0, 8).
std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed);

}  // namespace kiln

#endif  // KILN_IR_RANDOM_GRAPH_H_
