#include "kiln/targets/vta/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/targets/vta/memory.h"
#include "tests/targets/vta/local_server.h"

namespace kiln::vta {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Config kConfig = *ParseOriginalConfig("{}", "default");

// The runtime on a device by name; "remote": a functional one behind a socket.
class VtaRuntime : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = MakeDeviceToTest();
    ASSERT_TRUE(device.ok()) << device.status();
    auto runtime = Runtime::Create(*std::move(device));
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = std::move(*runtime);
    runtime_->set_observer([this](const Runtime::Launch& launch) { launches_.push_back(launch); });
  }

  StatusOr<std::unique_ptr<Device>> MakeDeviceToTest() {
    if (GetParam() != std::string("remote")) return MakeDevice(GetParam(), kConfig);
    server_ = StartLocalServer({.config = kConfig});
    return MakeRemoteDevice(server_->local(), kTestToken, kConfig);
  }

  // The text of launch `number`.
  std::vector<std::string> TextOf(size_t number) const {
    const Encoding encoding(kConfig);
    std::vector<std::string> lines;
    const std::vector<uint8_t>& bytes = launches_.at(number).instructions;
    for (size_t at = 0; at < bytes.size(); at += kInstructionBytes) {
      lines.push_back(
          Disassemble(std::span<const uint8_t, kInstructionBytes>(bytes.data() + at, kInstructionBytes), encoding));
    }
    return lines;
  }
  // acc[dst + i] += immediate, i below `extent`; `uops` micro-ops that do so.
  Status AddImmediate(KernelSlot& slot, uint32_t dst, uint32_t extent, int32_t immediate) {
    return runtime_->PushKernel(Kernel::Mode::kAlu, slot, {}, [&]() -> Status {
      KILN_RETURN_IF_ERROR(runtime_->BeginLoop(extent, 1, 1, 0));
      KILN_RETURN_IF_ERROR(runtime_->AddUop(
          {.mode = Kernel::Mode::kAlu, .uop = {dst, dst, 0}, .alu = 2, .use_immediate = true, .immediate = immediate}));
      return runtime_->EndLoop();
    });
  }
  // A kernel of `count` micro-ops that add 1 to accumulators 0 to 2 in turn.
  Status AddOnes(KernelSlot& slot, uint32_t count) {
    return runtime_->PushKernel(Kernel::Mode::kAlu, slot, {}, [&]() -> Status {
      for (uint32_t i = 0; i < count; ++i) {
        KILN_RETURN_IF_ERROR(runtime_->AddUop(
            {.mode = Kernel::Mode::kAlu, .uop = {i % 3, i % 3, 0}, .alu = 2, .use_immediate = true, .immediate = 1}));
      }
      return OkStatus();
    });
  }
  // Accumulators [0, elements), as output codes.
  std::vector<int> StoreAndRun(uint32_t elements) {
    auto buffer = runtime_->AllocateBuffer(uint64_t{elements} * 16);
    EXPECT_TRUE(runtime_->DependencyPush(2, 3).ok());
    EXPECT_TRUE(runtime_->DependencyPop(2, 3).ok());
    EXPECT_TRUE(
        runtime_->Store({.memory = Memory::kOutput, .x_size = elements, .y_size = 1, .x_stride = elements}, **buffer)
            .ok());
    const Status status = runtime_->Synchronise(0);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<uint8_t> bytes(size_t{elements} * 16);
    EXPECT_TRUE(runtime_->CopyOut(**buffer, 0, bytes).ok());
    std::vector<int> codes;
    for (uint32_t i = 0; i < elements; ++i) codes.push_back(static_cast<int8_t>(bytes[16 * i]));
    EXPECT_TRUE(runtime_->FreeBuffer(*buffer).ok());
    return codes;
  }

  std::unique_ptr<RemoteServer> server_;
  std::unique_ptr<Runtime> runtime_;
  std::vector<Runtime::Launch> launches_;
};

INSTANTIATE_TEST_SUITE_P(Devices, VtaRuntime, testing::Values("functional", "cycle", "remote"),
                         [](const auto& suite) { return std::string(suite.param); });

