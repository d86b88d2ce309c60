// Block costs by hand from the formulas of the reference (spec.md, 2.5), and the best blocks
// against a brute force over all integer sizes.
#include "kiln/targets/binary/block/block_cost.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln::binary {
namespace {

using ::testing::HasSubstr;

// W = H = 8, M = 6, N = 5, k = 3; blocks of 6 x 4 x 4 give 4 x 2 pixels: 2 * 4 blocks, 2 rounds.
TEST(BlockCost, ByHand) {
  const BlockLayer layer{6, 5, 8, 8, 3, 8, 1, 16};
  const BlockCost cost = CostOfBlock(layer, {3, 4}, {6, 4, 4});
  EXPECT_EQ(cost.inputs, 8 * 8 * 6 * 8 * 3);
  EXPECT_EQ(cost.weights, 8 * 6 * 5 * 9 * 1 * 3);
  EXPECT_EQ(cost.partial, 2 * 5 * 8 * 8 * 16 * (3 + 4));
  EXPECT_EQ(cost.total(), cost.inputs + cost.weights + cost.partial);
  const BlockNeeds needs = NeedsOfBlock(layer, {6, 4, 4});
  EXPECT_EQ(needs.products, 8 * 4 * 9);
  EXPECT_EQ(needs.sram_bits, 6 * 4 * 4 * 8 + 4 * 9 + 8 * 16);
  // Sizes that do not divide round up: 3 x 3 pixels of 8 x 8 take 3 x 3 blocks.
  EXPECT_EQ(CostOfBlock(layer, {1, 1}, {5, 5, 6}).weights, 9 * 6 * 5 * 9);
}

// spec.md, 3: a PE has 27 weights per cycle and half, and the layers have 128, 32 and 16 PEs; the
// paper's blocks 6x4x48, 4x4x24 and 4x4x12 use all of them.
TEST(BlockCost, PaperBlocksFillTheProcessingElements) {
  EXPECT_EQ(NeedsOfBlock({144, 72, 64, 64, 3, 8, 1, 16}, {6, 4, 48}).products, 27 * 128);
  EXPECT_EQ(NeedsOfBlock({72, 36, 64, 64, 3, 8, 1, 16}, {4, 4, 24}).products, 27 * 32);
  EXPECT_EQ(NeedsOfBlock({36, 36, 64, 64, 3, 8, 1, 16}, {4, 4, 12}).products, 27 * 16);
}

// Sums of 16 bits and equal prices (r = 32) make all three blocks of the paper the best within
// their processing elements, by brute force.
TEST(BestBlocks, PaperBlocksAreTheBestForSumsOf16Bits) {
  struct Row {
    BlockLayer layer;
    Block block;
    int64_t products;
  };
  for (const Row& row : {Row{{144, 72, 64, 64, 3, 8, 1, 16}, {6, 4, 48}, 27 * 128},
                         Row{{72, 36, 64, 64, 3, 8, 1, 16}, {4, 4, 24}, 27 * 32},
                         Row{{36, 36, 64, 64, 3, 8, 1, 16}, {4, 4, 12}, 27 * 16}}) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int64_t w = 3; w <= 66; ++w) {
      for (int64_t h = 3; h <= 66; ++h) {
        // The most channels that fit; fewer never cost less.
        const int64_t c = std::min(row.layer.inputs, row.products / ((w - 2) * (h - 2) * 9));
        if (c < 1) continue;
        const int64_t blocks = ((64 + w - 3) / (w - 2)) * ((64 + h - 3) / (h - 2));
        const int64_t rounds = (row.layer.inputs + c - 1) / c;
        least = std::min(least, blocks * row.layer.inputs * row.layer.outputs * 9 +
                                    rounds * row.layer.outputs * 64 * 64 * 16 * 2);
      }
    }
    const BlockCost cost = CostOfBlock(row.layer, {1, 1}, row.block);
    EXPECT_EQ(cost.weights + cost.partial, least);
    const RatioRange range = RatiosFor(row.layer, row.block, row.products);
    EXPECT_LE(range.low, 32);
    EXPECT_GE(range.high, 32);
  }
}

