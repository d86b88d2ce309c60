// Enumerates block sizes of the layers of a chain and keeps the plans that no other dominates.
#include "kiln/targets/binary/block/block_cost.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "kiln/support/integer.h"
#include "kiln/support/stable_sort.h"

namespace kiln::binary {
namespace {

constexpr double kMaxCost = 1e18;  // costs must fit 64 bits

// A plan of the first layers.
struct Partial {
  int64_t cost = 0;
  BlockNeeds needs;
  std::vector<Block> blocks;

  auto Key() const { return std::tuple(cost, needs.sram_bits, needs.products); }
};

int64_t BlocksOf(const BlockLayer& layer, const Block& block) {
  return CeilDivide(layer.width, block.width - layer.kernel + 1) *
         CeilDivide(layer.height, block.height - layer.kernel + 1);
}

// Returns the least size of each value of ceil(total / size), ascending.
std::vector<int64_t> LeastSizes(int64_t total) {
  std::vector<int64_t> sizes;
  for (int64_t parts = total; parts >= 1; --parts) {
    const int64_t size = CeilDivide(total, parts);
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  return sizes;
}

std::vector<Block> Candidates(const BlockLayer& layer) {
  std::vector<Block> blocks;
  for (int64_t width : LeastSizes(layer.width)) {
    for (int64_t height : LeastSizes(layer.height)) {
      for (int64_t channels : LeastSizes(layer.inputs)) {
        blocks.push_back({width + layer.kernel - 1, height + layer.kernel - 1, channels});
      }
    }
  }
  return blocks;
}

// Leaves only plans that no other one equals or betters in cost, SRAM and products. Plans are
// visited by ascending cost, so each needs less SRAM or fewer products than all before it: `front`
// maps the SRAM of visited plans to their products, and more SRAM always means fewer products
// there.
void LeaveBest(std::vector<Partial>& plans) {
  StableSort(&plans, [](const Partial& a, const Partial& b) { return a.Key() < b.Key(); });
  std::map<int64_t, int64_t> front;
  std::vector<Partial> left;
  for (Partial& plan : plans) {
    const auto [sram, products] = std::pair(plan.needs.sram_bits, plan.needs.products);
    auto after = front.upper_bound(sram);
    if (after != front.begin() && std::prev(after)->second <= products) continue;
    auto from = front.lower_bound(sram);
    while (from != front.end() && from->second >= products) from = front.erase(from);
    front.emplace(sram, products);
    left.push_back(std::move(plan));
  }
  plans = std::move(left);
}

Status CheckLayer(const BlockLayer& layer, const BlockPrices& prices, size_t index) {
  const std::pair<const char*, int64_t> sizes[] = {{"inputs", layer.inputs},
                                                   {"outputs", layer.outputs},
                                                   {"width", layer.width},
                                                   {"height", layer.height},
                                                   {"kernel", layer.kernel},
                                                   {"activation_bits", layer.activation_bits},
                                                   {"weight_bits", layer.weight_bits},
                                                   {"partial_bits", layer.partial_bits},
                                                   {"read", prices.read},
                                                   {"write", prices.write}};
  for (const auto& [key, size] : sizes) {
    if (size >= 1 && size <= 1 << 16) continue;
    return ErrorAt("", fmt::format("layer {}: key '{}'", index, key),
                   fmt::format("{} is out of range", size), "use 1 to 65536");
  }
  // The dearest block: one output pixel of one channel.
  const auto real = [](int64_t value) { return static_cast<double>(value); };
  const double pixels = real(layer.width) * real(layer.height) * real(layer.inputs);
  const double kernel = real(layer.kernel) * real(layer.kernel);
  const double most =
      pixels * real(prices.read) *
          (real(layer.activation_bits) + real(layer.outputs) * kernel * real(layer.weight_bits)) +
      pixels * real(layer.outputs) * real(layer.partial_bits) * real(prices.read + prices.write);
  if (most > kMaxCost) {
    return ErrorAt("", fmt::format("layer {}", index),
                   fmt::format("costs of up to {:.2g} do not fit 64 bits", most),
                   "use smaller prices");
  }
  return OkStatus();
}

// The layer's candidates within the limits.
std::vector<Partial> LayerPlans(const BlockLayer& layer, const BlockPrices& prices,
                                const BlockLimits& limits, size_t index, BlockPlan& result) {
  int64_t products = std::numeric_limits<int64_t>::max();
  if (!limits.layer_products.empty()) products = limits.layer_products[index];
  if (limits.shared_products > 0) products = std::min(products, limits.shared_products);
  std::vector<Partial> plans;
  for (const Block& block : Candidates(layer)) {
    ++result.candidates;
    const BlockNeeds needs = NeedsOfBlock(layer, block);
    if (needs.sram_bits > limits.sram_bits || needs.products > products) continue;
    plans.push_back({CostOfBlock(layer, prices, block).total(), needs, {block}});
  }
  LeaveBest(plans);
  return plans;
}

}  // namespace

BlockCost CostOfBlock(const BlockLayer& layer, const BlockPrices& prices, const Block& block) {
  const int64_t pixels = layer.width * layer.height;
  return {pixels * layer.inputs * layer.activation_bits * prices.read,
          BlocksOf(layer, block) * layer.inputs * layer.outputs * layer.kernel * layer.kernel *
              layer.weight_bits * prices.read,
          CeilDivide(layer.inputs, block.channels) * layer.outputs * pixels * layer.partial_bits *
              (prices.read + prices.write)};
}

BlockNeeds NeedsOfBlock(const BlockLayer& layer, const Block& block) {
  const int64_t taps = layer.kernel * layer.kernel;
  const int64_t points = (block.width - layer.kernel + 1) * (block.height - layer.kernel + 1);
  return {block.width * block.height * block.channels * layer.activation_bits +
              block.channels * taps * layer.weight_bits + points * layer.partial_bits,
          points * block.channels * taps};
}

StatusOr<BlockPlan> BestBlocks(std::span<const BlockLayer> layers, const BlockPrices& prices,
                               const BlockLimits& limits) {
  const int64_t count = std::ssize(layers);
  if (count < 1 || count > kMaxChain) {
    return ErrorAt("", "layers", fmt::format("{} layers", count),
                   fmt::format("give 1 to {}", kMaxChain));
  }
  if (!limits.layer_products.empty() && std::ssize(limits.layer_products) != count) {
    return ErrorAt("", "key 'layer_products'",
                   fmt::format("{} limits", limits.layer_products.size()),
                   fmt::format("give one for each of {} layers, or none", count));
  }
  BlockPlan result;
  result.covered = 1;
  std::vector<Partial> plans = {Partial{}};
  for (size_t i = 0; i < layers.size(); ++i) {
    const BlockLayer& layer = layers[i];
    KILN_RETURN_IF_ERROR(CheckLayer(layer, prices, i));
    result.covered *= static_cast<double>(layer.width) * static_cast<double>(layer.height) *
                      static_cast<double>(layer.inputs);
    const std::vector<Partial> of_layer = LayerPlans(layer, prices, limits, i, result);
    std::vector<Partial> joined;
    for (const Partial& before : plans) {
      for (const Partial& plan : of_layer) {
        ++result.joined;
        Partial both = before;
        both.cost += plan.cost;
        both.needs.sram_bits += plan.needs.sram_bits;
        both.needs.products += plan.needs.products;
        if (both.needs.sram_bits > limits.sram_bits) continue;
        if (limits.shared_products > 0 && both.needs.products > limits.shared_products) continue;
        both.blocks.push_back(plan.blocks.front());
        joined.push_back(std::move(both));
      }
    }
    LeaveBest(joined);
    plans = std::move(joined);
    if (plans.empty()) {
      return ErrorAt("", fmt::format("layer {}", i), "no block fits the limits",
                     "allow more SRAM or products");
    }
  }
  result.blocks = plans.front().blocks;
  result.cost = plans.front().cost;
  result.needs = plans.front().needs;
  return result;
}

RatioRange RatiosFor(const BlockLayer& layer, const Block& block, int64_t products) {
  // Costs without the common factor N B_w P_r are a line over the ratio: weights + rounds * ratio.
  const auto line = [&](const Block& b) {
    return std::pair(
        static_cast<double>(BlocksOf(layer, b) * layer.inputs * layer.kernel * layer.kernel),
        static_cast<double>(CeilDivide(layer.inputs, b.channels) * layer.width * layer.height));
  };
  RatioRange range{0, std::numeric_limits<double>::infinity()};
  const auto [weights, rounds] = line(block);
  for (const Block& other : Candidates(layer)) {
    if (NeedsOfBlock(layer, other).products > products) continue;
    const auto [other_weights, other_rounds] = line(other);
    if (other_rounds > rounds) {
      range.low = std::max(range.low, (weights - other_weights) / (other_rounds - rounds));
    } else if (other_rounds < rounds) {
      range.high = std::min(range.high, (other_weights - weights) / (rounds - other_rounds));
    } else if (other_weights < weights) {
      return {1, 0};
    }
  }
  return range;
}

}  // namespace kiln::binary
