// The cost of computing a convolution block by block, and the best block sizes.
//
// A layer with M input channels, N outputs and a k x k kernel on W x H pixels is computed in blocks
// of w x h input pixels by c input channels. A block gives (w-k+1) x (h-k+1) output pixels of
// partial sums, so there are ceil(W/(w-k+1)) ceil(H/(h-k+1)) blocks and ceil(M/c) rounds of partial
// sums:
//   inputs    C1 = W H M B_a P_r                                  each input is read once
//   weights   C2 = blocks * M N k^2 B_w P_r                       all weights for every block
//   partial   C3 = rounds * N W H B_p (P_r + P_w)                 sums go out and back every round
// with bits B_a, B_w, B_p of an activation, a weight and a partial sum, and prices P_r, P_w of a
// bit read and written.
#ifndef KILN_TARGETS_BINARY_BLOCK_BLOCK_COST_H_
#define KILN_TARGETS_BINARY_BLOCK_BLOCK_COST_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::binary {

struct BlockLayer {
  int64_t inputs = 1, outputs = 1;  // channels M and N
  int64_t width = 1, height = 1;    // W and H, of inputs and outputs (same padding)
  int64_t kernel = 3;
  int64_t activation_bits = 8, weight_bits = 1, partial_bits = 16;
};

// Prices of a bit, in any integer unit such as femtojoules.
struct BlockPrices {
  int64_t read = 1;
  int64_t write = 1;
};

// Sizes w, h >= k and c >= 1.
struct Block {
  int64_t width = 0, height = 0, channels = 0;
  bool operator==(const Block&) const = default;
};

struct BlockCost {
  int64_t inputs = 0, weights = 0, partial = 0;  // C1, C2, C3
  int64_t total() const { return inputs + weights + partial; }
};
// Returns the three costs of a block size, in the unit of the prices.
BlockCost CostOfBlock(const BlockLayer& layer, const BlockPrices& prices, const Block& block);

// What a block takes on the chip.
struct BlockNeeds {
  int64_t sram_bits = 0;  // the block's inputs, and weights and partial sums of one output channel
  int64_t products = 0;   // weights times activations of one output channel: what the processing
                          // elements of the layer multiply at once
};
// Returns what one block takes on the chip.
BlockNeeds NeedsOfBlock(const BlockLayer& layer, const Block& block);

struct BlockLimits {
  int64_t sram_bits = 0;                // of all layers together
  std::vector<int64_t> layer_products;  // of each layer; empty: no limit
  int64_t shared_products = 0;          // of all layers together; 0: no limit
};

struct BlockPlan {
  std::vector<Block> blocks;  // of each layer
  int64_t cost = 0;           // the sum of their costs: the least of all block sizes
  BlockNeeds needs;           // of all layers together
  // The certificate: how many block sizes there are per layer, multiplied over the layers, how many
  // the search had to look at (see BestBlocks), and how many joined plans.
  double covered = 0;
  int64_t candidates = 0;
  int64_t joined = 0;
};

// Returns the blocks with the least cost of a chain of layers whose blocks share the limits; among
// equals, those with the least SRAM, then with the fewest products. The result is the optimum over
// all integer sizes k <= w <= W+k-1, k <= h <= H+k-1, 1 <= c <= M: only the smallest size of each
// number of blocks and rounds can be better than another, because a larger one costs as much and
// needs more; and a layer's candidate that is no better in cost, SRAM and products than another one
// cannot be in a better plan. Errors: no layers or more than kMaxChain; sizes out of range; no
// blocks within the limits.
inline constexpr int64_t kMaxChain = 8;
StatusOr<BlockPlan> BestBlocks(std::span<const BlockLayer> layers, const BlockPrices& prices,
                               const BlockLimits& limits);

// Returns for which ratios r = B_p (P_r + P_w) / (B_w P_r), the price of a partial sum against a
// weight, a block is the best within a limit of products. low > high: for none.
struct RatioRange {
  double low = 0, high = 0;
};
RatioRange RatiosFor(const BlockLayer& layer, const Block& block, int64_t products);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_BLOCK_BLOCK_COST_H_
