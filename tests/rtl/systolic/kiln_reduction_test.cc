// Compares kiln_reduction with Join, ReduceTree and ApplyStage: rows of words with lanes on and
// off, sums and maxima, scalar stages, and lanes that stall. Each scalar must appear in its cycle;
// the other words must pass unchanged.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "Vreduction.h"
#include "kiln/support/random.h"
#include "kiln/targets/systolic/isa/stages.h"
#include "kiln/targets/systolic/simulate/arithmetic.h"
#include "kiln/targets/systolic/simulate/functional/reduce_tree.h"
#include "tests/rtl/support.h"
#include "tests/rtl/systolic/vector_command.h"

namespace kiln::rtl {
namespace {

using systolic::Argument;
using systolic::Numbers;
using systolic::Reduce;
using systolic::Stage;
using systolic::StageOp;

// As in reduction_bench.sv.
constexpr size_t kRows = 3, kScalars = 4, kStages = 3, kLanes = 5;

systolic::Config ConfigOf(const char* vector_format) {
  systolic::Config config;
  config.vector_format = *FindFormat(vector_format);
  config.vector_stages = kStages;
  config.vector_function_stages = 0b101;
  config.vector_divide_stages = 0b010;
  return config;
}

uint32_t BitsOf(float value) {
  return std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value);
}

// One unit of the bench: what its scalars must be, in time counted in cycles with `advance`.
class Unit {
 public:
  Unit(const char* vector_format, size_t lanes, int64_t latency, int64_t levels, int number)
      : config_(ConfigOf(vector_format)),
        numbers_(config_),
        lanes_(lanes),
        latency_(latency),
        levels_(levels),
        number_(number) {}

  const Numbers& numbers() const { return numbers_; }

  // A word of row `row` in cycle `now`: values of the lanes that are on.
  void Word(const std::vector<float>& values, uint32_t on, Reduce reduce, bool first, bool last,
            size_t row, size_t into, const std::vector<Stage>& stages, int64_t now) {
    if (first) partials_.assign(std::bit_ceil(lanes_), NeutralOf(numbers_, reduce));
    for (size_t lane = 0; lane < lanes_; ++lane) {
      if ((on >> lane & 1) != 0)
        partials_[lane] = Join(numbers_, reduce, partials_[lane], values[lane]);
    }
    if (!last) return;
    float scalar = ReduceTree(numbers_, reduce, partials_);
    for (const Stage& stage : stages) {
      const auto value_of = [&](Argument a, float immediate) {
        if (a < Argument::kScalar0) return immediate;
        return scalars_[row][static_cast<size_t>(a) - static_cast<size_t>(Argument::kScalar0)]
            .value();
      };
      scalar = ApplyStage(numbers_, stage, scalar, value_of(stage.a, stage.immediate_a),
                          value_of(stage.b, stage.immediate_b));
    }
    const int64_t there = now + 2 + latency_ * (levels_ + static_cast<int64_t>(stages.size()));
    coming_.push_back({there, row, into, scalar});
  }

  template <typename Port>
  void Check(const Port& port, int64_t now) {
    while (!coming_.empty() && coming_.front().at <= now) {
      const Coming& c = coming_.front();
      scalars_[c.row][c.into] = c.scalar;
      coming_.pop_front();
    }
    const auto bits = static_cast<size_t>(number_);
    const std::vector<uint8_t> bytes = GetBytes(port, kRows * kScalars * bits / 8);
    for (size_t row = 0; row < kRows; ++row) {
      for (size_t s = 0; s < kScalars; ++s) {
        if (!scalars_[row][s].has_value()) continue;
        uint32_t scalar = 0;
        for (size_t i = 0; i < bits / 8; ++i) {
          scalar |= uint32_t{bytes[(row * kScalars + s) * bits / 8 + i]} << (32 - bits + 8 * i);
        }
        ASSERT_EQ(BitsOf(std::bit_cast<float>(scalar)), BitsOf(*scalars_[row][s]))
            << "s" << s << " of row " << row << " of the unit with " << lanes_ << " lanes in cycle "
            << now;
      }
    }
  }
  bool Done() const { return coming_.empty(); }

 private:
  struct Coming {
    int64_t at;
    size_t row, into;
    float scalar;
  };
  const systolic::Config config_;
  const Numbers numbers_;
  const size_t lanes_;
  const int64_t latency_, levels_;
  const int number_;
  std::vector<float> partials_;
  std::array<std::array<std::optional<float>, kScalars>, kRows> scalars_;
  std::deque<Coming> coming_;
};

class ReductionBench {
 public:
  explicit ReductionBench(double stall)
      : random_(5), bench_(6), lanes_(7, stall, Stalls::Kind::kBursts), words_(8, stall) {
    bench_->advance = bench_->in_valid = bench_->stage_write_valid = 0;
    bench_.Reset();
  }

  // A pass over some rows: its scalar stages first, then words, then all that follows from them.
  void Pass() {
    const size_t slot = random_.Below(2), pass = random_.Below(4), into = random_.Below(kScalars);
    const Reduce reduce = random_.Below(2) == 0 ? Reduce::kSum : Reduce::kMax;
    std::vector<Stage> stages(random_.Below(kStages + 1));
    for (size_t i = 0; i < stages.size(); ++i) {
      stages[i] = RandomStage(static_cast<int>(i));
      WriteStage(slot, pass, i, stages[i]);
    }
    const size_t rows = 1 + random_.Below(kRows);
    for (size_t row = 0; row < rows; ++row) {
      const size_t words = 1 + random_.Below(4);
      for (size_t word = 0; word < words; ++word) {
        std::vector<float> values(kLanes);
        for (float& value : values) value = RandomNumber();
        const size_t lanes = word + 1 < words ? kLanes : 1 + random_.Below(kLanes);
        const uint32_t on = (1u << lanes) - 1;
        Show(values, on, reduce, slot, pass, into, stages.size(), row, word == 0,
             word + 1 == words);
        while (!Cycle(!words_.Next(), [&](Unit& unit) {
          unit.Word(Rounded(unit, values), on, reduce, word == 0, word + 1 == words, row, into,
                    stages, now_);
        })) {
          if (testing::Test::HasFatalFailure()) return;
        }
      }
      ++reduced;
    }
    while (!(units_[0].Done() && units_[1].Done() && units_[2].Done())) {
      Cycle(false, [](Unit&) {});
      if (testing::Test::HasFatalFailure()) return;
    }
    if (rows == kRows) known_ |= 1u << into;
  }
  int reduced = 0;

