// Compares the vector unit's arithmetic of one cycle with arithmetic.h: kiln_operand_decoder
// (every code of up to 8 bits), kiln_word_quantiser, kiln_vector_alu, kiln_vector_lane and
// kiln_vector_join, on corner values and at random, in fp32, bf16 and fp16.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "Vvector_arithmetic.h"
#include "Vvector_arithmetic_bf16.h"
#include "Vvector_arithmetic_block_codes.h"
#include "Vvector_arithmetic_codes.h"
#include "Vvector_arithmetic_fp16.h"
#include "Vvector_arithmetic_short.h"
#include "Vvector_arithmetic_short_integers.h"
#include "kiln/numerics/function_unit.h"
#include "kiln/numerics/microscaling.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"
#include "tests/rtl/arith/fp32_values.h"
#include "tests/rtl/support.h"
#include "tests/targets/systolic/fp32_machine.h"

namespace kiln::rtl {
namespace {

using systolic::Argument;
using systolic::Config;
using systolic::Element;
using systolic::Numbers;
using systolic::Reduce;
using systolic::Stage;
using systolic::StageOp;

// As in CMakeLists.txt.
struct Plain {
  using Model = Vvector_arithmetic;
  static constexpr int kQuantise = 0;  // registers of the quantiser
  static Config config() {
    Config c = systolic::Fp32Machine();
    c.weight_format = *FindFormat("int4");
    return c;
  }
};
struct Bf16 {
  using Model = Vvector_arithmetic_bf16;
  static constexpr int kQuantise = 2;
  static Config config() {
    Config c = systolic::Fp32Machine();
    c.input_format = *FindFormat("e4m3");
    c.weight_format = *FindFormat("posit8_1");
    c.vector_format = *FindFormat("bf16");
    c.other_precisions = {{*FindFormat("bf16"), *FindFormat("int8")},
                          {*FindFormat("e4m3"), *FindFormat("int4")}};
    return c;
  }
};
struct Fp16Blocks {
  using Model = Vvector_arithmetic_fp16;
  static constexpr int kQuantise = 1;
  static Config config() {
    Config c = systolic::Fp32Machine();
    c.input_format = *FindFormat("e5m2");
    c.weight_format = *FindFormat("fixed8_6");
    c.vector_format = *FindFormat("fp16");
    c.block_size = 4;
    return c;
  }
};

// Two further short formats, with the registers of a pipeline and with one more.
struct Short {
  using Model = Vvector_arithmetic_short;
  static constexpr int kQuantise = 3;
  static Config config() {
    Config c = Bf16::config();
    c.vector_format = *FindFormat("bf16.flush");
    c.block_size = 4;
    return c;
  }
};
struct ShortIntegers {
  using Model = Vvector_arithmetic_short_integers;
  static constexpr int kQuantise = 5;
  static Config config() {
    Config c = Plain::config();
    c.vector_format = *FindFormat("bf16.flush");
    return c;
  }
};
// No integers: elements have 16 bits on their way to memory.
struct Codes {
  using Model = Vvector_arithmetic_codes;
  static constexpr int kQuantise = 5;
  static Config config() {
    Config c = Bf16::config();
    c.other_precisions.clear();
    c.vector_format = *FindFormat("bf16.flush");
    c.integer_elements = false;
    return c;
  }
};
struct BlockCodes {
  using Model = Vvector_arithmetic_block_codes;
  static constexpr int kQuantise = 3;
  static Config config() {
    Config c = Codes::config();
    c.block_size = 4;
    return c;
  }
};

template <typename Design>
class VectorArithmetic : public testing::Test {
 protected:
  VectorArithmetic() : config_(Design::config()), numbers_(config_) {
    model_.maximum = model_.in_block = 0;
    model_.op = model_.kind = model_.from_a = model_.from_b = 0;
    model_.store = 0;
    model_.advance = 1;
    model_.reset = 1;
    for (const int clock : {0, 1}) {
      model_.clock = clock;
      model_.eval();
    }
    model_.reset = 0;
  }
  ~VectorArithmetic() override { model_.final(); }

  std::vector<Element> Elements() const {
    std::vector<Element> elements;
    for (int e = 0; e < systolic::kElements; ++e) {
      if (HasElement(config_, static_cast<Element>(e))) elements.push_back(static_cast<Element>(e));
    }
    return elements;
  }
  // Returns a scale as instructions hold it, in three of four cases within [-most, most].
  float AnyScale(double most) {
    return numbers_.RoundFactor(random_.Below(4) == 0
                                    ? std::bit_cast<float>(RandomFp32(random_))
                                    : static_cast<float>(random_.Uniform(-most, most)));
  }
  float AnyNumber() { return numbers_.Round(std::bit_cast<float>(RandomFp32(random_))); }
  // The corners that the vector format has.
  std::vector<float> Corners() const {
    std::vector<float> corners;
    for (const uint32_t bits : kFp32Corners) {
      for (const uint32_t sign : {0u, 0x80000000u})
        corners.push_back(numbers_.Round(std::bit_cast<float>(bits | sign)));
    }
    return corners;
  }
  static uint32_t Bits(float value) { return std::bit_cast<uint32_t>(value); }

