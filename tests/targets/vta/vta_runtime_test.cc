// The C interface: a program as one would write it against the original, in C's words.
#include "kiln/targets/vta/runtime/vta_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/targets/vta/local_server.h"

namespace {

using testing::HasSubstr;

// acc[i] += acc[64 + i] for 64 elements.
int AddBody(void* /*signature*/) {
  VTAUopLoopBegin(64, 1, 1, 0);
  VTAUopPush(1, 0, 0, 64, 0, 2, 0, 0);
  VTAUopLoopEnd();
  return 0;
}

int FailingBody(void* /*signature*/) { return 7; }

int WrongBody(void* /*signature*/) {
  VTAUopLoopEnd();
  return 0;
}

// *signature is added to acc[0].
int AddImmediateBody(void* signature) {
  VTAUopPush(1, 0, 0, 0, 0, 2, 1, *static_cast<int32_t*>(signature));
  return 0;
}

// Hides that it goes wrong before a right micro-op.
int MisplacedBody(void* /*signature*/) {
  VTADepPush(VTATLSCommandHandle(), 1, 2);
  VTAUopPush(1, 0, 0, 64, 0, 2, 0, 0);
  return 0;
}

class VtaCInterface : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(VTASelectDevice("functional", nullptr), 0) << VTAGetLastError();
  }
  void TearDown() override { VTARuntimeShutdown(); }
};

// acc[i] = a[i] + b[i] as a program of the original's would have it, twice.
void AddVectors() {
  VTACommandHandle cmd = VTATLSCommandHandle();
  void* handle = nullptr;
  for (int round = 0; round < 2; ++round) {
    std::array<int32_t, 1024> a, b;
    for (int i = 0; i < 1024; ++i) {
      a[static_cast<size_t>(i)] = i - 500 + round;
      b[static_cast<size_t>(i)] = 3 * i;
    }
    void* device_a = VTABufferAlloc(sizeof(a));
    void* device_b = VTABufferAlloc(sizeof(b));
    void* device_c = VTABufferAlloc(1024);
    VTABufferCopy(a.data(), 0, device_a, 0, sizeof(a), VTA_MEMCPY_H2D);
    // Through the host's pointer.
    std::memcpy(VTABufferCPUPtr(cmd, device_b), b.data(), sizeof(b));
    VTAReadBarrier(cmd, device_b, 32, 0, 1024);
    VTALoadBuffer2D(cmd, device_a, 0, 64, 1, 64, 0, 0, 0, 0, 0, 3);
    VTALoadBuffer2D(cmd, device_b, 0, 64, 1, 64, 0, 0, 0, 0, 64, 3);
    EXPECT_EQ(VTAPushALUOp(&handle, AddBody, nullptr, 0), 0);
    EXPECT_NE(handle, nullptr);
    EXPECT_EQ(VTADepPush(cmd, 2, 3), 0);
    EXPECT_EQ(VTADepPop(cmd, 2, 3), 0);
    VTAStoreBuffer2D(cmd, 0, 4, device_c, 0, 64, 1, 64);
    VTASynchronize(cmd, 1 << 20);
    VTAWriteBarrier(cmd, device_c, 8, 0, 1024);
    std::array<int8_t, 1024> c{};
    VTABufferCopy(device_c, 0, c.data(), 0, sizeof(c), VTA_MEMCPY_D2H);
    for (int i = 0; i < 1024; ++i) {
      ASSERT_EQ(c[static_cast<size_t>(i)], static_cast<int8_t>(4 * i - 500 + round)) << i;
    }
    EXPECT_STREQ(VTAGetLastError(), "");
    for (void* buffer : {device_a, device_b, device_c}) VTABufferFree(buffer);
  }
  // A handle from before is none: its kernel is recorded anew.
  VTARuntimeShutdown();
  void* const before = handle;
  EXPECT_EQ(VTAPushALUOp(&handle, AddBody, nullptr, 0), 0);
  EXPECT_NE(handle, before);
}

TEST_F(VtaCInterface, AddsVectors) { AddVectors(); }

