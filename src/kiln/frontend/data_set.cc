// Implements data_set.h: detects the kind of a file, calls its reader, and attaches labels.
#include "kiln/frontend/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "kiln/frontend/data_image.h"
#include "kiln/frontend/data_readers.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/budgets.h"
#include "kiln/support/check.h"
#include "kiln/support/file.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr DataFormatInfo kFormats[] = {
#define KILN_DATA_FORMAT(id, name, what) {DataFormat::k##id, name, what},
#include "kiln/frontend/data_formats.def"
#undef KILN_DATA_FORMAT
};

using Reader = StatusOr<DataSet::Parts> (*)(const data::Source&, const DataOptions&);
// The readers by format, in the order of data_formats.def (kAuto has none).
constexpr Reader kReaders[] = {
#define KILN_DATA_FORMAT(id, name, what) &data::Read##id,
#include "kiln/frontend/data_formats.def"
#undef KILN_DATA_FORMAT
};

// Returns the names of all formats for messages.
std::string FormatNames() {
  std::string names;
  for (const DataFormatInfo& row : kFormats)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

// Returns the file name without ".gz".
std::string FileNameOf(const fs::path& path) {
  std::string name = path.filename().string();
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name;
}

// Returns true if the bytes can be the beginning of an IDX file.
bool LooksLikeIdx(std::string_view bytes) {
  return bytes.size() >= 8 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] >= 8 && bytes[2] <= 14 &&
         bytes[3] >= 1 && bytes[3] <= 8;
}

// Returns the kind of a file, kAuto if it is unknown. Unambiguous content decides first, then the
// name; records without a header (CIFAR-10) come last.
DataFormat Detect(const fs::path& path, std::string_view bytes, bool shape_given) {
  const std::string name = FileNameOf(path);
  if (bytes.starts_with("\x93NUMPY")) return DataFormat::kNpy;
  if (bytes.starts_with("PK\x03\x04")) return DataFormat::kNpz;
  if (bytes.starts_with("P5") || bytes.starts_with("P6")) return DataFormat::kPnm;
  if (data::IsJpeg(bytes)) return DataFormat::kJpeg;
  if (data::IsPng(bytes)) return DataFormat::kPng;
  if (name.ends_with("ubyte") || name.ends_with(".idx") || name.find("-idx") != std::string::npos) {
    return DataFormat::kIdx;
  }
  if (name.ends_with(".npy")) return DataFormat::kNpy;
  if (name.ends_with(".npz")) return DataFormat::kNpz;
  // 3073 is the size of a CIFAR-10 record.
  if (name.ends_with(".bin"))
    return shape_given || bytes.size() % 3073 != 0 ? DataFormat::kRaw : DataFormat::kCifar10;
  return LooksLikeIdx(bytes) ? DataFormat::kIdx : DataFormat::kAuto;
}

// Reads a file and unpacks it if it is gzip.
StatusOr<data::Source> ReadSource(const fs::path& path, const UnpackLimits& limits = {}) {
  KILN_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, budgets::kDataFileBytes));
  uint64_t packed = 0;
  if (data::IsGzip(bytes)) {
    packed = bytes.size();
    KILN_ASSIGN_OR_RETURN(bytes, data::Gunzip(bytes, path.string(), limits));
  }
  if (bytes.empty()) return ErrorAt(path.string(), "", "is empty", "name a file of images");
  return data::Source{path.string(), std::make_shared<const std::string>(std::move(bytes)), packed};
}

// Parses labels from text: one integer per line; blank lines are skipped.
StatusOr<Labels> ParseTextLabels(const data::Source& source) {
  std::vector<int32_t> labels;
  std::string_view rest = source.view();
  for (int64_t line = 1; !rest.empty(); ++line) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
    if (text.empty()) continue;
    int32_t value = -1;
    const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (std::any_of(text.begin(), text.end(),
                    [](char c) { return c >= 0 && c < ' ' && c != '\t'; })) {
      return ErrorAt(source.name, "line " + std::to_string(line), "is not text",
                     "labels are one integer a line, IDX, .npy or PGM");
    }
    if (fault != std::errc() || stop != text.data() + text.size() || value < 0) {
      return ErrorAt(source.name, "line " + std::to_string(line),
                     "'" + std::string(text.substr(0, 40)) + "' is no label",
                     "one integer of 0 or more a line");
    }
    labels.push_back(value);
  }
  return Labels{.values = std::move(labels)};
}

