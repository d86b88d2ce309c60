// Buffers: alignment, zeros, slack and failure, for sizes around the limit between heap and mapped
// memory.

#include "kiln/support/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace kiln {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(Buffer, IsAlignedAndZeroWithItsSlack) {
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, kMegabyte, 4 * kMegabyte - 129,
        4 * kMegabyte - 128, 4 * kMegabyte - 64, 4 * kMegabyte, 5 * kMegabyte + 1}) {
    // The second buffer may have the memory of the first, which is full of ones.
    for (int repeat = 0; repeat < 2; ++repeat) {
      const std::shared_ptr<void> buffer = AllocateZeroed(bytes);
      ASSERT_NE(buffer, nullptr) << bytes;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.get()) % kBufferAlignment, 0U) << bytes;
      auto* const begin = static_cast<uint8_t*>(buffer.get());
      auto* const end = begin + bytes + kBufferSlack;
      EXPECT_TRUE(std::all_of(begin, end, [](uint8_t byte) { return byte == 0; })) << bytes;
      std::fill(begin, end, uint8_t{0xff});
    }
  }
}

// Memory that others have left full of ones, as the heap hands it out again.
TEST(Buffer, ReusedMemoryIsZeroWithItsSlack) {
  constexpr size_t kBytes = 1000;
  std::vector<std::shared_ptr<void>> buffers;
  for (int i = 0; i < 64; ++i) {
    buffers.push_back(AllocateUninitialised(kBytes));
    std::fill_n(static_cast<uint8_t*>(buffers.back().get()), kBytes + kBufferSlack, uint8_t{0xff});
  }
  buffers.clear();
  for (int i = 0; i < 64; ++i) {
    buffers.push_back(AllocateZeroed(kBytes));
    const auto* const begin = static_cast<const uint8_t*>(buffers.back().get());
    EXPECT_TRUE(
        std::all_of(begin, begin + kBytes + kBufferSlack, [](uint8_t byte) { return byte == 0; }));
  }
}

TEST(Buffer, UninitialisedIsAlignedAndHasItsSlack) {
  for (const size_t bytes : {size_t{0}, size_t{65}, 4 * kMegabyte - 128, 5 * kMegabyte + 1}) {
    const std::shared_ptr<void> buffer = AllocateUninitialised(bytes);
    ASSERT_NE(buffer, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.get()) % kBufferAlignment, 0U) << bytes;
    std::fill_n(static_cast<uint8_t*>(buffer.get()), bytes + kBufferSlack, uint8_t{0xff});
  }
}

TEST(Buffer, LargeBuffersDoNotOverlap) {
  std::vector<std::shared_ptr<void>> buffers;
  constexpr size_t kBytes = 6 * kMegabyte;
  for (uint8_t i = 0; i < 4; ++i) {
    buffers.push_back(AllocateZeroed(kBytes));
    ASSERT_NE(buffers.back(), nullptr);
    std::fill_n(static_cast<uint8_t*>(buffers.back().get()), kBytes + kBufferSlack, i);
  }
  buffers.erase(buffers.begin());
  for (uint8_t i = 1; i < 4; ++i) {
    const auto* const begin = static_cast<const uint8_t*>(buffers[i - 1U].get());
    EXPECT_TRUE(
        std::all_of(begin, begin + kBytes + kBufferSlack, [i](uint8_t byte) { return byte == i; }));
  }
}

TEST(Buffer, ServesContainers) {
  LargeBytes bytes;
  for (size_t size = 1; size < 9 * kMegabyte; size = 3 * size + 1) {
    const size_t before = bytes.size();
    bytes.resize(size);
    EXPECT_EQ(bytes[before], 0) << size;
    bytes.back() = static_cast<uint8_t>(size);
  }
  const LargeBytes copy = bytes;
  EXPECT_EQ(copy, bytes);
  size_t last = 0;
  for (size_t size = 1; size < 9 * kMegabyte; size = 3 * size + 1) {
    EXPECT_EQ(copy[size - 1], static_cast<uint8_t>(size)) << size;
    last = size;
  }
  EXPECT_EQ(copy.size(), last);
  EXPECT_THROW(bytes.resize(size_t{1} << 47), std::bad_alloc);
}

TEST(Buffer, IsNullWithoutMemory) {
  for (const size_t bytes :
       {size_t{1} << 46, size_t{1} << 60, std::numeric_limits<size_t>::max() - 100,
        std::numeric_limits<size_t>::max()}) {
    EXPECT_EQ(AllocateZeroed(bytes), nullptr) << bytes;
    EXPECT_EQ(AllocateUninitialised(bytes), nullptr) << bytes;
  }
}

}  // namespace
}  // namespace kiln
