// Compares kiln_vector_stage with ApplyStage: every operation with every kind of argument on random
// numbers of the vector format, words in any sequence, with stalls of the lanes.
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "Vvector_stage.h"
#include "Vvector_stage_bf16.h"
#include "Vvector_stage_fp16.h"
#include "Vvector_stage_fp16_1.h"
#include "Vvector_stage_short.h"
#include "Vvector_stage_short_netlist.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/vector_command.h"

namespace kiln::rtl {
namespace {

using systolic::Argument;
using systolic::Numbers;
using systolic::Stage;
using systolic::StageOp;

constexpr int kLanes = 2, kStage = 1, kRows = 3, kSlots = 3, kPasses = 4;

float RandomFloat(Random& random) {
  switch (random.Below(8)) {
    case 0:
      return std::bit_cast<float>(static_cast<uint32_t>(random()));  // any bits at all
    case 1: {
      const float limits[] = {0.0f, -0.0f, 1.0f, -1.0f, std::numeric_limits<float>::infinity(),
                              -4.0f};
      return limits[random.Below(6)];
    }
    default:
      return static_cast<float>(random.Uniform(-8, 8));
  }
}
// One that the vector format has: what is not one does not come here.
float RandomNumber(const Numbers& numbers, Random& random) {
  return numbers.Round(RandomFloat(random));
}

Stage RandomStage(const Numbers& numbers, Random& random) {
  Stage s;
  s.op = static_cast<StageOp>(random.Below(16));
  s.a = static_cast<Argument>(1 + random.Below(10));
  s.b = static_cast<Argument>(1 + random.Below(10));
  s.immediate_a = RandomNumber(numbers, random);
  s.immediate_b = RandomNumber(numbers, random);
  s.function = static_cast<decltype(s.function)>(random.Below(13));
  return s;
}

struct Word {
  int slot = 0, pass = 0, stages = 0, row = 0;
  float value[kLanes], saved[2][kLanes], operands[3][kLanes];
};

float ArgumentOf(const Word& word, const std::vector<float>& scalars, Argument argument,
                 float immediate, int lane) {
  const int number = static_cast<int>(argument);
  if (argument == Argument::kImmediate) return immediate;
  if (number <= 4) return word.operands[number - 2][lane];
  if (number <= 8) return scalars[static_cast<size_t>(word.row * 4 + number - 5)];
  return word.saved[number - 9][lane];
}

bool Same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b);
}

// Numbers side by side as the stage has them, the first lowest: of each the upper `bits` bits of
// fp32.
template <typename Signal>
void SetNumbers(Signal& signal, const float* values, size_t count, int bits) {
  BitString string;
  for (size_t i = count; i-- > 0;) {
    string.Append(bits, std::bit_cast<uint32_t>(values[i]) >> (32 - bits));
  }
  SetBytes(signal, string.Bytes());
}
template <typename Signal>
void GetNumbers(const Signal& signal, float* values, size_t count, int bits) {
  std::vector<uint8_t> bytes(sizeof signal);
  std::memcpy(bytes.data(), &signal, sizeof signal);
  for (size_t i = 0; i < count; ++i) {
    uint32_t number = 0;
    for (size_t j = 0; j < static_cast<size_t>(bits); ++j) {
      const size_t place = i * static_cast<size_t>(bits) + j;
      number |= static_cast<uint32_t>(bytes[place / 8] >> place % 8 & 1)
                << (32 - static_cast<size_t>(bits) + j);
    }
    values[i] = std::bit_cast<float>(number);
  }
}

