// Traffic and on-chip store of a chain of convolutions computed in three ways.
//
//   layer by layer   every layer reads its inputs from the external memory and writes its outputs
//   fused tiles      a tile of the last layer's outputs is computed through all layers; each layer
//                    above needs a larger tile (a pyramid), so neighbouring tiles read and compute
//                    pixels twice
//   row pipeline     all layers run at once, each a few rows behind the one before it; rows stay on
//                    chip until the last window that needs them
//
// All layers have stride 1 and padding that keeps the size. Kernels are odd.
#ifndef KILN_TARGETS_BINARY_BLOCK_CHAIN_TRAFFIC_H_
#define KILN_TARGETS_BINARY_BLOCK_CHAIN_TRAFFIC_H_

#include <cstdint>
#include <vector>

#include "kiln/support/status.h"

namespace kiln::binary {

struct ChainLayer {
  int64_t outputs = 1;  // channels
  int64_t kernel = 3;
};

struct Chain {
  int64_t width = 1, height = 1, inputs = 1;
  int64_t activation_bits = 8, weight_bits = 1;
  std::vector<ChainLayer> layers;
  // The outputs of all layers are joined, and the chain's inputs are added to them: the residual
  // module of the hourglass network. Otherwise only the last layer's outputs leave the chain.
  bool residual = false;

  // Returns the input channels of a layer.
  int64_t InputsOf(size_t layer) const;
  // Returns the channels that leave the chain.
  int64_t OutputChannels() const;
  int64_t WeightBitsOf(size_t layer) const;
};
// Errors: no layers, sizes below 1 or above 65536, an even kernel, and a residual chain whose
// joined outputs are not as many as its inputs.
Status CheckChain(const Chain& chain);

struct ChainTraffic {
  int64_t read_bits = 0, write_bits = 0;  // external memory, weights included
  int64_t row_bits = 0;                   // on-chip store of activations: rows or tiles ...
  int64_t skip_bits = 0;                  // ... inputs that wait to be added ...
  int64_t weight_bits = 0;                // ... and weights
  int64_t products = 0;                   // weights times activations
  int64_t accesses = 0;  // activations that windows read from the on-chip store, and
                         // sums written to it
  int64_t external_bits() const { return read_bits + write_bits; }
  int64_t store_bits() const { return row_bits + skip_bits + weight_bits; }
};

// The largest layer's k rows of inputs and its weights are on the chip; each layer reads inputs and
// weights once. A residual chain has a last pass that reads the joined outputs and the inputs, and
// writes their sum.
ChainTraffic TrafficLayerByLayer(const Chain& chain);

// Tiles of `tile_width` x `tile_height` outputs. The store holds the largest tile of each layer's
// inputs and all weights; inputs that are added wait in the first of these tiles. Products count
// pixels as often as tiles compute them.
ChainTraffic TrafficOfTiles(const Chain& chain, int64_t tile_width, int64_t tile_height);

// The store holds k + `extra_half_rows` / 2 rows of each layer's inputs, all weights, and for a
// residual chain as many rows of inputs as the last layer lags behind, the sum of (k-1)/2.
ChainTraffic TrafficOfRows(const Chain& chain, int64_t extra_half_rows = 0);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_BLOCK_CHAIN_TRAFFIC_H_
