// Tests cuts of networks over devices and passes: a small chain is cut by hand, every cut computes
// the same numbers, and the best cut is compared with the enumeration of all cuts and folds.
#include "kiln/targets/dataflow/compile/cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/targets/dataflow/compile/compile.h"
#include "kiln/targets/dataflow/compile/fold_network.h"
#include "kiln/targets/dataflow/compile/lower.h"
#include "tests/targets/dataflow/compile/lowered.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;

// Two layers and a sum with the result of the first.
constexpr char kBlock[] = R"(
  input %x : f32[1x3x3x2] Q
  const %v : f32[2x2x1x1] Q = [1.0, 2.0, -1.0, 1.0]
  const %w : f32[2x2x3x3] Q = [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, -1.0,
                               0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0,
                               0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0,
                               1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
  %1 = conv %x, %v {layout="nhwc"} : f32[1x3x3x2] Q
  %2 = conv %1, %w {layout="nhwc", pads=[1, 1, 1, 1]} : f32[1x3x3x2] Q
  %3 = add %2, %1 : f32[1x3x3x2] Q
  output %3
)";

TEST(DataflowCut, AChainByHand) {
  auto network = LowerText(kBlock, false);
  ASSERT_TRUE(network.ok());
  ASSERT_EQ(network->layers.size(), 3u);
  const size_t maps = network->maps.size();  // the input and three results
  ASSERT_EQ(maps, 4u);
  // The first layer alone. Both others read its result.
  CutNetwork({0, 1, 1}, &*network);
  EXPECT_EQ(network->segments, 2);
  EXPECT_THAT(network->segment_parts, ElementsAre(0, 1));
  EXPECT_EQ(network->layers[0].segment, 0);
  EXPECT_EQ(network->layers[1].segment, 1);
  EXPECT_EQ(network->layers[2].segment, 1);
  // One copy of the map, which both readers share.
  ASSERT_EQ(network->maps.size(), maps + 1);
  const NetworkMap& copy = network->maps.back();
  EXPECT_EQ(copy.copied_from, network->layers[0].output);
  EXPECT_EQ(copy.segment, 1);
  EXPECT_EQ(copy.layer, -1);
  EXPECT_THAT(network->layers[1].inputs, ElementsAre(static_cast<int>(maps)));
  EXPECT_THAT(network->layers[2].inputs,
              ElementsAre(network->layers[1].output, static_cast<int>(maps)));
  EXPECT_THAT(SinkMaps(*network, 0), ElementsAre(network->layers[0].output));
  EXPECT_THAT(SourceMaps(*network, 1), ElementsAre(static_cast<int>(maps)));
  ASSERT_EQ(network->steps.size(), 2u);
  EXPECT_EQ(network->steps[0].sends.size(), 1u);
  EXPECT_EQ(network->steps[0].receives.size(), 0u);
  EXPECT_EQ(network->steps[1].sends.size(), 0u);
  EXPECT_EQ(network->steps[1].receives.size(), 1u);
}

// A map that two later segments read has a copy in each.
TEST(DataflowCut, AMapForSeveralSegments) {
  auto network = LowerText(kBlock, false);
  ASSERT_TRUE(network.ok());
  CutNetwork({0, 1, 2}, &*network);
  EXPECT_EQ(network->segments, 3);
  const int first = network->layers[0].output;
  std::vector<int> segments;
  for (const NetworkMap& map : network->maps) {
    if (map.copied_from == first) segments.push_back(map.segment);
  }
  EXPECT_THAT(segments, ElementsAre(1, 2));
}