// `bits`: kiln_format_pkg::number_bits of the format; `cycles`: LATENCY + EXTRA of the model, and
// one of the register in front of it.
template <typename Model>
void FollowsApplyStage(const char* vector_format, int bits, size_t cycles) {
  systolic::Config config;
  config.vector_format = *FindFormat(vector_format);
  const Numbers numbers(config);
  Simulation<Model> stage;
  Random random(7);
  std::vector<float> scalars(kRows * 4);
  for (float& scalar : scalars) scalar = RandomNumber(numbers, random);
  stage->place = kStage;
  stage->advance = 0;
  stage->in_valid = 0;
  stage->stage_write_valid = 0;
  stage.Reset();
  SetNumbers(stage->scalars, scalars.data(), scalars.size(), bits);
  std::vector<Stage> programs(kSlots * kPasses);
  std::deque<std::pair<Word, Word>> expected;  // what went in, and what must come out, oldest first
  int compared = 0;
  bool announced = false;     // a word for the outputs in the cycle before
  uint32_t next_program = 0;  // its slot and pass
  for (int cycle = 0; cycle < 60000; ++cycle) {
    if (cycle % 200 < kSlots * kPasses) {  // new configurations, while nothing is under way
      const int entry = cycle % 200;
      Stage& s = programs[static_cast<size_t>(entry)];
      s = RandomStage(numbers, random);
      BitString write;
      write.Append(6, static_cast<uint64_t>(entry / kPasses));
      write.Append(2, static_cast<uint64_t>(entry % kPasses));
      write.Append(1, 0);
      write.Append(4, kStage);
      write.Append(4, static_cast<uint64_t>(s.op));
      write.Append(4, static_cast<uint64_t>(s.a));
      write.Append(4, static_cast<uint64_t>(s.b));
      write.Append(4, static_cast<uint64_t>(s.function));
      write.Append(32, std::bit_cast<uint32_t>(s.immediate_a));
      write.Append(32, std::bit_cast<uint32_t>(s.immediate_b));
      write.Append(32, 0);
      SetBytes(stage->stage_write, write.Bytes());
    }
    stage->stage_write_valid = cycle % 200 < kSlots * kPasses;
    const bool offers = cycle % 200 > kSlots * kPasses && cycle % 200 < 180 && random.Below(3) != 0;
    Word word;
    word.slot = static_cast<int>(random.Below(kSlots));
    word.pass = static_cast<int>(random.Below(kPasses));
    word.stages = static_cast<int>(random.Below(4));
    word.row = static_cast<int>(random.Below(kRows));
    for (float& v : word.value) v = RandomNumber(numbers, random);
    for (auto& lanes : word.saved) {
      for (float& v : lanes) v = RandomNumber(numbers, random);
    }
    for (auto& lanes : word.operands) {
      for (float& v : lanes) v = RandomNumber(numbers, random);
    }
    BitString tag;
    tag.Append(6, static_cast<uint64_t>(word.slot));
    tag.Append(2, static_cast<uint64_t>(word.pass));
    tag.Append(2, 0);
    tag.Append(4, static_cast<uint64_t>(word.stages));
    tag.Append(4, 12);
    tag.Append(8, static_cast<uint64_t>(word.row));
    tag.Append(5, 31);
    SetBytes(stage->in_tag, tag.Bytes());
    SetNumbers(stage->in_value, word.value, kLanes, bits);
    SetNumbers(stage->in_saved, &word.saved[0][0], 2 * kLanes, bits);
    SetNumbers(stage->in_operands, &word.operands[0][0], 3 * kLanes, bits);
    stage->in_valid = offers;
    stage->advance = cycle % 200 >= 180 || random.Below(4) != 0;
    stage.Settle();
    ASSERT_EQ(stage->out_valid, announced);
    if (announced) ASSERT_EQ(stage->out_tag >> 23, next_program);
    if (stage->advance) {
      announced = stage->out_next_valid;
      next_program = stage->out_next_program;
    }
    if (stage->out_valid && stage->advance) {
      ASSERT_FALSE(expected.empty());
      const auto& [in, out] = expected.front();
      Word got;
      GetNumbers(stage->out_value, got.value, kLanes, bits);
      GetNumbers(stage->out_saved, &got.saved[0][0], 2 * kLanes, bits);
      GetNumbers(stage->out_operands, &got.operands[0][0], 3 * kLanes, bits);
      const Stage& s = programs[static_cast<size_t>(in.slot * kPasses + in.pass)];
      for (int lane = 0; lane < kLanes; ++lane) {
        ASSERT_TRUE(Same(got.value[lane], out.value[lane]))
            << "op " << static_cast<int>(s.op) << " function " << static_cast<int>(s.function)
            << " of " << in.value[lane] << ": " << got.value[lane] << ", not " << out.value[lane];
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(Same(got.saved[i][lane], out.saved[i][lane]));
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(Same(got.operands[i][lane], out.operands[i][lane]));
      }
      expected.pop_front();
      ++compared;
    }
    if (offers && stage->advance) {
      Word out = word;
      const Stage& s = programs[static_cast<size_t>(word.slot * kPasses + word.pass)];
      if (word.stages > kStage) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const float a = ArgumentOf(word, scalars, s.a, s.immediate_a, lane);
          const float b = ArgumentOf(word, scalars, s.b, s.immediate_b, lane);
          out.value[lane] = ApplyStage(numbers, s, word.value[lane], a, b);
          if (s.op == StageOp::kSave0) out.saved[0][lane] = word.value[lane];
          if (s.op == StageOp::kSave1) out.saved[1][lane] = word.value[lane];
        }
      }
      expected.emplace_back(word, out);
      ASSERT_LE(expected.size(), cycles);
    }
    stage.Step();
  }
  EXPECT_GT(compared, 20000);
}

TEST(VectorStage, FollowsApplyStage) { FollowsApplyStage<Vvector_stage>("fp32", 32, 4); }
TEST(VectorStage, FollowsApplyStageInBf16) { FollowsApplyStage<Vvector_stage_bf16>("bf16", 16, 4); }
TEST(VectorStage, FollowsApplyStageInShortFloats) {
  FollowsApplyStage<Vvector_stage_short>("bf16.flush", 16, 7);
  FollowsApplyStage<Vvector_stage_fp16>("fp16", 19, 6);
  FollowsApplyStage<Vvector_stage_fp16_1>("fp16", 19, 6);
}
// As Yosys reads it.
TEST(VectorStage, FollowsApplyStageAsNetlist) {
  FollowsApplyStage<Vvector_stage_short_netlist>("bf16.flush", 16, 7);
}

}  // namespace
}  // namespace kiln::rtl
