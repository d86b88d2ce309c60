// The exact mapper.

#include "kiln/targets/cgra/map/exact.h"

#include <utility>

#include "kiln/targets/cgra/map/branch.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/proof.h"

namespace kiln::cgra {
namespace {

class ExactMapper : public Mapper {
 public:
  explicit ExactMapper(MakeSearchOrder make_order) : make_order_(std::move(make_order)) {}

  StatusOr<MapResult> Map(const ComputationGraph& graph, const Config& config,
                          const MapOptions& options) const override {
    return MapWithProof(graph, config, options,
                        {.make = MakeBranchSearchInOrder(make_order_), .start = MakeGreedyMapper});
  }

 private:
  MakeSearchOrder make_order_;
};

}  // namespace

std::unique_ptr<Mapper> MakeExactMapper() { return std::make_unique<ExactMapper>(nullptr); }

std::unique_ptr<Mapper> MakeExactMapperInOrder(MakeSearchOrder make_order) {
  return std::make_unique<ExactMapper>(std::move(make_order));
}

}  // namespace kiln::cgra