 private:
  // A number of bf16, which both formats have, or any for the units of fp32.
  float RandomNumber() {
    if (random_.Below(16) == 0) {
      constexpr std::array<float, 6> kCorners = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f};
      return kCorners[random_.Below(kCorners.size())];
    }
    return static_cast<float>(random_.Uniform(-1, 1)) *
           std::exp2(static_cast<float>(random_.Between(-4, 4)));
  }
  static std::vector<float> Rounded(const Unit& unit, std::vector<float> values) {
    for (float& value : values) value = unit.numbers().Round(value);
    return values;
  }

  Argument RandomArgument() {
    const size_t scalar = random_.Below(2 * kScalars);
    if (scalar >= kScalars || (known_ >> scalar & 1) == 0) return Argument::kImmediate;
    return static_cast<Argument>(static_cast<size_t>(Argument::kScalar0) + scalar);
  }
  Stage RandomStage(int place) {
    Stage s;
    do {
      s.op = static_cast<StageOp>(random_.Below(16));
    } while (s.op == StageOp::kSave0 || s.op == StageOp::kSave1 ||
             !systolic::HasStageFor(s.op, place, ConfigOf("fp32")));
    s.a = RandomArgument();
    s.b = RandomArgument();
    s.immediate_a = units_[1].numbers().Round(static_cast<float>(random_.Uniform(-2, 2)));
    s.immediate_b = units_[1].numbers().Round(static_cast<float>(random_.Uniform(-2, 2)));
    s.function = static_cast<decltype(s.function)>(random_.Below(13));
    return s;
  }
  void WriteStage(size_t slot, size_t pass, size_t place, const Stage& s) {
    BitString write;
    write.Append(6, slot);
    write.Append(2, pass);
    write.Append(1, 1);
    write.Append(4, place);
    write.Append(4, static_cast<uint64_t>(s.op));
    write.Append(4, static_cast<uint64_t>(s.a));
    write.Append(4, static_cast<uint64_t>(s.b));
    write.Append(4, static_cast<uint64_t>(s.function));
    write.Append(32, std::bit_cast<uint32_t>(s.immediate_a));
    write.Append(32, std::bit_cast<uint32_t>(s.immediate_b));
    write.Append(32, 0);
    SetBytes(bench_->stage_write, write.Bytes());
    bench_->stage_write_valid = 1;
    Cycle(false, [](Unit&) {});
    bench_->stage_write_valid = 0;
  }

  void Show(const std::vector<float>& values, uint32_t on, Reduce reduce, size_t slot, size_t pass,
            size_t into, size_t stages, size_t row, bool first, bool last) {
    BitString tag;
    tag.Append(6, slot);
    tag.Append(2, pass);
    tag.Append(2, into);
    tag.Append(4, stages);
    tag.Append(4, stages);
    tag.Append(8, row);
    tag.Append(5, 0);
    SetBytes(bench_->in_tag, tag.Bytes());
    bench_->in_maximum = reduce == Reduce::kMax;
    bench_->in_first = first;
    bench_->in_last = last;
    bench_->in_lanes = static_cast<uint8_t>(on);
    BitString wide, narrow;
    for (size_t lane = kLanes; lane-- > 0;) {
      wide.Append(32, std::bit_cast<uint32_t>(values[lane]));
      if (lane < 4)
        narrow.Append(16, std::bit_cast<uint32_t>(units_[1].numbers().Round(values[lane])) >> 16);
    }
    SetBytes(bench_->in_value, wide.Bytes());
    SetBytes(bench_->in_narrow, narrow.Bytes());
  }

  // One cycle, with a word if `valid`; whether it was taken.
  template <typename Take>
  bool Cycle(bool valid, Take take) {
    const bool advance = !lanes_.Next();
    bench_->advance = advance;
    bench_->in_valid = valid;
    bench_.Settle();
    units_[0].Check(bench_->scalars_5, now_);
    units_[1].Check(bench_->scalars_4, now_);
    units_[2].Check(bench_->scalars_1, now_);
    const bool taken = valid && advance;
    for (Unit& unit : units_) {
      if (taken) take(unit);
    }
    now_ += advance ? 1 : 0;
    bench_.Step();
    bench_->in_valid = 0;
    return taken;
  }

  Random random_;
  Simulation<Vreduction> bench_;
  Stalls lanes_, words_;
  std::array<Unit, 3> units_{Unit("fp32", 5, 2, 3, 32), Unit("bf16", 4, 1, 2, 16),
                             Unit("fp32", 1, 3, 0, 32)};
  uint32_t known_ = 0;  // scalars that all rows have
  int64_t now_ = 0;
};

TEST(Reduction, RowsBecomeScalars) {
  for (const double stall : {0.0, 0.4}) {
    ReductionBench bench(stall);
    for (int i = 0; i < 1'500 && !testing::Test::HasFatalFailure(); ++i) bench.Pass();
    EXPECT_GT(bench.reduced, 2'000);
  }
}

}  // namespace
}  // namespace kiln::rtl
