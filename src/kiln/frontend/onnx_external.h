// Maps tensor data that a model keeps in external files. A model is untrusted input: it may only
// name files inside its own folder.
#ifndef KILN_FRONTEND_ONNX_EXTERNAL_H_
#define KILN_FRONTEND_ONNX_EXTERNAL_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "kiln/support/budgets.h"
#include "kiln/support/status.h"

namespace kiln {

// A read-only mapping of a whole file; `bytes` is valid while `owner` exists.
struct MappedFile {
  std::shared_ptr<const void> owner;
  const std::byte* bytes = nullptr;
  uint64_t size = 0;
};

// Maps a regular file. A readable page follows the mapping, so that vector kernels may load past
// the end.
StatusOr<MappedFile> MapFile(const std::filesystem::path& path);

// The external files of one model. Each is mapped once and must be inside the model's folder.
class ExternalFiles {
 public:
  // The bytes of tensors that one model may read from external files: in total, and of copied
  // tensors.
  struct Limits {
    int64_t bytes = budgets::kOnnxExternalBytes;
    int64_t copied = budgets::kOnnxExternalCopies;
  };

  // An empty folder means that the model was not read from disk; it may then not refer to files.
  ExternalFiles(std::filesystem::path folder, std::string source, Limits limits)
      : folder_(std::move(folder)), source_(std::move(source)), limits_(limits) {}
  ExternalFiles(std::filesystem::path folder, std::string source)
      : ExternalFiles(std::move(folder), std::move(source), Limits()) {}

  // Returns the file that a tensor's `location` names.
  //   errors  an absolute location, one with "..", one that a symbolic link leads out of the
  //           folder, a missing file
  StatusOr<MappedFile> Open(const std::string& location, const std::string& place);
  // Counts a tensor against the limits. Any number of tensors may name the same file.
  Status Charge(int64_t bytes, bool copied, const std::string& place);

 private:
  std::filesystem::path folder_;
  std::string source_;
  Limits limits_;
  int64_t bytes_ = 0, copied_ = 0;
  std::map<std::string, MappedFile> open_;
};

}  // namespace kiln

#endif  // KILN_FRONTEND_ONNX_EXTERNAL_H_