  void CheckLoad(Element element, uint32_t bits) {
    systolic::Stream stream;
    stream.element = element;
    stream.zero_point = random_.Below(4) == 0 ? static_cast<int32_t>(random_())
                                              : static_cast<int32_t>(random_.Between(-9, 9));
    stream.scale = AnyScale(2);
    std::array<uint8_t, 4> bytes{};
    systolic::StoreBits(bits, 4, bytes.data());
    model_.element = static_cast<uint8_t>(element);
    model_.bits = bits;
    model_.zero_point = static_cast<uint32_t>(stream.zero_point);
    model_.scale = Bits(stream.scale);
    model_.eval();
    const float expected = LoadValue(numbers_, stream, bytes.data());
    ASSERT_EQ(Canonical(std::bit_cast<float>(static_cast<uint32_t>(model_.loaded))),
              Canonical(expected))
        << "element " << static_cast<int>(element) << " bits " << std::hex << bits << " scale "
        << stream.scale;
  }

  void CheckStore(Element element, float value) {
    systolic::QuantiseOut quantise;
    quantise.inverse_scale = AnyScale(200);
    quantise.zero_point = static_cast<int32_t>(random_()) >> random_.Below(32);
    quantise.low = static_cast<int32_t>(random_()) >> random_.Below(32);
    quantise.high = static_cast<int32_t>(random_()) >> random_.Below(32);
    if (quantise.low > quantise.high) std::swap(quantise.low, quantise.high);
    const bool in_block =
        config_.block_size > 0 && element == Element::kInput && random_.Below(2) == 0;
    // The scale that a block's elements are stored under. The inverses of the greatest of e8m0 are
    // 2^-127, a subnormal number.
    const int64_t power =
        random_.Below(4) == 0 ? (random_.Below(2) == 0 ? 127 : -127) : random_.Between(-20, 20);
    const auto block_scale = static_cast<float>(std::exp2(power));
    if (in_block) quantise.inverse_scale = InverseBlockScale(block_scale);
    model_.in_block = in_block;
    model_.element = static_cast<uint8_t>(element);
    model_.value = Bits(value);
    model_.inverse_scale = Bits(quantise.inverse_scale);
    model_.zero_point = static_cast<uint32_t>(quantise.zero_point);
    model_.low = static_cast<uint32_t>(quantise.low);
    model_.high = static_cast<uint32_t>(quantise.high);
    Quantise();
    const int bytes = BytesOf(element, config_);
    std::array<uint8_t, 4> stored{};
    if (in_block) {
      const BlockCodec codec(config_.input_format, config_.scale_format,
                             static_cast<int>(config_.block_size));
      systolic::StoreBits(
          systolic::StoredBits(codec.element(), codec.ElementCode(value, block_scale)), bytes,
          stored.data());
    } else {
      StoreValue(numbers_, element, quantise, value, stored.data());
    }
    const uint32_t mask = bytes == 4 ? ~0u : (1u << 8 * bytes) - 1;
    const bool is_upper_half = !config_.integer_elements && element == Element::kFloat32;
    const uint32_t bits = is_upper_half ? uint32_t{model_.stored} << 16 : model_.stored;
    ASSERT_EQ(bits & mask, systolic::LoadBits(stored.data(), bytes))
        << "element " << static_cast<int>(element) << " value " << value << " inverse scale "
        << quantise.inverse_scale << (in_block ? " in a block" : "");
  }

  // Lets the word at the quantiser's inputs through its registers, alone, with stalls.
  void Quantise() {
    model_.store = 1;
    for (int cycle = 0; cycle < Design::kQuantise;) {
      model_.advance = random_.Below(3) != 0;
      for (const int clock : {0, 1}) {
        model_.clock = clock;
        model_.eval();
      }
      if (model_.advance == 0) continue;
      ++cycle;
      // What follows is no word.
      model_.store = 0;
      model_.in_block = !model_.in_block;
      model_.element ^= 1;
      model_.value = ~model_.value;
      model_.inverse_scale = ~model_.inverse_scale;
      model_.zero_point = ~model_.zero_point;
      model_.low = ~model_.low;
      model_.high = ~model_.high;
    }
    model_.eval();
    ASSERT_TRUE(model_.stored_valid);
  }

  void CheckJoin(float a, float b) {
    model_.value = Bits(a);
    model_.a = Bits(b);
    for (const Reduce reduce : {Reduce::kSum, Reduce::kMax}) {
      model_.maximum = reduce == Reduce::kMax;
      model_.eval();
      ASSERT_EQ(Canonical(std::bit_cast<float>(static_cast<uint32_t>(model_.joined))),
                Canonical(Join(numbers_, reduce, a, b)))
          << a << " and " << b;
    }
  }

