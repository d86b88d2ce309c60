// The files of an emitted folder that say where inputs and outputs are.
#include "kiln/hardware/design_guide.h"

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
  EXPECT_EQ(TensorHeader(guide),
            R"(/* Inputs and outputs in the machine's memory. Emitted by Kiln. C99. */
#ifndef KILN_TENSORS_H
#define KILN_TENSORS_H

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

}  // namespace
}  // namespace kiln::hardware
