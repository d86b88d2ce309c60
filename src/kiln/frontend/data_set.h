// Images with labels, read from the common file formats. Elements stay as they are stored (uint8
// remains uint8) until an image is requested through data_convert.h or data_input.h.
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

// The format of a data file.
enum class DataFormat {
  kAuto,  // detected by content first, then by the file's name
#define KILN_DATA_FORMAT(id, name, what) k##id,
#include "kiln/frontend/data_formats.def"
#undef KILN_DATA_FORMAT
};

// A row of data_formats.def.
struct DataFormatInfo {
  // The value, its name for --data-format, and its description for `kiln list`.
  DataFormat format;
  std::string_view name;
  std::string_view what;
};
// Returns all rows of data_formats.def.
std::span<const DataFormatInfo> AllDataFormats();
// Returns the format with a name of data_formats.def, or kAuto for "auto". Error: an unknown name.
StatusOr<DataFormat> FindDataFormat(std::string_view name);

// The order of a stored image's dimensions. A 2-D image is one channel in either order.
enum class ImageLayout { kChw, kHwc };
std::string_view NameOf(ImageLayout layout);  // "chw", "hwc"

// How many bytes a compressed file may unpack to: `freely` bytes or `ratio` times its own size,
// whichever is more, but never more than `bytes`. gzip expands a file up to 1032 times.
struct UnpackLimits {
  uint64_t bytes = budgets::kUnpackedBytes;
  uint64_t freely = budgets::kUnpackedFreely;
  uint64_t ratio = budgets::kUnpackedRatio;
  // Returns the limit of a file of `stored` bytes.
  uint64_t Most(uint64_t stored) const;
};

// How a data file is to be read.
struct DataOptions {
  DataFormat format = DataFormat::kAuto;
  // A file of labels: IDX, .npy, PGM, or text with one integer per line. If empty: the labels
  // inside the data file; or for *-images-idx3-ubyte[.gz] the file *-labels-idx1-ubyte[.gz] next to
  // it; or none.
  std::filesystem::path labels = {};
  std::optional<Shape> shape = {};  // of one image; only `raw` needs it
  // Replaces `shape` for a file that is detected as raw: the shape that the network takes.
  std::optional<Shape> default_shape = {};
  // Channels of images from JPEG and PNG files and from folders: 1 or 3, as the network takes; 0
  // keeps the channels of a file, and makes those of a folder 3.
  int64_t channels = 0;
  // How many images and classes a folder of images may have.
  int64_t folder_files = budgets::kImageFolderFiles;
  // Limits of a gzip file, and of the arrays read from an .npz archive together.
  UnpackLimits unpacked = {};
};

// Labels of some images: one per image, or one per position (pixel, token) of an image.
struct Labels {
  std::vector<int32_t> values;  // none negative; image by image, row-major in `shape`
  Shape shape = {};             // of one image's labels; a scalar for a single label
  // Returns the number of labels per image.
  int64_t each() const { return shape.NumElements(); }
};

// One image as it is stored.
struct StoredImage {
  Shape shape;                               // without the number of images
  std::span<const std::byte> bytes;          // row-major
  std::shared_ptr<const std::string> owner;  // keeps the bytes alive
};

// A set of images (or other samples) of one type, with optional labels. All have one shape, except
// for the images of a folder, which are decoded when they are read. Copies share the bytes.
class DataSet {
 public:
  // Returns the number of images.
  int64_t size() const { return count_; }
  // Returns the name of the data for messages, usually the file's path.
  const std::string& source() const { return source_; }
  DataFormat format() const { return format_; }
  // Returns true for a folder of images, whose heights and widths may differ.
  bool is_folder() const { return !files_.empty(); }
  // The shape of one image as stored, without the number of images. The height and width of images
  // of a folder are unknown here.
  const Shape& image_shape() const { return image_shape_; }
  // Returns the layout that the file's kind implies; Preprocess::layout overrides it.
  ImageLayout layout() const { return layout_; }
  ElementType element() const { return element_; }  // in this machine's byte order

  // Returns image i as stored. 0 <= i < size(). Errors occur for folders only: the file
  // cannot be read, or is not an image.
  StatusOr<StoredImage> Load(int64_t i) const;
  // Returns the name of image i for messages: its file in a folder, else the set's.
  std::string NameOf(int64_t i) const;
  // Returns image i as stored, row-major in image_shape(). 0 <= i < size(); not for a folder.
  std::span<const std::byte> Image(int64_t i) const;

  // Returns labels_per_image() labels for each image, none negative; empty if there are no labels.
  const std::vector<int32_t>& labels() const { return labels_; }
  // Returns true if every image has labels.
  bool has_labels() const { return !labels_.empty(); }
  // Returns the shape of one image's labels: a scalar, or one label per position, such as 224x224.
  const Shape& label_shape() const { return label_shape_; }
  // Returns the number of labels of one image.
  int64_t labels_per_image() const { return label_shape_.NumElements(); }
  // Returns the name of the file that the labels come from, for messages.
  const std::string& label_source() const { return label_source_; }
  // Error: a label that is neither below `classes` nor equal to `ignored` (-1: none); names its
  // image.
  Status CheckLabels(int64_t classes, int32_t ignored = -1) const;
  // Attaches labels to the images. Error: their number does not match the images.
  Status SetLabels(Labels labels, std::string source);
  // If has_labels() is false: why an array with the name of labels is not usable as such; empty if
  // there is no such array.
  const std::string& no_labels() const { return no_labels_; }
  // Records why there are no labels.
  void SetNoLabels(std::string why) { no_labels_ = std::move(why); }

  // The data that a reader supplies. Image i occupies bytes [offset + i * stride, ... + size of one
  // image); the readers have checked that all images are inside `bytes`.
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
  // The images of a folder, with 1 or 3 channels.
  DataSet(std::string source, std::vector<std::filesystem::path> files, int64_t channels);

 private:
  // LoadDataSet attaches labels, which may come from another file than the images.
  friend StatusOr<DataSet> LoadDataSet(const std::filesystem::path&, const DataOptions&);
  std::string source_;
  std::string label_source_;
  DataFormat format_;
  std::shared_ptr<const std::string> bytes_;
  int64_t offset_ = 0, stride_ = 0, image_bytes_ = 0, count_;
  std::vector<std::filesystem::path> files_;  // of a folder of images
  Shape image_shape_;
  ImageLayout layout_;
  ElementType element_ = ElementType::kUint8;
  std::vector<int32_t> labels_;
  Shape label_shape_;
  std::string no_labels_;
};

// Reads a data file, or lists a folder of images. Errors name the file and the fault: unknown kind,
// truncated or too long, a size that overflows, no images, a label outside the format's range, not
// as many labels as images.
StatusOr<DataSet> LoadDataSet(const std::filesystem::path& path, const DataOptions& options = {});

// Returns true for a folder that is read as images: one that holds no .npy file.
bool IsImageFolder(const std::filesystem::path& path);

// Reads a file of labels: IDX, .npy, PGM with a label per pixel, or text with one integer per line.
// The first axis of an array counts images; further axes are the positions of an image that have a
// label each.
StatusOr<Labels> LoadLabels(const std::filesystem::path& path);

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_SET_H_