// Returns the label file next to an image file by MNIST's convention; empty if there is none.
fs::path LabelsBeside(const fs::path& images) {
  std::string name = images.filename().string();
  const size_t at = name.find("images-idx3");
  if (at == std::string::npos) return {};
  name.replace(at, std::strlen("images-idx3"), "labels-idx1");
  const std::string bare = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
  // Images and labels may be compressed independently.
  for (const std::string& candidate : {name, bare, bare + ".gz"}) {
    std::error_code error;
    if (fs::exists(images.parent_path() / candidate, error))
      return images.parent_path() / candidate;
  }
  return {};
}

}  // namespace

std::span<const DataFormatInfo> AllDataFormats() { return kFormats; }

StatusOr<DataFormat> FindDataFormat(std::string_view name) {
  if (name == "auto") return DataFormat::kAuto;
  for (const DataFormatInfo& row : kFormats) {
    if (row.name == name) return row.format;
  }
  return ErrorAt("", "", "unknown data format '" + std::string(name) + "'",
                 "one of: auto, " + FormatNames());
}

uint64_t UnpackLimits::Most(uint64_t stored) const {
  // Divides, because a product could exceed 64 bits.
  const uint64_t scaled = ratio == 0 || stored <= bytes / ratio ? stored * ratio : bytes;
  return std::min(bytes, std::max(freely, scaled));
}

std::string_view NameOf(ImageLayout layout) { return layout == ImageLayout::kChw ? "chw" : "hwc"; }

DataSet::DataSet(std::string source, DataFormat format, Parts parts)
    : source_(std::move(source)),
      format_(format),
      bytes_(std::move(parts.bytes)),
      offset_(parts.offset),
      stride_(parts.stride),
      image_bytes_(parts.image_shape.NumElements() * SizeOf(parts.element)),
      count_(parts.count),
      image_shape_(std::move(parts.image_shape)),
      layout_(parts.layout),
      element_(parts.element),
      labels_(std::move(parts.labels)),
      label_shape_(std::move(parts.label_shape)),
      no_labels_(std::move(parts.no_labels)) {
  // Checked once here, so that Image() needs no further checks.
  KILN_CHECK(count_ > 0 && offset_ >= 0 && stride_ >= image_bytes_);
  KILN_CHECK(offset_ + (count_ - 1) * stride_ + image_bytes_ <=
             static_cast<int64_t>(bytes_->size()));
}

DataSet::DataSet(std::string source, std::vector<fs::path> files, int64_t channels)
    : source_(std::move(source)),
      format_(DataFormat::kImages),
      count_(std::ssize(files)),
      files_(std::move(files)),
      image_shape_(channels == 1 ? Shape{kUnknownDim, kUnknownDim}
                                 : Shape{kUnknownDim, kUnknownDim, 3}),
      layout_(ImageLayout::kHwc) {
  KILN_CHECK(count_ > 0);
}

StatusOr<StoredImage> DataSet::Load(int64_t i) const {
  if (!is_folder()) return StoredImage{image_shape_, Image(i), bytes_};
  KILN_CHECK(i >= 0 && i < count_);
  const int64_t channels = image_shape_.rank() == 2 ? 1 : 3;
  KILN_ASSIGN_OR_RETURN(const Parts parts,
                        data::DecodeImage(files_[static_cast<size_t>(i)], channels));
  const auto* bytes = reinterpret_cast<const std::byte*>(parts.bytes->data()) + parts.offset;
  return StoredImage{parts.image_shape,
                     {bytes, static_cast<size_t>(parts.image_shape.NumElements())},
                     parts.bytes};
}

std::string DataSet::NameOf(int64_t i) const {
  return is_folder() ? files_[static_cast<size_t>(i)].string() : source_;
}

std::span<const std::byte> DataSet::Image(int64_t i) const {
  KILN_CHECK(i >= 0 && i < count_ && !is_folder());
  return {reinterpret_cast<const std::byte*>(bytes_->data()) + offset_ + i * stride_,
          static_cast<size_t>(image_bytes_)};
}

