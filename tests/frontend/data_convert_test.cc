// Tests of preprocessing: its text and YAML forms, and the conversion of stored images to network
// inputs.
#include "kiln/frontend/data_convert.h"

#include <gmock/gmock.h>

#include "kiln/support/parallel.h"
#include "kiln/support/random.h"
#include "tests/frontend/data_test_files.h"

namespace kiln {
namespace {

using testing::HasSubstr;

TEST(Preprocess, ReadsAndPrints) {
  const auto p = ParsePreprocess(
      "scale=1/255, mean=0.485:0.456:0.406,std=0.229:0.224:0.225,layout=hwc", "f", "p");
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(p->multiply, 1.0f);
  EXPECT_EQ(p->divide, 255.0f);
  EXPECT_EQ(p->mean, (std::vector<float>{0.485f, 0.456f, 0.406f}));
  EXPECT_EQ(p->layout, ImageLayout::kHwc);
  const auto again = ParsePreprocess(p->ToString(), "f", "p");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *p);
  EXPECT_EQ(ParsePreprocess("none", "f", "p")->ToString(), "none");
  EXPECT_EQ(ParsePreprocess("scale=0.0078125", "f", "p")->ToString(), "scale=0.0078125");
}

TEST(Preprocess, KeepsWhatIsNotNamed) {
  const Preprocess base = *ParsePreprocess("scale=1/255,mean=0.5,std=2", "f", "p");
  const auto over = [&](std::string_view text) {
    return ParsePreprocess(text, "f", "p", base)->ToString();
  };
  EXPECT_EQ(over("layout=hwc"), "scale=1/255,mean=0.5,std=2,layout=hwc");
  EXPECT_EQ(over("scale=3,std=1:4"), "scale=3,mean=0.5,std=1:4");
  EXPECT_EQ(over("none"), "none");
  EXPECT_EQ(over("none, layout=chw"), "layout=chw");
  EXPECT_THAT(MessageOf(ParsePreprocess("scale=2,none", "f", "p", base).status()),
              HasSubstr("'none' is not of the"));
}

// Every number may be an expression; each is rounded to fp32 once.
TEST(Preprocess, ComputesExpressions) {
  const auto p = ParsePreprocess(
      "scale=2/255-0.5,mean=127.5/128: 1 - 2*0.25 :-3+4/2*3,std=1/128:1e-2*3:2", "f", "p");
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(p->multiply, static_cast<float>(2.0 / 255 - 0.5));
  EXPECT_EQ(p->divide, 1.0f);
  EXPECT_THAT(p->mean, testing::ElementsAre(0.99609375f, 0.5f, 3.0f));
  EXPECT_THAT(p->std, testing::ElementsAre(0.0078125f, static_cast<float>(0.01 * 3), 2.0f));
  const auto again = ParsePreprocess(p->ToString(), "f", "p");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *p);
  // One fraction still divides.
  EXPECT_EQ(ParsePreprocess("scale=1/255", "f", "p")->divide, 255.0f);
  EXPECT_EQ(ParsePreprocess("scale=1/255,channels=bgr", "f", "p")->ToString(),
            "scale=1/255,channels=bgr");
  EXPECT_EQ(ParsePreprocess("channels=rgb", "f", "p")->ToString(), "none");
}

TEST(Preprocess, NamesWhatIsWrong) {
  const auto error = [](std::string_view text) {
    return MessageOf(ParsePreprocess(text, "", "--preprocess").status());
  };
  EXPECT_THAT(error("scale=1/0"),
              HasSubstr("--preprocess: scale '1/0' is not a number, a fraction or an expression"));
  EXPECT_THAT(error("std=1:0"), HasSubstr("std '0' would divide by zero"));
  EXPECT_THAT(error("std=inf"), HasSubstr("std 'inf' is not a number"));
  EXPECT_THAT(error("mean=1::2"), HasSubstr("mean '' is not a number"));
  for (const char* text :
       {"mean=1/", "mean=1/0", "mean=(1)", "mean=1 2", "mean=1e30*1e30", "mean=+", "mean=1**2"}) {
    EXPECT_THAT(error(text), HasSubstr("is not a number or an expression of numbers")) << text;
  }
  EXPECT_THAT(error("std=1-1"), HasSubstr("std '1-1' would divide by zero"));
  EXPECT_THAT(error("channels=brg"), HasSubstr("channels 'brg' is none of rgb, bgr"));
  EXPECT_THAT(
      error("gain=2"),
      HasSubstr("unknown key 'gain'; one of: resize, interpolation, crop, scale, mean, std, "
                "layout, channels"));
  EXPECT_THAT(error("mean=1,mean=2"), HasSubstr("key 'mean' occurs twice"));
  EXPECT_THAT(error("layout=nchw"), HasSubstr("layout 'nchw' is none of chw, hwc"));
  EXPECT_THAT(error("255"), HasSubstr("'255' is not of the form key=value"));
}

