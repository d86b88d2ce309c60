// The loop over column blocks, chunks of row tiles and pixels that all vector kernels of mac_gemm.h
// share, and the packing of weights in the order in which it reads them.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kiln/execute/mac_kernels.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"

namespace kiln::internal {
namespace {

// Bytes of weights that all pixels multiply before the next chunk of row tiles, so that the weights
// stay in the first-level cache.
constexpr int64_t kResidentWeightBytes = 24 * 1024;
constexpr int64_t kMaxTilePixels = 16;
constexpr int64_t kMaxColumns = 64;  // of a column block

// Replaces each NaN by the quiet NaN of the definition; processors return NaNs of either sign.
void MakeNansQuiet(int64_t pixels, int64_t columns, float* results, int64_t stride) {
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t n = 0; n < columns; ++n) {
      float& result = results[p * stride + n];
      result = result == result ? result : std::bit_cast<float>(kQuietNan);
    }
  }
}

// Weights packed for the kernels of a TilePlan.
class TiledWeights final : public MacWeights {
 public:
  TiledWeights(const TilePlan& plan, const MacOrder& order, int64_t columns, const void* weights,
               const float* scales)
      : MacWeights(columns, RoundUp(columns, plan.tile.lanes)),
        plan_(plan),
        scale_offsets_(order.scale_offsets) {
    FindSteps(order);
    PackWeights(static_cast<const uint8_t*>(weights));
    if (scales != nullptr) {
      const int64_t tiles = std::ssize(tiles_);
      scales_.assign(static_cast<size_t>(tiles * padded_columns()), 1.0f);
      for (int64_t t = 0; t < tiles; ++t) {
        std::copy_n(scales + t * columns, columns, scales_.data() + t * padded_columns());
      }
    }
  }

  void Multiply(const void* image, const float* scales, const Pixels& pixels, void* out,
                int64_t out_stride) const override {
    const int64_t block = int64_t{plan_.tile.lanes} * plan_.tile.max_vectors;
    const uint8_t* weights = weights_.data();
    for (int64_t first = 0; first < padded_columns(); first += block) {
      const Block columns{first, std::min(block, padded_columns() - first)};
      // A chunk is as many row tiles as fit kResidentWeightBytes, at least one.
      for (size_t tile = 0; tile < tiles_.size();) {
        // `chunk` points to the chunk's weights, which are contiguous.
        const size_t begin = tile;
        const uint8_t* const chunk = weights;
        do {
          weights += TileBytes(tiles_[tile], columns.width);
          ++tile;
        } while (tile < tiles_.size() &&
                 weights - chunk + TileBytes(tiles_[tile], columns.width) <= kResidentWeightBytes);
        if (plan_.chunk.function[0] != nullptr) {
          MultiplyChunk(begin, tile, columns, chunk, image, scales, pixels,
                        static_cast<float*>(out), out_stride);
        } else {
          MultiplyTiles(begin, tile, columns, chunk, image, scales, pixels,
                        static_cast<uint32_t*>(out), out_stride);
        }
      }
    }
    if (plan_.accumulation.rounding != SumRounding::kOther) {
      MakeNansQuiet(pixels.count, padded_columns(), static_cast<float*>(out), out_stride);
    }
  }

 private:
  using Tile = TileSteps;
  // A block of columns, at most max_vectors vectors wide.
  struct Block {
    int64_t first, width;
  };

  // Returns the bytes of one row tile's packed weights for a block of `width` columns.
  int64_t TileBytes(const Tile& tile, int64_t width) const {
    return width * (tile.steps * plan_.tile.operands_per_step * plan_.tile.weight_bytes +
                    (plan_.tile.starting ? 4 : 0));
  }

