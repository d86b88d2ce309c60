// Random valid graphs for tests: fuzzing of passes, text round trips, differential tests of executors and accelerators.
#ifndef KILN_IR_RANDOM_GRAPH_H_
#define KILN_IR_RANDOM_GRAPH_H_

#include <cstdint>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/support/random.h"

namespace kiln {

struct RandomGraphOptions {
  // How many steps to take; a step adds one node, or a few that belong together (x -> abs -> sqrt).
  int min_steps = 4;
  int max_steps = 14;
  // Steps to choose from, by main operator; empty: all of RandomGraphOps(). An accelerator that runs convolutions
  // gives {kConv, kRelu, kAdd, kMaxPool}, for example; helper nodes of a step (the Abs before a Sqrt) come with it.
  std::vector<Op> ops = {};
  int64_t batch = 1;            // leading dimension of all inputs
  int max_inputs = 2;           // one image, then perhaps others of the same shape
  int64_t max_elements = 2048;  // of any one value
  bool allow_nhwc = false;  // some convolutions and pools between transposes, with layout="nhwc"
  bool allow_dead_nodes = true;  // nodes whose result nobody uses and that are no output
};

// A graph that Verify accepts, with all shapes known and small, fp32 inputs of shape [batch, channels, height, width],
// and at least one output. A pure function of seed and options.
//
// Numbers stay tame: weights shrink with their fan-in, Div and Log keep away from 0, products pass one side through a
// Sigmoid, so that on inputs of RandomInputs no value is infinite or NaN and errors of rounding stay near their size.
Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options = {});

// The main operators of the steps that RandomGraph can take.
std::vector<Op> RandomGraphOps();

// One tensor an input of a graph with known input shapes: floats uniform in [-1, 1), integers in [0, 8).
std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed);

// Elements uniform in [low, high); integer types get whole numbers.
Tensor RandomTensor(Random& random, ElementType type, const Shape& shape, double low, double high);

}  // namespace kiln

#endif  // KILN_IR_RANDOM_GRAPH_H_
