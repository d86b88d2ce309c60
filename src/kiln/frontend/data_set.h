// Images with labels, read from the usual files and held as they are stored: uint8 stays uint8 until an image is asked
// for (data_convert.h).
#ifndef KILN_FRONTEND_DATA_SET_H_
#define KILN_FRONTEND_DATA_SET_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/ir/element_type.h"
#include "kiln/ir/shape.h"
#include "kiln/support/budgets.h"
#include "kiln/support/status.h"

namespace kiln {

enum class DataFormat {
  kAuto,  // told by content first, then by the file's name
#define KILN_DATA_FORMAT(id, name, what) k##id,
#include "kiln/frontend/data_formats.def"
#undef KILN_DATA_FORMAT
};

struct DataFormatInfo {
  DataFormat format;
  std::string_view name;
  std::string_view what;
};
std::span<const DataFormatInfo> AllDataFormats();
StatusOr<DataFormat> FindDataFormat(
    std::string_view name);  // a name of data_formats.def, or "auto"

// Order of a stored image's dimensions; a 2-D image is one channel in either.
enum class ImageLayout { kChw, kHwc };
std::string_view NameOf(ImageLayout layout);  // "chw", "hwc"

struct DataOptions {
  DataFormat format = DataFormat::kAuto;
  // A file of labels: IDX, .npy, PGM, or text with one integer a line. Empty: the labels that stand in the data file
  // itself, or for *-images-idx3-ubyte[.gz] the file *-labels-idx1-ubyte[.gz] beside it, or none.
  std::filesystem::path labels = {};
  std::optional<Shape> shape = {};  // of one image; only `raw` needs it
  // In place of `shape`, of a file that turns out to be raw: what the network takes.
  std::optional<Shape> default_shape = {};
  // The most that a gzip file, or the arrays of an .npz archive that are read, may unpack to.
  uint64_t most_unpacked = budgets::kUnpackedBytes;
};

// Labels of some images: one each, or one for each place (pixel, token) of an image.
struct Labels {
  std::vector<int32_t> values;  // none negative; image by image, row-major in `shape`
  Shape shape = {};             // of one image's labels; a scalar where an image has one
  int64_t each() const { return shape.NumElements(); }
};

class DataSet {
 public:
  int64_t size() const { return count_; }
  const std::string& source() const { return source_; }
  DataFormat format() const { return format_; }
  const Shape& image_shape() const {
    return image_shape_;
  }  // of one image, as stored, without the count
  ImageLayout layout() const { return layout_; }
  ElementType element() const { return element_; }  // in this machine's byte order

  // Image i as stored, row-major in image_shape(). 0 <= i < size().
  std::span<const std::byte> Image(int64_t i) const;

  // Empty when the set has none, else labels_per_image() for each image, none negative.
  const std::vector<int32_t>& labels() const { return labels_; }
  bool has_labels() const { return !labels_.empty(); }
  // The shape of one image's labels: a scalar, or one label for each place, such as 224x224.
  const Shape& label_shape() const { return label_shape_; }
  int64_t labels_per_image() const { return label_shape_.NumElements(); }
  const std::string& label_source() const { return label_source_; }
  // Error: a label that is not below `classes` and is not `ignored` (-1: none is); names its image.
  Status CheckLabels(int64_t classes, int32_t ignored = -1) const;
  // Gives the images these labels. Error: not as many as the images need.
  Status SetLabels(Labels labels, std::string source);
  // Where has_labels is false: why an array that has the name of labels is none; empty where there is no such array.
  const std::string& no_labels() const { return no_labels_; }
  void SetNoLabels(std::string why) { no_labels_ = std::move(why); }

  // What a reader fills in. Image i stands at bytes [offset + i * stride, ... + size of one image); the readers have
  // checked that all images lie within `bytes`.
  struct Parts {
    std::shared_ptr<const std::string> bytes;
    int64_t offset = 0;
    int64_t stride = 0;
    int64_t count = 0;
    Shape image_shape;
    ImageLayout layout = ImageLayout::kChw;
    ElementType element = ElementType::kUint8;
    std::vector<int32_t> labels;
    Shape label_shape = {};
    std::string no_labels = {};
  };
  DataSet(std::string source, DataFormat format, Parts parts);

 private:
  friend StatusOr<DataSet> LoadDataSet(const std::filesystem::path&, const DataOptions&);
  std::string source_;
  std::string label_source_;
  DataFormat format_;
  std::shared_ptr<const std::string> bytes_;
  int64_t offset_, stride_, image_bytes_, count_;
  Shape image_shape_;
  ImageLayout layout_;
  ElementType element_;
  std::vector<int32_t> labels_;
  Shape label_shape_;
  std::string no_labels_;
};

// Reads a data file. Errors name the file and the fault: unknown kind, truncated or too long, a size that overflows,
// no images, a label out of the format's own range, as many labels as images.
StatusOr<DataSet> LoadDataSet(const std::filesystem::path& path, const DataOptions& options = {});

// Reads a file of labels alone (IDX, .npy, PGM with a label a pixel, or text with one integer a line). The first axis
// of an array counts the images; further axes are the places of an image that have a label each.
StatusOr<Labels> LoadLabels(const std::filesystem::path& path);

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_SET_H_
