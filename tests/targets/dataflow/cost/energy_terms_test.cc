// Every term of an image's energy against counts by hand.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "kiln/hardware/energy.h"
#include "kiln/targets/dataflow/cost/cost.h"
#include "kiln/targets/dataflow/cost/events.h"
#include "kiln/targets/dataflow/isa/builder.h"
#include "tests/targets/dataflow/cost/small_machine.h"
#include "tests/targets/energy_checks.h"

namespace kiln::dataflow {
namespace {

using Counts = std::map<std::string, int64_t>;

Counts CountsOf(const Pipeline& pipeline) {
  const Pipeline* const one[] = {&pipeline};
  const auto energy = EnergyOf(one, true, 45);
  EXPECT_TRUE(energy.ok()) << energy.status();
  Counts counts;
  for (const EnergyPart& part : energy->parts) counts[part.unit + ": " + part.event] = part.count;
  return counts;
}

TEST(DataflowEnergyTerms, OfASmallMachine) {
  // conv: 36 pixels take 2 passes of 2 words; 37 columns of 2 words are inserted, 36 of them by
  // steps that multiply.
  constexpr int64_t kConv = 144, kConvInserted = 74, kConvSteps = 146, kConvCodes = 36 * 8;
  // Two packed products take 89 register bits, a tree of 18 products of 16 bits 361.
  constexpr int64_t kConvStep = 36 * 89 + 4 * 361 + 4 * 21;
  // Sum, factor, twice the addend, product, scaled sum, code.
  constexpr int64_t kScale = 21 + 17 + 2 * 11 + 39 + 40 + 8;
  // pool: 9 pixels of 2 words; 18 columns are inserted.
  constexpr int64_t kPool = 18, kPoolInserted = 36;
  // dense: 2 passes of 18 words.
  constexpr int64_t kDense = 36;
  EXPECT_EQ(
      CountsOf(SmallMachine()),
      (Counts{
          {"outer memory: bytes", 72 * 2 + 4},
          {"conv: bits of rows, memory of 192", (72 + 3 * kConvInserted) * 16},
          {"conv: multiplications of 8 x 8 bits", kConv * 72},
          {"conv: additions of products of 21 bits", kConv * 4 * 17},
          {"conv: accumulations of 21 bits", kConv * 4},
          {"conv: bits of weights, memory of 2304", kConv * 576},
          {"conv: multiplications of 21 x 17 bits", kConvCodes},
          {"conv: additions of 40 bits", kConvCodes},
          {"conv: bits of constants, memory of 224", kConvCodes * 28},
          {"conv: register bits",
           kConvSteps * 144 + kConvInserted * 144 + kConv * kConvStep + kConvCodes * kScale},
          {"pool: bits of rows, memory of 384", (72 + 2 * kPoolInserted) * 32},
          {"pool: comparisons of 8 bits", kPool * 4 * 3},
          {"pool: register bits", kPoolInserted * (128 + 64) + kPool * 4 * 24},
          {"dense: multiplications of 8 x 4 bits", kDense * 8},
          {"dense: additions of products of 14 bits", kDense * 2 * 3},
          {"dense: accumulations of 16 bits", kDense * 2},
          {"dense: bits of weights, memory of 1152", kDense * 32},
          {"dense: comparisons of 16 bits", 4 * 2},
          {"dense: bits of thresholds, memory of 64", 4 * 16},
          {"dense: bits of thresholds, memory of 128", 4 * 16},
          // The words of the window, those that are kept, products, trees and sums; the sum that
          // waits; thresholds.
          {"dense: register bits", (18 + kDense) * 32 + 18 * 32 +
                                       kDense * (8 * 16 + 2 * 40 + 2 * 16) + 4 * 16 +
                                       4 * (16 + 56)},
          {"channels: register bits", 72 * 16 + 18 * 32 + 4 * 2},
          {"channels: bits of words, memory of 160", 2 * 72 * 32},
      }));
}

// A table, an affine stage of two inputs, a global sum, a rearrangement and a converter.
TEST(DataflowEnergyTerms, OfOtherStages) {
  PipelineBuilder builder;
  const int in = builder.Source("in", {4, 4, 4}, {8, true}, 2);
  const std::vector<int> two = builder.Fork(in, 2, "fork");
  Stage table;
  table.kind = StageKind::kTable;
  table.name = "table";
  table.table.assign(256, 1);
  const int looked_up = builder.Add(std::move(table), {two[0]}, {4, 4, 4}, {4, false}, 2);
  Stage affine;
  affine.kind = StageKind::kAffine;
  affine.name = "affine";
  affine.factors = {3, 5};
  affine.shift = 2;
  affine.low = -128;
  affine.high = 127;
  const int added = builder.Add(std::move(affine), {looked_up, two[1]}, {4, 4, 4}, {8, true}, 2);
  Stage space;
  space.kind = StageKind::kRearrange;
  space.name = "space";
  space.factor_y = space.factor_x = 2;
  const int larger = builder.Add(std::move(space), {added}, {8, 8, 4}, {8, true}, 2);
  const int wide = builder.WithLanes(larger, 4, "wide");
  Stage sum;
  sum.kind = StageKind::kGlobalSum;
  sum.name = "sum";
  sum.sum_bits = 15;
  const int summed = builder.Add(std::move(sum), {wide}, {1, 1, 4}, {15, true}, 4);
  builder.Sink(summed, "out");
  const Counts counts = CountsOf(builder.Take());
  const std::pair<const char*, int64_t> expected[] = {
      {"table: bits of table, memory of 1024", 32 * 2 * 4},
      {"affine: multiplications of 4 x 18 bits", 32 * 2},
      {"affine: multiplications of 8 x 18 bits", 32 * 2},
      {"affine: additions of 50 bits", 32 * 2 * 2},
      // Codes, products, two sums, and the result.
      {"affine: register bits", 32 * 2 * (4 + 22 + 8 + 26 + 2 * 50 + 8)},
      {"space: bits of rows, memory of 256", (32 + 128) * 16},
      {"forks and converters: register bits", 128 * 16},
      {"sum: accumulations of 15 bits", 64 * 4},
      // Code and sum of each word, and the results.
      {"sum: register bits", 64 * 4 * (8 + 15) + 4 * 15},
      {"outer memory: bytes", 32 * 2 + 8},
  };
  for (const auto& [event, count] : expected) {
    ASSERT_TRUE(counts.contains(event)) << event;
    EXPECT_EQ(counts.at(event), count) << event;
  }
  EXPECT_EQ(counts.size(), std::size(expected) + 1);  // and the channels
}

// Weights of -1 and +1 are not multiplied.
TEST(DataflowEnergyTerms, OfSigns) {
  Pipeline pipeline = SmallMachine();
  pipeline.stages[1].weight_bits = 1;
  pipeline.stages[1].pack = 1;
  const Counts counts = CountsOf(pipeline);
  EXPECT_EQ(counts.at("conv: negations of 9 bits"), 144 * 72);
  EXPECT_FALSE(counts.contains("conv: multiplications of 8 x 1 bits"));
}

// Picojoules of one event at 45 nm, from the formulas of hardware/energy.h.
TEST(DataflowEnergyTerms, OfSingleEvents) {
  const Pipeline pipeline = SmallMachine();
  const Pipeline* const one[] = {&pipeline};
  const auto cost = PipelineCost(one, Config(), 45);
  ASSERT_TRUE(cost.ok());
  std::map<std::string, double> each;
  for (const EventEnergy& event : cost->events) each[event.event] = event.picojoules;
  const auto integer = [](int bits) {
    Format format = *FindFormat("int32");
    format.bits = bits;
    return format;
  };
  const std::pair<const char*, double> expected[] = {
      {"multiplications of 8 x 8 bits", hardware::MultiplyEnergy(integer(8), integer(8))},
      {"multiplications of 21 x 17 bits", hardware::MultiplyEnergy(integer(21), integer(17))},
      {"additions of products of 21 bits", hardware::AddEnergy(integer(21))},
      {"comparisons of 8 bits", hardware::AddEnergy(integer(8))},
      {"register bits", hardware::RegisterEnergyPerBit()},
      {"bits of weights, memory of 2304", hardware::MemoryEnergyPerBit(2304)},
      {"outer memory byte", 162.5},
  };
  for (const auto& [event, picojoules] : expected) {
    ASSERT_TRUE(each.contains(event)) << event;
    EXPECT_DOUBLE_EQ(each[event], picojoules) << event;
  }
}

TEST(DataflowEnergy, ScalesByNode) {
  const Pipeline pipeline = SmallMachine();
  const Pipeline* const one[] = {&pipeline};
  ExpectAllButOuterMemoryScalesByNode([&](int node_nm) { return EnergyOf(one, true, node_nm); });
  EXPECT_FALSE(PipelineCost(one, Config(), 22).ok());
}

}  // namespace
}  // namespace kiln::dataflow
