// Limits of the runtime, the micro-op cache, the remote protocol, the instruction set and the
// linter: one below, at, and one above.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "fmt/format.h"
#include "kiln/targets/vta/lint/lint.h"
#include "kiln/targets/vta/runtime/kernel.h"
#include "kiln/targets/vta/runtime/remote_protocol.h"
#include "kiln/targets/vta/runtime/runtime.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"
#include "tests/targets/vta/default_config.h"

namespace kiln::vta {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// -------------------------------------------------------------------------------------------------
// micro-op cache

Kernel KernelOf(uint32_t uops, uint32_t first_dst = 0) {
  Kernel kernel;
  for (uint32_t i = 0; i < uops; ++i) {
    const Status status = kernel.Add({.mode = Kernel::Mode::kGemm, .uop = {first_dst + i, 0, 0}});
    EXPECT_TRUE(status.ok()) << status;
  }
  return kernel;
}

struct Found {
  uint32_t first;
  bool loaded;
};
Found Find(KernelCache& cache, const Kernel& kernel) {
  const auto place = cache.Find(&kernel);
  EXPECT_TRUE(place.ok()) << place.status();
  return place.ok() ? Found{place->first, place->load_from.has_value()} : Found{};
}

// A kernel of one micro-op that stands at the end, in the middle or at the begin of what a new one
// takes is gone.
TEST(VtaKernelCache, WhatIsOverwrittenIsLoadedAgain) {
  for (uint32_t before = 1; before < 7; ++before) {
    SCOPED_TRACE(before);
    KernelCache cache(8);
    const Kernel front = KernelOf(before), one = KernelOf(1, 100), rest = KernelOf(7);
    EXPECT_EQ(Find(cache, front).first, 0u);
    EXPECT_EQ(Find(cache, one).first, before);
    EXPECT_FALSE(Find(cache, one).loaded);  // still there
    // Seven micro-ops do not fit behind it: they begin anew at 0 and reach over it.
    const Found over = Find(cache, rest);
    EXPECT_EQ(over.first, 0u);
    EXPECT_TRUE(over.loaded);
    EXPECT_TRUE(Find(cache, one).loaded);
    EXPECT_TRUE(Find(cache, front).loaded);
  }
}

// Against a model of the buffer that knows which micro-ops stand where.
TEST(VtaKernelCache, NoKernelRunsOthersMicroOps) {
  constexpr uint32_t kCapacity = 16;
  uint64_t state = 1;
  const auto draw = [&state](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  std::vector<Kernel> kernels;
  for (uint32_t i = 0; i < 12; ++i)
    kernels.push_back(KernelOf(i % 3 == 0 ? 1 : 1 + static_cast<uint32_t>(draw(9)), 64 * i));
  KernelCache cache(kCapacity);
  // The destination of each micro-op, which identifies the kernel that it belongs to.
  std::array<uint32_t, kCapacity> buffer{};
  int kept = 0, loads = 0;
  for (int i = 0; i < 4000; ++i) {
    const Kernel& kernel = kernels[draw(kernels.size())];
    const auto place = cache.Find(&kernel);
    ASSERT_TRUE(place.ok());
    const auto size = static_cast<uint32_t>(kernel.uops().size());
    ASSERT_LE(place->first + size, kCapacity);
    if (place->load_from.has_value()) {
      ++loads;
      ASSERT_LE(*place->load_from + size, cache.launch_uops().size());
      for (uint32_t u = 0; u < size; ++u)
        buffer[place->first + u] = cache.launch_uops()[*place->load_from + u].dst;
    } else {
      ++kept;
    }
    for (uint32_t u = 0; u < size; ++u)
      ASSERT_EQ(buffer[place->first + u], kernel.uops()[u].dst) << i;
    if (draw(200) == 0) {
      cache.EndLaunch();
      buffer.fill(UINT32_MAX);  // another program may have had it
    }
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(loads, 100);
}

TEST(VtaKernelCache, HoldsAsManyMicroOpsAsTheBuffer) {
  KernelCache cache(8);
  const Kernel seven = KernelOf(7), eight = KernelOf(8), nine = KernelOf(9), one = KernelOf(1);
  EXPECT_EQ(Find(cache, seven).first, 0u);
  EXPECT_EQ(Find(cache, one).first, 7u);  // the last place
  EXPECT_FALSE(Find(cache, seven).loaded);
  EXPECT_EQ(Find(cache, eight).first, 0u);
  EXPECT_FALSE(Find(cache, eight).loaded);
  EXPECT_THAT(MessageOf(cache.Find(&nine).status()),
              HasSubstr("a kernel of 9 micro-ops; the buffer holds 8"));
}

TEST(VtaKernel, ImmediatesHave16Bits) {
  for (const auto& [immediate, fits] :
       {std::pair(-32769, false), {-32768, true}, {32767, true}, {32768, false}}) {
    Kernel kernel;
    const Status status = kernel.Add({.mode = Kernel::Mode::kAlu,
                                      .uop = {},
                                      .alu = 2,
                                      .use_immediate = true,
                                      .immediate = immediate});
    EXPECT_EQ(status.ok(), fits) << immediate;
    Kernel unused;
    EXPECT_TRUE(
        unused.Add({.mode = Kernel::Mode::kAlu, .uop = {}, .alu = 2, .immediate = immediate}).ok());
  }
  for (const auto& [alu, fits] : {std::pair(4u, true), {5u, false}}) {
    Kernel kernel;
    EXPECT_EQ(kernel.Add({.mode = Kernel::Mode::kAlu, .uop = {}, .alu = alu}).ok(), fits) << alu;
  }
}

// A destination may come again as the fourth micro-op, not as the second or third.
TEST(VtaKernel, DestinationsThreeApart) {
  const auto add = [](Kernel& kernel, uint32_t dst) {
    return kernel.Add({.mode = Kernel::Mode::kGemm, .uop = {dst, 0, 0}}).ok();
  };
  Kernel kernel;
  EXPECT_TRUE(add(kernel, 5));
  EXPECT_FALSE(add(kernel, 5));
  EXPECT_TRUE(add(kernel, 6));
  EXPECT_FALSE(add(kernel, 5));
  EXPECT_TRUE(add(kernel, 7));
  EXPECT_TRUE(add(kernel, 5));
}

// -------------------------------------------------------------------------------------------------
// runtime

// 32 MiB of micro-ops: 1024 kernels of 8192 fill them to the last; a stream that does is one
// launch.
TEST(VtaRuntimeRoom, ALaunchMayFillTheMicroOpsExactly) {
  constexpr uint32_t kUops = 8192;
  constexpr size_t kLoads = (size_t{32} << 20) / (kUops * Config::kUopBytes);
  auto runtime = Runtime::Create(MakeFunctionalDevice(kConfig));
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  std::vector<size_t> launches;  // micro-ops
  (*runtime)->set_observer(
      [&](const Runtime::Launch& launch) { launches.push_back(launch.uops.size()); });
  KernelSlot slots[2];
  const auto push = [&](KernelSlot& slot) {
    return (*runtime)->PushKernel(Kernel::Mode::kAlu, slot, {}, [&]() -> Status {
      for (uint32_t i = 0; i < kUops; ++i) {
        KILN_RETURN_IF_ERROR((*runtime)->AddUop({.mode = Kernel::Mode::kAlu,
                                                 .uop = {i % 3, 0, 0},
                                                 .alu = 2,
                                                 .use_immediate = true,
                                                 .immediate = 0}));
      }
      return OkStatus();
    });
  };
  for (size_t i = 0; i < kLoads; ++i) ASSERT_TRUE(push(slots[i % 2]).ok());
  EXPECT_TRUE(launches.empty());
  ASSERT_TRUE(push(slots[kLoads % 2]).ok());  // one more has no room
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(launches[0], kLoads * kUops);
}

// -------------------------------------------------------------------------------------------------
// instructions

// Fields of an instruction of the default machine, by their greatest value: one more does not fit,
// and both come back.
TEST(VtaEncoding, FieldsHoldTheirGreatestValue) {
  const Encoding encoding(kConfig);
  struct Field {
    const char* name;
    Opcode opcode;
    uint32_t Instruction::* value;
    uint32_t greatest;
  };
  const Field fields[] = {
      {"y_size", Opcode::kLoad, &Instruction::y_size, 65535},
      {"x_size", Opcode::kLoad, &Instruction::x_size, 65535},
      {"x_stride", Opcode::kLoad, &Instruction::x_stride, 65535},
      {"sram_base", Opcode::kLoad, &Instruction::sram_base, 65535},
      {"dram_base", Opcode::kLoad, &Instruction::dram_base, UINT32_MAX},
      {"y_pad_before", Opcode::kLoad, &Instruction::y_pad_before, 15},
      {"x_pad_after", Opcode::kLoad, &Instruction::x_pad_after, 15},
      {"uop_begin", Opcode::kGemm, &Instruction::uop_begin, 8191},
      {"uop_end", Opcode::kGemm, &Instruction::uop_end, 16383},
      {"outer", Opcode::kGemm, &Instruction::outer, 16383},
      {"inner", Opcode::kAlu, &Instruction::inner, 16383},
      {"dst_outer", Opcode::kGemm, &Instruction::dst_outer, 2047},
      {"src_inner", Opcode::kGemm, &Instruction::src_inner, 2047},
      {"weight_outer", Opcode::kGemm, &Instruction::weight_outer, 1023},
  };
  for (const Field& field : fields) {
    SCOPED_TRACE(field.name);
    Instruction in;
    in.opcode = field.opcode;
    if (field.opcode == Opcode::kLoad) in.memory = Memory::kInput;
    in.x_size = field.opcode == Opcode::kLoad ? 1 : 0;
    in.*field.value = field.greatest;
    EXPECT_EQ(encoding.FindMisfit(in), std::nullopt);
    EXPECT_EQ(encoding.Decode(encoding.Encode(in)).*field.value, field.greatest);
    if (field.greatest == UINT32_MAX) continue;
    in.*field.value = field.greatest + 1;
    EXPECT_THAT(encoding.FindMisfit(in).value_or(""),
                HasSubstr(fmt::format("0 to {}", field.greatest)));
  }
}

// Elements, micro-ops and loops that reach the last place of a buffer, and one further.
TEST(VtaFaultLimits, BuffersEndWhereTheyEnd) {
  const auto range = [](const Instruction& in, const UopMaximum& uops) {
    return FindRangeFault(in, 0, uops, kConfig).has_value();
  };
  Instruction gemm{.opcode = Opcode::kGemm, .uop_begin = 0, .uop_end = 1, .outer = 3, .inner = 2};
  gemm.dst_outer = 1000;
  EXPECT_FALSE(range(gemm, {.dst = 47, .src = 0, .weight = 0}));  // 47 + 2 * 1000 = 2047
  EXPECT_TRUE(range(gemm, {.dst = 48, .src = 0, .weight = 0}));
  gemm.dst_outer = 0;
  gemm.src_inner = 1;
  EXPECT_FALSE(range(gemm, {.dst = 0, .src = 2046, .weight = 0}));
  EXPECT_TRUE(range(gemm, {.dst = 0, .src = 2047, .weight = 0}));
  gemm.src_inner = 0;
  gemm.weight_outer = 1;
  EXPECT_FALSE(range(gemm, {.dst = 0, .src = 0, .weight = 1021}));
  EXPECT_TRUE(range(gemm, {.dst = 0, .src = 0, .weight = 1022}));
  gemm.reset = true;  // which has no operands
  EXPECT_FALSE(range(gemm, {.dst = 2047, .src = 9999, .weight = 9999}));
  EXPECT_TRUE(range(gemm, {.dst = 2048, .src = 0, .weight = 0}));
  Instruction alu{.opcode = Opcode::kAlu, .uop_begin = 0, .uop_end = 1, .outer = 1, .inner = 2};
  alu.src_inner = 7;
  EXPECT_FALSE(range(alu, {.dst = 0, .src = 2040, .weight = 0}));
  EXPECT_TRUE(range(alu, {.dst = 0, .src = 2041, .weight = 0}));
  for (const auto& [end, fault] : {std::pair(8191u, false), {8192u, false}, {8193u, true}}) {
    alu.uop_begin = end - 1;
    alu.uop_end = end;
    EXPECT_EQ(FindUopFault(alu, 0, kConfig).has_value(), fault) << end;
  }
  for (const auto& [left, fault] :
       {std::pair(uint64_t{1}, true), {uint64_t{2}, false}, {uint64_t{3}, false}}) {
    EXPECT_EQ(FindTooLong(alu, 0, left, 100).has_value(), fault) << left;
  }
}

// -------------------------------------------------------------------------------------------------
// protocol

Status HeaderStatus(const RemoteSession& session, uint32_t kind, uint32_t payload) {
  return session.CheckHeader({.payload = payload, .kind = kind});
}

// Requests by kind, with the least and the greatest payload of the protocol (docs/vta-runtime.md).
TEST(VtaRemoteProtocol, PayloadsAreHeldToTheirBounds) {
  const ServiceSettings settings{.token = "0123456789abcdef", .config = kConfig};
  RemoteSession session(settings, [] { return OkStatus(); });
  const auto expect = [&](uint32_t kind, uint32_t least, uint32_t most) {
    SCOPED_TRACE(kind);
    EXPECT_FALSE(HeaderStatus(session, kind, least - 1).ok());
    EXPECT_TRUE(HeaderStatus(session, kind, least).ok());
    EXPECT_TRUE(HeaderStatus(session, kind, most).ok());
    EXPECT_FALSE(HeaderStatus(session, kind, most + 1).ok());
  };
  expect(1, 16, 4096);  // hello
  for (uint32_t kind = 2; kind <= 6; ++kind) {
    EXPECT_THAT(MessageOf(HeaderStatus(session, kind,
                                       kind == 5   ? 12
                                       : kind == 6 ? 24
                                                   : 8)),
                HasSubstr("before the hello"));
  }
  FrameWriter hello(1);
  hello.Number32(kRemoteMagic);
  hello.Number32(kRemoteVersion);
  hello.Text(settings.token);
  hello.Text(SizesOf(kConfig));
  const std::vector<uint8_t> frame = hello.Take();
  const std::span<const uint8_t> payload = std::span(frame).subspan(FrameHeader::kBytes);
  const std::vector<uint8_t> reply =
      session.Handle({.payload = static_cast<uint32_t>(payload.size()), .kind = 1}, payload);
  ASSERT_FALSE(session.ended());
  expect(2, 8, 8);              // allocate: bytes
  expect(3, 8, 8);              // free: address
  expect(4, 8, 8 + (1 << 20));  // write: address, data
  expect(5, 12, 12);            // read: address, bytes
  expect(6, 24, 24);            // run: address, instructions, cycles
  EXPECT_FALSE(HeaderStatus(session, 0, 0).ok());
  EXPECT_FALSE(HeaderStatus(session, 7, 8).ok());
  EXPECT_THAT(MessageOf(HeaderStatus(session, 1, 64)), HasSubstr("a second hello"));

  // A read of as much as one message moves, and of one byte more.
  const auto number = [](const std::vector<uint8_t>& bytes, size_t at, size_t size) {
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint64_t{bytes.at(at + i)} << (8 * i);
    return value;
  };
  FrameWriter allocate(2);
  allocate.Number64(2 << 20);
  std::vector<uint8_t> bytes = allocate.Take();
  bytes = session.Handle({.payload = 8, .kind = 2}, std::span(bytes).subspan(8));
  ASSERT_EQ(number(bytes, 4, 4), 0u);
  const uint64_t address = number(bytes, 8, 8);
  for (const uint32_t count : {0u, 1u, (1u << 20) - 1, 1u << 20, (1u << 20) + 1}) {
    FrameWriter read(5);
    read.Number64(address);
    read.Number32(count);
    bytes = read.Take();
    bytes = session.Handle({.payload = 12, .kind = 5}, std::span(bytes).subspan(8));
    const bool fits = count <= 1u << 20;
    EXPECT_EQ(number(bytes, 4, 4) == 0, fits) << count;
    if (fits) {
      EXPECT_EQ(bytes.size(), 8 + size_t{count});
    }
  }
}

TEST(VtaRemoteProtocol, TokensAreOf16To256Characters) {
  for (const auto& [size, fits] :
       {std::pair(15, false), {16, true}, {17, true}, {255, true}, {256, true}, {257, false}}) {
    EXPECT_EQ(CheckToken(std::string(static_cast<size_t>(size), 'a')).ok(), fits) << size;
  }
  for (const auto& [letter, fits] :
       {std::pair(' ', false), {'!', true}, {'~', true}, {'\x7f', false}, {'\n', false}}) {
    EXPECT_EQ(CheckToken(std::string(15, 'a') + letter).ok(), fits) << static_cast<int>(letter);
  }
  EXPECT_TRUE(SameSecret("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "bbc", "abcd", "abca"})
    EXPECT_FALSE(SameSecret("abc", other)) << other;
  EXPECT_FALSE(SameSecret("abc", std::string_view("abc\0", 4)));  // a client sends any bytes
}

// Numbers past the end are zeros, and that is told.
TEST(VtaRemoteProtocol, PayloadsEndWhereTheyEnd) {
  const std::vector<uint8_t> bytes = {3, 0, 0, 0, 'a', 'b', 'c'};
  PayloadReader whole(bytes);
  EXPECT_EQ(whole.Text(), "abc");
  EXPECT_TRUE(whole.all_read());
  PayloadReader shorter(std::span<const uint8_t>(bytes).first(6));
  EXPECT_EQ(shorter.Text(), "");
  EXPECT_FALSE(shorter.ok());
  PayloadReader rest(bytes);
  EXPECT_EQ(rest.Number32(), 3u);
  EXPECT_FALSE(rest.all_read());
  EXPECT_EQ(rest.Rest().size(), 3u);
  EXPECT_TRUE(rest.all_read());
  EXPECT_EQ(rest.Number64(), 0u);
  EXPECT_FALSE(rest.ok());
}

// -------------------------------------------------------------------------------------------------
// linter

LintResult LintLines(const std::string& text) {
  const auto program = Assemble(text, "program", Encoding(kConfig));
  EXPECT_TRUE(program.ok()) << program.status();
  return LintInstructions(*program, kConfig, 1'000'000);
}

const std::string kPads = " pad(y0,y1,x0,x1)=0,0,0,0\n";
const std::string kZeroUops =
    "---- LOAD uop sram=0 dram=1024 y=0 x=2 stride=0 pad(y0,y1,x0,x1)=1,0,0,0\n";
const std::string kReset = "---- GEMM reset uop[0,1) loop 1x8 dst(0,1) src(0,0) wgt(0,0)\n";

// The machine in HLS shifts by -16 to 15, those in Chisel by up to 31.
TEST(VtaLintLimits, Shifts) {
  const auto lint = [](int shift) {
    return LintLines(
        kZeroUops + kReset +
        fmt::format("---- ALU shr imm={} uop[0,1) loop 1x4 dst(0,1) src(0,1)\n---- FINISH", shift));
  };
  for (const auto& [shift, hls, chisel] : {std::tuple(-17, true, false),
                                           {-16, false, false},
                                           {-15, false, false},
                                           {14, false, false},
                                           {15, false, false},
                                           {16, true, false},
                                           {31, true, false},
                                           {32, true, true},
                                           {-31, true, false},
                                           {-32, true, true}}) {
    const LintResult result = lint(shift);
    EXPECT_EQ(result.hls.contains("shift outside [-16,15]"), hls) << shift;
    EXPECT_EQ(result.chisel.contains("shift by more than 31"), chisel) << shift;
  }
}

// Links of the original's hardware count up to 255 tokens.
TEST(VtaLintLimits, TokensInFlight) {
  const auto lint = [](int tokens) {
    std::string text;
    for (int i = 0; i < tokens; ++i) text += "---N NOP stage=load\n";
    for (int i = 0; i < tokens; ++i) text += "p--- NOP stage=compute\n";
    return LintLines(text + "---- FINISH").hls.contains("more than 255 tokens in flight");
  };
  EXPECT_FALSE(lint(254));
  EXPECT_FALSE(lint(255));
  EXPECT_TRUE(lint(256));
}

// The micro-op buffer of the machine in Chisel holds 2048.
TEST(VtaLintLimits, MicroOpsOfChisel) {
  const auto lint = [](int end) {
    return LintLines(
               fmt::format(
                   "---- LOAD uop sram={} dram=1024 y=0 x=1 stride=0 pad(y0,y1,x0,x1)=1,0,0,0\n"
                   "---- GEMM reset uop[{},{}) loop 1x1 dst(0,0) src(0,0) wgt(0,0)\n---- FINISH",
                   end - 1, end - 1, end))
        .chisel;
  };
  EXPECT_THAT(lint(2047), Not(Contains("micro-ops from 2048 on")));
  EXPECT_THAT(lint(2048), Not(Contains("micro-ops from 2048 on")));
  EXPECT_THAT(lint(2049), Contains("micro-ops from 2048 on"));
}

// Memory is from byte 4096 to 2^32 - 1; an input element has 16 bytes.
TEST(VtaLintLimits, Addresses) {
  const auto faults = [](uint64_t dram, int elements) {
    const LintResult result = LintLines(
        fmt::format("---N LOAD inp sram=0 dram={} y=1 x={} stride={}{}p--- NOP stage=compute\n"
                    "---- FINISH",
                    dram, elements, elements, kPads));
    std::string messages;
    for (const Finding& finding : result.findings) messages += finding.message + "\n";
    return messages;
  };
  EXPECT_THAT(faults(255, 1), HasSubstr("dram_range"));
  EXPECT_EQ(faults(256, 1), "");
  EXPECT_EQ(faults((uint64_t{1} << 28) - 2, 2), "");  // the last bytes
  EXPECT_THAT(faults((uint64_t{1} << 28) - 1, 2), HasSubstr("dram_range"));
}

// An accumulator written one or two steps before is a hazard, three steps before is none.
TEST(VtaLintLimits, Hazards) {
  const auto hazard_free = [](int apart) {
    return LintLines(
               kZeroUops + kReset +
               fmt::format("---- ALU add imm=1 uop[0,1) loop 2x{} dst(0,1) src(0,1)\n---- FINISH",
                           apart))
        .hazard_free;
  };
  EXPECT_FALSE(hazard_free(1));
  EXPECT_FALSE(hazard_free(2));
  EXPECT_TRUE(hazard_free(3));
}

}  // namespace
}  // namespace kiln::vta