  // Groups the elements of each row tile into steps. A step multiplies operands that are
  // consecutive in the image; if fewer than operands_per_step are, the rest are multiplied by zero
  // weights.
  void FindSteps(const MacOrder& order) {
    size_t element = 0;
    for (int64_t size : order.tile_sizes) {
      const int64_t first_step = std::ssize(step_offsets_);
      const size_t end = element + static_cast<size_t>(size);
      while (element < end) {
        step_offsets_.push_back(order.offsets[element]);
        step_elements_.push_back(static_cast<int64_t>(element));
        // Example with operands_per_step = 4: offsets 0 1 2 9 10 become steps at 0 (3 elements) and
        // 9 (2).
        int64_t taken = 1;
        for (++element; element < end && taken < plan_.tile.operands_per_step &&
                        order.offsets[element] == order.offsets[element - 1] + 1;
             ++element) {
          ++taken;
        }
        step_counts_.push_back(static_cast<int>(taken));
      }
      tiles_.push_back({first_step, std::ssize(step_offsets_) - first_step});
    }
  }

  // Writes the weights in the order in which MultiplyTiles reads them. Padding stays 0.
  void PackWeights(const uint8_t* weights) {
    const int64_t bytes = plan_.tile.weight_bytes, per_step = plan_.tile.operands_per_step;
    const int64_t block = int64_t{plan_.tile.lanes} * plan_.tile.max_vectors;
    int64_t total = 0;
    for (const Tile& tile : tiles_) total += TileBytes(tile, padded_columns());
    weights_.resize(static_cast<size_t>(total), 0);
    uint8_t* at = weights_.data();
    for (int64_t first = 0; first < padded_columns(); first += block) {
      const int64_t width = std::min(block, padded_columns() - first),
                    used = std::min(width, columns() - first);
      for (const Tile& tile : tiles_) {
        uint8_t* starting = at;
        if (plan_.tile.starting) at += 4 * width;
        for (int64_t s = tile.first_step; s < tile.first_step + tile.steps;
             ++s, at += width * per_step * bytes) {
          const auto step = static_cast<size_t>(s);
          for (int64_t i = 0; i < step_counts_[step]; ++i) {
            for (int64_t n = 0; n < used; ++n) {
              const uint8_t* from =
                  weights + ((step_elements_[step] + i) * columns() + first + n) * bytes;
              std::memcpy(at + (n * per_step + i) * bytes, from, static_cast<size_t>(bytes));
              if (plan_.tile.starting) TakeOff(static_cast<int8_t>(*from), starting + 4 * n);
            }
          }
        }
      }
    }
  }
  // Subtracts 128 * weight from a column's initial psum, because operands are stored as int8 + 128.
  static void TakeOff(int8_t weight, uint8_t* starting) {
    uint32_t sum;
    std::memcpy(&sum, starting, sizeof sum);
    sum -= 128u * static_cast<uint32_t>(int32_t{weight});
    std::memcpy(starting, &sum, sizeof sum);
  }

  // As MultiplyTiles, with a kernel that computes all tiles of a chunk at once.
  void MultiplyChunk(size_t begin, size_t end, const Block& columns, const uint8_t* weights,
                     const void* image, const float* scales, const Pixels& pixels, float* out,
                     int64_t out_stride) const {
    const int64_t vectors = columns.width / plan_.tile.lanes;
    ChunkFunction multiply = plan_.chunk.function[vectors - 1];
    const ChunkFunction fallback = plan_.chunk.fallback[vectors - 1];
    const auto first = static_cast<int64_t>(begin);
    const bool scaled = !scales_.empty();
    int64_t in_vain = 0;
    for (int64_t p = 0; p < pixels.count; p += plan_.tile.pixels) {
      int64_t places[kMaxTilePixels];
      const float* input_scales[kMaxTilePixels];
      float* results[kMaxTilePixels];
      // The kernel always computes tile.pixels pixels; the last group repeats its last pixel.
      for (int64_t i = 0; i < plan_.tile.pixels; ++i) {
        const int64_t pixel = std::min(p + i, pixels.count - 1);
        places[i] = pixels.places[pixel];
        input_scales[i] = scaled ? scales + pixels.scale_places[pixel] : nullptr;
        results[i] = out + pixel * out_stride + columns.first;
      }
      const ChunkArguments arguments{
          image,
          places,
          tiles_.data() + first,
          static_cast<int64_t>(end - begin),
          step_offsets_.data(),
          weights,
          scaled ? input_scales : nullptr,
          scaled ? scale_offsets_.data() + first : nullptr,
          scaled ? scales_.data() + first * padded_columns() + columns.first : nullptr,
          padded_columns(),
          results,
          begin != 0};
      if (multiply(arguments)) continue;
      fallback(arguments);
      // If the kernel has failed at least twice and for more than half of the groups so far,
      // further attempts would waste time: use the fallback for the rest of the chunk.
      if (++in_vain >= 2 && 2 * in_vain > p / plan_.tile.pixels) multiply = fallback;
    }
  }

