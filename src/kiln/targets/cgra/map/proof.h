// The mappers that prove their results: least initiation interval, then least latency, over all
// choices of fusions, by a decider.
//
// The search is anytime. A heuristic mapper may give a first mapping; else one is looked for with
// little effort at rising intervals. Then lower intervals are solved or refuted, from the bound
// upwards, and the latency is closed from both sides: by refuting the least latency that is left,
// and by improving on the best. Efforts grow from round to round. When the limits of MapOptions end
// the search, the bounds that were reached are returned with the best mapping.
#ifndef KILN_TARGETS_CGRA_MAP_PROOF_H_
#define KILN_TARGETS_CGRA_MAP_PROOF_H_

#include "kiln/targets/cgra/map/decide.h"
#include "kiln/targets/cgra/map/mapper.h"

namespace kiln::cgra {

struct ProofOptions {
  MakeDecider make;
  // Makes the mapper whose result is the first mapping. May be null.
  std::unique_ptr<Mapper> (*start)() = nullptr;
  int64_t first_effort = 1000;  // steps of a decider in the first round
  // Whether to look for what additional pass-throughs gain where a bound leaves room for a gain.
  bool passes = true;
  bool explain = true;  // whether interval_why names the core of a refutation (core.h)
};

// Maps with proof. Errors: the errors of BuildProblem; an asked interval that is not from 1 to
// MostInterval, or no multiple of Config::tile_period.
StatusOr<MapResult> MapWithProof(const ComputationGraph& graph, const Config& config,
                                 const MapOptions& options, const ProofOptions& proof);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_MAP_PROOF_H_
