// Checks the memory image that programs are laid out in.
#include "kiln/targets/vta/isa/memory_image.h"

#include <gtest/gtest.h>

namespace kiln::vta {
namespace {

TEST(VtaMemoryImage, PiecesBeginPages) {
  MemoryImage image;
  const uint8_t bytes[] = {1, 2, 3};
  EXPECT_EQ(image.Add(bytes), MemoryImage::kBase);
  EXPECT_EQ(image.Reserve(0), MemoryImage::kBase + DeviceMemory::kPageBytes);
  EXPECT_EQ(image.Reserve(DeviceMemory::kPageBytes + 1),
            MemoryImage::kBase + 2 * DeviceMemory::kPageBytes);
  EXPECT_EQ(image.bytes().size(), 4 * DeviceMemory::kPageBytes);
  EXPECT_EQ(*image.At(MemoryImage::kBase + 2), 3);
}

// The image is most of the memory of a program with many kernels, so it is neither doubled nor
// copied.
TEST(VtaMemoryImage, TakesLittleMoreMemoryThanItsBytes) {
  MemoryImage image;
  for (int i = 0; i < 5000; ++i) image.Reserve(100);
  const uint8_t* at = image.bytes().data();
  const LargeBytes bytes = image.TakeBytes();
  EXPECT_EQ(bytes.data(), at);
  EXPECT_EQ(bytes.size(), 5000 * DeviceMemory::kPageBytes);
  EXPECT_LE(bytes.capacity(), bytes.size() + bytes.size() / 8);
}

}  // namespace
}  // namespace kiln::vta
