// Compares kiln_systolic_array with the scalar steps of numerics/mac.h: passes and loads as close
// together as the module's header allows or with random gaps, noise on every input that is not
// used, and a random precision for every pass.
#include <map>

#include "Varray_2x8.h"
#include "Varray_4x4.h"
#include "Varray_4x4_product.h"
#include "Varray_8x2.h"
#include "Varray_precisions.h"
#include "Varray_precisions_0_2.h"
#include "Varray_precisions_1_2.h"
#include "kiln/numerics/codec.h"
#include "kiln/numerics/mac.h"
#include "tests/rtl/support.h"

namespace kiln::rtl {
namespace {

struct Shape {
  int rows, columns, rows_per_cycle;
  std::vector<MacRule> rules;  // one a precision
  int product_latency = 0, sum_latency = 1;
  int steps() const { return rows / rows_per_cycle; }
  // From a word to its sums.
  int latency() const { return product_latency + sum_latency * rows + columns - 1; }
};

MacRule RuleOf(const char* input, const char* weight, const char* sums) {
  return {.input = *FindFormat(input),
          .weight = *FindFormat(weight),
          .psum = *FindFormat(sums),
          .accumulation = *FindFormat(sums)};
}
MacRule Int8Rule() { return RuleOf("int8", "int8", "int32"); }
// Of the model array_precisions: operands of eight bits and of four.
std::vector<MacRule> ThreeRules() {
  return {RuleOf("int8", "int8", "fp32"), RuleOf("e4m3", "int4", "fp32"),
          RuleOf("posit8_1", "e4m3", "fp32")};
}

// Codes of eight bits, lane 0 lowest.
using Codes = std::vector<uint8_t>;

struct Load {
  int step;
  Codes weights;  // [rows_per_cycle][columns]
};
struct Pixel {
  bool swap;
  int valid_rows;
  Codes word;
  size_t precision;
};

// What happens when: the inputs of each cycle and the psums that must be seen.
struct Schedule {
  std::map<int64_t, Load> loads;
  std::map<int64_t, Pixel> pixels;
  std::map<int64_t, std::vector<uint32_t>> psums;
  int64_t end = 0;
};

Codes RandomCodes(Random& random, int count) {
  Codes codes(static_cast<size_t>(count));
  for (uint8_t& code : codes) {
    code = static_cast<uint8_t>(random.Below(4) == 0 ? 0x80 + random.Below(2) * 0xff
                                                     : random.Below(256));
  }
  return codes;
}

// `passes` passes; a gap of up to `most_gap` cycles before each pass and each load.
Schedule RandomSchedule(const Shape& shape, int passes, int64_t most_gap, Random& random) {
  Schedule schedule;
  int64_t load_at = 0, free_at = 0;  // first cycle in which the next load, the next pass may begin
  for (int p = 0; p < passes; ++p) {
    load_at += random.Between(0, most_gap);
    const size_t precision = random.Below(shape.rules.size());
    const MacRule& rule = shape.rules[precision];
    Codes tile;
    for (int step = 0; step < shape.steps(); ++step) {
      const Codes weights = RandomCodes(random, shape.rows_per_cycle * shape.columns);
      tile.insert(tile.end(), weights.begin(), weights.end());
      schedule.loads[load_at + step] = {step, weights};
    }
    const int64_t start = std::max(free_at, load_at + shape.steps()) + random.Between(0, most_gap);
    const int64_t pixels = random.Between(1, random.Below(3) == 0 ? 20 : 3);
    const int valid_rows =
        random.Below(2) == 0 ? shape.rows : static_cast<int>(random.Between(1, shape.rows));
    for (int64_t i = 0; i < pixels; ++i) {
      const Codes word = RandomCodes(random, shape.rows);
      std::vector<uint32_t> psums(static_cast<size_t>(shape.columns), MacZero(rule.psum));
      for (int r = 0; r < valid_rows; ++r) {
        for (int c = 0; c < shape.columns; ++c) {
          uint32_t& psum = psums[static_cast<size_t>(c)];
          psum = PsumStep(rule, psum, word[static_cast<size_t>(r)] & CodeMask(rule.input),
                          tile[static_cast<size_t>(r * shape.columns + c)] & CodeMask(rule.weight));
        }
      }
      schedule.pixels[start + i] = {i == 0, valid_rows, word, precision};
      schedule.psums[start + i + shape.latency()] = std::move(psums);
    }
    load_at = std::max(load_at + shape.steps(), start);
    free_at = start + pixels;
  }
  schedule.end = free_at + shape.latency() + 1;
  return schedule;
}

template <typename Model>
void GivesTheSumsInOrderAndInTime(const Shape& shape, int64_t most_gap, uint64_t seed) {
  Random random(seed);
  const Schedule schedule = RandomSchedule(shape, 300, most_gap, random);
  Simulation<Model> array(seed);
  array->active = 1;  // nothing may begin in the reset
  array->load = 1;
  array.Reset();
  for (int64_t cycle = 0; cycle <= schedule.end; ++cycle) {
    const auto load = schedule.loads.find(cycle);
    array->load = load != schedule.loads.end();
    array->load_step = static_cast<uint8_t>(array->load ? load->second.step : 0);
    SetBytes(array->weights, array->load
                                 ? load->second.weights
                                 : RandomCodes(random, shape.rows_per_cycle * shape.columns));
    const auto pixel = schedule.pixels.find(cycle);
    array->active = pixel != schedule.pixels.end();
    array->swap = array->active && pixel->second.swap;
    array->multiply = static_cast<uint8_t>(array->active ? (1u << pixel->second.valid_rows) - 1
                                                         : random.Below(256));
    array->multiply &= static_cast<uint8_t>((1u << shape.rows) - 1);
    array->precision = static_cast<uint8_t>(array->active ? pixel->second.precision
                                                          : random.Below(shape.rules.size()));
    SetBytes(array->word, array->active ? pixel->second.word : RandomCodes(random, shape.rows));
    array.Settle();
    if (const auto expected = schedule.psums.find(cycle); expected != schedule.psums.end()) {
      std::vector<uint32_t> psums(static_cast<size_t>(shape.columns));
      const std::vector<uint8_t> bytes = GetBytes(array->psums, psums.size() * 4);
      std::memcpy(psums.data(), bytes.data(), bytes.size());
      ASSERT_EQ(psums, expected->second) << "cycle " << cycle << ", seed " << seed;
    }
    array.Step();
  }
}

TEST(SystolicArray, GivesTheSumsInOrderAndInTime) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const int64_t most_gap = seed % 2 == 0 ? 0 : 3;
    GivesTheSumsInOrderAndInTime<Varray_4x4>({4, 4, 1, {Int8Rule()}}, most_gap, seed);
    GivesTheSumsInOrderAndInTime<Varray_8x2>({8, 2, 4, {Int8Rule()}}, most_gap, seed);
    GivesTheSumsInOrderAndInTime<Varray_2x8>({2, 8, 2, {Int8Rule()}}, most_gap, seed);
  }
}

TEST(SystolicArray, ChangesItsPrecisionFromPassToPass) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    GivesTheSumsInOrderAndInTime<Varray_precisions>({2, 4, 1, ThreeRules()}, seed % 2 == 0 ? 0 : 3,
                                                    seed);
  }
}

// Registers behind the products and within the sums change the time of the sums, but no bit.
TEST(SystolicArray, TakesLongerForProductsAndSums) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const int64_t most_gap = seed % 2 == 0 ? 0 : 3;
    GivesTheSumsInOrderAndInTime<Varray_4x4_product>({4, 4, 2, {Int8Rule()}, 1, 1}, most_gap, seed);
    GivesTheSumsInOrderAndInTime<Varray_precisions_1_2>({4, 3, 2, ThreeRules(), 1, 2}, most_gap,
                                                        seed);
    GivesTheSumsInOrderAndInTime<Varray_precisions_0_2>({4, 1, 4, ThreeRules(), 0, 2}, most_gap,
                                                        seed);
  }
}

}  // namespace
}  // namespace kiln::rtl
