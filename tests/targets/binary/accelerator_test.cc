// Design points of the binary family: what is read, what is refused, and what a program says.

#include "kiln/targets/binary/accelerator.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "kiln/ir/text.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/registry.h"

namespace kiln::binary {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& keys) {
  const auto config = ParseConfig("family: binary\nname: x\n" + keys, "x.yaml");
  return config.ok() ? "" : std::string(config.status().message());
}

TEST(DesignPoint, PrintsWhatItReads) {
  const auto config =
      ParseConfig("family: binary\nname: x\ncolumns_0: 4\nprediction: predicted\n", "x.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->columns_0, 4);
  EXPECT_EQ(config->prediction, Prediction::kPredicted);
  const auto again = ParseConfig(PrintConfig(*config), "y.yaml");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintConfig(*again), PrintConfig(*config));
}

TEST(DesignPoint, KeysThatDoNotFitEachOtherAreRefused) {
  EXPECT_EQ(ErrorOf(""), "");
  EXPECT_THAT(ErrorOf("channels_0: 40\n"), HasSubstr("not a whole number of beats of 16 bytes"));
  EXPECT_THAT(ErrorOf("channels_1: 20\n"), HasSubstr("a multiple of 8"));
  EXPECT_THAT(ErrorOf("columns_0: 16\nchannels_1: 32\n"), HasSubstr("at most 8"));
  EXPECT_THAT(ErrorOf("prediction: perhaps\n"), HasSubstr("none, exact, predicted"));
  EXPECT_THAT(ErrorOf("group: 7\n"), HasSubstr("group"));
}

TEST(DesignPoint, ThePapersMachineHas176ElementsOf27Products) {
  const Config config;
  int64_t elements = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t products = int64_t{config.tables(i)} * config.group * config.columns(i);
    EXPECT_EQ(products % kElementProducts, 0);
    elements += products / kElementProducts;
  }
  EXPECT_EQ(elements, 176);
  // 1,188 G products of signs and bytes a second at 500 MHz, as the paper prints.
  EXPECT_DOUBLE_EQ(BinaryAccelerator(config).PeakMacsPerCycle() * 0.5, 1188.0);
}

// What the README says of the records of a launch is what the stream holds: the codes of the image,
// rows first, with the padding around it.
TEST(EmittedLaunches, HaveTheRecordsOfTheReadme) {
  const auto graph = ParseGraph(
      "graph \"net\" { input %x : f32[1x3x4x2] quant int8 per_tensor scale=[0.5] zero=[3]\n"
      "const %w : f32[2x2x3x3] quant int8 per_tensor symmetric scale=[1] = [" +
          std::string("1, -2, 3, 0, 1, 2, -1, 0, 4, 1, 1, -1, 2, 0, 3, 1, -2, 1, ") +
          "2, 1, 0, 1, -1, 2, 0, 3, 1, 1, 0, 2, 1, -1, 1, 2, 0, 1]\n"
          "%y = conv %x, %w {kernel_shape=[3, 3], layout=\"nhwc\", pads=[1, 1, 1, 1]} \"conv\" : "
          "f32[1x3x4x2] quant int8 per_tensor scale=[0.5]\n output %y }",
      "net.kir");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto config = ParseConfig(*ReadFile("accelerators/binary-small.yaml"), "small.yaml");
  ASSERT_TRUE(config.ok()) << config.status();
  const BinaryAccelerator accelerator(*config);
  const auto program = accelerator.Compile(*graph, {});
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_FALSE((*program)->kernels()[0].on_host()) << (*program)->kernels()[0].host_reason;
  // Codes 0, 1, 2 and so on less 10, in the order of the tensor.
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) values.push_back(0.5F * static_cast<float>(i - 10 - 3));
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-binary-launches");
  const FolderContent content{
      .network = "net", .sample = {{Tensor::Of<float>({1, 3, 4, 2}, values)}}, .figures = ""};
  ASSERT_EQ(accelerator.EmitRtl(**program, content, folder.path() / "design"), OkStatus());
  const auto text = [&](const std::string& name) {
    return ReadFile(folder.path() / "design" / name).value_or("");
  };
  const std::string header = text("driver/kiln_tensors.h"), input = text("sample/input0.bin");
  const auto number = [&](const std::string& name) {
    std::smatch found;
    const std::regex line("KILN_LAUNCH_0_" + name + " ([0-9]+)u");
    EXPECT_TRUE(std::regex_search(header, found, line)) << name << header;
    return found.empty() ? size_t{0} : std::stoul(found[1].str());
  };
  const std::string readme = std::regex_replace(text("README.md"), std::regex("\\s+"), " ");
  std::smatch said;
  const std::regex item(
      "- Codes 0 to 1 of each record: channels 0 to 1 of `x` .int8, 1 x 3 x 4 x 2; value = 0.5 [*] "
      ".code - 3.. at .y( - [0-9]+)?, x( - [0-9]+)?., each code (less|plus) ([0-9]+); (-?[0-9]+) "
      "where|- Codes 0 to 1 of each record: channels 0 to 1 of `x` .int8, 1 x 3 x 4 x 2; value = "
      "0.5 [*] .code - 3.. at .y( - [0-9]+)?, x( - [0-9]+)?.; (-?[0-9]+) where");
  ASSERT_TRUE(std::regex_search(readme, said, item)) << readme;
  const bool shifted = said[4].matched;
  const auto moved = [&](size_t group) {
    return said[group].matched ? std::stoi(said[group].str().substr(3)) : 0;
  };
  const int dy = moved(shifted ? 1 : 6), dx = moved(shifted ? 2 : 7);
  const int outside = std::stoi(said[shifted ? 5 : 8].str());
  const int shift = !shifted ? 0 : std::stoi(said[4].str()) * (said[3].str() == "less" ? -1 : 1);
  // Records, rows first: of the map with the padding, if the host writes it.
  const int width = 4 + 2 * dx;
  ASSERT_EQ(number("PIXELS"), static_cast<size_t>((3 + 2 * dy) * width));
  const size_t beat = static_cast<size_t>(config->beat_bytes),
               code_bytes = static_cast<size_t>(config->activation_bits) / 8;
  ASSERT_EQ(code_bytes, 1u);
  const size_t first = number("OFFSET") + beat * (number("LOAD_BEATS") + 1);
  for (size_t pixel = 0; pixel < number("PIXELS"); ++pixel) {
    const int y = static_cast<int>(pixel) / width - dy, x = static_cast<int>(pixel) % width - dx;
    const bool inside = y >= 0 && y < 3 && x >= 0 && x < 4;
    for (int channel = 0; channel < 2; ++channel) {
      const int expected = inside ? (y * 4 + x) * 2 + channel - 10 + shift : outside;
      const size_t at =
          first + pixel * beat * number("RECORD_BEATS") + static_cast<size_t>(channel);
      ASSERT_LT(at, input.size());
      EXPECT_EQ(static_cast<uint8_t>(input[at]), static_cast<uint8_t>(expected))
          << "pixel " << pixel << ", channel " << channel;
    }
  }
}

}  // namespace
}  // namespace kiln::binary