TEST_P(VtaRuntime, KernelsAreRecordedAndLoadedOnce) {
  KernelSlot slot;
  int recorded = 0;
  for (int i = 0; i < 3; ++i) {
    const auto status = runtime_->PushKernel(Kernel::Mode::kAlu, slot, {}, [&]() -> Status {
      ++recorded;
      return runtime_->AddUop(
          {.mode = Kernel::Mode::kAlu, .uop = {5, 5, 0}, .alu = 2, .use_immediate = true, .immediate = 7});
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(StoreAndRun(6), (std::vector<int>{0, 0, 0, 0, 0, 21}));
  EXPECT_EQ(recorded, 1);
  EXPECT_THAT(TextOf(0), ElementsAre(HasSubstr("LOAD uop sram=0"), HasSubstr("---- ALU add imm=7 uop[0,1) loop 1x1"),
                                     HasSubstr("ALU"), HasSubstr("---N ALU"), HasSubstr("p-P- STORE out"),
                                     "---N NOP stage=load", "pn-- NOP stage=compute", "---- FINISH"));
  // In the next launch it is loaded again: another program may have had the buffer.
  ASSERT_TRUE(AddImmediate(slot, 0, 1, 0).ok());
  EXPECT_EQ(StoreAndRun(6), (std::vector<int>{0, 0, 0, 0, 0, 28}));
  EXPECT_THAT(TextOf(1)[0], HasSubstr("LOAD uop sram=1"));
}

// Kernels of one launch that overflow the micro-op buffer: each load brings its own kernel's micro-ops.
TEST_P(VtaRuntime, KernelsMayOverflowTheBuffer) {
  KernelSlot slots[3];
  const uint32_t count = 3000;  // of 8192
  for (int round = 0; round < 2; ++round) {
    for (KernelSlot& slot : slots) ASSERT_TRUE(AddOnes(slot, count + static_cast<uint32_t>(&slot - slots)).ok());
  }
  // Accumulator 0: 1000, 1001, 1001 times each kernel, twice; modulo 256.
  const int zero = 2 * (1000 + 1001 + 1001), one = 2 * (1000 + 1000 + 1001), two = 2 * (1000 + 1000 + 1000);
  const auto code = [](int sum) { return static_cast<int>(static_cast<int8_t>(sum)); };
  EXPECT_EQ(StoreAndRun(3), (std::vector<int>{code(zero), code(one), code(two)}));
}

TEST_P(VtaRuntime, SignaturesTellKernelsOfASlotApart) {
  KernelSlot slot;
  for (uint8_t value : {uint8_t{3}, uint8_t{4}, uint8_t{3}}) {
    const std::vector<uint8_t> signature = {value, 0, 0, 0};
    ASSERT_TRUE(runtime_
                    ->PushKernel(Kernel::Mode::kAlu, slot, signature,
                                 [&]() -> Status {
                                   return runtime_->AddUop({.mode = Kernel::Mode::kAlu,
                                                            .uop = {0, 0, 0},
                                                            .alu = 2,
                                                            .use_immediate = true,
                                                            .immediate = value});
                                 })
                    .ok());
  }
  EXPECT_EQ(StoreAndRun(1), std::vector<int>{10});
  const auto push = [&](const std::vector<uint8_t>& signature) {
    return MessageOf(runtime_->PushKernel(Kernel::Mode::kAlu, slot, signature, [] { return OkStatus(); }));
  };
  EXPECT_THAT(push({1, 2}), HasSubstr("a signature of 2 bytes"));
  EXPECT_THAT(push({99, 0, 0, 0}), HasSubstr("signature 99; below 99"));
}

TEST_P(VtaRuntime, RecordingChecks) {
  using Body = std::function<Status()>;
  const auto message = [&](Kernel::Mode mode, const Body& body) {
    KernelSlot slot;
    return MessageOf(runtime_->PushKernel(mode, slot, {}, body));
  };
  const auto uop = [&](uint32_t dst) { return runtime_->AddUop({.mode = Kernel::Mode::kGemm, .uop = {dst, 0, 0}}); };
  EXPECT_THAT(message(Kernel::Mode::kGemm,
                      [&] {
                        (void)uop(0);
                        return runtime_->BeginLoop(1, 0, 0, 0);
                      }),
              HasSubstr("begins behind its first micro-op"));
  EXPECT_THAT(message(Kernel::Mode::kGemm,
                      [&] {
                        for (int i = 0; i < 2; ++i) (void)runtime_->BeginLoop(1, 0, 0, 0);
                        return runtime_->BeginLoop(1, 0, 0, 0);
                      }),
              HasSubstr("at most two loops"));
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return runtime_->EndLoop(); }), HasSubstr("has not begun"));
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return runtime_->BeginLoop(1, 0, 0, 0); }), HasSubstr("not ended"));
  EXPECT_THAT(message(Kernel::Mode::kGemm,
                      [&] {
                        (void)uop(0);
                        (void)uop(1);
                        return uop(0);
                      }),
              HasSubstr("two micro-ops within three write accumulator 0"));
  EXPECT_THAT(message(Kernel::Mode::kGemm,
                      [&] {
                        (void)uop(0);
                        return runtime_->AddUop({.reset = true, .uop = {1, 0, 0}});
                      }),
              HasSubstr("differ in more than their indices"));
  EXPECT_THAT(message(Kernel::Mode::kAlu, [&] { return uop(0); }), HasSubstr("of the other kind"));
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return uop(5000); }), HasSubstr("micro-op of accumulator 5000"));
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return runtime_->Synchronise(0); }), HasSubstr("inside a kernel"));
  EXPECT_THAT(MessageOf(runtime_->EndLoop()), HasSubstr("outside of a kernel's body"));
  EXPECT_THAT(message(Kernel::Mode::kAlu,
                      [&] { return runtime_->AddUop({.mode = Kernel::Mode::kAlu, .uop = {0, 0, 0}, .alu = 259}); }),
              HasSubstr("ALU operation 259; 0 to 4"));
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return runtime_->DependencyPush(1, 2); }),
              HasSubstr("a dependency inside a kernel's body"));
  // What does not fit leaves nothing behind.
  KernelSlot long_loop;
  EXPECT_THAT(MessageOf(AddImmediate(long_loop, 0, 20000, 1)), HasSubstr("inner is 20000"));
  EXPECT_EQ(StoreAndRun(1), std::vector<int>{0});
  EXPECT_THAT(TextOf(0)[0], HasSubstr("NOP stage=compute"));
  KernelSlot slot;
  EXPECT_THAT(MessageOf(AddOnes(slot, 9000)), HasSubstr("a kernel of 9000 micro-ops; the buffer holds 8192"));
}

