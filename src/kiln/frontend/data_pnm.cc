// Reads binary PGM (P5) and PPM (P6), one image per file.
//   source  netpbm's pgm(5) and ppm(5)
#include <cctype>

#include "kiln/frontend/data_readers.h"

namespace kiln::data {
namespace {

// Reads one decimal number of the header after blanks and comments; returns -1 if there is none or
// it is too large.
int64_t HeaderNumber(std::string_view bytes, size_t* at) {
  while (*at < bytes.size()) {
    if (bytes[*at] == '#') {
      while (*at < bytes.size() && bytes[*at] != '\n') ++*at;
    } else if (std::isspace(static_cast<unsigned char>(bytes[*at])) == 0) {
      break;
    } else {
      ++*at;
    }
  }
  int64_t value = -1;
  while (*at < bytes.size() && bytes[*at] >= '0' && bytes[*at] <= '9') {
    value = (value < 0 ? 0 : value) * 10 + (bytes[*at] - '0');
    if (value > (int64_t{1} << 31)) return -1;
    ++*at;
  }
  return value;
}

}  // namespace

// Example of a header: "P6\n640 480\n255\n", followed by 480 rows of 640 R, G, B triples.
StatusOr<DataSet::Parts> ReadPnm(const Source& source, const DataOptions&) {
  const std::string_view bytes = source.view();
  if (!bytes.starts_with("P5") && !bytes.starts_with("P6")) {
    return ErrorAt(source.name, "", "not a binary PGM or PPM file", "it begins with P5 or P6");
  }
  // P6 has interleaved R, G, B; P5 has one channel.
  const int64_t channels = bytes[1] == '6' ? 3 : 1;
  size_t at = 2;
  const int64_t width = HeaderNumber(bytes, &at), height = HeaderNumber(bytes, &at),
                maximum = HeaderNumber(bytes, &at);
  if (width < 1 || height < 1 || maximum < 1 || maximum > 65535 || at >= bytes.size()) {
    return ErrorAt(source.name, "", "the header is damaged",
                   "it must be a width, a height and a maximum of 1 to 65535");
  }
  ++at;  // exactly one blank ends the header
  const int64_t sample_bytes = maximum > 255 ? 2 : 1;
  const Shape shape = channels == 3 ? Shape{height, width, 3} : Shape{height, width};
  const std::optional<int64_t> samples = CheckedNumElements(shape);
  const uint64_t needed =
      samples.has_value() ? static_cast<uint64_t>(*samples * sample_bytes) : UINT64_MAX;
  if (bytes.size() - at < needed) {
    return ErrorAt(source.name, "",
                   "truncated: an image of " + shape.ToString() + " needs " +
                       std::to_string(needed) + " bytes after the header, the file has " +
                       std::to_string(bytes.size() - at),
                   "fetch it again");
  }
  DataSet::Parts parts;
  parts.count = 1;
  parts.image_shape = shape;
  parts.layout = ImageLayout::kHwc;
  parts.stride = static_cast<int64_t>(needed);
  parts.bytes = source.bytes;
  parts.offset = static_cast<int64_t>(at);
  // 16-bit samples are stored big-endian.
  if (sample_bytes == 2) {
    auto swapped = std::make_shared<std::string>(bytes.substr(at, needed));
    SwapBytes(swapped->data(), *samples, 2);
    parts.bytes = std::move(swapped);
    parts.offset = 0;
    parts.element = ElementType::kUint16;
  }
  return parts;
}

}  // namespace kiln::data
