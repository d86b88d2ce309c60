// Tests of top-k accuracy and PSNR.
#include "kiln/quantise/accuracy.h"

#include <cmath>

#include <gtest/gtest.h>

namespace kiln {
namespace {

TEST(TopK, CountsAndBreaksTiesByIndex) {
  const Tensor scores =
      Tensor::Of<float>({4, 3}, {0, 1, 2, /**/ 5, 5, 1, /**/ 5, 5, 1, /**/ 3, 2, 1});
  const std::vector<int32_t> labels = {2, 0, 1, 2};
  EXPECT_EQ(TopK(scores, labels)->correct, 2);
  EXPECT_EQ(TopK(scores, labels, 2)->correct, 3);
  EXPECT_EQ(TopK(scores, labels, 3)->correct, 4);
  EXPECT_DOUBLE_EQ(TopK(scores, labels)->percent(), 50);
}

TEST(TopK, NanNeverCounts) {
  const Tensor scores = Tensor::Of<float>({1, 2}, {std::nanf(""), std::nanf("")});
  EXPECT_EQ(TopK(scores, std::vector<int32_t>{0}, 2)->correct, 0);
}

TEST(TopK, Errors) {
  const Tensor scores = Tensor::Of<float>({2, 2}, {0, 1, 0, 1});
  EXPECT_EQ(MessageOf(TopK(scores, std::vector<int32_t>{0}).status()),
            "accuracy: 1 labels for 2 images; one for each image");
  EXPECT_EQ(MessageOf(TopK(scores, std::vector<int32_t>{0, 2}).status()),
            "accuracy: image 1 has label 2; labels from 0 to 1");
  EXPECT_FALSE(TopK(Tensor::Of<int32_t>({1, 1}, {0}), std::vector<int32_t>{0}).ok());
}

TEST(Psnr, KnownValue) {
  const Tensor a = Tensor::Of<float>({2}, {0.5f, 0.5f}), b = Tensor::Of<float>({2}, {0.4f, 0.6f});
  EXPECT_NEAR(*Psnr(a, b, 1.0), 20, 1e-5);
  EXPECT_TRUE(std::isinf(*Psnr(a, a, 1.0)));
  EXPECT_FALSE(Psnr(a, Tensor::Of<float>({1}, {1}), 1.0).ok());
}

}  // namespace
}  // namespace kiln
