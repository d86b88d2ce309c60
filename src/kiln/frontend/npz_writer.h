// Writes NumPy .npz archives whose arrays grow sample by sample; the file appears at once when it
// is complete.
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

// Collects arrays and writes them as one archive. Nothing exists at `path` before Finish, which
// replaces an existing file. Until then arrays are held in memory and, beyond `memory_bytes`, in
// unnamed files in the same folder or its nearest existing parent. The same arrays give the same
// bytes: entries are stored uncompressed, in the order of Add, dated 1980-01-01 as NumPy does.
class NpzWriter {
 public:
  // Default limit of the memory for arrays: 256 MiB.
  static constexpr int64_t kMemoryBytes = int64_t{1} << 28;
  explicit NpzWriter(std::filesystem::path path, int64_t memory_bytes = kMemoryBytes);
  ~NpzWriter();
  NpzWriter(const NpzWriter&) = delete;
  NpzWriter& operator=(const NpzWriter&) = delete;

  // Starts an array and returns its index.
  //   name    the entry's name without ".npy": ArrayNameOf(...) plus any suffix of the caller
  //   errors  a name that is taken or too long for a zip archive; a type that NumPy lacks (bf16,
  //           strings)
  StatusOr<size_t> Add(const std::string& name, ElementType type, const Shape& shape);
  // Appends elements, row-major. Error: the folder has no space for them.
  Status Append(size_t array, std::span<const std::byte> bytes);
  // Adds a whole tensor.
  Status AddTensor(const std::string& name, const Tensor& tensor);
  // Writes the file. Every array must be complete. Error: the file cannot be written; an existing
  // file then stays unchanged.
  Status Finish();

 private:
  struct Array;
  // Moves all arrays from memory to unnamed files.
  Status Spill();
  // Writes the archive to a temporary file.
  Status WriteArchive(const std::filesystem::path& part);

  std::filesystem::path path_;
  int64_t memory_bytes_, held_bytes_ = 0;
  std::vector<std::unique_ptr<Array>> arrays_;
};

// Returns the header of an .npy file, version 1.0: magic, length, dictionary, padded to 64 bytes.
//   errors  a type that NumPy lacks
StatusOr<std::string> NpyHeader(ElementType type, const Shape& shape);

}  // namespace kiln

#endif  // KILN_FRONTEND_NPZ_WRITER_H_
