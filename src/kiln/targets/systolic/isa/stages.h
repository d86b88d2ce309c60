// Assigns the operations of a vector pass to the machine's stages. Stage i of a pass runs in stage
// i of the machine, and not every stage has the function tables and a divider
// (Config::vector_function_stages, vector_divide_stages).
#ifndef KILN_TARGETS_SYSTOLIC_ISA_STAGES_H_
#define KILN_TARGETS_SYSTOLIC_ISA_STAGES_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/targets/systolic/config/config.h"
#include "kiln/targets/systolic/isa/isa.h"

namespace kiln::systolic {

// Returns whether the machine has stage `place` (from 0) and that stage supports the operation.
bool HasStageFor(StageOp op, int place, const Config& config);

// Returns the stages in order, each in the first remaining machine stage that supports its
// operation. Machine stages that are skipped pass the value on (v * 1). `first` is the number of
// machine stages that other operations occupy before these; the result does not include them.
// Returns nullopt if the machine has too few stages.
std::optional<std::vector<Stage>> PlaceStages(std::span<const Stage> stages, const Config& config,
                                              int first = 0);

// Returns text for messages: the numbers of the stages that compute functions, and of the stages
// that divide.
std::string DescribeStages(const Config& config);

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_ISA_STAGES_H_
