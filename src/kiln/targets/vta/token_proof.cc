#include "kiln/targets/vta/token_proof.h"

#include <array>
#include <vector>

#include "fmt/format.h"

namespace kiln::vta {

std::optional<Fault> FindTokenFault(std::span<const Instruction> program, Tokens& tokens) {
  std::array<std::vector<size_t>, kStages> of_stage;
  for (size_t i = 0; i < program.size(); ++i) of_stage[static_cast<size_t>(StageOf(program[i]))].push_back(i);
  Progress all_others;  // what FINISH has to know
  for (size_t s = 0; s < kStages; ++s) all_others[s] = of_stage[s].size();
  --all_others[static_cast<size_t>(Stage::kCompute)];

  tokens.BeginLaunch();
  bool finished = false, early = false;
  Progress passed{};
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t s = 0; s < kStages; ++s) {
      for (; passed[s] < of_stage[s].size(); ++passed[s]) {
        const Instruction& in = program[of_stage[s][passed[s]]];
        if (!tokens.Ready(in)) break;
        const Progress before = tokens.Pass(in);
        if (in.opcode == Opcode::kFinish) (before == all_others ? finished : early) = true;
        moved = true;
      }
    }
  }
  for (size_t s = 0; s < kStages; ++s) {
    if (passed[s] == of_stage[s].size()) continue;
    return Fault{FaultKind::kDeadlock, of_stage[s][passed[s]],
                 fmt::format("{} waits for a token that nobody gives", NameOf(static_cast<Stage>(s)))};
  }
  if (!finished || early) {
    return Fault{FaultKind::kNoFinish, program.empty() ? 0 : program.size() - 1,
                 "there is no FINISH that waits for all other instructions"};
  }
  return std::nullopt;
}

}  // namespace kiln::vta
