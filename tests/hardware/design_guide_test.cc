// The files of an emitted folder that say where inputs and outputs are.
#include "kiln/hardware/design_guide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace kiln::hardware {
namespace {

PlacedTensor TensorAt(const std::string& name, uint64_t base) {
  PlacedTensor tensor;
  tensor.name = name;
  tensor.base = base;
  tensor.axes = AxesOf(std::vector<int64_t>{2, 3}, std::vector<int64_t>{24, 8});
  tensor.format = "int8";
  tensor.meaning = "value = 0.5 * (code + 3)";
  return tensor;
}

TEST(TensorHeader, NamesWhatIsInMemory) {
  DesignGuide guide;
  guide.inputs = {TensorAt("in/x*/", 0x40), TensorAt("in.x.1", 0x80)};
  guide.outputs = {TensorAt("y", 0x1000), TensorAt("Y", 0x2000)};
  guide.constants = {{"PROGRAM_ADDRESS", 0xc000}, {"MEMORY_BYTES", 0xf000}};
  guide.inputs[0].scales = {0.5};
  guide.inputs[0].zero_point = -3;
  EXPECT_EQ(TensorHeader(guide),
            R"(/* Inputs and outputs in the machine's memory. Emitted by Kiln. C99. */
#ifndef KILN_TENSORS_H
#define KILN_TENSORS_H

/* Numbers that a run needs. */
#define KILN_PROGRAM_ADDRESS 0xc000u
#define KILN_MEMORY_BYTES 0xf000u

/* in/x_/: int8, 2 x 3; value = 0.5 * (code + 3) */
#define KILN_INPUT_IN_X___ADDRESS 0x40u
#define KILN_INPUT_IN_X___BYTES 6u
#define KILN_INPUT_IN_X___SCALE 0.5
#define KILN_INPUT_IN_X___ZERO_POINT (-3)

/* in.x.1: int8, 2 x 3; value = 0.5 * (code + 3) */
#define KILN_INPUT_IN_X_1_ADDRESS 0x80u
#define KILN_INPUT_IN_X_1_BYTES 6u

/* y: int8, 2 x 3; value = 0.5 * (code + 3) */
#define KILN_OUTPUT_Y_ADDRESS 0x1000u
#define KILN_OUTPUT_Y_BYTES 6u

/* Y: int8, 2 x 3; value = 0.5 * (code + 3) */
#define KILN_OUTPUT_Y_2_ADDRESS 0x2000u
#define KILN_OUTPUT_Y_2_BYTES 6u

#endif /* KILN_TENSORS_H */
)");
}

TEST(TensorHeader, HasListsOfNumbersByChannel) {
  DesignGuide guide;
  guide.places = DesignGuide::Places::kStreams;
  guide.outputs = {TensorAt("out0", 0)};
  guide.outputs[0].scales = {1, 0.25, 1e-9};
  guide.outputs[0].offsets = {0, -2, 0.5};
  const std::string text = TensorHeader(guide);
  EXPECT_THAT(text, testing::HasSubstr("#define KILN_OUTPUT_OUT0_OFFSET 0x0u\n"
                                       "#define KILN_OUTPUT_OUT0_BYTES 6u\n"
                                       "#define KILN_OUTPUT_OUT0_SCALES_COUNT 3u\n"
                                       "#define KILN_OUTPUT_OUT0_SCALES { \\\n"
                                       "  1.0, 0.25, 1e-09}\n"
                                       "#define KILN_OUTPUT_OUT0_OFFSETS_COUNT 3u\n"
                                       "#define KILN_OUTPUT_OUT0_OFFSETS { \\\n"
                                       "  0.0, -2.0, 0.5}\n"));
  // Long lists are broken into lines.
  guide.outputs[0].scales.assign(100, 0.0078125);
  std::istringstream lines(TensorHeader(guide));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(TensorHeader, HasTheNumbersOfLaunches) {
  DesignGuide guide;
  guide.places = DesignGuide::Places::kBeats;
  guide.inputs = {TensorAt("in", 0)};
  EXPECT_FALSE(HasTensorHeader(guide));
  guide.launches = {{.kernel = "conv 1", .operation = "conv", .numbers = {{"load_beats", 7}}},
                    {.kernel = "fc", .operation = "product", .numbers = {{"load_beats", 9}}}};
  EXPECT_TRUE(HasTensorHeader(guide));
  EXPECT_EQ(TensorHeader(guide), R"(/* What a run needs. Emitted by Kiln. C99. */
#ifndef KILN_TENSORS_H
#define KILN_TENSORS_H

/* The launches of README.md, which says what the numbers are. */
#define KILN_LAUNCHES 2u

/* conv_1 */
#define KILN_LAUNCH_0_LOAD_BEATS 7u

/* fc */
#define KILN_LAUNCH_1_LOAD_BEATS 9u

#endif /* KILN_TENSORS_H */
)");
}

TEST(TensorHeader, SaysHowPixelsBecomeValues) {
  DesignGuide guide;
  guide.inputs = {TensorAt("x", 0x40)};
  guide.preprocess = {.text = "scale=1/255,mean=0.4:0.5:0.6,std=0.2",
                      .divide = 255,
                      .mean = {0.4, 0.5, 0.6},
                      .std = {0.2}};
  const std::string text = TensorHeader(guide);
  EXPECT_THAT(text, testing::HasSubstr(
                        "\n/* Preprocessing of the network's input: scale=1/255,mean=0.4:0.5:0.6,"
                        "std=0.2.\n * The stored number x of an image becomes the value (x / 255 - "
                        "mean of the channel) / 0.2. */\n"
                        "#define KILN_PREPROCESS_MULTIPLY 1.0\n"
                        "#define KILN_PREPROCESS_DIVIDE 255.0\n"
                        "#define KILN_PREPROCESS_MEAN_COUNT 3u\n"
                        "#define KILN_PREPROCESS_MEAN { \\\n  0.4, 0.5, 0.6}\n"
                        "#define KILN_PREPROCESS_STD_COUNT 1u\n"
                        "#define KILN_PREPROCESS_STD { \\\n  0.2}\n"));
  EXPECT_THAT(ReadmeOf(guide, "top", nullptr, "", {}),
              testing::HasSubstr("`scale=1/255,mean=0.4:0.5:0.6,std=0.2`"));
  guide.preprocess->text.clear();
  EXPECT_THAT(TensorHeader(guide),
              testing::HasSubstr("\n/* No preprocessing of the network's input is stated. */\n"));
  EXPECT_THAT(ReadmeOf(guide, "top", nullptr, "", {}),
              testing::HasSubstr("\nNo preprocessing of the network's input is stated"));
}

TEST(Readme, ListsLaunchesPortsAndParameters) {
  DesignGuide guide;
  guide.family = "toy";
  guide.launches_text = "What the numbers are.";
  guide.launches = {{.kernel = "conv 1",
                     .operation = "conv 3x3",
                     .numbers = {{"load_beats", 7}, {"runs", 3}},
                     .reads = {"`x`: all of it."},
                     .writes = {"`y`: all of it."}}};
  guide.views = {"`z`: its element e is element e of `x`."};
  TopModule top;
  top.buses = {{"read", AxiReadSignals(8, 40)}};
  for (Bus& bus : top.buses) AddAttributes(&bus);
  top.ports = {{true, 1, "irq"}};
  top.observed = {{true, 16, "finished"}};
  Instance machine;
  AddMemoryBase(top.buses[0], 32, &machine, &top);
  const std::string readme = ReadmeOf(guide, "top", &top, "kiln:accelerators:toy:1.0.0", {});
  EXPECT_THAT(readme, testing::HasSubstr("\n## Launches\n\nWhat the numbers are.\n\n"
                                         "| launch | load beats | runs |\n|---|---|---|\n"
                                         "| 0 | 7 | 3 |\n"));
  EXPECT_THAT(readme, testing::HasSubstr("\n### Launch 0 of `conv_1`\n\nconv 3x3\n\nThe host "
                                         "sends:\n\n- `x`: all of it.\n\nThe host receives:\n\n"
                                         "- `y`: all of it.\n"));
  EXPECT_THAT(readme, testing::HasSubstr("\n- `z`: its element e is element e of `x`.\n"));
  EXPECT_THAT(readme, testing::HasSubstr(
                          "| `irq` | output, the interrupt, a level that is active high |\n"
                          "| `finished` | output, 16 bits, for testbenches; a system leaves it "
                          "open |\n"));
  EXPECT_THAT(readme, testing::HasSubstr("\n- `AXI_CACHE` (4 bits, default 3): "));
  EXPECT_THAT(readme, testing::HasSubstr("the most beats of a burst are\n`read_` 256."));
  EXPECT_THAT(readme, testing::HasSubstr("\n- `MEMORY_BASE` (40 bits, default 0): "));
  EXPECT_THAT(readme, testing::HasSubstr(
                          "\nfusesoc --cores-root . run --target=sim kiln:accelerators:toy:1.0.0\n"
                          "vivado -mode batch -source vivado.tcl -tclargs synth "));
}

TEST(Readme, SaysHowFarElementsAreApart) {
  DesignGuide guide;
  guide.family = "toy";
  PlacedTensor blocked = TensorAt("v", 0x100);
  // 64 channels: 16 in a word, and four planes of words; two pixels; codes of four bits.
  blocked.axes = {{"y", {{1, 0}}}, {"x", {{2, 64}}}, {"channel", {{16, 4}, {4, 128}}}};
  guide.inputs = {TensorAt("plain", 0x40), blocked};
  const std::string readme = ReadmeOf(guide, "top", nullptr, "", {});
  EXPECT_THAT(readme, testing::HasSubstr("- `plain`: int8, 2 (3 B apart) x 3 (1 B apart); 6 bytes "
                                         "from 0x40; value = 0.5 * (code + 3).\n"));
  EXPECT_THAT(readme, testing::HasSubstr(
                          "- `v`: int8, y 1, x 2 (8 B apart), channel 64 (16 of 4 bits apart, in 4 "
                          "groups 16 B apart); "));
}

}  // namespace
}  // namespace kiln::hardware
