// Passes tokens through a program without executing it, to find deadlocks and missing FINISH
// instructions.

#include "kiln/targets/vta/lint/token_proof.h"

#include <array>
#include <vector>

#include "fmt/format.h"

namespace kiln::vta {

std::optional<Fault> FindTokenFault(std::span<const Instruction> program, Tokens& tokens,
                                    const TokenVisitor& visit) {
  std::array<std::vector<size_t>, kStages> of_stage;
  for (size_t i = 0; i < program.size(); ++i)
    of_stage[static_cast<size_t>(StageOf(program[i]))].push_back(i);
  Progress all_others;  // the progress that FINISH must know: all other instructions are done
  for (size_t s = 0; s < kStages; ++s) all_others[s] = of_stage[s].size();
  --all_others[static_cast<size_t>(Stage::kCompute)];

  tokens.BeginLaunch();
  bool finished = false, early = false;
  Progress passed{};
  for (size_t s = 0; s < kStages;) {
    if (passed[s] == of_stage[s].size() || !tokens.Ready(program[of_stage[s][passed[s]]])) {
      ++s;
      continue;
    }
    const size_t index = of_stage[s][passed[s]++];
    const Progress before = tokens.Pass(program[index]);
    if (visit) {
      if (auto fault = visit(index, before)) return fault;
    }
    if (program[index].opcode == Opcode::kFinish) (before == all_others ? finished : early) = true;
    s = 0;
  }
  for (size_t s = 0; s < kStages; ++s) {
    if (passed[s] == of_stage[s].size()) continue;
    return Fault{
        FaultKind::kDeadlock, of_stage[s][passed[s]],
        fmt::format("{} waits for a token that nobody gives", NameOf(static_cast<Stage>(s)))};
  }
  if (!finished || early) {
    return Fault{FaultKind::kNoFinish, program.empty() ? 0 : program.size() - 1,
                 "there is no FINISH that waits for all other instructions"};
  }
  return std::nullopt;
}

}  // namespace kiln::vta
