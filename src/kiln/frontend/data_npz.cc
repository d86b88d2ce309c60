// Reads NumPy's .npz, a zip archive of .npy files, with libzip.
#include <zip.h>

#include <algorithm>

#include "kiln/frontend/data_readers.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"

namespace kiln::data {
namespace {

// Closes libzip's handles; an archive is only read, so changes are discarded.
struct FileCloser {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

// Unpacks one entry of an archive of `stored` bytes. Error: it has more than `left` bytes, the rest
// of what `limits` allow the archive.
StatusOr<std::string> ReadEntry(zip_t* archive, zip_uint64_t index, const std::string& name,
                                uint64_t left, uint64_t stored, const UnpackLimits& limits) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  // NumPy uses no other methods. zip's other methods can expand small files without bound.
  if (zip_stat_index(archive, index, 0, &stat) == 0 && (stat.valid & ZIP_STAT_COMP_METHOD) != 0 &&
      stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE) {
    return UnsupportedAt(name, "",
                         "is compressed by method " + std::to_string(stat.comp_method) + " of zip",
                         "save it again with numpy.savez or savez_compressed");
  }
  const std::unique_ptr<zip_file_t, FileCloser> file(zip_fopen_index(archive, index, 0));
  if (file == nullptr)
    return ErrorAt(name, "", "cannot be unpacked", zip_error_strerror(zip_get_error(archive)));
  std::string out;
  std::vector<char> piece(1 << 20);
  // Grows with the data actually unpacked, because the size that the archive states may be wrong.
  while (true) {
    const zip_int64_t got = zip_fread(file.get(), piece.data(), piece.size());
    if (got < 0)
      return ErrorAt(name, "", "damaged", zip_error_strerror(zip_file_get_error(file.get())));
    if (got == 0) return out;
    out.append(piece.data(), static_cast<size_t>(got));
    if (out.size() > left)
      return UnpacksTooMuch(name, "makes the archive unpack to", stored, limits);
  }
}

}  // namespace

struct NpzArchive::Handle {
  struct Closer {
    void operator()(zip_t* archive) const { zip_discard(archive); }
  };
  std::unique_ptr<zip_t, Closer> archive;
};

NpzArchive::NpzArchive() = default;
NpzArchive::NpzArchive(NpzArchive&&) noexcept = default;
NpzArchive::~NpzArchive() = default;

// An archive without a label array by name has no labels; the first array that is not labels is
// taken for the images.
StatusOr<NpzArchive> NpzArchive::Open(const Source& source, const UnpackLimits& limits) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* bytes =
      zip_source_buffer_create(source.view().data(), source.view().size(), 0, &error);
  std::unique_ptr<zip_t, Handle::Closer> archive(
      bytes == nullptr ? nullptr : zip_open_from_source(bytes, ZIP_RDONLY, &error));
  // The source belongs to the archive only if opening succeeded.
  if (archive == nullptr) {
    const std::string why = zip_error_strerror(&error);
    if (bytes != nullptr) zip_source_free(bytes);
    zip_error_fini(&error);
    return ErrorAt(source.name, "", "not a readable .npz archive: " + why, "save it again");
  }
  zip_error_fini(&error);
  NpzArchive out;
  out.source_ = source.name;
  out.limits_ = limits;
  out.stored_ = source.stored();
  out.left_ = limits.Most(out.stored_);
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  if (entries > budgets::kArchiveEntries) {
    return ErrorAt(source.name, "", "holds " + std::to_string(entries) + " arrays",
                   "at most " + std::to_string(budgets::kArchiveEntries));
  }
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* name = zip_get_name(archive.get(), static_cast<zip_uint64_t>(i), 0);
    std::string text = name == nullptr ? "" : name;
    if (text.ends_with(".npy")) text.resize(text.size() - 4);
    out.names_.push_back(std::move(text));
  }
  out.handle_ = std::make_unique<Handle>(Handle{std::move(archive)});
  return out;
}

std::string NpzArchive::Describe(size_t index) const {
  return source_ + ": array " + QuotedExcerpt(names_[index]);
}

StatusOr<Array> NpzArchive::Read(size_t index) {
  const std::string name = Describe(index);
  KILN_ASSIGN_OR_RETURN(std::string entry,
                        ReadEntry(handle_->archive.get(), index, name, left_, stored_, limits_));
  left_ -= entry.size();
  return ReadNpyArray(Source{name, std::make_shared<const std::string>(std::move(entry))});
}

// Prefers arrays by name; otherwise takes the first array that is not the labels.
StatusOr<DataSet::Parts> ReadNpz(const Source& source, const DataOptions& options) {
  KILN_ASSIGN_OR_RETURN(NpzArchive archive, NpzArchive::Open(source, options.unpacked));
  const std::vector<std::string>& names = archive.names();
  const auto find = [&](std::initializer_list<std::string_view> wanted) {
    for (std::string_view want : wanted) {
      const auto at = std::find(names.begin(), names.end(), want);
      if (at != names.end()) return static_cast<int64_t>(at - names.begin());
    }
    return int64_t{-1};
  };
  const int64_t label_index = find({"labels", "y"});
  int64_t image_index = find({"x", "images", "data"});
  if (image_index < 0) image_index = label_index == 0 ? 1 : 0;
  if (image_index >= static_cast<int64_t>(names.size())) {
    return ErrorAt(source.name, "", "holds no array of images", "name it x or images");
  }
  KILN_ASSIGN_OR_RETURN(Array images, archive.Read(static_cast<size_t>(image_index)));
  KILN_ASSIGN_OR_RETURN(DataSet::Parts parts, PartsOf(source, std::move(images)));
  if (label_index >= 0) {
    KILN_ASSIGN_OR_RETURN(const Array array, archive.Read(static_cast<size_t>(label_index)));
    // Images can be used without labels, so a bad label array is not an error here; the reason is
    // kept for commands that need labels.
    StatusOr<Labels> labels =
        LabelsOf(Source{archive.Describe(static_cast<size_t>(label_index)), array.bytes}, array);
    if (labels.ok()) {
      parts.labels = std::move(labels->values);
      parts.label_shape = std::move(labels->shape);
    } else {
      parts.no_labels = MessageOf(labels.status());
    }
  }
  return parts;
}

}  // namespace kiln::data
