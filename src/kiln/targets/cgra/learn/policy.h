// The policy network, evaluated in plain C++ with a fixed order of operations, so that the same
// weights choose the same places on every processor. learn/train has the same network in libtorch
// for gradients.
//
//   graph:     two layers on instructions and their neighbourhood of two steps (SGConv), then one
//              transformer layer; the average over all instructions is the graph's embedding
//   state:     a layer on the embeddings of the instructions on each tile and on the tiles that
//              links join with it; a layer on the graph, the instruction to place and global
//              numbers
//   actor:     three layers on the features of each cell, its tile and that context: a logit
//   critic:    three layers on the context and the average tile: the value
// Cells are scored one by one with shared weights, so that one policy serves any number of tiles,
// slots and instructions, and forbidden cells cost nothing.
#ifndef KILN_TARGETS_CGRA_LEARN_POLICY_H_
#define KILN_TARGETS_CGRA_LEARN_POLICY_H_

#include <vector>

#include "kiln/targets/cgra/learn/features.h"
#include "kiln/targets/cgra/learn/weights.h"
#include "kiln/targets/cgra/map/search_order.h"

namespace kiln::cgra {

// What does not change in an episode.
struct Encoding {
  std::vector<float> embeddings;  // [instructions][kEmbedding]
  std::vector<float> average;     // [kEmbedding]
};

struct Judgement {
  std::vector<double> logits;  // by choice
  double value = 0;            // what rewards are expected to add up to from here
};

class Policy {
 public:
  explicit Policy(Weights weights);

  Encoding Encode(const GraphFeatures& graph) const;
  // With want_value, also evaluates the critic.
  Judgement Judge(const GraphFeatures& graph, const Encoding& encoding, const StepFeatures& step,
                  bool want_value = false) const;
  const Weights& weights() const { return weights_; }

  struct Layer {
    const float* weights = nullptr;  // [inputs][outputs]
    const float* bias = nullptr;
    int inputs = 0, outputs = 0;
  };

 private:
  Layer LayerOf(std::string_view name) const;
  void Attend(int count, std::vector<float>* embeddings) const;
  std::vector<float> TilesOf(const GraphFeatures& graph, const Encoding& encoding,
                             const StepFeatures& step) const;
  Judgement JudgeStacked(const GraphFeatures& graph, const StepFeatures& step) const;

  Weights weights_;
};

// Returns what the stacked layers read in a step, StackedInputs() numbers.
std::vector<float> StackedInputsOf(const GraphFeatures& graph, const StepFeatures& step);
// Returns the number of the stacked layers' output for a cell, or -1 if they have none.
int StackedOutputOf(const Cell& cell);

// Returns the probabilities of choices: softmax of the logits.
std::vector<double> ProbabilitiesOf(const std::vector<double>& logits);

// Returns the policy's logits as the search order of a problem. Both must outlive it.
SearchOrder OrderOf(const Policy& policy, const Problem& problem, int initiation_interval);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_POLICY_H_
