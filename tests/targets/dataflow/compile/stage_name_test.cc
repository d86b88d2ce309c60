// Tests of the short names of stages.
#include "kiln/targets/dataflow/compile/stage_name.h"

#include <gtest/gtest.h>

#include <string>

namespace kiln::dataflow {
namespace {

TEST(StageName, LeavesOutWhatPartsRepeat) {
  EXPECT_EQ(StageName("/stem/stem.0/Conv+/stem/stem.1/BatchNormalization+/stem/stem.2/Relu"),
            "stem_0_Conv");
  EXPECT_EQ(StageName("/stage1/body/body.0/body.0.0/Conv"), "stage1_body_0_0_Conv");
  EXPECT_EQ(StageName("/stage2/stage2.1/body/body.1/body.1.0/Conv+/x/Relu"),
            "stage2_1_body_1_0_Conv");
  EXPECT_EQ(StageName("/block/block/Add"), "block_Add");
  // A part that only begins with the same letters is another one.
  EXPECT_EQ(StageName("/body/body2/Conv"), "body_body2_Conv");
  EXPECT_EQ(StageName("/body/x/body.0/Conv"), "body_x_body_0_Conv");
}

TEST(StageName, OtherNamesStayPlain) {
  EXPECT_EQ(StageName("conv1"), "conv1");
  EXPECT_EQ(StageName("model/conv2d/Conv2D:0"), "model_conv2d_Conv2D_0");
  EXPECT_EQ(StageName(""), "layer");
  EXPECT_EQ(StageName("///"), "layer");
  EXPECT_EQ(StageName("+a"), "layer");
  EXPECT_EQ(StageName(std::string(100, 'n')).size(), 64U);
}

}  // namespace
}  // namespace kiln::dataflow
