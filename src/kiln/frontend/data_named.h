// Arrays by name: an .npz archive, or a folder of .npy files. Networks with several inputs, and
// inputs that are not images, take their data in this form: each array has the name of its input,
// and its first axis counts samples.
#ifndef KILN_FRONTEND_DATA_NAMED_H_
#define KILN_FRONTEND_DATA_NAMED_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/frontend/data_set.h"
#include "kiln/support/budgets.h"
#include "kiln/support/status.h"

namespace kiln {

// The named arrays of one archive or folder; arrays are decoded when they are read.
class NamedArrays {
 public:
  // The bytes that all arrays read may have together: unpacked bytes of an archive, stored bytes of
  // a folder.
  struct Limits {
    UnpackLimits unpacked = {};
    int64_t stored = budgets::kDataFileBytes;
  };
  // Returns true if `path` is a folder, or a file that contains a zip archive.
  static bool IsNamed(const std::filesystem::path& path);
  // Reads the names. An archive is loaded as a whole; files of a folder are loaded when they are
  // read.
  //   errors  not found or not readable, a damaged archive, no arrays, two arrays with one name
  static StatusOr<NamedArrays> Open(const std::filesystem::path& path, const Limits& limits);
  // The same with the default limits.
  static StatusOr<NamedArrays> Open(const std::filesystem::path& path) {
    return Open(path, Limits());
  }
  NamedArrays(NamedArrays&&) noexcept;
  NamedArrays& operator=(NamedArrays&&) noexcept;
  ~NamedArrays();

  // Returns true for a folder, false for an archive.
  bool is_folder() const;
  // Returns the names as stored, without ".npy", sorted.
  const std::vector<std::string>& names() const { return names_; }
  // Returns the index of a value's array: an array of exactly that name, or of ArrayNameOf(name),
  // which can encode any name.
  std::optional<size_t> Find(std::string_view value_name) const;
  // Returns an array's name for messages: "data.npz: array 'x'" or "folder/x.npy".
  std::string Describe(size_t index) const;
  // Reads one array as a data set; its first axis counts samples. Errors: those of .npy; no
  // samples; more bytes than the limits.
  StatusOr<DataSet> Read(size_t index) const;
  // Reads one array as labels (LoadLabels in data_set.h).
  StatusOr<Labels> ReadLabels(size_t index) const;

 private:
  struct Source;
  NamedArrays();
  std::unique_ptr<Source> source_;
  std::vector<std::string> names_;
};

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_NAMED_H_
