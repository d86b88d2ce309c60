// Products of fp32 matrices whose bits depend on neither the processor nor the number of threads.
//
// A sum is one chain of fused multiply-adds in binary32, from +0, in the order of the reduction. Matrices are read in
// place through tables of offsets, so that a convolution is a product without a copy of each window: an element of the
// left matrix is a[rows[i] + left_depth[k]], one of the right matrix b[panel * panel_stride + right_depth[k] + column].
#ifndef KILN_EXECUTE_FP32_GEMM_H_
#define KILN_EXECUTE_FP32_GEMM_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/execute/fp32_kernels.h"
#include "kiln/support/integer.h"
#include "kiln/support/parallel.h"

namespace kiln {

// The kernels of this processor's level (support/cpu.h).
const internal::Fp32Kernels& Fp32KernelsOfProcessor();

// One product. Panels of `panel_columns` columns; every panel must be readable in full, also behind the last column.
struct Fp32Product {
  int64_t rows = 0, columns = 0;
  const float* a = nullptr;
  std::span<const int64_t> a_rows;   // offset of each row
  std::span<const int64_t> a_depth;  // offset of each step of the reduction
  const float* b = nullptr;
  std::span<const int64_t> b_depth;  // as many
  int64_t panel_stride = 0;          // between panels of b
};

// Calls store(row, first column, columns, sums) for each row and panel; calls may come from several threads at once
// where `parallel` is set, and never twice for one sum.
template <typename Store>
void MultiplyFp32(const internal::Fp32Kernels& kernels, const Fp32Product& p, bool parallel,
                  const Store& store);

// A matrix of `depth` x `columns`, element (k, j) at from[k * row_stride + j * column_stride], as panels of `width`
// columns: [panel][depth][width], columns beyond the last zero. `to` holds PackedSize elements.
int64_t PackedSize(int64_t depth, int64_t columns, int64_t width);
void PackColumns(const float* from, int64_t depth, int64_t columns, int64_t row_stride,
                 int64_t column_stride, int64_t width, float* to);

// ---------------------------------------------------------------------------------------------------------------------

namespace internal {

inline constexpr int64_t kFp32RowBlock = 256;  // rows whose sums are kept at a time
inline constexpr int64_t kFp32DepthBlock =
    256;  // steps of the reduction before the next tile's turn

// One block of rows of one panel.
template <typename Store>
void MultiplyFp32Block(const Fp32Kernels& kernels, const Fp32Product& p, int64_t first_row,
                       int64_t panel, float* sums, const Store& store) {
  const int64_t rows = std::min(kFp32RowBlock, p.rows - first_row),
                first_column = panel * kernels.columns;
  const int64_t columns = std::min(kernels.columns, p.columns - first_column);
  const auto depth = static_cast<int64_t>(p.a_depth.size());
  Fp32Tile tile;
  tile.columns = columns;
  tile.a = p.a;
  tile.b = p.b + panel * p.panel_stride;
  for (int64_t k = 0; k == 0 || k < depth; k += kFp32DepthBlock) {
    tile.depth = std::min(kFp32DepthBlock, depth - k);
    tile.a_depth = p.a_depth.data() + k;
    tile.b_depth = p.b_depth.data() + k;
    tile.resumes = k > 0;
    for (int64_t row = 0; row < rows; row += kernels.rows) {
      tile.rows = static_cast<int>(std::min<int64_t>(kernels.rows, rows - row));
      tile.a_rows = p.a_rows.data() + first_row + row;
      tile.sums = sums + row * kernels.columns;
      kernels.tile(tile);
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    store(first_row + row, first_column, columns,
          static_cast<const float*>(sums + row * kernels.columns));
  }
}

}  // namespace internal

template <typename Store>
void MultiplyFp32(const internal::Fp32Kernels& kernels, const Fp32Product& p, bool parallel,
                  const Store& store) {
  const int64_t blocks = CeilDivide(p.rows, internal::kFp32RowBlock),
                panels = CeilDivide(p.columns, kernels.columns);
  const auto run = [&](int64_t begin, int64_t end) {
    std::vector<float> sums(
        static_cast<size_t>(std::min(internal::kFp32RowBlock, p.rows) * kernels.columns));
    for (int64_t job = begin; job < end; ++job) {
      internal::MultiplyFp32Block(kernels, p, job / panels * internal::kFp32RowBlock, job % panels,
                                  sums.data(), store);
    }
  };
  const int64_t jobs = blocks * panels;
  if (jobs == 0) return;
  // Pieces of about a million multiply-adds.
  const int64_t work =
      std::max<int64_t>(1, std::min(internal::kFp32RowBlock, p.rows) * kernels.columns *
                               static_cast<int64_t>(p.a_depth.size()));
  if (parallel) {
    ParallelFor(jobs, std::max<int64_t>(1, (int64_t{1} << 20) / work), run);
  } else {
    run(0, jobs);
  }
}

}  // namespace kiln

#endif  // KILN_EXECUTE_FP32_GEMM_H_
