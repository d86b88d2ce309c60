// Tests of the readers of image and label files in every format, and of damaged files.
#include "kiln/frontend/data_set.h"

#include <gmock/gmock.h>

#include <numeric>

#include "kiln/support/random.h"
#include "tests/frontend/data_test_files.h"

namespace kiln {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DataSetTest : public DataFilesTest {
 protected:
  // The error of reading `path`, without the folder.
  std::string ErrorOf(const std::filesystem::path& path, const DataOptions& options = {}) const {
    const StatusOr<DataSet> set = LoadDataSet(path, options);
    if (set.ok()) return "no error";
    std::string message = MessageOf(set.status());
    for (size_t at; (at = message.find(folder_.string() + "/")) != std::string::npos;) {
      message.erase(at, folder_.string().size() + 1);
    }
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  }

  template <typename T>
  static std::vector<T> ImageOf(const DataSet& set, int64_t i) {
    const auto bytes = set.Image(i);
    std::vector<T> out(bytes.size() / sizeof(T));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }

  static std::string Counting(size_t n) {
    std::string out(n, '\0');
    std::iota(out.begin(), out.end(), '\0');
    return out;
  }
};

TEST_F(DataSetTest, ReadsIdxWithItsLabels) {
  const auto path = Write("t-images-idx3-ubyte", Idx(8, {3, 2, 2}, Counting(12)));
  Write("t-labels-idx1-ubyte", Idx(8, {3}, std::string("\x07\x00\x09", 3)));
  const StatusOr<DataSet> set = LoadDataSet(path);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->format(), DataFormat::kIdx);
  EXPECT_EQ(set->size(), 3);
  EXPECT_EQ(set->image_shape(), (Shape{2, 2}));
  EXPECT_EQ(set->element(), ElementType::kUint8);
  EXPECT_THAT(set->labels(), ElementsAre(7, 0, 9));
  EXPECT_THAT(ImageOf<uint8_t>(*set, 2), ElementsAre(8, 9, 10, 11));
}

TEST_F(DataSetTest, ReadsGzippedIdx) {
  const std::string images = Idx(8, {3, 2, 2}, Counting(12));
  const auto path = Write("t-images-idx3-ubyte.gz", Gzip(images));
  Write("t-labels-idx1-ubyte", Idx(8, {3}, "\x01\x02\x03"));  // the plain file serves too
  const StatusOr<DataSet> set = LoadDataSet(path);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(ImageOf<uint8_t>(*set, 1), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(set->labels(), ElementsAre(1, 2, 3));

  // Two members in a row are one file.
  const auto members = Write("m.idx.gz", Gzip(images.substr(0, 7)) + Gzip(images.substr(7)));
  const StatusOr<DataSet> joined = LoadDataSet(members);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->size(), 3);
  EXPECT_FALSE(joined->has_labels());
}

TEST_F(DataSetTest, IdxElementsAreBigEndian) {
  const auto path = Write("f.idx", Idx(0x0d, {1, 2}, std::string("\x3f\x80\0\0\xc0\0\0\0", 8)));
  const StatusOr<DataSet> set = LoadDataSet(path);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->element(), ElementType::kFloat32);
  EXPECT_THAT(ImageOf<float>(*set, 0), ElementsAre(1.0f, -2.0f));
  const auto shorts = Write("s.idx", Idx(0x0b, {2, 1}, std::string("\x01\x02\xff\xfe", 4)));
  const StatusOr<DataSet> s = LoadDataSet(shorts);
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_THAT(ImageOf<int16_t>(*s, 1), ElementsAre(-2));
}

TEST_F(DataSetTest, ReadsCifarRecords) {
  std::string file;
  for (char label : {'\x03', '\x09'})
    file += std::string(1, label) + std::string(1024, label) + std::string(2048, 'b');
  const StatusOr<DataSet> ten = LoadDataSet(Write("data.bin", file));
  ASSERT_TRUE(ten.ok()) << ten.status();
  EXPECT_EQ(ten->format(), DataFormat::kCifar10);
  EXPECT_EQ(ten->size(), 2);
  EXPECT_EQ(ten->image_shape(), (Shape{3, 32, 32}));
  EXPECT_THAT(ten->labels(), ElementsAre(3, 9));
  EXPECT_EQ(ImageOf<uint8_t>(*ten, 1)[1023], 9);
  EXPECT_EQ(ImageOf<uint8_t>(*ten, 1)[1024], 'b');

  const auto hundred_path = Write("h.bin", std::string("\x13\x63") + std::string(3072, 'x'));
  const StatusOr<DataSet> hundred = LoadDataSet(hundred_path, {.format = DataFormat::kCifar100});
  ASSERT_TRUE(hundred.ok()) << hundred.status();
  EXPECT_THAT(hundred->labels(), ElementsAre(99));
}

