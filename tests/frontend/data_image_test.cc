// Tests of JPEG and PNG files, against what Pillow decodes (tests/data/images/make_images.py), and
// of folders of images.
#include <gmock/gmock.h>

#include <fstream>

#include "kiln/frontend/data_convert.h"
#include "kiln/frontend/data_input.h"
#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "tests/frontend/data_test_files.h"
#include "tests/test_data.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

fs::path Picture(const std::string& name) { return TestData("images/" + name); }

std::string PixelsOf(const DataSet& set, int64_t i = 0) {
  const auto image = set.Load(i);
  EXPECT_TRUE(image.ok()) << image.status();
  return {reinterpret_cast<const char*>(image->bytes.data()), image->bytes.size()};
}

class ImageFiles : public DataFilesTest {
 protected:
  void Copy(const std::string& picture, const std::string& to) const {
    fs::create_directories((folder_ / to).parent_path());
    fs::copy_file(Picture(picture), folder_ / to);
  }
  static std::string ErrorOf(const fs::path& path, const DataOptions& options = {}) {
    const auto set = LoadDataSet(path, options);
    return set.ok() ? "no error" : MessageOf(set.status());
  }
};

TEST_F(ImageFiles, HaveTheBitsOfPillow) {
  struct Case {
    const char* file;
    const char* expected;
    int64_t channels;
  };
  for (const Case& c : {Case{"colour.jpg", "colour.jpg.ppm", 0},
                        {"progressive.jpg", "progressive.jpg.ppm", 0},
                        {"grey.jpg", "grey.jpg.pgm", 0},
                        {"colour.png", "photo.ppm", 0},
                        {"grey.png", "grey.pgm", 0},
                        {"palette.png", "palette.png.ppm", 0},
                        {"alpha.png", "alpha.png.ppm", 3},
                        {"bits.png", "bits.png.pgm", 0},
                        {"colour.png", "colour.png.grey.pgm", 1}}) {
    SCOPED_TRACE(c.file);
    const auto set = LoadDataSet(Picture(c.file), {.channels = c.channels});
    const auto expected = LoadDataSet(Picture(c.expected));
    ASSERT_TRUE(set.ok() && expected.ok()) << set.status();
    EXPECT_EQ(set->image_shape(), expected->image_shape());
    EXPECT_EQ(set->layout(), ImageLayout::kHwc);
    EXPECT_EQ(PixelsOf(*set), PixelsOf(*expected));
  }
}

// Grey becomes three equal colours.
TEST_F(ImageFiles, TakeTheChannelsOfTheNetwork) {
  const auto grey = LoadDataSet(Picture("grey.png")),
             colours = LoadDataSet(Picture("grey.png"), {.channels = 3});
  ASSERT_TRUE(grey.ok() && colours.ok());
  EXPECT_EQ(colours->image_shape(), (Shape{31, 19, 3}));
  const std::string one = PixelsOf(*grey), three = PixelsOf(*colours);
  for (size_t i = 0; i < three.size(); ++i) ASSERT_EQ(three[i], one[i / 3]) << i;
}

TEST_F(ImageFiles, NameWhatIsNotRead) {
  EXPECT_EQ(ErrorOf(Picture("cmyk.jpg")),
            Picture("cmyk.jpg").string() + ": is a JPEG file of CMYK colours; save it as RGB");
  // The frame header of a JPEG (ITU-T T.81, B.2.2): length, precision, lines, samples per line, and
  // the number of components with three bytes each. A scan header (B.2.3): length, and the number
  // of components with two bytes each. The last component is taken out of both.
  std::string two = *ReadFile(Picture("colour.jpg"));
  const size_t frame = two.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  ASSERT_EQ(two[frame + 9], 3);
  two[frame + 3] = 14;
  two[frame + 9] = 2;
  two.erase(frame + 16, 3);
  const size_t scan = two.find("\xff\xda");
  ASSERT_NE(scan, std::string::npos);
  ASSERT_EQ(two[scan + 4], 3);
  two[scan + 3] = 10;
  two[scan + 4] = 2;
  two.erase(scan + 9, 2);
  const fs::path file = Write("two.jpg", two);
  EXPECT_EQ(ErrorOf(file), file.string() +
                               ": is a JPEG file of neither one nor three colour components; "
                               "save it as RGB");
  for (const char* name : {"colour.jpg", "progressive.jpg", "colour.png"}) {
    const std::string bytes = *ReadFile(Picture(name));
    for (const size_t size : {bytes.size() - 40, bytes.size() / 2, size_t{24}}) {
      const fs::path cut = Write(name, bytes.substr(0, size));
      EXPECT_THAT(ErrorOf(cut), HasSubstr(cut.string() + ": is damaged (")) << size;
    }
  }
  // Bytes 24 and 25 of a PNG are the bits per sample and the type of colour.
  std::string bytes = *ReadFile(Picture("colour.png"));
  bytes[40] = static_cast<char>(bytes[40] ^ 1);
  EXPECT_THAT(ErrorOf(Write("x.png", bytes)), HasSubstr("x.png: is damaged ("));
  EXPECT_THAT(ErrorOf(Picture("grey.png"), {.format = DataFormat::kImages}),
              HasSubstr("grey.png: is a file; --data-format images reads a folder of images"));
}

