// Tensor data that a model keeps in files beside it.
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

// A read-only mapping of a whole file; `bytes` stays valid while `owner` lives.
struct MappedFile {
  std::shared_ptr<const void> owner;
  const std::byte* bytes = nullptr;
  uint64_t size = 0;
};

// Maps a regular file. The mapping is followed by a readable page, so that vector kernels may load past the end.
StatusOr<MappedFile> MapFile(const std::filesystem::path& path);

// The external files of one model: each is mapped once and must lie within the model's folder.
class ExternalFiles {
 public:
  // How many bytes of tensors one model may take from them: all, and those that are copied.
  struct Limits {
    int64_t bytes = budgets::kOnnxExternalBytes;
    int64_t copied = budgets::kOnnxExternalCopies;
  };

  // An empty folder means that the model has no place on disk and may not refer to files.
  ExternalFiles(std::filesystem::path folder, std::string source, Limits limits)
      : folder_(std::move(folder)), source_(std::move(source)), limits_(limits) {}
  ExternalFiles(std::filesystem::path folder, std::string source)
      : ExternalFiles(std::move(folder), std::move(source), Limits()) {}

  // The file that a tensor's `location` names.
  //   errors  an absolute location, one with "..", one that a symbolic link leads out of the folder, no such file
  StatusOr<MappedFile> Open(const std::string& location, const std::string& place);
  // Counts a tensor against the limits. A file may be named by any number of tensors.
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
