// Tests of the budgets of data files and of --preprocess (support/budgets.def), each at its limit.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "kiln/frontend/data_convert.h"
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
  EXPECT_EQ(static_cast<int64_t>(DataOptions().unpacked.bytes), budgets::kUnpackedBytes);
  for (const uint32_t images :
       {10u, 4000u}) {  // 640 and 256,000 bytes: the reader begins with 65,536
    const std::string plain = Idx(8, {images, 8, 8}, std::string(images * 64, 'x'));
    const fs::path path = Write("images.gz", Gzip(plain));
    EXPECT_EQ(ErrorOf(path, {.unpacked = {.bytes = plain.size()}}), "no error");
    EXPECT_EQ(ErrorOf(path, {.unpacked = {.bytes = plain.size() - 1}}),
              path.string() + ": unpacks to more than " + std::to_string(plain.size() - 1) +
                  " bytes; split it");
  }
}

// 64 MiB in a file of less than 100 KB stop at a budget of 1 MiB.
TEST_F(DataBudget, OfAGzipBomb) {
  const fs::path path = Write("images.gz", Gzip(std::string(1 << 26, '\0')));
  ASSERT_LT(fs::file_size(path), 100'000u);
  EXPECT_THAT(ErrorOf(path, {.unpacked = {.bytes = 1 << 20}}),
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
  EXPECT_THAT(
      ErrorOf(path, {.unpacked = {.bytes = (uint64_t{1} << 30) - 1, .freely = uint64_t{1} << 30}}),
      HasSubstr("unpacks to more than 1073741823 bytes; split it"));
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 * 1024);  // KiB
}

// Without other limits a file may unpack to 256 MiB, however small it is, and beyond that to 64
// times its size.
TEST_F(DataBudget, OfTheExpansionOfGzip) {
  EXPECT_EQ(static_cast<int64_t>(UnpackLimits().freely), budgets::kUnpackedFreely);
  EXPECT_EQ(static_cast<int64_t>(UnpackLimits().ratio), budgets::kUnpackedRatio);
  const std::string member = Gzip(std::string(1 << 24, '\0'));
  // IDX images of `bytes` in all, a multiple of 16 MiB and perhaps one more, behind padding.
  const auto file = [&](uint32_t bytes, uint32_t more, size_t stored) {
    const std::string head = Idx(8, {bytes + more - 16, 1, 1}, "");
    std::string packed = Gzip(head + std::string((1 << 24) - head.size() + more, '\0'));
    for (uint32_t at = 1 << 24; at < bytes; at += 1 << 24) packed += member;
    if (stored > packed.size()) packed.resize(stored, '\0');
    return Write("images.gz", packed);
  };
  constexpr auto kFreely = static_cast<uint32_t>(budgets::kUnpackedFreely);
  EXPECT_EQ(ErrorOf(file(kFreely, 0, 0)), "no error");
  const fs::path more = file(kFreely, 1, 0);
  EXPECT_EQ(ErrorOf(more),
            more.string() + ": unpacks to more than 268435456 bytes, too many for a file of " +
                std::to_string(fs::file_size(more)) + " bytes; store it without compression");
  constexpr uint32_t kLarger = kFreely + (1 << 26);
  constexpr size_t kEnough = kLarger / budgets::kUnpackedRatio;
  EXPECT_EQ(ErrorOf(file(kLarger, 0, kEnough)), "no error");
  const fs::path less = file(kLarger, 0, kEnough - 1);
  EXPECT_EQ(ErrorOf(less),
            less.string() +
                ": unpacks to more than 335544256 bytes, too many for a file of 5242879 bytes; "
                "store it without compression");
}

// A file of 64 MiB, which may unpack to 4 GiB by its size, may not unpack to more.
TEST_F(DataBudget, OfALargeGzipBomb) {
  const std::string member = Gzip(std::string(1 << 26, '\0'));
  std::string packed = Gzip("x");
  for (int64_t bytes = 0; bytes < budgets::kUnpackedBytes; bytes += 1 << 26) packed += member;
  packed.resize(size_t{66} << 20, '\0');
  const fs::path path = Write("images.gz", packed);
  EXPECT_EQ(ErrorOf(path), path.string() + ": unpacks to more than 4294967296 bytes; split it");
}

// An archive inside a gzip file has the limit of the gzip file.
TEST_F(DataBudget, OfTheExpansionOfNpz) {
  const std::string array = Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 100000)}",
                                std::string(400'000, 'x'));
  const fs::path path = WriteNpz("images.npz", {{"x.npy", array}});
  const auto limits = [](uint64_t ratio) { return UnpackLimits{.freely = 1000, .ratio = ratio}; };
  uint64_t stored = fs::file_size(path);
  const uint64_t ratio = array.size() / stored;
  ASSERT_GT(ratio, 10u);
  EXPECT_EQ(ErrorOf(path, {.unpacked = limits(ratio + 1)}), "no error");
  EXPECT_EQ(ErrorOf(path, {.unpacked = {.freely = array.size(), .ratio = 1}}), "no error");
  const auto refused = [&](const fs::path& file, uint64_t most) {
    return file.string() + ": array 'x': makes the archive unpack to more than " +
           std::to_string(most) + " bytes, too many for a file of " + std::to_string(stored) +
           " bytes; store it without compression";
  };
  EXPECT_EQ(ErrorOf(path, {.unpacked = limits(ratio)}), refused(path, ratio * stored));
  EXPECT_EQ(ErrorOf(path, {.unpacked = {.freely = array.size() - 1, .ratio = 1}}),
            refused(path, array.size() - 1));
  const auto arrays = NamedArrays::Open(path, {.unpacked = limits(ratio)});
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(MessageOf(arrays->Read(0).status()), refused(path, ratio * stored));
  std::ifstream in(path, std::ios::binary);
  const std::string archive{std::istreambuf_iterator<char>(in), {}};
  const fs::path packed = Write("images.npz.gz", Gzip(archive));
  stored = fs::file_size(packed);
  ASSERT_LT(stored * 2, archive.size());
  EXPECT_EQ(ErrorOf(packed, {.unpacked = limits(ratio)}), refused(packed, ratio * stored));
}