// Calls visit(block) for all integer sizes.
template <typename Visit>
void ForAllBlocks(const BlockLayer& layer, const Visit& visit) {
  for (int64_t w = layer.kernel; w <= layer.width + layer.kernel - 1; ++w) {
    for (int64_t h = layer.kernel; h <= layer.height + layer.kernel - 1; ++h) {
      for (int64_t c = 1; c <= layer.inputs; ++c) visit(Block{w, h, c});
    }
  }
}

struct Cell {
  int64_t cost, sram, products;
};

// Cost and needs by plain loops: blocks and rounds are counted, not divided.
Cell PlainCell(const BlockLayer& l, const BlockPrices& prices, const Block& b) {
  int64_t blocks = 0, rounds = 0;
  for (int64_t y = 0; y < l.height; y += b.height - l.kernel + 1) {
    for (int64_t x = 0; x < l.width; x += b.width - l.kernel + 1) ++blocks;
  }
  for (int64_t c = 0; c < l.inputs; c += b.channels) ++rounds;
  const int64_t taps = l.kernel * l.kernel, pixels = l.width * l.height;
  const int64_t points = (b.width - l.kernel + 1) * (b.height - l.kernel + 1);
  return {pixels * l.inputs * l.activation_bits * prices.read +
              blocks * l.inputs * l.outputs * taps * l.weight_bits * prices.read +
              rounds * pixels * l.outputs * l.partial_bits * (prices.read + prices.write),
          b.width * b.height * b.channels * l.activation_bits + b.channels * taps * l.weight_bits +
              points * l.partial_bits,
          points * b.channels * taps};
}

BlockLayer RandomLayer(Random& random, int64_t most) {
  return {random.Between(1, most), random.Between(1, 9), random.Between(1, most),
          random.Between(1, most), random.Between(1, 3), random.Between(1, 8),
          random.Between(1, 8),    random.Between(1, 16)};
}

TEST(BestBlocks, EqualBruteForceForOneLayer) {
  int64_t found = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    Random random(seed);
    const BlockLayer layer = RandomLayer(random, 14);
    const BlockPrices prices{random.Between(1, 5), random.Between(1, 5)};
    BlockLimits limits;
    limits.sram_bits = random.Between(20, 6000);
    if (seed % 2 == 0) limits.layer_products = {random.Between(1, 900)};
    if (seed % 3 == 0) limits.shared_products = random.Between(1, 900);
    int64_t least = std::numeric_limits<int64_t>::max(), least_sram = least, count = 0;
    ForAllBlocks(layer, [&](const Block& block) {
      const Cell cell = PlainCell(layer, prices, block);
      ++count;
      if (cell.sram > limits.sram_bits) return;
      if (seed % 2 == 0 && cell.products > limits.layer_products[0]) return;
      if (seed % 3 == 0 && cell.products > limits.shared_products) return;
      if (std::pair(cell.cost, cell.sram) < std::pair(least, least_sram)) {
        least = cell.cost;
        least_sram = cell.sram;
      }
    });
    const auto plan = BestBlocks(std::vector{layer}, prices, limits);
    if (least == std::numeric_limits<int64_t>::max()) {
      EXPECT_THAT(MessageOf(plan.status()), HasSubstr("layer 0: no block fits the limits"));
      continue;
    }
    ++found;
    ASSERT_TRUE(plan.ok()) << MessageOf(plan.status());
    EXPECT_EQ(plan->cost, least);
    EXPECT_EQ(plan->needs.sram_bits, least_sram);
    EXPECT_EQ(plan->covered, static_cast<double>(count));
    EXPECT_LE(plan->candidates, count);
    const Cell cell = PlainCell(layer, prices, plan->blocks[0]);
    EXPECT_EQ(cell.cost, plan->cost);
    EXPECT_EQ(cell.sram, plan->needs.sram_bits);
    EXPECT_EQ(cell.products, plan->needs.products);
  }
  EXPECT_GT(found, 75);
}

