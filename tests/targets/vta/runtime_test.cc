#include "kiln/targets/vta/runtime/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "fmt/format.h"
#include "kiln/support/random.h"
#include "kiln/targets/vta/isa/memory.h"
#include "kiln/targets/vta/runtime/live_memory.h"
#include "tests/targets/vta/default_config.h"
#include "tests/targets/vta/local_server.h"

namespace kiln::vta {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// One whose simulation is built in a few seconds.
Config ConfigOfSmallMachine() {
  Config c;
  c.block_in = c.block_out = 2;
  c.uop_buffer_bytes = 128;
  c.input_buffer_bytes = 1024;
  c.weight_buffer_bytes = 64;
  c.accumulator_buffer_bytes = 1024;
  return c;
}

// The runtime on a device by name; "remote": a functional one behind a socket.
class VtaRuntime : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("rtl")) config_ = ConfigOfSmallMachine();
    auto device = MakeDeviceToTest();
    ASSERT_TRUE(device.ok()) << device.status();
    auto runtime = Runtime::Create(*std::move(device));
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    runtime_ = std::move(*runtime);
    runtime_->set_observer([this](const Runtime::Launch& launch) { launches_.push_back(launch); });
  }

  StatusOr<std::unique_ptr<Device>> MakeDeviceToTest() {
    if (GetParam() != std::string("remote")) return MakeDevice(GetParam(), config_);
    server_ = StartLocalServer({.config = config_});
    return MakeRemoteDevice(server_->local(), kTestToken, config_);
  }

  // The text of launch `number`.
  std::vector<std::string> TextOf(size_t number) const {
    const Encoding encoding(config_);
    std::vector<std::string> lines;
    const std::vector<uint8_t>& bytes = launches_.at(number).instructions;
    for (size_t at = 0; at < bytes.size(); at += kInstructionBytes) {
      lines.push_back(Disassemble(
          std::span<const uint8_t, kInstructionBytes>(bytes.data() + at, kInstructionBytes),
          encoding));
    }
    return lines;
  }
  // acc[dst + i] += immediate, i below `extent`; `uops` micro-ops that do so.
  Status AddImmediate(KernelSlot& slot, uint32_t dst, uint32_t extent, int32_t immediate) {
    return runtime_->PushKernel(Kernel::Mode::kAlu, slot, {}, [&]() -> Status {
      KILN_RETURN_IF_ERROR(runtime_->BeginLoop(extent, 1, 1, 0));
      KILN_RETURN_IF_ERROR(runtime_->AddUop({.mode = Kernel::Mode::kAlu,
                                             .uop = {dst, dst, 0},
                                             .alu = 2,
                                             .use_immediate = true,
                                             .immediate = immediate}));
      return runtime_->EndLoop();
    });
  }
  // A kernel of `count` micro-ops that add 1 to accumulators 0 to 2 in turn.
  Status AddOnes(KernelSlot& slot, uint32_t count) {
    return runtime_->PushKernel(Kernel::Mode::kAlu, slot, {}, [&]() -> Status {
      for (uint32_t i = 0; i < count; ++i) {
        KILN_RETURN_IF_ERROR(runtime_->AddUop({.mode = Kernel::Mode::kAlu,
                                               .uop = {i % 3, i % 3, 0},
                                               .alu = 2,
                                               .use_immediate = true,
                                               .immediate = 1}));
      }
      return OkStatus();
    });
  }
  // Accumulators [0, elements), as output codes.
  std::vector<int> StoreAndRun(uint32_t elements) {
    auto buffer = runtime_->AllocateBuffer(elements * element_bytes());
    EXPECT_TRUE(runtime_->DependencyPush(2, 3).ok());
    EXPECT_TRUE(runtime_->DependencyPop(2, 3).ok());
    EXPECT_TRUE(
        runtime_
            ->Store(
                {.memory = Memory::kOutput, .x_size = elements, .y_size = 1, .x_stride = elements},
                **buffer)
            .ok());
    const Status status = runtime_->Synchronise(0);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<uint8_t> bytes(elements * element_bytes());
    EXPECT_TRUE(runtime_->CopyOut(**buffer, 0, bytes).ok());
    std::vector<int> codes;
    for (uint32_t i = 0; i < elements; ++i)
      codes.push_back(static_cast<int8_t>(bytes[i * element_bytes()]));
    EXPECT_TRUE(runtime_->FreeBuffer(*buffer).ok());
    return codes;
  }

  // Of inputs, which have as many as outputs.
  uint64_t element_bytes() const { return static_cast<uint64_t>(config_.output_element_bytes()); }
  void TellAndForget();
  void KeepToLiveBuffers();

  Config config_ = kConfig;
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
      return runtime_->AddUop({.mode = Kernel::Mode::kAlu,
                               .uop = {5, 5, 0},
                               .alu = 2,
                               .use_immediate = true,
                               .immediate = 7});
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(StoreAndRun(6), (std::vector<int>{0, 0, 0, 0, 0, 21}));
  EXPECT_EQ(recorded, 1);
  EXPECT_THAT(
      TextOf(0),
      ElementsAre(HasSubstr("LOAD uop sram=0"), HasSubstr("---- ALU add imm=7 uop[0,1) loop 1x1"),
                  HasSubstr("ALU"), HasSubstr("---N ALU"), HasSubstr("p-P- STORE out"),
                  "---N NOP stage=load", "pn-- NOP stage=compute", "---- FINISH"));
  // In the next launch it is loaded again, to place 0: another program may have had the buffer.
  ASSERT_TRUE(AddImmediate(slot, 0, 1, 0).ok());
  EXPECT_EQ(StoreAndRun(6), (std::vector<int>{0, 0, 0, 0, 0, 28}));
  EXPECT_THAT(TextOf(1)[0], HasSubstr("LOAD uop sram=0"));
}

