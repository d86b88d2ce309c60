// Implements data_image.h, with libjpeg and libpng.
#include "kiln/frontend/data_image.h"

#include <fmt/format.h>
// <jpeglib.h> needs FILE and size_t.
#include <cstddef>
#include <cstdio>
// Behind them.
#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <system_error>

#include "kiln/support/budgets.h"
#include "kiln/support/check.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/file.h"

namespace kiln::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKinds = "JPEG, PNG, PGM and PPM are read";

// An image while a library decodes it. The libraries leave their functions by longjmp when they
// find an error, so a function that calls setjmp has no variables with destructors.
struct Decoding {
  std::string_view file;
  size_t read = 0;  // bytes of `file` that libpng has taken
  std::string pixels;
  int64_t height = 0, width = 0, channels = 0;
  std::string_view fault = {}, remedy = "fetch it again";  // an error that Kiln found
  char message[JMSG_LENGTH_MAX] = {};                      // an error that the library found
  jmp_buf jump = {};

  // Takes the image's size. Returns false if it is beyond the budget.
  bool Allocate(int64_t rows, int64_t columns, int64_t samples) {
    if (rows < 1 || columns < 1 || rows > budgets::kImagePixels / columns) {
      fault = "has too many pixels";
      remedy = "shrink it";
      return false;
    }
    height = rows;
    width = columns;
    channels = samples;
    pixels.resize(static_cast<size_t>(rows * columns * samples));
    return true;
  }
  // Returns the start of a row of samples.
  unsigned char* Row(int64_t row) {
    return reinterpret_cast<unsigned char*>(pixels.data()) + row * width * channels;
  }
};

// libjpeg's error handler, its progress monitor, and the image that they belong to.
struct JpegDecoder {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  Decoding* image = nullptr;
};

// Returns the image behind libjpeg's object.
Decoding& ImageOf(j_common_ptr info) {
  return *static_cast<JpegDecoder*>(info->client_data)->image;
}

[[noreturn]] void FailJpeg(j_common_ptr info) {
  Decoding& image = ImageOf(info);
  info->err->format_message(info, image.message);
  std::longjmp(image.jump, 1);
}

// libjpeg would fill what is missing or damaged with grey and only warn. Bytes between segments,
// which do no harm, are left to it.
void WarnJpeg(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  const bool damaged =
      code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE;
  if (level < 0 && damaged) FailJpeg(info);
}

// A progressive file of few bytes may have any number of scans, each as long to decode as an image.
void WatchJpeg(j_common_ptr info) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number <= budgets::kJpegScans) return;
  Decoding& image = ImageOf(info);
  image.fault = "has too many scans";
  image.remedy = "save it again";
  std::longjmp(image.jump, 1);
}

// Decodes with the default methods of libjpeg, as Pillow does. Returns false after an error.
bool RunJpeg(JpegDecoder* decoder, Decoding* image) {
  jpeg_decompress_struct& info = decoder->info;
  if (setjmp(image->jump) != 0) return false;
  jpeg_create_decompress(&info);
  info.client_data = decoder;
  info.progress = &decoder->progress;
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(image->file.data()),
               image->file.size());
  jpeg_read_header(&info, TRUE);
  if (info.num_components != 1 && info.num_components != 3) {
    image->fault = info.num_components == 4
                       ? "is a JPEG file of CMYK colours"
                       : "is a JPEG file of neither one nor three colour components";
    image->remedy = "save it as RGB";
    return false;
  }
  info.out_color_space = info.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  if (!image->Allocate(info.image_height, info.image_width, info.num_components)) return false;
  jpeg_start_decompress(&info);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = image->Row(info.output_scanline);
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  return true;
}

bool DecodeJpeg(Decoding* image) {
  JpegDecoder decoder;
  decoder.image = image;
  decoder.info.client_data = &decoder;
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = FailJpeg;
  decoder.errors.emit_message = WarnJpeg;
  decoder.progress.progress_monitor = WatchJpeg;
  const bool decoded = RunJpeg(&decoder, image);
  jpeg_destroy_decompress(&decoder.info);
  return decoded;
}

[[noreturn]] void FailPng(png_structp png, png_const_charp text) {
  auto& image = *static_cast<Decoding*>(png_get_error_ptr(png));
  std::strncpy(image.message, text, sizeof(image.message) - 1);
  std::longjmp(image.jump, 1);
}

void IgnorePng(png_structp, png_const_charp) {}

