// Traffic of chains by hand for the hourglass module (figures of spec.md, 3), and of tiles against
// plain loops over pixels.
#include "kiln/targets/binary/block/chain_traffic.h"

#include <algorithm>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "kiln/support/random.h"

namespace kiln::binary {
namespace {

Chain HourglassModule() {
  Chain chain;
  chain.width = chain.height = 64;
  chain.inputs = 144;
  chain.layers = {{72, 3}, {36, 3}, {36, 3}};
  chain.residual = true;
  return chain;
}

constexpr int64_t kWeightBits = (144 * 72 + 72 * 36 + 36 * 36) * 9;  // 16.0 kB

// spec.md, 3: "3.5 rows at 64 wide = 32.3 + 16.1 + 8.1 kB, skip rows 3*9.2 = 27.6 kB, PRB weights
// 16.0 kB: 100 kB at width 64".
TEST(ChainTraffic, StoreOfRowsOfTheHourglassModule) {
  const ChainTraffic rows = TrafficOfRows(HourglassModule(), 1);
  EXPECT_EQ(rows.row_bits / 8, 32256 + 16128 + 8064);
  EXPECT_EQ(rows.skip_bits / 8, 27648);
  EXPECT_EQ(rows.weight_bits, kWeightBits);
  EXPECT_EQ(rows.store_bits() / 8, 32256 + 16128 + 8064 + 27648 + 16038);
  EXPECT_EQ(TrafficOfRows(HourglassModule()).row_bits / 8, (32256 + 16128 + 8064) / 7 * 6);
}

TEST(ChainTraffic, ExternalTrafficOfTheHourglassModule) {
  const int64_t plane = 64 * 64 * 8;
  const ChainTraffic layers = TrafficLayerByLayer(HourglassModule());
  // Layers read 144, 72 and 36 channels and write 72, 36 and 36; the sum reads 144 twice.
  EXPECT_EQ(layers.read_bits, plane * (144 + 72 + 36 + 144 + 144) + kWeightBits);
  EXPECT_EQ(layers.write_bits, plane * (72 + 36 + 36 + 144));
  EXPECT_EQ(layers.row_bits, 3 * 64 * 144 * 8);
  EXPECT_EQ(layers.weight_bits, 144 * 72 * 9);
  const ChainTraffic rows = TrafficOfRows(HourglassModule());
  EXPECT_EQ(rows.read_bits, plane * 144 + kWeightBits);
  EXPECT_EQ(rows.write_bits, plane * 144);
  EXPECT_EQ(rows.products, layers.products);
  EXPECT_EQ(rows.products, int64_t{64} * 64 * kWeightBits);
  EXPECT_EQ(rows.accesses, int64_t{64} * 64 * ((144 + 72 + 36) * 9 + 72 + 36 + 36));
}

// One tile as large as the image reads and computes nothing twice.
TEST(ChainTraffic, OneTileRepeatsNothing) {
  const ChainTraffic tile = TrafficOfTiles(HourglassModule(), 64, 64);
  const ChainTraffic rows = TrafficOfRows(HourglassModule());
  EXPECT_EQ(tile.external_bits(), rows.external_bits());
  EXPECT_EQ(tile.products, rows.products);
  EXPECT_EQ(tile.accesses, rows.accesses);
  EXPECT_EQ(tile.row_bits, 64 * 64 * (144 + 72 + 36) * 8);
}

using Pixels = std::set<std::pair<int64_t, int64_t>>;

// Pixels inside the image whose windows of size `kernel` around `pixels` need them.
Pixels Needed(const Pixels& pixels, int64_t kernel, const Chain& chain) {
  Pixels needed;
  const int64_t reach = kernel / 2;
  for (const auto& [y, x] : pixels) {
    for (int64_t dy = -reach; dy <= reach; ++dy) {
      for (int64_t dx = -reach; dx <= reach; ++dx) {
        if (y + dy < 0 || y + dy >= chain.height || x + dx < 0 || x + dx >= chain.width) continue;
        needed.emplace(y + dy, x + dx);
      }
    }
  }
  return needed;
}

TEST(ChainTraffic, TilesEqualPlainLoops) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    Chain chain;
    chain.width = random.Between(1, 13);
    chain.height = random.Between(1, 13);
    chain.activation_bits = random.Between(1, 8);
    for (int64_t i = random.Between(1, 3); i > 0; --i) {
      chain.layers.push_back({random.Between(1, 9), 2 * random.Between(0, 2) + 1});
      chain.inputs += chain.layers.back().outputs;
    }
    chain.residual = random.Below(2) == 0;
    if (chain.residual) chain.inputs -= 1;
    ASSERT_TRUE(CheckChain(chain).ok());
    const int64_t tile_width = random.Between(1, 8), tile_height = random.Between(1, 8);
    int64_t reads = 0, products = 0, accesses = 0;
    std::vector<int64_t> largest(chain.layers.size(), 0);
    for (int64_t top = 0; top < chain.height; top += tile_height) {
      for (int64_t left = 0; left < chain.width; left += tile_width) {
        Pixels pixels;
        for (int64_t y = top; y < std::min(chain.height, top + tile_height); ++y) {
          for (int64_t x = left; x < std::min(chain.width, left + tile_width); ++x) {
            pixels.emplace(y, x);
          }
        }
        for (size_t i = chain.layers.size(); i > 0; --i) {
          const ChainLayer& layer = chain.layers[i - 1];
          const int64_t inputs = i == 1 ? chain.inputs : chain.layers[i - 2].outputs;
          const int64_t window = inputs * layer.kernel * layer.kernel;
          products += std::ssize(pixels) * window * layer.outputs;
          accesses += std::ssize(pixels) * (window + layer.outputs);
          pixels = Needed(pixels, layer.kernel, chain);
          largest[i - 1] = std::max(largest[i - 1], std::ssize(pixels) * inputs);
        }
        reads += std::ssize(pixels) * chain.inputs;
      }
    }
    const ChainTraffic traffic = TrafficOfTiles(chain, tile_width, tile_height);
    EXPECT_EQ(traffic.read_bits - traffic.weight_bits, reads * chain.activation_bits);
    EXPECT_EQ(traffic.products, products);
    EXPECT_EQ(traffic.accesses, accesses);
    int64_t store = 0;
    for (int64_t values : largest) store += values * chain.activation_bits;
    EXPECT_EQ(traffic.row_bits, store);
  }
}

TEST(ChainTraffic, RejectsWhatIsOutOfRange) {
  Chain chain = HourglassModule();
  EXPECT_TRUE(CheckChain(chain).ok());
  chain.layers[1].kernel = 2;
  EXPECT_EQ(MessageOf(CheckChain(chain)),
            "layer 1: key 'kernel': 2 is no odd number from 1 to 255; use 1 or 3");
  chain = HourglassModule();
  chain.inputs = 100;
  EXPECT_EQ(MessageOf(CheckChain(chain)),
            "key 'residual': 144 joined outputs do not match 100 inputs; use layers whose outputs "
            "sum to the inputs");
  chain.width = 0;
  EXPECT_EQ(MessageOf(CheckChain(chain)), "key 'width': 0 is out of range; use 1 to 65536");
  EXPECT_EQ(MessageOf(CheckChain({})), "layers: the chain has none; give one or more");
}

}  // namespace
}  // namespace kiln::binary