// Data that compresses well and is within the budget is read.
TEST_F(DataBudget, OfDataThatCompressesWell) {
  const std::string plain = Idx(8, {80 << 10, 32, 32}, std::string(size_t{80} << 20, 'x'));
  const fs::path path = Write("images.gz", Gzip(plain));
  EXPECT_EQ(ErrorOf(path, {.unpacked = {.bytes = plain.size()}}), "no error");
  EXPECT_THAT(ErrorOf(path, {.unpacked = {.bytes = plain.size() - 1}}),
              HasSubstr("unpacks to more"));
}

TEST_F(DataBudget, OfNpz) {
  const std::string array =
      Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 100)}", std::string(400, 'x'));
  const fs::path path = WriteNpz("images.npz", {{"x.npy", array}});
  EXPECT_EQ(ErrorOf(path, {.unpacked = {.bytes = array.size()}}), "no error");
  EXPECT_EQ(ErrorOf(path, {.unpacked = {.bytes = array.size() - 1}}),
            path.string() + ": array 'x': makes the archive unpack to more than " +
                std::to_string(array.size() - 1) + " bytes; split it");
}

// The arrays that are read count together.
TEST_F(DataBudget, OfAllArraysOfNpz) {
  EXPECT_EQ(static_cast<int64_t>(NamedArrays::Limits().unpacked.bytes), budgets::kUnpackedBytes);
  const std::string x =
      Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 100)}", std::string(400, 'x'));
  const std::string y = Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}", "abcd");
  const fs::path path = WriteNpz("images.npz", {{"x.npy", x}, {"y.npy", y}});
  EXPECT_EQ(ErrorOf(path, {.unpacked = {.bytes = x.size() + y.size()}}), "no error");
  const std::string refused = path.string() +
                              ": array 'y': makes the archive unpack to more than " +
                              std::to_string(x.size() + y.size() - 1) + " bytes; split it";
  EXPECT_EQ(ErrorOf(path, {.unpacked = {.bytes = x.size() + y.size() - 1}}), refused);
  for (const size_t less : {0u, 1u}) {
    auto arrays = NamedArrays::Open(path, {.unpacked = {.bytes = x.size() + y.size() - less}});
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

TEST_F(DataBudget, OfSidesOfResizedImages) {
  const auto text = [](int64_t side) {
    return ParsePreprocess("resize=" + std::to_string(side), "", "--preprocess");
  };
  EXPECT_TRUE(text(budgets::kImageSide).ok());
  EXPECT_EQ(MessageOf(text(budgets::kImageSide + 1).status()),
            "--preprocess: resize '16385' is neither a number of pixels nor HEIGHTxWIDTH, of 1 to "
            "16384; write it as scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,"
            "layout=chw");
}

// Images 4 pixels wide become 4096 wide, and as many times higher.
TEST_F(DataBudget, OfPixelsOfResizedImages) {
  EXPECT_EQ(budgets::kImagePixels, 4096 * 16384);
  const auto resized = [&](uint32_t height) {
    const auto set =
        LoadDataSet(Write("x.idx", Idx(8, {1, height, 4}, std::string(height * 4, 'x'))));
    EXPECT_TRUE(set.ok()) << set.status();
    Graph graph;
    const Value* input = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 1, 4, 4}});
    const auto preprocess = ParsePreprocess("resize=4096,crop=4", "", "--preprocess");
    return MessageOf(ImageConverter::Create(&*set, *preprocess, *input, "net.onnx").status());
  };
  EXPECT_EQ(resized(16), "");
  EXPECT_EQ(resized(17), (folder_ / "x.idx").string() +
                             ": resize would make images of 17408x4096 pixels; at most 67108864 "
                             "pixels, also between rows and columns");
}

// Rows are filtered first: images 65,536 pixels high have that height between the passes.
TEST_F(DataBudget, OfPixelsBetweenThePassesOfResize) {
  const auto set = LoadDataSet(Write("x.idx", Idx(8, {1, 65536, 4}, std::string(65536 * 4, 'x'))));
  ASSERT_TRUE(set.ok()) << set.status();
  Graph graph;
  const Value* input = graph.AddInput("x", {ElementType::kFloat32, Shape{1, 1, 4, 4}});
  const auto resized = [&](const std::string& to) {
    const auto preprocess = ParsePreprocess("resize=" + to + ",crop=4", "", "--preprocess");
    return MessageOf(ImageConverter::Create(&*set, *preprocess, *input, "net.onnx").status());
  };
  EXPECT_EQ(resized("64x1024"), "");
  EXPECT_EQ(resized("64x1025"), (folder_ / "x.idx").string() +
                                    ": resize would make images of 65536x1025 pixels; at most "
                                    "67108864 pixels, also between rows and columns");
}

}  // namespace
}  // namespace kiln