void ReadPngBytes(png_structp png, png_bytep to, size_t count) {
  auto& image = *static_cast<Decoding*>(png_get_io_ptr(png));
  if (count > image.file.size() - image.read) png_error(png, "the file is truncated");
  std::memcpy(to, image.file.data() + image.read, count);
  image.read += count;
}

// Decodes to 8 bits per sample. Returns false after an error.
bool RunPng(png_structp png, png_infop info, Decoding* image) {
  if (setjmp(image->jump) != 0) return false;
  png_set_read_fn(png, image, ReadPngBytes);
  png_read_info(png, info);
  const int colours = png_get_color_type(png, info);
  if (png_get_bit_depth(png, info) > 8) {
    image->fault = "is a PNG file of 16 bits per sample";
    image->remedy = "save it with 8";
    return false;
  }
  png_set_expand_gray_1_2_4_to_8(png);
  if (colours == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  png_set_strip_alpha(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const bool grey = (colours & PNG_COLOR_MASK_COLOR) == 0;
  if (!image->Allocate(png_get_image_height(png, info), png_get_image_width(png, info),
                       grey ? 1 : 3))
    return false;
  if (png_get_rowbytes(png, info) != static_cast<size_t>(image->width * image->channels))
    png_error(png, "rows of another length than the header says");
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t row = 0; row < image->height; ++row) png_read_row(png, image->Row(row), nullptr);
  }
  png_read_end(png, nullptr);
  return true;
}

bool DecodePng(Decoding* image) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, image, FailPng, IgnorePng);
  KILN_CHECK(png != nullptr);
  png_infop info = png_create_info_struct(png);
  const bool decoded = info != nullptr && RunPng(png, info, image);
  png_destroy_read_struct(&png, &info, nullptr);
  return decoded;
}

// Returns what a library decoded as a data set of one image.
StatusOr<DataSet::Parts> DecodedParts(const Source& source, bool (*decode)(Decoding*)) {
  Decoding image;
  image.file = source.view();
  if (!decode(&image)) {
    return ErrorAt(source.name, "",
                   image.fault.empty() ? fmt::format("is damaged ({})", image.message)
                                       : std::string(image.fault),
                   image.remedy);
  }
  DataSet::Parts parts;
  parts.count = 1;
  parts.image_shape = image.channels == 1 ? Shape{image.height, image.width}
                                          : Shape{image.height, image.width, image.channels};
  parts.layout = ImageLayout::kHwc;
  parts.stride = std::ssize(image.pixels);
  parts.bytes = std::make_shared<const std::string>(std::move(image.pixels));
  return parts;
}

// Turns a decoded image into one of 1 or 3 channels; 0 keeps it.
void ConvertChannels(int64_t channels, DataSet::Parts* parts) {
  const int64_t have = parts->image_shape.rank() == 2 ? 1 : 3;
  if (channels == 0 || channels == have) return;
  const auto* from = reinterpret_cast<const unsigned char*>(parts->bytes->data()) + parts->offset;
  const int64_t pixels = parts->image_shape[0] * parts->image_shape[1];
  std::string to;
  to.reserve(static_cast<size_t>(pixels * channels));
  for (int64_t i = 0; i < pixels; ++i) {
    if (channels == 3) {
      to.append(3, static_cast<char>(from[i]));
    } else {  // luma of ITU-R 601 in units of 1/65536, as Pillow rounds it
      const unsigned luma =
          from[3 * i] * 19595u + from[3 * i + 1] * 38470u + from[3 * i + 2] * 7471u;
      to.push_back(static_cast<char>((luma + 0x8000u) >> 16));
    }
  }
  const Shape& shape = parts->image_shape;
  parts->image_shape = channels == 1 ? Shape{shape[0], shape[1]} : Shape{shape[0], shape[1], 3};
  parts->stride = std::ssize(to);
  parts->offset = 0;
  parts->bytes = std::make_shared<const std::string>(std::move(to));
}

