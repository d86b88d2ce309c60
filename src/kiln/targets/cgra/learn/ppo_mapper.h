// Episodes that a policy plays, and the mapper that keeps the best of them. Needs no libtorch.
#ifndef KILN_TARGETS_CGRA_LEARN_PPO_MAPPER_H_
#define KILN_TARGETS_CGRA_LEARN_PPO_MAPPER_H_

#include <memory>
#include <string>

#include "kiln/support/random.h"
#include "kiln/support/status.h"
#include "kiln/targets/cgra/learn/policy.h"
#include "kiln/targets/cgra/map/mapper.h"

namespace kiln::cgra {

// Returns the likeliest choice, the first of equal ones.
int LikeliestOf(const std::vector<double>& logits);
// Returns a choice drawn with the probabilities of the logits divided by `temperature`.
int DrawnFrom(const std::vector<double>& logits, double temperature, Random* random);

// The mapper `ppo`: the policy chooses all places. It plays episodes from the least interval
// upwards, the first one with the likeliest choices, further ones with drawn choices; where these
// end without a cell, a search goes back and tries the policy's next choices. The best mapping is
// improved by taking parts out, which the policy places again, while lower intervals get as many
// steps. A step of MapOptions is an episode, or a search or a repair of 2 n + 60 nodes, where n is
// the number of instructions. The mapper ends when the search refutes anything better.
std::unique_ptr<Mapper> MakePpoMapper(std::shared_ptr<const Policy> policy);

// The mapper `guided`: the exact mapper, whose search tries places of an instruction in the order
// of the policy's logits. It proves what the exact mapper proves.
std::unique_ptr<Mapper> MakeGuidedMapper(std::shared_ptr<const Policy> policy);

// Reads a policy from a file, and the one that ships with Kiln (models/cgra_policy.bin). Errors:
// the errors of ReadTraining; for the second also no folder of data.
StatusOr<std::shared_ptr<const Policy>> ReadPolicy(const std::string& path);
StatusOr<std::shared_ptr<const Policy>> ReadShippedPolicy();

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_LEARN_PPO_MAPPER_H_
