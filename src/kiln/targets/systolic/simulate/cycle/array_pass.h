// One array pass in the cycle level: a tile of weights stays in place while input words stream by.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_ARRAY_PASS_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_ARRAY_PASS_H_

#include <cstdint>
#include <span>
#include <vector>

namespace kiln::systolic {

// The weights in the array, in the order in which the pass kernels read them: pairs of rows are
// interleaved, columns are rounded up to `kColumnStep` and rows to an even number. Padding is 0.
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

// The input word of each pixel of a pass: word index = rows[y] + columns[x].
struct PassWords {
  std::span<const int32_t> rows;     // one for each output row of the tile
  std::span<const int32_t> columns;  // one for each output column of the tile
};

// Computes accumulators[pixel * weights.columns + column] (+)= sum over rows of word[row] *
// weight[row][column] in int32, wrapping. `words` holds 2 * weights.row_pairs codes per word. The
// first pass of a block overwrites (`overwrite`); later passes add.
void RunPass(const ArrayWeights& weights, const int16_t* words, const PassWords& places,
             bool overwrite, int32_t* accumulators);

namespace internal {
void RunPassPortable(const ArrayWeights& weights, const int16_t* words, const PassWords& places,
                     bool overwrite, int32_t* accumulators);
void RunPassAvx2(const ArrayWeights& weights, const int16_t* words, const PassWords& places,
                 bool overwrite, int32_t* accumulators);
}  // namespace internal

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_CYCLE_ARRAY_PASS_H_
