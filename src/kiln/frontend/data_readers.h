// The readers behind LoadDataSet, one per row of data_formats.def, and the helpers they share.
// Private to the frontend.
#ifndef KILN_FRONTEND_DATA_READERS_H_
#define KILN_FRONTEND_DATA_READERS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/frontend/data_set.h"

namespace kiln::data {

// The bytes of a file, after gzip has been unpacked.
struct Source {
  std::string name;  // the name that the user gave, for messages
  std::shared_ptr<const std::string> bytes;
  uint64_t packed = 0;  // the size of the gzip file that the bytes were in; 0 if there was none
  std::string_view view() const { return *bytes; }
  // Returns the size of the file as stored.
  uint64_t stored() const { return packed != 0 ? packed : bytes->size(); }
};

#define KILN_DATA_FORMAT(id, name, what) \
  StatusOr<DataSet::Parts> Read##id(const Source& source, const DataOptions&);
#include "kiln/frontend/data_formats.def"
#undef KILN_DATA_FORMAT

// An array of any rank: elements in this machine's byte order, row-major, from byte `offset` on.
struct Array {
  ElementType element = ElementType::kUint8;
  Shape shape;
  std::shared_ptr<const std::string> bytes;
  int64_t offset = 0;
};
// Reads an IDX or .npy file as an array. Errors: a damaged or truncated file, an unsupported type.
StatusOr<Array> ReadIdxArray(const Source& source);
StatusOr<Array> ReadNpyArray(const Source& source);

// Returns an array as images; its first axis counts them. Error: a scalar, a vector, or no
// elements.
StatusOr<DataSet::Parts> PartsOf(const Source& source, Array array);
// The same for arrays of rank 1 and above: a sample may be a scalar.
StatusOr<DataSet::Parts> SamplesOf(const Source& source, Array array);
// Returns an array of integers as labels; its first axis counts images. Errors: a scalar, another
// type, a negative label.
StatusOr<Labels> LabelsOf(const Source& source, const Array& array);

// An .npz archive in memory. The archive's bytes must outlive it.
class NpzArchive {
 public:
  // Opens an archive. `limits` are those of all arrays read together.
  static StatusOr<NpzArchive> Open(const Source& source, const UnpackLimits& limits);
  NpzArchive(NpzArchive&&) noexcept;
  ~NpzArchive();
  // Returns the arrays' names in the archive's order, without ".npy".
  const std::vector<std::string>& names() const { return names_; }
  // Returns an array's name for messages: "data.npz: array 'x'".
  std::string Describe(size_t index) const;
  // Unpacks and decodes one array. Errors: those of .npy, a damaged entry, more bytes than the
  // limit.
  StatusOr<Array> Read(size_t index);

 private:
  struct Handle;
  NpzArchive();
  std::unique_ptr<Handle> handle_;
  std::string source_;
  uint64_t stored_ = 0, left_ = 0;  // bytes of the file; bytes that may still be unpacked
  UnpackLimits limits_;
  std::vector<std::string> names_;
};

// Reverses the bytes of each element, in place.
void SwapBytes(char* bytes, int64_t count, int element_bytes);

// Returns true if the bytes begin with a gzip header.
bool IsGzip(std::string_view bytes);
// Unpacks gzip data, including several members in a row. Errors: damaged or truncated data, more
// bytes in total than the limits.
StatusOr<std::string> Gunzip(std::string_view bytes, std::string_view source,
                             const UnpackLimits& limits);
// Returns the error that `what`, which completes "name: ... more than", exceeds the limits of a
// file of `stored` bytes.
Status UnpacksTooMuch(std::string_view name, std::string_view what, uint64_t stored,
                      const UnpackLimits& limits);

}  // namespace kiln::data

#endif  // KILN_FRONTEND_DATA_READERS_H_