class ConvertTest : public DataFilesTest {
 protected:
  // A data set of one .npy array.
  template <typename T>
  DataSet SetOf(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
    StatusOr<DataSet> set = LoadDataSet(Write(
        "x.npy", Npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + ")}",
                     BytesOf(values))));
    EXPECT_TRUE(set.ok()) << set.status();
    return *std::move(set);
  }

  StatusOr<ImageConverter> ConverterOf(const DataSet& set, const std::string& preprocess,
                                       Shape input) {
    const auto p = ParsePreprocess(preprocess, "", "--preprocess");
    EXPECT_TRUE(p.ok()) << p.status();
    Value* value = graph_.AddInput("image", {ElementType::kFloat32, std::move(input)});
    return ImageConverter::Create(&set, *p, *value, "net.onnx");
  }

  Graph graph_;
};

TEST_F(ConvertTest, ComputesInTheStatedOrder) {
  std::vector<uint8_t> bytes(2 * 3 * 2 * 2);
  Random random(3);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random.Below(256));
  const DataSet set = SetOf("|u1", "2, 3, 2, 2", bytes);
  const auto converter =
      ConverterOf(set, "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225", {1, 3, 2, 2});
  ASSERT_TRUE(converter.ok()) << converter.status();
  const Tensor batch = *converter->MakeBatch(0, 2);
  EXPECT_EQ(batch.shape(), (Shape{2, 3, 2, 2}));
  const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
  for (size_t i = 0; i < bytes.size(); ++i) {
    const size_t c = i / 4 % 3;
    const float scaled = static_cast<float>(bytes[i]) / 255.0f;
    const float centred = scaled - mean[c];
    EXPECT_EQ(batch.data<float>()[i], centred / deviation[c]) << i;
  }
}

// A byte and a float of the same value must come out as the same bits: one goes through a table,
// one does not.
TEST_F(ConvertTest, ElementTypesAgree) {
  std::vector<uint8_t> bytes(256);
  std::vector<float> floats(256);
  std::vector<int64_t> longs(256);
  for (size_t i = 0; i < 256; ++i)
    bytes[i] = static_cast<uint8_t>(longs[i] = static_cast<int64_t>(floats[i] = i));
  const std::string text = "scale=1/255,mean=0.2860,std=0.3530";
  const DataSet a = SetOf("|u1", "1, 256", bytes), b = SetOf("<f4", "1, 256", floats),
                c = SetOf("<i8", "1, 256", longs);
  const auto from_bytes = ConverterOf(a, text, {1, 256}),
             from_floats = ConverterOf(b, text, {1, 256}),
             from_longs = ConverterOf(c, text, {1, 256});
  ASSERT_TRUE(from_bytes.ok() && from_floats.ok() && from_longs.ok());
  EXPECT_TRUE(*from_bytes->MakeBatch(0, 1) == *from_floats->MakeBatch(0, 1));
  EXPECT_TRUE(*from_bytes->MakeBatch(0, 1) == *from_longs->MakeBatch(0, 1));
}