  // Computes the psums of tiles [begin, end) for each group of pixels and adds them to `out`, which
  // the first chunk clears.
  void MultiplyTiles(size_t begin, size_t end, const Block& columns, const uint8_t* weights,
                     const void* image, const float* scales, const Pixels& pixels, uint32_t* out,
                     int64_t out_stride) const {
    const TileFunction multiply = plan_.tile.function[columns.width / plan_.tile.lanes - 1];
    alignas(64) uint32_t psums[kMaxTilePixels * kMaxColumns];
    for (int64_t p = 0; p < pixels.count; p += plan_.tile.pixels) {
      const int64_t count = std::min<int64_t>(plan_.tile.pixels, pixels.count - p);
      int64_t places[kMaxTilePixels];  // the last group repeats its last pixel
      for (int64_t i = 0; i < plan_.tile.pixels; ++i)
        places[i] = pixels.places[p + std::min(i, count - 1)];
      uint32_t* results = out + p * out_stride + columns.first;
      if (begin == 0) {
        for (int64_t i = 0; i < count; ++i)
          std::fill_n(results + i * out_stride, columns.width, 0u);
      }
      const uint8_t* at = weights;
      for (size_t t = begin; t < end; ++t) {
        const Tile& tile = tiles_[t];
        multiply({image, places, step_offsets_.data() + tile.first_step, tile.steps, at, psums,
                  &plan_.psum, plan_.unit});
        at += TileBytes(tile, columns.width);
        float input_scales[kMaxTilePixels];
        if (!scales_.empty()) {
          for (int64_t i = 0; i < count; ++i)
            input_scales[i] = scales[pixels.scale_places[p + i] + scale_offsets_[t]];
        }
        plan_.accumulate(
            {psums, count, columns.width, scales_.empty() ? nullptr : input_scales,
             scales_.empty()
                 ? nullptr
                 : scales_.data() + static_cast<int64_t>(t) * padded_columns() + columns.first,
             results, out_stride, &plan_.accumulation, plan_.psum_bits, plan_.accumulation_bits});
      }
    }
  }

  const TilePlan plan_;
  const std::vector<int64_t> scale_offsets_;
  std::vector<Tile> tiles_;
  std::vector<int64_t> step_offsets_;   // index in the image, relative to the pixel
  std::vector<int64_t> step_elements_;  // index of the first reduction element of each step
  std::vector<int> step_counts_;        // number of elements of each step
  // [column block][tile][initial psums, then steps][column][operands of a step].
  std::vector<uint8_t> weights_;
  std::vector<float> scales_;  // [tile][padded column]
};

}  // namespace

void CopyPsums(const AccumulationArguments& args) {
  for (int64_t p = 0; p < args.pixels; ++p) {
    std::memcpy(static_cast<uint32_t*>(args.results) + p * args.stride,
                static_cast<const uint32_t*>(args.psums) + p * args.columns,
                static_cast<size_t>(args.columns) * 4);
  }
}

MacOrder OneTile(const MacOrder& order) {
  return {.offsets = order.offsets, .tile_sizes = {std::ssize(order.offsets)}, .scale_offsets = {}};
}

std::unique_ptr<const MacWeights> PackTiles(const TilePlan& plan, const MacOrder& order,
                                            int64_t columns, const void* weights,
                                            const float* scales) {
  KILN_CHECK(plan.tile.pixels <= kMaxTilePixels &&
             plan.tile.lanes * plan.tile.max_vectors <= kMaxColumns);
  return std::make_unique<TiledWeights>(plan, order, columns, weights, scales);
}

}  // namespace kiln::internal
