// Compares a quantised network's outputs with those of the reference level, output by output.
#ifndef KILN_FLOW_FIDELITY_H_
#define KILN_FLOW_FIDELITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/quantise/accuracy.h"
#include "kiln/report/run_report.h"

namespace kiln {

// Returns whether an output has the form of class scores: fp32 with two or more numbers per image
// along the second axis, all other axes of size 1.
bool HasFormOfScores(const Value& output);

// Returns whether a network without labels is taken for a classifier: it has one output, in the
// form of scores, that is not as large as its input (an autoencoder's is).
bool IsClassifier(const Graph& network);

// Returns the class of the greatest score for each image of `scores`, [images, ...]; the lowest
// index wins a tie.
std::vector<int32_t> ClassesOf(const Tensor& scores);

// Compares the outputs of two runs, chunk by chunk. fp32 outputs get a signal to quantisation noise
// ratio over all images; other types get the share of elements that are equal.
class Fidelity {
 public:
  explicit Fidelity(const Graph& network);
  // Adds a chunk. Both arguments hold one tensor per output, [images, ...], for the same images.
  void Add(const std::vector<Tensor>& reference, const std::vector<Tensor>& quantised);
  // Returns the fidelity of each output over all chunks, in the network's order.
  std::vector<OutputFidelity> Report() const;

 private:
  // The sums of one output so far.
  struct Sums {
    std::string name;
    NoisePower power;                 // of fp32 outputs
    int64_t elements = 0, equal = 0;  // for all types
    bool is_float = true;
  };
  std::vector<Sums> outputs_;
};

}  // namespace kiln

#endif  // KILN_FLOW_FIDELITY_H_
