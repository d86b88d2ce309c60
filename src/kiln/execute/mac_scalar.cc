// The kernel that serves every rule: evaluates numerics/mac.h result by result. Operands of its
// images are codes, 4 bytes each. It is slow, and the last choice of MacKernel::Create.
#include "kiln/execute/mac_kernels.h"
#include "kiln/numerics/tables.h"

namespace kiln::internal {
namespace {

// Weights as codes, one column after the other, so that a tile's weights are contiguous.
class ScalarWeights final : public MacWeights {
 public:
  ScalarWeights(const MacRule& rule, const MacOrder& order, int64_t columns, const void* codes,
                const float* scales)
      : MacWeights(columns, columns), rule_(rule), order_(order) {
    const int64_t elements = std::ssize(order.offsets);
    // Transposes [element][column] to [column][element].
    codes_.resize(static_cast<size_t>(elements * columns));
    for (int64_t r = 0; r < elements; ++r) {
      for (int64_t n = 0; n < columns; ++n) {
        codes_[static_cast<size_t>(n * elements + r)] =
            LoadCode(rule.weight, codes, r * columns + n);
      }
    }
    if (scales != nullptr) scales_.assign(scales, scales + std::ssize(order.tile_sizes) * columns);
  }

  void Multiply(const void* image, const float* scales, const Pixels& pixels, void* out,
                int64_t out_stride) const override {
    const auto* operands = static_cast<const uint32_t*>(image);
    const size_t elements = order_.offsets.size(), tile_count = order_.tile_sizes.size();
    std::vector<uint32_t> inputs(elements);
    std::vector<MacTile> tiles(tile_count);
    for (int64_t p = 0; p < pixels.count; ++p) {
      for (size_t r = 0; r < elements; ++r)
        inputs[r] = operands[pixels.places[p] + order_.offsets[r]];
      for (int64_t n = 0; n < columns(); ++n) {
        size_t first = 0;
        for (size_t t = 0; t < tile_count; ++t) {
          const auto size = static_cast<size_t>(order_.tile_sizes[t]);
          // The tiles refer to consecutive ranges of the pixel's inputs and of the column's
          // weights.
          tiles[t].inputs = {inputs.data() + first, size};
          tiles[t].weights = {codes_.data() + static_cast<size_t>(n) * elements + first, size};
          if (rule_.scaled) {
            tiles[t].scale = scales[pixels.scale_places[p] + order_.scale_offsets[t]] *
                             scales_[t * static_cast<size_t>(columns()) + static_cast<size_t>(n)];
          }
          first += size;
        }
        static_cast<uint32_t*>(out)[p * out_stride + n] = MultiplyAccumulate(rule_, tiles);
      }
    }
  }

 private:
  const MacRule rule_;
  const MacOrder order_;
  std::vector<uint32_t> codes_;  // [column][element]
  std::vector<float> scales_;    // [tile][column]
};

// The kernel whose operands are codes.
class ScalarKernel final : public MacKernel {
 public:
  explicit ScalarKernel(const MacRule& rule) : MacKernel(rule) {}
  std::string_view name() const override { return "scalar"; }
  int operand_bytes() const override { return 4; }
  void StoreOperands(const void* codes, int64_t count, void* operands) const override {
    for (int64_t i = 0; i < count; ++i)
      static_cast<uint32_t*>(operands)[i] = LoadCode(rule().input, codes, i);
  }
  std::unique_ptr<const MacWeights> Pack(const MacOrder& order, int64_t columns, const void* codes,
                                         const float* scales) const override {
    CheckPacking(rule(), order, columns, scales);
    return std::make_unique<ScalarWeights>(rule(), order, columns, codes, scales);
  }
};

}  // namespace

std::unique_ptr<const MacKernel> MakeScalarKernel(const MacRule& rule) {
  return std::make_unique<ScalarKernel>(rule);
}

}  // namespace kiln::internal