TEST(DataflowCut, NumbersDoNotDependOnTheCut) {
  std::vector<double> image;
  for (int i = 0; i < 18; ++i) image.push_back(i * 7 % 11 - 5);
  const auto whole = LowerText(kBlock, false);
  ASSERT_TRUE(whole.ok());
  const std::vector<double> expected = RunLowered(*whole, image);
  ASSERT_EQ(expected.size(), 18u);
  for (int b = 0; b < 3; ++b) {
    for (int c = b; c < 3; ++c) {
      auto network = LowerText(kBlock, false);
      ASSERT_TRUE(network.ok());
      CutNetwork({0, b, c}, &*network);
      EXPECT_EQ(RunLowered(*network, image), expected) << b << " " << c;
    }
  }
}

// A device that holds the block only in parts.
Config Device(int64_t dsp, int64_t lut) {
  Config config;
  config.name = "d";
  config.dsp = dsp;
  config.bram = 4;
  config.uram = 0;
  config.lut = lut;
  config.products_per_dsp = 1;
  config.link_bits = 3;
  config.memory_bits = 5;
  config.reload_cycles = 11;
  return config;
}

// A chain without joins: three pointwise layers of 4 channels, the last with 8 results.
constexpr char kChain[] = R"(
  input %x : f32[1x2x3x4] Q
  const %v : f32[4x4x1x1] Q = [100.0, 2.0, 3.0, 4.0, 100.0, 2.0, 3.0, 4.0,
                               100.0, 2.0, 3.0, 4.0, 100.0, 2.0, 3.0, 4.0]
  const %w : f32[2x4x1x1] Q = [100.0, 2.0, 3.0, 4.0, 100.0, 2.0, 3.0, 4.0]
  %1 = conv %x, %v {layout="nhwc"} : f32[1x2x3x4] Q
  %2 = conv %1, %v {layout="nhwc"} : f32[1x2x3x4] Q
  %3 = conv %2, %w {layout="nhwc"} : f32[1x2x3x2] Q
  output %3
)";

// The layers of kChain: channels of an output and bits of its map, 6 pixels of 8 bits.
constexpr int64_t kOutputs[] = {4, 4, 2}, kBits[] = {6 * 4 * 8, 6 * 4 * 8, 6 * 2 * 8};

// Calls `visit` with every choice of candidates, and the cycles of each layer by hand: 6 pixels,
// 4 / a words by outputs / b passes.
template <typename Visit>
void ForEachFold(const NetworkProblem& problem, const Visit& visit) {
  std::vector<size_t> choice(3, 0);
  while (true) {
    std::vector<int64_t> cycles;
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < 3; ++i) {
      const LayerFold& fold = problem.folds[i][choice[i]];
      candidates.push_back(problem.problem.layers[i].candidates[choice[i]]);
      cycles.push_back(6 * (4 / fold.in_lanes) * (kOutputs[i] / fold.elements));
      EXPECT_EQ(candidates[i].cycles, cycles[i]);
    }
    visit(candidates, cycles);
    size_t i = 0;
    while (i < 3 && ++choice[i] == problem.folds[i].size()) choice[i++] = 0;
    if (i == 3) return;
  }
}

// Returns whether the parts of a chain fit the device, each by itself.
bool PartsFit(const std::vector<Candidate>& candidates, const std::vector<int>& parts,
              const Resources& limits) {
  std::map<int, Resources> used;
  for (size_t i = 0; i < parts.size(); ++i) AddTo(used[parts[i]], candidates[i].resources);
  return std::ranges::all_of(used, [&](const auto& part) { return Fits(part.second, limits); });
}

const std::vector<std::vector<int>> kCuts = {{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 2}};