// Kernels of one launch that overflow the micro-op buffer: each load brings its own kernel's
// micro-ops.
TEST_P(VtaRuntime, KernelsMayOverflowTheBuffer) {
  KernelSlot slots[3];
  const uint32_t count = 3000;  // of 8192
  for (int round = 0; round < 2; ++round) {
    for (KernelSlot& slot : slots)
      ASSERT_TRUE(AddOnes(slot, count + static_cast<uint32_t>(&slot - slots)).ok());
  }
  // Accumulator 0: 1000, 1001, 1001 times each kernel, twice; modulo 256.
  const int zero = 2 * (1000 + 1001 + 1001), one = 2 * (1000 + 1000 + 1001),
            two = 2 * (1000 + 1000 + 1000);
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
    return MessageOf(
        runtime_->PushKernel(Kernel::Mode::kAlu, slot, signature, [] { return OkStatus(); }));
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
  const auto uop = [&](uint32_t dst) {
    return runtime_->AddUop({.mode = Kernel::Mode::kGemm, .uop = {dst, 0, 0}});
  };
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
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return runtime_->EndLoop(); }),
              HasSubstr("has not begun"));
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return runtime_->BeginLoop(1, 0, 0, 0); }),
              HasSubstr("not ended"));
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
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return uop(5000); }),
              HasSubstr("micro-op of accumulator 5000"));
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return runtime_->Synchronise(0); }),
              HasSubstr("inside a kernel"));
  EXPECT_THAT(MessageOf(runtime_->EndLoop()), HasSubstr("outside of a kernel's body"));
  EXPECT_THAT(
      message(Kernel::Mode::kAlu,
              [&] {
                return runtime_->AddUop({.mode = Kernel::Mode::kAlu, .uop = {0, 0, 0}, .alu = 259});
              }),
      HasSubstr("ALU operation 259; 0 to 4"));
  EXPECT_THAT(message(Kernel::Mode::kGemm, [&] { return runtime_->DependencyPush(1, 2); }),
              HasSubstr("a dependency inside a kernel's body"));
  // What does not fit leaves nothing behind.
  KernelSlot long_loop;
  EXPECT_THAT(MessageOf(AddImmediate(long_loop, 0, 20000, 1)), HasSubstr("inner is 20000"));
  EXPECT_EQ(StoreAndRun(1), std::vector<int>{0});
  EXPECT_THAT(TextOf(0)[0], HasSubstr("NOP stage=compute"));
  KernelSlot slot;
  EXPECT_THAT(MessageOf(AddOnes(slot, 9000)),
              HasSubstr("a kernel of 9000 micro-ops; the buffer holds 8192"));
}