// Labels are checked against the network here, because a file does not state the number of classes.
Status DataSet::CheckLabels(int64_t classes, int32_t ignored) const {
  for (size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i] >= classes && labels_[i] != ignored) {
      const auto image = static_cast<int64_t>(i) / labels_per_image();
      return ErrorAt(label_source_, "image " + std::to_string(image),
                     "label " + std::to_string(labels_[i]),
                     "the network tells " + std::to_string(classes) + " classes apart, 0 to " +
                         std::to_string(classes - 1));
    }
  }
  return OkStatus();
}

Status DataSet::SetLabels(Labels labels, std::string source) {
  const auto count = static_cast<int64_t>(labels.values.size());
  if (labels.each() == 0 || count != count_ * labels.each()) {
    const auto counted = [](int64_t n, const char* noun) {
      return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
    };
    // each() is 0 if a dimension of the label shape is 0.
    const int64_t images = labels.each() == 0 ? 0 : count / labels.each();
    return ErrorAt(source, "",
                   labels.shape.rank() == 0
                       ? fmt::format("{} for the {} of {}", counted(images, "label"),
                                     counted(count_, "image"), source_)
                       : fmt::format("labels for {}, {} for each image, where {} holds {}",
                                     counted(images, "image"), labels.shape.ToString(), source_,
                                     counted(count_, "image")),
                   "name the labels that belong to them");
  }
  labels_ = std::move(labels.values);
  label_shape_ = std::move(labels.shape);
  label_source_ = std::move(source);
  return OkStatus();
}

StatusOr<Labels> LoadLabels(const fs::path& path) {
  KILN_ASSIGN_OR_RETURN(const data::Source source, ReadSource(path));
  if (source.view().starts_with("\x93NUMPY")) {
    KILN_ASSIGN_OR_RETURN(const data::Array array, data::ReadNpyArray(source));
    return data::LabelsOf(source, array);
  }
  if (LooksLikeIdx(source.view())) {
    KILN_ASSIGN_OR_RETURN(const data::Array array, data::ReadIdxArray(source));
    return data::LabelsOf(source, array);
  }
  // A PGM is one image whose pixels are labels (segmentation).
  if (source.view().starts_with("P5")) {
    KILN_ASSIGN_OR_RETURN(DataSet::Parts parts, data::ReadPnm(source, {}));
    std::vector<int64_t> dims = parts.image_shape.dims();
    dims.insert(dims.begin(), 1);
    return data::LabelsOf(
        source, {parts.element, Shape(std::move(dims)), std::move(parts.bytes), parts.offset});
  }
  return ParseTextLabels(source);
}

bool IsImageFolder(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  bool is_empty = true;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".npy") return false;
    is_empty = false;
  }
  return !is_empty;
}

// Labels given explicitly win over labels in the file, and those over a neighbouring file.
StatusOr<DataSet> LoadDataSet(const fs::path& path, const DataOptions& options) {
  std::error_code unreadable;
  if (fs::is_directory(path, unreadable) &&
      (options.format == DataFormat::kAuto || options.format == DataFormat::kImages)) {
    KILN_ASSIGN_OR_RETURN(data::ImageList list, data::ListImages(path, options.folder_files));
    DataSet set(path.string(), std::move(list.files), options.channels == 1 ? 1 : 3);
    Labels labels{.values = std::move(list.labels)};
    std::string source = path.string();
    if (!options.labels.empty()) {
      KILN_ASSIGN_OR_RETURN(labels, LoadLabels(options.labels));
      source = options.labels.string();
    }
    if (!labels.values.empty()) KILN_RETURN_IF_ERROR(set.SetLabels(std::move(labels), source));
    return set;
  }
  KILN_ASSIGN_OR_RETURN(const data::Source source, ReadSource(path, options.unpacked));
  DataFormat format = options.format;
  if (format == DataFormat::kAuto) format = Detect(path, source.view(), options.shape.has_value());
  if (format == DataFormat::kAuto) {
    return ErrorAt(path.string(), "", "neither content nor name tells what kind of data this is",
                   "say it with --data-format: " + FormatNames());
  }
  // The network's shape applies only after the detection, which must not depend on it.
  DataOptions known = options;
  if (!known.shape.has_value()) known.shape = options.default_shape;
  KILN_ASSIGN_OR_RETURN(DataSet::Parts parts,
                        kReaders[static_cast<size_t>(format) - 1](source, known));
  DataSet set(path.string(), format, std::move(parts));
  set.label_source_ = set.source_;
  const fs::path labels =
      options.labels.empty() && !set.has_labels() ? LabelsBeside(path) : options.labels;
  if (!labels.empty()) {
    KILN_ASSIGN_OR_RETURN(Labels own, LoadLabels(labels));
    KILN_RETURN_IF_ERROR(set.SetLabels(std::move(own), labels.string()));
  } else if (set.has_labels()) {
    // An .npz archive may contain an array named labels that is something else; it is not an error
    // until a command needs labels.
    if (Status fits = set.SetLabels({set.labels_, set.label_shape_}, set.source_); !fits.ok()) {
      if (format != DataFormat::kNpz) return fits;
      set.labels_.clear();
      set.label_shape_ = {};
      set.no_labels_ = MessageOf(fits);
    }
  }
  return set;
}

