// Tests of named arrays: reading archives and folders, writing archives, and matching arrays to a
// network's inputs.
#include "kiln/frontend/data_named.h"

#include <gmock/gmock.h>

#include "fmt/format.h"
#include "kiln/frontend/array_names.h"
#include "kiln/frontend/data_input.h"
#include "kiln/frontend/npz_writer.h"
#include "kiln/ir/graph.h"
#include "kiln/support/file.h"
#include "tests/frontend/data_test_files.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ArrayNames, EscapeEverythingThatCouldBeAPath) {
  EXPECT_EQ(ArrayNameOf("last_hidden-state7"), "last_hidden-state7");
  EXPECT_EQ(ArrayNameOf("/head/Gemm:0"), "%2Fhead%2FGemm%3A0");
  EXPECT_EQ(ArrayNameOf("../../etc/passwd"), "%2E%2E%2F%2E%2E%2Fetc%2Fpasswd");
  EXPECT_EQ(ArrayNameOf("50%"), "50%25");
  EXPECT_EQ(ArrayNameOf(std::string("a\0\xc3\xa4", 4)), "a%00%C3%A4");
  EXPECT_NE(ArrayNameOf("a/b"), ArrayNameOf("a%2Fb"));
}

class NamedTest : public DataFilesTest {
 protected:
  static std::string Longs(const std::string& shape, const std::vector<int64_t>& values) {
    return Npy("{'descr': '<i8', 'fortran_order': False, 'shape': " + shape + "}", BytesOf(values));
  }
  // The message without the test's folder.
  std::string Clean(const Status& status) const {
    std::string message = status.ok() ? "no error" : MessageOf(status);
    for (size_t at; (at = message.find(folder_.string() + "/")) != std::string::npos;) {
      message.erase(at, folder_.string().size() + 1);
    }
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  }
};

TEST_F(NamedTest, ArchivesAndFoldersAreReadAlike) {
  const std::string ids = Longs("(2, 3)", {1, 2, 3, 4, 5, 6}), mask = Longs("(2,)", {0, 1});
  WriteNpz("data.npz", {{"b/ids.npy", ids}, {"mask.npy", mask}});
  std::filesystem::create_directories(folder_ / "arrays");
  Write("arrays/b%2Fids.npy", ids);
  Write("arrays/mask.npy", mask);
  Write("arrays/notes.txt", "not an array");
  for (const char* name : {"data.npz", "arrays"}) {
    ASSERT_TRUE(NamedArrays::IsNamed(folder_ / name)) << name;
    const auto arrays = NamedArrays::Open(folder_ / name);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(arrays->names().size(), 2u);
    EXPECT_FALSE(arrays->Find("ids").has_value());
    const auto at = arrays->Find("b/ids");  // by its name, or in the escaped form
    ASSERT_TRUE(at.has_value()) << name;
    const auto set = arrays->Read(*at);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->size(), 2);
    EXPECT_EQ(set->image_shape(), Shape{3});
    int64_t values[3];
    std::memcpy(values, set->Image(1).data(), sizeof(values));
    EXPECT_THAT(values, ElementsAre(4, 5, 6));
    const auto scalars = arrays->Read(*arrays->Find("mask"));  // a sample may be a scalar
    ASSERT_TRUE(scalars.ok()) << scalars.status();
    EXPECT_EQ(scalars->image_shape(), Shape{});
  }
  EXPECT_FALSE(NamedArrays::IsNamed(folder_ / "arrays/mask.npy"));
  std::filesystem::create_directories(folder_ / "empty");
  EXPECT_THAT(Clean(NamedArrays::Open(folder_ / "empty").status()),
              HasSubstr("empty: holds no arrays; one .npy for"));
  WriteNpz("scalar.npz", {{"x.npy", Longs("()", {7})}});
  EXPECT_THAT(Clean(NamedArrays::Open(folder_ / "scalar.npz")->Read(0).status()),
              HasSubstr("scalar.npz: array 'x': an array of shape scalar holds no samples"));
}