// Whatever goes wrong, on every device, the next program runs.
class VtaRuntimeMisuse : public VtaRuntime {};

INSTANTIATE_TEST_SUITE_P(Devices, VtaRuntimeMisuse,
                         testing::Values("functional", "cycle", "remote", "rtl"),
                         [](const auto& suite) { return std::string(suite.param); });

// One test, so that hardware is built once.
TEST_P(VtaRuntimeMisuse, IsToldAndForgotten) {
  ASSERT_NO_FATAL_FAILURE(TellAndForget());
  ASSERT_NO_FATAL_FAILURE(KeepToLiveBuffers());
}

void VtaRuntime::TellAndForget() {
  auto buffer = runtime_->AllocateBuffer(64);
  ASSERT_TRUE(buffer.ok());
  std::vector<uint8_t> bytes(65);
  EXPECT_THAT(MessageOf(runtime_->CopyIn(bytes, **buffer, 0)),
              HasSubstr("bytes 0 to 65 of a buffer of 64"));
  EXPECT_THAT(MessageOf(runtime_->CopyOut(**buffer, UINT64_MAX, bytes)),
              HasSubstr("of a buffer of 64"));
  ASSERT_TRUE(runtime_->FreeBuffer(*buffer).ok());
  EXPECT_THAT(MessageOf(runtime_->FreeBuffer(*buffer)), HasSubstr("has been freed before"));
  EXPECT_THAT(MessageOf(runtime_->FreeBuffer(&bytes)), HasSubstr("is no buffer"));
  EXPECT_EQ(runtime_->FindBuffer(&bytes), nullptr);
  EXPECT_THAT(MessageOf(runtime_->DependencyPush(1, 3)),
              HasSubstr("stages 1 and 3 are no neighbours"));
  EXPECT_THAT(MessageOf(runtime_->DependencyPop(0, 2)), HasSubstr("there is no stage 0"));
  EXPECT_FALSE(runtime_->AllocateBuffer(uint64_t{1} << 40).ok());

  // A device error: a store beyond the buffer on chip; then a pop that nobody answers.
  buffer = runtime_->AllocateBuffer(4096);
  const auto last = static_cast<uint32_t>(config_.accumulators() - 1);
  ASSERT_TRUE(runtime_
                  ->Store({.memory = Memory::kOutput,
                           .sram_index = last,
                           .x_size = 2,
                           .y_size = 1,
                           .x_stride = 2},
                          **buffer)
                  .ok());
  EXPECT_THAT(MessageOf(runtime_->Synchronise(0)),
              HasSubstr(fmt::format("sram_range: instruction 0, '--P- STORE out sram={}", last)));
  ASSERT_TRUE(runtime_->DependencyPop(2, 1).ok());
  EXPECT_THAT(MessageOf(runtime_->Synchronise(0)),
              HasSubstr("deadlock: instruction 1, '-n-- NOP stage=load'"));
  EXPECT_THAT(MessageOf(runtime_->Load(**buffer,
                                       {.memory = Memory::kInput, .x_size = 1 << 16, .y_size = 1})),
              HasSubstr("x_size is 65536"));

  KernelSlot slot;
  ASSERT_TRUE(AddImmediate(slot, 0, 2, 9).ok());
  EXPECT_EQ(StoreAndRun(2), (std::vector<int>{9, 9}));
  EXPECT_TRUE(runtime_->FreeBuffer(*buffer).ok());
}

