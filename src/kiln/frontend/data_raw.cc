// Reads raw float32 images, one after the other: little-endian, row-major, without header.
#include <bit>

#include "kiln/frontend/data_readers.h"

namespace kiln::data {

static_assert(std::endian::native == std::endian::little, "raw data is read as it stands");

StatusOr<DataSet::Parts> ReadRaw(const Source& source, const DataOptions& options) {
  if (!options.shape.has_value() || !options.shape->IsKnown()) {
    return ErrorAt(source.name, "", "raw data has no header",
                   "give the shape of one image with --data-shape CxHxW");
  }
  const std::optional<int64_t> elements = CheckedNumElements(*options.shape);
  if (!elements.has_value() || *elements == 0) {
    return ErrorAt(source.name, "", "an image of shape " + options.shape->ToString() + " cannot be",
                   "give the shape of one image with --data-shape CxHxW");
  }
  // Without a header, a size that is not a multiple of an image is the only sign of a wrong shape.
  const int64_t image = *elements * 4;
  const auto size = static_cast<int64_t>(source.view().size());
  if (size == 0 || size % image != 0) {
    return ErrorAt(source.name, "",
                   std::to_string(size) + " bytes are no whole number of float32 images of shape " +
                       options.shape->ToString() + " (" + std::to_string(image) + " bytes each)",
                   "is it truncated, or is the shape another?");
  }
  DataSet::Parts parts;
  parts.bytes = source.bytes;
  parts.stride = image;
  parts.count = size / image;
  parts.image_shape = *options.shape;
  parts.element = ElementType::kFloat32;
  return parts;
}

}  // namespace kiln::data
