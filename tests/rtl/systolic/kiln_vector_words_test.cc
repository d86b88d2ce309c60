// Tests the modules that words of the vector unit pass through, on their own with lanes that stall
// at random: kiln_vector_registers, kiln_vector_source against AccumulatorToValue and products,
// kiln_vector_blocks against BlockCodec and the rule by which blocks leave (docs/systolic.md,
// "Slots").
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "Vvector_words.h"
#include "kiln/hardware/axi_port.h"
#include "kiln/numerics/microscaling.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/vector_command.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::rtl {
namespace {

using systolic::Numbers;
using systolic::Source;

uint32_t BitsOf(float value) {
  return std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value);
}

void Idle(Simulation<Vvector_words>& bench) {
  bench->advance = bench->in_valid = bench->wide_in = bench->fine_in = 0;
  bench.Reset();
}

// `bits` bits each, the first lowest.
std::vector<uint8_t> Pack(const std::vector<uint32_t>& numbers, int bits) {
  BitString string;
  for (size_t i = numbers.size(); i-- > 0;) string.Append(bits, numbers[i]);
  return string.Bytes();
}

// word_tag_t, of which only these members have a say here: what comes along.
std::vector<uint8_t> TagBytes(uint64_t others, uint32_t operands, uint32_t saved) {
  BitString tag;
  tag.Append(26, others);
  tag.Append(3, operands);
  tag.Append(2, saved);
  return tag.Bytes();
}

// ---- Registers

// What comes along takes a register, what does not leaves it as it is; and without a word none
// changes. A chain that carries operand 1 alone has that one, and 0 for all else.
TEST(VectorWords, RegistersKeepWhatTheWordHas) {
  struct Register {
    bool valid = false;
    std::vector<uint8_t> tag;
    uint32_t has = 1;                              // bits of `lanes` that come along
    std::array<std::optional<uint32_t>, 6> lanes;  // value, x0, x1, operands 0 to 2
  };
  Simulation<Vvector_words> bench(1);
  Random random(1);
  Stalls lanes(2, 0.4, Stalls::Kind::kBursts);
  Idle(bench);
  std::array<Register, 3> registers;
  int words = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool advance = !lanes.Next();
    const auto operands = static_cast<uint32_t>(random.Below(8)),
               saved = static_cast<uint32_t>(random.Below(4));
    Register in;
    in.valid = random.Below(3) != 0;
    in.tag = TagBytes(random.Below(1 << 26), operands, saved);
    in.has = 1 | saved << 1 | operands << 3;
    for (auto& lane : in.lanes) lane = static_cast<uint32_t>(random());
    bench->advance = advance;
    bench->in_valid = in.valid;
    SetBytes(bench->in_tag, in.tag);
    bench->in_value = *in.lanes[0];
    SetBytes(bench->in_saved, Pack({*in.lanes[1], *in.lanes[2]}, 32));
    SetBytes(bench->in_operands, Pack({*in.lanes[3], *in.lanes[4], *in.lanes[5]}, 32));
    bench.Settle();
    const Register& out = registers.back();
    ASSERT_EQ(bench->out_valid, out.valid) << "cycle " << i;
    if (!out.tag.empty()) {
      ASSERT_EQ(GetBytes(bench->out_tag, 4), out.tag);
    }
    std::vector<uint8_t> bytes = GetBytes(bench->out_value, 4);
    const std::vector<uint8_t> x = GetBytes(bench->out_saved, 8),
                               o = GetBytes(bench->out_operands, 12);
    bytes.insert(bytes.end(), x.begin(), x.end());
    bytes.insert(bytes.end(), o.begin(), o.end());
    std::vector<uint8_t> bare = GetBytes(bench->bare_operands, 12);
    if (out.lanes[4].has_value()) {
      ASSERT_TRUE(std::equal(o.begin() + 4, o.begin() + 8, bare.begin() + 4)) << "cycle " << i;
    }
    std::fill(bare.begin() + 4, bare.begin() + 8, uint8_t{0});
    ASSERT_EQ(bare, std::vector<uint8_t>(12));
    ASSERT_EQ(bench->bare_saved, 0u);
    for (size_t k = 0; k < out.lanes.size(); ++k) {
      if (!out.lanes[k].has_value()) continue;
      uint32_t lane;
      std::memcpy(&lane, bytes.data() + 4 * k, sizeof lane);
      ASSERT_EQ(lane, *out.lanes[k]) << "value, saved and operands: " << k << " in cycle " << i;
    }
    words += out.valid && advance ? 1 : 0;
    for (size_t at = registers.size(); advance && at-- > 0;) {
      const Register& from = at == 0 ? in : registers[at - 1];
      registers[at].valid = from.valid;
      if (!from.valid) continue;
      registers[at].tag = from.tag;
      registers[at].has = from.has;
      for (size_t k = 0; k < from.lanes.size(); ++k) {
        if ((from.has >> k & 1) != 0) registers[at].lanes[k] = from.lanes[k];
      }
    }
    bench.Step();
  }
  EXPECT_GT(words, 5'000);
}