// The same calls reach a device elsewhere, which the environment names: copies and pointers, with
// their barriers.
TEST_F(VtaCInterface, AddsVectorsElsewhere) {
  const auto server = kiln::vta::StartLocalServer({.config = *kiln::vta::LoadConfig("")});
  ASSERT_EQ(setenv("KILN_VTA_TOKEN", kiln::vta::kTestToken, 1), 0);
  ASSERT_EQ(setenv("KILN_VTA_DEVICE", ("remote:" + server->local().ToString()).c_str(), 1), 0);
  ASSERT_EQ(VTASelectDevice(nullptr, nullptr), 0) << VTAGetLastError();
  EXPECT_EQ(server->machines(), 1);
  AddVectors();

  VTACommandHandle cmd = VTATLSCommandHandle();
  void* buffer = VTABufferAlloc(8);
  auto* bytes = static_cast<uint8_t*>(VTABufferCPUPtr(cmd, buffer));
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(VTABufferCPUPtr(cmd, buffer), bytes);
  const auto device_bytes = [&] {
    std::array<uint8_t, 8> from{};
    VTABufferCopy(buffer, 0, from.data(), 0, 8, VTA_MEMCPY_D2H);
    return from;
  };
  for (uint8_t i = 0; i < 8; ++i) bytes[i] = i;
  VTAReadBarrier(cmd, buffer, 16, 1, 2);  // bytes 2 to 5
  EXPECT_EQ(device_bytes(), (std::array<uint8_t, 8>{0, 0, 2, 3, 4, 5, 0, 0}));
  VTAWriteBarrier(cmd, buffer, 8, 5, 2);  // 5 and 6
  EXPECT_EQ(bytes[6], 0);
  EXPECT_EQ(bytes[7], 7);
  const std::array<uint8_t, 2> copied = {70, 71};
  VTABufferCopy(copied.data(), 0, buffer, 3, 2, VTA_MEMCPY_H2D);
  EXPECT_EQ(bytes[3], 70);
  VTASetDebugMode(cmd, VTA_DEBUG_SKIP_READ_BARRIER);
  VTAReadBarrier(cmd, buffer, 8, 0, 8);
  EXPECT_EQ(device_bytes()[7], 0);
  VTAReadBarrier(cmd, buffer, UINT32_MAX, UINT32_MAX, UINT32_MAX);
  EXPECT_THAT(std::string(VTAGetLastError()), HasSubstr("elements of 4294967295 bits"));
  VTABufferFree(buffer);
  EXPECT_STREQ(VTAGetLastError(), "");
  ASSERT_EQ(unsetenv("KILN_VTA_DEVICE"), 0);
}

// Design points by name, as commands take them; "" is the original's default.
TEST_F(VtaCInterface, FindsDesignPointsByName) {
  // Bytes that a load of one accumulator element wants.
  const auto needs = [](size_t bytes) {
    void* buffer = VTABufferAlloc(bytes);
    VTALoadBuffer2D(VTATLSCommandHandle(), buffer, 0, 1, 1, 1, 0, 0, 0, 0, 0, 3);
    VTASynchronize(VTATLSCommandHandle(), 0);
    VTABufferFree(buffer);
    return std::string(VTAGetLastError());
  };
  ASSERT_EQ(VTASelectDevice("functional", "vta-zcu104"), 0) << VTAGetLastError();
  EXPECT_EQ(needs(32 * 4), "");
  EXPECT_THAT(needs(32 * 4 - 1), HasSubstr("is not inside a buffer"));
  ASSERT_EQ(VTASelectDevice("functional", ""), 0) << VTAGetLastError();
  EXPECT_EQ(needs(16 * 4), "");
  ASSERT_EQ(setenv("KILN_VTA_CONFIG", "vta-zcu104", 1), 0);
  ASSERT_EQ(VTASelectDevice("functional", nullptr), 0) << VTAGetLastError();
  EXPECT_THAT(needs(16 * 4), HasSubstr("is not inside a buffer"));
  ASSERT_EQ(unsetenv("KILN_VTA_CONFIG"), 0);
  EXPECT_EQ(VTASelectDevice("functional", "vta-zcu1o4"), -1);
  EXPECT_THAT(std::string(VTAGetLastError()), HasSubstr("vta-zcu104"));
}

int ShutdownBody(void* /*signature*/) {
  VTARuntimeShutdown();
  EXPECT_EQ(VTASelectDevice("functional", nullptr), -1);
  return 0;
}