TEST_F(DataSetTest, ReadsNpyInBothOrdersAndByteOrders) {
  const std::string c = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2, 3), }";
  std::vector<int16_t> values(12);
  std::iota(values.begin(), values.end(), int16_t{0});
  for (int version : {1, 2, 3}) {
    const StatusOr<DataSet> set = LoadDataSet(Write("c.npy", Npy(c, BytesOf(values), version)));
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_EQ(set->image_shape(), (Shape{2, 3}));
    EXPECT_THAT(ImageOf<int16_t>(*set, 1), ElementsAre(6, 7, 8, 9, 10, 11));
  }
  // Element (n, y, x) of a 2x2x3 array stands at n + 2 y + 4 x in Fortran's order.
  std::vector<int16_t> fortran(12);
  for (int n = 0; n < 2; ++n) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 3; ++x) fortran[n + 2 * y + 4 * x] = values[6 * n + 3 * y + x];
    }
  }
  const StatusOr<DataSet> f =
      LoadDataSet(Write("f.npy", Npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2, 3)}",
                                     BytesOf(fortran))));
  ASSERT_TRUE(f.ok()) << f.status();
  EXPECT_THAT(ImageOf<int16_t>(*f, 1), ElementsAre(6, 7, 8, 9, 10, 11));

  const StatusOr<DataSet> big =
      LoadDataSet(Write("b.npy", Npy("{'descr': '>u2', 'fortran_order': False, 'shape': (1, 2)}",
                                     std::string("\x01\x02\x03\x04", 4))));
  ASSERT_TRUE(big.ok()) << big.status();
  EXPECT_THAT(ImageOf<uint16_t>(*big, 0), ElementsAre(0x0102, 0x0304));
}

TEST_F(DataSetTest, RefusesZipMethodsThatNumPyLacks) {
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 2), }\n";
  const std::filesystem::path path = WriteNpz("b.npz", {{"x.npy", Npy(header, "ab")}});
  EXPECT_TRUE(LoadDataSet(path).ok());
  int fault = 0;
  zip_t* archive = zip_open(path.c_str(), 0, &fault);
  ASSERT_NE(archive, nullptr);
  ASSERT_EQ(zip_set_file_compression(archive, 0, ZIP_CM_BZIP2, 0), 0);
  ASSERT_EQ(zip_close(archive), 0);
  const StatusOr<DataSet> set = LoadDataSet(path);
  ASSERT_FALSE(set.ok());
  EXPECT_THAT(MessageOf(set.status()), HasSubstr("array 'x': is compressed by method 12 of zip"));
}

TEST_F(DataSetTest, ReadsNpzByName) {
  const std::string y =
      Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", BytesOf<int64_t>({4, 5}));
  const std::string x = Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3)}", "abcdef");
  const std::string other = Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1)}", "z");
  const StatusOr<DataSet> named =
      LoadDataSet(WriteNpz("a.npz", {{"other.npy", other}, {"y.npy", y}, {"x.npy", x}}));
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->size(), 2);
  EXPECT_THAT(named->labels(), ElementsAre(4, 5));
  EXPECT_THAT(ImageOf<uint8_t>(*named, 1), ElementsAre('d', 'e', 'f'));
  const std::string sevens =
      Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", BytesOf<int64_t>({7, 7}));
  const StatusOr<DataSet> both =
      LoadDataSet(WriteNpz("c.npz", {{"y.npy", y}, {"labels.npy", sevens}, {"x.npy", x}}));
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_THAT(both->labels(), ElementsAre(7, 7));
  // An array of that name which holds no labels, which nobody asked for: the images have none, and
  // the set knows why.
  const std::string floats =
      Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", BytesOf<float>({4, 5}));
  const std::string three =
      Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (3,)}", BytesOf<int64_t>({1, 2, 3}));
  for (const auto& [array, why] : {std::pair{floats, "labels of shape 2 and type f32"},
                                   std::pair{three, "3 labels for the 2 images of "}}) {
    const StatusOr<DataSet> without =
        LoadDataSet(WriteNpz("d.npz", {{"y.npy", array}, {"x.npy", x}}));
    ASSERT_TRUE(without.ok()) << without.status();
    EXPECT_FALSE(without->has_labels());
    EXPECT_THAT(without->no_labels(), HasSubstr(why));
  }
  // Without a name that says images, the first array that is not the labels.
  const StatusOr<DataSet> first =
      LoadDataSet(WriteNpz("b.npz", {{"labels.npy", y}, {"arr_0.npy", x}}));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(ImageOf<uint8_t>(*first, 0), ElementsAre('a', 'b', 'c'));
}

