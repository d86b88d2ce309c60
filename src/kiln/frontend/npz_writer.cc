// Implements NpzWriter with libzip.
#include "kiln/frontend/npz_writer.h"

#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <tuple>
#include <utility>

#include "kiln/support/file.h"
#include "kiln/support/part_file.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxName = 60000;  // below the 65535 bytes of a zip entry's name
// 1980-01-01 00:00, the earliest date of the zip format.
constexpr zip_uint16_t kDosTime = 0, kDosDate = 1 << 5 | 1;

// Returns NumPy's dtype of an element type; empty if NumPy has none.
std::string_view DescrOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "<f4";
    case ElementType::kFloat64:
      return "<f8";
    case ElementType::kFloat16:
      return "<f2";
    case ElementType::kInt8:
      return "|i1";
    case ElementType::kInt16:
      return "<i2";
    case ElementType::kInt32:
      return "<i4";
    case ElementType::kInt64:
      return "<i8";
    case ElementType::kUint8:
      return "|u1";
    case ElementType::kUint16:
      return "<u2";
    case ElementType::kUint32:
      return "<u4";
    case ElementType::kUint64:
      return "<u8";
    case ElementType::kBool:
      return "|b1";
    case ElementType::kBfloat16:
    case ElementType::kString:
      break;
  }
  return "";
}

// Returns a name pattern for unnamed files: next to the target, or in the nearest parent folder
// that exists. Missing folders are created only when the whole file is known to be good.
fs::path SpillPattern(const fs::path& target) {
  fs::path folder = target.parent_path();
  std::error_code error;
  while (!folder.empty() && !fs::is_directory(folder, error) && folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  return folder / (target.filename().string() + ".XXXXXX");
}

// Closes an archive without writing it.
struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

}  // namespace

// One array while it grows.
struct NpzWriter::Array {
  std::string name;
  std::string held;           // header and elements that are still in memory
  std::FILE* file = nullptr;  // header and elements before `held`, in an unnamed file; null: none
  uint64_t missing = 0;       // bytes of elements that have not been appended yet

  ~Array() {
    if (file != nullptr) std::fclose(file);
  }
};

NpzWriter::NpzWriter(fs::path path, int64_t memory_bytes)
    : path_(std::move(path)), memory_bytes_(memory_bytes) {}
NpzWriter::~NpzWriter() = default;

StatusOr<std::string> NpyHeader(ElementType type, const Shape& shape) {
  const std::string_view descr = DescrOf(type);
  if (descr.empty()) {
    return UnsupportedAt("", "", "NumPy has no elements of type " + std::string(NameOf(type)),
                         "write them as f32");
  }
  std::string dims;
  for (int i = 0; i < shape.rank(); ++i) {
    dims += std::to_string(shape[i]) + (i + 1 < shape.rank() || shape.rank() == 1 ? "," : "");
    if (i + 1 < shape.rank()) dims += ' ';
  }
  std::string text =
      "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + dims + "), }";
  // NumPy pads the header so that the elements begin at a multiple of 64 bytes.
  constexpr size_t kPrefix = 10, kAlign = 64;
  text.append((kAlign - (kPrefix + text.size() + 1) % kAlign) % kAlign, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 255);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

StatusOr<size_t> NpzWriter::Add(const std::string& name, ElementType type, const Shape& shape) {
  if (name.empty() || name.size() > kMaxName) {
    return ErrorAt(path_.string(), "",
                   "the name of an array has " + std::to_string(name.size()) + " bytes",
                   "1 to " + std::to_string(kMaxName));
  }
  for (const auto& array : arrays_) {
    if (array->name == name)
      return ErrorAt(path_.string(), "", "two arrays are named '" + name + "'", "");
  }
  // The header needs the final shape, so an array's size is fixed when it is added.
  auto header = NpyHeader(type, shape);
  if (!header.ok()) return WithContext(path_.string() + ": array '" + name + "'", header.status());
  auto array = std::make_unique<Array>();
  array->name = name;
  array->held = *std::move(header);
  array->missing = static_cast<uint64_t>(shape.NumElements()) * static_cast<uint64_t>(SizeOf(type));
  held_bytes_ += static_cast<int64_t>(array->held.size());
  arrays_.push_back(std::move(array));
  return arrays_.size() - 1;
}

// Memory is spilled as soon as all arrays together exceed the limit.
Status NpzWriter::Append(size_t index, std::span<const std::byte> bytes) {
  Array& array = *arrays_[index];
  KILN_CHECK(bytes.size() <= array.missing);
  array.held.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  array.missing -= bytes.size();
  held_bytes_ += static_cast<int64_t>(bytes.size());
  return held_bytes_ > memory_bytes_ ? Spill() : OkStatus();
}

