// Reads CIFAR-10 and CIFAR-100 in their binary form: records of label bytes followed by 3072 pixel
// bytes (planes R, G, B of 32x32).
//   source  A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009, and its
//           data page
#include "kiln/frontend/data_readers.h"

namespace kiln::data {
namespace {

constexpr int64_t kPixels = 3 * 32 * 32;

// Reads the records of a file. `label_limits` has one exclusive bound per label byte; the last
// label byte is the class. A label outside its bound means that the file has another format.
StatusOr<DataSet::Parts> ReadRecords(const Source& source, std::string_view name,
                                     std::vector<int> label_limits) {
  const std::string_view bytes = source.view();
  const auto labels = static_cast<int64_t>(label_limits.size());
  const int64_t record = labels + kPixels;
  const auto size = static_cast<int64_t>(bytes.size());
  if (size == 0 || size % record != 0) {
    return ErrorAt(source.name, "",
                   std::to_string(size) + " bytes are no whole number of " + std::string(name) +
                       " records of " + std::to_string(record) + " bytes",
                   "is it truncated, or of another format (--data-format)?");
  }
  // The images stay where they are in the file; `stride` skips the labels of the next record.
  DataSet::Parts parts;
  parts.bytes = source.bytes;
  parts.offset = labels;
  parts.stride = record;
  parts.count = size / record;
  parts.image_shape = Shape{3, 32, 32};
  parts.labels.reserve(static_cast<size_t>(parts.count));
  for (int64_t i = 0; i < parts.count; ++i) {
    int label = 0;
    for (int64_t k = 0; k < labels; ++k) {
      label = static_cast<uint8_t>(bytes[static_cast<size_t>(i * record + k)]);
      const int limit = label_limits[static_cast<size_t>(k)];
      if (label >= limit) {
        return ErrorAt(
            source.name, "image " + std::to_string(i),
            "label " + std::to_string(label) + " is out of range for " + std::string(name),
            "0 to " + std::to_string(limit - 1) + "; or is it of another format (--data-format)?");
      }
    }
    parts.labels.push_back(label);
  }
  return parts;
}

}  // namespace

StatusOr<DataSet::Parts> ReadCifar10(const Source& source, const DataOptions&) {
  return ReadRecords(source, "CIFAR-10", {10});
}

StatusOr<DataSet::Parts> ReadCifar100(const Source& source, const DataOptions&) {
  return ReadRecords(source, "CIFAR-100", {20, 100});
}

}  // namespace kiln::data
