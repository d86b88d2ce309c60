// Compares kiln_function with ApproximateFixed, bit for bit: every function at every number of bf16
// and fp16, in a pipeline that stalls. A second model is Yosys' reading of the same sources.
#include <bit>
#include <cstdint>
#include <deque>
#include <string>

#include "Varith_function.h"
#include "Varith_function_netlist.h"
#include "gtest/gtest.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/function_unit.h"
#include "kiln/support/random.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

using F = NonlinearFunction;

// The pipeline of one unit: what it must deliver. A word takes `latency` cycles with `advance`.
class Expected {
 public:
  explicit Expected(size_t latency) : words_(latency) {}
  struct Word {
    bool valid = false;
    F function = F::kExp;
    uint32_t x = 0;
  };
  void Advance(const Word& word) {
    words_.push_back(word);
    words_.pop_front();
  }
  const Word& Front() const { return words_.front(); }

 private:
  std::deque<Word> words_;
};

template <typename Model>
class Pipeline {
 public:
  explicit Pipeline(uint64_t seed) : random_(seed), simulation_(seed) {}

  // Brings one word to its unit, after stalls and empty words.
  void Send(F function, uint32_t x) {
    while (random_.Below(4) == 0) Cycle({false, function, static_cast<uint32_t>(random_())});
    Cycle({true, function, x});
  }
  void Flush() {
    for (int i = 0; i < 40; ++i) Cycle({false, F::kExp, 0});
  }
  int64_t compared() const { return compared_; }
  bool TooMany() const { return failures_ > 10; }

 private:
  void Cycle(const Expected::Word& word) {
    bool advance;
    do {
      advance = random_.Below(4) != 0;
      simulation_->advance = advance;
      // Without `advance` the inputs do not count.
      simulation_->enable = advance ? word.valid : random_.Below(2) != 0;
      simulation_->select = advance ? static_cast<uint8_t>(word.function)
                                    : static_cast<uint8_t>(random_.Below(kNonlinearFunctions));
      simulation_->x = advance ? word.x : 0x3f800000;
      simulation_.Settle();
      simulation_.Step();
      if (advance) {
        for (Expected* unit : {&fp16_, &bf16_, &tanh_, &pair_}) unit->Advance(word);
      }
      Compare("fp16", simulation_->fp16, fp16_.Front(), 0xffffe000);
      Compare("bf16", simulation_->bf16, bf16_.Front(), 0xffff0000);
      Compare("tanh", simulation_->tanh, {tanh_.Front().valid, F::kTanh, tanh_.Front().x},
              0xffffe000);
      if (pair_.Front().function == F::kSilu || pair_.Front().function == F::kSqrt)
        Compare("pair", simulation_->pair, pair_.Front(), 0xffffe000);
    } while (!advance);
  }
  void Compare(const char* unit, uint32_t actual, const Expected::Word& word, uint32_t mask) {
    if (!word.valid) return;
    ++compared_;
    const float x = std::bit_cast<float>(word.x & mask);
    const auto expected = std::bit_cast<uint32_t>(ApproximateFixed(word.function, x));
    if (actual == expected || TooMany()) return;
    ++failures_;
    ADD_FAILURE() << unit << ": " << NameOf(word.function) << " of " << x << " (" << std::hex
                  << std::bit_cast<uint32_t>(x) << "): " << actual << ", not " << expected;
  }

  Random random_;
  Simulation<Model> simulation_;
  Expected fp16_{4}, bf16_{6}, tanh_{4}, pair_{5};
  int64_t compared_ = 0;
  int failures_ = 0;
};

class FunctionUnit : public testing::TestWithParam<int> {
 protected:
  F function() const { return static_cast<F>(GetParam()); }
  uint64_t seed() const { return static_cast<uint64_t>(GetParam()) + 1; }
};

TEST_P(FunctionUnit, EveryNumberOfBf16) {
  Pipeline<Varith_function> pipeline(seed());
  for (uint32_t code = 0; code < 65536 && !pipeline.TooMany(); ++code)
    pipeline.Send(function(), code << 16);
  pipeline.Flush();
  EXPECT_GE(pipeline.compared(), 2 * 65536);
}

TEST_P(FunctionUnit, EveryNumberOfFp16) {
  Pipeline<Varith_function> pipeline(seed());
  const Format fp16 = *FindFormat("fp16");
  for (uint32_t code = 0; code < 65536 && !pipeline.TooMany(); ++code)
    pipeline.Send(function(), std::bit_cast<uint32_t>(DecodeFloat(fp16, code)));
  pipeline.Flush();
  EXPECT_GE(pipeline.compared(), 2 * 65536);
}

// Every exponent of fp32 with ten fraction bits, at random places.
TEST_P(FunctionUnit, NumbersOfTf32) {
  Pipeline<Varith_function> pipeline(seed());
  Random random(seed());
  for (int i = 0; i < 50000 && !pipeline.TooMany(); ++i)
    pipeline.Send(function(), static_cast<uint32_t>(random()) & 0xffffe000);
  pipeline.Flush();
}

INSTANTIATE_TEST_SUITE_P(Functions, FunctionUnit, testing::Range(0, kNonlinearFunctions),
                         [](const auto& info) {
                           return std::string(NameOf(static_cast<F>(info.param)));
                         });

// Functions follow one another in any order.
template <typename Model>
void MixFunctions(int words) {
  Pipeline<Model> pipeline(99);
  Random random(99);
  for (int i = 0; i < words && !pipeline.TooMany(); ++i) {
    // Half of the numbers have exponents of magnitudes from 2^-13 to 2^7.
    auto x = static_cast<uint32_t>(random()) & 0xffffe000;
    if (random.Below(2) == 0)
      x = (x & 0x807fe000) | static_cast<uint32_t>(114 + random.Below(21)) << 23;
    pipeline.Send(static_cast<F>(random.Below(kNonlinearFunctions)), x);
  }
  pipeline.Flush();
  EXPECT_GE(pipeline.compared(), 2 * words);
}

TEST(FunctionUnitMixed, AnyOrder) { MixFunctions<Varith_function>(300000); }
TEST(FunctionUnitMixed, AsYosysReadsIt) { MixFunctions<Varith_function_netlist>(100000); }

}  // namespace
}  // namespace kiln::rtl
