// Arrays by name: an .npz archive, or a folder of .npy files. Networks with several inputs, and inputs that are no
// images, take their data this way: an array has the name of its input, and its first axis counts the samples.
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

class NamedArrays {
 public:
  // How many bytes the arrays that are read may have together: of an archive, unpacked; of a folder, as stored.
  struct Limits {
    int64_t unpacked = budgets::kUnpackedBytes;
    int64_t stored = budgets::kDataFileBytes;
  };
  // Whether `path` is a folder, or a file whose content is a zip archive.
  static bool IsNamed(const std::filesystem::path& path);
  // Reads the names; an archive is read as a whole, files of a folder when they are asked for.
  //   errors  not there, not readable, an archive that is damaged, no arrays, two arrays of one name
  static StatusOr<NamedArrays> Open(const std::filesystem::path& path, const Limits& limits);
  static StatusOr<NamedArrays> Open(const std::filesystem::path& path) {
    return Open(path, Limits());
  }
  NamedArrays(NamedArrays&&) noexcept;
  NamedArrays& operator=(NamedArrays&&) noexcept;
  ~NamedArrays();

  bool is_folder() const;
  // As they are stored, without ".npy", sorted.
  const std::vector<std::string>& names() const { return names_; }
  // The array of a value: by its very name, or by ArrayNameOf(name), in which the name may have any characters.
  std::optional<size_t> Find(std::string_view value_name) const;
  // How messages call an array: "data.npz: array 'x'", "folder/x.npy".
  std::string Describe(size_t index) const;
  // One array as a data set: its first axis counts the samples. Errors: those of .npy; no samples; more than the
  // limits.
  StatusOr<DataSet> Read(size_t index) const;
  // One array as labels (LoadLabels in data_set.h).
  StatusOr<Labels> ReadLabels(size_t index) const;

 private:
  struct Source;
  NamedArrays();
  std::unique_ptr<Source> source_;
  std::vector<std::string> names_;
};

}  // namespace kiln

#endif  // KILN_FRONTEND_DATA_NAMED_H_