TEST_F(VtaCInterface, HandlesAreToldByWhatTheyHold) {
  void* first = nullptr;
  EXPECT_EQ(VTAPushALUOp(&first, AddBody, nullptr, 0), 0);
  void* const held = first;
  first = nullptr;
  EXPECT_EQ(VTAPushALUOp(&first, FailingBody, nullptr, 0), -1);  // another kernel, so its body runs
  EXPECT_NE(first, held);
  void* other = nullptr;
  EXPECT_EQ(VTAPushALUOp(&other, ShutdownBody, nullptr, 0), -1);
  EXPECT_THAT(std::string(VTAGetLastError()), HasSubstr("inside a kernel's body"));
  void* buffer = VTABufferAlloc(16);
  VTABufferCopy(buffer, 0, buffer, 0, SIZE_MAX, 3);
  EXPECT_STRNE(VTAGetLastError(), "");
}

TEST_F(VtaCInterface, MisuseLeavesAMessage) {
  VTACommandHandle cmd = VTATLSCommandHandle();
  const auto error = [] { return std::string(VTAGetLastError()); };
  int word = 0;
  VTABufferFree(&word);
  EXPECT_THAT(error(), HasSubstr("is no buffer"));
  EXPECT_EQ(error(), "");
  EXPECT_EQ(VTABufferCPUPtr(cmd, &word), &word);
  VTABufferCopy(&word, 0, &word, 0, 4, VTA_MEMCPY_H2D);
  EXPECT_THAT(error(), HasSubstr("should be a buffer"));
  void* buffer = VTABufferAlloc(16);
  VTALoadBuffer2D(cmd, buffer, 0, 1, 1, 1, 0, 0, 0, 0, 0, 257);
  EXPECT_THAT(error(), HasSubstr("there is no memory 257"));
  VTAReadBarrier(cmd, buffer, 8, 0, 17);
  EXPECT_THAT(error(), HasSubstr("beyond the buffer's end"));
  void* handle = nullptr;
  EXPECT_EQ(VTAPushALUOp(&handle, FailingBody, nullptr, 0), -1);
  EXPECT_THAT(error(), HasSubstr("returned 7"));
  EXPECT_EQ(VTAPushALUOp(&handle, WrongBody, nullptr, 0), -1);
  EXPECT_THAT(error(), HasSubstr("has not begun"));
  EXPECT_EQ(VTADepPush(cmd, 1, 3), -1);
  EXPECT_THAT(error(), HasSubstr("no neighbours"));
  VTALoadBuffer2D(cmd, buffer, 0, 2, 1, 2, 0, 0, 0, 0, 0, 2);
  EXPECT_EQ(error(), "");
  VTASynchronize(cmd, 0);
  EXPECT_THAT(error(), HasSubstr("is not inside a buffer; the one before has 16 bytes"));
  VTALoadBuffer2D(cmd, buffer, 0, 1, 1, 1, 1, 1, 1, 1, 0, 2);
  VTASynchronize(cmd, 0);
  EXPECT_EQ(error(), "");
  VTABufferFree(buffer);
  VTABufferFree(buffer);
  EXPECT_THAT(error(), HasSubstr("has been freed before"));
  VTASynchronize(cmd, 0);
  EXPECT_EQ(error(), "");
  EXPECT_EQ(VTASelectDevice("board", nullptr), -1);
  EXPECT_THAT(error(), HasSubstr("there is no device 'board'; functional"));
  EXPECT_EQ(VTASelectDevice(nullptr, "no such file.yaml"), -1);
  EXPECT_THAT(error(), HasSubstr("no such file"));
}