// ---- The front of the lanes

// What a word begins as: `bits` is the vector format's number_bits, the format that of
// accumulators.
struct Front {
  Front(const char* accumulation_format, const char* vector_format)
      : accumulation(*FindFormat(accumulation_format)),
        config(ConfigOf(vector_format)),
        numbers(config) {}
  static systolic::Config ConfigOf(const char* vector_format) {
    systolic::Config config = systolic::Fp32Machine();
    config.vector_format = *FindFormat(vector_format);
    return config;
  }
  float Accumulated(uint32_t code, int32_t offset, float scale, float bias) const {
    if (accumulation.is_integer()) {
      return AccumulatorToValue(numbers, static_cast<int32_t>(code), offset, scale, bias);
    }
    return AccumulatorToValue(numbers, DecodeFloat(accumulation, code), scale, bias);
  }
  const Format accumulation;
  const systolic::Config config = systolic::Fp32Machine();
  const Numbers numbers;
};

TEST(VectorWords, FrontBeginsWords) {
  // Of the one in fp32; the one in bf16 has 1, the one of short floats 3 and 3 for the conversion.
  constexpr size_t kLatency = 2;
  struct Word {
    std::vector<uint8_t> tag;
    std::array<float, 2> value, narrow, short_float;
    uint64_t operand = 0;  // operand 0
    uint32_t short_operand = 0;
  };
  const Front front("int32", "fp32"), narrow("bf16", "bf16"), short_front("int32", "bf16.flush");
  Simulation<Vvector_words> bench(3);
  Random random(3);
  Stalls lanes(4, 0.4, Stalls::Kind::kBursts);
  Idle(bench);
  std::deque<std::optional<Word>> inside(kLatency), narrow_inside(1), short_inside(6);
  std::array<int, 4> sources{};
  // A number that both formats have: bits below bf16's would be another number to each.
  const auto number = [&] {
    return narrow.numbers.Round(
        static_cast<float>(random.Uniform(-100, 100) * std::exp2(random.Uniform(-9, 9))));
  };
  for (int i = 0; i < 60'000; ++i) {
    const bool advance = !lanes.Next(), valid = random.Below(4) != 0;
    const auto source = static_cast<Source>(random.Below(4));
    const bool averages = random.Below(2) == 0;
    std::array<uint32_t, 2> accumulators, offsets;
    std::array<float, 2> scales, biases, row;
    std::array<float, 2> operands;
    for (size_t lane = 0; lane < 2; ++lane) {
      accumulators[lane] =
          static_cast<uint32_t>(static_cast<int32_t>(random()) >> random.Below(31));
      if (random.Below(2) == 0) accumulators[lane] = std::bit_cast<uint32_t>(number());
      offsets[lane] = static_cast<uint32_t>(random());
      scales[lane] = static_cast<float>(random.Uniform(-2, 2));
      biases[lane] = static_cast<float>(random.Uniform(-1000, 1000));
      row[lane] = number();
    }
    for (float& operand : operands) operand = number();
    const float factor = number(), constant = number();
    const auto bits = [](const auto& values) {
      std::vector<uint32_t> result;
      for (const auto value : values) result.push_back(std::bit_cast<uint32_t>(value));
      return Pack(result, 32);
    };
    Word word;
    word.tag = TagBytes(random.Below(1 << 26), 7, 0);
    for (size_t lane = 0; lane < 2; ++lane) {
      const auto operand = std::bit_cast<uint32_t>(operands[lane]);
      word.operand |= uint64_t{operand} << (32 * lane);
      word.short_operand |= operand >> 16 << (16 * lane);
    }
    for (size_t lane = 0; lane < 2; ++lane) {
      float value = constant, narrow_value = constant, short_value = constant;
      if (source == Source::kAccumulator) {
        const auto offset = static_cast<int32_t>(offsets[lane]);
        value = front.Accumulated(accumulators[lane], offset, scales[lane], biases[lane]);
        narrow_value =
            narrow.Accumulated(accumulators[lane] >> 16, offset, scales[lane], biases[lane]);
        short_value =
            short_front.Accumulated(accumulators[lane], offset, scales[lane], biases[lane]);
      } else if (source == Source::kOperand0) {
        value = averages ? operands[lane] * factor : operands[lane];
        narrow_value = narrow.numbers.Round(value);
        short_value = short_front.numbers.Round(value);
      } else if (source == Source::kRowBuffer) {
        value = narrow_value = short_value = row[lane];
      }
      word.value[lane] = value;
      word.narrow[lane] = narrow_value;
      word.short_float[lane] = short_value;
    }
    bench->advance = advance;
    bench->in_valid = valid;
    SetBytes(bench->in_tag, word.tag);
    bench->source = static_cast<uint8_t>(source);
    bench->averages = averages;
    SetBytes(bench->accumulators, bits(accumulators));
    SetBytes(bench->offsets, bits(offsets));
    SetBytes(bench->scales, bits(scales));
    SetBytes(bench->biases, bits(biases));
    bench->front_operand = word.operand;
    bench->factor = std::bit_cast<uint32_t>(factor);
    SetBytes(bench->row_word, bits(row));
    bench->constant = std::bit_cast<uint32_t>(constant);
    bench.Settle();
    const std::optional<Word>& out = inside.front();
    ASSERT_EQ(bench->front_valid, out.has_value());
    ASSERT_EQ(bench->narrow_valid, narrow_inside.front().has_value());
    ASSERT_EQ(bench->short_valid, short_inside.front().has_value());
    if (short_inside.front().has_value()) {
      ASSERT_EQ(GetBytes(bench->short_tag, 4), short_inside.front()->tag);
      ASSERT_EQ(bench->short_operand, short_inside.front()->short_operand);
    }
    for (size_t lane = 0; lane < 2; ++lane) {
      if (out.has_value()) {
        const auto got = static_cast<uint32_t>(bench->front_value >> (32 * lane));
        ASSERT_EQ(BitsOf(std::bit_cast<float>(got)), BitsOf(out->value[lane])) << "cycle " << i;
      }
      if (narrow_inside.front().has_value()) {
        const uint32_t got = bench->narrow_value >> (16 * lane) << 16;
        ASSERT_EQ(BitsOf(std::bit_cast<float>(got)), BitsOf(narrow_inside.front()->narrow[lane]))
            << "cycle " << i;
      }
      if (short_inside.front().has_value()) {
        const uint32_t got = bench->short_value >> (16 * lane) << 16;
        ASSERT_EQ(BitsOf(std::bit_cast<float>(got)),
                  BitsOf(short_inside.front()->short_float[lane]))
            << "cycle " << i;
      }
    }
    if (out.has_value()) {
      ASSERT_EQ(GetBytes(bench->front_tag, 4), out->tag);
      ASSERT_EQ(bench->front_out_operand, out->operand);
    }
    if (advance) {
      sources[static_cast<size_t>(source)] += valid ? 1 : 0;
      for (auto* queue : {&inside, &narrow_inside, &short_inside}) {
        queue->pop_front();
        queue->push_back(valid ? std::optional(word) : std::nullopt);
      }
    }
    bench.Step();
  }
  EXPECT_GT(*std::min_element(sources.begin(), sources.end()), 5'000);
}

// ---- Blocks

struct BlockWord {
  std::vector<uint32_t> values;  // bits of the lanes' numbers
  int64_t lanes = 0;
  uint64_t target = 0, scale_target = 0, slot = 0;
  bool first = false, last = false;
  int64_t out_at = -1;  // cycle, once it is known
  std::vector<uint32_t> scales, inverses;
};

// The design points of the bench.
struct WideBlocks {
  static constexpr int kLanes = 2, kNumber = 32, kBlock = 8, kLatency = 3, kElementBytes = 1;
  static BlockCodec Codec() { return {*FindFormat("e4m3"), *FindFormat("e8m0"), kBlock}; }
};
struct FineBlocks {
  static constexpr int kLanes = 4, kNumber = 16, kBlock = 2, kLatency = 1, kElementBytes = 2;
  static BlockCodec Codec() { return {*FindFormat("fp16"), *FindFormat("ue5m3"), kBlock}; }
};

// Ports of one of the two gatherers, under names that they share.
#define KILN_BLOCK_PORTS(Ports, prefix)                                    \
  struct Ports {                                                           \
    explicit Ports(Vvector_words& m) : m_(m) {}                            \
    void Show(const BlockWord* word, int bits) {                           \
      m_.prefix##_in = word != nullptr;                                    \
      if (word == nullptr) return;                                         \
      m_.prefix##_in_last = word->last;                                    \
      SetBytes(m_.prefix##_in_value, Pack(word->values, bits));            \
      m_.prefix##_in_lanes = static_cast<uint8_t>(word->lanes);            \
      m_.prefix##_in_target = word->target;                                \
      m_.prefix##_in_scale_target = word->scale_target;                    \
      m_.prefix##_in_slot = static_cast<uint8_t>(word->slot);              \
    }                                                                      \
    bool out() const { return m_.prefix##_out != 0; }                      \
    bool scales() const { return m_.prefix##_out_scales != 0; }            \
    uint64_t value() const { return m_.prefix##_out_value; }               \
    std::vector<uint8_t> inverse(size_t lanes) const {                     \
      return GetBytes(m_.prefix##_out_inverse, 4 * lanes);                 \
    }                                                                      \
    int64_t lanes() const { return m_.prefix##_out_lanes; }                \
    uint64_t target() const { return m_.prefix##_out_target; }             \
    uint64_t slot() const { return m_.prefix##_out_slot; }                 \
    uint64_t scale_codes() const { return m_.prefix##_out_scale_codes; }   \
    size_t scale_count() const { return m_.prefix##_out_scale_count; }     \
    uint64_t scale_target() const { return m_.prefix##_out_scale_target; } \
    Vvector_words& m_;                                                     \
  }
KILN_BLOCK_PORTS(WidePorts, wide);
KILN_BLOCK_PORTS(FinePorts, fine);
#undef KILN_BLOCK_PORTS

template <typename Design, typename Ports>
class BlocksBench {
 public:
  explicit BlocksBench(uint64_t seed, double stall)
      : random_(seed),
        codec_(Design::Codec()),
        bench_(seed),
        lanes_(seed + 1, stall, Stalls::Kind::kBursts) {
    Idle(bench_);
  }

  void Run(int words) {
    Ports ports(*bench_);
    const int64_t levels =
        std::bit_width(static_cast<uint64_t>(std::min(Design::kLanes, Design::kBlock) - 1));
    int64_t free = 0;  // when the next word may come: none faster than their beats
    for (int64_t now = 0; words > 0 || !inside_.empty();) {
      ASSERT_LT(now, 1'000'000);
      const bool offers = words > 0 && now >= free && random_.Below(3) != 0,
                 advance = !lanes_.Next();
      if (offers && !next_.has_value()) next_ = RandomWord(/*ends=*/words == 1);
      const bool comes = next_.has_value() && now >= free;
      bench_->advance = advance;
      ports.Show(comes ? &*next_ : nullptr, Design::kNumber);
      bench_.Settle();
      Check(ports, now);
      if (testing::Test::HasFatalFailure()) return;
      if (advance) {
        if (!inside_.empty() && inside_.front().out_at == now) inside_.pop_front();
        if (comes) {
          --words;
          free = now + BeatsOfWord(*next_);
          inside_.push_back(*next_);
          if (next_->last) EndBlock(now + Design::kLatency * (levels + 1));
          next_.reset();
        }
        ++now;
      }
      bench_.Step();
    }
  }
  int blocks = 0, waited = 0;

 private:
  static constexpr size_t kScales =
      Design::kLanes > Design::kBlock ? Design::kLanes / Design::kBlock : 1;
  static constexpr int kSharing =
      Design::kBlock > Design::kLanes ? Design::kBlock / Design::kLanes : 1;

  static int64_t BeatsOfWord(const BlockWord& word) {
    const int64_t scales = (word.lanes + Design::kBlock - 1) / Design::kBlock;
    return std::max(BeatsOf(word.target, word.lanes * Design::kElementBytes, 8), scales);
  }
  float ValueOf(uint32_t bits) const {
    return std::bit_cast<float>(bits << (32 - Design::kNumber));
  }

  BlockWord RandomWord(bool ends) {
    BlockWord word;
    // The last word of a row may have fewer lanes, and ends its block.
    const bool row_ends = ends || random_.Below(4) == 0;
    word.lanes = row_ends ? random_.Between(1, Design::kLanes) : Design::kLanes;
    word.first = position_ == 0;
    word.last = row_ends || position_ + 1 == kSharing;
    position_ = word.last ? 0 : position_ + 1;
    for (int lane = 0; lane < Design::kLanes; ++lane) {
      auto value = static_cast<float>(random_.Uniform(-1, 1) * std::exp2(random_.Uniform(-20, 20)));
      if (random_.Below(30) == 0) value = random_.Below(2) == 0 ? 0.0f : INFINITY;
      if (random_.Below(60) == 0) value = std::bit_cast<float>(0x7fc00000u);
      word.values.push_back(std::bit_cast<uint32_t>(value) >> (32 - Design::kNumber));
    }
    const auto address = [&] { return random_.Below(uint64_t{1} << 32); };
    word.target = address() & ~uint64_t{Design::kElementBytes - 1};
    word.scale_target = address();
    word.slot = random_.Below(8);
    return word;
  }

  // The block that has come to its end: its scales, and when its words leave.
  void EndBlock(int64_t at) {
    size_t first = inside_.size() - 1;
    while (!inside_[first].first) --first;
    for (size_t scale = 0; scale < kScales; ++scale) {
      std::vector<float> values;
      for (size_t k = first; k < inside_.size(); ++k) {
        const BlockWord& word = inside_[k];
        const size_t from = scale * Design::kBlock,
                     to = kScales > 1 ? from + Design::kBlock : Design::kLanes;
        for (size_t lane = from; lane < std::min<size_t>(to, static_cast<size_t>(word.lanes));
             ++lane) {
          values.push_back(ValueOf(word.values[lane]));
        }
      }
      if (values.empty()) continue;
      const uint32_t code = codec_.ScaleCode(values.data(), std::ssize(values));
      const uint32_t inverse = BitsOf(InverseBlockScale(codec_.ScaleValue(code)));
      for (size_t k = first; k < inside_.size(); ++k) {
        inside_[k].scales.push_back(code);
        inside_[k].inverses.push_back(inverse);
      }
    }
    for (size_t k = first; k < inside_.size(); ++k) {
      waited += k == first && port_free_ > at ? 1 : 0;
      inside_[k].out_at = std::max(at, port_free_);
      port_free_ = inside_[k].out_at + BeatsOfWord(inside_[k]);
    }
    ++blocks;
  }

  void Check(const Ports& ports, int64_t now) {
    const BlockWord* word =
        !inside_.empty() && inside_.front().out_at == now ? &inside_.front() : nullptr;
    ASSERT_EQ(ports.out(), word != nullptr) << "cycle " << now;
    ASSERT_EQ(ports.scales(), word != nullptr && word->first);
    if (word == nullptr) return;
    uint64_t value = 0;
    for (size_t lane = 0; lane < word->values.size(); ++lane) {
      value |= uint64_t{word->values[lane]} << (lane * Design::kNumber);
    }
    ASSERT_EQ(ports.value(), value);
    ASSERT_EQ(ports.lanes(), word->lanes);
    ASSERT_EQ(ports.target(), word->target);
    ASSERT_EQ(ports.slot(), word->slot);
    const std::vector<uint8_t> inverses = ports.inverse(Design::kLanes);
    for (size_t lane = 0; lane < static_cast<size_t>(word->lanes); ++lane) {
      uint32_t inverse;
      std::memcpy(&inverse, inverses.data() + 4 * lane, sizeof inverse);
      ASSERT_EQ(BitsOf(std::bit_cast<float>(inverse)),
                word->inverses[kScales > 1 ? lane / Design::kBlock : 0]);
    }
    if (!word->first) return;
    ASSERT_EQ(ports.scale_count(), word->scales.size());
    ASSERT_EQ(ports.scale_target(), word->scale_target);
    for (size_t i = 0; i < word->scales.size(); ++i) {
      ASSERT_EQ(ports.scale_codes() >> (8 * i) & 0xff, word->scales[i]) << "scale " << i;
    }
  }

  Random random_;
  const BlockCodec codec_;
  Simulation<Vvector_words> bench_;
  Stalls lanes_;
  std::deque<BlockWord> inside_;
  std::optional<BlockWord> next_;
  int position_ = 0;  // in its block
  int64_t port_free_ = 0;
};

template <typename Design, typename Ports>
void BlocksLeaveAsAWhole(uint64_t seed) {
  for (const double stall : {0.0, 0.4}) {
    BlocksBench<Design, Ports> bench(seed, stall);
    bench.Run(8'000);
    EXPECT_GT(bench.blocks, 2'000);
    EXPECT_GT(bench.waited,
              Design::kBlock > Design::kLanes ? 100 : -1);  // a block of a word never has to
  }
}
TEST(VectorWords, BlocksOfSeveralWords) { BlocksLeaveAsAWhole<WideBlocks, WidePorts>(5); }
TEST(VectorWords, SeveralBlocksOfAWord) { BlocksLeaveAsAWhole<FineBlocks, FinePorts>(6); }

}  // namespace
}  // namespace kiln::rtl
