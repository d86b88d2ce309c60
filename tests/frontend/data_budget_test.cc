// Tests of the budgets of data files and of --preprocess (support/budgets.def), each at its limit.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "kiln/frontend/data_named.h"
#include "kiln/frontend/data_preprocess.h"
#include "kiln/frontend/data_set.h"
#include "kiln/frontend/model.h"
#include "kiln/support/budgets.h"
#include "tests/frontend/data_test_files.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DataBudget : public DataFilesTest {
 protected:
  static std::string ErrorOf(const fs::path& path, const DataOptions& options = {}) {
    const auto set = LoadDataSet(path, options);
    return set.ok() ? "no error" : MessageOf(set.status());
  }
  // A file of that size which takes no room on the disk.
  fs::path WriteHole(const std::string& name, int64_t bytes) const {
    const fs::path path = Write(name, "");
    fs::resize_file(path, static_cast<uintmax_t>(bytes));
    return path;
  }
};

TEST_F(DataBudget, OfGzip) {
  EXPECT_EQ(static_cast<int64_t>(DataOptions().most_unpacked), budgets::kUnpackedBytes);
  for (const uint32_t images :
       {10u, 4000u}) {  // 640 and 256,000 bytes: the reader begins with 65,536
    const std::string plain = Idx(8, {images, 8, 8}, std::string(images * 64, 'x'));
    const fs::path path = Write("images.gz", Gzip(plain));
    EXPECT_EQ(ErrorOf(path, {.most_unpacked = plain.size()}), "no error");
    EXPECT_EQ(ErrorOf(path, {.most_unpacked = plain.size() - 1}),
              path.string() + ": unpacks to more than " + std::to_string(plain.size() - 1) +
                  " bytes; split it");
  }
}

// 64 MiB in a file of less than 100 KB stop at a budget of 1 MiB.
TEST_F(DataBudget, OfAGzipBomb) {
  const fs::path path = Write("images.gz", Gzip(std::string(1 << 26, '\0')));
  ASSERT_LT(fs::file_size(path), 100'000u);
  EXPECT_THAT(ErrorOf(path, {.most_unpacked = 1 << 20}),
              HasSubstr("unpacks to more than 1048576 bytes; split it"));
}

// A file of less than 2 MB that unpacks to 1 GiB is refused before its data is held in memory.
TEST_F(DataBudget, OfAGzipBombInMemory) {
  const std::string member = Gzip(std::string(1 << 24, '\0'));
  std::string members;
  for (int i = 0; i < 64; ++i) members += member;
  const fs::path path = Write("images.gz", members);
  ASSERT_LT(fs::file_size(path), 2'000'000u);
  struct rusage before = {}, after = {};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
  EXPECT_THAT(ErrorOf(path, {.most_unpacked = (uint64_t{1} << 30) - 1}),
              HasSubstr("unpacks to more than 1073741823 bytes; split it"));
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 * 1024);  // KiB
}

// Data that compresses well and is within the budget is read.
TEST_F(DataBudget, OfDataThatCompressesWell) {
  const std::string plain = Idx(8, {80 << 10, 32, 32}, std::string(size_t{80} << 20, 'x'));
  const fs::path path = Write("images.gz", Gzip(plain));
  EXPECT_EQ(ErrorOf(path, {.most_unpacked = plain.size()}), "no error");
  EXPECT_THAT(ErrorOf(path, {.most_unpacked = plain.size() - 1}), HasSubstr("unpacks to more"));
}

TEST_F(DataBudget, OfNpz) {
  const std::string array =
      Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 100)}", std::string(400, 'x'));
  const fs::path path = WriteNpz("images.npz", {{"x.npy", array}});
  EXPECT_EQ(ErrorOf(path, {.most_unpacked = array.size()}), "no error");
  EXPECT_EQ(ErrorOf(path, {.most_unpacked = array.size() - 1}),
            path.string() + ": array 'x': makes the archive unpack to more than " +
                std::to_string(array.size() - 1) + " bytes; split it");
}

// The arrays that are read count together.
TEST_F(DataBudget, OfAllArraysOfNpz) {
  EXPECT_EQ(NamedArrays::Limits().unpacked, budgets::kUnpackedBytes);
  const std::string x =
      Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 100)}", std::string(400, 'x'));
  const std::string y = Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}", "abcd");
  const fs::path path = WriteNpz("images.npz", {{"x.npy", x}, {"y.npy", y}});
  EXPECT_EQ(ErrorOf(path, {.most_unpacked = x.size() + y.size()}), "no error");
  const std::string refused = path.string() +
                              ": array 'y': makes the archive unpack to more than " +
                              std::to_string(x.size() + y.size() - 1) + " bytes; split it";
  EXPECT_EQ(ErrorOf(path, {.most_unpacked = x.size() + y.size() - 1}), refused);
  for (const int64_t less : {0, 1}) {
    auto arrays = NamedArrays::Open(path, {.unpacked = std::ssize(x) + std::ssize(y) - less});
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_TRUE(arrays->Read(0).ok());
    EXPECT_EQ(arrays->Read(1).ok() ? "no error" : MessageOf(arrays->Read(1).status()),
              less == 0 ? "no error" : refused);
  }
}