TEST(DataflowCut, DevicesAreThoseOfTheEnumeration) {
  const auto network = LowerText(kChain, false);
  ASSERT_TRUE(network.ok());
  int cut = 0;
  for (const int64_t dsp : {12, 18, 30}) {
    for (const int64_t lut : {1500, 3000}) {
      for (const int devices : {2, 3}) {
        for (const int link : {3, 16, 200}) {
          Config config = Device(dsp, lut);
          config.devices = devices;
          config.link_bits = link;
          const auto problem = ProblemOf(*network, config, 0);
          ASSERT_TRUE(problem.ok());
          int64_t best = std::numeric_limits<int64_t>::max();
          ForEachFold(*problem, [&](const auto& candidates, const auto& cycles) {
            for (const std::vector<int>& parts : kCuts) {
              if (parts[2] >= devices || !PartsFit(candidates, parts, LimitsOf(config))) continue;
              int64_t period = std::ranges::max(cycles);
              for (size_t i = 0; i < 2; ++i) {
                const bool crosses = parts[i] != parts[i + 1];
                if (crosses) period = std::max(period, (kBits[i] + link - 1) / link);
                // Inside a device the lanes must divide.
                if (!crosses && !Couples(Coupling::kTwoWay, candidates[i].out_lanes,
                                         candidates[i + 1].in_lanes))
                  period = std::numeric_limits<int64_t>::max();
              }
              best = std::min(best, period);
            }
          });
          const auto folded = FoldNetwork(*network, config);
          const std::string what =
              fmt::format("{} DSP, {} LUT, {} devices, {} bits", dsp, lut, devices, link);
          ASSERT_EQ(folded.ok(), best < std::numeric_limits<int64_t>::max()) << what;
          if (!folded.ok()) continue;
          EXPECT_EQ(folded->interval, best) << what;
          EXPECT_TRUE(folded->result.certificate.optimal) << what;
          cut += folded->parts[0] != folded->parts[2] ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(cut, 3);
}

// Passes run one after the other: their cycles and the reloads between them add up. A pass takes
// at least the cycles of the memory that its maps go through.
TEST(DataflowCut, PassesAreThoseOfTheEnumeration) {
  const auto network = LowerText(kChain, false);
  ASSERT_TRUE(network.ok());
  int cut = 0;
  for (const int64_t dsp : {12, 18, 30}) {
    for (const int64_t lut : {1500, 3000}) {
      for (const int64_t reload : {0, 11, 100}) {
        for (const int memory : {3, 64}) {
          Config config = Device(dsp, lut);
          config.passes = 3;
          config.reload_cycles = reload;
          config.memory_bits = memory;
          const auto problem = ProblemOf(*network, config, 0);
          ASSERT_TRUE(problem.ok());
          int64_t best = std::numeric_limits<int64_t>::max();
          ForEachFold(*problem, [&](const auto& candidates, const auto& cycles) {
            for (const std::vector<int>& parts : kCuts) {
              if (!PartsFit(candidates, parts, LimitsOf(config))) continue;
              int64_t sum = reload * parts[2];
              bool couples = true;
              for (int part = 0; part <= parts[2]; ++part) {
                int64_t slowest = 0, bits = 0;
                for (size_t i = 0; i < 3; ++i) {
                  if (parts[i] != part) continue;
                  slowest = std::max(slowest, cycles[i]);
                  if (i > 0 && parts[i - 1] != part) bits += kBits[i - 1];  // read
                  if (i < 2 && parts[i + 1] != part) bits += kBits[i];      // written
                  if (i > 0 && parts[i - 1] == part)
                    couples = couples && Couples(Coupling::kTwoWay, candidates[i - 1].out_lanes,
                                                 candidates[i].in_lanes);
                }
                sum += std::max(slowest, (bits + memory - 1) / memory);
              }
              if (couples) best = std::min(best, sum);
            }
          });
          const auto folded = FoldNetwork(*network, config);
          const std::string what =
              fmt::format("{} DSP, {} LUT, reload {}, {} bits", dsp, lut, reload, memory);
          ASSERT_EQ(folded.ok(), best < std::numeric_limits<int64_t>::max()) << what;
          if (!folded.ok()) continue;
          EXPECT_EQ(folded->interval, best) << what;
          cut += folded->parts[0] != folded->parts[2] ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(cut, 3);
}

}  // namespace
}  // namespace kiln::dataflow