TEST_F(DataSetTest, ReadsRawAndPnm) {
  const auto raw = Write("r.bin", BytesOf<float>({1, 2, 3, 4, 5, 6, 7, 8}));
  const StatusOr<DataSet> set = LoadDataSet(raw, {.shape = Shape{1, 2, 2}});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->size(), 2);
  EXPECT_THAT(ImageOf<float>(*set, 1), ElementsAre(5, 6, 7, 8));

  const StatusOr<DataSet> grey = LoadDataSet(Write("g.pgm", "P5 # size\n3 2\n255\nabcdef"));
  ASSERT_TRUE(grey.ok()) << grey.status();
  EXPECT_EQ(grey->image_shape(), (Shape{2, 3}));
  EXPECT_THAT(ImageOf<uint8_t>(*grey, 0), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  const StatusOr<DataSet> colour =
      LoadDataSet(Write("c.ppm", std::string("P6 1 1 65535\n\x01\x02\0\x04\0\x06", 19)));
  ASSERT_TRUE(colour.ok()) << colour.status();
  EXPECT_EQ(colour->layout(), ImageLayout::kHwc);
  EXPECT_THAT(ImageOf<uint16_t>(*colour, 0), ElementsAre(0x102, 4, 6));
}

TEST_F(DataSetTest, ReadsLabelsOfEveryKind) {
  const auto images =
      Write("i.npy", Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1)}", "ab"));
  const auto text = Write("l.txt", "3\r\n\n4\n");
  const auto npy =
      Write("l.npy", Npy("{'descr': '|i1', 'fortran_order': False, 'shape': (2, 1)}", "\x03\x04"));
  const auto idx = Write("l.idx", Idx(8, {2}, "\x03\x04"));
  for (const auto& labels : {text, npy, idx}) {
    const StatusOr<DataSet> set = LoadDataSet(images, {.labels = labels});
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_THAT(set->labels(), ElementsAre(3, 4)) << labels;
  }
  const StatusOr<DataSet> set = LoadDataSet(images, {.labels = text});
  EXPECT_TRUE(set->CheckLabels(5).ok());
  EXPECT_THAT(MessageOf(set->CheckLabels(4)),
              HasSubstr("l.txt: image 1: label 4; the network tells 4 classes apart"));
}

TEST_F(DataSetTest, NamesWhatIsWrong) {
  EXPECT_EQ(ErrorOf(folder_ / "none.npy"), "none.npy: no such file; check the path");
  EXPECT_EQ(ErrorOf(Write("e.npy", "")), "e.npy: is empty; name a file of images");
  EXPECT_THAT(ErrorOf(Write("what.dat", "something else")),
              HasSubstr("say it with --data-format: idx, cifar10"));
  const std::string idx = Idx(8, {2, 2, 2}, Counting(8));
  EXPECT_EQ(ErrorOf(Write("t.idx", idx.substr(0, 20))),
            "t.idx: truncated: IDX sizes 2x2x2 need 24 bytes, the file has 20; fetch it again");
  EXPECT_THAT(ErrorOf(Write("l.idx", idx + "x")), HasSubstr("too long"));
  EXPECT_THAT(ErrorOf(Write("h.idx", idx.substr(0, 9))),
              HasSubstr("cut off within the IDX header"));
  EXPECT_THAT(ErrorOf(Write("k.idx", Idx(0x0a, {1, 1}, "a"))),
              HasSubstr("unknown IDX type code 10"));
  EXPECT_THAT(ErrorOf(Write("big.idx", Idx(8, {0xffffffff, 0xffffffff, 4}, "a"))),
              HasSubstr("too large"));
  EXPECT_THAT(ErrorOf(Write("zero.idx", Idx(8, {0xffffffff, 0xffffffff, 0}, ""))),
              HasSubstr("holds no images"));
  EXPECT_THAT(ErrorOf(Write("one.idx", Idx(8, {3}, "abc"))), HasSubstr("name the images here"));
  EXPECT_EQ(
      ErrorOf(Write("c.bin", std::string(3073, '\x0a'))),
      "c.bin: image 0: label 10 is out of range for CIFAR-10; 0 to 9; or is it of another format "
      "(--data-format)?");
  EXPECT_THAT(ErrorOf(Write("c2.bin", std::string(3072, 'a')), {.format = DataFormat::kCifar10}),
              HasSubstr("3072 bytes are no whole number of CIFAR-10 records of 3073 bytes"));
  EXPECT_THAT(ErrorOf(Write("r.bin", std::string(10, 'a'))), HasSubstr("--data-shape"));
  EXPECT_THAT(
      ErrorOf(Write("r.bin", std::string(10, 'a')), {.shape = Shape{2}}),
      HasSubstr("10 bytes are no whole number of float32 images of shape 2 (8 bytes each)"));
  EXPECT_THAT(ErrorOf(Write("p.pgm", "P5 4 4 255\nabc")),
              HasSubstr("needs 16 bytes after the header"));
  EXPECT_THAT(ErrorOf(Write("q.pgm", "P5 4 -4 255\nabc")), HasSubstr("the header is damaged"));
  EXPECT_THAT(ErrorOf(Write("z.npz", "PK\x03\x04 and no more")),
              HasSubstr("not a readable .npz archive"));
  const std::string gz = Gzip(idx);
  EXPECT_THAT(ErrorOf(Write("g.idx.gz", gz.substr(0, gz.size() - 9))),
              HasSubstr("gzip data is cut off"));
  std::string damaged = gz;
  damaged[gz.size() - 6] ^= 1;  // the checksum
  EXPECT_THAT(ErrorOf(Write("d.idx.gz", damaged)), HasSubstr("damaged gzip data"));
  const auto images =
      Write("i.npy", Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1)}", "ab"));
  EXPECT_EQ(ErrorOf(images, {.labels = Write("l.txt", "1\n2\n3\n")}),
            "l.txt: 3 labels for the 2 images of i.npy; name the labels that belong to them");
  EXPECT_EQ(ErrorOf(images, {.labels = Write("m.txt", "1\n-2\n")}),
            "m.txt: line 2: '-2' is no label; one integer of 0 or more a line");
}

