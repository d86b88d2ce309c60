// The rows of the table of mappers.

#include "kiln/targets/cgra/command/mappers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "kiln/report/text.h"
#include "kiln/targets/cgra/learn/ppo_mapper.h"
#include "kiln/targets/cgra/map/exact.h"
#include "kiln/targets/cgra/map/heuristics.h"
#include "kiln/targets/cgra/map/sat.h"

namespace kiln::cgra {
namespace {

using SharedPolicy = std::shared_ptr<const Policy>;

struct Row {
  std::string_view name;
  std::string_view what;
  std::unique_ptr<Mapper> (*make)();                          // null: it needs a policy
  std::unique_ptr<Mapper> (*make_with)(const SharedPolicy&);  // null: it needs none
};
constexpr Row kRows[] = {
    {"exact", "branch and bound beside a SAT solver, with proof", [] { return MakeExactMapper(); },
     nullptr},
    {"sat", "a SAT solver, with proof", [] { return MakeSatMapper(); }, nullptr},
    {"ppo", "a trained policy", nullptr, [](const SharedPolicy& p) { return MakePpoMapper(p); }},
    {"guided", "exact, with the policy's order of places", nullptr,
     [](const SharedPolicy& p) { return MakeGuidedMapper(p); }},
    {"evolutionary", "an evolution strategy", &MakeEvolutionaryMapper, nullptr},
    {"annealing", "simulated annealing", &MakeAnnealingMapper, nullptr},
    {"greedy", "list scheduling", &MakeGreedyMapper, nullptr},
    {"random", "random search", &MakeRandomMapper, nullptr}};

}  // namespace

std::vector<std::string> MapperNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

std::string MapperHelp() {
  std::vector<std::string> lines;
  for (const Row& row : kRows) lines.push_back(fmt::format("{} ({})", row.name, row.what));
  return fmt::format("{}", fmt::join(lines, ", "));
}

bool UsesPolicy(std::string_view mapper) {
  const auto* const row = std::ranges::find(kRows, mapper, &Row::name);
  return row != std::end(kRows) && row->make_with != nullptr;
}

StatusOr<std::unique_ptr<Mapper>> MakeMapper(std::string_view name, const std::string& policy) {
  const auto* const row = std::ranges::find(kRows, name, &Row::name);
  if (row == std::end(kRows)) {
    return ErrorAt("", "--mapper", fmt::format("'{}' is no mapper", Shorten(CleanUtf8(name), 40)),
                   fmt::format("{}", fmt::join(MapperNames(), ", ")));
  }
  if (row->make != nullptr) return row->make();
  KILN_ASSIGN_OR_RETURN(const SharedPolicy read,
                        policy.empty() ? ReadShippedPolicy() : ReadPolicy(policy));
  return row->make_with(read);
}

}  // namespace kiln::cgra