// What a program would read or write outside of the buffers keeps all of it from running.
void VtaRuntime::KeepToLiveBuffers() {
  const std::vector<int> before = StoreAndRun(2);
  launches_.clear();
  const std::vector<uint8_t> ones(100 * element_bytes(), 1);
  Buffer* const in = *runtime_->AllocateBuffer(ones.size());  // short of its page's end
  ASSERT_TRUE(runtime_->CopyIn(ones, *in, 0).ok());
  Buffer* const out = *runtime_->AllocateBuffer(64 * element_bytes());
  const auto store = [&](uint32_t elements) {
    return runtime_->Store(
        {.memory = Memory::kOutput, .x_size = elements, .y_size = 1, .x_stride = elements}, *out);
  };
  const auto message = [&] { return MessageOf(runtime_->Synchronise(0)); };
  const std::string address = fmt::format("{:#x}", in->address());
  KernelSlot slot;

  // One element too many, in the third row; what stands before it does not run.
  ASSERT_TRUE(AddImmediate(slot, 0, 64, 1).ok());
  ASSERT_TRUE(store(64).ok());
  ASSERT_TRUE(runtime_
                  ->Load(*in, {.memory = Memory::kInput,
                               .element_offset = 4,
                               .x_size = 33,
                               .y_size = 3,
                               .x_stride = 32})
                  .ok());
  EXPECT_THAT(
      message(),
      AllOf(HasSubstr("LOAD inp sram=0"), HasSubstr("row 2, bytes "),
            HasSubstr(fmt::format("is not inside a buffer; the one before has {} bytes from {}",
                                  ones.size(), address))));
  EXPECT_TRUE(launches_.empty());
  // Padding is on chip: the same with a row less in memory. The accumulators have nothing of the
  // program before.
  ASSERT_TRUE(runtime_
                  ->Load(*in, {.memory = Memory::kInput,
                               .element_offset = 4,
                               .x_size = 33,
                               .y_size = 2,
                               .x_stride = 32,
                               .x_pad_before = 3,
                               .y_pad_before = 1,
                               .x_pad_after = 2,
                               .y_pad_after = 5})
                  .ok());
  EXPECT_EQ(StoreAndRun(2), before);

  // A gap that the last row's stride would leave is not touched.
  ASSERT_TRUE(
      runtime_->Load(*in, {.memory = Memory::kInput, .x_size = 20, .y_size = 2, .x_stride = 80})
          .ok());
  EXPECT_EQ(message(), "");
  // A store that runs from one buffer into the next one's page, and one into the room of micro-ops
  // or instructions.
  ASSERT_TRUE(store(65).ok());
  EXPECT_THAT(message(), AllOf(HasSubstr("instruction 0, '--P- STORE out sram=0"),
                               HasSubstr("row 0, bytes ")));
  for (const uint64_t back : {in->address() - 4096, uint64_t{0x2000}}) {
    // Bytes of addresses are counted modulo 2^32, so that an offset leads back.
    const uint64_t offset = ((uint64_t{1} << 32) + back - out->address()) / element_bytes();
    ASSERT_TRUE(runtime_
                    ->Store({.memory = Memory::kOutput,
                             .element_offset = offset,
                             .x_size = 1,
                             .y_size = 1,
                             .x_stride = 1},
                            *out)
                    .ok());
    EXPECT_THAT(message(),
                HasSubstr(fmt::format("row 0, bytes {:#x} to {:#x}, is not inside a buffer", back,
                                      back + element_bytes() - 1)));
  }
  // Freed before it is used.
  ASSERT_TRUE(
      runtime_->Load(*in, {.memory = Memory::kInput, .x_size = 1, .y_size = 1, .x_stride = 1})
          .ok());
  ASSERT_TRUE(runtime_->FreeBuffer(in).ok());
  EXPECT_THAT(message(), HasSubstr("instruction 0, '---- LOAD inp sram=0"));
  // And the next program runs.
  ASSERT_TRUE(AddImmediate(slot, 0, 64, 1).ok());
  EXPECT_EQ(StoreAndRun(2), (std::vector<int>{before[0] + 1, before[1] + 1}));
}