// Classes by name; the first image of each comes first.
TEST_F(ImageFiles, OfAFolderOfClasses) {
  Copy("colour.png", "set/b/2.png");
  Copy("photo.ppm", "set/b/10.ppm");
  Copy("colour.jpg", "set/a/x.JPG");
  Copy("grey.png", "set/c/x.png");
  Write("set/b/notes.txt", "not an image");
  Write("set/b/.hidden.jpg", "");
  const auto set = LoadDataSet(folder_ / "set");
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(IsImageFolder(folder_ / "set"));
  EXPECT_TRUE(set->is_folder());
  EXPECT_EQ(set->size(), 4);
  EXPECT_THAT(set->labels(), ElementsAre(0, 1, 2, 1));
  EXPECT_EQ(set->NameOf(3), (folder_ / "set/b/2.png").string());
  EXPECT_EQ(PixelsOf(*set, 1), PixelsOf(*LoadDataSet(Picture("photo.ppm"))));
  // The network decides the channels of all.
  EXPECT_EQ(set->Load(2)->shape, (Shape{31, 19, 3}));
  EXPECT_EQ(LoadDataSet(folder_ / "set", {.channels = 1})->Load(0)->shape, (Shape{23, 37}));
}

TEST_F(ImageFiles, OfAFolderWithoutClasses) {
  Copy("colour.png", "set/2.png");
  Copy("grey.png", "set/1.png");
  const auto set = LoadDataSet(folder_ / "set", {.labels = Write("labels.txt", "7\n8\n")});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->labels(), ElementsAre(7, 8));
  EXPECT_EQ(set->NameOf(0), (folder_ / "set/1.png").string());
  EXPECT_FALSE(LoadDataSet(folder_ / "set")->has_labels());
}

// Images of different sizes become inputs of one size.
TEST_F(ImageFiles, AreResizedAndCropped) {
  Copy("colour.png", "set/1.png");
  Copy("grey.png", "set/2.png");
  const auto set = LoadDataSet(folder_ / "set");
  ASSERT_TRUE(set.ok()) << set.status();
  Graph graph;
  const Value* input = graph.AddInput("image", {ElementType::kFloat32, Shape{1, 3, 11, 12}});
  const auto converter = [&](const std::string& preprocess) {
    return ImageConverter::Create(&*set, *ParsePreprocess(preprocess, "", "p"), *input, "net.onnx");
  };
  const auto batch = converter("resize=16,crop=11x12")->MakeBatch(0, 2);
  ASSERT_TRUE(batch.ok()) << batch.status();
  const auto wanted = LoadDataSet(Picture("photo_16_crop11x12.ppm"));
  const auto expected =
      ImageConverter::Create(&*wanted, {}, *input, "net.onnx")->MakeBatch(0, 1)->ToFloats();
  const std::vector<float> all = batch->ToFloats();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.begin()));
  // What resize and crop decide is checked at once, the rest for each image.
  EXPECT_THAT(MessageOf(converter("crop=9").status()),
              HasSubstr("set: images of ?x?x3 (hwc), 3x9x9 after resize and crop, do not fit"));
  EXPECT_EQ(MessageOf(converter("resize=11")->MakeBatch(0, 2).status()),
            (folder_ / "set/1.png").string() +
                ": images of 23x37x3 (hwc), 3x11x17 after resize and crop, do not fit input "
                "'image' of net.onnx, which takes 3x11x12; choose data of that shape, or name "
                "resize and crop in --preprocess");
  EXPECT_THAT(MessageOf(converter("layout=chw,crop=11x12").status()),
              HasSubstr("layout=chw, but image files store pixel after pixel"));
  fs::resize_file(folder_ / "set/2.png", 100);
  EXPECT_THAT(MessageOf(converter("crop=11x12")->MakeBatch(0, 2).status()),
              HasSubstr("2.png: is damaged ("));
  const Value* ids = graph.AddInput("ids", {ElementType::kInt64, Shape{1, 3}});
  EXPECT_THAT(
      MessageOf(
          InputReader::OfValues(std::make_shared<const DataSet>(*set), *ids, "net.onnx").status()),
      HasSubstr("net.onnx: input 'ids': is ids i64 1x3; "));
}

