// The kernels that fp32_kernels.h describes, written once as templates over a vector type `V` in
// the manner of numerics/simd.h. fp32_gemm.cc instantiates them for portable code,
// fp32_gemm_avx*.cc for the instruction sets of their names.
#ifndef KILN_EXECUTE_FP32_BODY_H_
#define KILN_EXECUTE_FP32_BODY_H_

#include <algorithm>
#include <bit>
#include <utility>

#include "kiln/execute/fp32_kernels.h"
#include "kiln/numerics/simd.h"

namespace kiln::internal {

// Computes one tile of exactly kRows x kVectors vectors with all sums in registers. `stride` is the
// number of floats between rows of t.sums.
template <class V, int kRows, int kVectors>
void SumTile(const Fp32Tile& t, int64_t stride) {
  // All array sizes are constants, so compilers keep the sums in registers and unroll the loops.
  typename V::Float sums[kRows][kVectors];
  const float* rows[kRows];
  for (int r = 0; r < kRows; ++r) {
    rows[r] = t.a + t.a_rows[r];
    for (int v = 0; v < kVectors; ++v) {
      sums[r][v] = t.resumes ? V::Load(t.sums + r * stride + v * V::kLanes) : V::Set(0.0f);
    }
  }
  // Each step of the reduction broadcasts one element of the left matrix per row and multiplies it
  // by one row of the panel. A lane holds one sum, so its order of additions does not depend on the
  // vector width.
  for (int64_t k = 0; k < t.depth; ++k) {
    const int64_t at = t.a_depth[k];
    const float* from = t.b + t.b_depth[k];
    typename V::Float b[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) b[v] = V::Load(from + v * V::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const typename V::Float a = V::Set(rows[r][at]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = V::Fma(a, b[v], sums[r][v]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) V::Store(t.sums + r * stride + v * V::kLanes, sums[r][v]);
  }
}

// Dispatches on the number of rows: up to kRows, kVectors vectors wide.
template <class V, int kRows, int kVectors>
void TileOfVectors(const Fp32Tile& t, int64_t stride) {
  const auto run = [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    static_cast<void>(
        ((t.rows == kIndex + 1 && (SumTile<V, kIndex + 1, kVectors>(t, stride), true)) || ...));
  };
  run(std::make_integer_sequence<int, kRows>());
}

// Dispatches on the number of columns: computes only the vectors that hold at least one column.
template <class V, int kRows, int kVectors>
void TileOf(const Fp32Tile& t) {
  constexpr int64_t kColumns = int64_t{kVectors} * V::kLanes;
  const auto run = [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) {
    static_cast<void>(((t.columns <= (kIndex + 1) * V::kLanes &&
                        (TileOfVectors<V, kRows, kIndex + 1>(t, kColumns), true)) ||
                       ...));
  };
  run(std::make_integer_sequence<int, kVectors>());
}

// Computes kVectors vectors of channels, starting at `channel`, for one output pixel.
template <class V, int kVectors>
void DepthwiseColumns(const Fp32Depthwise& job, int64_t channel) {
  typename V::Float sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = V::Set(0.0f);
  for (int64_t k = 0; k < job.depth; ++k) {
    const float* x = job.x + job.x_depth[k] + channel;
    const float* w = job.w + k * job.channels + channel;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = V::Fma(V::Load(x + v * V::kLanes), V::Load(w + v * V::kLanes), sums[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v) V::Store(job.out + channel + v * V::kLanes, sums[v]);
}

// Computes all channels of one output pixel, four vectors at a time. `One` has a single lane and
// serves the remaining channels.
template <class V, class One>
void DepthwiseOf(const Fp32Depthwise& job) {
  int64_t channel = 0;
  for (; channel + 4 * V::kLanes <= job.channels; channel += 4 * V::kLanes)
    DepthwiseColumns<V, 4>(job, channel);
  for (; channel + V::kLanes <= job.channels; channel += V::kLanes)
    DepthwiseColumns<V, 1>(job, channel);
  for (; channel < job.channels; channel += One::kLanes) DepthwiseColumns<One, 1>(job, channel);
}

// Applies job's epilogue to one vector of sums, starting at index `at`.
template <class V>
void FinishSums(const Fp32Finish& job, int64_t at) {
  using Float = typename V::Float;
  Float y = V::Load(job.sums + at);
  if (job.alpha != 1) y = V::Multiply(y, V::Set(job.alpha));
  if (job.column_bias != nullptr) y = V::Add(y, V::Load(job.column_bias + at));
  if (job.row_bias != nullptr) y = V::Add(y, V::Set(*job.row_bias));
  if (job.residual != nullptr) y = V::Add(y, V::Load(job.residual + at));
  const Float zero = V::Set(0.0f);
  switch (job.activation) {
    case Fp32Activation::kNone:
      break;
    case Fp32Activation::kRelu:
      // Selecting by `less` keeps a NaN as it is: every comparison with it is false.
      y = V::Select(V::Less(y, zero), zero, y);
      break;
    case Fp32Activation::kLeakyRelu:
      y = V::Select(V::Less(y, zero), V::Multiply(V::Set(job.low), y), y);
      break;
    case Fp32Activation::kClip: {
      const Float low = V::Set(job.low), high = V::Set(job.high);
      y = V::Select(V::Less(y, low), low, y);
      y = V::Select(V::Less(high, y), high, y);
      break;
    }
  }
  // Replaces every NaN by one bit pattern (see Fp32Finish).
  V::Store(job.out + at, V::Select(V::Equal(y, y), y, V::AsFloat(V::SetInt(0x7fc00000))));
}

// Applies the epilogue to job.count sums; the sums after the last full vector go one at a time.
template <class V>
void FinishOf(const Fp32Finish& job) {
  int64_t at = 0;
  for (; at + V::kLanes <= job.count; at += V::kLanes) FinishSums<V>(job, at);
  for (; at < job.count; ++at) FinishSums<simd::Scalar>(job, at);
}

}  // namespace kiln::internal

#endif  // KILN_EXECUTE_FP32_BODY_H_