// Against every byte that a transfer touches, one by one.
TEST(VtaLiveMemory, FindsWhatTouchesNothing) {
  Random random(7);
  int inside = 0, outside = 0;
  for (int i = 0; i < 4000; ++i) {
    LiveMemory memory;
    std::vector<bool> live(4096);
    std::vector<size_t> range_of(live.size());
    for (size_t at = 16, range = 1; at < 3000; ++range) {
      const size_t bytes = 16 + random.Below(1000);
      memory.Add(at, bytes);
      std::fill_n(live.begin() + static_cast<std::ptrdiff_t>(at), bytes, true);
      std::fill_n(range_of.begin() + static_cast<std::ptrdiff_t>(at), bytes, range);
      at += bytes + (random.Below(2) == 0 ? 0 : 1 + random.Below(40));  // some are neighbours
    }
    Instruction in;
    in.opcode = Opcode::kLoad;
    in.memory = Memory::kInput;
    in.dram_base = static_cast<uint32_t>(random.Below(120));
    in.x_size = static_cast<uint32_t>(random.Below(7));
    in.y_size = static_cast<uint32_t>(random.Below(7));
    in.x_stride = static_cast<uint32_t>(random.Below(12));
    in.x_pad_before = in.x_pad_after = in.y_pad_before = in.y_pad_after =
        static_cast<uint32_t>(random.Below(3));
    bool right = true;
    for (size_t row = 0; row < in.y_size; ++row) {
      const size_t begin = (in.dram_base + row * in.x_stride) * 16;
      for (size_t byte = begin; byte < begin + size_t{in.x_size} * 16; ++byte) {
        right = right && live[byte] && range_of[byte] == range_of[begin];
      }
    }
    const auto stray = memory.FindStray(in, kConfig);
    EXPECT_EQ(!stray.has_value(), right) << i << ": " << stray.value_or("");
    ++(right ? inside : outside);
  }
  EXPECT_GT(inside, 500);
  EXPECT_GT(outside, 500);
}

// Many rows take no more time than few.
TEST(VtaLiveMemory, RowsAreNotGoneThrough) {
  LiveMemory memory;
  memory.Add(4096, (uint64_t{1} << 32) - 4096);
  Instruction in;
  in.opcode = Opcode::kLoad;
  in.memory = Memory::kInput;
  in.dram_base = 256;
  in.x_size = in.y_size = 65535;
  for (const uint32_t stride : {0U, 1U, 3000U}) {
    in.x_stride = stride;
    for (int i = 0; i < 1'000'000; ++i) ASSERT_EQ(memory.FindStray(in, kConfig), std::nullopt);
  }
  in.x_stride = 65535;  // beyond the last address
  EXPECT_TRUE(memory.FindStray(in, kConfig).has_value());
}

TEST_P(VtaRuntime, SerialProgramsGiveTheSame) {
  KernelSlot a, b;
  runtime_->SetDebugMode(kForceSerial);
  ASSERT_TRUE(AddImmediate(a, 0, 2, 5).ok());
  ASSERT_TRUE(AddImmediate(b, 1, 1, 6).ok());
  EXPECT_EQ(StoreAndRun(2), (std::vector<int>{5, 11}));
  // By the rules of the original's serial mode. The store's token goes to a no-op of compute; that
  // takes no push, so a second one begins the handshake with load.
  EXPECT_THAT(TextOf(0),
              ElementsAre(HasSubstr("---- LOAD uop sram=0"), HasSubstr("---- ALU add imm=5"),
                          HasSubstr("---- LOAD uop sram=1"), HasSubstr("---N ALU add imm=6"),
                          HasSubstr("p-P- STORE out"), "-n-- NOP stage=compute",
                          "--P- NOP stage=compute", "-n-- NOP stage=load", "---N NOP stage=load",
                          "p--- NOP stage=compute", "---- FINISH"));
}