// Returns the extension of a file's name in lower case.
std::string LowerCaseExtension(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

// Returns true for the name of an image that is read.
bool IsImageName(const fs::path& path) {
  constexpr std::string_view kRead[] = {".jpg", ".jpeg", ".png", ".pgm", ".ppm"};
  return std::ranges::find(kRead, LowerCaseExtension(path)) != std::end(kRead);
}

// Returns true for the name of an image that other programs read. To pass it over would change the
// accuracy.
bool IsUnreadImageName(const fs::path& path) {
  constexpr std::string_view kUnread[] = {".bmp", ".gif", ".jp2", ".tif", ".tiff", ".webp"};
  return std::ranges::find(kUnread, LowerCaseExtension(path)) != std::end(kUnread);
}

// The entries of one folder that matter, sorted by name.
struct Entries {
  std::vector<fs::path> images, folders;
};

// Lists a folder. Names that begin with a dot are passed over. `left` files may be listed.
StatusOr<Entries> ListFolder(const fs::path& folder, int64_t most, int64_t* left) {
  Entries entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const fs::path& path = at->path();
    if (path.filename().string().starts_with('.')) continue;
    std::error_code unknown;
    if (at->is_directory(unknown)) {
      entries.folders.push_back(path);
    } else if (IsUnreadImageName(path)) {
      return ErrorAt(path.string(), "", "is an image of a kind that is not read",
                     std::string(kKinds) + "; convert it, or move it away");
    } else if (IsImageName(path)) {
      entries.images.push_back(path);
    } else {
      continue;
    }
    if (--*left < 0) {
      return ErrorAt(folder.string(), "",
                     fmt::format("holds images or folders beyond the first {}", most), "split it");
    }
  }
  if (error) {
    return ErrorAt(folder.string(), "", "cannot be read: " + error.message(),
                   "check its permissions");
  }
  std::ranges::sort(entries.images);
  std::ranges::sort(entries.folders);
  return entries;
}

}  // namespace

bool IsJpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }
bool IsPng(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

StatusOr<DataSet::Parts> ReadJpeg(const Source& source, const DataOptions& options) {
  KILN_ASSIGN_OR_RETURN(DataSet::Parts parts, DecodedParts(source, DecodeJpeg));
  ConvertChannels(options.channels, &parts);
  return parts;
}

StatusOr<DataSet::Parts> ReadPng(const Source& source, const DataOptions& options) {
  KILN_ASSIGN_OR_RETURN(DataSet::Parts parts, DecodedParts(source, DecodePng));
  ConvertChannels(options.channels, &parts);
  return parts;
}

StatusOr<DataSet::Parts> ReadImages(const Source& source, const DataOptions&) {
  return ErrorAt(source.name, "", "is a file; --data-format images reads a folder of images",
                 "name the folder, or leave --data-format out");
}

StatusOr<DataSet::Parts> DecodeImage(const fs::path& path, int64_t channels) {
  KILN_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, budgets::kDataFileBytes));
  const Source source{path.string(), std::make_shared<const std::string>(std::move(bytes))};
  const DataOptions options{.channels = channels};
  if (IsJpeg(source.view())) return ReadJpeg(source, options);
  if (IsPng(source.view())) return ReadPng(source, options);
  if (!source.view().starts_with("P5") && !source.view().starts_with("P6"))
    return ErrorAt(source.name, "", "is no image that is read", std::string(kKinds));
  KILN_ASSIGN_OR_RETURN(DataSet::Parts parts, ReadPnm(source, options));
  if (parts.element != ElementType::kUint8)
    return ErrorAt(source.name, "", "has 16 bits per sample", "save it with 8");
  ConvertChannels(channels, &parts);
  return parts;
}

StatusOr<ImageList> ListImages(const fs::path& folder, int64_t most) {
  int64_t left = most;
  KILN_ASSIGN_OR_RETURN(Entries top, ListFolder(folder, most, &left));
  ImageList list;
  if (!top.images.empty() || top.folders.empty()) {
    list.files = std::move(top.images);
    if (list.files.empty())
      return ErrorAt(folder.string(), "", "holds no images and no .npy files", std::string(kKinds));
    if (!top.folders.empty()) {
      return ErrorAt(folder.string(), "",
                     fmt::format("holds images and folders such as {}",
                                 QuotedExcerpt(top.folders[0].filename().string())),
                     "only images, or only a folder of images for each class");
    }
    return list;
  }
  std::vector<std::vector<fs::path>> classes;
  size_t longest = 0;
  for (const fs::path& path : top.folders) {
    KILN_ASSIGN_OR_RETURN(Entries entries, ListFolder(path, most, &left));
    if (entries.images.empty() || !entries.folders.empty()) {
      return ErrorAt(path.string(), "",
                     entries.images.empty() ? "holds no images" : "holds another folder",
                     "each folder in a folder of images is a class and holds its images");
    }
    longest = std::max(longest, entries.images.size());
    classes.push_back(std::move(entries.images));
  }
  for (size_t i = 0; i < longest; ++i) {
    for (size_t label = 0; label < classes.size(); ++label) {
      if (i >= classes[label].size()) continue;
      list.files.push_back(std::move(classes[label][i]));
      list.labels.push_back(static_cast<int32_t>(label));
    }
  }
  return list;
}

}  // namespace kiln::data
