// Multiplies fp32 matrices with bits that depend on neither the processor nor the number of
// threads. The reference executor runs convolutions and matrix products on it.
//
// Each sum is one chain of fused multiply-adds in binary32 that starts from +0 and follows the
// order of the reduction. Matrices are read in place through tables of offsets, so that a
// convolution is a product that does not copy its windows: an element of the left matrix is
// a[rows[i] + left_depth[k]], an element of the right matrix b[panel * panel_stride +
// right_depth[k] + column] unless it is packed while it is multiplied (plain_row).
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

// Returns the kernels of this processor's level (support/cpu.h).
const internal::Fp32Kernels& Fp32KernelsOfProcessor();

// One matrix product. The right matrix is split into panels of Fp32Kernels::columns columns; each
// panel that is packed already must be readable in full, including the columns after the matrix's
// last one.
// A convolution in NHWC sets a_rows to the first input of each output pixel and a_depth to the
// offsets of the kernel positions and channels; both are computed once per plan.
struct Fp32Product {
  int64_t rows = 0, columns = 0;
  const float* a = nullptr;
  std::span<const int64_t> a_rows;   // offset of each row, in floats
  std::span<const int64_t> a_depth;  // offset of each element of the reduction
  const float* b = nullptr;
  std::span<const int64_t> b_depth;  // the same for b; as many entries as a_depth
  int64_t panel_stride = 0;          // floats between panels of b
  // If not 0, b is a plain row-major matrix whose rows are this many floats apart, and each thread
  // packs a panel when it needs one. This takes less memory than packing the whole matrix first,
  // and costs little if there are many rows. b_depth describes a packed panel; panel_stride is not
  // used.
  int64_t plain_row = 0;
};

// Computes the product and calls store(row, first column, columns, sums) once for each row of each
// panel. If `parallel` is set, several threads call `store` at once, for different rows or panels.
template <typename Store>
void MultiplyFp32(const internal::Fp32Kernels& kernels, const Fp32Product& p, bool parallel,
                  const Store& store);

// Packs a matrix of `depth` x `columns`, with element (k, j) at from[k * row_stride + j *
// column_stride], into panels [panel][depth][width]; columns after the last are zero. `to` holds
// PackedSize elements. The strides make a transposed matrix as easy to pack as a plain one.
int64_t PackedSize(int64_t depth, int64_t columns, int64_t width);
void PackColumns(const float* from, int64_t depth, int64_t columns, int64_t row_stride,
                 int64_t column_stride, int64_t width, float* to);

namespace internal {

// Rows of one block; their sums of one panel stay in the cache.
inline constexpr int64_t kFp32RowBlock = 256;
// Elements of the reduction that one tile computes before the next tile of the block.
inline constexpr int64_t kFp32DepthBlock = 256;

// Computes one block of rows of one panel into `sums`, then passes each row to `store`. The panel
// begins at `b`.
template <typename Store>
void MultiplyFp32Block(const Fp32Kernels& kernels, const Fp32Product& p, int64_t first_row,
                       int64_t panel, const float* b, float* sums, const Store& store) {
  const int64_t rows = std::min(kFp32RowBlock, p.rows - first_row),
                first_column = panel * kernels.columns;
  const int64_t columns = std::min(kernels.columns, p.columns - first_column);
  const auto depth = static_cast<int64_t>(p.a_depth.size());
  Fp32Tile tile;
  tile.columns = columns;
  tile.a = p.a;
  tile.b = b;
  // Splits the reduction so that one slice of the panel stays in the cache for all tiles of the
  // block. A tile resumes its chains from `sums`, so the split does not change a bit.
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
    if (p.plain_row == 0) {
      for (int64_t job = begin; job < end; ++job) {
        const int64_t panel = job % panels;
        internal::MultiplyFp32Block(kernels, p, job / panels * internal::kFp32RowBlock, panel,
                                    p.b + panel * p.panel_stride, sums.data(), store);
      }
      return;
    }
    const auto depth = static_cast<int64_t>(p.a_depth.size());
    std::vector<float> packed(static_cast<size_t>(depth * kernels.columns));
    int64_t in_packed = -1;
    for (int64_t job = begin; job < end; ++job) {
      const int64_t panel = job / blocks, first = panel * kernels.columns;
      if (in_packed != panel) {
        PackColumns(p.b + first, depth, std::min(kernels.columns, p.columns - first), p.plain_row,
                    1, kernels.columns, packed.data());
        in_packed = panel;
      }
      internal::MultiplyFp32Block(kernels, p, job % blocks * internal::kFp32RowBlock, panel,
                                  packed.data(), sums.data(), store);
    }
  };
  const int64_t jobs = blocks * panels;
  if (jobs == 0) return;
  // One parallel job is about a million multiply-adds, to keep the cost of starting it small.
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
