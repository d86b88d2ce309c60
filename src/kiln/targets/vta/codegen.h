// From layers to instructions and memory.
#ifndef KILN_TARGETS_VTA_CODEGEN_H_
#define KILN_TARGETS_VTA_CODEGEN_H_

#include <memory>

#include "kiln/targets/vta/emitter.h"
#include "kiln/targets/vta/layers.h"
#include "kiln/targets/vta/program.h"
#include "kiln/targets/vta/schedule.h"

namespace kiln::vta {

class TilingMemo;

struct CodeContext {
  const Config& config;
  const Network& network;
  const std::vector<uint64_t>& map_addresses;
  MemoryImage* image;

  const FeatureMap& map(int index) const { return network.maps[static_cast<size_t>(index)]; }
  // Byte address of an element of a map.
  uint64_t AddressOf(int index, int64_t block, int64_t y, int64_t x, int64_t plane = 0) const {
    const int64_t element = map(index).ElementAt(block, y, x, config, plane);
    return map_addresses[static_cast<size_t>(index)] +
           static_cast<uint64_t>(element * config.output_element_bytes());
  }
};

// A layer as one launch. Unimplemented: more micro-ops than the buffer holds.
StatusOr<Launch> GenerateMatrix(const MatrixLayer& layer, const MatrixTiling& tiling,
                                const CodeContext& context);
// With one or two virtual threads; one where registers and constants leave no room for two, or sums of 32 bits leave.
StatusOr<Launch> GenerateVector(const VectorLayer& layer, int threads, const CodeContext& context);
// Of a vector layer that takes so many cycles. No launch takes less than a cycle an ALU step, or than every element
// that it reads and every one that it writes keeps the memory port.
Certificate CertificateOf(const VectorLayer& layer, const CodeContext& context, int64_t cycles);

// The whole network. `threads`: virtual threads of every layer, fewer where so many cannot be; 0: whichever is fastest.
// Unimplemented, naming the layer: one for which no tiling fits.
// Unimplemented where a layer has no place in the buffers: its node is then in `refusals`. `tilings` may have those of
// earlier networks, and gets those of this one's layers.
StatusOr<std::unique_ptr<VtaProgram>> Generate(Network network, const Config& config, int threads,
                                               TilingMemo* tilings, Refusals* refusals);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CODEGEN_H_
