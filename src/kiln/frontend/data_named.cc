// Implements NamedArrays for archives and folders.
#include "kiln/frontend/data_named.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <system_error>
#include <utility>

#include "kiln/frontend/array_names.h"
#include "kiln/frontend/data_readers.h"
#include "kiln/support/budgets.h"
#include "kiln/support/excerpt.h"
#include "kiln/support/file.h"

namespace kiln {

namespace fs = std::filesystem;

// The archive or folder behind the names.
struct NamedArrays::Source {
  fs::path path;
  std::shared_ptr<const std::string> bytes;  // archives only: the whole file
  std::optional<data::NpzArchive> archive;
  std::vector<size_t> entries;  // index in the archive of each of names()
  int64_t most_stored = 0,
          left = 0;  // folders only: total bytes allowed, and bytes that may still be read

  // Reads one array and charges its bytes against the limits.
  StatusOr<data::Array> Read(const std::string& name, size_t index) {
    if (archive.has_value()) return archive->Read(entries[index]);
    const fs::path file = path / (name + ".npy");
    std::error_code error;
    const uintmax_t size = fs::file_size(file, error);
    if (!error && left < most_stored && size > static_cast<uintmax_t>(left)) {
      return ErrorAt(file.string(), "",
                     fmt::format("makes the arrays that are read more than {} bytes", most_stored),
                     "split them");
    }
    KILN_ASSIGN_OR_RETURN(std::string content, ReadFile(file, left));
    left -= std::ssize(content);
    return data::ReadNpyArray(
        {file.string(), std::make_shared<const std::string>(std::move(content))});
  }
};

NamedArrays::NamedArrays() : source_(std::make_unique<Source>()) {}
NamedArrays::NamedArrays(NamedArrays&&) noexcept = default;
NamedArrays& NamedArrays::operator=(NamedArrays&&) noexcept = default;
NamedArrays::~NamedArrays() = default;

bool NamedArrays::is_folder() const { return !source_->archive.has_value(); }

bool NamedArrays::IsNamed(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return true;
  if (!fs::is_regular_file(status)) return false;
  // The content decides, not the extension: a zip archive begins with a local file header.
  std::array<char, 4> head{};
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), head.size());
  return in.gcount() == 4 && std::string_view(head.data(), 4) == "PK\x03\x04";
}

StatusOr<NamedArrays> NamedArrays::Open(const fs::path& path, const Limits& limits) {
  NamedArrays out;
  out.source_->path = path;
  out.source_->most_stored = out.source_->left = limits.stored;
  std::error_code error;
  std::vector<std::pair<std::string, size_t>> found;
  if (fs::is_directory(path, error)) {
    // Subfolders and other files are ignored.
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      if (at->path().extension() != ".npy") continue;
      found.emplace_back(at->path().stem().string(), found.size());
      if (std::ssize(found) > budgets::kDataFolderFiles) {
        return ErrorAt(
            path.string(), "",
            "holds more than " + std::to_string(budgets::kDataFolderFiles) + " .npy files",
            "keep one for each input of the network");
      }
    }
    if (error)
      return ErrorAt(path.string(), "", "cannot be read: " + error.message(),
                     "check its permissions");
  } else {
    KILN_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path, budgets::kDataFileBytes));
    out.source_->bytes = std::make_shared<const std::string>(std::move(bytes));
    KILN_ASSIGN_OR_RETURN(
        data::NpzArchive archive,
        data::NpzArchive::Open({path.string(), out.source_->bytes}, limits.unpacked));
    out.source_->archive.emplace(std::move(archive));
    for (const std::string& name : out.source_->archive->names())
      found.emplace_back(name, found.size());
  }
  if (found.empty()) {
    return ErrorAt(path.string(), "", "holds no arrays",
                   "one .npy for each input of the network, named as the input");
  }
  // Sorted for Find's binary search, and so that messages do not depend on the file system's order.
  std::sort(found.begin(), found.end());
  for (size_t i = 0; i < found.size(); ++i) {
    if (i > 0 && found[i].first == found[i - 1].first) {
      return ErrorAt(path.string(), "", "holds two arrays named " + QuotedExcerpt(found[i].first),
                     "keep one of them");
    }
    out.names_.push_back(found[i].first);
    out.source_->entries.push_back(found[i].second);
  }
  return out;
}

std::optional<size_t> NamedArrays::Find(std::string_view value_name) const {
  // An exact name wins over an encoded one.
  for (const std::string& name : {std::string(value_name), ArrayNameOf(value_name)}) {
    const auto at = std::lower_bound(names_.begin(), names_.end(), name);
    if (at != names_.end() && *at == name) return static_cast<size_t>(at - names_.begin());
  }
  return std::nullopt;
}

std::string NamedArrays::Describe(size_t index) const {
  if (source_->archive.has_value()) return source_->archive->Describe(source_->entries[index]);
  return (source_->path / (names_[index] + ".npy")).string();
}

StatusOr<DataSet> NamedArrays::Read(size_t index) const {
  KILN_ASSIGN_OR_RETURN(data::Array array, source_->Read(names_[index], index));
  const std::string name = Describe(index);
  const data::Source source{name, array.bytes};  // before the array is moved
  KILN_ASSIGN_OR_RETURN(DataSet::Parts parts, data::SamplesOf(source, std::move(array)));
  return DataSet(name, is_folder() ? DataFormat::kNpy : DataFormat::kNpz, std::move(parts));
}

StatusOr<Labels> NamedArrays::ReadLabels(size_t index) const {
  KILN_ASSIGN_OR_RETURN(const data::Array array, source_->Read(names_[index], index));
  return data::LabelsOf({Describe(index), array.bytes}, array);
}

}  // namespace kiln
