#include <algorithm>
#include <bit>
#include <cstring>

#include "kiln/execute/mac_kernels.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"

namespace kiln::internal {
namespace {

// Weights of the row tiles that all pixels walk before the next ones stay in the first-level cache.
constexpr int64_t kResidentWeightBytes = 24 * 1024;
constexpr int64_t kMaxPixels = 16;
constexpr int64_t kMaxColumns = 64;  // of a block

// A NaN may come out of the processor with either sign.
void MakeNansQuiet(int64_t pixels, int64_t columns, float* results, int64_t stride) {
  for (int64_t p = 0; p < pixels; ++p) {
    for (int64_t n = 0; n < columns; ++n) {
      float& result = results[p * stride + n];
      result = result == result ? result : std::bit_cast<float>(kQuietNan);
    }
  }
}

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
      for (size_t tile = 0; tile < tiles_.size();) {
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
  struct Block {
    int64_t first, width;
  };

  int64_t TileBytes(const Tile& tile, int64_t width) const {
    return width * (tile.steps * plan_.tile.operands_per_step * plan_.tile.weight_bytes +
                    (plan_.tile.starting ? 4 : 0));
  }

  // A step takes operands that stand side by side; the places that are left over weigh nothing.
  void FindSteps(const MacOrder& order) {
    size_t element = 0;
    for (int64_t size : order.tile_sizes) {
      const int64_t first_step = std::ssize(step_offsets_);
      const size_t end = element + static_cast<size_t>(size);
      while (element < end) {
        step_offsets_.push_back(order.offsets[element]);
        step_elements_.push_back(static_cast<int64_t>(element));
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
  // Operands are int8 + 128: the psum starts 128 times the weight lower.
  static void TakeOff(int8_t weight, uint8_t* starting) {
    uint32_t sum;
    std::memcpy(&sum, starting, sizeof sum);
    sum -= 128u * static_cast<uint32_t>(int32_t{weight});
    std::memcpy(starting, &sum, sizeof sum);
  }

  // As MultiplyTiles, by a kernel that takes all tiles at once.
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
      int64_t places[kMaxPixels];
      const float* input_scales[kMaxPixels];
      float* results[kMaxPixels];
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
      if (++in_vain >= 2 && 2 * in_vain > p / plan_.tile.pixels)
        multiply = fallback;  // and likely to go on so
    }
  }

  void MultiplyTiles(size_t begin, size_t end, const Block& columns, const uint8_t* weights,
                     const void* image, const float* scales, const Pixels& pixels, uint32_t* out,
                     int64_t out_stride) const {
    const TileFunction multiply = plan_.tile.function[columns.width / plan_.tile.lanes - 1];
    alignas(64) uint32_t psums[kMaxPixels * kMaxColumns];
    for (int64_t p = 0; p < pixels.count; p += plan_.tile.pixels) {
      const int64_t count = std::min<int64_t>(plan_.tile.pixels, pixels.count - p);
      int64_t places[kMaxPixels];  // the last group repeats its last pixel
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
        float input_scales[kMaxPixels];
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
  std::vector<int64_t> step_offsets_;   // in the image
  std::vector<int64_t> step_elements_;  // of the reduction: the first that a step takes
  std::vector<int> step_counts_;        // how many it takes
  std::vector<uint8_t>
      weights_;  // [column block][tile][starting, then steps][column][operands of a step]
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
  KILN_CHECK(plan.tile.pixels <= kMaxPixels &&
             plan.tile.lanes * plan.tile.max_vectors <= kMaxColumns);
  return std::make_unique<TiledWeights>(plan, order, columns, weights, scales);
}

}  // namespace kiln::internal
