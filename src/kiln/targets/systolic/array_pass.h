// One pass of the array in the cycle level: a tile of weights standing still while input words stream by.
#ifndef KILN_TARGETS_SYSTOLIC_ARRAY_PASS_H_
#define KILN_TARGETS_SYSTOLIC_ARRAY_PASS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace kiln::systolic {

// The weights that stand in the array, in the order in which the pass kernels read them: pairs of rows side by side,
// columns rounded up to `kColumnStep`, rows to an even number; padding is 0.
struct ArrayWeights {
  static constexpr int kColumnStep = 8;
  ArrayWeights(int rows, int columns);
  int row_pairs;
  int columns;                 // rounded up
  std::vector<int16_t> pairs;  // [row_pairs][columns][2]
  void Set(int row, int column, int16_t code) {
    pairs[static_cast<size_t>(((row / 2) * columns + column) * 2 + row % 2)] = code;
  }
};

// Where each pixel of a pass finds its input word: word index = rows[y] + columns[x].
struct PassWords {
  std::span<const int32_t> rows;     // one an output row of the tile
  std::span<const int32_t> columns;  // one an output column of the tile
};

// accumulators[pixel * weights.columns + column] (+)= sum over rows of word[row] * weight[row][column], int32,
// wrapping. `words` holds 2 * weights.row_pairs codes a word. The first pass of a block overwrites (`overwrite`), later
// ones add.
void RunPass(const ArrayWeights& weights, const int16_t* words, const PassWords& places,
             bool overwrite, int32_t* accumulators);

namespace internal {
void RunPassPortable(const ArrayWeights& weights, const int16_t* words, const PassWords& places,
                     bool overwrite, int32_t* accumulators);
void RunPassAvx2(const ArrayWeights& weights, const int16_t* words, const PassWords& places,
                 bool overwrite, int32_t* accumulators);
}  // namespace internal

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ARRAY_PASS_H_
