// Code generation: turns layers (layers.h) into the instructions and the memory of a program
// (program.h).
#ifndef KILN_TARGETS_VTA_COMPILE_CODEGEN_H_
#define KILN_TARGETS_VTA_COMPILE_CODEGEN_H_

#include <memory>

#include "kiln/targets/vta/compile/layers.h"
#include "kiln/targets/vta/compile/program.h"
#include "kiln/targets/vta/compile/schedule.h"
#include "kiln/targets/vta/isa/emitter.h"

namespace kiln::vta {

class TilingMemo;

// What the generation of one layer's code reads of the network, and the memory that it writes to.
struct CodeContext {
  const Config& config;
  const Network& network;
  const std::vector<uint64_t>& map_addresses;
  MemoryImage* image;

  const FeatureMap& map(int index) const { return network.maps[static_cast<size_t>(index)]; }
  // Returns the byte address of an element of a map.
  uint64_t AddressOf(int index, int64_t block, int64_t y, int64_t x, int64_t plane = 0) const {
    const int64_t element = map(index).ElementAt(block, y, x, config, plane);
    return map_addresses[static_cast<size_t>(index)] +
           static_cast<uint64_t>(element * config.output_element_bytes());
  }
};

// Generates a layer's launch. Errors: Unimplemented if the tiling does not fit on chip or needs
// more micro-ops than the buffer holds.
StatusOr<Launch> GenerateMatrix(const MatrixLayer& layer, const MatrixTiling& tiling,
                                const CodeContext& context);
// Generates a layer's launch with one or two virtual threads. Uses one if registers and constants
// leave no room for two, or if the result consists of 32-bit sums. Errors: Unimplemented if the
// layer does not fit in the accumulators.
StatusOr<Launch> GenerateVector(const VectorLayer& layer, int threads, const CodeContext& context);
// Returns the certificate of a vector layer that takes `cycles` cycles. Its bound is the greatest
// of the ALU steps (one cycle each) and the cycles for which the elements read and the elements
// written occupy the memory port.
Certificate CertificateOf(const VectorLayer& layer, const CodeContext& context, int64_t cycles);

// Generates the whole network. `threads` is the number of virtual threads of every layer, fewer if
// a layer does not allow that many; 0 selects whichever is fastest. `tilings` may hold tilings of
// earlier networks, and receives those of this network's layers. Errors: Unimplemented, with the
// layer's name, if a layer does not fit in the buffers; its node is then added to `refusals`.
StatusOr<std::unique_ptr<VtaProgram>> Generate(Network network, const Config& config, int threads,
                                               TilingMemo* tilings, Refusals* refusals);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_COMPILE_CODEGEN_H_
