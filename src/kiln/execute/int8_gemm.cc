// Implements int8_gemm.h: the portable kernels, the choice of kernels per processor level, the
// packing of weights, and the loop over blocks of columns, stretches of the reduction and pixels.
#include "kiln/execute/int8_gemm.h"

#include <algorithm>
#include <cstring>

#include "kiln/execute/int8_kernels.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"

namespace kiln {
namespace internal {
namespace {

// Computes kPixels pixels by 8 columns, two codes per step. The sums are unsigned because they must
// wrap; in portable code signed overflow would be undefined.
template <int kPixels>
void PortableBlock(const BlockArguments& args) {
  constexpr int kColumns = 8;
  uint32_t sums[kPixels][kColumns];
  for (int p = 0; p < kPixels; ++p) {
    if (args.starting != nullptr) {
      std::memcpy(sums[p], args.starting, sizeof sums[p]);
    } else {
      std::memcpy(sums[p], args.out + p * args.out_stride, sizeof sums[p]);
    }
  }
  const int16_t* weights = static_cast<const int16_t*>(args.weights);
  for (int64_t s = 0; s < args.segment_count; ++s) {
    const Segment& segment = args.segments[s];
    for (int64_t i = 0; i < 2 * segment.steps; i += 2, weights += 2 * kColumns) {
      for (int p = 0; p < kPixels; ++p) {
        const int16_t* codes =
            static_cast<const int16_t*>(args.image) + args.pixels[p] + segment.offset + i;
        for (int n = 0; n < kColumns; ++n) {
          sums[p][n] +=
              static_cast<uint32_t>(codes[0] * weights[2 * n] + codes[1] * weights[2 * n + 1]);
        }
      }
    }
  }
  for (int p = 0; p < kPixels; ++p)
    std::memcpy(args.out + p * args.out_stride, sums[p], sizeof sums[p]);
}

// Portable depthwise kernel. The low half of each packed weight is the weight itself.
void PortableDepthwise(const int8_t* image, const int64_t* pixels, int64_t pixel_count,
                       const int64_t* tap_offsets, int64_t taps, const int32_t* weights,
                       int64_t channels, int32_t* out, int64_t out_stride) {
  for (int64_t p = 0; p < pixel_count; ++p) {
    int32_t* sums = out + p * out_stride;
    std::fill(sums, sums + channels, 0);
    for (int64_t t = 0; t < taps; ++t) {
      const int8_t* codes = image + pixels[p] + tap_offsets[t];
      for (int64_t c = 0; c < channels; ++c) {
        const int32_t product = codes[c] * static_cast<int16_t>(weights[t * channels + c]);
        sums[c] =
            static_cast<int32_t>(static_cast<uint32_t>(sums[c]) + static_cast<uint32_t>(product));
      }
    }
  }
}

}  // namespace

const KernelSet kPortableKernels = {
    2,
    8,
    1,
    {4, 0, 0, 0},
    {{PortableBlock<1>, PortableBlock<2>, PortableBlock<3>, PortableBlock<4>}, {}, {}, {}},
    PortableDepthwise};

}  // namespace internal

namespace {

using internal::BlockArguments;
using internal::KernelSet;
using internal::Segment;

// Returns the kernels of a processor level.
const KernelSet& KernelsOf(CpuLevel level) {
#if defined(__x86_64__)
  if (level >= CpuLevel::kAvx512Vnni) return internal::kAvx512VnniKernels;
  if (level == CpuLevel::kAvx2) return internal::kAvx2Kernels;
#endif
  (void)level;
  return internal::kPortableKernels;
}

// Bytes of weights that one pass over the pixels multiplies, so that they stay in the first-level
// cache from one pixel group to the next.
constexpr int64_t kResidentWeightBytes = 24 * 1024;

}  // namespace

CodeLayout LayoutOf(CpuLevel level) {
  return level >= CpuLevel::kAvx512Vnni ? CodeLayout::kBiased : CodeLayout::kWide;
}

int BytesOf(CodeLayout layout) { return layout == CodeLayout::kWide ? 2 : 1; }

void StoreCodes(CodeLayout layout, const int8_t* from, int64_t count, void* to) {
  switch (layout) {
    case CodeLayout::kRaw:
      std::memcpy(to, from, static_cast<size_t>(count));
      break;
    case CodeLayout::kBiased: {
      uint8_t* bytes = static_cast<uint8_t*>(to);
      for (int64_t i = 0; i < count; ++i)
        bytes[i] = static_cast<uint8_t>(static_cast<uint8_t>(from[i]) ^ 0x80);
      break;
    }
    case CodeLayout::kWide: {
      int16_t* wide = static_cast<int16_t*>(to);
      for (int64_t i = 0; i < count; ++i) wide[i] = from[i];
      break;
    }
  }
}

void FillCodes(CodeLayout layout, int8_t code, int64_t count, void* to) {
  switch (layout) {
    case CodeLayout::kRaw:
      std::memset(to, static_cast<uint8_t>(code), static_cast<size_t>(count));
      break;
    case CodeLayout::kBiased:
      std::memset(to, static_cast<uint8_t>(code) ^ 0x80, static_cast<size_t>(count));
      break;
    case CodeLayout::kWide:
      std::fill_n(static_cast<int16_t*>(to), count, int16_t{code});
      break;
  }
}

// Runs are padded to whole steps and columns to whole vectors, both with zero weights.
PackedWeights::PackedWeights(CpuLevel level, int64_t runs, int64_t run_length, int64_t columns,
                             const int8_t* weights)
    : level_(level), runs_(runs), columns_(columns) {
  KILN_CHECK(runs >= 1 && run_length >= 1 && columns >= 1);
  const KernelSet& kernels = KernelsOf(level);
  const int64_t step = kernels.codes_per_step, vector = kernels.vector;
  padded_columns_ = CeilDivide(columns, vector) * vector;
  steps_per_run_ = CeilDivide(run_length, step);
  const bool wide = layout() == CodeLayout::kWide;
  const int64_t codes = padded_columns_ * runs * steps_per_run_ * step;
  codes_.resize(static_cast<size_t>(wide ? codes : CeilDivide(codes, 2)), 0);
  starting_.resize(static_cast<size_t>(padded_columns_), 0);
  // In the biased layout the image holds code + 128, so every sum is too large by 128 times the sum
  // of its column's weights. Sums start from minus that amount.
  if (!wide) {
    for (int64_t k = 0; k < runs * run_length; ++k) {
      for (int64_t n = 0; n < columns; ++n) {
        starting_[static_cast<size_t>(n)] -=
            128u * static_cast<uint32_t>(int32_t{weights[k * columns + n]});
      }
    }
  }
  const int64_t block = kernels.max_vectors * vector;
  int16_t* wide_codes = codes_.data();
  int8_t* narrow_codes = reinterpret_cast<int8_t*>(codes_.data());
  int64_t at = 0;
  // Writes the weights in the order of [column block][run][step][column][codes of a step]; codes
  // that pad a run or the columns stay 0.
  for (int64_t first = 0; first < padded_columns_; first += block) {
    const int64_t width = std::min(block, padded_columns_ - first);
    for (int64_t run = 0; run < runs; ++run) {
      for (int64_t s = 0; s < steps_per_run_; ++s) {
        for (int64_t n = first; n < first + width; ++n) {
          for (int64_t i = s * step; i < (s + 1) * step; ++i, ++at) {
            if (n >= columns || i >= run_length) continue;
            const int8_t code = weights[(run * run_length + i) * columns + n];
            if (wide) {
              wide_codes[at] = code;
            } else {
              narrow_codes[at] = code;
            }
          }
        }
      }
    }
  }
}

// The loops, outermost first: blocks of columns, cache-sized slices of the reduction, groups of
// pixels. Only the kernel is inside: it loops over the segments and steps of a slice.
void PackedWeights::Multiply(const void* image, const int64_t* pixels, int64_t pixel_count,
                             const int64_t* run_offsets, int32_t* out, int64_t out_stride) const {
  const KernelSet& kernels = KernelsOf(level_);
  const int64_t step = kernels.codes_per_step;
  const int64_t code_bytes = BytesOf(layout());
  constexpr int kMaxSegments = 64;
  Segment segments[kMaxSegments];

  const uint8_t* weights = reinterpret_cast<const uint8_t*>(codes_.data());
  const int64_t block = kernels.max_vectors * kernels.vector;
  for (int64_t first = 0; first < padded_columns_; first += block) {
    const int64_t width = std::min(block, padded_columns_ - first);
    const int vectors = static_cast<int>(width / kernels.vector);
    // At least one step per slice, even if it exceeds the cache budget.
    const int64_t step_bytes = width * step * code_bytes;
    const int64_t max_steps = std::max<int64_t>(1, kResidentWeightBytes / step_bytes);
    const int64_t max_pixels = kernels.max_pixels[vectors - 1];
    const int64_t groups = CeilDivide(pixel_count, max_pixels);

    int64_t run = 0, done = 0;  // steps of this run that earlier slices have covered
    bool begun = false;
    // Multiplies one cache-sized slice of the reduction with all pixels before it goes on to the
    // next slice. `run` and `done` say where the next slice begins; a slice may end inside a run.
    while (run < runs_) {
      // Collects as many steps as fit the cache; each stretch within one run is a segment.
      int count = 0;
      int64_t steps = 0;
      while (run < runs_ && count < kMaxSegments && steps < max_steps) {
        const int64_t take = std::min(steps_per_run_ - done, max_steps - steps);
        segments[count++] = {run_offsets[run] + done * step, take};
        steps += take;
        done += take;
        if (done == steps_per_run_) {
          done = 0;
          ++run;
        }
      }
      // Splits the pixels into groups of nearly equal size, each at most max_pixels: one kernel
      // call per group.
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t begin = group * pixel_count / groups,
                      end = (group + 1) * pixel_count / groups;
        const BlockArguments arguments{image,
                                       pixels + begin,
                                       segments,
                                       count,
                                       weights,
                                       begun ? nullptr : starting_.data() + first,
                                       out + begin * out_stride + first,
                                       out_stride};
        kernels.function[vectors - 1][end - begin - 1](arguments);
      }
      weights += steps * step_bytes;
      begun = true;
    }
  }
}

std::vector<int32_t> PackDepthwiseWeights(int64_t taps, int64_t channels, const int8_t* weights) {
  std::vector<int32_t> packed(static_cast<size_t>(taps * channels));
  for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<uint16_t>(int16_t{weights[i]});
  return packed;
}

void MultiplyDepthwise(const int8_t* image, const int64_t* pixels, int64_t pixel_count,
                       const int64_t* tap_offsets, int64_t taps,
                       const std::vector<int32_t>& weights, int64_t channels, int32_t* out,
                       int64_t out_stride) {
  KernelsOf(GetCpuLevel())
      .depthwise(image, pixels, pixel_count, tap_offsets, taps, weights.data(), channels, out,
                 out_stride);
}

}  // namespace kiln
