// Which operations stand in which stages: stage i of a pass runs in stage i of the machine, and not every stage has the
// function tables and a divider (Config::vector_function_stages, vector_divide_stages).
#ifndef KILN_TARGETS_SYSTOLIC_STAGES_H_
#define KILN_TARGETS_SYSTOLIC_STAGES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/targets/systolic/config.h"
#include "kiln/targets/systolic/isa.h"

namespace kiln::systolic {

// Whether stage `place`, from 0, is there and has what the operation needs.
bool HasStageFor(StageOp op, int place, const Config& config);

// The stages, in their order, each in the first place that is left and has what it needs. Places between them pass the
// value on (v * 1). `first`: places that stages before them take, which the result does not hold. nullopt where the
// places do not suffice.
std::optional<std::vector<Stage>> PlaceStages(std::span<const Stage> stages, const Config& config,
                                              int first = 0);

// "functions stand in stages 0, 4 of 12, dividers in no stage".
std::string DescribeStages(const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_STAGES_H_
