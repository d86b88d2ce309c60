// The readers behind LoadDataSet, one function a row of data_formats.def. Private to the frontend.
#ifndef KILN_FRONTEND_DATA_READERS_H_
#define KILN_FRONTEND_DATA_READERS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/frontend/data_set.h"

namespace kiln::data {

// The bytes of a file after gzip, if any, is off.
struct Source {
  std::string name;  // as the user named it, for messages
  std::shared_ptr<const std::string> bytes;
  std::string_view view() const { return *bytes; }
};

#define KILN_DATA_FORMAT(id, name, what) \
  StatusOr<DataSet::Parts> Read##id(const Source& source, const DataOptions&);
#include "kiln/frontend/data_formats.def"
#undef KILN_DATA_FORMAT

// An array of any rank with its element bytes in this machine's order, row-major; bytes start at `offset`.
struct Array {
  ElementType element = ElementType::kUint8;
  Shape shape;
  std::shared_ptr<const std::string> bytes;
  int64_t offset = 0;
};
StatusOr<Array> ReadIdxArray(const Source& source);
StatusOr<Array> ReadNpyArray(const Source& source);

// First axis = image. Error: a scalar, or no elements.
StatusOr<DataSet::Parts> PartsOf(const Source& source, Array array);
// The same for arrays of any rank from 1: a sample may be a scalar.
StatusOr<DataSet::Parts> SamplesOf(const Source& source, Array array);
// An array of integers as labels, first axis = image. Errors: a scalar, another type, a negative label.
StatusOr<Labels> LabelsOf(const Source& source, const Array& array);

// An .npz archive in memory. The bytes must outlive it.
class NpzArchive {
 public:
  // `most_unpacked`: the bytes that all arrays together may unpack to, as they are read.
  static StatusOr<NpzArchive> Open(const Source& source, uint64_t most_unpacked);
  NpzArchive(NpzArchive&&) noexcept;
  ~NpzArchive();
  const std::vector<std::string>& names() const {
    return names_;
  }  // in the archive's order, without ".npy"
  // How messages call an array: "data.npz: array 'x'".
  std::string Describe(size_t index) const;
  StatusOr<Array> Read(size_t index);

 private:
  struct Handle;
  NpzArchive();
  std::unique_ptr<Handle> handle_;
  std::string source_;
  uint64_t most_unpacked_ = 0, left_ = 0;
  std::vector<std::string> names_;
};

// Turns elements of `element_bytes` bytes around, in place.
void SwapBytes(char* bytes, int64_t count, int element_bytes);

bool IsGzip(std::string_view bytes);
// Unpacks gzip, several members in a row included. Errors: damaged, cut off, or more than `max_bytes` in the end.
StatusOr<std::string> Gunzip(std::string_view bytes, std::string_view source, uint64_t max_bytes);

}  // namespace kiln::data

#endif  // KILN_FRONTEND_DATA_READERS_H_
