// Counts the bits that a chain of convolutions moves, layer by layer.
#include "kiln/targets/binary/block/chain_traffic.h"

#include <algorithm>

#include <fmt/format.h>

namespace kiln::binary {
namespace {

// Products and accesses of a layer at `pixels` positions.
void AddWork(const Chain& chain, size_t layer, int64_t pixels, ChainTraffic& traffic) {
  const ChainLayer& l = chain.layers[layer];
  const int64_t window = chain.InputsOf(layer) * l.kernel * l.kernel;
  traffic.products += pixels * window * l.outputs;
  traffic.accesses += pixels * (window + l.outputs);
}

int64_t AllWeightBits(const Chain& chain) {
  int64_t bits = 0;
  for (size_t i = 0; i < chain.layers.size(); ++i) bits += chain.WeightBitsOf(i);
  return bits;
}

// Returns how many pixels of [begin - halo, end + halo) are in [0, size).
int64_t Clipped(int64_t begin, int64_t end, int64_t halo, int64_t size) {
  return std::min(size, end + halo) - std::max<int64_t>(0, begin - halo);
}

}  // namespace

int64_t Chain::InputsOf(size_t layer) const {
  return layer == 0 ? inputs : layers[layer - 1].outputs;
}

int64_t Chain::OutputChannels() const {
  if (!residual) return layers.back().outputs;
  int64_t channels = 0;
  for (const ChainLayer& layer : layers) channels += layer.outputs;
  return channels;
}

int64_t Chain::WeightBitsOf(size_t layer) const {
  const ChainLayer& l = layers[layer];
  return InputsOf(layer) * l.outputs * l.kernel * l.kernel * weight_bits;
}

Status CheckChain(const Chain& chain) {
  if (chain.layers.empty()) return ErrorAt("", "layers", "the chain has none", "give one or more");
  const auto check = [](const std::string& place, int64_t size) {
    if (size >= 1 && size <= 1 << 16) return OkStatus();
    return ErrorAt("", place, fmt::format("{} is out of range", size), "use 1 to 65536");
  };
  KILN_RETURN_IF_ERROR(check("key 'width'", chain.width));
  KILN_RETURN_IF_ERROR(check("key 'height'", chain.height));
  KILN_RETURN_IF_ERROR(check("key 'inputs'", chain.inputs));
  KILN_RETURN_IF_ERROR(check("key 'activation_bits'", chain.activation_bits));
  KILN_RETURN_IF_ERROR(check("key 'weight_bits'", chain.weight_bits));
  for (size_t i = 0; i < chain.layers.size(); ++i) {
    const ChainLayer& layer = chain.layers[i];
    KILN_RETURN_IF_ERROR(check(fmt::format("layer {}: key 'outputs'", i), layer.outputs));
    if (layer.kernel >= 1 && layer.kernel % 2 == 1 && layer.kernel < 1 << 8) continue;
    return ErrorAt("", fmt::format("layer {}: key 'kernel'", i),
                   fmt::format("{} is no odd number from 1 to 255", layer.kernel), "use 1 or 3");
  }
  if (chain.residual && chain.OutputChannels() != chain.inputs) {
    return ErrorAt("", "key 'residual'",
                   fmt::format("{} joined outputs do not match {} inputs", chain.OutputChannels(),
                               chain.inputs),
                   "use layers whose outputs sum to the inputs");
  }
  return OkStatus();
}

ChainTraffic TrafficLayerByLayer(const Chain& chain) {
  const int64_t pixels = chain.width * chain.height, plane = pixels * chain.activation_bits;
  ChainTraffic traffic;
  traffic.read_bits = AllWeightBits(chain);
  int64_t most = 0;
  for (size_t i = 0; i < chain.layers.size(); ++i) {
    const ChainLayer& layer = chain.layers[i];
    traffic.read_bits += plane * chain.InputsOf(i);
    traffic.write_bits += plane * layer.outputs;
    AddWork(chain, i, pixels, traffic);
    const int64_t rows = layer.kernel * chain.width * chain.InputsOf(i) * chain.activation_bits;
    if (rows + chain.WeightBitsOf(i) <= most) continue;
    most = rows + chain.WeightBitsOf(i);
    traffic.row_bits = rows;
    traffic.weight_bits = chain.WeightBitsOf(i);
  }
  if (chain.residual) {
    traffic.read_bits += 2 * plane * chain.inputs;
    traffic.write_bits += plane * chain.inputs;
  }
  return traffic;
}

ChainTraffic TrafficOfTiles(const Chain& chain, int64_t tile_width, int64_t tile_height) {
  const size_t count = chain.layers.size();
  // Pixels by which the inputs of a layer reach beyond the tile, and the largest tile of each.
  std::vector<int64_t> halo(count + 1, 0), largest(count, 0);
  for (size_t i = count; i > 0; --i) halo[i - 1] = halo[i] + (chain.layers[i - 1].kernel - 1) / 2;
  ChainTraffic traffic;
  traffic.weight_bits = AllWeightBits(chain);
  traffic.read_bits = traffic.weight_bits;
  for (int64_t y = 0; y < chain.height; y += tile_height) {
    const int64_t bottom = std::min(chain.height, y + tile_height);
    for (int64_t x = 0; x < chain.width; x += tile_width) {
      const int64_t right = std::min(chain.width, x + tile_width);
      const auto pixels = [&](size_t level) {
        return Clipped(y, bottom, halo[level], chain.height) *
               Clipped(x, right, halo[level], chain.width);
      };
      traffic.read_bits += pixels(0) * chain.inputs * chain.activation_bits;
      for (size_t i = 0; i < count; ++i) {
        largest[i] = std::max(largest[i], pixels(i) * chain.InputsOf(i) * chain.activation_bits);
        AddWork(chain, i, pixels(i + 1), traffic);
      }
    }
  }
  for (int64_t bits : largest) traffic.row_bits += bits;
  traffic.write_bits = chain.width * chain.height * chain.OutputChannels() * chain.activation_bits;
  return traffic;
}

ChainTraffic TrafficOfRows(const Chain& chain, int64_t extra_half_rows) {
  const int64_t pixels = chain.width * chain.height;
  ChainTraffic traffic;
  traffic.weight_bits = AllWeightBits(chain);
  traffic.read_bits = traffic.weight_bits + pixels * chain.inputs * chain.activation_bits;
  traffic.write_bits = pixels * chain.OutputChannels() * chain.activation_bits;
  int64_t lag = 0;
  for (size_t i = 0; i < chain.layers.size(); ++i) {
    const int64_t kernel = chain.layers[i].kernel;
    traffic.row_bits += (2 * kernel + extra_half_rows) * chain.width * chain.InputsOf(i) *
                        chain.activation_bits / 2;
    lag += (kernel - 1) / 2;
    AddWork(chain, i, pixels, traffic);
  }
  if (chain.residual) traffic.skip_bits = lag * chain.width * chain.inputs * chain.activation_bits;
  return traffic;
}

}  // namespace kiln::binary