TEST_F(DataBudget, OfAllFilesOfAFolder) {
  EXPECT_EQ(NamedArrays::Limits().stored, budgets::kDataFileBytes);
  const std::string x =
      Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 100)}", std::string(400, 'x'));
  fs::create_directories(folder_ / "arrays");
  Write("arrays/a.npy", x);
  const fs::path second = Write("arrays/b.npy", x);
  for (const int64_t less : {0, 1}) {
    const auto arrays = NamedArrays::Open(folder_ / "arrays", {.stored = 2 * std::ssize(x) - less});
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_TRUE(arrays->Read(0).ok());
    const auto read = arrays->Read(1);
    EXPECT_EQ(read.ok() ? "no error" : MessageOf(read.status()),
              less == 0 ? "no error"
                        : second.string() + ": makes the arrays that are read more than " +
                              std::to_string(2 * x.size() - 1) + " bytes; split them");
  }
}

TEST_F(DataBudget, OfTheFilesOfAFolder) {
  fs::create_directories(folder_ / "arrays");
  for (int64_t i = 0; i < budgets::kDataFolderFiles; ++i)
    Write("arrays/" + std::to_string(i) + ".npy", "");
  Write("arrays/notes.txt", "");
  EXPECT_TRUE(NamedArrays::Open(folder_ / "arrays").ok());
  Write("arrays/more.npy", "");
  EXPECT_EQ(MessageOf(NamedArrays::Open(folder_ / "arrays").status()),
            (folder_ / "arrays").string() +
                ": holds more than 65536 .npy files; keep one for each input of the network");
}

TEST_F(DataBudget, OfEntries) {
  const std::string array =
      Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 1)}", "xxxx");
  std::vector<std::pair<std::string, std::string>> entries = {{"x.npy", array}};
  while (std::ssize(entries) < budgets::kArchiveEntries) {
    entries.emplace_back("a" + std::to_string(entries.size()) + ".npy", array);
  }
  EXPECT_EQ(ErrorOf(WriteNpz("full.npz", entries)), "no error");
  entries.emplace_back("more.npy", array);
  const fs::path path = WriteNpz("more.npz", entries);
  EXPECT_EQ(ErrorOf(path), path.string() + ": holds 4097 arrays; at most 4096");
}

TEST_F(DataBudget, OfTheHeaderOfNpy) {
  const auto header = [](int64_t bytes) {
    std::string text = "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 1)}";
    return text + std::string(static_cast<size_t>(bytes) - text.size(), ' ');
  };
  EXPECT_EQ(ErrorOf(Write("full.npy", Npy(header(budgets::kNpyHeaderBytes), "xxxx", 2))),
            "no error");
  const fs::path path = Write("more.npy", Npy(header(budgets::kNpyHeaderBytes + 1), "xxxx", 2));
  EXPECT_EQ(ErrorOf(path),
            path.string() + ": a .npy header of 65537 bytes is too long; at most 65536");
}

TEST_F(DataBudget, OfFiles) {
  const fs::path data = WriteHole("images.npy", budgets::kDataFileBytes + 1);
  EXPECT_EQ(ErrorOf(data),
            data.string() + ": 17179869185 bytes are too many; at most 17179869184 bytes are read");
  EXPECT_THAT(MessageOf(LoadLabels(data).status()), HasSubstr("17179869185 bytes are too many"));
  const fs::path graph = WriteHole("net.kir", budgets::kGraphTextBytes + 1);
  EXPECT_EQ(MessageOf(LoadModel(graph).status()),
            graph.string() + ": 4294967297 bytes are too many; at most 4294967296 bytes are read");
}

TEST_F(DataBudget, FifosAreRefused) {
  const fs::path fifo = Write("net.kir", "").parent_path() / "fifo.kir";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string refused = fifo.string() + ": is not a regular file; name a file";
  EXPECT_EQ(ErrorOf(fifo), refused);
  EXPECT_EQ(MessageOf(LoadLabels(fifo).status()), refused);
  EXPECT_EQ(MessageOf(LoadModel(fifo).status()), refused);
  EXPECT_EQ(MessageOf(LoadPreprocess(fifo).status()), refused);
}

TEST_F(DataBudget, OfPreprocess) {
  const auto text = [](int64_t bytes) {
    const std::string key = "scale=1/255";
    return ParsePreprocess(key + std::string(static_cast<size_t>(bytes) - key.size(), ' '), "",
                           "--preprocess");
  };
  EXPECT_TRUE(text(budgets::kPreprocessBytes).ok());
  EXPECT_EQ(MessageOf(text(budgets::kPreprocessBytes + 1).status()),
            "--preprocess: 65537 bytes are too many; at most 65536");
}

}  // namespace
}  // namespace kiln