// Each stream against what the original's rules make of it, worked out by hand.
TEST(VtaInstructionStream, SerialEnds) {
  const auto load = [](Memory memory) {
    Instruction in;
    in.opcode = Opcode::kLoad;
    in.memory = memory;
    in.x_size = in.y_size = 1;
    return in;
  };
  Instruction store, alu;
  store.opcode = Opcode::kStore;
  store.memory = Memory::kOutput;
  store.x_size = store.y_size = 1;
  alu.opcode = Opcode::kAlu;
  // Stages with their pops and pushes, as in Disassemble's first column.
  const auto text = [](InstructionStream& stream) {
    stream.FinishSerial();
    std::vector<std::string> lines;
    for (const Instruction& in : stream.instructions()) {
      const auto mark = [](bool set, char letter) { return set ? letter : '-'; };
      lines.push_back(fmt::format("{}{}{}{} {}{}", mark(in.pop_previous, 'p'),
                                  mark(in.pop_next, 'n'), mark(in.push_previous, 'P'),
                                  mark(in.push_next, 'N'), NameOf(StageOf(in)),
                                  in.opcode == Opcode::kFinish ? " finish"
                                  : IsNop(in)                  ? " nop"
                                                               : ""));
    }
    return lines;
  };
  {
    InstructionStream empty;
    EXPECT_THAT(text(empty), ElementsAre("--P- compute nop", "-n-- load nop", "---N load nop",
                                         "p--- compute nop", "---- compute finish"));
  }
  {
    // Tokens between neighbours that were asked for are dropped; a load and a store are not
    // ordered.
    InstructionStream stream;
    stream.Append(load(Memory::kInput));
    ASSERT_TRUE(stream.Push(Stage::kLoad, Stage::kCompute));
    stream.Append(load(Memory::kInput));
    ASSERT_TRUE(stream.Pop(Stage::kStore, Stage::kCompute));
    stream.Append(load(Memory::kAccumulator));
    stream.Append(alu);
    stream.Append(load(Memory::kWeight));
    stream.Append(store);
    EXPECT_THAT(text(stream),
                ElementsAre("---- load", "---N load", "p--- compute", "--P- compute", "-n-- load",
                            "--P- store", "-n-- compute nop", "--P- compute nop", "-n-- load nop",
                            "---N load nop", "p--- compute nop", "---- compute finish"));
  }
  {
    // A stream that ends in compute: its last instruction begins the handshake, the pop of a
    // store's token that waits is forgotten; pops of the first instruction and one of a load's
    // token that waits remain.
    InstructionStream stream;
    ASSERT_TRUE(stream.Pop(Stage::kCompute, Stage::kLoad));
    stream.Append(load(Memory::kInput));
    stream.Append(alu);
    ASSERT_TRUE(stream.Pop(Stage::kStore, Stage::kCompute));
    EXPECT_THAT(text(stream),
                ElementsAre("-n-N load", "p-P- compute", "-n-- load nop", "---N load nop",
                            "p--- compute nop", "---- compute finish"));
    stream.Clear();
    stream.Append(alu);
    ASSERT_TRUE(stream.Pop(Stage::kLoad, Stage::kCompute));
    EXPECT_THAT(text(stream),
                ElementsAre("---- compute", "p--- compute nop", "--P- compute nop", "-n-- load nop",
                            "---N load nop", "p--- compute nop", "---- compute finish"));
  }
}

