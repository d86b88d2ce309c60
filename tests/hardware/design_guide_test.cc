// The files of an emitted folder that say where inputs and outputs are.
#include "kiln/hardware/design_guide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(TensorHeader(guide),
            R"(/* Inputs and outputs in the machine's memory. Emitted by Kiln. C99. */
#ifndef KILN_TENSORS_H
#define KILN_TENSORS_H

/* Where the programs are, and what they need. */
#define KILN_PROGRAM_ADDRESS 0xc000u
#define KILN_MEMORY_BYTES 0xf000u

/* in/x_/: int8, 2 x 3; value = 0.5 * (code + 3) */
#define KILN_INPUT_IN_X___ADDRESS 0x40u
#define KILN_INPUT_IN_X___BYTES 6u

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

TEST(Readme, SaysHowFarElementsAreApart) {
  DesignGuide guide;
  guide.family = "toy";
  PlacedTensor blocked = TensorAt("v", 0x100);
  // 64 channels: 16 in a word, and four planes of words; two pixels; codes of four bits.
  blocked.axes = {{"y", {{1, 0}}}, {"x", {{2, 64}}}, {"channel", {{16, 4}, {4, 128}}}};
  guide.inputs = {TensorAt("plain", 0x40), blocked};
  const std::string readme = ReadmeOf(guide, "top", {}, {});
  EXPECT_THAT(readme, testing::HasSubstr("- `plain`: int8, 2 (3 B apart) x 3 (1 B apart); 6 bytes "
                                         "from 0x40; value = 0.5 * (code + 3).\n"));
  EXPECT_THAT(readme, testing::HasSubstr(
                          "- `v`: int8, y 1, x 2 (8 B apart), channel 64 (16 of 4 bits apart, in 4 "
                          "groups 16 B apart); "));
}

}  // namespace
}  // namespace kiln::hardware