namespace data {

Status UnpacksTooMuch(std::string_view name, std::string_view what, uint64_t stored,
                      const UnpackLimits& limits) {
  const uint64_t most = limits.Most(stored);
  const std::string fault = fmt::format("{} more than {} bytes", what, most);
  if (most == limits.bytes) return ErrorAt(name, "", fault, "split it");
  return ErrorAt(name, "", fmt::format("{}, too many for a file of {} bytes", fault, stored),
                 "store it without compression");
}

void SwapBytes(char* bytes, int64_t count, int element_bytes) {
  for (int64_t i = 0; i < count; ++i)
    std::reverse(bytes + i * element_bytes, bytes + (i + 1) * element_bytes);
}

StatusOr<DataSet::Parts> PartsOf(const Source& source, Array array) {
  if (array.shape.rank() < 2 || CheckedNumElements(array.shape).value_or(0) == 0) {
    return ErrorAt(source.name, "",
                   "an array of shape " + array.shape.ToString() + " holds no images",
                   "its first axis counts the images");
  }
  return SamplesOf(source, std::move(array));
}

StatusOr<DataSet::Parts> SamplesOf(const Source& source, Array array) {
  if (array.shape.rank() < 1 || CheckedNumElements(array.shape).value_or(0) == 0) {
    return ErrorAt(source.name, "",
                   "an array of shape " + array.shape.ToString() + " holds no samples",
                   "its first axis counts the samples");
  }
  DataSet::Parts parts;
  parts.count = array.shape[0];
  parts.image_shape =
      Shape(std::vector<int64_t>(array.shape.dims().begin() + 1, array.shape.dims().end()));
  parts.element = array.element;
  parts.stride = parts.image_shape.NumElements() * SizeOf(array.element);
  parts.bytes = std::move(array.bytes);
  parts.offset = array.offset;
  return parts;
}

StatusOr<Labels> LabelsOf(const Source& source, const Array& array) {
  if (array.shape.rank() < 1 || CheckedNumElements(array.shape).value_or(0) == 0 ||
      !IsInteger(array.element)) {
    return ErrorAt(source.name, "",
                   "labels of shape " + array.shape.ToString() + " and type " +
                       std::string(NameOf(array.element)),
                   "labels are integers: one per image, or one per place of an image");
  }
  // The elements after a header may be unaligned, so they are copied.
  Tensor tensor(array.element, array.shape);
  std::memcpy(tensor.mutable_bytes(), array.bytes->data() + array.offset,
              static_cast<size_t>(tensor.num_bytes()));
  Labels labels;
  labels.shape =
      Shape(std::vector<int64_t>(array.shape.dims().begin() + 1, array.shape.dims().end()));
  if (labels.each() == 1) labels.shape = Shape{};  // a column of labels, as Keras stores CIFAR's
  labels.values.reserve(static_cast<size_t>(tensor.size()));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const int64_t label = tensor.IntAt(i);
    if (label < 0 || label > INT32_MAX) {
      return ErrorAt(source.name, "image " + std::to_string(i / labels.each()),
                     "label " + std::to_string(label), "labels are 0 or more");
    }
    labels.values.push_back(static_cast<int32_t>(label));
  }
  return labels;
}

}  // namespace data
}  // namespace kiln