// A program that is longer than its room is run as far as it goes and begun anew.
TEST(VtaRuntimeRoom, FullStreamsAreRunAndBegunAnew) {
  constexpr size_t kRoomBytes = size_t{32} << 20;
  auto runtime = Runtime::Create(MakeFunctionalDevice(kConfig));
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  std::vector<std::array<size_t, 2>> launches;  // bytes of instructions and of micro-ops
  (*runtime)->set_observer([&](const Runtime::Launch& launch) {
    launches.push_back({launch.instructions.size(), launch.uops.size() * Config::kUopBytes});
  });
  // acc[0] += `value`, by the first of so many micro-ops.
  const auto add = [&](KernelSlot& slot, int32_t value, uint32_t uops) {
    return (*runtime)->PushKernel(Kernel::Mode::kAlu, slot, {}, [&]() -> Status {
      for (uint32_t i = 0; i < uops; ++i) {
        KILN_RETURN_IF_ERROR((*runtime)->AddUop({.mode = Kernel::Mode::kAlu,
                                                 .uop = {i % 3 + (i >= 3 ? 3 : 0), 0, 0},
                                                 .alu = 2,
                                                 .use_immediate = true,
                                                 .immediate = value}));
      }
      return OkStatus();
    });
  };
  Buffer* const out = *(*runtime)->AllocateBuffer(16);
  const auto sum = [&] {
    EXPECT_TRUE((*runtime)->DependencyPush(2, 3).ok() && (*runtime)->DependencyPop(2, 3).ok());
    EXPECT_TRUE(
        (*runtime)
            ->Store({.memory = Memory::kOutput, .x_size = 1, .y_size = 1, .x_stride = 1}, *out)
            .ok());
    const Status status = (*runtime)->Synchronise(0);
    EXPECT_TRUE(status.ok()) << status;
    std::array<uint8_t, 16> code{};
    EXPECT_TRUE((*runtime)->CopyOut(*out, 0, code).ok());
    return static_cast<int>(code[0]);
  };

  // Of instructions: every one counts once, on whichever side it stands.
  KernelSlot one;
  const size_t count = kRoomBytes / kInstructionBytes + 5;
  for (size_t i = 0; i < count; ++i) ASSERT_TRUE(add(one, 1, 1).ok());
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_LE(launches[0][0], kRoomBytes);
  EXPECT_GT(launches[0][0], kRoomBytes - 16 * kInstructionBytes);
  EXPECT_EQ(sum(), static_cast<int>(count % 256));
  EXPECT_EQ(launches.size(), 2u);

  // Of micro-ops: kernels that push each other out.
  KernelSlot large[2];
  constexpr uint32_t kUops = 8000;
  const size_t loads = kRoomBytes / (kUops * Config::kUopBytes) + 2;
  for (size_t i = 0; i < loads; ++i) ASSERT_TRUE(add(large[i % 2], 3, kUops).ok());
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_LE(launches[2][1], kRoomBytes);
  EXPECT_GT(launches[2][1], kRoomBytes - kUops * Config::kUopBytes);
  EXPECT_EQ(sum(), static_cast<int>((count + 3 * loads) % 256));
}

TEST(VtaDeviceLimits, EndRunsAndMemory) {
  auto runtime = Runtime::Create(MakeFunctionalDevice(
      kConfig, {.memory_bytes = uint64_t{65} << 20, .instructions = 8, .steps = 5}));
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_TRUE((*runtime)->AllocateBuffer(1 << 20).ok());
  const auto full = (*runtime)->AllocateBuffer(1);
  EXPECT_EQ(full.status().code(), absl::StatusCode::kResourceExhausted);
  KernelSlot slot;
  ASSERT_TRUE((*runtime)
                  ->PushKernel(Kernel::Mode::kAlu, slot, {},
                               [&]() -> Status {
                                 KILN_RETURN_IF_ERROR((*runtime)->BeginLoop(9, 1, 1, 0));
                                 KILN_RETURN_IF_ERROR(
                                     (*runtime)->AddUop({.mode = Kernel::Mode::kAlu,
                                                         .uop = {0, 0, 0},
                                                         .alu = 2,
                                                         .use_immediate = true}));
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
  const uint64_t a = *pages.Allocate(3 * 4096), b = *pages.Allocate(1),
                 c = *pages.Allocate(2 * 4096);
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
