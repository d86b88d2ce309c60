// Writes NumPy .npz archives: arrays that grow sample by sample, and a file that appears all at once.
#ifndef KILN_FRONTEND_NPZ_WRITER_H_
#define KILN_FRONTEND_NPZ_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/ir/element_type.h"
#include "kiln/ir/shape.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// Nothing exists at `path` before Finish, which replaces what was there. Until then arrays are held in memory, and
// beyond `memory_bytes` in files without a name in the same folder, or in the nearest above it that exists. The same
// arrays give the same bytes: the archive stores them uncompressed, in the order of Add, dated 1980-01-01 as NumPy
// does.
class NpzWriter {
 public:
  static constexpr int64_t kMemoryBytes = int64_t{1} << 28;
  explicit NpzWriter(std::filesystem::path path, int64_t memory_bytes = kMemoryBytes);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  // Begins an array; returns its index.
  //   name    an entry's name without ".npy": ArrayNameOf(...) and what a caller appends to it
  //   errors  a name that is taken or longer than a zip archive allows; a type that NumPy lacks (bf16, strings)
  StatusOr<size_t> Add(const std::string& name, ElementType type, const Shape& shape);
  // Appends elements, row-major. Error: the folder cannot take the bytes.
  Status Append(size_t array, std::span<const std::byte> bytes);
  // Add and Append of a whole tensor.
  Status AddTensor(const std::string& name, const Tensor& tensor);
  // Writes the file. Every array must have all its elements. Error: the file cannot be written; then the old one, if
  // any, is as it was.
  Status Finish();

 private:
  struct Array;
  Status Spill();
  Status WriteArchive(const std::filesystem::path& part);

  std::filesystem::path path_;
  int64_t memory_bytes_, held_bytes_ = 0;
  std::vector<std::unique_ptr<Array>> arrays_;
};

// The bytes that begin an .npy file, version 1.0: magic, length, dictionary, padded to 64 bytes.
//   errors  a type that NumPy lacks
StatusOr<std::string> NpyHeader(ElementType type, const Shape& shape);

}  // namespace kiln

#endif  // KILN_FRONTEND_NPZ_WRITER_H_
