// The weights of a policy as named matrices, and their file.
//
// File, little-endian: "KILNPOLI", version, shape, then numbers and matrices by name, then the
// SHA-256 of all preceding bytes. The shape determines the names and sizes of the matrices, so that
// a reader never allocates what a file asks for.
#ifndef KILN_TARGETS_CGRA_LEARN_WEIGHTS_H_
#define KILN_TARGETS_CGRA_LEARN_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::cgra {

struct Matrix {
  std::string name;
  int rows = 0, columns = 0;
  std::vector<float> values;  // row by row
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

// Which network a policy is. Parts that are off are the ablations of bench/cgra_learning.cc.
struct PolicyShape {
  bool graph = true;      // graph convolutions: instructions see their neighbours
  bool attention = true;  // a transformer layer: instructions see all others
  // Three stacked fully connected layers on the occupancy of at most kStackedTiles tiles and
  // kStackedSlots slots instead: the baseline.
  bool stacked = false;
  friend bool operator==(const PolicyShape&, const PolicyShape&) = default;
};
inline constexpr int kStackedTiles = 16, kStackedSlots = 8;
// Numbers that the stacked layers read.
int StackedInputs();

// Widths of the layers.
inline constexpr int kEmbedding = 32;  // of an instruction
inline constexpr int kHeads = 2;       // of the attention
inline constexpr int kContext = 48;    // of the state and the instruction to place
inline constexpr int kTileWidth = 24;  // of a tile
inline constexpr int kHidden = 48, kHidden2 = 32, kStackedHidden = 128;

struct Weights {
  PolicyShape shape;
  std::vector<Matrix> matrices;  // in the order of MatricesOf(shape)
  const Matrix& at(std::string_view name) const;
  friend bool operator==(const Weights&, const Weights&) = default;
};

// Returns the names and sizes of the matrices of a shape, without values. A bias has one row.
std::vector<Matrix> MatricesOf(const PolicyShape& shape);
// Returns weights to begin with, a function of shape and seed: uniform within +-sqrt(6 / (rows +
// columns)), biases 0, and the actor's last layer (actor.3) a tenth of that, so that a new policy
// chooses almost uniformly.
Weights InitialWeights(const PolicyShape& shape, uint64_t seed);

// What training needs to go on: Adam's moments beside the weights, and numbers.
struct TrainingState {
  Weights weights;
  std::vector<Matrix> first, second;  // moments, in the order of the weights; empty: only weights
  std::map<std::string, uint64_t> numbers;
  friend bool operator==(const TrainingState&, const TrainingState&) = default;
};

// Returns the bytes of a file with these weights, and reads them. Errors name `source`: not such a
// file, another version or other features, too large, cut short, bytes that do not match the
// digest, matrices that the shape does not have, values that are not finite.
std::string SerializeTraining(const TrainingState& state);
StatusOr<TrainingState> ParseTraining(std::string_view bytes, std::string_view source);
// Reads a file of weights.
StatusOr<TrainingState> ReadTraining(const std::string& path);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_WEIGHTS_H_
