// The functional level: computes what each stage of a pipeline means on whole maps, image by image.
// Convolutions of codes of at most 8 bits run on the exact integer kernels of
// execute/int8_gemm.h.
#ifndef KILN_TARGETS_DATAFLOW_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
#define KILN_TARGETS_DATAFLOW_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kiln/execute/int8_gemm.h"
#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// A map's codes in NHWC order.
using MapCodes = std::vector<int64_t>;

// A pipeline prepared for the functional level. Several threads may run it at once.
class FunctionalPipeline {
 public:
  // Packs the weights. The pipeline must outlive this object and pass CheckPipeline.
  explicit FunctionalPipeline(const Pipeline& pipeline);

  // Runs one image: one map for each source, in order; returns one for each sink.
  std::vector<MapCodes> Run(std::span<const MapCodes> inputs) const;

 private:
  // A convolution whose codes fit in int8: weights of each group, packed.
  struct Packed {
    std::vector<PackedWeights> groups;
    int64_t offset = 0;  // codes are stored less this number: 128 for unsigned codes of 8 bits
    std::vector<int64_t> correction;  // per output channel: offset times the sum of its weights
  };

  static std::optional<Packed> Pack(const Pipeline& pipeline, const Stage& stage);
  std::vector<int64_t> SumsOf(size_t stage, const MapCodes& in) const;

  const Pipeline& pipeline_;
  std::vector<std::optional<Packed>> packed_;  // by stage
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_SIMULATE_FUNCTIONAL_FUNCTIONAL_H_