TEST_F(NamedTest, InputsTakeTheirOwnTypeAndShape) {
  Graph network("net");
  const Value& ids = *network.AddInput("ids", {ElementType::kInt64, Shape{1, 3}});
  const Value& narrow = *network.AddInput("narrow", {ElementType::kInt32, Shape{1, 3}});
  const Value& fixed = *network.AddInput("fixed", {ElementType::kInt64, Shape{3}});
  const Value& other = *network.AddInput("other", {ElementType::kInt64, Shape{1, 4}});
  const Value& flags = *network.AddInput("flags", {ElementType::kBool, Shape{1, 2}});
  const auto arrays = NamedArrays::Open(WriteNpz(
      "a.npz",
      {{"bits.npy", Npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1, 2)}", "\x02\x01")},
       {"ids.npy", Longs("(2, 3)", {1, 2, 3, 4, 5, 6})}}));
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  const auto set = std::make_shared<const DataSet>(*arrays->Read(*arrays->Find("ids")));
  const auto reader = InputReader::OfValues(set, ids, "net.onnx");
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(*reader->MakeBatch(1, 1), Tensor::Of<int64_t>({1, 3}, {4, 5, 6}));
  EXPECT_EQ(*reader->MakeBatch(0, 2), Tensor::Of<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto without_batch = InputReader::OfValues(set, fixed, "net.onnx");
  ASSERT_TRUE(without_batch.ok()) << without_batch.status();
  EXPECT_EQ(without_batch->MakeBatch(0, 2)->shape(), (Shape{2, 3}));
  EXPECT_EQ(Clean(InputReader::OfValues(set, narrow, "net.onnx").status()),
            "a.npz: array 'ids': holds i64; input 'narrow' of net.onnx takes i32; save it with "
            ".astype(numpy.int32)");
  EXPECT_EQ(Clean(InputReader::OfValues(set, other, "net.onnx").status()),
            "a.npz: array 'ids': is 2x3: 2 samples of 3; input 'other' of net.onnx takes 1x4; for "
            "N samples Nx4");
  // Integers are widened where the input's type has all values of the file's.
  const auto of = [&](const char* descr, std::string bytes) {
    const std::string head =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (1, 3)}}", descr);
    const auto file = NamedArrays::Open(WriteNpz("w.npz", {{"x.npy", Npy(head, bytes)}}));
    return std::make_shared<const DataSet>(*file->Read(0));
  };
  const auto shorts = of("<i2", std::string("\xfe\xff\x00\x80\xff\x7f", 6));
  EXPECT_EQ(*InputReader::OfValues(shorts, ids, "net.onnx")->MakeBatch(0, 1),
            Tensor::Of<int64_t>({1, 3}, {-2, -32768, 32767}));
  EXPECT_EQ(*InputReader::OfValues(shorts, narrow, "net.onnx")->MakeBatch(0, 1),
            Tensor::Of<int32_t>({1, 3}, {-2, -32768, 32767}));
  const auto bytes = of("|u1", std::string("\x00\x80\xff", 3));
  EXPECT_EQ(*InputReader::OfValues(bytes, ids, "net.onnx")->MakeBatch(0, 1),
            Tensor::Of<int64_t>({1, 3}, {0, 128, 255}));
  EXPECT_THAT(
      Clean(InputReader::OfValues(of("<u4", std::string(12, '\0')), narrow, "net.onnx").status()),
      HasSubstr("holds u32; input 'narrow' of net.onnx takes i32"));
  // A bool is 0 or 1, whatever byte the file has.
  const auto bits = std::make_shared<const DataSet>(*arrays->Read(*arrays->Find("bits")));
  const Tensor flag = *InputReader::OfValues(bits, flags, "net.onnx")->MakeBatch(0, 1);
  EXPECT_EQ(static_cast<int>(flag.bytes()[0]), 1);
  EXPECT_EQ(static_cast<int>(flag.bytes()[1]), 1);
}

// The header as numpy.save of version 1.0 writes it.
TEST(NpyHeader, IsNumPys) {
  const auto header = NpyHeader(ElementType::kFloat32, {2, 3});
  ASSERT_TRUE(header.ok()) << header.status();
  std::string expected = std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                         "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  expected.append(127 - expected.size(), ' ');
  EXPECT_EQ(*header, expected + '\n');
  EXPECT_THAT(*NpyHeader(ElementType::kInt8, {5}),
              HasSubstr("'|i1', 'fortran_order': False, 'shape': (5,), }"));
  EXPECT_THAT(*NpyHeader(ElementType::kBool, Shape{}), HasSubstr("'shape': (), }"));
  EXPECT_FALSE(NpyHeader(ElementType::kBfloat16, {1}).ok());
}

