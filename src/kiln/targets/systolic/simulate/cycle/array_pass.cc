// The portable pass kernel, and the choice of the kernel for the CPU.
#include "kiln/targets/systolic/simulate/cycle/array_pass.h"

#include "kiln/support/cpu.h"

namespace kiln::systolic {

ArrayWeights::ArrayWeights(int rows, int cols)
    : row_pairs((rows + 1) / 2),
      columns((cols + kColumnStep - 1) / kColumnStep * kColumnStep),
      pairs(static_cast<size_t>(row_pairs) * static_cast<size_t>(columns) * 2, 0) {}

void RunPass(const ArrayWeights& weights, const int16_t* words, const PassWords& places,
             bool overwrite, int32_t* accumulators) {
#if defined(__x86_64__)
  if (GetCpuLevel() >= CpuLevel::kAvx2) {
    internal::RunPassAvx2(weights, words, places, overwrite, accumulators);
    return;
  }
#endif
  internal::RunPassPortable(weights, words, places, overwrite, accumulators);
}

namespace internal {

void RunPassPortable(const ArrayWeights& weights, const int16_t* words, const PassWords& places,
                     bool overwrite, int32_t* accumulators) {
  const int word_codes = 2 * weights.row_pairs;
  for (const int32_t row : places.rows) {
    for (const int32_t column : places.columns) {
      const int16_t* word = words + static_cast<int64_t>(row + column) * word_codes;
      for (int c = 0; c < weights.columns; ++c) {
        uint32_t sum = overwrite ? 0u : static_cast<uint32_t>(accumulators[c]);
        for (int r = 0; r < word_codes; ++r) {
          sum += static_cast<uint32_t>(
              word[r] *
              weights.pairs[static_cast<size_t>(((r / 2) * weights.columns + c) * 2 + r % 2)]);
        }
        accumulators[c] = static_cast<int32_t>(sum);
      }
      accumulators += weights.columns;
    }
  }
}

}  // namespace internal

}  // namespace kiln::systolic
