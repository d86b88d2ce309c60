// Fuzz target: reads any bytes as a file of images in every known format, as an archive of named
// arrays, and as a file of labels. The result must be images within the file, or a one-line error
// that names the file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "kiln/frontend/data_named.h"
#include "kiln/frontend/data_set.h"
#include "kiln/support/check.h"

namespace {

// A file in memory. The readers take paths, so it provides one under /proc/self/fd.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* bytes, size_t size) : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    KILN_CHECK(file_ >= 0 && ::write(file_, bytes, size) == static_cast<ssize_t>(size));
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(file_); }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

// Checks that an error is one line that begins with the path.
void CheckMessage(const kiln::Status& status, const std::filesystem::path& path) {
  const std::string message = kiln::MessageOf(status);
  KILN_CHECK(message.rfind(path.string() + ": ", 0) == 0 &&
             message.find('\n') == std::string::npos);
}

// Reads the first and the last image, so that the address sanitiser sees every access, and checks
// the labels.
void CheckImages(const kiln::DataSet& set) {
  unsigned sum = 0;
  for (const int64_t i : {int64_t{0}, set.size() - 1}) {
    for (const std::byte b : set.Image(i)) sum += static_cast<unsigned>(b);
  }
  asm volatile("" : : "r"(sum));  // keeps the optimiser from removing the reads
  KILN_CHECK(set.labels().empty() ||
             static_cast<int64_t>(set.labels().size()) == set.size() * set.labels_per_image());
  for (const int32_t label : set.labels()) KILN_CHECK(label >= 0);
  if (const kiln::Status status = set.CheckLabels(10); !status.ok())
    KILN_CHECK(!kiln::MessageOf(status).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const MemoryFile file(bytes, size);
  kiln::DataOptions options;
  options.shape = kiln::Shape{1, 2, 3};  // used by the format `raw`
  const auto load = [&] {
    const auto set = kiln::LoadDataSet(file.path(), options);
    if (set.ok()) {
      CheckImages(*set);
    } else {
      CheckMessage(set.status(), file.path());
    }
  };
  load();
  options.channels = 3;
  for (const kiln::DataFormatInfo& row : kiln::AllDataFormats()) {
    options.format = row.format;
    load();
  }
  const auto arrays = kiln::NamedArrays::Open(file.path());
  if (!arrays.ok()) CheckMessage(arrays.status(), file.path());
  for (size_t i = 0; arrays.ok() && i < arrays->names().size(); ++i) {
    const auto set = arrays->Read(i);
    if (set.ok()) {
      CheckImages(*set);
    } else {
      CheckMessage(set.status(), file.path());
    }
    if (const auto named = arrays->ReadLabels(i); !named.ok())
      CheckMessage(named.status(), file.path());
  }
  const auto labels = kiln::LoadLabels(file.path());
  if (!labels.ok()) CheckMessage(labels.status(), file.path());
  return 0;
}