  // The operation alone, and with arguments of every kind in front of it.
  void CheckStage(StageOp op, float value, float a, float b) {
    Stage stage;
    stage.op = op;
    stage.function = static_cast<NonlinearFunction>(
        random_.Below(static_cast<uint64_t>(systolic::kLastFunction) + 1));
    stage.a = static_cast<Argument>(1 + random_.Below(10));
    stage.b = static_cast<Argument>(1 + random_.Below(10));
    std::array<uint32_t, 11> arguments;
    for (uint32_t& argument : arguments) argument = Bits(AnyNumber());
    // Where the bench has an argument: behind the immediates scalars, saved values, operands.
    const auto place_of = [](Argument argument, size_t immediate) {
      const auto number = static_cast<size_t>(argument);
      if (argument == Argument::kImmediate) return immediate;
      if (argument <= Argument::kOperand2)
        return 8 + number - static_cast<size_t>(Argument::kOperand0);
      if (argument <= Argument::kScalar3)
        return 2 + number - static_cast<size_t>(Argument::kScalar0);
      return 6 + number - static_cast<size_t>(Argument::kSaved0);
    };
    const size_t at_a = place_of(stage.a, 0), at_b = place_of(stage.b, 1);
    arguments[at_b] = Bits(b);
    arguments[at_a] = Bits(a);
    model_.op = static_cast<uint8_t>(op);
    model_.kind = static_cast<uint8_t>(stage.function);
    model_.value = Bits(value);
    model_.a = Bits(a);
    model_.b = Bits(b);
    model_.from_a = static_cast<uint8_t>(stage.a);
    model_.from_b = static_cast<uint8_t>(stage.b);
    std::vector<uint8_t> bytes(4 * arguments.size());
    std::memcpy(bytes.data(), arguments.data(), bytes.size());
    SetBytes(model_.arguments, bytes);
    for (int cycle = 0; cycle < 5; ++cycle) {  // LANE_CYCLES
      for (const int clock : {0, 1}) {
        model_.clock = clock;
        model_.eval();
      }
    }
    const auto expect = [&](const char* what, uint32_t got, float second) {
      const float expected = ApplyStage(numbers_, stage, value, a, second);
      ASSERT_EQ(Canonical(std::bit_cast<float>(got)), Canonical(expected))
          << what << ": op " << static_cast<int>(op) << " function "
          << static_cast<int>(stage.function) << " of " << value << ", " << a << ", " << second;
    };
    // A lane of a short float has an operation of its own.
    if (!IsShortFloat(config_.vector_format)) expect("operation", model_.computed, b);
    expect("lane", model_.lane_computed, std::bit_cast<float>(arguments[at_b]));
  }

  const Config config_;
  const Numbers numbers_;
  VerilatedContext context_;
  typename Design::Model model_{&context_};
  Random random_{21};
};

using Designs = testing::Types<Plain, Bf16, Fp16Blocks, Short, ShortIntegers, Codes, BlockCodes>;
TYPED_TEST_SUITE(VectorArithmetic, Designs);

TYPED_TEST(VectorArithmetic, ElementsBecomeNumbers) {
  for (const Element element : this->Elements()) {
    for (uint32_t code = 0; code < 256; ++code) {
      for (int i = 0; i < 8 && !this->HasFatalFailure(); ++i)
        this->CheckLoad(element, code | static_cast<uint32_t>(this->random_()) << 8);
    }
    for (int i = 0; i < 5'000 && !this->HasFatalFailure(); ++i)
      this->CheckLoad(element, RandomFp32(this->random_));
  }
}
TYPED_TEST(VectorArithmetic, NumbersBecomeElements) {
  for (const Element element : this->Elements()) {
    for (const float corner : this->Corners()) {
      for (int i = 0; i < 20 && !this->HasFatalFailure(); ++i) this->CheckStore(element, corner);
    }
    for (int i = 0; i < 10'000 && !this->HasFatalFailure(); ++i)
      this->CheckStore(element, this->AnyNumber());
  }
}
TYPED_TEST(VectorArithmetic, JoinsOfReductions) {
  const std::vector<float> corners = this->Corners();
  for (const float a : corners) {
    for (const float b : corners) {
      this->CheckJoin(a, b);
      if (this->HasFatalFailure()) return;
    }
  }
  for (int i = 0; i < 50'000 && !this->HasFatalFailure(); ++i)
    this->CheckJoin(this->AnyNumber(), this->AnyNumber());
}
TYPED_TEST(VectorArithmetic, OperationsOfStages) {
  const std::vector<float> corners = this->Corners();
  for (int op = 0; op < 16; ++op) {
    for (const float value : corners) {
      for (const float a : corners) {
        this->CheckStage(static_cast<StageOp>(op), value, a, this->AnyNumber());
        if (this->HasFatalFailure()) return;
      }
    }
    for (int i = 0; i < 10'000 && !this->HasFatalFailure(); ++i) {
      this->CheckStage(static_cast<StageOp>(op), this->AnyNumber(), this->AnyNumber(),
                       this->AnyNumber());
    }
  }
}

}  // namespace
}  // namespace kiln::rtl
