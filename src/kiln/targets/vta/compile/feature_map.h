// The layout of activations in the machine's memory, and conversions to and from the host's
// numbers.
//
// A feature map is a height x width image of channels in the original's layout: [planes][channels /
// block][rows][pitch] elements. An element has `batch` rows of `block` channels, one row for each
// image that a run processes at the same time. The image is surrounded by a border that holds one
// code and is written once, with the program. Padding is therefore in memory, and a zero point
// needs no arithmetic at the image's edge.
#ifndef KILN_TARGETS_VTA_COMPILE_FEATURE_MAP_H_
#define KILN_TARGETS_VTA_COMPILE_FEATURE_MAP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/numerics/quantise.h"
#include "kiln/support/integer.h"
#include "kiln/targets/lower/value_codes.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

// The meaning and range of codes: value = scale * (code - zero).
struct Codes {
  float scale = 1;
  int32_t zero = 0;
  int32_t low = -128, high = 127;
  bool operator==(const Codes&) const = default;
};
// Returns the code of a real number, as the shared rooms round it.
inline int32_t NearestCode(double value, const Codes& codes) {
  return kiln::NearestCode(
      value, {.scale = codes.scale, .zero = codes.zero, .low = codes.low, .high = codes.high});
}

struct Border {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

// The shape, layout and codes of one feature map.
struct FeatureMap {
  std::string name;
  int64_t channels = 1, height = 1, width = 1;
  Border border;
  int32_t fill = 0;  // the border's code
  Codes codes;
  // Whether the map holds 32-bit sums instead of codes. Byte k of each sum is in plane k, and value
  // = scales[channel] * sum.
  bool wide = false;
  std::vector<double> scales;  // if wide: one per channel
  // The position of a map inside another map that has the same rows and pitch. The map begins at
  // the other's block `first_block`, and its border may contain pixels of the other. Unless it has
  // all blocks of the other, it holds codes.
  struct Place {
    int map = -1;
    int64_t first_block = 0;
  };
  std::optional<Place> inside;
  // The image's size if the rows of elements are pixels of one image: pixel p in row-major order is
  // row p % batch of element p / batch. `height` and `width` then count elements.
  struct Size {
    int64_t height = 1, width = 1;
  };
  std::optional<Size> image;

  int64_t image_height() const { return image.has_value() ? image->height : height; }
  int64_t image_width() const { return image.has_value() ? image->width : width; }
  int64_t rows() const { return border.top + height + border.bottom; }
  int64_t pitch() const { return border.left + width + border.right; }
  int64_t planes() const { return wide ? 4 : 1; }
  int64_t Blocks(const Config& c) const { return CeilDivide(channels, c.block_out); }
  int64_t elements(const Config& c) const { return planes() * Blocks(c) * rows() * pitch(); }
  int64_t bytes(const Config& c) const { return elements(c) * c.output_element_bytes(); }
  // Returns the index of an element from the start of the map. y and x may be in the border.
  int64_t ElementAt(int64_t block, int64_t y, int64_t x, const Config& c, int64_t plane = 0) const {
    return ((plane * Blocks(c) + block) * rows() + y + border.top) * pitch() + x + border.left;
  }
};

// Windows of an image, stored as channels: channel (ky * kernel_x + kx) * C + c of pixel (y, x) is
// channel c of the image's pixel (y * stride_y - top + ky * dilation_y, x * stride_x - left + kx *
// dilation_x), or zero outside of the image.
struct Patch {
  int64_t kernel_y = 1, kernel_x = 1, stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1,
          top = 0, left = 0;
  bool operator==(const Patch&) const = default;
};

// The location of an image in a host tensor. Offset and strides are in elements.
struct ImageView {
  int64_t height = 1, width = 1, channels = 1;
  int64_t offset = 0, y_stride = 0, x_stride = 0, channel_stride = 0;
};

// Initialises the bytes of a map: the border's code in the border, zeros elsewhere.
void Clear(const FeatureMap& map, const Config& config, std::span<uint8_t> bytes);
// Writes an image's values as codes into row `row` of the elements, rounded to nearest even and
// saturated. Bytes that hold no code of the image keep their contents.
void Pack(std::span<const float> values, const ImageView& image, const std::optional<Patch>& patch,
          const FeatureMap& map, const Config& config, int row, std::span<uint8_t> bytes);
// Reads the codes or sums of row `row` of the elements as a dense [height][width][channels] tensor.
std::vector<int32_t> Unpack(std::span<const uint8_t> bytes, const FeatureMap& map,
                            const Config& config, int row);
// Returns the real values of codes or sums that Unpack returned.
std::vector<float> ValuesOf(std::span<const int32_t> codes, const FeatureMap& map);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_FEATURE_MAP_H_
