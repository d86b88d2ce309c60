// Tests of resizing and cropping: against Pillow's results (tests/data/images/make_images.py), and
// by hand.
#include "kiln/frontend/image_resize.h"

#include <gmock/gmock.h>

#include "kiln/frontend/data_convert.h"
#include "tests/frontend/data_test_files.h"
#include "tests/test_data.h"

namespace kiln {
namespace {

using testing::HasSubstr;

DataSet Load(const std::string& name) {
  StatusOr<DataSet> set = LoadDataSet(TestData("images/" + name));
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

// Preprocesses the first image of a set for an input of that shape.
StatusOr<Tensor> Preprocessed(const DataSet& set, const std::string& text, const Shape& shape) {
  Graph graph;
  const Value* input = graph.AddInput("image", {ElementType::kFloat32, shape});
  KILN_ASSIGN_OR_RETURN(Preprocess preprocess, ParsePreprocess(text, "", "--preprocess"));
  KILN_ASSIGN_OR_RETURN(const ImageConverter converter,
                        ImageConverter::Create(&set, std::move(preprocess), *input, "net.onnx"));
  return converter.MakeBatch(0, 1);
}

TEST(ImageResize, HasTheBitsOfPillow) {
  struct Case {
    const char* image;
    const char* preprocess;
    const char* expected;
  };
  for (const Case& c : {Case{"photo.ppm", "resize=16", "photo_16.ppm"},
                        {"photo.ppm", "resize=16,crop=11x12", "photo_16_crop11x12.ppm"},
                        {"photo.ppm", "resize=40", "photo_40.ppm"},
                        {"photo.ppm", "resize=9,interpolation=bicubic", "photo_9_bicubic.ppm"},
                        {"photo.ppm", "interpolation=bicubic,resize=31", "photo_31_bicubic.ppm"},
                        {"grey.pgm", "resize=8x30", "grey_8x30.pgm"},
                        {"grey.pgm", "crop=24", "grey_crop24.pgm"},
                        {"grey.pgm", "crop=36x10", "grey_crop36x10.pgm"}}) {
    SCOPED_TRACE(c.expected);
    const DataSet set = Load(c.image), wanted = Load(c.expected);
    const Shape& size = wanted.image_shape();
    const Shape input =
        size.rank() == 2 ? Shape{1, 1, size[0], size[1]} : Shape{1, 3, size[0], size[1]};
    const auto expected = Preprocessed(wanted, "none", input);
    const auto result = Preprocessed(set, c.preprocess, input);
    ASSERT_TRUE(expected.ok() && result.ok()) << result.status();
    EXPECT_TRUE(*result == *expected);
  }
}

// The same for images that are stored with their channels first.
TEST(ImageResize, OfChannelsFirst) {
  const DataSet photo = Load("photo.ppm"), wanted = Load("photo_16_crop11x12.ppm");
  std::string planes;
  const auto image = photo.Image(0);
  for (size_t c = 0; c < 3; ++c) {
    for (size_t i = c; i < image.size(); i += 3) planes += static_cast<char>(image[i]);
  }
  DataSet::Parts parts;
  parts.count = 1;
  parts.image_shape = Shape{3, 23, 37};
  parts.stride = std::ssize(planes);
  parts.bytes = std::make_shared<const std::string>(planes);
  const DataSet set("planes", DataFormat::kNpy, std::move(parts));
  const auto expected = Preprocessed(wanted, "scale=1/255", {1, 3, 11, 12});
  const auto result = Preprocessed(set, "scale=1/255,resize=16,crop=11x12", {1, 3, 11, 12});
  ASSERT_TRUE(expected.ok() && result.ok()) << result.status();
  EXPECT_TRUE(*result == *expected);
}

std::vector<std::byte> Bytes(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// From 4 to 2 samples the triangle reaches two samples to each side, and the weights are 3, 3, 1
// and 1, 3, 3, each divided by 7: (3 * 10 + 3 * 20 + 40) / 7 = 18.6 and
// (20 + 3 * 40 + 3 * 80) / 7 = 54.3. Doubled, a sample lies a quarter between its neighbours:
// (3 * 10 + 20) / 4 = 12.5, which is rounded upwards.
TEST(ImageResize, ByHand) {
  EXPECT_EQ(ResizeImage(Bytes({10, 20, 40, 80}), {1, 4}, {1, 2}, 1, Interpolation::kBilinear),
            Bytes({19, 54}));
  EXPECT_EQ(ResizeImage(Bytes({10, 20, 40, 80}), {4, 1}, {2, 1}, 1, Interpolation::kBilinear),
            Bytes({19, 54}));
  EXPECT_EQ(ResizeImage(Bytes({10, 20}), {1, 2}, {1, 4}, 1, Interpolation::kBilinear),
            Bytes({10, 13, 18, 20}));
  // The cubic is -9, 111, 29 and -3 128ths at distances 1.25, 0.25, 0.75 and 1.75. Result 3 is
  // (29 - 3) * 255 / 128 = 51.8, result 4 (111 - 9) * 255 / 128 = 203.2; results 2 and 5 saturate.
  EXPECT_EQ(ResizeImage(Bytes({0, 0, 255, 255}), {1, 4}, {1, 8}, 1, Interpolation::kBicubic),
            Bytes({0, 0, 0, 52, 203, 255, 255, 255}));
}

// A margin of 3 is 1.5 pixels to each side, which rounds to 2; one of 1 and one of 5 round to 0 and
// to 2. A missing row is added below.
TEST(ImageResize, CropsAndPadsAsTorchvisionRounds) {
  EXPECT_EQ(CropCentre(Bytes({0, 1, 2, 3}), {1, 4}, {1, 1}, 1), Bytes({2}));
  EXPECT_EQ(CropCentre(Bytes({0, 1, 2, 3}), {1, 4}, {1, 3}, 1), Bytes({0, 1, 2}));
  EXPECT_EQ(CropCentre(Bytes({0, 1, 2, 3, 4, 5}), {6, 1}, {1, 1}, 1), Bytes({2}));
  EXPECT_EQ(CropCentre(Bytes({1, 2}), {1, 2}, {2, 5}, 1), Bytes({0, 1, 2, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(CropCentre(Bytes({1, 2, 3, 4, 5, 6}), {1, 3}, {1, 1}, 2), Bytes({3, 4}));
}

// int(256 * 500 / 375) = 341, and the other side decides for an upright image.
TEST(ImageResize, KeepsTheRatio) {
  EXPECT_EQ(ResizeShorterSide({375, 500}, 256), (ImageSize{256, 341}));
  EXPECT_EQ(ResizeShorterSide({500, 375}, 256), (ImageSize{341, 256}));
  EXPECT_EQ(ResizeShorterSide({7, 7}, 3), (ImageSize{3, 3}));
}

// Crop alone takes any type of element.
TEST(ImageResize, CropsFloats) {
  DataSet::Parts parts;
  parts.count = 1;
  parts.image_shape = Shape{1, 3};
  parts.element = ElementType::kFloat32;
  parts.stride = 12;
  const float values[] = {1.5f, 2.5f, 3.5f};
  parts.bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(values), 12);
  const DataSet set("floats", DataFormat::kNpy, std::move(parts));
  const auto cropped = Preprocessed(set, "crop=1,scale=2", {1, 1, 1, 1});
  ASSERT_TRUE(cropped.ok()) << cropped.status();
  EXPECT_EQ(cropped->data<float>()[0], 5.0f);
  EXPECT_EQ(MessageOf(Preprocessed(set, "resize=1", {1, 1, 1, 3}).status()),
            "floats: resize takes images of uint8; these are f32; store them as uint8, or resize "
            "them before");
}

TEST(ImageResize, NamesWhatIsWrong) {
  const DataSet photo = Load("photo.ppm");
  const auto error = [&](const std::string& text, const Shape& shape) {
    return MessageOf(Preprocessed(photo, text, shape).status());
  };
  EXPECT_THAT(error("none", {1, 3, 16, 16}),
              HasSubstr("images of 23x37x3 (hwc) do not fit input 'image' of net.onnx, which takes "
                        "3x16x16; choose data of that shape, or name resize and crop in "
                        "--preprocess"));
  EXPECT_THAT(error("resize=16", {1, 3, 16, 16}),
              HasSubstr("images of 23x37x3 (hwc), 3x16x25 after resize and crop, do not fit"));
  for (const char* text : {"resize=0", "resize=16x", "resize=-1", "crop=1x2x3", "crop=a"}) {
    EXPECT_THAT(error(text, {1, 3, 16, 16}),
                HasSubstr("is neither a number of pixels nor HEIGHTxWIDTH, of 1 to 16384"))
        << text;
  }
  EXPECT_THAT(error("interpolation=nearest", {1, 3, 16, 16}),
              HasSubstr("interpolation 'nearest' is none of bilinear, bicubic"));
  DataSet::Parts parts;
  parts.count = 1;
  parts.image_shape = Shape{4};
  parts.stride = 4;
  parts.bytes = std::make_shared<const std::string>("abcd");
  const DataSet flat("flat", DataFormat::kNpy, std::move(parts));
  EXPECT_THAT(MessageOf(Preprocessed(flat, "crop=2", {1, 4}).status()),
              HasSubstr("samples of 4 are not images that resize or crop could change"));
}

TEST(ImageResize, ReadsAndPrintsItsKeys) {
  for (const char* text : {"resize=256,crop=224,scale=1/255",
                           "resize=240x320,interpolation=bicubic", "crop=3x4", "resize=16384"}) {
    const auto p = ParsePreprocess(text, "", "--preprocess");
    ASSERT_TRUE(p.ok()) << p.status();
    EXPECT_EQ(p->ToString(), text);
  }
  EXPECT_EQ(ParsePreprocess("crop=3x3,interpolation=bilinear", "", "p")->ToString(), "crop=3");
}

}  // namespace
}  // namespace kiln