Status NpzWriter::AddTensor(const std::string& name, const Tensor& tensor) {
  KILN_ASSIGN_OR_RETURN(const size_t index, Add(name, tensor.type(), tensor.shape()));
  return Append(index, {tensor.bytes(), static_cast<size_t>(tensor.num_bytes())});
}

// Moves arrays from memory to files that are unlinked as soon as they are open, so that nothing
// remains after a crash.
Status NpzWriter::Spill() {
  for (const auto& array : arrays_) {
    if (array->held.empty()) continue;
    if (array->file == nullptr) {
      std::string name = SpillPattern(path_).string();
      const int descriptor = ::mkstemp(name.data());
      if (descriptor >= 0) ::unlink(name.c_str());
      array->file = descriptor < 0 ? nullptr : ::fdopen(descriptor, "w+b");
      if (array->file == nullptr) {
        const std::string why = std::strerror(errno);
        if (descriptor >= 0) ::close(descriptor);
        return ErrorAt(path_.string(), "", "cannot be written: " + why,
                       "choose a folder that exists and is writable");
      }
    }
    if (std::fwrite(array->held.data(), 1, array->held.size(), array->file) != array->held.size() ||
        std::fflush(array->file) != 0) {
      return ErrorAt(path_.string(), "", "could not be written in full", "check the free space");
    }
    held_bytes_ -= static_cast<int64_t>(array->held.size());
    array->held.clear();
    array->held.shrink_to_fit();
  }
  return OkStatus();
}

// Writes all arrays to `part`, a file next to the target.
Status NpzWriter::WriteArchive(const fs::path& part) {
  const auto fault = [&](zip_error_t* error) {
    return ErrorAt(path_.string(), "",
                   std::string("could not be written: ") + zip_error_strerror(error),
                   "check the folder and the free space");
  };
  int code = 0;
  std::unique_ptr<zip_t, Discard> archive(zip_open(part.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const Status status = fault(&error);
    zip_error_fini(&error);
    return status;
  }
  for (const auto& array : arrays_) {
    zip_source_t* source = nullptr;
    if (array->file != nullptr) {
      std::rewind(array->file);  // libzip reads from the file's current position
      source = zip_source_filep(archive.get(), array->file, 0, -1);
      if (source != nullptr) array->file = nullptr;  // the archive closes the file
    } else {
      source = zip_source_buffer(archive.get(), array->held.data(), array->held.size(), 0);
    }
    if (source == nullptr) return fault(zip_get_error(archive.get()));
    const zip_int64_t index =
        zip_file_add(archive.get(), (array->name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      return fault(zip_get_error(archive.get()));
    }
    const auto entry = static_cast<zip_uint64_t>(index);
    // libzip would take attributes and date from the spilled file; fixed values make archives
    // reproducible.
    constexpr zip_uint32_t kAttributes = zip_uint32_t{0100644} << 16;
    if (zip_set_file_compression(archive.get(), entry, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_external_attributes(archive.get(), entry, 0, ZIP_OPSYS_UNIX, kAttributes) !=
            0 ||
        zip_file_set_dostime(archive.get(), entry, kDosTime, kDosDate, 0) != 0) {
      return fault(zip_get_error(archive.get()));
    }
  }
  if (zip_close(archive.get()) != 0) return fault(zip_get_error(archive.get()));
  std::ignore = archive.release();  // closed
  return OkStatus();
}

Status NpzWriter::Finish() {
  const bool spilled =
      std::any_of(arrays_.begin(), arrays_.end(), [](const auto& a) { return a->file != nullptr; });
  // An array is either in memory or in its file as a whole.
  if (spilled) KILN_RETURN_IF_ERROR(Spill());
  for (const auto& array : arrays_) KILN_CHECK(array->missing == 0);
  KILN_RETURN_IF_ERROR(CheckIsNoLink(path_));
  std::error_code error;
  if (fs::exists(path_, error) && !fs::is_regular_file(path_, error)) {
    return ErrorAt(path_.string(), "", "is not a regular file", "name a file");
  }
  // The archive is written next to the target and renamed, so the target is replaced at once or not
  // at all.
  PartFile part(path_);
  if (!part.IsOpen()) {
    return ErrorAt(path_.string(), "", std::string("cannot be written: ") + std::strerror(errno),
                   "choose a folder that exists and is writable");
  }
  Status status = WriteArchive(part.path());
  if (status.ok()) {
    error = part.RenameTo(path_);
    if (error) status = ErrorAt(path_.string(), "", "cannot be replaced: " + error.message(), "");
  }
  arrays_.clear();
  held_bytes_ = 0;
  return status;
}

}  // namespace kiln