TEST_F(DataSetTest, NamesWhatIsWrongInNpy) {
  const auto header = [this](const std::string& text) {
    return ErrorOf(Write("a.npy", Npy(text, "abcd")));
  };
  EXPECT_THAT(
      header("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}"),
      HasSubstr("truncated: shape 2x1 of '<f4' needs 8 bytes after the header, the file has 4"));
  EXPECT_THAT(header("{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1)}"),
              HasSubstr("dtype '<c8'"));
  EXPECT_THAT(header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"),
              HasSubstr("arrays of records are not read"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': 1, 'shape': (1, 1)}"),
              HasSubstr("True or False"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
              HasSubstr("a tuple of sizes"));
  EXPECT_THAT(
      header("{'descr': '|u1', 'fortran_order': False, 'shape': (9999999, 9999999, 9999999)}"),
      HasSubstr("is too large"));
  EXPECT_THAT(header("{'descr': '|u1', 'shape': (4, 1)}"),
              HasSubstr("the keys descr, fortran_order and shape"));
  EXPECT_THAT(header("{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}"),
              HasSubstr("holds no images"));
  EXPECT_THAT(ErrorOf(Write("v.npy", Npy("{}", "", 7))), HasSubstr(".npy version 7"));
}

// Any damage gives a set or an error, never a crash or a read past the end (the address sanitiser
// watches).
TEST_F(DataSetTest, SurvivesDamage) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"a.idx", Idx(8, {3, 2, 2}, Counting(12))},
      {"a.npy", Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", Counting(24))},
      {"a.idx.gz", Gzip(Idx(8, {3, 2, 2}, Counting(12)))},
      {"a.pgm", "P5 3 2 255\nabcdef"}};
  Random random(7);
  for (const auto& [name, bytes] : files) {
    for (int round = 0; round < 300; ++round) {
      std::string damaged = bytes;
      for (uint64_t i = 0; i <= random.Below(3); ++i) {
        damaged[random.Below(damaged.size())] = static_cast<char>(random.Below(256));
      }
      if (random.Below(3) == 0) damaged.resize(random.Below(damaged.size()) + 1);
      const StatusOr<DataSet> set = LoadDataSet(Write(name, damaged));
      if (!set.ok()) continue;
      for (int64_t i = 0; i < set->size(); ++i) EXPECT_FALSE(set->Image(i).empty());
    }
  }
}

TEST(DataFormats, EveryNameFindsItsRow) {
  for (const DataFormatInfo& row : AllDataFormats()) {
    const StatusOr<DataFormat> found = FindDataFormat(row.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(*found, row.format);
  }
  EXPECT_THAT(MessageOf(FindDataFormat("webp").status()), HasSubstr("one of: auto, idx, cifar10"));
}

}  // namespace
}  // namespace kiln
