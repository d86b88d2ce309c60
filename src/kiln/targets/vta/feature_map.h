// Activations in the machine's memory, and the way there and back.
//
// A feature map is a height x width image of channels in the original's layout: [planes][channels / block][rows][pitch]
// elements, an element being batch rows of block channels: a row an image, of those that a run works on at once. Rows
// of elements and pitch have a border around the image that holds one code and is written once, with the program: so
// padding is in memory, and a zero point needs no arithmetic at the image's edge.
#ifndef KILN_TARGETS_VTA_FEATURE_MAP_H_
#define KILN_TARGETS_VTA_FEATURE_MAP_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/numerics/quantise.h"
#include "kiln/support/integer.h"
#include "kiln/targets/vta/config.h"

namespace kiln::vta {

// What codes mean: value = scale * (code - zero).
struct Codes {
  float scale = 1;
  int32_t zero = 0;
  int32_t low = -128, high = 127;
  bool operator==(const Codes&) const = default;
};

struct Border {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

struct FeatureMap {
  std::string name;
  int64_t channels = 1, height = 1, width = 1;
  Border border;
  int32_t fill = 0;  // of the border
  Codes codes;
  // Sums of 32 bits instead of codes: byte k of each in plane k; value = scales[channel] * (sum - zeros).
  bool wide = false;
  std::vector<double> scales;  // wide: one a channel
  // Stands inside another map, whose rows and pitch are as long: from that one's block `first_block` on, with a border
  // that may have pixels of the other. Codes, but for a map with all blocks of the other.
  struct Place {
    int map = -1;
    int64_t first_block = 0;
  };
  std::optional<Place> inside;
  // Rows of elements are pixels of one image: pixel p of these, in row-major order, is row p % batch of element p /
  // batch. Height and width above count elements.
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
  // Index of an element from the map's begin; y and x may lie in the border.
  int64_t ElementAt(int64_t block, int64_t y, int64_t x, const Config& c, int64_t plane = 0) const {
    return ((plane * Blocks(c) + block) * rows() + y + border.top) * pitch() + x + border.left;
  }
};

// Windows of an image side by side as channels: channel (ky * kernel_x + kx) * C + c of pixel (y, x) is channel c of
// the image's pixel (y * stride_y - top + ky * dilation_y, x * stride_x - left + kx * dilation_x), zero outside.
struct Patch {
  int64_t kernel_y = 1, kernel_x = 1, stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1,
          top = 0, left = 0;
  bool operator==(const Patch&) const = default;
};

// An image somewhere among the host's numbers; strides in elements.
struct ImageView {
  int64_t height = 1, width = 1, channels = 1;
  int64_t offset = 0, y_stride = 0, x_stride = 0, channel_stride = 0;
};

// Writes the border and zeros elsewhere.
void Clear(const FeatureMap& map, const Config& config, std::span<uint8_t> bytes);
// Writes an image's values as codes into row `row` of the elements. Bytes that hold nothing stay as they are.
void Pack(std::span<const float> values, const ImageView& image, const std::optional<Patch>& patch,
          const FeatureMap& map, const Config& config, int row, std::span<uint8_t> bytes);
// Reads codes, or sums, of a row of the elements as a dense [height][width][channels] tensor.
std::vector<int32_t> Unpack(std::span<const uint8_t> bytes, const FeatureMap& map,
                            const Config& config, int row);
// What they mean.
std::vector<float> ValuesOf(std::span<const int32_t> codes, const FeatureMap& map);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_FEATURE_MAP_H_