TEST_F(ConvertTest, TurnsChannelsFirst) {
  const DataSet set = SetOf<float>("<f4", "1, 2, 2, 3", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const auto converter = ConverterOf(set, "layout=hwc", {1, 3, 2, 2});
  ASSERT_TRUE(converter.ok()) << converter.status();
  EXPECT_EQ(converter->MakeBatch(0, 1)->ToFloats(),
            (std::vector<float>{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}));
}

// Stored red, green, blue; mean in the network's order, which begins with blue.
TEST_F(ConvertTest, TurnsChannelsRound) {
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<float> expected = {-97, -94, -91, -88, 2, 5, 8, 11, 1, 4, 7, 10};
  const DataSet set = SetOf<float>("<f4", "1, 2, 2, 3", floats);
  const auto converter = ConverterOf(set, "layout=hwc,channels=bgr,mean=100:0:0", {1, 3, 2, 2});
  ASSERT_TRUE(converter.ok()) << converter.status();
  EXPECT_EQ(converter->MakeBatch(0, 1)->ToFloats(), expected);
  const DataSet bytes =
      SetOf<uint8_t>("|u1", "1, 2, 2, 3", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(ConverterOf(bytes, "layout=hwc,channels=bgr,mean=100:0:0", {1, 3, 2, 2})
                ->MakeBatch(0, 1)
                ->ToFloats(),
            expected);
  const DataSet grey = SetOf<float>("<f4", "1, 1, 2, 2", {1, 2, 3, 4});
  EXPECT_THAT(MessageOf(ConverterOf(grey, "channels=bgr", {1, 1, 2, 2}).status()),
              HasSubstr("channels=bgr, but images of 1 channels"));
}

TEST_F(ConvertTest, SameBitsForAnyThreadCount) {
  std::vector<uint8_t> bytes(1000 * 12);
  Random random(5);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random.Below(256));
  const DataSet set = SetOf("|u1", "1000, 12", bytes);
  const auto converter = ConverterOf(set, "scale=1/255", {kUnknownDim, 12});
  ASSERT_TRUE(converter.ok()) << converter.status();
  SetThreadCount(1);
  const Tensor one = *converter->MakeBatch(3, 990);
  SetThreadCount(4);
  EXPECT_TRUE(one == *converter->MakeBatch(3, 990));
  SetThreadCount(0);
}

TEST_F(ConvertTest, FitsUpToOnesAndFlatVectors) {
  const DataSet set = SetOf<uint8_t>("|u1", "1, 2, 3", {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(ConverterOf(set, "none", {1, 1, 2, 3}).ok());
  EXPECT_TRUE(ConverterOf(set, "none", {1, 6}).ok());
  EXPECT_TRUE(ConverterOf(set, "none", {kUnknownDim, 2, 3, 1}).ok());
  EXPECT_FALSE(ConverterOf(set, "none", {1, 1, 3, 2}).ok());
  EXPECT_FALSE(ConverterOf(set, "none", {1, 2, 1, 2}).ok());
}

TEST_F(ConvertTest, NamesWhatDoesNotFit) {
  const DataSet set = SetOf<uint8_t>("|u1", "1, 2, 2, 3", std::vector<uint8_t>(12));
  const auto error = [&](const std::string& preprocess, const Shape& shape) {
    return MessageOf(ConverterOf(set, preprocess, shape).status());
  };
  EXPECT_THAT(error("none", {1, 3, 2, 2}),
              HasSubstr("images of 2x2x3 (chw) do not fit input 'image' of net.onnx, which takes "
                        "3x2x2; if that is "
                        "their order, say layout=hwc"));
  EXPECT_THAT(error("none", {1, 1, 28, 28}),
              HasSubstr("which takes 1x28x28; choose data of that shape, or name resize"));
  EXPECT_THAT(error("layout=hwc,mean=1:2", {1, 3, 2, 2}),
              HasSubstr("images of 3 channels, but 2 values of mean"));
  EXPECT_THAT(error("none", {1, 3, kUnknownDim, 2}),
              HasSubstr("all dimensions but the batch must be known"));
}

TEST_F(ConvertTest, ReadsYaml) {
  const auto p = LoadPreprocess(Write("p.yaml", "scale: 1/255\nmean: [0.5, 0.25]\nstd: [2]\n"));
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(p->ToString(), "scale=1/255,mean=0.5:0.25,std=2");
  const Preprocess base = *ParsePreprocess("mean=3,layout=hwc", "f", "p");
  EXPECT_EQ(LoadPreprocess(Write("p.yaml", "scale: 1/255\nmean: [0.5, 0.25]\n"), base)->ToString(),
            "scale=1/255,mean=0.5:0.25,layout=hwc");
  EXPECT_THAT(MessageOf(LoadPreprocess(Write("q.yaml", "scale: 1\nmeen: 3\n")).status()),
              HasSubstr("q.yaml: line 2"));
  EXPECT_THAT(MessageOf(LoadPreprocess(Write("r.yaml", "std: [1, 0]\n")).status()),
              HasSubstr("line 1, key 'std': std '0' would divide by zero"));
}

}  // namespace
}  // namespace kiln