TEST_F(ImageFiles, NameWhatIsWrongWithAFolder) {
  const auto error = [&](const std::string& name) { return ErrorOf(folder_ / name); };
  fs::create_directories(folder_ / "empty");
  EXPECT_FALSE(IsImageFolder(folder_ / "empty"));
  Write("empty/notes.txt", "");
  EXPECT_THAT(error("empty"), HasSubstr("empty: holds no images and no .npy files; JPEG, PNG"));
  Copy("grey.png", "mixed/a.png");
  Copy("grey.png", "mixed/b/b.png");
  EXPECT_THAT(error("mixed"), HasSubstr("mixed: holds images and folders such as 'b'; only"));
  Copy("grey.png", "deep/a/b/c.png");
  EXPECT_THAT(error("deep"), HasSubstr("deep/a: holds no images; each folder"));
  Copy("grey.png", "deep/a/c.png");
  EXPECT_THAT(error("deep"), HasSubstr("deep/a: holds another folder; each folder"));
  Copy("grey.png", "other/a.png");
  Write("other/b.webp", "");
  EXPECT_THAT(error("other"), HasSubstr("b.webp: is an image of a kind that is not read; JPEG"));
  Copy("grey.png", "wrong/a.png");
  Write("wrong/b.jpg", "x");
  EXPECT_THAT(MessageOf(LoadDataSet(folder_ / "wrong")->Load(1).status()),
              HasSubstr("b.jpg: is no image that is read; JPEG, PNG, PGM and PPM are read"));
  Write("arrays/x.npy", "");
  EXPECT_FALSE(IsImageFolder(folder_ / "arrays"));
}

TEST_F(ImageFiles, HaveABudgetOfFiles) {
  EXPECT_EQ(DataOptions().folder_files, budgets::kImageFolderFiles);
  Copy("grey.png", "set/a/1.png");
  Copy("grey.png", "set/a/2.png");
  EXPECT_EQ(ErrorOf(folder_ / "set", {.folder_files = 3}), "no error");  // and the class
  EXPECT_EQ(
      ErrorOf(folder_ / "set", {.folder_files = 2}),
      (folder_ / "set/a").string() + ": holds images or folders beyond the first 2; split it");
}

// The first scan of a progressive file, again and again.
TEST_F(ImageFiles, HaveABudgetOfScans) {
  const std::string bytes = *ReadFile(Picture("progressive.jpg"));
  const size_t first = bytes.find("\xff\xda"), second = bytes.find("\xff\xc4", first);
  int64_t scans = 0;
  for (size_t at = first; at != std::string::npos; at = bytes.find("\xff\xda", at + 1)) ++scans;
  const auto with = [&](int64_t wanted) {
    std::string out = bytes.substr(0, second);
    for (int64_t i = scans; i < wanted; ++i) out += bytes.substr(first, second - first);
    return Write("scans.jpg", out + bytes.substr(second));
  };
  EXPECT_EQ(ErrorOf(with(budgets::kJpegScans)), "no error");
  EXPECT_THAT(ErrorOf(with(budgets::kJpegScans + 1)),
              HasSubstr("scans.jpg: has too many scans; save it again"));
}

// A PNG header that claims 8192x8193 pixels; its checksum is zlib's.
TEST_F(ImageFiles, HaveABudgetOfPixels) {
  const auto with = [&](uint32_t height) {
    std::string bytes = *ReadFile(Picture("grey.png"));
    for (size_t i = 0; i < 4; ++i) {
      bytes[16 + i] = static_cast<char>(8192u >> (24 - 8 * i));
      bytes[20 + i] = static_cast<char>(height >> (24 - 8 * i));
    }
    const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(&bytes[12]), 17);
    for (size_t i = 0; i < 4; ++i) bytes[29 + i] = static_cast<char>(sum >> (24 - 8 * i));
    return ErrorOf(Write("x.png", bytes));
  };
  EXPECT_EQ(int64_t{8192} * 8192, budgets::kImagePixels);
  EXPECT_THAT(with(8192), HasSubstr("is damaged ("));  // the pixels are missing
  EXPECT_THAT(with(8193), HasSubstr("x.png: has too many pixels; shrink it"));
}

}  // namespace
}  // namespace kiln