// Any memory gives the same bytes; the samples come in pieces, the arrays in turns.
TEST_F(NamedTest, WritesWhatIsReadAgain) {
  std::string first;
  for (const int64_t memory : {NpzWriter::kMemoryBytes, int64_t{1}}) {
    const auto path = folder_ / ("out" + std::to_string(memory) + ".npz");
    NpzWriter writer(path, memory);
    const auto a = writer.Add("a", ElementType::kInt64, {3, 1}),
               b = writer.Add("b%2F", ElementType::kFloat32, {2});
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_FALSE(writer.Add("a", ElementType::kFloat32, {1}).ok());
    for (int64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(writer.Append(*a, std::as_bytes(std::span(&i, 1))).ok());
      const float x = 0.5f * static_cast<float>(i);
      if (i == 2) continue;
      ASSERT_TRUE(writer.Append(*b, std::as_bytes(std::span(&x, 1))).ok());
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder_) || memory == 1)
        << "nothing is there before Finish";
    ASSERT_TRUE(writer.Finish().ok());
    const auto arrays = NamedArrays::Open(path);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_THAT(arrays->names(), ElementsAre("a", "b%2F"));
    const auto set = arrays->Read(*arrays->Find("b/"));
    ASSERT_TRUE(set.ok()) << set.status();
    float half = 0;
    std::memcpy(&half, set->Image(1).data(), sizeof(half));
    EXPECT_EQ(half, 0.5f);
    EXPECT_EQ(arrays->Read(0)->size(), 3);
    const std::string bytes = *ReadFile(path);
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().extension(), ".npz") << entry.path();
  }
}

// What does not fit into memory waits in the nearest folder that is there; the others come about
// with the file.
TEST_F(NamedTest, SpillsBeforeTheFolderIsThere) {
  const auto path = folder_ / "new/deeper/out.npz";
  NpzWriter writer(path, 16);
  const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto x = writer.Add("x", ElementType::kFloat32, {8});
  ASSERT_TRUE(x.ok());
  for (const float& value : values)
    ASSERT_TRUE(writer.Append(*x, std::as_bytes(std::span(&value, 1))).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  std::filesystem::create_directories(path.parent_path());
  ASSERT_TRUE(writer.Finish().ok());
  const auto set = NamedArrays::Open(path)->Read(0);
  ASSERT_TRUE(set.ok()) << set.status();
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(std::memcmp(set->Image(i).data(), &values[static_cast<size_t>(i)], sizeof(float)), 0);
  }
}

TEST_F(NamedTest, AFailureLeavesTheOldFile) {
  std::filesystem::create_directories(folder_ / "taken.npz");
  NpzWriter onto_folder(folder_ / "taken.npz");
  ASSERT_TRUE(onto_folder.AddTensor("x", Tensor::Of<float>({1}, {1})).ok());
  EXPECT_THAT(Clean(onto_folder.Finish()), HasSubstr("taken.npz: is not a regular file"));
  NpzWriter nowhere(folder_ / "no/such/folder.npz");
  ASSERT_TRUE(nowhere.AddTensor("x", Tensor::Of<float>({1}, {1})).ok());
  EXPECT_FALSE(nowhere.Finish().ok());
  int64_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 1);
}

TEST_F(NamedTest, LabelsMayBelongToPlaces) {
  const auto images =
      Write("i.npy", Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 4)}", "abcdefgh"));
  const auto labels =
      Write("l.npy", Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1, 2)}",
                         std::string("\x01\x02\x03\xff", 4)));
  const StatusOr<DataSet> set = LoadDataSet(images, {.labels = labels});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->label_shape(), (Shape{1, 2}));
  EXPECT_EQ(set->labels_per_image(), 2);
  EXPECT_THAT(set->labels(), ElementsAre(1, 2, 3, 255));
  EXPECT_TRUE(set->CheckLabels(4, 255).ok());
  EXPECT_THAT(Clean(set->CheckLabels(4)),
              HasSubstr("l.npy: image 1: label 255; the network tells 4 classes apart"));
  const auto map = Write("m.pgm", std::string("P5 2 1 255\n\x05\x06"));
  EXPECT_THAT(LoadLabels(map)->values, ElementsAre(5, 6));
  EXPECT_EQ(LoadLabels(map)->shape, (Shape{1, 2}));
  EXPECT_THAT(
      Clean(LoadDataSet(images, {.labels = map}).status()),
      HasSubstr(
          "m.pgm: labels for 1 image, 1x2 for each image, where i.npy holds 2 images; name the "));
}

}  // namespace
}  // namespace kiln
