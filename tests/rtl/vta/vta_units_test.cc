// Tests parts of the VTA machine on their own, behind handshakes that stall: the decoding and
// checking of instructions, the walk over a load, the loops of a computation.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

#include "Vvta_decode_default.h"
#include "Vvta_decode_small.h"
#include "Vvta_element_reader.h"
#include "Vvta_steps.h"
#include "kiln/targets/vta/simulate/functional/fault_rules.h"
#include "tests/rtl/support.h"
#include "tests/rtl/vta/machine.h"
#include "tests/rtl/vta/units.h"

namespace kiln::rtl {
namespace {

using vta::FindStaticFault;

Config Default() { return *vta::ParseOriginalConfig("{}", "default"); }

template <typename Model>
void CheckDecoder(const Config& config) {
  Simulation<Model> decoder;
  const Encoding encoding(config);
  Random random(1);
  int right = 0;
  for (int i = 0; i < 50'000; ++i) {
    const Instruction in =
        random.Below(2) == 0 ? RandomTransfer(random) : RandomFields(random, config);
    SetBytes(decoder->instruction, BytesOf(encoding.Encode(in)));
    decoder.Settle();
    const auto fault = FindStaticFault(in, 0, config);
    ASSERT_EQ(decoder->fault, CodeOf(fault)) << (fault.has_value() ? fault->message : "right")
                                             << ", opcode " << static_cast<int>(in.opcode);
    ASSERT_EQ(decoder->stage, static_cast<uint32_t>(StageOf(in)));
    if (fault.has_value()) continue;
    ++right;
    ASSERT_EQ(decoder->banks, BanksOf(in, config));
  }
  EXPECT_GT(right, 5'000);
}
TEST(VtaUnits, DecoderFindsWhatIsWrong) { CheckDecoder<Vvta_decode_small>(Small()); }
TEST(VtaUnits, DecoderOfTheDefaultSizes) { CheckDecoder<Vvta_decode_default>(Default()); }

template <typename Model>
void CheckFields(const Config& config) {
  Simulation<Model> fields;
  const Encoding encoding(config);
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    Instruction in = RandomFields(random, config);
    in.opcode = random.Below(2) == 0 ? Opcode::kGemm : Opcode::kAlu;
    const Encoding::Bytes bytes = encoding.Encode(in);
    in = encoding.Decode(bytes);
    SetBytes(fields->instruction, BytesOf(bytes));
    fields.Settle();
    const bool alu = in.opcode == Opcode::kAlu;
    EXPECT_EQ(fields->clear, !alu && in.reset);
    EXPECT_EQ(fields->uop_begin, in.uop_begin);
    EXPECT_EQ(fields->uop_end, in.uop_end);
    EXPECT_EQ(fields->outer, in.outer);
    EXPECT_EQ(fields->inner, in.inner);
    EXPECT_EQ(fields->dst_outer, in.dst_outer);
    EXPECT_EQ(fields->dst_inner, in.dst_inner);
    EXPECT_EQ(fields->src_outer, in.src_outer);
    EXPECT_EQ(fields->src_inner, in.src_inner);
    if (alu) {
      EXPECT_EQ(fields->operation, static_cast<uint32_t>(in.alu));
      EXPECT_EQ(fields->use_immediate, in.use_immediate);
      EXPECT_EQ(static_cast<int16_t>(fields->immediate), in.immediate);
    } else {
      EXPECT_EQ(fields->weight_outer, in.weight_outer);
      EXPECT_EQ(fields->weight_inner, in.weight_inner);
    }
    if (testing::Test::HasFailure()) return;
  }
}
TEST(VtaUnits, FieldsStandWhereTheEncodingPutsThem) { CheckFields<Vvta_decode_small>(Small()); }
TEST(VtaUnits, FieldsOfTheDefaultSizes) { CheckFields<Vvta_decode_default>(Default()); }

// ---- The element reader.

TEST(VtaUnits, ElementReaderWalksLoads) {
  const Config config = Small();
  const Encoding encoding(config);
  Simulation<Vvta_element_reader> reader;
  reader->start = reader->request_ready = 0;
  reader->uop_base = reader->input_base = reader->weight_base = reader->accumulator_base = 0;
  reader.Reset();
  Random random(3);
  Stalls stalls(4, 0.4);
  for (int i = 0; i < 2'000; ++i) {
    Instruction in = RandomTransfer(random);
    in.opcode = Opcode::kLoad;
    in.memory = static_cast<Memory>(std::array{0, 1, 2, 3, 5}[random.Below(5)]);
    reader->start = 1;
    reader->number = static_cast<uint32_t>(i);
    SetBytes(reader->instruction, BytesOf(encoding.Encode(in)));
    reader.Settle();
    ASSERT_FALSE(reader->busy);
    reader.Step();
    reader->start = 0;
    for (const Element& expected : ElementsOf(in, config)) {
      // The request is there in the next cycle, and stays.
      for (bool taken = false; !taken;) {
        taken = !stalls.Next();
        reader->request_ready = taken;
        reader.Settle();
        ASSERT_TRUE(reader->request_valid && reader->busy);
        const ReadTag tag = ReadTagOf(reader->request_tag);
        ASSERT_EQ(tag.push_next, in.push_next);
        ASSERT_EQ(tag.last, expected.last);
        ASSERT_EQ(tag.empty, expected.empty);
        ASSERT_EQ(reader->request_bytes, expected.bytes);
        if (!expected.empty) {
          ASSERT_EQ(tag.padding, expected.padding);
          ASSERT_EQ(tag.element, expected.index);
        }
        ASSERT_EQ(tag.memory, static_cast<uint32_t>(in.memory));
        ASSERT_EQ(tag.number, static_cast<uint32_t>(i));
        if (!expected.padding) {
          ASSERT_EQ(reader->request_address, expected.address);
        }
        reader.Step();
      }
    }
    reader->request_ready = 0;
  }
}

// ---- The loops. Commands follow each other without a cycle between, but where they are late or
// the source stalls.
TEST(VtaUnits, StepsFollowTheLoops) {
  const Config config = Small();
  const Encoding encoding(config);
  Simulation<Vvta_steps> steps;
  steps->command_valid = 0;
  steps.Reset();
  struct Step {
    uint32_t uop, dst, src, weight;
    bool gemm, last;
    uint64_t cycle;
  };
  Random random(5);
  std::deque<Step> expected;
  Stalls stalls(6, 0.3, Stalls::Kind::kBursts);
  Instruction in;
  bool offered = false, late = false, pairs = false;
  for (int commands = 0; commands < 1'000 || !expected.empty();) {
    if (!offered && commands < 1'000 && !stalls.Next()) {
      in = RandomFields(random, config);
      in.opcode = random.Below(2) == 0 ? Opcode::kGemm : Opcode::kAlu;
      in.uop_begin = static_cast<uint32_t>(random.Below(60));
      in.uop_end = in.uop_begin + static_cast<uint32_t>(random.Between(1, 4));
      in.outer = static_cast<uint32_t>(random.Between(1, 3));
      in.inner = static_cast<uint32_t>(random.Between(1, 3));
      in = encoding.Decode(encoding.Encode(in));
      late = random.Below(2) == 0;
      pairs = random.Below(3) == 0;
      offered = true;
    }
    steps->command_valid = offered;
    steps->command_late = late;
    steps->command_pairs = pairs;
    SetBytes(steps->command_instruction, BytesOf(encoding.Encode(in)));
    steps.Settle();
    const bool now = !expected.empty() && expected.front().cycle == steps.Cycle();
    ASSERT_EQ(steps->step_valid, now) << "cycle " << steps.Cycle();
    ASSERT_EQ(steps->active, !expected.empty());
    bool ends = expected.empty();
    if (now) {
      const Step& step = expected.front();
      const auto low = [](uint32_t value, int bits) { return value & ((1u << bits) - 1); };
      ASSERT_EQ(steps->uop_address, step.uop);
      ASSERT_EQ(steps->dst, low(step.dst, 6));
      ASSERT_EQ(steps->src, low(step.src, 6));
      if (step.gemm) {
        ASSERT_EQ(steps->weight, low(step.weight, 6));
      }
      ASSERT_EQ(steps->step_last, step.last);
      ends = step.last;
      expected.pop_front();
    }
    ASSERT_EQ(steps->command_ready, ends);
    if (offered && ends) {
      uint64_t cycle = steps.Cycle() + 1 + (late ? 1 : 0);
      for (uint32_t o = 0; o < in.outer; ++o) {
        for (uint32_t i = 0; i < in.inner; ++i) {
          for (uint32_t u = in.uop_begin; u < in.uop_end; ++u, cycle += pairs ? 2 : 1) {
            expected.push_back({u, o * in.dst_outer + i * in.dst_inner,
                                o * in.src_outer + i * in.src_inner,
                                o * in.weight_outer + i * in.weight_inner,
                                in.opcode == Opcode::kGemm, false, cycle});
          }
        }
      }
      expected.back().last = true;
      offered = false;
      ++commands;
    }
    steps.Step();
  }
}

}  // namespace
}  // namespace kiln::rtl