// Whatever went wrong, the next program runs.
TEST_P(VtaRuntime, MisuseIsToldAndForgotten) {
  auto buffer = runtime_->AllocateBuffer(64);
  ASSERT_TRUE(buffer.ok());
  std::vector<uint8_t> bytes(65);
  EXPECT_THAT(MessageOf(runtime_->CopyIn(bytes, **buffer, 0)), HasSubstr("bytes 0 to 65 of a buffer of 64"));
  EXPECT_THAT(MessageOf(runtime_->CopyOut(**buffer, UINT64_MAX, bytes)), HasSubstr("of a buffer of 64"));
  ASSERT_TRUE(runtime_->FreeBuffer(*buffer).ok());
  EXPECT_THAT(MessageOf(runtime_->FreeBuffer(*buffer)), HasSubstr("has been freed before"));
  EXPECT_THAT(MessageOf(runtime_->FreeBuffer(&bytes)), HasSubstr("is no buffer"));
  EXPECT_EQ(runtime_->FindBuffer(&bytes), nullptr);
  EXPECT_THAT(MessageOf(runtime_->DependencyPush(1, 3)), HasSubstr("stages 1 and 3 are no neighbours"));
  EXPECT_THAT(MessageOf(runtime_->DependencyPop(0, 2)), HasSubstr("there is no stage 0"));
  EXPECT_FALSE(runtime_->AllocateBuffer(uint64_t{1} << 40).ok());

  // A device error: a store beyond the buffer on chip; then a pop that nobody answers.
  buffer = runtime_->AllocateBuffer(4096);
  ASSERT_TRUE(
      runtime_
          ->Store({.memory = Memory::kOutput, .sram_index = 2047, .x_size = 2, .y_size = 1, .x_stride = 2}, **buffer)
          .ok());
  EXPECT_THAT(MessageOf(runtime_->Synchronise(0)), HasSubstr("sram_range: instruction 0, '--P- STORE out sram=2047"));
  ASSERT_TRUE(runtime_->DependencyPop(2, 1).ok());
  EXPECT_THAT(MessageOf(runtime_->Synchronise(0)), HasSubstr("deadlock: instruction 1, '-n-- NOP stage=load'"));
  EXPECT_THAT(MessageOf(runtime_->Load(**buffer, {.memory = Memory::kInput, .x_size = 1 << 16, .y_size = 1})),
              HasSubstr("x_size is 65536"));

  KernelSlot slot;
  ASSERT_TRUE(AddImmediate(slot, 0, 2, 9).ok());
  EXPECT_EQ(StoreAndRun(2), (std::vector<int>{9, 9}));
}