// Chains share SRAM and products: all combinations of all blocks.
TEST(BestBlocks, EqualBruteForceForChains) {
  int64_t found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed + 1000);
    const BlockPrices prices{random.Between(1, 5), random.Between(1, 5)};
    const size_t count = seed % 2 == 0 ? 2 : 3;
    const int64_t most = count == 2 ? 7 : 4;
    std::vector<BlockLayer> layers;
    std::vector<std::vector<Cell>> cells;
    for (size_t i = 0; i < count; ++i) {
      layers.push_back(RandomLayer(random, most));
      cells.emplace_back();
      ForAllBlocks(layers[i], [&](const Block& block) {
        cells[i].push_back(PlainCell(layers[i], prices, block));
      });
    }
    if (count == 2) cells.push_back({{0, 0, 0}});
    BlockLimits limits;
    limits.sram_bits = random.Between(100, 3000);
    limits.shared_products = random.Between(10, 400);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const Cell& a : cells[0]) {
      for (const Cell& b : cells[1]) {
        if (a.sram + b.sram > limits.sram_bits) continue;
        for (const Cell& c : cells[2]) {
          if (a.sram + b.sram + c.sram > limits.sram_bits ||
              a.products + b.products + c.products > limits.shared_products) {
            continue;
          }
          least = std::min(least, a.cost + b.cost + c.cost);
        }
      }
    }
    const auto plan = BestBlocks(layers, prices, limits);
    if (least == std::numeric_limits<int64_t>::max()) {
      EXPECT_FALSE(plan.ok());
      continue;
    }
    ++found;
    ASSERT_TRUE(plan.ok()) << MessageOf(plan.status());
    EXPECT_EQ(plan->cost, least);
    Cell sum{0, 0, 0};
    for (size_t i = 0; i < count; ++i) {
      const Cell cell = PlainCell(layers[i], prices, plan->blocks[i]);
      sum = {sum.cost + cell.cost, sum.sram + cell.sram, sum.products + cell.products};
    }
    EXPECT_EQ(sum.cost, plan->cost);
    EXPECT_LE(sum.sram, limits.sram_bits);
    EXPECT_LE(sum.products, limits.shared_products);
  }
  EXPECT_GT(found, 20);
}

// Within the range a block is the best by brute force, and outside it another one is better.
TEST(RatiosFor, SayWhenABlockIsTheBest) {
  const BlockLayer layer{12, 4, 16, 16, 3, 8, 1, 1};
  int64_t best_somewhere = 0;
  for (const Block block : {Block{6, 4, 4}, Block{3, 3, 12}, Block{4, 4, 6}, Block{10, 6, 1}}) {
    const int64_t products = NeedsOfBlock(layer, block).products;
    const RatioRange range = RatiosFor(layer, block, products);
    // Prices 1 and w, and partial sums of p bits: ratio p (1 + w).
    for (int64_t partial = 1; partial <= 16; ++partial) {
      for (int64_t write : {1, 2, 4, 9}) {
        BlockLayer priced = layer;
        priced.partial_bits = partial;
        int64_t least = std::numeric_limits<int64_t>::max();
        ForAllBlocks(priced, [&](const Block& other) {
          const Cell cell = PlainCell(priced, {1, write}, other);
          if (cell.products <= products) least = std::min(least, cell.cost);
        });
        const auto ratio = static_cast<double>(partial * (1 + write));
        const bool best = PlainCell(priced, {1, write}, block).cost == least;
        EXPECT_EQ(best, range.low <= ratio && ratio <= range.high) << ratio;
        best_somewhere += best ? 1 : 0;
      }
    }
  }
  EXPECT_GT(best_somewhere, 0);
}

TEST(BestBlocks, RejectsWhatIsOutOfRange) {
  const auto message = [](const std::vector<BlockLayer>& layers, const BlockLimits& limits) {
    return MessageOf(BestBlocks(layers, {1, 1}, limits).status());
  };
  EXPECT_EQ(message({}, {1000, {}, 0}), "layers: 0 layers; give 1 to 8");
  EXPECT_EQ(message({BlockLayer{.inputs = 0}}, {1000, {}, 0}),
            "layer 0: key 'inputs': 0 is out of range; use 1 to 65536");
  EXPECT_EQ(message({BlockLayer{}}, {1000, {1, 2}, 0}),
            "key 'layer_products': 2 limits; give one for each of 1 layers, or none");
  const int64_t most = 1 << 16;
  EXPECT_THAT(message({BlockLayer{most, most, most, most, 3, 8, 8, 8}}, {1000, {}, 0}),
              HasSubstr("do not fit 64 bits"));
}

}  // namespace
}  // namespace kiln::binary
