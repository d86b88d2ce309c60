// Converts between the host's numbers and the bytes of feature maps in the machine's memory.

#include "kiln/targets/vta/compile/feature_map.h"

#include <algorithm>

#include "kiln/support/check.h"

namespace kiln::vta {

void Clear(const FeatureMap& map, const Config& c, std::span<uint8_t> bytes) {
  KILN_CHECK(std::ssize(bytes) == map.bytes(c));
  std::fill(bytes.begin(), bytes.end(), static_cast<uint8_t>(map.fill));
  if (map.fill == 0) return;
  const int64_t element = c.output_element_bytes(), row_bytes = map.width * element;
  for (int64_t block = 0; block < map.planes() * map.Blocks(c); ++block) {
    for (int64_t y = 0; y < map.height; ++y) {
      std::fill_n(bytes.begin() + map.ElementAt(block, y, 0, c) * element, row_bytes, uint8_t{0});
    }
  }
}

namespace {

// Returns the offset of the byte of a channel of a pixel. The byte is in row `row` of its element,
// unless the rows of elements are pixels.
int64_t ByteAt(const FeatureMap& map, int64_t channel, int64_t y, int64_t x, int row,
               const Config& c, int64_t plane = 0) {
  int64_t in_row = row;
  if (map.image.has_value()) {
    const int64_t pixel = y * map.image->width + x;
    in_row = pixel % c.batch;
    x = pixel / c.batch;
    y = 0;
  }
  return map.ElementAt(channel / c.block_out, y, x, c, plane) * c.output_element_bytes() +
         in_row * c.block_out + channel % c.block_out;
}

}  // namespace

void Pack(std::span<const float> values, const ImageView& image, const std::optional<Patch>& patch,
          const FeatureMap& map, const Config& c, int row, std::span<uint8_t> bytes) {
  KILN_CHECK(std::ssize(bytes) == map.bytes(c) && !map.wide && row < c.batch);
  const Patch p = patch.value_or(Patch());
  KILN_CHECK(p.kernel_y * p.kernel_x * image.channels == map.channels);
  const float inverse = InverseScale(map.codes.scale);
  const CodeRange range{map.codes.low, map.codes.high};
  // Rounds each number once, because windows overlap.
  std::vector<uint8_t> codes(static_cast<size_t>(image.height * image.width * image.channels));
  size_t next = 0;
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      int64_t at = image.offset + y * image.y_stride + x * image.x_stride;
      for (int64_t k = 0; k < image.channels; ++k, at += image.channel_stride) {
        const float value = values[static_cast<size_t>(at)];
        codes[next++] = static_cast<uint8_t>(QuantiseToCode(value, inverse, map.codes.zero, range));
      }
    }
  }
  for (int64_t y = 0; y < map.image_height(); ++y) {
    for (int64_t x = 0; x < map.image_width(); ++x) {
      int64_t channel = 0;
      for (int64_t ky = 0; ky < p.kernel_y; ++ky) {
        for (int64_t kx = 0; kx < p.kernel_x; ++kx) {
          const int64_t iy = y * p.stride_y - p.top + ky * p.dilation_y;
          const int64_t ix = x * p.stride_x - p.left + kx * p.dilation_x;
          const bool inside = iy >= 0 && iy < image.height && ix >= 0 && ix < image.width;
          const int64_t from = inside ? (iy * image.width + ix) * image.channels : 0;
          for (int64_t k = 0; k < image.channels; ++k, ++channel) {
            const int64_t at = ByteAt(map, channel, y, x, row, c);
            bytes[static_cast<size_t>(at)] = inside ? codes[static_cast<size_t>(from + k)]
                                                    : static_cast<uint8_t>(map.codes.zero);
          }
        }
      }
    }
  }
}

std::vector<int32_t> Unpack(std::span<const uint8_t> bytes, const FeatureMap& map, const Config& c,
                            int row) {
  KILN_CHECK(std::ssize(bytes) == map.bytes(c) && row < c.batch);
  std::vector<int32_t> codes(
      static_cast<size_t>(map.image_height() * map.image_width() * map.channels));
  size_t next = 0;
  for (int64_t y = 0; y < map.image_height(); ++y) {
    for (int64_t x = 0; x < map.image_width(); ++x) {
      for (int64_t k = 0; k < map.channels; ++k) {
        uint32_t word = 0;
        for (int64_t plane = 0; plane < map.planes(); ++plane) {
          const int64_t at = ByteAt(map, k, y, x, row, c, plane);
          word |= uint32_t{bytes[static_cast<size_t>(at)]} << (8 * plane);
        }
        codes[next++] = map.wide ? static_cast<int32_t>(word) : static_cast<int8_t>(word);
      }
    }
  }
  return codes;
}

std::vector<float> ValuesOf(std::span<const int32_t> codes, const FeatureMap& map) {
  std::vector<float> values(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) {
    values[i] =
        map.wide ? static_cast<float>(codes[i] * map.scales[i % static_cast<size_t>(map.channels)])
                 : DequantiseCode(codes[i], map.codes.scale, map.codes.zero);
  }
  return values;
}

}  // namespace kiln::vta