TEST_P(VtaRuntime, SerialProgramsGiveTheSame) {
  KernelSlot a, b;
  runtime_->SetDebugMode(kForceSerial);
  ASSERT_TRUE(AddImmediate(a, 0, 2, 5).ok());
  ASSERT_TRUE(AddImmediate(b, 1, 1, 6).ok());
  EXPECT_EQ(StoreAndRun(2), (std::vector<int>{5, 11}));
  const std::vector<std::string> text = TextOf(0);
  ASSERT_GE(text.size(), 3u);
  EXPECT_THAT(text.back(), "---- FINISH");
  EXPECT_THAT(text[text.size() - 2], "p--- NOP stage=compute");
  EXPECT_THAT(text[text.size() - 3], "-n-N NOP stage=load");
}

TEST(VtaDeviceLimits, EndRunsAndMemory) {
  auto runtime = Runtime::Create(
      MakeFunctionalDevice(kConfig, {.memory_bytes = uint64_t{65} << 20, .instructions = 8, .steps = 5}));
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_TRUE((*runtime)->AllocateBuffer(1 << 20).ok());
  const auto full = (*runtime)->AllocateBuffer(1);
  EXPECT_EQ(full.status().code(), absl::StatusCode::kResourceExhausted);
  KernelSlot slot;
  ASSERT_TRUE((*runtime)
                  ->PushKernel(Kernel::Mode::kAlu, slot, {},
                               [&]() -> Status {
                                 KILN_RETURN_IF_ERROR((*runtime)->BeginLoop(9, 1, 1, 0));
                                 KILN_RETURN_IF_ERROR((*runtime)->AddUop(
                                     {.mode = Kernel::Mode::kAlu, .uop = {0, 0, 0}, .alu = 2, .use_immediate = true}));
                                 return (*runtime)->EndLoop();
                               })
                  .ok());
  const Status stopped = (*runtime)->Synchronise(0);
  EXPECT_EQ(stopped.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(MessageOf(stopped), HasSubstr("too_long: instruction 1, '---- ALU add imm=0"));
  for (int i = 0; i < 9; ++i) ASSERT_TRUE((*runtime)->DependencyPush(1, 2).ok());
  EXPECT_THAT(MessageOf((*runtime)->Synchronise(0)), HasSubstr("instructions; at most 8"));
  EXPECT_TRUE((*runtime)->Synchronise(0).ok());
}

TEST(VtaPages, FreedRangesAreUsedAgainAsTheyAre) {
  PageAllocator pages(1 << 20);
  const uint64_t a = *pages.Allocate(3 * 4096), b = *pages.Allocate(1), c = *pages.Allocate(2 * 4096);
  EXPECT_EQ(a, 4096u);
  EXPECT_EQ(b, 4u * 4096);
  EXPECT_EQ(c, 5u * 4096);
  EXPECT_TRUE(pages.Free(a));
  EXPECT_TRUE(pages.Free(c));
  EXPECT_FALSE(pages.Free(c));
  EXPECT_EQ(*pages.Allocate(4097), c);  // two pages fit better than three
  EXPECT_EQ(*pages.Allocate(1), a);
  EXPECT_EQ(pages.SizeOf(a), 3u * 4096);
  EXPECT_FALSE(pages.Allocate(1 << 20).ok());
}

}  // namespace
}  // namespace kiln::vta
