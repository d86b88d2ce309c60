// The exact mapper.

#include "kiln/targets/cgra/map/exact.h"

#include "kiln/targets/cgra/map/branch.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/proof.h"

namespace kiln::cgra {
namespace {

class ExactMapper : public Mapper {
 public:
  StatusOr<MapResult> Map(const ComputationGraph& graph, const Config& config,
                          const MapOptions& options) const override {
    return MapWithProof(graph, config, options,
                        {.make = MakeBranchSearch, .start = MakeGreedyMapper});
  }
};

}  // namespace

std::unique_ptr<Mapper> MakeExactMapper() { return std::make_unique<ExactMapper>(); }

}  // namespace kiln::cgra