// A handle is no data of the host's, whatever the mask says; nothing is copied then.
TEST_F(VtaCInterface, CopiesKeepHandlesAndDataApart) {
  const auto error = [] { return std::string(VTAGetLastError()); };
  const std::array<uint8_t, 16> ones = [] {
    std::array<uint8_t, 16> bytes;
    bytes.fill(1);
    return bytes;
  }();
  std::array<uint8_t, 16> back{};
  void* const buffer = VTABufferAlloc(16);
  VTABufferCopy(ones.data(), 0, buffer, 0, 16, VTA_MEMCPY_H2D);
  for (const int mask : {4, 5, 7, 256, -1}) {
    VTABufferCopy(back.data(), 0, buffer, 0, 16, mask);
    EXPECT_THAT(error(), HasSubstr("kind_mask " + std::to_string(mask)));
  }
  for (void* handle : {buffer, static_cast<void*>(static_cast<char*>(buffer) + 8)}) {
    VTABufferCopy(back.data(), 0, handle, 0, 16, 0);
    EXPECT_THAT(error(), HasSubstr("to a buffer's handle as if it were the host's memory"));
    VTABufferCopy(handle, 0, back.data(), 0, 16, 0);
    EXPECT_THAT(error(), HasSubstr("from a buffer's handle as if it were the host's memory"));
  }
  VTABufferCopy(buffer, 0, buffer, 0, 16, VTA_MEMCPY_D2H);
  EXPECT_THAT(error(), HasSubstr("to a buffer's handle"));
  EXPECT_EQ(back, (std::array<uint8_t, 16>{}));
  VTABufferCopy(buffer, 0, back.data(), 0, 16, VTA_MEMCPY_D2H);
  EXPECT_EQ(back, ones);

  // Between two places of the host a copy is one.
  back.fill(0);
  VTABufferCopy(ones.data(), 4, back.data(), 8, 8, 0);
  EXPECT_EQ(error(), "");
  EXPECT_EQ(back, (std::array<uint8_t, 16>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}));

  // Freed handles stay handles, beyond the runtime's end too.
  void* const left = VTABufferAlloc(16);
  VTABufferFree(buffer);
  for (const bool shut_down : {false, true}) {
    if (shut_down) VTARuntimeShutdown();
    for (void* handle : shut_down ? std::vector<void*>{buffer, left} : std::vector<void*>{buffer}) {
      VTABufferCopy(ones.data(), 0, handle, 0, 16, 0);
      EXPECT_THAT(error(), HasSubstr("to a buffer's handle"));
      EXPECT_EQ(VTABufferCPUPtr(VTATLSCommandHandle(), handle), nullptr);
      EXPECT_THAT(error(), HasSubstr("has been freed"));
    }
  }
  // However many there were.
  for (int i = 0; i < 3000; ++i) VTABufferFree(VTABufferAlloc(16));
  EXPECT_EQ(error(), "");
  VTABufferCopy(ones.data(), 0, buffer, 0, 16, 0);
  EXPECT_THAT(error(), HasSubstr("to a buffer's handle"));
}

TEST_F(VtaCInterface, WhatNoProgramCanMeanIsRefusedAtTheCall) {
  VTACommandHandle cmd = VTATLSCommandHandle();
  const auto error = [] { return std::string(VTAGetLastError()); };
  const auto push = [](int32_t immediate) {
    void* handle = nullptr;
    return VTAPushALUOp(&handle, AddImmediateBody, &immediate, 0);
  };
  for (const int32_t immediate : {100000, 32768, -32769}) {
    EXPECT_EQ(push(immediate), -1) << immediate;
    EXPECT_THAT(error(),
                HasSubstr("immediate is " + std::to_string(immediate) + "; -32768 to 32767"));
  }
  for (const int32_t immediate : {32767, -32768}) EXPECT_EQ(push(immediate), 0) << immediate;
  EXPECT_EQ(error(), "");

  void* const buffer = VTABufferAlloc(4096);
  VTALoadBuffer2D(cmd, buffer, 0, 1, 1, 1, 0, 0, 0, 0, 0, 4);
  EXPECT_THAT(error(), HasSubstr("takes no load; any but 4 (out)"));
  for (const uint32_t memory : {0u, 1u, 2u, 3u, 5u}) {
    VTAStoreBuffer2D(cmd, 0, memory, buffer, 0, 1, 1, 1);
    EXPECT_THAT(error(), HasSubstr("takes no store; only 4 (out)")) << memory;
  }
  VTASynchronize(cmd, 0);
  EXPECT_EQ(error(), "");  // none of them is in the stream

  for (const int mode : {1, 64, -1}) {
    VTASetDebugMode(cmd, mode);
    EXPECT_THAT(error(), HasSubstr("debug mode " + std::to_string(mode)));
  }
  VTASetDebugMode(cmd, VTA_DEBUG_FORCE_SERIAL | VTA_DEBUG_SKIP_READ_BARRIER);
  EXPECT_EQ(error(), "");

  for (const auto push_op : {VTAPushALUOp, VTAPushGEMMOp}) {
    void* handle = nullptr;
    EXPECT_EQ(push_op(&handle, MisplacedBody, nullptr, 0), -1);
    EXPECT_THAT(error(), HasSubstr("inside a kernel's body"));
  }
}

}  // namespace
